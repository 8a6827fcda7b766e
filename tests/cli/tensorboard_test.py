# tests/cli/tensorboard_test.py - what `sluice profile` writes, loaded by torch-tb-profiler itself: steps, regions, ops.
# SPDX-License-Identifier: Apache-2.0
import logging
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))
import peer  # noqa: E402

REGIONS = {"data", "transfer", "forward", "loss", "backward", "grad_sync", "optimizer_step"}


class TensorboardTest(unittest.TestCase):
    def test_the_plugin_finds_steps_regions_and_ops(self):
        from torch_tb_profiler import io  # noqa: PLC0415
        from torch_tb_profiler.profiler.loader import RunLoader  # noqa: PLC0415
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([PROGRAM, "profile", "--model", "gpt-tiny", "--batch-size", "2", "--active", "2",
                                   "--repeat", "2", "--out", folder], capture_output=True, text=True, timeout=300,
                                  check=False)
            self.assertEqual(made.returncode, 0, made.stderr)
            with io.Cache(str(Path(folder) / "cache")) as caches, self.assertNoLogs(level=logging.WARNING):
                run = RunLoader("run", str(Path(folder) / "profile" / "tb"), caches).load()
            self.assertEqual(run.workers, ["sluice"])
            self.assertEqual(run.get_spans(), ["1", "2"])  # one per cycle, in the order of their names
            for span, steps in (("1", ["2", "3"]), ("2", ["6", "7"])):
                profile = run.get_profile("sluice", span)
                self.assertEqual([view.name for view in profile.views], ["overall", "operator", "trace"])
                rows = profile.overview["steps"]["rows"]
                self.assertEqual([row[0] for row in rows], steps)
                names = [column["name"] for column in profile.overview["steps"]["columns"] if "name" in column]
                self.assertEqual(names, ["Step", "DataLoader", "CPU Exec", "Other"])
                calls = {row["name"]: row["calls"] for row in profile.operation_table_by_name["data"]}
                self.assertEqual({name: calls.get(name) for name in REGIONS}, {name: 2 for name in REGIONS})
                ops = [name for name in calls if name.startswith("block")]
                self.assertGreater(len(ops), 20)


if __name__ == "__main__":  # the plugin starts processes that import this file
    peer.enter("tensorboard")
    PROGRAM = sys.argv.pop(1)
    unittest.main()
