# tests/cli/plan_test.py - `sluice plan` as a user meets it: table, JSON document, errors and exit codes.
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1))
CONFIGS = Path(__file__).resolve().parents[2] / "configs"
LOCAL = CONFIGS / "examples" / "local_rgb_micro_cpu.yaml"


def plan(*arguments, folder=None):
    return subprocess.run([PROGRAM, "plan", *map(str, arguments)], capture_output=True, text=True, cwd=folder)


class PlanTest(unittest.TestCase):
    def test_table_lists_jobs_and_files(self):
        done = plan("--config", LOCAL, "--num-items", 20)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("image-rgb micro: 20 items, 1 runs", done.stdout)
        self.assertIn("opencv, opencv-wheel", done.stdout)
        self.assertIn("  results/image-rgb/micro/pillow_micro_results.json\n", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_json_is_one_document_and_nothing_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            done = plan("--config", LOCAL, "--libraries", "albumentationsx,pillow,opencv", "--num-runs", 2,
                        "--data-dir", "D", "--output", "DIR", "--seed", 5, "--json", folder=folder)
            self.assertEqual(list(Path(folder).iterdir()), [])
        document = json.loads(done.stdout)
        config = document["resolved_config"]
        self.assertEqual(config["selection"]["libraries"], ["albumentationsx", "pillow", "opencv"])
        self.assertEqual(len(config["selection"]["transforms"]), 57)
        self.assertEqual((config["data"]["data_dir"], config["execution"]["num_runs"]), ("D", 2))
        self.assertEqual(config["execution"]["seed"], 5)
        self.assertEqual(document["plan"]["output_dir"], "DIR")
        self.assertEqual(len(document["plan"]["expected_outputs"]), 3)
        self.assertEqual([job["rows"] for job in document["plan"]["jobs"]],
                         [["albumentationsx"], ["pillow"], ["opencv", "opencv-wheel"]])

    def test_cloud_configurations_plan_too(self):
        path = CONFIGS / "paper" / "prod_g2_rgb_dataloader_gpu.yaml"
        done = plan("--config", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("on gcp: g2-standard-16", done.stdout)
        self.assertIn("JpegCompression: unsupported: ", done.stdout)
        self.assertIn("loop over the samples", done.stdout)
        self.assertNotIn("on gcp", plan("--config", path, "--local").stdout)

    def test_a_misspelt_key_is_named_with_its_line_and_the_nearest(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.yaml"
            path.write_text("selection:\n  scenario: image-rgb\n  libaries: [pillow]\n", encoding="utf-8")
            done = plan("--config", path)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertIn("run.yaml:3: ", done.stderr)
        self.assertIn("nearest: 'libraries'", done.stderr)

    def test_bad_flags_are_refused_by_name(self):
        for arguments, text in [
            (["--transforms", "Resise"], "nearest: 'Resize'"),
            (["--libraries", "pillow,,kornia"], "--libraries pillow,,kornia: an empty name"),
            (["--workers", "2"], "--workers 2: execution.workers: must be 0 in micro mode"),
            (["--device", "gpu"], "--device gpu"),
            (["--batch-size", "4"], "--batch-size 4: micro mode has no batches"),
            (["--set", "execution.num_rnus=2"], "nearest: 'num_runs'"),
            (["--num-items", "0"], "--num-items"),
            (["--num-itmes", "3"], "--num-items"),
        ]:
            with self.subTest(arguments=arguments):
                done = plan("--config", LOCAL, *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_a_missing_configuration_is_named(self):
        done = plan("--config", "no/such.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no/such.yaml", done.stderr)
        self.assertEqual(plan().returncode, 2)

    def test_transforms_in_decode_mode_are_a_warning(self):
        done = plan("--config", CONFIGS / "examples" / "local_video_decode.yaml", "--transforms", "Resize", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertIn("decode mode has no transforms", done.stderr)
        self.assertNotIn("transforms", json.loads(done.stdout)["resolved_config"]["selection"])


if __name__ == "__main__":
    unittest.main()
