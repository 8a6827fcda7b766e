# tests/python/support.py - what tests of the package share: where things lie, a small set of photographs.
# SPDX-License-Identifier: Apache-2.0
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SLUICE_BUILD_DIR", ROOT / "build" / "release"))
PROGRAM = Path(os.environ.get("SLUICE_PROGRAM", BUILD / "sluice"))
SKIPPED = 77  # ctest's SKIP_RETURN_CODE

if os.environ.get("SLUICE_PYTHON_WITHOUT"):
    print(f"skipped: the Python package is not built: {os.environ['SLUICE_PYTHON_WITHOUT']}")
    sys.exit(SKIPPED)


def sluice(*arguments):
    """The program; its output."""
    return subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


class PhotoTest(unittest.TestCase):
    """Has a folder of 40 small photographs in 4 classes, made once for the file."""

    COUNT = 40

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="sluice-python-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.photos = cls.folder / "photos"
        sluice("data", "make", "--kind", "rgb", "--count", cls.COUNT, "--classes", 4, "--width", 90, "--height", 70,
               "--out", cls.photos, "--quiet")


def run_python(text, *arguments, **options):
    """A program of its own, as a user writes it; ends within a minute or fails."""
    return subprocess.run([sys.executable, "-B", "-c", text, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          **options)


class Bucket:
    """s3://bucket on this machine, in a thread of Python: objects with `gated` in their names are given out once `gate` is open."""

    def __init__(self, objects, gated=""):
        bucket = self
        self.objects, self.gate, self.asked = objects, threading.Event(), threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path, _, query = self.path.partition("?")
                if "list-type" in query:
                    return self.answer(200, bucket.listing(urllib.parse.parse_qs(query).get("prefix", [""])[0]))
                if gated in path:
                    bucket.asked.set()
                    bucket.gate.wait(60)
                data = bucket.objects[path.removeprefix("/bucket/")]
                span = self.headers.get("Range")
                if span is None:
                    return self.answer(200, data)
                first, last = span.removeprefix("bytes=").split("-")
                part = data[int(first):int(last or len(data)) + 1]
                self.answer(206, part, {"Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"})

            def do_HEAD(self):
                data = bucket.objects.get(self.path.partition("?")[0].removeprefix("/bucket/"))
                self.answer(404 if data is None else 200, data or b"")

            def answer(self, code, data, headers=()):
                try:
                    self.send_response(code)
                    for name, value in {"Content-Length": str(len(data)), "ETag": '"1"', **dict(headers)}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(data)
                except OSError:
                    pass  # whoever asked has gone

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def listing(self, prefix):
        contents = "".join(f"<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;1&quot;</ETag>"
                           f"<Size>{len(data)}</Size><StorageClass>STANDARD</StorageClass></Contents>"
                           for key, data in sorted(self.objects.items()) if key.startswith(prefix))
        return (f'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>bucket</Name><Prefix></Prefix>'
                f"<KeyCount>{len(self.objects)}</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>{contents}"
                f"</ListBucketResult>").encode()

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()
