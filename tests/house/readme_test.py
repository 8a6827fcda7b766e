# tests/house/readme_test.py - every command of README.md and docs/README.md runs, says what it is shown to say, and tables are fresh.
# SPDX-License-Identifier: Apache-2.0
#
# A ```sh block is run line by line in a scratch folder in which ./sluice is this build; a ```text block right after
# it is its whole output. ```sh slow blocks are run by `readme_test.py slow` (label slow), in a copy of the repository.
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["SLUICE_BUILD_DIR"])
sys.path.insert(0, str(ROOT / "tools"))
import readme_table  # noqa: E402

README = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/README.md"))
BLOCK = re.compile(r"^```sh( slow)?\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
SLOW = sys.argv[1:] == ["slow"]


def blocks():
    """(slow, commands, expected output or None) in the order of the page."""
    return [(bool(slow), commands, expected) for slow, commands, expected in BLOCK.findall(README)]


def run(commands, folder, limit_s):
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=environment, timeout=limit_s,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


class CommandsTest(unittest.TestCase):
    def check_blocks(self, folder, slow, limit_s):
        chosen = [b for b in blocks() if b[0] == slow]
        for _, commands, expected in chosen:
            with self.subTest(commands=commands):
                done = run(commands, folder, limit_s)
                # On a noisy machine a comparison of equals may find a difference: its verdict is not what is tested.
                judged = commands.splitlines()[-1].startswith("./sluice compare ")
                self.assertIn(done.returncode, {0, 1} if judged else {0}, done.stdout + done.stderr)
                if expected:
                    self.assertMultiLineEqual(done.stdout, expected)
        return len(chosen)

    def test_fast_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "sluice").symlink_to(BUILD / "sluice")
            (Path(folder) / "docs").symlink_to(ROOT / "docs")
            self.assertGreater(self.check_blocks(folder, slow=False, limit_s=60), 0)

    @unittest.skipUnless(SLOW, "slow")
    def test_slow_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "sluice"
            subprocess.run(["git", "clone", "-q", ROOT, copy], check=True)
            self.check_blocks(copy, slow=True, limit_s=3000)

    def test_every_document_is_listed(self):
        listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
        documents = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
        self.assertEqual({name for name in documents if f"({name})" not in listed}, set())

    def test_no_other_block_looks_like_commands(self):
        self.assertEqual(re.findall(r"^```(?:bash|shell|console)", README, re.MULTILINE), [])


class TableTest(unittest.TestCase):
    DOCUMENT = {
        "environment": {"cpu": {"model_name": "Test CPU", "part": None}, "cores": {"usable": 2}},
        "machine_profile": "cpu-test", "tool": {"git": "abc"},
        "rows": [
            {"case": "decode", "library": "sluice", "status": "ok", "reason": "", "unit": "img/s",
             "items_per_sample": 100, "runs": [{"samples_ns": [10**9, 10**9]}, {"samples_ns": [5 * 10**8]}]},
            {"case": "resize", "library": "sluice", "status": "failed", "reason": "crashed", "unit": "img/s",
             "items_per_sample": 100, "runs": []},
        ],
    }

    def test_numbers_come_from_the_samples(self):
        text = readme_table.table(self.DOCUMENT, "docs/results/x.json")
        self.assertIn("Test CPU, 2 cores (`cpu-test`), commit abc, from [docs/results/x.json]", text)
        self.assertIn("| decode | sluice | 150.0 img/s | 47.1 % | 2 |", text)  # runs of 100 and 200
        self.assertIn("| resize | sluice | failed: crashed | | |", text)

    def test_rounding_keeps_four_digits(self):
        self.assertEqual([readme_table.rounded(v) for v in (1234567, 1234.4, 150, 0.012345)],
                         ["1,235,000", "1,234", "150.0", "0.01235"])

    def test_rows_of_unequal_work_are_in_no_mean(self):
        def row(case, library, rate, **more):
            return {"case": f"image-rgb/micro/{case}", "library": library, "status": "ok", "unit": "img/s", "items_per_sample": rate,
                    "runs": [{"block": block, "samples_ns": [10**9 + block * 10**6]} for block in range(3)], **more}

        rows = [row("A", "sluice", 200), row("A", "memcpy", 900), row("A", "other", 100), row("A", "third", 500, not_comparable="it does less"),
                row("B", "sluice", 200), row("B", "other", 1000, not_comparable="it does less")]
        document = {**self.DOCUMENT, "rows": rows}
        line = readme_table.versus_line([document], "x")
        self.assertIn("1 rows of images: **1 wins, 0 ties, 0 losses** against the fastest other that computes the same, geometric mean **2.00 ×** (from A 2.00 × to A 2.0 ×); "
                      "1 rows, whose other libraries compute something else, are not counted\n", line)
        self.assertEqual(line.count(" ×"), 3)
        table = readme_table.matrix_table([document], "x")
        self.assertIn("| other | 2 of 2 | 549.5 img/s | 0 | 0.50 × (1 rows) |", table)
        self.assertIn("| third | 1 of 2 | 499.5 img/s | 0 | none |", table)

    def test_tables_of_the_documents_are_fresh(self):
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            text = path.read_text(encoding="utf-8")
            with self.subTest(file=path.name):
                self.assertMultiLineEqual(readme_table.filled(text, path.parent), text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
