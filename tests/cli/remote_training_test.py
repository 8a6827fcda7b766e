# tests/cli/remote_training_test.py - `sluice bench training` fed from `rclone serve s3`: what the bucket cost is in its report.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "storage"))
import servers  # noqa: E402

PROGRAM = sys.argv.pop(1)
# Eight batches of 8. Before the timed steps at most seven are read (four taken, three waiting), so none twice; all steps
# together take ten, so all samples lie in the cache then.
SAMPLES = 64


def run(*arguments, **variables):
    return subprocess.run([PROGRAM, *map(str, arguments)], env={**os.environ, **variables}, capture_output=True, text=True,
                          timeout=300, check=False)


class RemoteTrainingTest(unittest.TestCase):
    def test_the_report_has_what_the_bucket_cost(self):
        with tempfile.TemporaryDirectory() as folder:
            made = run("data", "make", "--kind", "rgb", "--count", SAMPLES, "--out", Path(folder) / "root" / "bucket" / "D")
            self.assertEqual(made.returncode, 0, made.stderr)
            with servers.Rclone(Path(folder) / "root") as server:
                cached = ["--cache-dir", Path(folder) / "cache"]
                for name, more, rates in (("cold", cached, (0, None)), ("warm", cached, (1, 1)), ("none", [], (None, None))):
                    out = Path(folder) / name
                    done = run("bench", "training", "--input-s3", "--input-bucket-name", "bucket", "--input-prefix", "D",
                               "--endpoint", server.url, *more, "--model", "vit5-tiny", "--dim", 32, "--heads", 2,
                               "--layers", 2, "--image-size", 32, "--batch-size", 8, "--warmup-steps", 1,
                               "--measure-steps", 4, "--num-workers", 2, "--quiet", "--out", out, **server.variables())
                    self.assertEqual(done.returncode, 0, done.stderr)
                    cloud = json.loads((out / "metrics.json").read_text())["cloud"]
                    self.check(cloud, rates[0], downloads=name != "warm")
                    if rates[1] is not None:
                        self.assertEqual(cloud["warm_cache_hit_rate"], rates[1])
                    self.assertIn("parallel download efficiency", (out / "report.md").read_text())
                    self.assertIn("download by one worker", done.stdout)

    def check(self, cloud, hit_rate, downloads):
        if hit_rate is None:
            self.assertIn("--cache-dir", cloud["cache_hit_rate_reason"])
        else:
            self.assertEqual(cloud["cache_hit_rate"], hit_rate)
        if downloads:
            self.assertGreater(cloud["download_mb_per_s"], 0)
            self.assertGreater(cloud["network_overhead"], 0)
        else:
            self.assertIn("nothing came over a network", cloud["download_mb_per_s_reason"])
        self.assertGreater(cloud["one_worker_mb_per_s"], 0)
        self.assertAlmostEqual(cloud["parallel_download_efficiency"],
                               cloud["alone_mb_per_s"] / (2 * cloud["one_worker_mb_per_s"]), places=6)


if __name__ == "__main__":
    servers.programs()
    unittest.main()
