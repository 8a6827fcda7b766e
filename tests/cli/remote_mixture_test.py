# tests/cli/remote_mixture_test.py - `sluice bench mixture` over `rclone serve s3`: the samples of the folder, cached, and no
# secret in what it says.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import small_episodes

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "storage"))
import servers  # noqa: E402

FEW = ["--preset", "small4", "--batch-size", "8", "--mix-block", "2", "--image-size", "32", "--warmup", "2", "--steps", "20",
       "--seed", "7", "--json"]


class RemoteMixture(small_episodes.SmallEpisodes):
    def bench(self, *arguments, variables=None):
        return subprocess.run(self.command("bench", "mixture", "--quiet", *FEW, *arguments), capture_output=True, text=True,
                              timeout=300, env={**os.environ, **(variables or {})})

    def test_a_bucket_gives_the_samples_of_the_folder(self):
        bucket = self.out.parent / "root" / "bucket"
        shutil.copytree(self.root, bucket / "episodes")
        local = self.bench("--root", self.root, "--out", self.out)
        self.assertEqual(local.returncode, 0, local.stderr)
        (expected,) = json.loads(local.stdout)["rows"]
        with servers.Rclone(bucket.parent) as server:
            remote = ["--root", "s3://bucket/episodes", "--endpoint", server.url, "--cache-dir", self.out.parent / "cache"]
            for turn in ("first", "cached"):
                done = self.bench(*remote, "--out", self.out.parent / turn, variables=server.variables())
                self.assertEqual(done.returncode, 0, done.stderr)
                (row,) = json.loads(done.stdout)["rows"]
                self.assertEqual(row["status"], "ok")
                self.assertEqual(row["output_digest"], expected["output_digest"], turn)
                self.assertNotIn(servers.SECRET, done.stdout + done.stderr)
                self.assertFalse([path for path in (self.out.parent / turn).rglob("*")
                                  if path.is_file() and servers.SECRET.encode() in path.read_bytes()])
            self.assertTrue(any((self.out.parent / "cache").rglob("*")))
            refused = self.out.parent / "refused"
            for root, variables, said in (
                    ("s3://bucket/episodes", server.variables(secret="wrong-secret"), "s3://bucket/episodes"),
                    ("s3://bucket/nothing", server.variables(), "nothing"),
                    ("s3://none/episodes", server.variables(), "none")):
                done = self.bench("--root", root, "--endpoint", server.url, "--out", refused, variables=variables)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertNotIn("wrong-secret", done.stderr)
                self.assertFalse(refused.exists())
        gone = self.bench("--root", "s3://bucket/episodes", "--endpoint", server.url, "--out", self.out.parent / "gone",
                          variables=server.variables())
        self.assertNotEqual(gone.returncode, 0)
        self.assertEqual(len(gone.stderr.strip().splitlines()), 1, gone.stderr)


if __name__ == "__main__":
    RemoteMixture.program = os.path.abspath(sys.argv.pop(1))
    servers.programs()
    unittest.main()
