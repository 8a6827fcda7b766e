# tests/python/watching_test.py - sluice.measure.Watch: steps and phases by a scripted clock, and the same marks under `sluice watch`.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import PROGRAM
from sluice import measure

WATCHED = """
from sluice import measure
watch = measure.Watch(warmup=2)
for one in watch.wrap(range(12)):
    watch.step()
    with watch.phase("forward"):
        sum(range(1000))
    watch.log(loss=1 / (one + 1), samples=4)
watch.pause()
steps = watch.result()
print(len(steps.seconds), sorted(steps.phases), steps.values["samples"])
"""


class Scripted:
    """A watch whose clock goes on only when it is told to."""

    def __init__(self, **arguments):
        self.now = 0
        self.watch = measure.Watch(clock_ns=lambda: self.now, **arguments)

    def takes(self, ms):
        self.now += ms * 1_000_000


class WatchTest(unittest.TestCase):
    def loop(self, waits, works):
        """Waits and work of each step in ms."""
        scripted = Scripted(warmup=1)

        def loader():
            for wait in waits:
                scripted.takes(wait)
                yield wait

        for work, _ in zip(works, scripted.watch.wrap(loader()), strict=True):
            scripted.watch.step()
            with scripted.watch.phase("forward"):
                scripted.takes(work - 1)
                with scripted.watch.phase("loss"):
                    scripted.takes(1)
            scripted.watch.log(samples=8)
        scripted.watch.pause()
        return scripted.watch.result()

    def test_a_step_lasts_until_the_next_and_waiting_counts(self):
        steps = self.loop(waits=[50, 2, 4, 6], works=[10, 10, 10, 20])
        self.assertEqual(steps.seconds, [0.014, 0.016, 0.020])  # work, then the wait for the next batch; the first is warm-up
        self.assertEqual(steps.phases["data"], [0.004, 0.006, 0.0])
        for found, expected in zip(steps.phases["forward"], [0.009, 0.009, 0.019], strict=True):
            self.assertAlmostEqual(found, expected)  # without the phase inside it
        self.assertEqual(steps.phases["loss"], [0.001] * 3)
        self.assertEqual(steps.left_out, 1)  # the first wait comes before the first step
        self.assertAlmostEqual(steps.share(), 0.010 / 0.050)
        self.assertAlmostEqual(steps.rate(), 24 / 0.050)
        self.assertIsNone(steps.rate("tokens"))
        self.assertEqual((steps.median, steps.interval), (0.016, (0.014, 0.020)))
        self.assertEqual(repr(steps), "3 steps: 16 ms (14 ms to 20 ms), 480 samples/s, data 20.0 %, forward 74.0 %, loss 6.0 %")
        self.assertIn("<td>data</td><td>4 ms</td><td>20.0 %</td>", steps._repr_html_())

    def test_a_pause_counts_nowhere(self):
        scripted = Scripted(warmup=0)
        with scripted.watch as watch:
            for _ in range(2):
                watch.step()
                scripted.takes(5)
                watch.pause()
                scripted.takes(1000)  # validation
                with watch.phase("validation"):
                    scripted.takes(1)
        steps = watch.result()
        self.assertEqual((steps.seconds, steps.phases, steps.left_out), ([0.005, 0.005], {}, 2))

    def test_a_phase_over_the_end_of_a_step_is_left_out(self):
        scripted = Scripted(warmup=0)
        scripted.watch.step()
        with scripted.watch.phase("long"):
            scripted.takes(3)
            scripted.watch.step()
            scripted.takes(3)
        scripted.watch.pause()
        steps = scripted.watch.result()
        self.assertEqual((steps.seconds, steps.phases, steps.left_out), ([0.003, 0.003], {}, 1))

    def test_values_of_a_step(self):
        class Tensor:
            read = 0

            def detach(self):
                return self

            def __float__(self):
                Tensor.read += 1
                return 0.5

        scripted = Scripted(warmup=0)
        scripted.watch.log(loss=9.0)  # of no step
        scripted.watch.step()
        scripted.watch.log(loss=3, samples=2)
        scripted.watch.log(loss=Tensor(), samples=2, tokens="many")
        scripted.takes(2)
        scripted.watch.step()
        scripted.takes(2)
        scripted.watch.pause()
        scripted.watch.log(tokens=64)
        self.assertEqual(Tensor.read, 0, "nothing waits for a device")
        steps = scripted.watch.result()
        self.assertEqual(steps.values, {"loss": [0.5, None], "tokens": [None, 64.0], "samples": [4.0, None]})
        self.assertEqual((steps.skipped, steps.rate("tokens"), steps.rate("samples")), (1, 32000.0, 2000.0))

    def test_what_a_phase_raises_goes_on(self):
        scripted = Scripted(warmup=0)
        scripted.watch.step()
        with self.assertRaisesRegex(KeyError, "mine"), scripted.watch.phase("forward"):
            scripted.takes(1)
            raise KeyError("mine")
        scripted.watch.pause()
        self.assertEqual(scripted.watch.result().phases, {"forward": [0.001]})

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ValueError, "warmup is -1; accepted"):
            measure.Watch(warmup=-1)
        with self.assertRaisesRegex(TypeError, "name is 3; accepted: a text"):
            measure.Watch().phase(3)
        with self.assertRaisesRegex(RuntimeError, "0 steps have ended, warmup is 5; accepted: more steps than that"):
            measure.Watch().result()

    def test_the_program_sees_the_same_marks(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "train.py").write_text(WATCHED)
            done = subprocess.run([PROGRAM, "watch", "--warmup", "2", "--json", "--quiet", "--out", "run", "--", sys.executable, "-B", "train.py"],
                                  cwd=folder, env={**os.environ}, capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            row = json.loads(done.stdout)["rows"][0]
            self.assertEqual(len(row["runs"][0]["samples_ns"]), 10)
            metrics = json.loads((Path(folder) / "run" / "metrics.json").read_text())
            self.assertEqual(len(metrics["loss"]["loss_values"]), 10)
            self.assertIn("10 ['data', 'forward'] [4.0, 4.0", (Path(folder) / "run" / "program.log").read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
