# tests/python/mixture_test.py - sluice.Mixture: what a batch holds, exact resume, what is refused; threads, Ctrl-C, forks, the end of the program.
# SPDX-License-Identifier: Apache-2.0
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import zlib
from pathlib import Path

from support import BUILD, Bucket, run_python, sluice as command
import numpy as np
import sluice


class MixtureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="sluice-python-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.root = cls.folder / "episodes"
        command("data", "make", "--kind", "episodes", "--preset", "small4", "--episodes", 6, "--out", cls.root, "--quiet")

    def mixture(self, **options):
        made = sluice.Mixture(self.root, "small4", **{"batch_size": 8, "image_size": 32, "workers": 2, "deterministic": True, **options})
        self.addCleanup(made.close)
        return made

    @staticmethod
    def seen(mixture, count):
        """What tells batches apart."""
        return [(batch["episode"], batch["frame"].tolist(), batch["source"].tolist(), zlib.crc32(batch["images"].tobytes()))
                for batch in (next(mixture) for _ in range(count))]

    def test_what_a_batch_holds(self):
        mixture = self.mixture()
        batch = next(mixture)
        self.assertEqual((batch["images"].shape, batch["images"].dtype), ((8, 3, 2, 32, 32), np.uint8))
        self.assertEqual((batch["action"].dtype, batch["action"].shape[0]), (np.float32, 8))
        self.assertEqual((batch["source"].dtype, batch["frame"].dtype), (np.int64, np.int64))
        for index, episode in zip(batch["source"], batch["episode"]):
            self.assertTrue(episode.startswith(mixture.sources[index] + ":"), episode)
        self.assertEqual([len(batch[name]) for name in ("language", "episode", "robot", "offset")], [8] * 4)
        kept, copy = batch["images"], batch["images"].copy()
        self.seen(mixture, 4)
        np.testing.assert_array_equal(kept, copy)  # memory of its own
        self.assertEqual(mixture.stats()["batches"], 5)

    def test_resume_gives_the_batches_that_would_have_followed(self):
        first = self.mixture(workers=1)
        for before in (0, 1, 3, 5):
            with self.subTest(before=before):
                self.seen(first, before)
                state = json.loads(json.dumps(first.state_dict()))
                second = self.mixture(workers=3)
                self.seen(second, 2)  # wherever it is
                second.load_state_dict(state)
                self.assertEqual(self.seen(second, 4), self.seen(first, 4))

    def test_one_pass_ends(self):
        mixture = self.mixture(one_pass=True)
        episodes = [name for batch in mixture for name in batch["episode"]]
        self.assertEqual(len(episodes), len(set(episodes)))
        self.assertGreater(len(episodes), 8)
        self.assertEqual(list(mixture), [])

    def test_what_is_refused(self):
        for words, options in (("batch_size is 'x'; accepted", {"batch_size": "x"}), ("multiple", {"batch_size": 6}),
                               ("on_error is 'go'; accepted: skip, stop", {"on_error": "go"})):
            with self.subTest(options=options), self.assertRaisesRegex((TypeError, ValueError), words):
                self.mixture(**options)
        with self.assertRaisesRegex(Exception, "preset"):
            sluice.Mixture(self.root, "no such")
        with self.assertRaises((FileNotFoundError, ValueError)):
            sluice.Mixture("nowhere", "small4")
        mixture = self.mixture()
        with self.assertRaisesRegex(ValueError, "it is of other data sets or options"):
            state = mixture.state_dict()
            mixture.load_state_dict({**state, "request": {**state["request"], "seed": 77}})
        self.assertEqual(len(self.seen(mixture, 1)), 1)  # as good as before
        mixture.close()
        with self.assertRaisesRegex(RuntimeError, "the mixture was closed"):
            next(mixture)

    def test_threads_may_share_a_mixture(self):
        options = {"batch_size": 32, "image_size": 96}
        expected = self.seen(self.mixture(**options), 24)
        mixture, taken, lock = self.mixture(**options), [], threading.Lock()

        def consume():
            for _ in range(8):
                seen = self.seen(mixture, 1)
                with lock:
                    taken.extend(seen)

        threads = [threading.Thread(target=consume) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(taken), sorted(expected))

    def bucket(self):
        """s3://bucket with the data sets, whose episodes come once its gate is opened."""
        if not (BUILD / "libsluice_net.so").exists():
            self.skipTest("the module of object stores is not built")
        made = Bucket({str(path.relative_to(self.root)): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}, "tfrecord")
        self.addCleanup(made.close)
        return made

    def test_close_ends_a_wait_in_another_thread(self):
        bucket = self.bucket()
        mixture = sluice.Mixture("s3://bucket", "small4", batch_size=8, image_size=32, workers=2, endpoint=bucket.endpoint, anonymous=True,
                                 timeout=50)
        said = []

        def wait():
            try:
                next(mixture)
            except Exception as error:  # of whatever kind: it is compared below
                said.append(f"{type(error).__name__}: {error}")

        thread = threading.Thread(target=wait)
        thread.start()
        self.assertTrue(bucket.asked.wait(60))
        mixture.close()
        thread.join()
        self.assertEqual(said, ["RuntimeError: the mixture was closed"])
        mixture.close()

    def test_ctrl_c_ends_a_wait(self):
        bucket = self.bucket()
        text = """
import sys
import sluice
mixture = sluice.Mixture("s3://bucket", "small4", batch_size=8, image_size=32, workers=2, endpoint=sys.argv[1], anonymous=True, timeout=50)
for batch in mixture:
    print("never")
"""
        with subprocess.Popen([sys.executable, "-B", "-c", text, bucket.endpoint], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:
            self.assertTrue(bucket.asked.wait(60))
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
        self.assertEqual((out, child.returncode), ("", -signal.SIGINT))  # as Python ends after Ctrl-C
        self.assertEqual(err.splitlines()[-1], "KeyboardInterrupt")

    def test_a_handler_of_a_signal_may_close_and_save(self):
        bucket = self.bucket()
        text = """
import signal, sys
import sluice
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
mixture = sluice.Mixture("s3://bucket", "small4", batch_size=8, image_size=32, workers=2, endpoint=sys.argv[1], anonymous=True, timeout=50)
def end(*_):
    print(mixture.state_dict()["batch"])
    mixture.close()
signal.signal(signal.SIGTERM, end)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
try:
    next(mixture)
except RuntimeError as error:
    print(error)
"""
        with subprocess.Popen([sys.executable, "-B", "-c", text, bucket.endpoint], stdout=subprocess.PIPE, text=True) as child:
            self.assertTrue(bucket.asked.wait(60))
            child.send_signal(signal.SIGTERM)
            out, _ = child.communicate(timeout=60)
        self.assertEqual((out.splitlines(), child.returncode), (["0", "the mixture was closed"], 0))

    def test_a_handler_that_asks_for_a_batch_is_told(self):
        text = """
import signal, sys
import sluice
mixture = sluice.Mixture("s3://bucket", "small4", batch_size=8, image_size=32, workers=2, endpoint=sys.argv[1], anonymous=True, timeout=50)
said = []
def end(_, frame):
    if said or frame.f_code.co_name != "__next__":
        return  # before the wait: the timer comes again
    try:
        next(mixture)
    except RuntimeError as error:
        if "handler" in str(error):
            said.append(str(error))
            mixture.close()
signal.signal(signal.SIGALRM, end)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
try:
    next(mixture)
except RuntimeError as error:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(*said, error, sep="\\n")
"""
        done = run_python(text, self.bucket().endpoint)  # no record comes
        self.assertEqual((done.stdout.splitlines(), done.returncode), ([
            "a handler of a signal asked the mixture that waits for a batch in this thread: accepted are state_dict, sources, stats and close",
            "the mixture was closed"], 0), done.stderr)

    def fine(self, text, *arguments):
        """A program that must end by itself, with 0 and without a word on stderr; what it printed."""
        begin = """
import os, sys, threading
import sluice
mixture = sluice.Mixture(sys.argv[1], "small4", batch_size=8, image_size=32, workers=2, deterministic=True)
"""
        done = run_python(begin + text, self.root, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_the_program_may_end_anywhere(self):
        self.fine("")
        self.fine("kept = [next(mixture)]; mixture.me = mixture; kept.append(kept)")
        self.fine("t = threading.Thread(target=lambda: next(mixture))\nt.start()")
        bucket = self.bucket()
        text = """
asked = sluice.Mixture("s3://bucket", "small4", batch_size=8, image_size=32, workers=2, endpoint=sys.argv[2], anonymous=True, timeout=50)
begun = threading.Event()
def wait():
    begun.set()
    try:
        next(asked)
    except RuntimeError:  # it was closed
        pass
threading.Thread(target=wait, daemon=True).start()
begun.wait()
"""
        self.assertEqual(self.fine(text, bucket.endpoint), "")

    def test_a_fork_is_told_and_the_parent_goes_on(self):
        found = self.fine("""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about forks of programs with threads
batch = next(mixture)
child = os.fork()
if child == 0:
    for call in (lambda: next(mixture), mixture.state_dict, mixture.stats):
        try:
            call()
        except RuntimeError as error:
            print(str(error).replace(str(os.getppid()), "PARENT").replace(str(os.getpid()), "CHILD"))
    mixture.close()
    other = sluice.Mixture(sys.argv[1], "small4", batch_size=8, image_size=32, workers=2, deterministic=True)
    print((next(other)["images"] == batch["images"]).all())
    sys.exit(0)
print(os.waitpid(child, 0)[1], len(next(mixture)["episode"]), flush=True)
""")
        told = "the mixture was made in process PARENT, and its threads stayed there: make another in process CHILD"
        self.assertEqual(sorted(found.splitlines()), sorted([told, told, told, "True", "0 8"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
