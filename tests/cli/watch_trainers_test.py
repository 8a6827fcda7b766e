# tests/cli/watch_trainers_test.py - the callbacks of examples/watch with the real Lightning, transformers and py-spy.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "adapters"))
import peer  # noqa: E402

# The group `trainers` has no torch of its own: its packages are used by the Python of the group `torch`.
TRAINERS = peer.python_of("trainers")
if TRAINERS is None:
    print("skipped: no environment 'trainers'; make one with: sluice peers install trainers")
    sys.exit(peer.SKIPPED)
peer.enter("torch")
PROGRAM = Path(sys.argv.pop(1)).resolve()
SITE = next(Path(TRAINERS).parents[1].glob("lib/python3*/site-packages"))
ENV = {**os.environ, "PYTHONPATH": str(SITE), "HF_HUB_OFFLINE": "1", "PATH": os.environ["PATH"] + f":{Path(TRAINERS).parent}"}


class WatchTrainersTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def watch(self, example, *flags, steps=20):
        done = subprocess.run([PROGRAM, "watch", "--out", "R", *flags, "--", sys.executable, "-B",
                               ROOT / "examples" / "watch" / example, str(steps)], capture_output=True, text=True, timeout=300,
                              check=False, env=ENV, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        file = json.loads((self.folder / "R" / "results" / "watch.json").read_text(encoding="utf-8"))
        return done, file["rows"][0], file["metrics"]

    def test_lightning(self):
        done, row, metrics = self.watch("train_lightning.py")
        self.assertIn("trained 20 steps", done.stderr)
        self.assertEqual((len(row["runs"][0]["samples_ns"]), row["unit"], row["items_per_sample"]), (15, "samples/s", 32))
        self.assertEqual(len(metrics["loss"]["loss_values"]), 15)
        self.assertTrue(all(1 < loss < 4 for loss in metrics["loss"]["loss_values"]), metrics["loss"])
        self.assertIn("_torch", metrics["machine_profile"])

    def test_hugging_face(self):
        done, row, metrics = self.watch("train_hf.py")
        self.assertIn("trained 20 steps", done.stderr)
        self.assertEqual((len(row["runs"][0]["samples_ns"]), row["items_per_sample"]), (15, 8))
        self.assertEqual(metrics["throughput"]["tokens_per_step"], 256)
        self.assertEqual(len(metrics["loss"]["loss_values"]), 15)
        self.assertTrue(all(3 < loss < 7 for loss in metrics["loss"]["loss_values"]), metrics["loss"])

    def test_py_spy_samples_the_stacks_of_a_run_of_its_own(self):
        done, row, _ = self.watch("train_torch.py", "--profile", steps=2000)
        self.assertEqual(len(row["runs"]), 1)
        trace = json.loads((self.folder / "R" / "profile" / "watch.trace.json").read_text(encoding="utf-8"))
        steps = [event for event in trace["traceEvents"] if event.get("cat") in ("step", "warm-up")]
        self.assertEqual(len(steps), 2000)
        stacks = self.folder / "R" / "profile" / "python.speedscope.json"
        if "no Python stacks: py-spy left none" in done.stdout:  # where the kernel forbids looking into a child
            self.assertFalse(stacks.exists() and stacks.stat().st_size > 0)
            self.skipTest(done.stdout.split("no Python stacks: ")[1].splitlines()[0])
        names = {frame["name"] for frame in json.loads(stacks.read_text(encoding="utf-8"))["shared"]["frames"]}
        self.assertIn("cross_entropy", " ".join(names))


if __name__ == "__main__":
    unittest.main()
