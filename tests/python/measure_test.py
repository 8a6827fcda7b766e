# tests/python/measure_test.py - sluice.measure: samples by a scripted clock, verdicts of the program, the plugin of pytest.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from support import ROOT
from sluice import _show, measure, watching

FUNCTIONS = """
def first():
    pass
def second():
    sum(range(10))
"""
FASTER, SLOWER = "echo 10.$$", "echo 20.$$"  # numbers that are printed, with a little noise: nothing depends on the machine
DECODE = ROOT / "docs" / "results" / "bench-decode.json"


class Clock:
    """Goes on by itself only when the measured function says so."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class TimeTest(unittest.TestCase):
    def test_samples_are_seconds_per_call(self):
        clock, taken = Clock(), []

        def work():
            taken.append(len(taken))
            clock.now += 50_000  # 50 us

        timing = measure.time(work, seconds=0.1, clock_ns=clock)
        self.assertEqual({round(sample, 12) for sample in timing.samples}, {50e-6})
        self.assertGreaterEqual(timing.calls * 50_000, measure.SAMPLE_NS)
        self.assertAlmostEqual(len(timing.samples) * timing.calls * 50e-6, 0.1, delta=0.01)
        self.assertEqual(timing.interval, (timing.median, timing.median))
        self.assertIn("work: 50 us (50 us to 50 us)", repr(timing))
        self.assertIn("<td>work</td>", timing._repr_html_())

    def test_a_slow_function_still_gives_enough_samples(self):
        clock, calls = Clock(), []

        def work():
            calls.append(1)
            clock.now += 10 ** 9 if len(calls) % 2 else 2 * 10 ** 9

        timing = measure.time(work, seconds=0.01, clock_ns=clock)
        self.assertEqual((timing.calls, len(timing.samples)), (1, measure.LEAST_SAMPLES))
        self.assertLessEqual(timing.interval[0], timing.median)

    def test_the_interval_of_the_median_covers(self):
        import random
        draw = random.Random(3)
        covered = sum(low <= 0 <= high for low, high in
                      (_show.median_interval([draw.gauss(0, 1) for _ in range(21)]) for _ in range(400)))
        self.assertGreaterEqual(covered, 370)  # of 400; 95 % would be 380
        self.assertEqual(_show.median_interval(range(21)), (5, 15))  # the table of the sign test: 6th and 16th of 21

    def test_what_is_refused(self):
        with self.assertRaisesRegex(TypeError, "function is 3; accepted: something that can be called"):
            measure.time(3)
        with self.assertRaisesRegex(ValueError, "seconds is 0; accepted"):
            measure.time(print, seconds=0)


class VerdictTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "functions.py").write_text(FUNCTIONS)

    def functions(self):
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        self.addCleanup(sys.modules.pop, "functions", None)
        import functions
        return functions

    def test_a_command_that_is_worse_fails(self):
        verdict = measure.ab(FASTER, SLOWER, pairs=8, metric="stdout")
        self.assertEqual((verdict.status, verdict.exit_code, bool(verdict)), ("FAIL", 1, False))
        self.assertEqual(verdict.rows[0]["metric"], "stdout")
        self.assertIn("FAIL", repr(verdict))
        self.assertIn("<td>stdout</td>", verdict._repr_html_())
        self.assertEqual(measure.ab(SLOWER, FASTER, pairs=8, metric=["stdout"]).status, "IMPROVED")

    def test_functions_are_measured_in_processes_of_their_own(self):
        functions = self.functions()
        verdict = measure.ab(functions.first, functions.second, seconds=0.001, pairs=2)
        row = verdict.rows[0]
        self.assertEqual((row["metric"], row["better"], row["details"]["pairs"]), ("stdout", "lower", 2))
        self.assertTrue(0 < row["baseline"] < 1 and 0 < row["current"] < 1, row)  # seconds
        self.assertIn("functions.py:first", verdict.document["base"])
        self.assertIn("functions.py:second", verdict.document["candidate"])

    def test_result_files_are_compared(self):
        verdict = measure.compare(DECODE, DECODE)
        self.assertEqual((verdict.status, bool(verdict)), ("PASS", True))
        self.assertEqual(len(verdict.rows), 4)

    def test_what_the_program_refuses_is_an_exception_with_its_line(self):
        with self.assertRaisesRegex(ValueError, "nowhere: does not exist"):
            measure.compare("nowhere", DECODE)
        with self.assertRaisesRegex(ValueError, "unknown flag '--pairss'; did you mean '--pairs'"):
            measure.ab("true", "true", pairss=3)
        with self.assertRaisesRegex(ValueError, "cannot be found from another process; accepted: a command, or a function"):
            measure.ab(lambda: 1, lambda: 2)
        with self.assertRaisesRegex(ValueError, "one of a and b is a function"):
            measure.ab("true", self.functions().first)
        with self.assertRaisesRegex(TypeError, "a is 3; accepted: a text"):
            measure.ab(3, "true")

    def test_the_gate_is_that_of_the_command(self):
        """With a program in its place that says what it was asked: a gate proper measures for minutes."""
        stand_in = self.folder / "sluice"
        stand_in.write_text("#!/bin/sh\necho \"$@\" >&2\n"
                            "echo '{\"verdict\": \"WARN\", \"summary\": \"'\"$*\"'\", \"lines\": [{\"metric\": \"decode\"}]}'\nexit 3\n")
        stand_in.chmod(0o755)
        with unittest.mock.patch.object(measure, "program", return_value=str(stand_in)):
            verdict = measure.gate(quick=True, tau="5%", metric=["wall", "cpu"], strict=False)
        self.assertEqual(verdict.summary, "gate --quick --tau 5% --metric wall --metric cpu --json")
        self.assertEqual((verdict.status, verdict.exit_code, bool(verdict)), ("WARN", 3, False))
        self.assertEqual(verdict.rows, [{"metric": "decode"}])
        with self.assertRaisesRegex(ValueError, "unknown flag '--no-such'"):
            measure.gate(no_such=True)

    def test_tables_for_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed in this environment")
        timing = measure.Timing("work", [0.5, 0.25], 3).to_pandas()
        self.assertEqual(timing["seconds"].tolist(), [0.5, 0.25])
        self.assertEqual(set(timing["function"]), {"work"})
        steps = watching.Steps([0.5, 0.25], {"data": [0.1, 0.2]}, {"loss": [3.0, None]}, 0, 0).to_pandas()
        self.assertEqual((list(steps), steps["data"].tolist(), steps["loss"][0]), (["seconds", "data", "loss"], [0.1, 0.2], 3.0))
        verdict = measure.Verdict({"lines": [{"metric": "wall", "details": {"pairs": 3}}, {"metric": "cpu"}]}, 0).to_pandas()
        self.assertIsInstance(verdict, pandas.DataFrame)
        self.assertEqual((verdict["metric"].tolist(), verdict["details.pairs"][0]), (["wall", "cpu"], 3))

    def pytest(self, *words):
        return subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", "sluice.pytest_plugin", "-p", "no:cacheprovider", "-v", *words],
                              capture_output=True, text=True, cwd=self.folder, env={**os.environ, "NO_COLOR": "1"})

    def test_the_plugin_turns_pairs_into_tests(self):
        (self.folder / "test_pairs.py").write_text(
            f"def test_better(sluice_ab):\n    sluice_ab('{SLOWER}', '{FASTER}', pairs=8, metric='stdout')\n"
            f"def test_worse(sluice_ab):\n    sluice_ab('{FASTER}', '{SLOWER}', pairs=8, metric='stdout')\n")
        skipped = self.pytest()
        self.assertEqual(skipped.returncode, 0, skipped.stdout + skipped.stderr)
        self.assertIn("2 skipped", skipped.stdout)
        judged = self.pytest("--sluice-compare")
        self.assertEqual(judged.returncode, 1, judged.stdout + judged.stderr)
        self.assertRegex(judged.stdout, r"test_better PASSED \(IMPROVED")
        self.assertIn("1 failed, 1 passed", judged.stdout)
        self.assertRegex(judged.stdout, r"FAILED test_pairs.py::test_worse - Failed: FAIL")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
