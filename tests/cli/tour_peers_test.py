#!/usr/bin/env python3
# tests/cli/tour_peers_test.py - the tour beside the real Pillow and OpenCV: every row is checked, measured and compared.
# SPDX-License-Identifier: Apache-2.0
"""usage: tour_peers_test.py PROGRAM     exit 77, which is a visible skip, when the group `light` is not installed"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SKIPPED = 77
PROGRAM = None
PEERS = {"pillow", "opencv-wheel"}
FLAGS = ["--images", "4", "--runs", "2", "--samples", "1", "--sample-ms", "5", "--warmup-ms", "0"]


class TourPeersTest(unittest.TestCase):
    def test_every_row_is_compared(self):
        with tempfile.TemporaryDirectory(prefix="sluice-tour-") as folder:
            out = Path(folder) / "run"
            done = subprocess.run([PROGRAM, "quick", "--json", "--quiet", "--out", out, *FLAGS], capture_output=True, text=True)
            document = json.loads(done.stdout)
            self.assertIn("Ours over it", (out / "report.html").read_text())
        theirs = [row for row in document["rows"] if row["library"] in PEERS]
        self.assertEqual(len(theirs), 12, "five transforms and the decoder, in both")
        for row in theirs:
            self.assertEqual((row["status"], row.get("not_comparable", "")), ("ok", ""), row)
            self.assertEqual(len({run["pid"] for run in row["runs"]}), 2)
            self.assertNotEqual(row["output_digest"], "")
        self.assertEqual({one["peer"] for one in document["summary"]["peer_ratios"]}, PEERS)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    listed = json.loads(subprocess.run([PROGRAM, "peers", "list", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    missing = [way["reason"] for one in listed["libraries"] if one["name"] in PEERS for way in one["ways"]
               if way["group"] == "light" and not way["installed"]]
    if missing:
        print("skipped: " + missing[0])
        sys.exit(SKIPPED)
    unittest.main()
