#!/usr/bin/env python3
# tests/peers/installed_test.py - the real libraries of one group: healthy, quiet, and able to do all that is published.
# SPDX-License-Identifier: Apache-2.0
"""usage: installed_test.py PROGRAM GROUP     exit 77, which is a visible skip, when the group is not installed"""
import json
import subprocess
import sys
import unittest

SKIPPED = 77
# Fewer is a fault of the adapter: the published tables hold as many rows.
PUBLISHED = {
    "albumentationsx": {"image-rgb": 57, "image-9ch": 41, "video-16f": 51},
    "kornia": {"image-rgb": 51, "image-9ch": 40, "video-16f": 50},
    "torchvision": {"image-rgb": 26, "image-9ch": 22, "video-16f": 26},
    "pillow": {"image-rgb": 24},
}
ROWS = []


def ask(program, group):
    done = subprocess.run([program, "peers", "check", group, "--json", "--quiet"], stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["workers"]


class Installed(unittest.TestCase):
    def test_workers_are_healthy(self):
        for row in ROWS:
            with self.subTest(library=row["library"], mode=row["mode"]):
                # What needs a device, or another processor, says so.
                if row["reason"] == "no CUDA device" or "has no package for" in (row["reason"] or ""):
                    self.assertEqual(row["status"], "unsupported")
                    continue
                self.assertIn(row["status"], ("ok", "not installed"), row["reason"])
                if row["status"] == "ok":
                    self.assertNotEqual(row["version"] or "", "")

    def test_one_thread_is_in_force(self):
        for row in ROWS:
            if row["status"] == "ok" and row["mode"] == "micro":
                self.assertEqual(row["threads"], 1, row["library"])

    def test_everything_published_is_supported(self):
        for row in ROWS:
            for answer in row["support"] if row["status"] == "ok" else []:
                least = PUBLISHED.get(row["library"], {}).get(answer["scenario"], 0)
                with self.subTest(library=row["library"], scenario=answer["scenario"]):
                    self.assertIsNone(answer["reason"])
                    self.assertGreaterEqual(answer["supported"], least, answer["unsupported"])
                    for case, reason in answer["unsupported"].items():
                        self.assertNotEqual(reason, "", case)


if __name__ == "__main__":
    group = sys.argv.pop(2)
    ROWS = ask(sys.argv.pop(1), group)
    missing = [row["reason"] for row in ROWS if row["group"] == group and row["status"] == "not installed"]
    if missing:
        print("skipped: " + missing[0])
        sys.exit(SKIPPED)
    unittest.main()
