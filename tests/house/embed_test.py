# tests/house/embed_test.py - examples/embed builds against an installed tree, runs and says what it should.
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["SLUICE_BUILD_DIR"])
STAGE = BUILD / "embed" / "stage"
TREE = BUILD / "embed" / "build"


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class EmbedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(BUILD / "embed", ignore_errors=True)
        call("cmake", "--install", BUILD, "--prefix", STAGE)
        call("cmake", "-G", "Ninja", "-S", ROOT / "examples" / "embed", "-B", TREE, f"-DCMAKE_PREFIX_PATH={STAGE}",
             "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Werror")
        call("cmake", "--build", TREE)

    def test_it_runs(self):
        output = call(TREE / "embed")
        machine, row, outcome = output.splitlines()
        self.assertRegex(machine, r"^machine [\w.-]+_sluice\d+$")
        self.assertRegex(row, r"^embed sort: candidate over baseline \d+\.\d+ \[\d+\.\d+, \d+\.\d+\], \w+$")
        self.assertIn(outcome, {"outcome same", "outcome improved", "outcome regression"})  # no test asserts on speed

    def test_the_installed_program_runs(self):
        self.assertRegex(call(STAGE / "bin" / "sluice", "--version"), r"^sluice \d+\.\d+\.\d+")

    def test_headers_are_installed_for_every_room_but_cli(self):
        rooms = {p.parent.name for p in (ROOT / "src" / "sluice").glob("*/CMakeLists.txt")}
        installed = {p.name for p in (STAGE / "include" / "sluice").iterdir()}
        self.assertEqual(installed, rooms - {"cli"})

    def test_completion_and_documents_are_installed(self):
        for file in ["share/bash-completion/completions/sluice", "share/zsh/site-functions/_sluice",
                     "share/doc/sluice/README.md", "share/doc/sluice/LICENSE", "share/doc/sluice/docs/cli.md"]:
            self.assertTrue((STAGE / file).is_file(), file)

    def test_nothing_installed_names_the_build_machine(self):
        for file in STAGE.rglob("*.cmake"):
            text = file.read_text(encoding="utf-8")
            self.assertNotIn(str(ROOT), text, file)
            self.assertNotIn(str(BUILD), text, file)


if __name__ == "__main__":
    unittest.main()
