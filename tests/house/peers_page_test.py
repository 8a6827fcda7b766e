# tests/house/peers_page_test.py - docs/peers.md: a line for every library that is measured, at the version that is pinned.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/peers.md").read_text(encoding="utf-8")
PROGRAM = Path(os.environ["SLUICE_BUILD_DIR"]) / "sluice"
BY_SCRIPT = {"rclone": "bench/rclone_copy.py"}  # measured by a script, and so no library of the program
ROWS = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| `")]


class PeersPageTest(unittest.TestCase):
    def test_every_library_has_a_line(self):
        done = subprocess.run([PROGRAM, "peers", "list", "--json"], capture_output=True, text=True, check=True)
        measured = {one["name"] for one in json.loads(done.stdout)["libraries"]} - {"sluice"}
        told = [name for row in ROWS for name in re.findall(r"`([^`]+)`", row[0])]
        self.assertEqual(sorted(told), sorted(measured | BY_SCRIPT.keys()))

    def test_what_scripts_measure_is_told_as_they_do_it(self):
        for name, script in BY_SCRIPT.items():
            text = (ROOT / script).read_text(encoding="utf-8")
            row = next(row for row in ROWS if f"`{name}`" in row[0])
            version = re.search(rf'"{name}_version": "([^"]+)"', text)[1]
            self.assertIn(f"=={version}`", row[1], script)
            command = " ".join(re.findall(r'"([^"]+)"', re.search(rf'"{name}": \[(.*?)\]', text, re.DOTALL)[1]))
            for option in re.findall(r"(--[a-z-]+(?: \d+M)?)", row[2]):
                self.assertIn(option, command, script)

    def test_versions_are_the_pinned_ones(self):
        pins = set()
        for path in (ROOT / "adapters/python/requirements").glob("*.txt"):
            pins |= set(re.findall(r"^([A-Za-z0-9_.-]+==[^ ;\\]+)", path.read_text(), re.M))
        named = re.findall(r"`([A-Za-z0-9_.-]+==[^`]+)`", PAGE)
        self.assertGreater(len(named), 15)
        for one in named:
            self.assertIn(one, pins)

    def test_a_line_says_all(self):
        for row in ROWS:
            self.assertEqual(len(row), 5, row[0])
            if "`sluice-python`" not in row[0]:
                self.assertTrue(all(cell.strip(" |") for cell in row), row[0])
                self.assertNotIn("nothing beyond", row[4], f"{row[0]}: say what was tried, or that nothing was")


if __name__ == "__main__":
    unittest.main()
