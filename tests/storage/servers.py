# tests/storage/servers.py - the object stores of the group `servers`, started on free ports for a test.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))
import peer  # noqa: E402

STARTS_S = 30
KEY, SECRET = "AKIDRCLONE", "rclone-test-secret"


def programs():
    """The folder of the group's programs; without it the whole file is skipped, visibly."""
    python = peer.python_of("servers")
    if python is None:
        print("skipped: no environment 'servers'; make one with: sluice peers install servers")
        sys.exit(peer.SKIPPED)
    return Path(python).parent


class Server:
    """A process that is ended with the block it was started for; what it says goes to a file."""

    def __init__(self, command):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def started(self, look):
        """What `look` gives once it gives something."""
        end = time.monotonic() + STARTS_S
        while time.monotonic() < end and self.process.poll() is None:
            if found := look():
                return found
            time.sleep(0.02)
        said = self.said()
        self.__exit__()
        raise RuntimeError(f"the server did not start: {said}")

    def said(self):
        return os.pread(self.log.fileno(), 65536, 0).decode(errors="replace")


class Rclone(Server):
    """`rclone serve s3`: every folder directly in `root` is a bucket."""

    def __init__(self, root):
        super().__init__([programs() / "rclone", "serve", "s3", "--addr", "127.0.0.1:0", "--auth-key",
                          f"{KEY},{SECRET}", "--config", "/dev/null", "-v", str(root)])
        self.url = self.started(lambda: re.search(r"http://127\.0\.0\.1:\d+", self.said()))[0]

    def variables(self, key=KEY, secret=SECRET):
        return {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}


class Emulator(Server):
    """gcp-storage-emulator with an empty bucket."""

    def __init__(self, bucket):
        with socket.socket() as probe:  # it must be told its port
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        super().__init__([programs() / "gcp-storage-emulator", "start", "--host", "127.0.0.1", "--port", str(port),
                          "--in-memory", "--default-bucket", bucket])
        self.bucket, self.url = bucket, f"http://127.0.0.1:{port}"
        self.started(lambda: self.answers(port))

    @staticmethod
    def answers(port):
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return True
        except OSError:
            return False

    def put(self, name, content):
        url = f"{self.url}/upload/storage/v1/b/{self.bucket}/o?uploadType=media&name={urllib.parse.quote(name, safe='')}"
        request = urllib.request.Request(url, content, {"Content-Type": "application/octet-stream"})
        urllib.request.urlopen(request, timeout=10).close()

    def variables(self):
        return {"STORAGE_EMULATOR_HOST": self.url}
