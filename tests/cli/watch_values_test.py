# tests/cli/watch_values_test.py - what a watched program reports of its steps: values, a device's clock, and nonsense.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()
ENV = {key: value for key, value in os.environ.items() if key not in {"SLUICE_MARKS", "PYTHONPATH"}}

# A device with torch.cuda's interface whose clock is told by the test: it is three marks behind, and each step takes it 2 ms.
FAKE_DEVICE = '''
class Device:
    reached = recorded = 0
    waits = 0
    @staticmethod
    def is_available(): return True
    @staticmethod
    def max_memory_allocated(): return 3 << 20
    @staticmethod
    def max_memory_reserved(): return 4 << 20
    class Event:
        def __init__(self, enable_timing=False): self.timing = enable_timing
        def record(self):
            Device.recorded += 1
            Device.reached = Device.recorded - 3
            self.number = Device.recorded
        def query(self): return self.number <= Device.reached
        def synchronize(self): Device.waits += 1
        def elapsed_time(self, other):
            assert self.timing and other.timing
            return 0.002 * (other.number - self.number)
'''


class WatchValuesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def watch(self, *lines, flags=(), code=0):
        script = self.folder / "script.py"
        script.write_text("\n".join(["import os, sys", "import sluice_marks as marks", *lines]), encoding="utf-8")
        done = subprocess.run([PROGRAM, "watch", "--warmup", "2", *map(str, flags), "--out", "R", "--", sys.executable, "-B",
                               script], capture_output=True, text=True, cwd=self.folder, timeout=120, env=ENV, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def read(self, name):
        return json.loads((self.folder / "R" / name).read_text(encoding="utf-8"))

    def details(self):
        return self.read("results/watch.json")["rows"][0]["runs"][0]["details"][0]

    def test_loss_tokens_samples_and_flop(self):
        done = self.watch("for i in range(12):", "    marks.step()", "    sum(range(20000))",
                          "    marks.log(loss=3 - i / 8, tokens=512, samples=4, flop=2e6)", "marks.pause()",
                          flags=["--peak-tflops", 1])
        self.assertIn("loss 2.75 to 1.625 in 10 reported", done.stdout)
        self.assertIn("TFLOP/s, MFU ", done.stdout)
        metrics = self.read("metrics.json")
        self.assertEqual(metrics["loss"]["loss_values"], [3 - i / 8 for i in range(2, 12)])
        self.assertAlmostEqual(metrics["loss"]["loss_slope"], -1 / 8)
        self.assertEqual((metrics["throughput"]["tokens_per_step"], metrics["throughput"]["samples_per_step"]), (512, 4))
        self.assertAlmostEqual(metrics["throughput"]["tokens_per_sec_p50"] * metrics["timing"]["step_time_p50_s"] / 512, 1, places=2)
        self.assertEqual(metrics["mfu"]["estimator"], "reported")
        self.assertEqual(metrics["mfu"]["flop_per_step"], 2e6)
        self.assertIsNotNone(metrics["mfu"]["mfu_p50"])
        self.assertGreater(metrics["memory"]["peak_rss_bytes"], 1 << 20)
        self.assertIsNone(metrics["memory"]["peak_allocated_bytes"])
        self.assertIn("marks.device", metrics["memory"]["peak_allocated_bytes_reason"])
        self.assertEqual(metrics["env"]["python_version"], ".".join(map(str, sys.version_info[:3])))
        self.assertIsNone(metrics["env"]["torch_version"])

    def test_a_device_is_asked_and_never_waited_for(self):
        done = self.watch(FAKE_DEVICE, "marks.device(Device)", "for i in range(12):", "    marks.step()", "    sum(range(20000))",
                          "marks.pause()", "print('waited', Device.waits)")
        self.assertIn("waited 0", done.stderr)
        self.assertIn("steps are timed by the clock of the device", done.stdout)
        row = self.read("results/watch.json")["rows"][0]
        self.assertEqual(row["runs"][0]["samples_ns"], [2000] * 10)  # the last ones are read when the program ends
        self.assertEqual(self.details()["steps_without_device_time"], 0)
        metrics = self.read("metrics.json")
        self.assertEqual(metrics["memory"]["peak_allocated_bytes"], 3 << 20)
        self.assertEqual(metrics["memory"]["peak_reserved_bytes"], 4 << 20)
        self.assertEqual(metrics["run_config"]["step_clock"], "device")

    def test_a_tensor_of_a_device_is_read_when_its_copy_is_there(self):
        tensor = FAKE_DEVICE + '''
class Tensor:
    is_cuda = True
    def __init__(self, value): self.value = value
    def detach(self): return self
    def to(self, where, non_blocking):
        assert (where, non_blocking) == ("cpu", True)
        return self
    def __float__(self):
        if Device.reached < self.due and not Device.waits: raise AssertionError("read before its copy")
        return self.value
class torch: cuda, __version__ = Device, "2.15.0+cu130"
class version: cuda = "13.0"
torch.version = version
sys.modules["torch"] = torch
'''
        done = self.watch(tensor, "for i in range(12):", "    marks.step()", "    sum(range(20000))",
                          "    loss = Tensor(3 - i / 8)", "    loss.due = Device.recorded + 1", "    marks.log(loss=loss)",
                          "marks.pause()", "print('waited', Device.waits)")
        self.assertIn("waited 0", done.stderr)
        self.assertEqual(self.details()["skipped_records"], 0, done.stdout)
        self.assertEqual(self.details()["losses"], [3 - i / 8 for i in range(2, 12)])
        metrics = self.read("metrics.json")
        self.assertEqual((metrics["env"]["torch_version"], metrics["env"]["cuda_version"]), ("2.15.0+cu130", "13.0"))
        self.assertTrue(metrics["machine_profile"].endswith("_torch2.15"), metrics["machine_profile"])

    def test_a_device_that_is_not_there_or_fails_changes_nothing(self):
        for lines in (["class No:", "    is_available = staticmethod(lambda: False)", "marks.device(No)"],
                      ["class Bad:", "    pass", "marks.device(Bad)"], ["marks.device(None)"]):
            with self.subTest(lines[-2:]):
                self.folder.joinpath("R").exists() and subprocess.run(["rm", "-r", self.folder / "R"], check=True)
                self.watch(*lines, "for _ in range(9): marks.step()", "marks.pause()")
                self.assertNotIn("step_clock", self.details())

    def test_nonsense_is_counted_and_said(self):
        done = self.watch("class Two:", "    def __float__(self): raise ValueError('two elements')",
                          "for i in range(9):", "    marks.step()",
                          "    marks.log(loss=Two() if i == 4 else 1.0, tokens=-3 if i == 5 else 8)",
                          "    marks.log(samples=float('nan') if i == 6 else 2, flop=None)",
                          "    marks.log(flop='many' if i == 7 else 5)", "marks.pause()")
        self.assertIn("4 records of the marks make no sense and were left out", done.stdout)
        details = self.details()
        self.assertEqual(details["skipped_records"], 4)
        self.assertEqual(details["loss_at"], [0, 1, 3, 4, 5, 6])
        self.assertEqual(details["step_tokens_missing"], 1)
        self.assertNotIn("step_flop", details)

    def test_a_loss_that_is_not_finite_fails_the_run(self):
        done = self.watch("for i in range(9):", "    marks.step()", "    marks.log(loss=float('nan') if i == 6 else 1.0)",
                          "marks.pause()", flags=["--quiet"], code=5)
        self.assertIn("reported a loss that is not finite (nan) in step 7", done.stderr)
        self.assertFalse((self.folder / "R" / "metrics.json").exists())

    def test_more_time_on_a_device_than_passed(self):
        lie = FAKE_DEVICE.replace("0.002 *", "5000 *")
        done = self.watch(lie, "marks.device(Device)", "for _ in range(9): marks.step()", "marks.pause()", flags=["--quiet"], code=5)
        self.assertIn("by its device, but the program ran for", done.stderr)

    def test_logs_outside_steps_and_in_forked_children_do_no_harm(self):
        self.watch("marks.log(loss=1)", "for i in range(9):", "    marks.step()",
                   "    if i == 5 and os.fork() == 0:", "        marks.log(loss=99)", "        os._exit(0)",
                   "    if i == 5: os.wait()", "marks.pause()", "marks.log(loss=2)")
        self.assertEqual(self.details()["losses"], [2])
        self.assertEqual(self.details()["skipped_records"], 0)

    def test_a_profile_has_steps_phases_and_values_and_says_where_the_stacks_are(self):
        lines = ["for i in range(9):", "    marks.step()", "    with marks.phase('forward <b>'): sum(range(20000))",
                 "    marks.log(loss=i)", "marks.pause()"]
        path = f"{self.folder}/bin:/usr/bin:/bin"
        with unittest.mock.patch.dict(ENV, PATH=path):
            done = self.watch(*lines, flags=["--profile"])
            self.assertIn("no Python stacks: py-spy is not on PATH", done.stdout)
            trace = self.read("profile/watch.trace.json")
            events = {kind: [event for event in trace["traceEvents"] if event.get("cat") == kind] for kind in ("warm-up", "step", "phase")}
            self.assertEqual([len(found) for found in events.values()], [2, 7, 9])
            self.assertEqual([event["args"]["loss"] for event in events["step"]], list(range(2, 9)))
            self.assertEqual({event["name"] for event in events["phase"]}, {"forward <b>"})
            for event in events["step"] + events["phase"]:
                self.assertGreaterEqual(event["dur"], 0)
            # A py-spy that is told by the test: what it is asked for, and what becomes of one that fails.
            spy = self.folder / "bin" / "py-spy"
            spy.parent.mkdir()
            for ending, expected in (("exit 0", "profile/python.speedscope.json"), ("exit 7", "py-spy left none: it ended with exit code 7")):
                spy.write_text('#!/bin/sh\nshift 3; out=$2; shift 3; "$@" && echo "{}" > "$out"\n' + ending + "\n", encoding="utf-8")
                spy.chmod(0o755)
                subprocess.run(["rm", "-r", self.folder / "R"], check=True)
                done = self.watch(*lines, flags=["--profile"])
                self.assertIn(expected, done.stdout)
                self.assertEqual(len(self.read("results/watch.json")["rows"][0]["runs"]), 1)

    def test_nobody_watches(self):
        env = dict(ENV, PYTHONPATH=str(Path(__file__).resolve().parents[2] / "adapters" / "python"))
        done = subprocess.run([sys.executable, "-B", "-c", "import sluice_marks as m; m.device(None); m.step(); m.log(loss=1); m.pause()"],
                              env=env, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
