# tests/cli/watch_gpu_test.py - steps by the clock of a real GPU: the PyTorch example, and losses that nobody waits for.
# SPDX-License-Identifier: Apache-2.0
import json
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "adapters"))
import peer  # noqa: E402

peer.enter("torch")
import torch  # noqa: E402

if not torch.cuda.is_available():
    print("skipped: torch finds no GPU")
    sys.exit(peer.SKIPPED)
PROGRAM = Path(sys.argv.pop(1)).resolve()
# Launching takes the host much less than computing takes the device, which is asked for its own time of the whole.
BEHIND = """
import torch, sluice_marks as marks
a = torch.randn(4096, 4096, device="cuda")
marks.device(torch.cuda)
for i in range(60):
    if i == 10:
        first = torch.cuda.Event(enable_timing=True); first.record()
    marks.step()
    b = a @ a @ a
    marks.log(loss=b.flatten()[0] * 0 + i)
last = torch.cuda.Event(enable_timing=True); last.record()
marks.pause()
last.synchronize()
print("device", first.elapsed_time(last) / 50)
"""


class WatchGpuTest(unittest.TestCase):
    def watch(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, "watch", "--json", "--gpu", "cuda:0", "--out", f"{folder}/R", *words],
                                  capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr

    def test_the_example(self):
        file, _ = self.watch("--", sys.executable, "-B", ROOT / "examples" / "watch" / "train_torch.py", "60")
        metrics = file["metrics"]
        self.assertEqual(metrics["run_config"]["step_clock"], "device")
        self.assertEqual(len(metrics["loss"]["loss_values"]), 55)
        self.assertGreater(metrics["memory"]["peak_allocated_bytes"], 0)
        self.assertIn(f"cuda{torch.version.cuda}", metrics["machine_profile"])

    def test_steps_are_the_device_s_where_the_host_runs_ahead(self):
        file, printed = self.watch("--warmup", "10", "--", sys.executable, "-c", BEHIND)
        run = file["rows"][0]["runs"][0]
        self.assertEqual(len(run["samples_ns"]), 50)
        self.assertEqual(run["details"][0]["losses"], list(range(10, 60)))
        told_ms = float(printed.split("device ")[1].split()[0])
        self.assertAlmostEqual(statistics.fmean(run["samples_ns"]) * 1e-6 / told_ms, 1, delta=0.05)


if __name__ == "__main__":
    unittest.main()
