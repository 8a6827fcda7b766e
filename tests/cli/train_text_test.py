#!/usr/bin/env python3
# tests/cli/train_text_test.py - `sluice train` of a GPT on token files: it learns, resumes exactly, refuses bad input.
# SPDX-License-Identifier: Apache-2.0
"""usage: train_text_test.py PROGRAM"""
import array
import collections
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
MODEL = ["--model", "gpt-tiny", "--dim", 32, "--layers", 1, "--heads", 2, "--gpu", "cpu", "--threads", 1, "--num-workers", 2,
         "--optimizer", "adamw", "--seed", 3]


def sluice(*arguments, folder):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=300)


def tokens_of(folder):
    tokens = array.array("H")
    for path in sorted(folder.glob("*.bin")):
        tokens.frombytes(path.read_bytes())
    return tokens


def entropy(tokens):
    return -sum(n / len(tokens) * math.log(n / len(tokens)) for n in collections.Counter(tokens).values())


class TrainTextTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        made = sluice("data", "make", "--kind", "text", "--tokens", 20001, "--vocabulary", 64, "--shards", 3, "--out", "text",
                      "--json", "--quiet", folder=cls.folder)
        assert made.returncode == 0, made.stderr
        cls.made = json.loads(made.stdout)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.out = self.folder / self._testMethodName

    def train(self, *arguments):
        return sluice("train", *MODEL, *arguments, "--quiet", folder=self.folder)

    def result(self, *arguments):
        done = self.train(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, done, *parts):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertFalse(self.out.exists(), "nothing is written")

    def copy(self, name):
        folder = self.folder / name
        shutil.copytree(self.folder / "text", folder)
        return folder

    def test_learns_more_than_frequencies(self):
        frequencies = entropy(tokens_of(self.folder / "text"))
        self.assertAlmostEqual(self.made["unigram_nats"], frequencies, places=6)
        document = self.result("--input", "text", "--seq-len", 32, "--lr", 0.01, "--epochs", 4, "--out", self.out)
        data = document["data"]
        self.assertEqual((data["samples"], data["validation_samples"], data["classes"]), (562, 63, None))
        self.assertEqual(data["recipe"], {"name": "tokens", "sequence": 32, "vocabulary": 4096})
        self.assertEqual(document["steps"], 280)  # batches of 8, the default of a GPT
        last = document["epochs"][-1]
        self.assertIsNone(last["accuracy"])
        self.assertLess(last["val_loss"], frequencies)
        self.assertLess(last["loss"], frequencies)
        done = self.train("--input", "text", "--seq-len", 32, "--validate", self.out / "checkpoints" / "best.safetensors", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["found"]["samples"], 20000)  # every token but the first

    def test_interrupted_and_resumed_gives_the_same_weights(self):
        several = ["--input", "text", "--seq-len", 8, "--batch-size", 1, "--val-split", 0, "--num-batches", 400]
        whole = self.result(*several, "--out", self.out / "whole")
        arguments = [*MODEL, *several, "--checkpoint-dir", self.out / "c", "--out", self.out / "parts", "--json"]
        process = subprocess.Popen([PROGRAM, "train", *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.assertIn("train", process.stderr.readline())  # the bar begins with the first step
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130, errors)
        self.assertLess(json.loads(output)["steps"], whole["steps"])
        done = sluice("train", *arguments, "--resume", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["epochs"][0]["loss"], whole["epochs"][0]["loss"])
        self.assertEqual(tensors(self.out / "c" / "last.safetensors"),
                         tensors(self.out / "whole" / "checkpoints" / "last.safetensors"))
        arguments[arguments.index("--seq-len") + 1] = 9
        done = sluice("train", *arguments, "--resume", folder=self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--seq-len is 8 there and 9 here", done.stderr)

    def test_train_and_val_folders(self):
        both = self.folder / "both"
        for name in ("train", "val"):
            shutil.copytree(self.folder / "text", both / name)
        document = self.result("--input", "both", "--num-batches", 2, "--seq-len", 200, "--out", self.out)
        self.assertEqual((document["data"]["samples"], document["data"]["validation_samples"]), (100, 100))

    def test_bad_input_is_one_line_and_writes_nothing(self):
        out = ["--out", self.out]
        odd = self.copy("odd")
        (odd / "tokens-00001.bin").write_bytes(b"\0" * 13333)
        self.refused(self.train("--input", "odd", *out), "tokens-00001.bin: has 13333 bytes; a multiple of 2")
        short = self.copy("short")
        (short / "tokens-00002.bin").write_bytes(b"\0" * 100)
        self.refused(self.train("--input", "short", *out), "tokens-00002.bin: holds 50 tokens, but tokens.json says 6667")
        gone = self.copy("gone")
        (gone / "tokens-00000.bin").unlink()
        self.refused(self.train("--input", "gone", *out), "tokens-00000.bin: is not there")
        beyond = self.copy("beyond")
        content = bytearray((beyond / "tokens-00001.bin").read_bytes())
        content[2 * 5000:2 * 5000 + 2] = (4096).to_bytes(2, "little")
        (beyond / "tokens-00001.bin").write_bytes(content)
        index = json.loads((beyond / "tokens.json").read_text())
        (beyond / "tokens.json").write_text(json.dumps({**index, "vocabulary": 5000}))
        self.refused(self.train("--input", "beyond", *out), "tokens-00001.bin: token 5000 is 4096; the model has 4096 ids")
        unknown = self.copy("unknown")
        (unknown / "tokens.json").write_text(json.dumps({**index, "dtype": "float16"}))
        self.refused(self.train("--input", "unknown", *out), 'tokens.json: dtype is "float16"')
        self.refused(self.train("--input", "text", "--seq-len", 20001, *out), "has 20001 tokens; a sequence of 20001 needs 20002")
        self.refused(self.train("--input", "text", "--seq-len", 128, "--batch-size", 200, *out), "larger than the dataset")
        self.refused(self.train("--input", "text", "--dtype", "fp8", *out), "--dtype 'fp8': fp32, bf16, bf16-residual and bf16-weights are accepted")
        self.refused(self.train("--input", "text", "--mixup", 0.5, *out), "--mixup", "gpt-tiny takes tokens")
        self.refused(self.train("--input", "s3://bucket/text", *out), "s3://bucket/text: is for images")
        self.refused(sluice("train", "--input", "text", "--gpu", "cpu", *out, folder=self.folder), "holds tokens", "--model gpt-tiny")
        made = sluice("data", "make", "--kind", "rgb", "--count", 4, "--classes", 2, "--width", 32, "--height", 32, "--out", "D",
                      "--quiet", folder=self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.refused(self.train("--input", "D", *out), "D: has no tokens.json", "--kind text")


if __name__ == "__main__":
    unittest.main()
