# tests/python/examples_test.py - examples/python with the real torch, Lightning, Accelerate, transformers and timm: they train, and resume exactly.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

from support import ROOT, PhotoTest
sys.path.insert(0, str(ROOT / "tests" / "adapters"))
import peer  # noqa: E402

peer.enter("torch")
OWN_TRAIN = os.environ.get("SLUICE_TIMM_TRAIN")  # a file of timm's repository
TRAINERS = peer.python_of("trainers")  # has no torch of its own: its packages are used by the Python of the group `torch`


class ExamplesTest(PhotoTest):
    COUNT = 60

    def run_example(self, name, *arguments, trainers=True):
        return self.run_program(ROOT / "examples" / "python" / name, self.photos, *arguments, trainers=trainers)[0].splitlines()

    def run_program(self, *words, trainers=True):
        """What it wrote to stdout and stderr."""
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        if trainers:
            if TRAINERS is None:
                self.skipTest("no environment 'trainers'; make one with: sluice peers install trainers")
            site = next(Path(TRAINERS).parents[1].glob("lib/python3*/site-packages"))
            environment["PYTHONPATH"] += f":{site}"
        done = subprocess.run([sys.executable, "-B", *map(str, words)], capture_output=True, text=True, env=environment, cwd=self.folder, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_plain_torch_resumes_in_mid_epoch(self):
        whole = self.run_example("train_torch.py", 20, trainers=False)
        first = self.run_example("train_torch.py", 11, "plain.pt", trainers=False)
        second = self.run_example("train_torch.py", 9, "plain.pt", trainers=False)
        self.assertEqual(len(whole), 20)
        self.assertEqual(first + second, whole)  # samples and losses

    def test_lightning_resumes_in_mid_epoch(self):
        whole = self.run_example("train_lightning.py", 20, "whole.ckpt")
        first = self.run_example("train_lightning.py", 11, "parts.ckpt")
        second = self.run_example("train_lightning.py", 20, "parts.ckpt")
        batches = [line for line in whole if line.startswith("batch ")]
        self.assertEqual(len(batches), 20)
        self.assertEqual([line for line in first + second if line.startswith("batch ")], batches)
        self.assertIn("trained 20 steps", second)

    def test_accelerate_resumes_in_mid_epoch(self):
        whole = self.run_example("train_accelerate.py", 20, "whole")
        first = self.run_example("train_accelerate.py", 11, "parts")
        second = self.run_example("train_accelerate.py", 9, "parts")
        self.assertEqual(len(whole), 20)
        self.assertEqual(first + second, whole)  # samples and losses

    def test_hugging_face_trains(self):
        self.assertRegex(self.run_example("train_hf.py", 20)[-1], r"^trained 20 steps, loss [12]\.\d+; 160 samples$")

    def test_timm_trains_with_either_loader(self):
        said = {whose: self.run_example("train_timm.py", 20, whose) for whose in ("sluice", "timm")}
        for whose, lines in said.items():
            self.assertEqual(lines[-1], f"trained 20 steps in 3 epochs with the loader of {whose}")
            steps = [re.fullmatch(r"step (\d+) images (\(.*\)) labels (\[.*\]) loss ([\d.]+)", line) for line in lines[:-1]]
            self.assertEqual([int(step[1]) for step in steps], list(range(1, 21)))
            self.assertEqual({step[2] for step in steps}, {"(8, 3, 64, 64)"})
            self.assertTrue(all(0 < float(step[4]) < 10 for step in steps))
            epoch = [label for step in steps[:7] for label in json.loads(step[3])]
            self.assertEqual({epoch.count(label) <= 15 for label in range(4)}, {True})  # 60 photographs in 4 classes, none twice
            self.assertEqual(len(epoch), 56)

    @unittest.skipUnless(OWN_TRAIN, "SLUICE_TIMM_TRAIN is not set to timm's train.py, which no package of timm has")
    def test_three_lines_of_the_manual_in_timms_own_train_script(self):
        lines = re.search(r"```python\n(import sluice\nloader_train = .*?)```", (ROOT / "docs" / "python.md").read_text(), flags=re.DOTALL)[1]
        whole = Path(OWN_TRAIN).read_text()
        call = re.search(r"^( +)loader_train = create_loader\(.*?^\1\)\n", whole, flags=re.DOTALL | re.MULTILINE)
        script = self.folder / "train.py"
        script.write_text(whole[:call.start()] + textwrap.indent(lines, call[1]) + whole[call.end():])
        flags = ["--train-split", "", "--val-split", "", "--model", "test_resnet", "--img-size", 32, "--num-classes", 4, "--batch-size", 8,
                 "--epochs", 3, "--warmup-epochs", 0, "--workers", 1, "--no-prefetcher", "--device", "cpu", "--log-interval", 1, "--output", "out"]
        said = self.run_program(script, "--data-dir", self.photos, *flags)[1]
        steps = re.findall(r"Train: (\d+) \[ *(\d+)/7 .*?Loss: +([\d.]+)", said)
        self.assertEqual(len(steps), 21, said)  # 60 photographs in batches of 8, three times
        self.assertEqual(sorted({int(epoch) for epoch, _, _ in steps}), [0, 1, 2])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
