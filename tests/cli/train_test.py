#!/usr/bin/env python3
# tests/cli/train_test.py - `sluice train` as a user meets it, with a small model on a few labelled photographs.
# SPDX-License-Identifier: Apache-2.0
"""usage: train_test.py PROGRAM"""
import json
import math
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from checkpoints import tensors

PROGRAM = Path(sys.argv.pop(1)).resolve()
MODEL = ["--model", "vit5-tiny", "--dim", 32, "--layers", 2, "--heads", 2, "--image-size", 32, "--patch-size", 8,
         "--classes", 4]
SHORT = [*MODEL, "--gpu", "cpu", "--threads", 1, "--num-workers", 2, "--batch-size", 8, "--optimizer", "adamw",
         "--seed", 3]


def short(*arguments):
    """SHORT without the flags that are among `arguments`, and these."""
    kept = [word for i in range(0, len(SHORT), 2) if SHORT[i] not in arguments for word in SHORT[i:i + 2]]
    return [*kept, *arguments]


def sluice(*arguments, folder):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=300)


class TrainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        made = sluice("data", "make", "--kind", "rgb", "--count", 48, "--classes", 4, "--width", 64, "--height", 48,
                      "--out", "D", "--quiet", folder=cls.folder)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.out = self.folder / self._testMethodName

    def train(self, *arguments, command="train", quiet=True):
        return sluice(command, *short(*arguments), *(["--quiet"] if quiet else []), folder=self.folder)

    def result(self, *arguments, **named):
        done = self.train(*arguments, "--json", **named)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, done, code, *parts):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertFalse(self.out.exists(), "nothing is written")

    def test_epochs_steps_and_checkpoints(self):
        document = self.result("--input", "D", "--epochs", 2, "--val-every", 1, "--ema", "--out", self.out)
        self.assertEqual(document, json.loads((self.out / "train.json").read_text()))
        self.assertEqual((document["status"], document["steps"]), ("complete", 10))  # 43 of 48 samples, batches of 8
        self.assertEqual((document["data"]["samples"], document["data"]["validation_samples"]), (43, 5))
        self.assertEqual([e["epoch"] for e in document["epochs"]], [1, 2])
        for epoch in document["epochs"]:
            for key in ("loss", "accuracy", "val_loss", "val_accuracy", "ema_val_loss", "ema_val_accuracy", "samples_per_s",
                        "wait_fraction"):
                self.assertTrue(math.isfinite(epoch[key]), key)
            self.assertGreater(epoch["samples_per_s"], 0)
            self.assertTrue(0 <= epoch["wait_fraction"] <= 1)
        steps = [json.loads(line) for line in (self.out / "steps.jsonl").read_text().splitlines()]
        self.assertEqual([s["step"] for s in steps], list(range(10)))
        self.assertGreater(steps[1]["lr"], steps[9]["lr"])
        self.assertTrue(all(s["gradient_norm"] > 0 for s in steps))
        mean = sum(s["loss"] for s in steps[:5]) / 5
        self.assertAlmostEqual(document["epochs"][0]["loss"], mean, places=6)
        self.assertTrue((self.out / "checkpoints" / "last.safetensors").exists())
        best, last = (self.out / "checkpoints" / f"{name}.safetensors" for name in ("best", "last"))
        accuracies = [epoch["ema_val_accuracy"] for epoch in document["epochs"]]
        self.assertEqual(best.samefile(last), accuracies[-1] > max(accuracies[:-1], default=-1))

    def test_learn_model_is_the_same(self):
        done = self.train("--input", "D", "--epoch", 1, "--out", self.out, command="learn-model", quiet=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"epoch 1/1  loss \d.*val accuracy .*samples/s")
        self.assertIn("epoch 1/1", done.stderr)

    def test_interrupted_and_resumed_gives_the_same_weights(self):
        # One sample per batch and no validation: long enough to be interrupted on any machine.
        several = ["--input", "D", "--epochs", 20, "--batch-size", 1, "--val-split", 0]
        whole = self.result(*several, "--out", self.out / "whole")
        arguments = short(*several, "--checkpoint-dir", self.out / "c", "--out", self.out / "parts", "--json")
        process = subprocess.Popen([PROGRAM, "train", *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        log = self.out / "parts" / "steps.jsonl"
        self.assertIn("train", process.stderr.readline())  # the bar begins with the first step
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("--resume", errors)
        first = json.loads(output)
        self.assertEqual(first["status"], "interrupted")
        self.assertLess(first["steps"], whole["steps"])
        done = sluice("train", *arguments, "--resume", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        second = json.loads(done.stdout)
        self.assertEqual(second["steps"], whole["steps"])
        self.assertEqual([e["loss"] for e in second["epochs"]], [e["loss"] for e in whole["epochs"]])
        self.assertEqual(len(log.read_text().splitlines()), whole["steps"])
        self.assertEqual(tensors(self.out / "c" / "last.safetensors"),
                         tensors(self.out / "whole" / "checkpoints" / "last.safetensors"))

    def test_a_killed_run_leaves_what_it_had_done(self):
        arguments = short("--input", "D", "--epochs", 20, "--batch-size", 1, "--val-split", 0, "--out", self.out)
        process = subprocess.Popen([PROGRAM, "train", *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.assertIn("train", process.stderr.readline())
        process.kill()
        process.communicate(timeout=100)
        document = json.loads((self.out / "train.json").read_text())
        self.assertEqual(document["status"], "running")
        self.assertEqual(document["epochs"], [])

    def test_validates_against_recorded_figures(self):
        self.result("--input", "D", "--epochs", 1, "--ema", "--out", self.out)
        checkpoint = self.out / "checkpoints" / "last.safetensors"
        expected = self.out / "expected.json"
        done = self.train("--input", "D", "--validate", checkpoint, "--record", expected)
        self.assertEqual(done.returncode, 0, done.stderr)
        recorded = json.loads(expected.read_text())
        self.assertEqual(recorded["samples"], 48)  # six batches of 8; none is short here
        self.assertEqual(set(recorded["tolerance"]), {"val_accuracy", "val_loss", "ema_val_accuracy", "ema_val_loss"})
        done = self.train("--input", "D", "--validate", checkpoint, "--expect", expected, "--batch-size", 7)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(": inside"), 4)
        recorded["val_loss"] += 0.5
        expected.write_text(json.dumps(recorded))
        done = self.train("--input", "D", "--validate", checkpoint, "--expect", expected)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, "val_loss .*OUTSIDE")
        expected.write_text('{"val_loss": "low"}')
        done = self.train("--input", "D", "--validate", checkpoint, "--expect", expected)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'val_loss' is", done.stderr)

    def test_train_and_val_folders(self):
        both = self.folder / "both"
        shutil.copytree(self.folder / "D", both / "train")
        shutil.copytree(self.folder / "D", both / "val")
        for folder in (both / "val").iterdir():
            for name in sorted(folder.glob("*.jpg"))[:9]:
                name.unlink()
        document = self.result("--input", "both", "--num-batches", 2, "--out", self.out)
        self.assertEqual((document["data"]["samples"], document["data"]["validation_samples"]), (48, 12))
        self.assertEqual(document["steps"], 2)

    def test_mixing_and_accumulating(self):
        document = self.result("--input", "D", "--mixup", 0.8, "--cutmix", 1, "--label-smoothing", 0.1, "--drop-path", 0.1,
                               "--grad-accum", 2, "--out", self.out)
        self.assertEqual(document["steps"], 2)
        self.assertIsNone(document["epochs"][0]["accuracy"])
        self.assertIsNotNone(document["epochs"][0]["val_accuracy"])

    def test_bad_input_is_one_line_and_writes_nothing(self):
        (self.folder / "empty").mkdir(exist_ok=True)
        flat = self.folder / "flat"
        flat.mkdir(exist_ok=True)
        one = self.folder / "one" / "cats"
        one.mkdir(parents=True, exist_ok=True)
        for name in sorted((self.folder / "D").glob("class-000/*.jpg")):
            shutil.copy(name, flat)
            shutil.copy(name, one)
        out = ["--out", self.out]
        self.refused(self.train("--input", "empty", *out), 2, "no")
        self.refused(self.train("--input", "nowhere", *out), 2, "nowhere")
        self.refused(self.train("--input", "flat", *out), 2, "have no class", "cats/1.jpg")
        self.refused(self.train("--input", "one", *out), 2, "one class, cats")
        self.refused(self.train("--input", "D", "--classes", 2, *out), 2, "has label 2")
        self.refused(self.train("--input", "D", "--val-input", "one", *out), 2, "class folders")
        self.refused(self.train("--input", "D", "--batch-size", 64, *out), 2, "larger than the dataset")
        self.refused(self.train("--input", "D", "--grad-accum", 9, *out), 2, "--grad-accum 9")
        self.refused(self.train("--input", "D", "--resume", *out), 2, "--checkpoint-dir")
        self.refused(self.train("--input", "D", "--resume", "--checkpoint-dir", "none", *out), 2, "last.safetensors")
        self.refused(self.train("--input", "D", "--val-every", 0, *out), 2, "--val-every")
        self.refused(self.train("--input", "D", "--epochs", 0, *out), 2, "--epochs")
        self.refused(self.train("--input", "D", "--heads", 5, *out), 2, "heads")
        self.refused(self.train("--input", "D", "--model", "vit9", *out), 2, "vit9", "vit5-tiny")
        self.refused(self.train("--input", "D", "--gpu", "cuda:0", *out), 2, "cuda:0")
        self.refused(self.train("--input", "D", "--enable-bundling", *out), 2, "sluice data bundle")
        self.refused(self.train("--input", "D", "--expect", "x.json", *out), 2, "--validate")
        self.refused(self.train("--input", "D", "--mixup", 1, "--batch-size", 5, *out), 2, "even")

    def test_checkpoints_of_others_are_refused(self):
        self.result("--input", "D", "--checkpoint-dir", "mine", "--out", self.folder / "first")
        out = ["--checkpoint-dir", "mine", "--out", self.out]
        self.refused(self.train("--input", "D", *out), 2, "--resume")
        self.refused(self.train("--input", "D", "--resume", "--layers", 3, *out), 2, "layers")
        self.refused(self.train("--input", "D", "--resume", "--epochs", 9, *out), 2, "--epochs is 1 there and 9 here")
        self.refused(self.train("--input", "D", "--resume", "--random-erasing", 0.5, *out), 2,
                     "--random-erasing is not given there and 0.5 here")
        self.result("--input", "D", "--checkpoint-dir", "erased", "--random-erasing", 0.5, "--recipe", "three-augment", "--out",
                    self.folder / "erasing")
        erased = ["--checkpoint-dir", "erased", "--out", self.out, "--resume"]
        self.refused(self.train("--input", "D", "--random-erasing", 0.5, *erased), 2, "--recipe is", "not given here")
        self.refused(self.train("--input", "D", "--recipe", "three-augment", *erased), 2, "--random-erasing is 0.5 there")
        last = self.folder / "mine" / "last.safetensors"
        last.write_bytes(last.read_bytes()[:-100])
        self.refused(self.train("--input", "D", "--resume", *out), 2, "last.safetensors")
        self.refused(self.train("--input", "D", "--validate", last), 2, "last.safetensors")


if __name__ == "__main__":
    unittest.main()
