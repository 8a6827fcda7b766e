# tests/python/lifetime_test.py - Ctrl-C, forks, threads, garbage, the end of the program: never a hang, never a crash.
# SPDX-License-Identifier: Apache-2.0
import gc
import os
import signal
import subprocess
import sys
import threading
import unittest

from support import BUILD, Bucket, PhotoTest, run_python
import sluice

BEGIN = """
import os, signal, sys, threading
import sluice
loader = sluice.Loader(sys.argv[1], sluice.Recipe(size=16), batch_size=4, workers=2)
"""


def threads_of_process():
    return len(os.listdir("/proc/self/task"))


class LifetimeTest(PhotoTest):
    def fine(self, text):
        """A program that must end by itself, with 0 and without a word on stderr; what it printed."""
        done = run_python(BEGIN + text, self.photos)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def loader(self, **options):
        return sluice.Loader(self.photos, sluice.Recipe(size=16, dtype="uint8"), **{"batch_size": 4, "workers": 2, **options})

    def test_the_program_may_end_anywhere(self):
        self.fine("")
        self.fine("iteration = iter(loader); images, labels = next(iteration)")
        self.fine("for images, labels in loader: sys.exit(0)")
        self.fine("iteration = iter(loader); kept = [next(iteration)]; loader.me = loader; kept.append(kept)")
        self.fine("import threading\nlist(loader)\nt = threading.Thread(target=lambda: next(iter(loader)))\nt.start()")

    def test_a_fork_is_told_and_the_parent_goes_on(self):
        found = self.fine("""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about forks of programs with threads
iteration = iter(loader)
images, labels = next(iteration)
child = os.fork()
if child == 0:
    try:
        next(iteration)
    except RuntimeError as error:
        print(str(error).replace(str(os.getppid()), "PARENT").replace(str(os.getpid()), "CHILD"))
    del images, labels
    other = sluice.Loader(sys.argv[1], sluice.Recipe(size=16), batch_size=4, workers=2)
    print(len(list(other)))
    sys.exit(0)
print(os.waitpid(child, 0)[1], len(list(iteration)), flush=True)
""")
        self.assertEqual(sorted(found.splitlines()), sorted([
            "the loader was made in process PARENT, and its threads stayed there: make another in process CHILD", "10", "0 9"]))

    def bucket(self):
        """s3://bucket with the photographs, which come once its gate is opened."""
        if not (BUILD / "libsluice_net.so").exists():
            self.skipTest("the module of object stores is not built")
        made = Bucket({str(path.relative_to(self.photos)): path.read_bytes() for path in self.photos.glob("*/*.jpg")})
        self.addCleanup(made.close)
        return made

    def test_ctrl_c_ends_a_wait(self):
        bucket = self.bucket()
        text = """
import sys
import sluice
for images, labels in sluice.Loader("s3://bucket", sluice.Recipe(size=16), batch_size=8, workers=int(sys.argv[2]),
                                    endpoint=sys.argv[1], anonymous=True):
    print("never")
"""
        for workers in (1, 3):
            bucket.asked.clear()
            with subprocess.Popen([sys.executable, "-B", "-c", text, bucket.endpoint, str(workers)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as child:
                self.assertTrue(bucket.asked.wait(60))
                child.send_signal(signal.SIGINT)
                out, err = child.communicate(timeout=60)
            self.assertEqual((out, child.returncode), ("", -signal.SIGINT))  # as Python ends after Ctrl-C
            self.assertEqual(err.splitlines()[-1], "KeyboardInterrupt")

    def test_a_handler_of_a_signal_may_save_and_close(self):
        bucket = self.bucket()  # no sample comes
        text = """
import signal, sys
import sluice
loader = sluice.Loader("s3://bucket", sluice.Recipe(size=16), batch_size=8, workers=int(sys.argv[2]), endpoint=sys.argv[1], anonymous=True)
iteration = iter(loader)
said = []
def end(_, frame):
    if said or frame.f_code.co_name != "__next__":
        return  # before the wait: the timer comes again
    consumed = loader.state_dict()["consumed"]
    try:
        next(iteration)
    except RuntimeError as error:
        if "handler" in str(error):
            said.extend([str(consumed), str(error)])
            loader.close()
signal.signal(signal.SIGALRM, end)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
try:
    next(iteration)
except RuntimeError as error:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(*said, error, sep="\\n")
"""
        for workers in ("1", "3"):
            done = run_python(text, bucket.endpoint, workers)
            self.assertEqual((done.stdout.splitlines(), done.returncode), ([
                "0", "a handler of a signal asked the loader that waits for a batch in this thread: accepted are state_dict, sample_name, "
                "dataset_size, stats and close", "the loader was stopped"], 0), done.stderr)

    def test_other_threads_run_while_one_waits(self):
        bucket = self.bucket()  # its server is a thread of this process: it answers only if the loader lets it run
        with sluice.Loader("s3://bucket", sluice.Recipe(size=16, dtype="uint8"), batch_size=8, workers=2, seed=4,
                           endpoint=bucket.endpoint, anonymous=True) as loader, self.loader(batch_size=8, seed=4) as local:
            threading.Thread(target=lambda: bucket.asked.wait(60) and bucket.gate.set()).start()
            for (images, labels), (same, same_labels) in zip(loader, local, strict=True):
                self.assertEqual((images.tobytes(), labels.tolist()), (same.tobytes(), same_labels.tolist()))

    def test_a_batch_that_takes_too_long_is_an_error(self):
        bucket = self.bucket()
        with sluice.Loader("s3://bucket", sluice.Recipe(size=16), batch_size=8, workers=2, endpoint=bucket.endpoint, anonymous=True,
                           timeout=0.05) as loader:
            with self.assertRaisesRegex(TimeoutError, "^no batch in 0.05 s; worker at: read "):
                next(iter(loader))

    def test_a_loader_that_nobody_refers_to_ends_its_threads(self):
        for one in threading.enumerate():
            if one is not threading.main_thread():
                one.join(60)  # of a bucket whose last client has just ended
        self.loader().close()
        before = threads_of_process()
        for begun in (False, True):
            loader = self.loader(workers=3)
            if begun:
                iteration = iter(loader)
                images, _ = next(iteration)
                loader.cycle = (loader, iteration)
                del iteration
            del loader
            gc.collect()
            self.assertLessEqual(threads_of_process(), before)  # fewer: one that was ended before join() returned has gone
        self.assertEqual(images.shape, (4, 3, 16, 16))
        images[:] = 0  # its memory is still there

    def test_a_closed_loader_says_so(self):
        with self.loader() as loader:
            iteration = iter(loader)
            next(iteration)
        for call in (lambda: next(iteration), lambda: iter(loader)):
            with self.assertRaisesRegex(RuntimeError, "the loader was stopped"):
                call()
        loader.close()

    def test_threads_may_share_an_iteration(self):
        loader = self.loader(batch_size=2)
        iteration, taken, lock = iter(loader), [], threading.Lock()

        def consume():
            while (batch := next(iteration, None)) is not None:
                with lock:
                    taken.append(batch[1].tolist())

        threads = [threading.Thread(target=consume) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        loader.close()
        self.assertEqual(len(taken), 20)

    @unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "the sanitizer keeps back what was freed")
    def test_memory_does_not_grow_with_epochs(self):
        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        loader = self.loader()
        for epoch in range(1000):
            if epoch == 200:
                before = resident()
            for _ in loader:
                pass
            if epoch % 100 == 99:
                self.loader(workers=1).close()
        loader.close()
        self.assertLess(resident() - before, 3_000_000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
