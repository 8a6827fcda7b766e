# tests/adapters/protocol_test.py - the Python runtime's protocol, with a library made up here: no package is needed.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[2] / "adapters" / "python"
sys.path.insert(0, str(PYTHON))
sys.dont_write_bytecode = True

from sluice_worker import Adapter, Failed, Unsupported, serve  # noqa: E402
from sluice_worker.gpu_memory import torch_peaks  # noqa: E402
from sluice_worker.loop import MAX_LINE, Worker  # noqa: E402
from sluice_worker.timing import estimate_pass_ns, warm_up  # noqa: E402


class Echo(Adapter):
    name = "echo"
    packages = ("echo",)
    transforms = ("Same",)

    def versions(self):
        return {"echo": "1.2.3"}


class ScriptedCuda:
    """What torch.cuda counts of steps whose graphs have pools of 10 GB."""

    @staticmethod
    def max_memory_allocated(device):
        return 120_000_000

    @staticmethod
    def max_memory_reserved(device):
        return 10_000_000_000


class TorchPeaksTest(unittest.TestCase):
    def test_of_replayed_graphs_the_reserved_memory_is_told(self):
        self.assertEqual(torch_peaks(ScriptedCuda, "cuda:0", False), {"peak_bytes": 120_000_000, "reserved_bytes": 10_000_000_000})
        self.assertEqual(torch_peaks(ScriptedCuda, "cuda:0", True), {"peak_bytes": 10_000_000_000, "reserved_bytes": 10_000_000_000})


class ScriptedMode:
    """Answers at once; cases named after what goes wrong with them."""

    def __init__(self, adapter):
        self.case = None

    def load(self, request):
        return {"items": 2, "bytes": 8}

    def support(self, spec):
        self.fail(spec["transform"])

    def prepare(self, spec):
        self.fail(spec["transform"])
        self.case = spec["transform"]
        return {"items_per_pass": 2, "bytes_per_item": 4}

    def check(self, sample):
        if self.case == "wrong":
            raise Failed("wrong: 3 of 9 values differ from the reference")
        if self.case == "raises":
            raise RuntimeError("not implemented for 'Byte'\nmore")
        if self.case == "lost":
            raise RuntimeError("CUDA error: device-side assert triggered")
        if self.case == "full":
            raise type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory. Tried to allocate 2 GiB.")
        return {"digest": "d", "shape": [1], "dtype": "uint8"}

    def preflight(self, slow_item_s, items):
        return {"pass_ns": 10}

    def measure(self, passes, warmup_ms, warmup_limit_ms):
        return {"start_ns": 1, "samples_ns": [5], "items_per_sample": passes * 2, "cpu_ns": 5}

    def release(self):
        self.case = None

    @staticmethod
    def fail(name):
        if name == "absent":
            raise Unsupported("echo has no absent")
        if name == "refused":
            raise TypeError("__init__() got an unexpected keyword argument 'x'")


