# tests/cli/train_ranks_case.py - what tests of `sluice train` with several ranks share, on CPUs and GPUs: the model, the data, curves beside each other, faults.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import signal
import subprocess

from checkpoints import tensors
from ranks_case import PATIENCE_S, WAIT_S, RanksCase, torchrun_variables, wait_until

MODEL = ["--model", "vit5-tiny", "--dim", 32, "--layers", 2, "--heads", 2, "--image-size", 32, "--patch-size", 8, "--classes", 4]
SAMPLES = 8  # of a step


def words(arguments):
    return list(map(str, arguments))


class TrainRanksCase(RanksCase):
    PROGRAM = None
    DEVICE = ["--gpu", "cpu"]
    # Relative, of losses and gradient norms: sums of fp32 in another order. 3e-7 was seen of losses over 200 steps on CPUs.
    TOLERANCE = 1e-5
    NORM_TOLERANCE = 1e-3
    PATIENCE_S = PATIENCE_S

    def setUp(self):
        super().setUp()
        self.settings = [*MODEL, *self.DEVICE, "--threads", 1, "--num-workers", 1, "--seed", 3, "--drop-path", 0.1, "--ema", "--label-smoothing", 0.1]
        made = self.sluice("data", "make", "--kind", "rgb", "--count", 50, "--classes", 4, "--width", 64, "--height", 48, "--out", "D", "--quiet")
        self.assertEqual(made.returncode, 0, made.stderr)

    def sluice(self, *arguments, by=(), **variables):
        return subprocess.run([*by, self.PROGRAM, *words(arguments)], capture_output=True, text=True, cwd=self.folder, timeout=WAIT_S, check=False,
                              env={**self.environment, **variables})

    def command(self, ranks, *arguments, batch=None):
        """Of ranks that rank 0 starts."""
        world = ["--world-size", ranks] if ranks > 1 else []
        return ["train", *self.settings, "--input", "D", "--batch-size", batch or SAMPLES // ranks, *world, *arguments]

    def trained(self, ranks, *arguments, out, by=(), batch=None):
        done = self.sluice(*self.command(ranks if not by else 1, *arguments, "--out", out, "--json", "--quiet", batch=batch), by=by)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)  # one: rank 0 alone speaks
        self.assertEqual(document, json.loads((self.folder / out / "train.json").read_text()))
        self.assertEqual(document["world"]["size"], ranks)
        return document

    def steps(self, out):
        return [json.loads(line) for line in (self.folder / out / "steps.jsonl").read_text().splitlines()]

    def checkpoint(self, out):
        return tensors(self.folder / out / "checkpoints" / "last.safetensors")

    def assert_same_curve(self, out, expected):
        found, wanted = self.steps(out), self.steps(expected)
        self.assertEqual([one["step"] for one in found], [one["step"] for one in wanted])
        for a, b in zip(found, wanted):
            self.assertAlmostEqual(a["loss"], b["loss"], delta=self.TOLERANCE * b["loss"], msg=f"step {a['step']}")
            self.assertAlmostEqual(a["gradient_norm"], b["gradient_norm"], delta=self.NORM_TOLERANCE * b["gradient_norm"], msg=f"step {a['step']}")
            self.assertEqual(a["lr"], b["lr"])

    def assert_same_epochs(self, document, expected):
        for a, b in zip(document["epochs"], expected["epochs"]):
            for key in ("epoch", "steps", "total_steps", "samples", "accuracy", "val_accuracy", "ema_val_accuracy"):
                self.assertEqual(a[key], b[key], key)
            for key in ("loss", "val_loss", "ema_val_loss"):
                self.assertEqual(a[key] is None, b[key] is None)
                self.assertAlmostEqual(a[key] or 0, b[key] or 0, delta=self.TOLERANCE * 2)

    def interrupted(self, ranks, out, *flags):
        """Its checkpoints, and how many steps were done."""
        process = subprocess.Popen([self.PROGRAM, *words(self.command(ranks, *flags, "--checkpoint-dir", "c", "--out", out))], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        log = self.folder / out / "steps.jsonl"
        wait_until(lambda: process.poll() is not None or (log.exists() and log.read_text().count("\n") > 2))
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, 130, output + errors)
        return log.read_text().count("\n")

    def resumed(self, ranks, out, *flags):
        shutil.copytree(self.folder / "c", self.folder / f"c-{ranks}")
        shutil.copytree(self.folder / "part", self.folder / out)
        document = self.trained(ranks, *flags, "--checkpoint-dir", f"c-{ranks}", "--resume", out=out)
        return document, tensors(self.folder / f"c-{ranks}" / "last.safetensors")

    def fault(self, number, launched, leader=False):
        """What is left of a training of three ranks, one of which gets a signal."""
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        by, ranks = (["mpirun", "-n", "3"], 1) if launched else ([], 3)
        flags = self.command(ranks, "--epochs", 1_000_000, "--rank-timeout", self.PATIENCE_S, "--val-split", 0, "--checkpoint-every", 5, "--out", "run", "--quiet", batch=2)
        with open(self.folder / "errors", "w", encoding="utf-8") as errors:
            process = subprocess.Popen([*by, self.PROGRAM, *words(flags)], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=errors, env=self.environment)
        log = self.folder / "run" / "steps.jsonl"
        wait_until(lambda: process.poll() is not None or (log.exists() and log.read_text().count("\n") > 20))  # two epochs
        self.assertIsNone(process.poll(), (self.folder / "errors").read_text())
        ranks = [pid for pid, line in self.processes() if " train " in line and not line.startswith("mpirun")]
        self.assertEqual(len(ranks), 3, self.processes())
        os.kill(ranks[0 if leader else 2], number)
        code = process.wait(timeout=WAIT_S)
        self.assert_nobody_is_left()
        lines = (self.folder / "errors").read_text().splitlines()
        if not launched:  # nothing of MPI's either
            self.assertLessEqual(len([line for line in lines if not line.startswith("epoch ")]), 1, lines)
        self.assertTrue((self.folder / "run" / "checkpoints" / "last.safetensors").exists())
        ours = [line for line in lines if line.startswith("sluice:")]
        if ours and not (leader and number == signal.SIGKILL):
            self.assert_failure_is_told(ours[0], leader)
        return code, ours

    def fault_of_torchrun(self, number):
        """The same of ranks by TCP: what ranks 0 and 1 ended with, (exit code, lines of stderr but for epochs)."""
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        command = [self.PROGRAM, *words(self.command(1, "--epochs", 1_000_000, "--rank-timeout", self.PATIENCE_S, "--val-split", 0, "--checkpoint-every", 5,
                                                     "--out", "run", "--quiet", batch=2))]
        started = [subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**self.environment, **variables})
                   for variables in torchrun_variables(3)]
        log = self.folder / "run" / "steps.jsonl"
        wait_until(lambda: started[0].poll() is not None or (log.exists() and log.read_text().count("\n") > 20))
        started[2].send_signal(number)
        ends = [(one.communicate(timeout=WAIT_S)[1], one.returncode) for one in started[:2]]
        started[2].kill()  # one that was stopped, too
        started[2].communicate(timeout=WAIT_S)
        said = [(code, [line for line in text.splitlines() if not line.startswith("epoch ")]) for text, code in ends]
        self.assertEqual(len(said[0][1]), 1, said)
        self.assert_failure_is_told(said[0][1][0], leader=False)
        return said

    def assert_failure_is_told(self, line, leader):
        """By rank 0, unless that is the one that hangs."""
        if leader:
            return
        document = json.loads((self.folder / "run" / "train.json").read_text())
        self.assertEqual((document["schema"], document["status"], f"sluice: {document['reason']}"), ("sluice-train-1", "failed", line))
        self.assertGreater(document["steps"], 5)
        self.assertEqual([epoch["epoch"] for epoch in document["epochs"]], list(range(1, len(document["epochs"]) + 1)))
        self.assertGreater(len(document["epochs"]), 0)

    def refused(self, done, *parts, code=2):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        ours = [line for line in done.stderr.splitlines() if line.startswith(("sluice:", "warning:"))]
        self.assertEqual(len(ours), 1, done.stderr)
        for part in parts:
            self.assertIn(part, ours[0])
        self.assertFalse((self.folder / "no").exists(), "nothing is written")
