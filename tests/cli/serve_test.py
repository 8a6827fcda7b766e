# tests/cli/serve_test.py - `sluice serve`: live, read only, for this machine alone, whoever asks and however.
# SPDX-License-Identifier: Apache-2.0
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from piped_browser import PipedBrowser  # noqa: E402
from site_case import BROWSER, document_of, result, row, series_of, write_run  # noqa: E402

PROGRAM = Path(sys.argv.pop(1)).resolve()
WAIT_S = 60  # for what must happen at once; nothing asserts on speed


class Events:
    """A page that follows."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)
        self.socket.sendall(f"GET /events HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        self.text = self.socket.makefile("r", encoding="utf-8", newline="\n")
        self.status = int(self.text.readline().split()[1])
        while self.text.readline().strip():
            pass

    def next(self, kind, accept=lambda data: True):
        """The data of the next event of a kind that is accepted."""
        for line in self.text:
            if line.strip() == f"event: {kind}":
                data = self.text.readline().removeprefix("data: ")
                if accept(data):
                    return data
        raise AssertionError("the server left")

    def close(self):
        self.text.close()
        self.socket.close()


class ServeTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for i in range(3):
            write_run(self.folder / f"runs/r{i}", result([row("decode", 100.0 + i, 1.5)], f"2026-01-0{i + 1}T00:00:00Z", f"c{i}"))
        (self.folder / "secret.json").write_text('"secret"')
        self.process = subprocess.Popen([PROGRAM, "serve", "runs", "--json"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        lines = ""
        while not lines.rstrip().endswith("}"):
            lines += self.process.stdout.readline()
        told = json.loads(lines)
        self.port = told["port"]
        self.assertEqual(told["url"], f"http://127.0.0.1:{self.port}/")

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, out, errors

    def raw(self, request):
        """Status, headers and body of whatever was asked."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) as one:
            one.sendall(request)
            answer = b""
            while chunk := one.recv(65536):
                answer += chunk
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        return int(lines[0].split()[1]), dict(line.lower().split(": ", 1) for line in lines[1:]), body

    def get(self, path, host=None, method="GET"):
        return self.raw(f"{method} {path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{self.port}'}\r\n\r\n".encode())

    def test_page_data_and_files(self):
        status, headers, body = self.get("/")
        self.assertEqual((status, headers["content-length"]), (200, str(len(body))))
        self.assertIn("connect-src 'self'", body.decode())
        values, whiskers, _ = series_of(document_of(body.decode()))["decode"]
        self.assertEqual((values, whiskers[0]), ((100, 101, 102), (98.5, 101.5)))
        data = json.loads(self.get("/data.json")[2])
        self.assertTrue(data["live"])
        link = data["groups"][0]["files"][1]
        self.assertEqual(link, "runs/r1/results/quick.json")
        status, headers, body = self.get("/" + link + "?x=1")
        self.assertEqual((status, body), (200, (self.folder / link).read_bytes()))
        self.assertIn("sandbox", headers["content-security-policy"])
        self.assertEqual(headers["x-content-type-options"], "nosniff")
        status, headers, body = self.get("/", method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["content-length"]), 1000)

    def test_nothing_outside_the_folder(self):
        os.symlink(self.folder / "secret.json", self.folder / "runs/link.json")
        os.symlink(self.folder, self.folder / "runs/up")
        os.mkfifo(self.folder / "runs/fifo")
        (self.folder / "runs/r0/.lock").write_text("held")
        for path in ("/runs/../secret.json", "/runs/%2e%2e/secret.json", "/runs/..%2fsecret.json", "/runs/r0/../../secret.json", "/runs/link.json",
                     "/runs/up/secret.json", "/runs//etc/passwd", "/runs/%2fetc%2fpasswd", "/runs/fifo", "/runs/r0", "/runs/r0/", "/runs/", "/runs/r0/.lock",
                     "/runs/./r0/results/quick.json", "/secret.json", "/baselines/x", "/runs/r0%5c..%5cx", "/etc/passwd"):
            status, _, body = self.get(path)
            self.assertEqual(status, 404, path)
            self.assertNotIn(b"secret\"", body)

    def test_bad_requests(self):
        host = f"Host: 127.0.0.1:{self.port}\r\n"
        for request, status in ((f"POST / HTTP/1.1\r\n{host}\r\n", 405), (f"DELETE /runs/r0 HTTP/1.1\r\n{host}\r\n", 405),
                                ("GET / HTTP/1.1\r\n\r\n", 400), (f"GET / HTTP/1.1\r\n{host}{host}\r\n", 400), (f"GET / HTTP/2.0\r\n{host}\r\n", 505),
                                (f"GET /\r\n{host}\r\n", 400), (f"GET runs HTTP/1.1\r\n{host}\r\n", 400), (f"GET http://x/ HTTP/1.1\r\n{host}\r\n", 400),
                                (f"GET /%zz HTTP/1.1\r\n{host}\r\n", 400), (f"GET /runs/a%00b HTTP/1.1\r\n{host}\r\n", 400), (f"GET /runs/a\0b HTTP/1.1\r\n{host}\r\n", 400),
                                (f"GET / HTTP/1.1\r\n{host}junk\r\n\r\n", 400),
                                ("\r\n\r\n", 400), ("GET / HTTP/1.1\r\n" + "x: y\r\n" * 5000 + "\r\n", 431)):
            self.assertEqual(self.raw(request.encode())[0], status, request[:60])
        self.assertEqual(self.get("/")[0], 200)

    def test_other_hosts_are_refused(self):
        for host in ("example.org", "127.0.0.1.example.org", f"localhost:{self.port + 1}", f"10.0.0.1:{self.port}", "0.0.0.0", "localhost@x", "[::]"):
            status, _, body = self.get("/", host=host)
            self.assertEqual(status, 403, host)
            self.assertNotIn(b"decode", body)
        for host in ("localhost", "LOCALHOST", f"localhost:{self.port}", f"[::1]:{self.port}", "127.0.0.1"):
            self.assertEqual(self.get("/", host=host)[0], 200, host)
        listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if f":{self.port:04X} " in line and " 0A " in line]
        self.assertEqual(listening, [f"0100007F:{self.port:04X}"])

    def test_runs_appear_as_they_come(self):
        events = Events(self.port)
        self.addCleanup(events.close)
        self.assertEqual(events.next("runs").strip(), "[]")
        run = self.folder / "runs/new<b>"
        run.mkdir()
        with open(run / ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            told, = json.loads(events.next("runs", lambda data: data.strip() != "[]"))
            self.assertEqual((told["name"], told["rows"]), ("new<b>", 0))
            write_run(run, result([row("decode", 90.0)], "2026-01-05T00:00:00Z", "c9"))
            told, = json.loads(events.next("runs", lambda data: '"rows":1' in data))
            self.assertEqual(told["last"], "decode 90.000 img/s")
            events.next("site")
        self.assertEqual(json.loads(events.next("runs", lambda data: data.strip() == "[]")), [])
        values, _, _ = series_of(json.loads(self.get("/data.json")[2]))["decode"]
        self.assertEqual(values, (100, 101, 102, 90))
        shutil.rmtree(self.folder / "runs/r0")
        events.next("site")
        self.assertEqual(len(series_of(json.loads(self.get("/data.json")[2]))["decode"][0]), 3)

    def test_damaged_files_are_named_live_too(self):
        events = Events(self.port)
        self.addCleanup(events.close)
        (self.folder / "runs/r1/results/quick.json").write_text("{")
        events.next("site")
        data = json.loads(self.get("/data.json")[2])
        self.assertIn("runs/r1/results/quick.json", data["problems"][0])
        self.assertEqual(series_of(data)["decode"][0], (100, 102))

    def test_slow_and_many_clients_do_not_hold_others(self):
        silent = [socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) for _ in range(20)]
        for one in silent:
            self.addCleanup(one.close)
        silent[0].sendall(b"GET / HTT")  # half a request
        silent[1].sendall(f"GET / HTTP/1.1\r\nHost: localhost:{self.port}\r\n\r\n".encode())  # never reads
        self.assertEqual(self.get("/")[0], 200)
        followers = [Events(self.port) for _ in range(33)]
        for one in followers:
            self.addCleanup(one.close)
        self.assertEqual([one.status for one in followers], [200] * 32 + [503])
        self.assertEqual(self.get("/data.json")[0], 200)
        more = [socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) for _ in range(30)]  # over the limit: the last ones wait
        for one in more:
            self.addCleanup(one.close)
        more[-1].sendall(f"GET /nothing HTTP/1.1\r\nHost: localhost:{self.port}\r\n\r\n".encode())
        for one in followers[:31]:
            one.close()
        self.assertIn(b"404", more[-1].recv(1000))

    def test_it_ends_cleanly(self):
        events = Events(self.port)
        self.addCleanup(events.close)
        code, _, errors = self.end(signal.SIGINT)
        self.assertEqual((code, errors), (0, ""))

    def test_it_ends_with_sigterm(self):
        self.assertEqual(self.end(signal.SIGTERM)[0], 0)

    def test_refusals(self):
        done = subprocess.run([PROGRAM, "serve", "nowhere"], cwd=self.folder, capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nowhere: no such folder", done.stderr)
        done = subprocess.run([PROGRAM, "serve", "runs", "--port", str(self.port)], cwd=self.folder, capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"--port {self.port}", done.stderr)

    @unittest.skipIf(BROWSER is None, "no chromium on this machine; tools/setup installs it")
    def test_a_browser_draws_it(self):
        with PipedBrowser() as browser:
            dom = browser.look_once_drawn(f"http://127.0.0.1:{self.port}/", "return document.documentElement.outerHTML;")
            self.assertEqual(browser.complaints, [])
        self.assertIn("data-drawn", dom)
        self.assertIn("1 of 1 metric, 3 visits", dom)


if __name__ == "__main__":
    unittest.main()