class ProtocolTest(unittest.TestCase):
    def setUp(self):
        self.worker = Worker(Echo(), lambda name: ScriptedMode)
        self.next_id = 0

    def ask(self, kind, **fields):
        self.next_id += 1
        reply = self.worker.answer(json.dumps({"type": kind, "id": self.next_id, **fields}).encode())
        self.assertEqual(reply["id"], self.next_id)
        return reply

    def ready(self, name="fine"):
        self.ask("load", data_dir="", mode="micro")
        return self.ask("prepare", case=name, spec={"transform": name, "mode": "micro"})

    def test_hello_names_library_and_versions(self):
        reply = self.ask("hello", protocol=1)
        self.assertEqual((reply["protocol"], reply["name"], reply["version"]), (1, "echo", "1.2.3"))
        self.assertEqual(reply["cases"], ["Same"])
        self.assertEqual(self.ask("hello", protocol=2)["code"], "failed")

    def test_a_library_that_is_not_installed_is_unsupported(self):
        class Absent(Echo):
            def open(self):
                import a_package_that_is_nowhere  # noqa: F401

        reply = Worker(Absent()).answer(b'{"type": "hello", "protocol": 1, "id": 1}')
        self.assertEqual(reply["code"], "unsupported")
        self.assertIn("a_package_that_is_nowhere", reply["reason"])

    def test_garbage_is_answered_and_survived(self):
        for line in (b"", b"\n", b"{", b"[1]", b"null", b'"x"', b"\xff\xfe", b'{"type": "hello"}', b'{"id": 1}',
                     b'{"id": "1", "type": "hello"}', b'{"id": true, "type": "hello"}', b"[" * 100000, b'{"id":1,"type":5}'):
            with self.subTest(line=line[:20]):
                self.assertEqual(self.worker.answer(line)["type"], "error")
        self.assertEqual(self.ask("hello", protocol=1)["type"], "hello")

    def test_unknown_and_hidden_messages_are_unsupported(self):
        for kind in ("dance", "__init__", "answer", "", "x y", "é"):
            self.assertEqual(self.ask(kind)["code"], "unsupported")

    def test_configure_refuses_what_it_cannot_do(self):
        self.assertEqual(self.ask("configure", threads=1, device="cpu", seed=2**64 - 1)["threads"], 1)
        self.assertEqual(self.ask("configure", threads=0, device="cpu", seed=1)["code"], "failed")
        self.assertEqual(self.ask("configure", threads=1, device="cuda", seed=1)["code"], "unsupported")
        self.assertEqual(self.ask("configure", threads=1, device="cpu", seed=1, thread_policy="x")["code"], "failed")

    def test_nothing_is_timed_before_it_was_checked(self):
        self.assertEqual(self.ask("measure", passes=1)["code"], "failed")
        self.ready()
        self.assertIn("not checked", self.ask("measure", case="fine", passes=1)["reason"])
        self.assertIn("not checked", self.ask("preflight", slow_item_s=0)["reason"])
        self.assertEqual(self.ask("check")["digest"], "d")
        self.assertEqual(self.ask("preflight", slow_item_s=0, items=3)["pass_ns"], 10)
        self.assertEqual(self.ask("measure", case="fine", passes=3)["items_per_sample"], 6)
        self.assertEqual(self.ask("measure", case="other", passes=3)["code"], "failed")
        self.assertEqual(self.ask("release", case="fine")["type"], "release")
        self.assertEqual(self.ask("measure", case="fine", passes=1)["code"], "failed")

    def test_bye_lets_the_case_go_whatever_that_says(self):
        self.ready()
        self.assertEqual(self.worker.mode.case, "fine")
        self.assertEqual(self.ask("bye")["type"], "bye")
        self.assertIsNone(self.worker.mode.case)
        self.ready()
        self.worker.mode.release = lambda: 1 / 0
        self.assertEqual(self.ask("bye")["type"], "bye")
        self.assertTrue(self.worker.ended)

    def test_a_new_case_must_be_checked_again(self):
        self.ready()
        self.ask("check")
        self.ready("next")
        self.assertEqual(self.ask("measure", case="next", passes=1)["code"], "failed")

    def test_a_failed_check_keeps_the_timer_shut(self):
        self.ready("wrong")
        self.assertEqual(self.ask("check")["code"], "failed")
        self.assertEqual(self.ask("measure", case="wrong", passes=1)["code"], "failed")

    def test_exceptions_of_the_library_are_reasons(self):
        self.assertEqual(self.ready("absent")["reason"], "echo has no absent")
        refused = self.ready("refused")
        self.assertEqual(refused["code"], "unsupported")
        self.assertTrue(refused["reason"].startswith("TypeError: __init__() got an unexpected"))
        self.ready("raises")
        raised = self.ask("check")
        self.assertEqual((raised["code"], raised["reason"]), ("unsupported", "RuntimeError: not implemented for 'Byte'"))

    def test_a_device_that_gives_up_is_no_verdict_on_the_library(self):
        for case in ("lost", "full"):  # failed: the supervisor replaces the process
            self.ready(case)
            self.assertEqual(self.ask("check")["code"], "failed")

    def test_where_memory_decides_a_full_device_is_an_answer(self):
        self.worker.adapter.memory_decides = True
        for case, code in (("lost", "failed"), ("full", "unsupported")):
            self.ready(case)
            self.assertEqual(self.ask("check")["code"], code)

    def test_support_asks_case_by_case(self):
        cases = [{"case": f"a/{name}", "spec": {"transform": name}} for name in ("fine", "absent", "refused")]
        reply = self.ask("support", cases=cases)
        self.assertEqual(reply["supported"], ["a/fine"])
        self.assertEqual(reply["unsupported"]["a/absent"], "echo has no absent")
        self.assertTrue(reply["unsupported"]["a/refused"].startswith("TypeError: "))
        self.assertEqual(self.ask("support", cases=3)["code"], "failed")
        self.assertEqual(self.ask("support", cases=[{}])["code"], "failed")

    def test_numbers_out_of_range_are_refused(self):
        self.ready()
        self.ask("check")
        for passes in (0, -1, 1.0, "1", None, True):
            self.assertEqual(self.ask("measure", case="fine", passes=passes)["code"], "failed")
        self.assertEqual(self.ask("measure", case="fine", passes=1, warmup_ms=-1)["code"], "failed")


