# tests/cli/watch_torch_test.py - the PyTorch example under `sluice watch`, and a program that does not want to end.
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "adapters"))
import peer  # noqa: E402

peer.enter("torch")
PROGRAM = Path(sys.argv.pop(1)).resolve()


class WatchTorchTest(unittest.TestCase):
    def test_the_example(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, "watch", "--json", "--out", f"{folder}/R", "--", sys.executable, "-B",
                                   ROOT / "examples" / "watch" / "train_torch.py", "20"],
                                  capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("loss ", done.stderr)
            run = json.loads(done.stdout)["rows"][0]["runs"][0]
            self.assertEqual(len(run["samples_ns"]), 15)
            self.assertEqual(list(run["details"][0]["phases_ns"]), ["data", "forward", "backward", "optimizer"])

    def test_a_program_that_ignores_the_request_is_killed(self):
        deaf = ("import signal, sluice_marks as marks\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                "while True:\n    marks.step()\n    sum(range(10000))\n")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, "watch", "--json", "--steps", "20", "--limit", "60", "--out", f"{folder}/R", "--",
                                   sys.executable, "-c", deaf], capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(json.loads(done.stdout)["rows"][0]["runs"][0]["samples_ns"]), 20)


if __name__ == "__main__":
    unittest.main()
