#!/usr/bin/env python3
# tests/cli/train_ranks_gpu_test.py - `sluice train` with several ranks that share one GPU: the curve of one, resumed with other numbers of them; faults.
# SPDX-License-Identifier: Apache-2.0
"""usage: SLUICE_TEST_DEVICE=cuda:0 train_ranks_gpu_test.py PROGRAM      on a GPU, with NCCL 2.30 or later where the loader or SLUICE_NCCL finds it
Exit 77 without a device. tools/gpu_check packs and runs it."""
import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from train_ranks_case import TrainRanksCase, words

PROGRAM = Path(sys.argv.pop(1)).resolve()
DEVICE = os.environ.get("SLUICE_TEST_DEVICE", "")
PATIENCE_S = 25  # NCCL takes seconds to begin
SHARED = "NCCL_MULTI_RANK_GPU_ENABLE"


class TrainRanksGpuTest(TrainRanksCase):
    PROGRAM = PROGRAM
    DEVICE = ["--gpu", DEVICE, "--dtype", "fp32"]
    # A product over half the rows may take another kernel, which adds up in another order.
    TOLERANCE = 1e-4
    NORM_TOLERANCE = 1e-2
    PATIENCE_S = PATIENCE_S

    def setUp(self):
        super().setUp()
        self.environment[SHARED] = "1"

    def assert_sums(self, document):
        self.assertTrue(document["world"]["library"].startswith("NCCL "), document["world"])
        self.assertIn(DEVICE, document["engine"]["device"])

    def worst(self, out, expected):
        """For who reads the log: how far two curves are apart."""
        pairs = list(zip(self.steps(out), self.steps(expected)))
        for key in ("loss", "gradient_norm"):
            print(f"{out} beside {expected}: {key} apart by at most {max(abs(a[key] - b[key]) / abs(b[key]) for a, b in pairs):.1e}, {len(pairs)} steps", flush=True)

    def test_curves_of_200_steps(self):
        flags = ["--epochs", 40, "--val-every", 20, "--optimizer", "lamb"]
        one = self.trained(1, *flags, out="one")
        self.assertEqual((one["steps"], one["world"]["library"]), (200, None))
        for ranks in (2, 4):
            many = self.trained(ranks, *flags, out=f"{ranks}")
            self.assert_sums(many)
            self.assertEqual((many["config"]["batch_size"], many["config"]["samples_per_step"]), (8 // ranks, 8))
            self.worst(f"{ranks}", "one")
            self.assert_same_curve(f"{ranks}", "one")
            self.assert_same_epochs(many, one)
        self.trained(2, *flags, out="again")
        self.assertEqual(self.checkpoint("again"), self.checkpoint("2"), "two runs give the same bits")

    def test_ranks_of_torchrun(self):
        flags = ["--epochs", 3, "--optimizer", "lamb"]
        one_of_mpirun = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}  # the ranks that it starts inherit them
        self.environment.update(one_of_mpirun)
        self.trained(2, *flags, out="started")
        for name in one_of_mpirun:
            del self.environment[name]
        first, second = self.by_torchrun(2, [PROGRAM, *words(self.command(1, *flags, "--out", "launched", "--json", "--quiet", batch=4))])
        self.assertEqual((first[0], second), (0, (0, "", "")), first[2])
        self.assert_sums(json.loads(first[1]))
        self.assertEqual(self.checkpoint("launched"), self.checkpoint("started"))

    def test_resumed_with_other_ranks(self):
        flags = ["--epochs", 60, "--val-every", 30, "--optimizer", "adamw"]
        whole = self.trained(2, *flags, out="whole")
        self.assertLess(self.interrupted(2, "part", *flags), whole["steps"])
        for ranks in (1, 2, 4):
            document, weights = self.resumed(ranks, f"{ranks}", *flags)
            self.assertEqual(document["steps"], whole["steps"])
            self.worst(f"{ranks}", "whole")
            self.assert_same_curve(f"{ranks}", "whole")
            self.assertEqual([e["samples"] for e in document["epochs"]], [e["samples"] for e in whole["epochs"]])
            if ranks == 2:
                self.assertEqual(weights, self.checkpoint("whole"), "with as many ranks: bit for bit")

    def test_mixing_and_accumulating_in_bf16(self):
        self.settings = [word if word != "fp32" else "bf16" for word in self.settings]
        flags = ["--epochs", 2, "--mixup", 0.8, "--cutmix", 1, "--random-erasing", 0.3, "--grad-accum", 2, "--checkpoint-every", 1]
        self.trained(2, *flags, out="mixed", batch=4)
        self.trained(2, *flags, out="again", batch=4)
        self.assertEqual(self.checkpoint("mixed"), self.checkpoint("again"))

    def test_a_rank_that_dies_is_named(self):
        code, lines = self.fault(signal.SIGKILL, launched=False)
        self.assertEqual((code, len(lines)), (5, 1), lines)
        self.assertRegex(lines[0], r"^sluice: rank 2 of 3 has ended \(.*\)$")

    def test_a_rank_that_hangs_is_named(self):
        code, lines = self.fault(signal.SIGSTOP, launched=False)
        self.assertEqual((code, lines), (5, [f"sluice: rank 2 of 3 did not come to the end of its step within {PATIENCE_S} s"]))
        first, second = self.fault_of_torchrun(signal.SIGSTOP)
        self.assertEqual((first, second), ((5, [f"sluice: rank 2 of 3 did not come to the end of its step within {PATIENCE_S} s"]), (5, [])))

    def test_ranks_without_a_gpu_of_their_own_are_refused(self):
        del self.environment[SHARED]
        devices = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout.count("GPU ")
        done = self.sluice(*self.command(1, "--out", "no", batch=2), "--world-size", devices + 1)
        self.refused(done, f"rank {devices} of {devices + 1}: its device would be cuda:{devices}, and this machine has {devices} CUDA device")


if __name__ == "__main__":
    if not DEVICE.startswith("cuda:"):
        print("Skipped: SLUICE_TEST_DEVICE names no GPU", flush=True)
        sys.exit(77)
    unittest.main()
