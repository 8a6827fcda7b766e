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
ROWS = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| `")]


class PeersPageTest(unittest.TestCase):
    def test_every_library_has_a_line(self):
        done = subprocess.run([PROGRAM, "peers", "list", "--json"], capture_output=True, text=True, check=True)
        measured = {one["name"] for one in json.loads(done.stdout)["libraries"]} - {"sluice"}
        told = [name for row in ROWS for name in re.findall(r"`([^`]+)`", row[0])]
        self.assertEqual(sorted(told), sorted(measured))

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
