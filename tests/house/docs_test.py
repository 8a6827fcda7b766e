# tests/house/docs_test.py - the generated pages of docs/ are what the program would write now.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ["SLUICE_BUILD_DIR"]) / "sluice"


class DocsTest(unittest.TestCase):
    def test_pages_are_fresh(self):
        for page in ["cli", "transforms", "matrix", "presets", "scope", "semantics", "run-config"]:
            with self.subTest(page=page):
                text = subprocess.run([PROGRAM, "docs", page], check=True, capture_output=True, text=True).stdout
                self.assertMultiLineEqual((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), text,
                                          "stale: run tools/docs")


if __name__ == "__main__":
    unittest.main()
