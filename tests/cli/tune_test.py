#!/usr/bin/env python3
# tests/cli/tune_test.py - `sluice tune` as a user meets it: the answer, its evidence, limits, bad input.
# SPDX-License-Identifier: Apache-2.0
"""usage: tune_test.py PROGRAM"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
# Small enough for a test; the numbers mean nothing.
TINY = ["--batch-size", "4", "--max-workers", "2", "--max-prefetch", "2", "--sample-ms", "1", "--warmup-ms", "0",
        "--seed", "1"]


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100)


class TuneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.data = cls.folder / "photos"
        made = run("data", "make", "--kind", "rgb", "--count", 12, "--width", 64, "--height", 48, "--out", cls.data)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_the_answer_stands_in_the_file_with_its_evidence(self):
        out = self.folder / "answer"
        done = run("tune", "--input", self.data, *TINY, "--budget-s", 3, "--out", out, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document, json.loads((out / "results" / "tune.json").read_text()))
        tune = document["summary"]["tune"]
        self.assertLessEqual(tune["elapsed_s"], 30)
        self.assertIn(tune["recommended"]["workers"], (1, 2))
        self.assertIn(f"--num-workers {tune['recommended']['workers']} ", tune["flags"] + " ")
        self.assertGreaterEqual(len(tune["rates"]), 1)
        for one in tune["evidence"]:
            self.assertIn(one["outcome"], ("better", "worse", "no gain", "as good", "undecided", "failed"))
            if "ratio" in one:
                self.assertLessEqual(one["ratio"]["low"], one["ratio"]["high"])
        runs = {row["case"]: len(row["runs"]) for row in document["rows"]}
        self.assertEqual(sum(runs.values()), sum(rate["n"] for rate in tune["rates"]))

    def test_text_names_the_flags_and_how_sure_it_is(self):
        done = run("tune", "--input", self.data, *TINY, "--budget-s", 1, "--out", self.folder / "text")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sluice bench dataloader --batch-size 4 --num-workers ", done.stdout)
        self.assertIn("expected loss if wrong:", done.stdout)
        self.assertNotIn("\x1b", done.stdout)

    def test_a_limit_that_nothing_meets_is_one_line(self):
        done = run("tune", "--input", self.data, *TINY, "--max-rss-gb", "0.000001", "--out", self.folder / "limit")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("--max-rss-gb allows", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_bad_input_is_refused_before_anything_is_written(self):
        for arguments, message in [
                ([], "an input is missing"),
                (["--input", self.folder / "nowhere"], "nowhere"),
                (["--input", self.data, "--batch-size", "13"], "--batch-size 13"),
                (["--input", self.data, "--num-workers", "3", "--max-workers", "2"], "--num-workers 3"),
                (["--input", self.data, "--max-cpu", "0%"], "--max-cpu 0%"),
                (["--input", self.data, "--enable-bundling"], "--enable-bundling")]:
            with self.subTest(message=message):
                out = self.folder / "refused"
                done = run("tune", *arguments, "--out", out)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertFalse(out.exists())


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
