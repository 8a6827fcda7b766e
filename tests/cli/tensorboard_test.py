# tests/cli/tensorboard_test.py - what profiles write, loaded by torch-tb-profiler itself: steps, regions, ops, kernels.
# SPDX-License-Identifier: Apache-2.0
import json
import logging
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))
import peer  # noqa: E402

REGIONS = {"data", "transfer", "forward", "loss", "backward", "grad_sync", "optimizer_step"}


def load_traces(folder):
    """A folder of traces as the plugin sees it."""
    from torch_tb_profiler import io  # noqa: PLC0415
    from torch_tb_profiler.profiler.loader import RunLoader  # noqa: PLC0415
    with io.Cache(str(Path(folder) / "cache")) as caches:
        return RunLoader("run", str(folder), caches).load()


class TensorboardTest(unittest.TestCase):
    def load(self, folder, *command):
        made = subprocess.run([PROGRAM, *command, "--out", folder], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        with self.assertNoLogs(level=logging.WARNING):
            return load_traces(Path(folder) / "profile" / "tb")

    def test_the_plugin_finds_steps_regions_and_ops(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.load(folder, "profile", "--model", "gpt-tiny", "--batch-size", "2", "--active", "2", "--repeat", "2")
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

    def test_the_plugin_opens_what_the_flag_of_a_benchmark_leaves(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.load(folder, "bench", "training", "--model", "gpt-tiny", "--mode", "synthetic", "--batch-size", "1",
                            "--warmup-steps", "1", "--measure-steps", "1", "--profile", "trace")
            self.assertTrue((Path(folder) / "profile" / "chrome" / "trace.json").is_file())
            self.assertEqual(run.get_spans(), ["1", "2"])
            profile = run.get_profile("sluice", "2")
            calls = {row["name"]: row["calls"] for row in profile.operation_table_by_name["data"]}
            regions = REGIONS - {"transfer"}  # the batch stays where it is
            self.assertEqual({name: calls.get(name) for name in regions}, {name: 3 for name in regions})

    def test_the_plugin_shows_the_kernels_of_a_gpu(self):
        """From a recorded list: what the writer makes of it, read back from the plugin's views."""
        records = [line.split(maxsplit=7) for line in (Path(__file__).parent / "kernels.txt").read_text().splitlines()
                   if not line.startswith("#")]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([WRITER, Path(__file__).parent / "kernels.txt", folder], check=True, timeout=60)
            with self.assertNoLogs(level=logging.ERROR):
                run = load_traces(folder)
            self.assertEqual(run.workers, ["sluice_kernels"])
            profile = run.get_profile("sluice_kernels", run.get_spans()[0])
            self.assertEqual([view.name for view in profile.views], ["overall", "operator", "kernel", "trace"])
            with open(profile.trace_file_path, encoding="utf-8") as file:
                rows = {(event["pid"], event["tid"]) for event in json.load(file)["traceEvents"]
                        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")}
        self.assertEqual(rows, {(0, 1), (0, 7)})  # GPU 0, a row per stream

        def sum_us(chosen):
            return sum(int(record[2]) - int(record[1]) for record in records if chosen(record)) / 1000

        kernels = {row[0]: row[2:4] for row in profile.kernel_table["data"]["rows"]}
        self.assertEqual(len(kernels), 6)
        self.assertIn("patchify_kernel<__nv_bfloat16, 8, false, false>", kernels)  # readable
        qkv = "nvjet_sm90_tst_128x160_64x5_1x2_h_bx_TNT"
        self.assertEqual(kernels[qkv], [6, round(sum_us(lambda record: record[7] == qkv))])
        owners = {(row[0], row[1]) for row in profile.kernel_op_table["data"]["rows"]}
        self.assertLessEqual({(qkv, "block0.qkv"), (qkv, "block1.qkv"), ("gelu_kernel<__nv_bfloat16, 8, true>", "block0.gelu")}, owners)
        device = {row["name"]: row["device_self_duration"] for row in profile.operation_table_by_name["data"]}
        self.assertEqual(device["block1.qkv"], round(sum_us(lambda record: record[6] == "block1.qkv")))
        names = [column["name"] for column in profile.overview["steps"]["columns"] if "name" in column]
        steps = [dict(zip(names, row[:1] + row[1::2])) for row in profile.overview["steps"]["rows"]]
        self.assertEqual([step["Step"] for step in steps], ["0", "1", "2"])
        for number, step in enumerate(steps):
            for column, work in (("Kernel", "kernel"), ("Memcpy", "copy"), ("Memset", "clear")):
                self.assertAlmostEqual(step[column], sum_us(lambda record, n=number, w=work: record[0] == str(n) and record[4] == w),
                                       delta=0.2)
        self.assertIn("NVIDIA H200", json.dumps(profile.gpu_summary))


if __name__ == "__main__":  # the plugin starts processes that import this file
    peer.enter("tensorboard")
    PROGRAM, WRITER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
