#!/usr/bin/env python3
# tests/cli/bench_transforms_test.py - `sluice bench transforms`: the matrix, the answer, and the same in its files.
# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from bench_case import BenchCase

FAST = ("--transforms", "HorizontalFlip,Brightness", "--sample-ms", "1", "--warmup-ms", "0", "--quiet")


class BenchTransformsTest(BenchCase):
    COMMAND, COUNT = ("bench", "transforms", "--data-dir", "D", "--num-items", "4", *FAST), 4

    def test_the_last_line_answers_and_a_copy_is_no_library(self):
        done = self.bench("--libraries", "sluice,opencv", "--out", "R")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("share of memory copy speed", done.stdout)
        head = next(line for line in done.stdout.splitlines() if line.startswith("transform"))
        self.assertNotIn("memcpy", head)
        last = done.stdout.strip().splitlines()[-1]
        self.assertNotIn("memcpy", last)
        self.assertRegex(last, "Take |No one library|Too close to call|No row compares")
        if "No row compares" not in last:
            page = (self.folder / "R/report.md").read_text(encoding="utf-8")
            self.assertEqual(page.splitlines()[2], f"**{last}**", "the report says the same first")
        files = sorted((self.folder / "R/results").rglob("*.json"))
        shown = self.bench("--format", "text", "--quiet", *files, command=("report",))
        if shown.returncode == 0:
            self.assertIn(last, shown.stdout)

    def test_json_has_the_answer_and_its_numbers(self):
        document = self.result("--libraries", "sluice,opencv")
        answer = document["answer"][0]
        self.assertEqual([row["case"] for row in answer["rows"]],
                         ["image-rgb/micro/HorizontalFlip", "image-rgb/micro/Brightness"])
        self.assertEqual({len(row["runs"]) for row in document["rows"] if row["status"] == "ok"}, {3})
        medians = {row["case"]: row["median"] for row in document["rows"] if row["library"] == "memcpy"}
        self.assertEqual(set(medians), {row["case"] for row in answer["rows"]})
        for row in answer["rows"]:
            self.assertNotEqual(row["fastest"], "memcpy")
            self.assertGreater(row["share_of_memory_copy_speed"], 0)
        self.assertIsInstance(answer["sentence"], str)
        json.dumps(answer)

    def test_thorough_is_more_runs_and_excludes_a_number(self):
        done = self.bench("--libraries", "sluice", "--thorough", "--num-runs", "5")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--thorough and --num-runs: give only one", done.stderr)


if __name__ == "__main__":
    unittest.main()
