# tests/cli/watch_torch_test.py - the PyTorch example under `sluice watch`, its values, and a program that does not want to end.
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


def watch(folder, *words):
    """The document of --json."""
    done = subprocess.run([PROGRAM, "watch", "--json", "--out", f"{folder}/R", *words], capture_output=True, text=True, timeout=300,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout), done.stderr


class WatchTorchTest(unittest.TestCase):
    def test_the_example(self):
        import torch  # noqa: PLC0415
        with tempfile.TemporaryDirectory() as folder:
            file, printed = watch(folder, "--", sys.executable, "-B", ROOT / "examples" / "watch" / "train_torch.py", "20")
        self.assertIn("loss ", printed)
        row, metrics = file["rows"][0], file["metrics"]
        run = row["runs"][0]
        self.assertEqual((len(run["samples_ns"]), row["unit"], row["items_per_sample"]), (15, "samples/s", 32))
        details = run["details"][0]
        self.assertEqual(list(details["phases_ns"]), ["data", "forward", "backward", "optimizer"])
        self.assertEqual(details["skipped_records"], 0)
        self.assertEqual(details["framework"]["torch"], torch.__version__[:24])
        self.assertEqual(len(metrics["loss"]["loss_values"]), 15)
        self.assertTrue(all(1 < loss < 4 for loss in metrics["loss"]["loss_values"]), metrics["loss"])
        self.assertAlmostEqual(float(printed.split("loss ")[1].split()[0]), metrics["loss"]["final_loss"], places=3)
        self.assertEqual(metrics["mfu"]["flop_per_step"], 32 * 6 * (64 * 256 + 256 * 10))
        short = ".".join(torch.__version__.split(".")[:2])
        self.assertIn(f"torch{short}", metrics["machine_profile"])
        self.assertEqual(file["machine_profile"], metrics["machine_profile"])
        if not torch.cuda.is_available():
            self.assertEqual(metrics["run_config"]["step_clock"], "host")

    def test_a_loss_of_two_elements_is_counted(self):
        script = ("import torch, sluice_marks as marks\nfor i in range(9):\n    marks.step()\n"
                  "    marks.log(loss=torch.ones(2) if i == 7 else torch.ones(1, requires_grad=True))\nmarks.pause()\n")
        with tempfile.TemporaryDirectory() as folder:
            file, printed = watch(folder, "--", sys.executable, "-W", "error", "-c", script)
        details = file["rows"][0]["runs"][0]["details"][0]
        self.assertEqual((details["skipped_records"], details["losses"]), (1, [1, 1, 1]), printed)

    def test_a_program_that_ignores_the_request_is_killed_in_every_run(self):
        deaf = ("import signal, sluice_marks as marks\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                "while True:\n    marks.step()\n    sum(range(10000))\n")
        with tempfile.TemporaryDirectory() as folder:
            file, _ = watch(folder, "--steps", "20", "--runs", "2", "--limit", "60", "--", sys.executable, "-c", deaf)
        self.assertEqual([len(run["samples_ns"]) for run in file["rows"][0]["runs"]], [20, 20])


if __name__ == "__main__":
    unittest.main()
