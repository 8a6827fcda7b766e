# tests/cli/cancelling.py - every command in every phase that it can wait in, and how it is stopped there.
# SPDX-License-Identifier: Apache-2.0
"""For tests/cli/cancel_test.py, which wants each to end, and bench/cancel_times.py, which measures how soon."""
import contextlib
import dataclasses
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

LIMIT_S = 20
PATIENCE_S = 120
SIGNALS = (signal.SIGINT, signal.SIGTERM)
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "secret"}
MODEL = ["--dim", "64", "--heads", "2", "--layers", "2", "--seq-len", "64", "--batch-size", "4"]
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

    def __init__(self, program, data, faults):
        self.process = subprocess.Popen([program, "--tell", "--key", "AKIDTEST", "secret", "--folder", str(data), "D/", *faults],
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

    def close(self):
        self.process.kill()  # answers that are held back for minutes need not be sent
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


def until(process, true):
    """Looks every few milliseconds; False when the process ends first."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        if true():
            return True
        time.sleep(0.002)
    return False


def catches_signals(process, _):
    """Its program has begun: before that a signal does what it does by default."""
    def caught():
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(status.split("SigCgt:")[1].split()[0], 16) >> (signal.SIGINT - 1) & 1
    return until(process, caught)


def measures(process, _):
    """A worker, or the command that is measured, runs."""
    def child():
        with contextlib.suppress(OSError):  # a thread or a child that has ended by now
            for thread in Path(f"/proc/{process.pid}/task").iterdir():
                for pid in (thread / "children").read_text().split():
                    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
                    if "worker" in words or words[0].endswith("/sleep") or "sleep 300" in words:
                        return True
        return False
    return until(process, child)


def has_written(process, folder):
    return until(process, lambda: any(path.is_file() for path in folder.rglob("*.*")))


@dataclasses.dataclass
class Case:
    phase: str
    command: str
    arguments: list
    reached: object  # (process, folder) -> bool; with a server: (server) -> bool
    faults: list = None  # of a server that it is sent to; None: there is none
    variables: dict = dataclasses.field(default_factory=dict)


class World:
    def __init__(self, program, server):
        self.program, self.server = str(Path(program).resolve()), str(Path(server).resolve())
        self.root = Path(tempfile.mkdtemp())
        self.data = self.root / "data"
        subprocess.run([self.program, "data", "make", "--kind", "rgb", "--count", "24", "--width", "96", "--height", "64",
                        "--out", self.data, "--quiet"], check=True, timeout=PATIENCE_S)
        for i, photo in enumerate(sorted(self.data.rglob("*.jpg"))):  # a folder per class, for `train`
            (self.root / "classes" / str(i % 2)).mkdir(parents=True, exist_ok=True)
            shutil.copy(photo, self.root / "classes" / str(i % 2))
        self.large = self.root / "large"
        self.large.mkdir()
        for i in range(400):  # sparse: read and written in full
            with open(self.large / f"{i:03}.png", "wb") as file:
                file.truncate(32 << 20)
        self.deaf = socket.create_server(("127.0.0.1", 0))
        self.deaf.settimeout(PATIENCE_S)
        self.held = []

    def close(self):
        for connection, _ in self.held:
            connection.close()
        self.deaf.close()
        shutil.rmtree(self.root)

    def asked_for_keys(self, _):
        self.held.append(self.deaf.accept())
        return True

    def cases(self):
        photos = ["--input", self.data, "--batch-size", "4"]
        local = {
            "quick": ["--out", "run"],
            "bench decode": ["--data-dir", self.data, "--out", "run"],
            "bench transforms": ["--libraries", "sluice", "--out", "run"],
            "bench training": ["--model", "gpt-tiny", *MODEL, "--out", "run"],
            "diagnose": [*photos, "--out", "run"],
            "tune": [*photos, "--out", "run"],
            "gate": ["--quick", "--bench", *MODEL, "--out", "run"],
            "train": ["--input", self.root / "classes", "--model", "vit5-tiny", "--image-size", "32", "--epochs", "1000", "--batch-size", "4",
                      "--out", "run"],
        }
        program_of = {"ab": ["--a", "sleep 300", "--b", "sleep 300", "--out", "run"], "watch": ["--out", "run", "--", "sleep", "300"]}
        for command, arguments in local.items():
            yield Case("start", command, arguments, catches_signals)
            yield Case("measure", command, arguments, has_written if command == "train" else measures)
        for command, arguments in program_of.items():
            yield Case("measure", command, arguments, measures)
        keys = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{self.deaf.getsockname()[1]}/keys"}
        for command, arguments in REMOTE.items():
            yield Case("start, asks for keys", command, arguments, self.asked_for_keys, [], keys)
            yield Case("list", command, arguments, lambda server: server.seen(1), ["--slow-s", "300", "--fault", "slow_first_byte", "1"], KEYS)
            yield Case("list, retried", command, arguments, lambda server: server.seen(4), ["--burst", "1", "--fault", "slow_down", "1"], KEYS)
            yield Case("read, retried", command, arguments, lambda server: server.seen(6, of="/bucket/D/"),
                       ["--fault", "wrong_content_range", "1"], KEYS)
        for command in ("bench storage", "bench dataloader"):
            yield Case("measure, a bucket", command, REMOTE[command], lambda server: server.seen(40, of="/bucket/D/"), [], KEYS)
        yield Case("write", "data make", ["--kind", "rgb", "--count", "100000", "--out", "made"], has_written)
        yield Case("write", "data bundle", ["--input", self.large, "--out", "bundles"], has_written)
        yield Case("write", "data stage", ["--from", self.large, "--to", "staged"], has_written)

    def cancelled(self, case, number):
        """Seconds from the signal to the end. AssertionError: it does not end so, or leaves something."""
        name = f"{case.phase}: {case.command}, {number.name}"
        server = FaultServer(self.server, self.data, case.faults) if case.faults is not None else None
        remote = ["--input", "s3://bucket/D", "--endpoint", server.url] if server else []
        folder = Path(tempfile.mkdtemp(dir=self.root))
        environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")} | case.variables
        process = subprocess.Popen([self.program, *case.command.split(), "--quiet", *remote, *map(str, case.arguments)], cwd=folder,
                                   env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            reached = case.reached(server) if server else case.reached(process, folder)
            code = process.poll()
            assert reached and code is None, f"{name}: not reached, or ended by itself with {code}"
            start = time.monotonic()
            process.send_signal(number)
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                raise AssertionError(f"{name}: still runs {LIMIT_S} s after the first signal") from None
            seconds = time.monotonic() - start
            assert process.returncode == 130, f"{name}: ended with {process.returncode}: {process.stderr.read()}"
            left = list(folder.rglob(".sluice-*.tmp"))
            assert not left, f"{name}: left {left}"
            return seconds
        finally:
            process.kill()
            process.communicate()
            if server:
                server.close()
            shutil.rmtree(folder, ignore_errors=True)
