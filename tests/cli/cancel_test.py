# tests/cli/cancel_test.py - Ctrl-C and SIGTERM end every command soon, in whatever it waits.
# SPDX-License-Identifier: Apache-2.0
"""usage: cancel_test.py PROGRAM FAULT_SERVER. How long each took is printed, not judged: a signal that is not seen
leaves a command waiting for minutes, and LIMIT_S is far below that."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

FAULT_SERVER = str(Path(sys.argv.pop(2)).resolve())
PROGRAM = str(Path(sys.argv.pop(1)).resolve())
LIMIT_S = 20
PATIENCE_S = 120
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "secret"}
SIGNALS = (signal.SIGINT, signal.SIGTERM)
# What each wants beside --input and --endpoint.
REMOTE = {
    "bench storage": ["--runs", "2", "--out", "run"],
    "bench dataloader": ["--batch-size", "4", "--num-workers", "2", "--out", "run"],
    "data bundle": ["--out", "bundles"],
    "tune": ["--batch-size", "4", "--out", "run"],
    "diagnose": ["--batch-size", "4", "--out", "run"],
}


class FaultServer:
    """The S3 server of tests/storage over the folder `data`; `seen(n)` waits for its n-th request."""

    def __init__(self, data, *faults):
        self.process = subprocess.Popen([FAULT_SERVER, "--tell", "--key", "AKIDTEST", "secret", "--folder", str(data), "D/",
                                         *faults],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"
        self.lines = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()

    def seen(self, count, of=""):
        """Whether so many requests came whose line contains `of`, before patience ran out."""
        with self.changed:
            return self.changed.wait_for(lambda: sum(of in line for line in self.lines) >= count, PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()  # answers that are held back for minutes need not be sent
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


class Cancel(unittest.TestCase):
    times = []

    @classmethod
    def setUpClass(cls):
        cls.root = Path(tempfile.mkdtemp())
        cls.data = cls.root / "data"
        made = subprocess.run([PROGRAM, "data", "make", "--kind", "rgb", "--count", "24", "--width", "96", "--height",
                               "64", "--out", cls.data, "--quiet"], capture_output=True, text=True, timeout=PATIENCE_S)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)
        for name, seconds in cls.times:
            print(f"{seconds * 1000:7.0f} ms  {name}")

    def cancelled(self, name, arguments, reached, number, **variables):
        """Starts the command, signals it once `reached` says so, and wants its end."""
        folder = Path(tempfile.mkdtemp(dir=self.root))
        environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")} | variables
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=folder, env=environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertTrue(reached(process, folder), f"{name}: the phase was not reached: {process.poll()}")
            self.assertIsNone(process.poll(), f"{name}: ended by itself")
            start = time.monotonic()
            process.send_signal(number)
            try:
                _, err = process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                self.fail(f"{name}: still runs {LIMIT_S} s after the first {number.name}")
            self.times.append((f"{name}, {number.name}", time.monotonic() - start))
            # Before there is anything to save the signal does what it does by default.
            self.assertIn(process.returncode, (130, -number), f"{name}: {err}")
        finally:
            process.kill()
            process.communicate()

    def remote(self, phase, faults, reached, commands=REMOTE, **variables):
        for command in commands:
            for number in SIGNALS:
                with self.subTest(command=command, number=number.name), FaultServer(self.data, *faults) as server:
                    self.cancelled(f"{phase}: {command}",
                                   [*command.split(), "--input", "s3://bucket/D", "--endpoint", server.url, "--quiet",
                                    *REMOTE[command]], lambda process, folder: reached(server), number,
                                   **(variables or KEYS))

    def test_while_it_asks_for_keys(self):
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            deaf.settimeout(PATIENCE_S)
            address = f"http://127.0.0.1:{deaf.getsockname()[1]}"
            held = []

            def asked(_):
                held.append(deaf.accept())
                return True
            self.remote("start", [], asked, AWS_CONTAINER_CREDENTIALS_FULL_URI=f"{address}/keys")
            for connection, _ in held:
                connection.close()

    def test_while_a_bucket_is_listed(self):
        self.remote("list", ["--slow-s", "300", "--fault", "slow_first_byte", "1"], lambda server: server.seen(1))

    def test_while_a_listing_is_retried(self):
        self.remote("list, retried", ["--burst", "1", "--fault", "slow_down", "1"], lambda server: server.seen(4))

    def test_while_reads_are_retried(self):
        self.remote("read, retried", ["--fault", "wrong_content_range", "1"],
                    lambda server: server.seen(6, of="/bucket/D/"))

    def test_while_it_measures(self):
        self.remote("measure", [], lambda server: server.seen(40, of="/bucket/D/"),
                    ["bench storage", "bench dataloader"])

    def test_while_it_writes(self):
        photos = ["data", "make", "--kind", "rgb", "--count", "100000", "--out", "made", "--quiet"]
        bundles = ["data", "bundle", "--input", self.root / "made", "--out", "bundles", "--quiet"]

        def grown(process, folder):
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end and process.poll() is None:
                if any(path.is_file() for path in folder.rglob("*.*")):
                    return True
                time.sleep(0.005)
            return False
        for number in SIGNALS:
            self.cancelled("write: data make", photos, grown, number)
        made = self.root / "made"
        made.mkdir()
        for i in range(400):  # sparse: read and written in full
            with open(made / f"{i:03}.png", "wb") as file:
                file.truncate(32 << 20)
        for number in SIGNALS:
            self.cancelled("write: data bundle", bundles, grown, number)
            self.cancelled("write: data stage", ["data", "stage", "--from", made, "--to", "staged", "--quiet"], grown,
                           number)


if __name__ == "__main__":
    unittest.main()
