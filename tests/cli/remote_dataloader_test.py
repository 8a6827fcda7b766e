# tests/cli/remote_dataloader_test.py - `sluice bench dataloader` over `rclone serve s3` with a cache: filled by the first run,
# read by the second.
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


def run(*arguments, **variables):
    return subprocess.run([PROGRAM, *arguments], env={**os.environ, **variables}, capture_output=True, text=True,
                          timeout=300, check=False)


def found(tree, name):
    """The first number called `name`, at any depth; a measured value may lie under "value"."""
    if isinstance(tree, dict):
        value = tree.get(name)
        if isinstance(value, dict):
            value = value.get("value")
        if isinstance(value, (int, float)):
            return value
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            if (value := found(branch, name)) is not None:
                return value
    return None


class RemoteDataloaderTest(unittest.TestCase):
    def test_the_second_run_reads_from_the_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "root" / "bucket" / "D"
            made = run("data", "make", "--kind", "rgb", "--count", "128", "--out", str(data))
            self.assertEqual(made.returncode, 0, made.stderr)
            with servers.Rclone(Path(folder) / "root") as server:
                rates = []
                for _ in range(2):
                    result = run("bench", "dataloader", "--input", "s3://bucket/D", "--endpoint", server.url,
                                 "--cache-dir", str(Path(folder) / "cache"), "--batch-size", "64", "--num-workers", "2",
                                 "--runs", "2", "--num-batches", "2", "--json", **server.variables())
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertNotIn(servers.SECRET, result.stdout + result.stderr)
                    rates.append(found(json.loads(result.stdout), "cache_hit_rate"))
                self.assertEqual(rates, [0, 1])
                wrong = run("bench", "dataloader", "--input", "s3://bucket/D", "--endpoint", server.url, "--json",
                            **server.variables(secret="wrong-secret"))
                self.assertEqual(wrong.returncode, 2, wrong.stderr)
                self.assertIn("s3://bucket/D", wrong.stderr + wrong.stdout)
                self.assertNotIn("wrong-secret", wrong.stderr + wrong.stdout)


if __name__ == "__main__":
    servers.programs()
    unittest.main()
