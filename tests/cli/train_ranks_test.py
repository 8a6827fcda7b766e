#!/usr/bin/env python3
# tests/cli/train_ranks_test.py - `sluice train` with several ranks: the curve of one, resumed with other numbers of them; faults, and what is refused.
# SPDX-License-Identifier: Apache-2.0
"""usage: train_ranks_test.py PROGRAM"""
import json
import shutil
import signal
import sys
import unittest
from pathlib import Path

from ranks_case import PATIENCE_S, has_mpi
from train_ranks_case import TrainRanksCase, words

PROGRAM = Path(sys.argv.pop(1)).resolve()
NO_MPI = "no Open MPI on this machine; tools/setup installs it"


@unittest.skipUnless(has_mpi(PROGRAM), NO_MPI)
class TrainRanksTest(TrainRanksCase):
    PROGRAM = PROGRAM

    def test_curves_of_200_steps(self):
        plan = ["--epochs", 40, "--val-every", 20]  # 45 samples to train on, 40 in whole steps; 5 to validate, which four ranks do not share evenly
        flags = [*plan, "--optimizer", "lamb"]
        one = self.trained(1, *flags, out="one")
        self.assertEqual(one["steps"], 200)
        two = self.trained(2, *flags, out="two")
        self.assertEqual((two["config"]["batch_size"], two["config"]["world_size"], two["config"]["samples_per_step"]), (4, 2, 8))
        four = self.trained(4, *flags, out="four", by=("mpirun", "-n", "4"), batch=2)
        for ranks, document in (("two", two), ("four", four)):
            self.assert_same_curve(ranks, "one")
            self.assert_same_epochs(document, one)
        self.trained(2, *flags, out="again")
        self.assertEqual(self.checkpoint("again"), self.checkpoint("two"), "two runs give the same bits")
        self.assertEqual(self.checkpoint("two").keys(), self.checkpoint("one").keys())

    def test_ranks_of_torchrun(self):
        flags = ["--epochs", 3, "--optimizer", "lamb"]
        self.trained(1, *flags, out="one")
        command = [PROGRAM, *words(self.command(1, *flags, "--out", "two", "--json", "--quiet", batch=4))]
        first, second = self.by_torchrun(2, command)
        self.assertEqual(first[0], 0, first[2])
        self.assertEqual(second, (0, "", ""), "rank 0 alone speaks")
        self.assertEqual(json.loads(first[1])["world"], {"size": 2, "library": "TCP"})
        self.assert_same_curve("two", "one")
        first, second = self.by_torchrun(2, [PROGRAM, *words(["nowhere" if one == "D" else one for one in self.command(1, "--out", "no")])])
        self.assertEqual((first[0], second[1:]), (2, ("", "")), first)
        self.assertIn("nowhere", first[2])
        self.assertEqual(len(first[2].strip().splitlines()), 1)

    def test_a_rank_of_another_version_is_named(self):
        self.refused_by_version(PROGRAM, *self.command(1, "--out", "no"))

    def test_a_port_that_is_taken(self):
        codes, said, expected = self.at_a_taken_port([PROGRAM, *words(self.command(1, "--out", "no"))])
        self.assertEqual((codes, said), ([2, 2], f"sluice: {expected}\n"))

    def test_resumed_with_other_ranks(self):
        flags = ["--epochs", 60, "--val-every", 30, "--optimizer", "adamw"]
        whole = self.trained(2, *flags, out="whole")
        self.assertLess(self.interrupted(2, "part", *flags), whole["steps"])
        for ranks in (1, 2, 4):
            document, weights = self.resumed(ranks, f"{ranks}", *flags)
            self.assertEqual(document["steps"], whole["steps"])
            self.assert_same_curve(f"{ranks}", "whole")
            self.assertEqual([e["samples"] for e in document["epochs"]], [e["samples"] for e in whole["epochs"]])
            self.assertEqual([e["accuracy"] for e in document["epochs"]], [e["accuracy"] for e in whole["epochs"]])
            if ranks == 2:
                self.assertEqual(weights, self.checkpoint("whole"), "with as many ranks: bit for bit")
        done = self.sluice(*self.command(2, *flags, "--checkpoint-dir", "c", "--resume", "--out", "no", batch=8))
        self.refused(done, "number of samples in a step", "is 8 there and 16 here")

    def test_one_rank_resumed_with_two(self):
        flags = ["--epochs", 400, "--val-split", 0, "--optimizer", "adamw"]
        whole = self.trained(1, *flags, out="whole")
        self.assertLess(self.interrupted(1, "part", *flags), whole["steps"])
        self.resumed(2, "2", *flags)
        self.assert_same_curve("2", "whole")

    def test_text_mixing_and_accumulating(self):
        made = self.sluice("data", "make", "--kind", "text", "--tokens", 6000, "--vocabulary", 512, "--out", "T", "--quiet")
        self.assertEqual(made.returncode, 0, made.stderr)
        text = ["train", "--model", "gpt-tiny", "--dim", 32, "--layers", 2, "--heads", 2, "--seq-len", 32, "--input", "T", "--gpu", "cpu", "--threads", 1,
                "--num-batches", 10, "--seed", 3, "--json", "--quiet"]
        losses = []
        for ranks, batch, more in ((1, 8, []), (2, 4, []), (2, 2, ["--grad-accum", 2, "--num-batches", 20])):
            flags = [word for i in range(1, len(text) - 2, 2) if text[i] not in more for word in text[i:i + 2]] + text[-2:]
            world = ["--world-size", ranks] if ranks > 1 else []
            done = self.sluice("train", *flags, *more, "--batch-size", batch, *world, "--out", f"t{len(losses)}")
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads(done.stdout)
            losses.append(([one["loss"] for one in self.steps(f"t{len(losses)}")], document["epochs"][0]["val_loss"]))
        for found, validated in losses[1:]:
            self.assertEqual(len(found), 10)
            for a, b in zip(found + [validated], losses[0][0] + [losses[0][1]]):
                self.assertAlmostEqual(a, b, delta=self.TOLERANCE * b)
        mixed = ["--epochs", 2, "--mixup", 0.8, "--cutmix", 1, "--random-erasing", 0.3, "--grad-accum", 2, "--checkpoint-every", 1]
        self.trained(2, *mixed, out="mixed", batch=4)
        self.trained(2, *mixed, out="again", batch=4)
        self.assertEqual(self.checkpoint("mixed"), self.checkpoint("again"))

    def test_ranks_that_differ(self):
        other = self.folder / "E"
        shutil.copytree(self.folder / "D", other)
        names = sorted((other / "class-000").iterdir())
        names[0].rename(names[0].with_name("zzz.jpg"))

        def different(*arguments):
            mine = ["train", *self.settings, "--batch-size", 4, "--input", "D", "--out", "no"]
            theirs = mine[1:]
            for flag, value in zip(arguments[::2], arguments[1::2]):
                if flag in theirs:
                    theirs[theirs.index(flag) + 1] = value
                else:
                    theirs += [flag, value]
            return self.sluice(*mine, ":", "-n", "1", PROGRAM, "train", *theirs, by=("mpirun", "-n", "1"))

        self.refused(different("--lr", 0.5), "rank 1 of 2: --lr is 0.5, rank 0 has 0.004")
        self.refused(different("--layers", 3), "rank 1 of 2: the model's layers is 3, rank 0 has 2")
        self.refused(different("--input", "E"), "rank 1 of 2: the digest of names and labels of its training data is")
        self.refused(different("--input", "nowhere"), "rank 1 of 2: nowhere: ")
        self.refused(different("--batch-size", 8), "rank 1 of 2: number of samples in a step")

    def test_refusals_are_one_line(self):
        train = self.command(1, "--out", "no", batch=4)
        two = ("mpirun", "-n", "2")
        self.refused(self.sluice(*train, "--world-size", 0), "--world-size 0: 1 to 1024, or -1")
        self.refused(self.sluice(*train, "--world-size", 3, by=two), "--world-size 3: mpirun started 2 ranks")
        self.refused(self.sluice(*train, "--epochs", 0, by=two), "--epochs")
        self.refused(self.sluice(*train, "--resume", by=two), "--checkpoint-dir")
        self.refused(self.sluice(*train, "--validate", "x", by=two), "--validate: evaluates in one process, not on 2 ranks")
        self.refused(self.sluice(*self.command(1, "--out", "no", batch=30), by=two), "2 ranks with a batch of 30 need 60 samples, the dataset has 45")
        self.refused(self.sluice(*self.command(2, "--out", "no", batch=30)), "2 ranks with a batch of 30 need 60 samples, the dataset has 45")
        self.refused(self.sluice(*train, RANK="0", WORLD_SIZE="2"), "MASTER_ADDR is not set; torchrun sets it")
        self.refused(self.sluice(*train, RANK="0", WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="4"),
                     "say rank 1 of 4, RANK and WORLD_SIZE say rank 0 of 2")
        self.refused(self.sluice(*train, RANK="0", WORLD_SIZE="0"), "WORLD_SIZE is 0; 1 to 1048576 are accepted")
        far = ["cuda:1000" if word == "cpu" else word for word in train]  # a GPU that is not there
        for world in (2, -1):
            self.refused(self.sluice(*far, "--world-size", world), "device cuda:1000: ")
        codes = [(code, text) for code, _, text in self.by_torchrun(2, [PROGRAM, *words(far)])]
        self.assertEqual((codes[0][0], codes[1][1]), (2, ""), codes)
        self.assertEqual(codes[0][1].count("device cuda:1000: "), 1, codes)
        self.refused(self.sluice(*["cuda:x" if word == "cpu" else word for word in train], "--world-size", 2), "--gpu cuda:x: accepted are cpu, cuda and cuda:N")
        for command in (["profile", "--model", "vit5-tiny"], ["gate"], ["run", "--config", "x.yaml"], ["diagnose", "--input", "D"], ["quick"], ["report", "x"]):
            self.refused(self.sluice(*command, "--out", "no", by=two), f"{command[0]}: mpirun started 2 of it, and it runs in one process")
        self.assertEqual(self.sluice("report", "--help", by=two).returncode, 0)

    def test_a_rank_that_dies_is_named(self):
        code, lines = self.fault(signal.SIGKILL, launched=False)
        self.assertEqual((code, len(lines)), (5, 1), lines)
        self.assertRegex(lines[0], r"^sluice: rank 2 of 3 died: its process \d+ is gone$")
        code, lines = self.fault(signal.SIGKILL, launched=True)
        self.assertNotEqual(code, 0)  # mpirun's: 128 + 9
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^sluice: rank 2 of 3 died: its process \d+ is gone$")

    def test_a_rank_of_torchrun_that_dies_or_hangs_is_named(self):
        first, second = self.fault_of_torchrun(signal.SIGKILL)
        self.assertEqual((first[0], second), (5, (5, [])), first)
        self.assertRegex(first[1][0], r"^sluice: rank 2 of 3 has ended \(.*\)$")
        first, second = self.fault_of_torchrun(signal.SIGSTOP)
        self.assertEqual((first, second), ((5, [f"sluice: rank 2 of 3 did not come to the end of its step within {PATIENCE_S} s"]), (5, [])))

    def test_a_rank_that_hangs_is_named(self):
        for launched in (False, True):
            code, lines = self.fault(signal.SIGSTOP, launched)
            self.assertEqual((code, lines), (5, [f"sluice: rank 2 of 3 did not come to the end of its step within {PATIENCE_S} s: it was stopped by a signal"]))

    def test_rank_0_that_hangs_or_dies_leaves_nobody(self):
        code, lines = self.fault(signal.SIGSTOP, launched=True, leader=True)
        self.assertEqual((code, lines), (5, [f"sluice: rank 0 of 3 did not come to the end of its step within {PATIENCE_S} s: it was stopped by a signal"]))
        self.fault(signal.SIGKILL, launched=False, leader=True)
        self.fault(signal.SIGSTOP, launched=False, leader=True)


if __name__ == "__main__":
    unittest.main()
