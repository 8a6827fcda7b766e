#!/usr/bin/env python3
# tests/peers/matrix_test.py - the matrix against what the installed libraries answer and compute.
# SPDX-License-Identifier: Apache-2.0
"""usage: matrix_test.py PROGRAM SOURCE_DIR     exit 77, which is a visible skip, when light, albumentationsx or torch is not installed"""
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
LIBRARIES = ["albumentationsx", "torchvision", "kornia", "pillow"]  # whose agreement makes a set; ours and OpenCV do not count
RIVALS = {"pillow-array", "kornia-rs", "pyvips", "cykooz-resizer", "pillow-simd"}  # compared only when named
SETS = {"image-rgb": "R", "image-9ch": "9", "video-16f": "V"}
PROGRAM = SOURCE = None


def answer(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments), "--json", "--quiet"], stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)


class MatrixTest(unittest.TestCase):
    def test_every_transform_of_a_set_is_in_two_libraries(self):
        transforms = answer("docs", "transforms")
        able = collections.defaultdict(set)
        for row in answer("peers", "check", *LIBRARIES)["workers"]:
            if row["mode"] != "micro" or row["library"] not in LIBRARIES:
                continue
            for scenario in row["support"]:
                refused = {case.rpartition("/")[2] for case in scenario["unsupported"]}
                for one in transforms:
                    if SETS[scenario["scenario"]] in one["sets"] and one["name"] not in refused:
                        able[scenario["scenario"], one["name"]].add(row["library"])
        for scenario, letter in SETS.items():
            for one in transforms:
                if letter in one["sets"]:
                    with self.subTest(scenario=scenario, transform=one["name"]):
                        self.assertGreaterEqual(len(able[scenario, one["name"]]), 2, able[scenario, one["name"]])

    def test_the_shipped_audit_is_what_the_libraries_compute(self):
        names = ["HorizontalFlip", "Resize", "Solarize", "Blur", "ColorJitter"]
        found = answer("peers", "audit", "--scenarios", "image-rgb", "--transforms", ",".join(names))["scenarios"]["image-rgb"]
        shipped = json.loads((SOURCE / "adapters/semantics.json").read_text())["scenarios"]["image-rgb"]
        for name in names:
            with self.subTest(transform=name):
                for verdict in ("agree", "different"):
                    self.assertEqual(sorted(found[name][verdict]), sorted(set(shipped[name][verdict]) - RIVALS))
        self.assertIn("torchvision", found["Resize"]["different"])   # keeps the aspect ratio
        self.assertIn("torchvision", found["Solarize"]["different"])  # 0.5 on 8-bit pixels: everything is inverted
        self.assertIn("pillow", found["Blur"]["different"])           # 11 x 11, not 5 x 5
        self.assertIn("albumentationsx", found["ColorJitter"]["different"])  # fixed factors

    def test_after_a_crop_resize_is_the_same_in_torchvision(self):
        squares = pathlib.Path(tempfile.mkdtemp(prefix="sluice-matrix-test-"))
        try:
            subprocess.run([PROGRAM, "data", "make", "--count", "2", "--width", "224", "--height", "224", "--out", squares, "--quiet"], check=True)
            found = answer("peers", "audit", "--scenarios", "image-rgb", "--transforms", "Resize", "--data-dir", squares)["scenarios"]["image-rgb"]
        finally:
            shutil.rmtree(squares)
        shipped = json.loads((SOURCE / "adapters/semantics.json").read_text())["scenarios"]["image-rgb/pipeline"]
        self.assertEqual(found["Resize"]["different"], {})
        self.assertEqual(sorted(found["Resize"]["agree"]), sorted(shipped["Resize"]["agree"]))

    def test_planned_files_hold_ok_rows_of_installed_libraries(self):
        for name in ("local_rgb_micro_cpu", "local_rgb_dataloader_cpu", "local_video_micro_cpu", "local_video_dataloader_cpu"):
            with self.subTest(config=name):
                self.run_config(SOURCE / f"configs/examples/{name}.yaml")

    def run_config(self, config):
        out = pathlib.Path(tempfile.mkdtemp(prefix="sluice-matrix-test-"))
        try:
            flags = ["--config", config, "--num-items", "2", "--num-runs", "1", "--transforms", "HorizontalFlip,Resize", "--out", out,
                     "--set", "execution.disable_slow_skip=true"]  # a machine that others keep busy is no fault of a row
            if "dataloader" in config.name:
                flags += ["--workers", "1", "--batch-size", "2"]
            planned = answer("plan", *flags)["plan"]["expected_outputs"]
            answer("run", *flags, "--sample-ms", "1", "--warmup-ms", "0")
            found = sorted(str(path.relative_to(out)) for path in (out / "results").rglob("*.json"))
            self.assertEqual(found, sorted(planned))
            for path in found:
                for row in json.loads((out / path).read_text())["rows"]:
                    if row["library"] in LIBRARIES:
                        self.assertEqual(row["status"], "ok", f"{path}: {row['case']}: {row['reason']}")
            for check in ("coverage", "validate"):
                done = subprocess.run([PROGRAM, check, out], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        finally:
            shutil.rmtree(out)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    SOURCE = pathlib.Path(sys.argv.pop(1))
    for one in answer("peers", "list")["libraries"]:
        for way in one["ways"]:
            if way["group"] in ("light", "albumentationsx", "torch") and not way["installed"]:
                print(f"skipped: {one['name']}: {way['reason']}")
                sys.exit(SKIPPED)
    unittest.main()