class Clock:
    """Each item takes `step` nanoseconds; no real time passes."""

    def __init__(self, step):
        self.now, self.step = 0, step

    def work(self, item):
        self.now += self.step
        return item

    def __call__(self):
        return self.now


class TimingTest(unittest.TestCase):
    def test_a_long_pass_is_left_as_soon_as_it_is_warm(self):
        clock = Clock(1_000_000)
        passes = warm_up(clock.work, clock.work, list(range(1000)), 50, 1000, clock)
        self.assertEqual((passes, clock.now), (0, 50_000_000))

    def test_short_passes_go_on_until_they_settle(self):
        clock = Clock(10)
        passes = warm_up(clock.work, clock.work, [1, 2], 0.001, 1000, clock)
        self.assertGreaterEqual(clock.now, 1000)
        self.assertGreaterEqual(passes, 3)

    def test_warm_up_keeps_the_limit(self):
        clock = Clock(1000)
        steps = iter(range(100000, 0, -1))
        shrinking = lambda item: setattr(clock, "now", clock.now + next(steps) ** 2)  # every pass is a new best
        warm_up(shrinking, lambda out: out, [1, 2, 3], 0, 100, clock)
        self.assertLess(clock.now, 100e6 + 1e10 + 1)

    def test_a_slow_case_is_left_when_it_is_over_the_limit_for_sure(self):
        clock = Clock(500_000_000)  # one second per item: work and materialise
        estimate = estimate_pass_ns(clock.work, clock.work, list(range(100)), 10, 0.05, lambda: None, clock)
        self.assertEqual((estimate, clock.now), (100_000_000_000, 1_000_000_000))

    def test_a_fast_case_is_estimated_from_the_first_items(self):
        clock = Clock(500)
        estimate = estimate_pass_ns(clock.work, clock.work, list(range(100)), 10, 0.05, lambda: None, clock)
        self.assertEqual((estimate, clock.now), (100_000, 10_000))


class ProcessTest(unittest.TestCase):
    """The same over descriptors, as the supervisor starts it."""

    def talk(self, lines):
        down_read, down_write = os.pipe()
        up_read, up_write = os.pipe()
        environment = {**os.environ, "SLUICE_PEER_IN": str(down_read), "SLUICE_PEER_OUT": str(up_write)}
        child = subprocess.Popen([sys.executable, "-B", __file__, "serve"], env=environment,
                                 pass_fds=(down_read, up_write))
        os.close(down_read)
        os.close(up_write)
        with os.fdopen(down_write, "wb") as requests, os.fdopen(up_read, "rb") as replies:
            for line in lines:
                requests.write(line + b"\n")
                requests.flush()
            requests.close()
            answers = [json.loads(line) for line in replies]
        return answers, child.wait(30)

    def test_hostile_lines_do_not_end_it(self):
        hello, bye = b'{"type": "hello", "protocol": 1, "id": 1}', b'{"type": "bye", "id": 9}'
        answers, status = self.talk([b"garbage", b"x" * (MAX_LINE + 5), b"\x00\x01", hello, bye])
        self.assertEqual([a["type"] for a in answers], ["error", "error", "error", "hello", "bye"])
        self.assertEqual(status, 0)

    def test_it_ends_with_its_input(self):
        answers, status = self.talk([])
        self.assertEqual((answers, status), ([], 0))

    def test_by_hand_it_says_what_it_is(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_PEER")}
        done = subprocess.run([sys.executable, "-B", __file__, "serve"], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not meant to be started by hand", done.stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        sys.exit(serve(Echo(), lambda name: ScriptedMode))
    unittest.main()
