# tests/house/pack_test.py - tools/pack: which libraries travel with a packed program, and that none is too new.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ["SLUICE_BUILD_DIR"]) / "sluice"


def pack(command, **stubs):
    """Runs `command` in a shell that has sourced tools/pack, with shell functions instead of the named programs."""
    functions = "".join(f"{name}() {{ {body}; }}\n" for name, body in stubs.items())
    return subprocess.run(["bash", "-euo", "pipefail", "-c", f". tools/pack\n{functions}{command}"], cwd=ROOT, capture_output=True, text=True)


class PackTest(unittest.TestCase):
    def test_the_program_looks_for_libraries_beside_its_modules(self):
        done = subprocess.run(["readelf", "--dynamic", PROGRAM], capture_output=True, text=True, check=True)
        self.assertRegex(done.stdout, r"\(RPATH\)\s+Library rpath: \[\$ORIGIN/\.\./lib/sluice\]")

    def test_a_program_takes_its_libraries_with_it(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "a b"
            (folder / "bin").mkdir(parents=True)
            done = pack(f"gather_libraries '{folder}/lib/sluice' '{PROGRAM}'")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            packed = {file.name for file in (folder / "lib" / "sluice").iterdir()}
            self.assertTrue(any(file.startswith("libfmt.so") for file in packed), packed)
            self.assertEqual([file for file in packed if re.match(r"lib(c|m|stdc\+\+|gcc_s)\.so|ld-linux", file)], [])
            shutil.copy(PROGRAM, folder / "bin")
            done = subprocess.run(["ldd", folder / "bin" / "sluice"], capture_output=True, text=True, check=True)
            taken = re.findall(r"=> (\S.*/\S+) \(", done.stdout)
            self.assertEqual({Path(file).name for file in taken if Path(file).resolve().is_relative_to(folder.resolve())}, packed)

    def test_a_library_that_is_not_found_is_named(self):
        done = pack("gather_libraries /nowhere/x file", ldd="printf '\\tlibcuda.so.1 => not found\\n\\tlibodd.so.3 => not found\\n'", mkdir=":")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "tools/pack: libodd.so.3 is not found, which is needed by one of: file\n")

    def test_a_symbol_that_debian_12_lacks_is_refused(self):
        names = "GLIBC_2.4 GLIBC_2.36 GLIBCXX_3.4.9 GLIBCXX_3.4.30 CXXABI_1.3.13 GCC_3.0"
        done = pack("check_versions file", objdump=f"printf '  0x0 0x00 02 %s\\n' {names}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for late in ("GLIBC_2.38", "GLIBCXX_3.4.32", "CXXABI_1.3.14", "GCC_13.0.0"):
            done = pack("check_versions file", objdump=f"printf '  0x0 0x00 02 %s\\n' {names} {late}")
            self.assertEqual(done.returncode, 1, late)
            self.assertRegex(done.stderr, rf"^tools/pack: file needs {re.escape(late)}, Debian 12 has [^\n]*\n$")


if __name__ == "__main__":
    unittest.main()
