#!/usr/bin/env python3
# tests/cli/bench_allreduce_gpu_test.py - `sluice bench allreduce` with several ranks that share one GPU: sums that are right, times of every size; faults.
# SPDX-License-Identifier: Apache-2.0
"""usage: SLUICE_TEST_DEVICE=cuda:0 bench_allreduce_gpu_test.py PROGRAM      on a GPU, with NCCL 2.30 or later where the loader or SLUICE_NCCL finds it
Exit 77 without a device. tools/gpu_check packs and runs it."""
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from bench_allreduce_case import BenchAllreduceCase
from ranks_case import WAIT_S

PROGRAM = Path(sys.argv.pop(1)).resolve()
DEVICE = os.environ.get("SLUICE_TEST_DEVICE", "")
SHARED = "NCCL_MULTI_RANK_GPU_ENABLE"
SIZES = ["--min-bytes", "8", "--max-bytes", "16m", "--factor", "128", "--sums", "4", "--samples", "2", "--runs", "1"]


class BenchAllreduceGpuTest(BenchAllreduceCase):
    PROGRAM = PROGRAM
    DEVICE_IN_CASE = "/device=cuda"
    PATIENCE_S = 25  # NCCL takes seconds to begin
    BUSY_TICKS = 600  # the driver and NCCL take some of them

    def setUp(self):
        super().setUp()
        self.environment[SHARED] = "1"

    def assert_measured(self, done, ranks):
        document = self.measured(done, ranks, [8, 1024, 131072, 16777216], 1, 2, library="NCCL ")
        found = document["summary"]["allreduce"]
        self.assertTrue(found["library"].startswith("NCCL "), found["library"])
        for line in found["sizes"]:
            self.assertGreater(line["time_us"]["point"], 0)
            self.assertGreater(line["bus_gb_per_s"]["point"], 0)
        return document

    def test_ranks_that_share_a_gpu(self):
        for ranks in (2, 4):
            out = self.folder / "run"
            done = self.bench("--gpu", DEVICE, "--world-size", str(ranks), *SIZES, "--out", "run")
            document = self.assert_measured(done, ranks)
            self.assertEqual(document["run_config"]["device"], DEVICE)
            print(done.stdout, flush=True)  # for who reads the log
            scaled = subprocess.run([PROGRAM, "scale", "--model", "vit5-small", "--batch-size", "256", "--step-ms", "25", "--ranks", "2", "--allreduce", "run"],
                                    cwd=self.folder, capture_output=True, text=True, timeout=WAIT_S, check=False)
            # Ranks that take turns may take as long for many numbers as for few: then no link fits them.
            self.assertTrue(scaled.returncode == 0 or "two sizes are needed, the larger one slower" in scaled.stderr, scaled.stderr)
            out.rename(self.folder / f"of-{ranks}")

    def test_more_sums_than_are_issued_at_once(self):
        done = self.bench("--gpu", DEVICE, "--world-size", "2", "--min-bytes", "8", "--max-bytes", "512", "--factor", "64", "--sums", "250", "--samples", "2",
                          "--runs", "1", "--out", "run")
        document = self.measured(done, 2, [8, 512], 1, 2, library="NCCL ")
        self.assertEqual({row["items_per_sample"] for row in document["rows"]}, {250})

    def test_ranks_of_torchrun(self):
        first, second = self.by_torchrun(2, [PROGRAM, "bench", "allreduce", "--gpu", DEVICE, *SIZES, "--out", "run"])
        self.assert_measured(subprocess.CompletedProcess([], *first), 2)
        self.assertEqual(second, (0, "", ""), "rank 0 alone speaks")

    def test_a_rank_that_dies_is_named(self):
        self.assertRegex(self.fault(signal.SIGKILL, 3, "--gpu", DEVICE, "--world-size", "3"), r"rank 2 of 3 has ended \(.*\)")

    def test_a_rank_that_hangs_is_named(self):
        self.assertIn(f"rank 2 of 3 did not come to the end of its step within {self.PATIENCE_S} s",
                      self.fault(signal.SIGSTOP, 3, "--gpu", DEVICE, "--world-size", "3"))

    def test_refusals(self):
        self.refused(self.bench("--gpu", DEVICE, "--world-size", "2", "--max-bytes", "1024g", "--out", "run"), "--max-bytes 1024g: 2 ranks want ")
        del self.environment[SHARED]
        devices = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout.count("GPU ")
        self.refused(self.bench("--gpu", "cuda:0", "--world-size", str(devices + 1), "--out", "run"),
                     f"rank {devices} of {devices + 1}: its device would be cuda:{devices}, and this machine has {devices} CUDA device")

    def test_without_nccl_it_says_so(self):
        done = self.bench("--gpu", DEVICE, "--world-size", "2", "--max-bytes", "64", "--out", "run", SLUICE_NCCL=str(self.folder / "libnccl.so.2"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^sluice: NCCL: .*; SLUICE_NCCL names the file libnccl.so.2$")


if __name__ == "__main__":
    if not DEVICE.startswith("cuda:"):
        print("Skipped: SLUICE_TEST_DEVICE names no GPU", flush=True)
        sys.exit(77)
    unittest.main()
