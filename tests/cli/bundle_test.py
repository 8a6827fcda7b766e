#!/usr/bin/env python3
# tests/cli/bundle_test.py - `sluice data make --kind arrays` and `sluice data bundle` as a user meets them.
# SPDX-License-Identifier: Apache-2.0
"""usage: bundle_test.py PROGRAM"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None


def data(*arguments):
    return subprocess.run([PROGRAM, "data", *map(str, arguments), "--quiet"], capture_output=True, text=True, timeout=100)


class Bundle(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.arrays, self.out = self.folder / "arrays", self.folder / "bundles"

    def make(self, count=20, size=5000):
        return data("make", "--kind", "arrays", "--count", count, "--bytes", size, "--out", self.arrays, "--json")

    def bundle(self, *arguments):
        return data("bundle", "--input", self.arrays, "--out", self.out, *arguments)

    def refused(self, done, code, *parts):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_arrays_are_made_once_and_the_same(self):
        first = json.loads(self.make().stdout)
        self.assertEqual((first["count"], first["bytes"], first["written"]), (20, 100_000, 20))
        (self.arrays / "array-000003.npy").write_bytes(b"x" * 5000)
        (self.arrays / "array-000004.npy").unlink()
        again = json.loads(self.make().stdout)
        self.assertEqual((again["hash"], again["written"]), (first["hash"], 2))
        self.assertEqual({p.stat().st_size for p in self.arrays.iterdir()}, {5000})
        (self.arrays / "notes.txt").write_text("mine")
        self.refused(self.make(), 2, "notes.txt", "--force")
        self.refused(self.make(size=100), 2, "--bytes 100", "129")

    def test_bundles_and_checks(self):
        self.assertEqual(self.make().returncode, 0)
        done = self.bundle("--bundle-size-gb", 30_000 / 2**30, "--json", "--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["total_bundles"], report["total_arrays"], report["total_bytes"]), (4, 20, 100_000))
        self.assertEqual([b["arrays"] for b in report["bundles"]], [6, 6, 6, 2])
        self.assertEqual(sorted(p.name for p in self.out.iterdir()),
                         [*(f"bundle-0000{i}.bin" for i in range(4)), "bundles.index"])
        self.assertEqual(data("bundle", "--out", self.out, "--check").returncode, 0)
        damaged = self.out / "bundle-00002.bin"
        content = bytearray(damaged.read_bytes())
        content[7000] ^= 1
        damaged.write_bytes(content)
        self.refused(data("bundle", "--out", self.out, "--check"), 2, "bundle-00002.bin", "is damaged")

    def test_refusals(self):
        self.arrays.mkdir()
        self.refused(self.bundle(), 2, "none of 0 objects is a sample")
        self.make()
        self.refused(self.bundle("--bundle-size-gb", 0), 2, "--bundle-size-gb 0")
        self.out.mkdir()
        (self.out / "mine.txt").write_text("mine")
        self.refused(self.bundle(), 2, "is there already")
        self.refused(data("bundle", "--input", self.folder / "none", "--out", self.folder / "b"), 2, "none")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["arrays", "bundles"])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
