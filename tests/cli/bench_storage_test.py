#!/usr/bin/env python3
# tests/cli/bench_storage_test.py - `sluice bench storage` as a user meets it: rows, files, bad input.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench_storage_test.py PROGRAM"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
FEW = ["--runs", "1", "--samples", "1", "--operations", "8", "--bytes", "1m", "--sizes", "4k,16k", "--concurrency", "2"]


def bench(*arguments):
    return subprocess.run([PROGRAM, "bench", "storage", "--quiet", *map(str, arguments)], capture_output=True, text=True,
                          timeout=100)


class BenchStorage(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"

    def test_generated_data_is_read_measured_and_removed(self):
        done = bench(*FEW, "--modes", "buffered,mmap", "--warm", "--out", self.out, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result, json.loads((self.out / "results" / "bench-storage.json").read_text()))
        cases = [row["case"] for row in result["rows"]]
        self.assertEqual(len(cases), len(set(cases)))
        # sequential: two modes, cold and warm; random: the same at one concurrency; objects: two sizes
        self.assertEqual(len(cases), 4 + 4 + 4)
        for row in result["rows"]:
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertEqual(len(row["runs"]), 1)
        lines = result["summary"]["storage"]
        self.assertEqual(len(lines), len(cases))
        for line, case in zip(lines, cases):
            self.assertGreater(line["mb_per_s"]["point"], 0)
            self.assertLessEqual(line["latency_us"]["p50"]["point"], line["latency_us"]["max"])
            self.assertIn(line["cache"], {"cold", "warm", "mixed", "unknown"})
            self.assertGreater(line["reads"], 0)
            self.assertLessEqual(line["smallest"], line["largest"])
            self.assertGreaterEqual(line["memory_share"], 0)
            self.assertLessEqual(line["memory_share"], 1)
            if "cache=warm" in case:
                self.assertEqual(line["cache"], "warm")
        self.assertFalse((self.out / "data").exists())
        self.assertTrue((self.out / "report.html").exists())

    def test_a_folder_is_read_as_it_is(self):
        data = self.folder / "data"
        data.mkdir()
        for i in range(5):
            (data / f"{i}.bin").write_bytes(bytes(range(256)) * 20)  # 5 KiB: less than 1 MB in all
        done = bench(*FEW, "--modes", "buffered", "--input", data, "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("sequential read", done.stdout)
        self.assertIn("random read", done.stdout)
        self.assertIn("5 of 5 KiB", done.stdout)  # by what they are, not by the class that they are in
        self.assertIn("only 5 reads", done.stdout)
        self.assertIn("Too little data: ", done.stdout)
        self.assertIn("The input is small: 25 KiB in 5 files", done.stdout)
        self.assertEqual(len(list(data.iterdir())), 5)

    def test_bad_input_is_one_line_and_exit_2(self):
        (self.folder / "empty").mkdir()
        for arguments, said in [
            (["--modes", "buffered,fast"], "'fast' is not one of buffered, mmap, direct"),
            (["--sizes", "4x"], "4096, 4k, 1m or 1g"),
            (["--sizes", "0"], "4096, 4k, 1m or 1g"),
            (["--concurrency", "1,0"], "'0' is not a number from 1 to 256"),
            (["--bytes", "10"], "at least 1m"),
            (["--input", self.folder / "nowhere"], "nowhere"),
            (["--input", self.folder / "empty"], "no object"),
            (["--input", "ftp://host/x"], "ftp"),
            (["--endpoint", "http://127.0.0.1:1"], "--endpoint"),
            (["--input", "s3://bucket/x", "--modes", "mmap"], "local inputs"),
        ]:
            with self.subTest(said):
                done = bench("--out", self.out, *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertFalse(self.out.exists())


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
