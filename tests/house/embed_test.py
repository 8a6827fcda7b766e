# tests/house/embed_test.py - examples/embed builds against an installed tree, runs and says what it should.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import shutil
import subprocess
import tempfile
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
        self.assertIn(outcome, {"outcome PASS", "outcome IMPROVED", "outcome FAIL", "outcome INCONCLUSIVE"})  # no test asserts on speed

    def test_a_gate_without_cli_gives_the_same_report(self):
        """Pairs, fence and all: byte by byte, time stamp and command line aside."""
        program, folder = STAGE / "bin" / "sluice", Path(self.enterContext(tempfile.TemporaryDirectory()))
        environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
        tiny = ["--quick", "--dim", "32", "--heads", "2", "--layers", "1", "--seq-len", "16", "--batch-size", "2", "--warmup-steps", "1",
                "--measure-steps", "4", "--repeat", "2"]
        wide = ["--throughput-drop-pct", "99", "--step-time-increase-pct", "90"]
        base = ["--baseline-dir", str(folder / "baselines")]

        def sluice(*words):
            return subprocess.run([program, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment)

        first = sluice("gate", "--bench", "--compare", *tiny, *base, "--out", str(folder / "first"))
        self.assertEqual(first.returncode, 4, first.stderr)
        metrics = json.loads((folder / "first/metrics.json").read_text())
        metrics["timing"]["waited_share"], metrics["noise"] = 0, None  # a busy machine makes no baseline, and is not what is tested
        (folder / "quiet").mkdir()  # beside its samples a changed figure would be refused
        (folder / "quiet/metrics.json").write_text(json.dumps(metrics))
        promoted = sluice("baseline", "promote", str(folder / "quiet"), *base, "--without-eval", "--maintainer", "--reason", "test")
        self.assertEqual(promoted.returncode, 0, promoted.stderr)
        second = sluice("gate", "--bench", "--compare", *tiny, *wide, *base, "--out", str(folder / "second"))
        self.assertIn("step_time_pairs_s", second.stdout, second.stderr)
        history, = (folder / "baselines").glob("*.history.jsonl")
        history.write_text(history.read_text() * 25)  # a fence needs visits
        sluice("gate", "--compare", *base, "--current", str(folder / "second"), "--out", str(folder / "cli"))
        call(TREE / "embed", "gate", folder / "second", folder / "baselines", folder / "embedded")
        for name in ["verdict.json", "gate_report.txt", "junit.xml"]:
            texts = [re.sub(r"20\d\d-\d\d-\d\dT[0-9:]+Z", "", (folder / side / name).read_text()) for side in ("cli", "embedded")]
            # Nobody typed a command line for the embedding program.
            texts[0] = re.sub(r'"reproduce": ".*"', '"reproduce": null', re.sub(r"\nReproduce: .*\n", "", texts[0]))
            self.assertEqual(*texts, name)
        lines = [line["metric"] for line in json.loads((folder / "embedded/verdict.json").read_text())["lines"]]
        self.assertIn("step_time_pairs_s", lines)
        self.assertIn("fence/tokens_per_sec_p50", lines)

    def test_a_loader_is_measured_without_cli(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        call(STAGE / "bin" / "sluice", "data", "make", "--kind", "rgb", "--count", "16", "--out", folder / "photos")
        output = call(TREE / "embed", "loader", folder / "photos", folder / "run")
        self.assertRegex(output, r"(?m)^sluice loader/rrc224-antialias: \d+ samples/s$")
        for name in ["env.json", "resolved_config.yaml", "report.html", "results/bench-dataloader.json"]:
            self.assertTrue((folder / "run" / name).is_file(), name)

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
