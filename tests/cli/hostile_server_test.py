# tests/cli/hostile_server_test.py - buckets that lie: listings without end, sizes that cannot be, answers that are no HTTP.
# SPDX-License-Identifier: Apache-2.0
"""usage: hostile_server_test.py PROGRAM"""
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
from pathlib import Path

PROGRAM = str(Path(sys.argv.pop(1)).resolve())
CONTENT = b"\x89PNG" + bytes(96)


def entry(key, size=len(CONTENT)):
    return f'<Contents><Key>{key}</Key><ETag>"e"</ETag><Size>{size}</Size></Contents>'


def listing(entries, token=None):
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return f"<ListBucketResult>{more}{entries}</ListBucketResult>".encode()


class Server:
    """Answers listings by `listed(token)`, reads by `read(handler)`; both may be replaced."""

    def __init__(self, listed=lambda token: listing(entry("a.png")), read=None, every=None):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.requests += 1
                if every and every(self, outer.requests):
                    return
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                if "list-type" in query:
                    self.answer(200, listed(query.get("continuation-token", [None])[0]))
                elif read:
                    read(self)
                else:
                    self.answer(206, CONTENT, ("Content-Range", f"bytes 0-{len(CONTENT) - 1}/{len(CONTENT)}"))

            def answer(self, status, body, *headers, length=None):
                self.send_response(status)
                for name, value in (("ETag", '"e"'), *headers):
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                self.end_headers()
                self.wfile.write(body)

            def handle(self):
                try:
                    super().handle()
                except ConnectionError:  # the program was ended
                    pass

            def log_message(self, *_):
                pass

        self.requests = 0
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,))
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def run(*arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    environment |= {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_MAX_ATTEMPTS": "2"}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([PROGRAM, *arguments], cwd=folder, env=environment | variables, capture_output=True,
                              text=True, timeout=120, check=False)


def bundle(server, *more, **variables):
    return run("data", "bundle", "--input", "s3://bucket", "--endpoint", server.url, "--out", "bundles", "--quiet",
               *more, **variables)


class HostileServer(unittest.TestCase):
    def refused(self, server, *texts):
        with server:
            done = bundle(server)
        self.assertEqual(done.returncode, 2, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.strip().count("\n"), 0, done.stderr)
        self.assertNotIn("internal error", done.stderr)

    def test_a_sound_one_is_read(self):
        with Server() as server:
            done = bundle(server)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_listings_without_end(self):
        self.refused(Server(lambda token: listing("", "again")), "goes round in circles")
        self.refused(Server(lambda token: listing("", "b" if token == "a" else "a")), "goes round in circles")
        self.refused(Server(lambda token: listing("", int(token or 0) + 1)), "more than 100 empty pages in a row")

    def test_the_same_key_twice(self):
        self.refused(Server(lambda token: listing(entry("a.png") + entry("b.png") + entry("a.png"))), "`a.png` twice")
        self.refused(Server(lambda token: listing(entry("a.png"), None if token else "next")), "order of keys")

    def test_sizes_that_cannot_be(self):
        for size in (1 << 63, (1 << 64) - 1, 1 << 50):
            self.refused(Server(lambda token, size=size: listing(entry("a.png", size))), f"has {size} bytes; at most")
        self.refused(Server(lambda token: listing(entry("a.png", 1 << 45))), "a.png")

    def test_a_range_of_another_length(self):
        whole = ("Content-Range", f"bytes 0-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.refused(Server(read=lambda handler: handler.answer(206, CONTENT + b"more", whole)),
                     "a Content-Length of 104 where 100 bytes were asked for")

    def test_garbage_is_retried(self):
        def garbage(handler, number):
            if number > 1:
                return False
            handler.wfile.write(b"\x00\x01 this is no HTTP at all\r\n\r\n")
            handler.close_connection = True
            return True
        with Server(every=garbage) as server:
            done = bundle(server)
            self.assertGreater(server.requests, 1)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_signed_requests_stay_with_their_server(self):
        with Server() as other:
            def elsewhere(handler, number):
                handler.answer(307, b"", ("Location", f"{other.url}{handler.path}"))
                return True
            self.refused(Server(every=elsewhere), f"redirected to {other.url[7:]} (307), which is not followed")
            self.assertEqual(other.requests, 0)

    def test_a_password_is_not_repeated(self):
        secret = "pass/w0rd"
        for address in (f"http://user:{secret}@127.0.0.1:1", f"https://{secret}@host/", f"user:{secret}@host"):
            for command in (("data", "bundle", "--out", "b"), ("bench", "storage"), ("bench", "dataloader"),
                            ("bench", "mixture"), ("train",), ("diagnose",), ("tune",)):
                for bucket in ("s3://bucket/D", "gs://bucket/D"):
                    done = run(*command, "--input", bucket, "--endpoint", address)
                    self.assertEqual(done.returncode, 2, (command, done.stderr))
                    self.assertNotIn("w0rd", done.stdout + done.stderr, command)
            for variable, bucket in (("AWS_ENDPOINT_URL", "s3://bucket"), ("STORAGE_EMULATOR_HOST", "gs://bucket")):
                done = run("data", "bundle", "--input", bucket, "--out", "b", **{variable: address})
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertNotIn("w0rd", done.stdout + done.stderr, variable)
        for bucket in ("s3://user:w0rd@bucket/D", "gs://user:w0rd@bucket/D", "http://user:w0rd@host/D"):
            done = run("data", "bundle", "--input", bucket, "--out", "b")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertNotIn("w0rd", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
