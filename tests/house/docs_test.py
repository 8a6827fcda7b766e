# tests/house/docs_test.py - the generated pages of docs/ are what the program would write now.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ["SLUICE_BUILD_DIR"]) / "sluice"


class DocsTest(unittest.TestCase):
    @staticmethod
    def pages():
        """Those that tools/docs writes: one list for both."""
        listed = re.search(r"^pages=\((.*)\)$", (ROOT / "tools/docs").read_text(encoding="utf-8"), re.M)
        return listed[1].split()

    def test_every_page_that_the_program_knows_is_written(self):
        refused = subprocess.run([PROGRAM, "docs", "no-such-page"], capture_output=True, text=True).stderr
        self.assertIn("augment", self.pages())
        for page in self.pages():
            self.assertIn(page, refused)
        known = refused.rpartition("accepted: ")[2].strip().split(", ")
        self.assertEqual(sorted(known), sorted(self.pages()))

    def test_pages_are_fresh(self):
        for page in self.pages():
            with self.subTest(page=page):
                text = subprocess.run([PROGRAM, "docs", page], check=True, capture_output=True, text=True).stdout
                self.assertMultiLineEqual((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), text,
                                          "stale: run tools/docs")


if __name__ == "__main__":
    unittest.main()
