#!/usr/bin/env python3
# tests/cli/stage_test.py - `sluice data stage` as a user meets it: filters, waiting, Ctrl-C, hostile archives.
# SPDX-License-Identifier: Apache-2.0
"""usage: stage_test.py PROGRAM"""
import fcntl
import hashlib
import io
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

PROGRAM = None


def stage(*arguments):
    return subprocess.run([PROGRAM, "data", "stage", *map(str, arguments)], capture_output=True, text=True, timeout=100)


class Stage(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.to = self.folder / "staged"

    def write_tar(self, names, mode="w"):
        path = self.folder / "data.tar"
        with tarfile.open(path, mode) as archive:
            for name in names:
                entry = tarfile.TarInfo(name)
                entry.size = 4
                archive.addfile(entry, io.BytesIO(b"data"))
        return path

    def staged(self):
        return sorted(p.relative_to(self.to).as_posix() for p in self.to.rglob("*")
                      if p.is_file() and not p.name.startswith("."))

    def hold_lock(self):
        """The folder as another process that stages would hold it; released by closing the file."""
        self.to.mkdir()
        lock = open(self.to / ".sluice-stage.lock", "w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def start(self, path):
        return subprocess.Popen([PROGRAM, "data", "stage", "--from", path, "--to", self.to, "--json"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_filters_and_says_what_it_did(self):
        path = self.write_tar(["b.JPG", "x/a.png", "c.jpeg", "._a.png", "__MACOSX/a.png", "notes.txt", "d.mp4"], "w:gz")
        done = stage("--from", path, "--to", self.to, "--limit", 2, "--json", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        self.assertEqual(self.staged(), ["b.JPG", "c.jpeg"])
        self.assertEqual(report["count"], 2)
        self.assertEqual(report["skipped"], {"hidden": 2, "suffix": 2, "links": 0, "over_limit": 1})
        self.assertFalse(report["already"])
        again = stage("--from", path, "--to", self.to, "--limit", 2)
        self.assertIn("nothing to do", again.stdout)
        other = stage("--from", path, "--to", self.to, "--suffixes", "mp4", "--quiet")
        self.assertEqual(other.returncode, 2)
        self.assertIn("other options", other.stderr)
        clips = stage("--from", path, "--out", self.folder / "clips", "--kind", "video", "--quiet")
        self.assertEqual(clips.returncode, 0, clips.stderr)
        self.assertTrue((self.folder / "clips" / "d.mp4").is_file())

    def test_bad_usage_is_one_line(self):
        path = self.write_tar(["a.jpg"])
        for arguments, part in [(["--from", self.folder / "absent.tar", "--to", self.to], "absent.tar"),
                                (["--from", path], "--to DIR"),
                                (["--from", path, "--to", self.to, "--out", self.to], "--out"),
                                (["--from", path, "--to", self.to, "--max-bytes", "12 parsecs"], "--max-bytes"),
                                (["--from", path, "--to", self.to, "--suffixes", "jpg,,png"], "jpg,,png"),
                                (["--from", path, "--to", self.to, "--sha256", "xyz"], "xyz"),
                                (["--from", path, "--to", self.to, "--max-bytes", "3"], "a.jpg")]:
            with self.subTest(arguments=arguments):
                done = stage(*arguments, "--quiet")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(part, done.stderr)

    def test_the_checksum_counts(self):
        path = self.write_tar(["a.jpg"])
        right = hashlib.sha256(path.read_bytes()).hexdigest()
        wrong = stage("--from", path, "--to", self.to, "--sha256", "0" * 64, "--quiet")
        self.assertEqual(wrong.returncode, 2)
        self.assertEqual(self.staged(), [])
        self.assertEqual(stage("--from", path, "--to", self.to, "--sha256", right.upper(), "--quiet").returncode, 0)

    def test_a_hostile_archive_writes_nothing(self):
        path = self.write_tar(["ok.jpg", "../evil.jpg"])
        done = stage("--from", path, "--to", self.to, "--quiet")
        self.assertEqual(done.returncode, 2)
        self.assertIn("entry '../evil.jpg'", done.stderr)
        self.assertEqual(self.staged(), [])
        self.assertFalse((self.folder / "evil.jpg").exists())

    def test_those_that_come_second_wait_and_find_it_done(self):
        path = self.write_tar([f"{i}.jpg" for i in range(20)])
        lock = self.hold_lock()
        waiting = [self.start(path) for _ in range(3)]
        for process in waiting:
            self.assertIn("another process is staging", process.stderr.readline())
        lock.close()
        reports = []
        for process in waiting:
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
            reports.append(json.loads(out))
        self.assertEqual(sorted(report["written"] for report in reports), [0, 0, 20])
        self.assertEqual(sum(report["already"] for report in reports), 2)

    def test_ctrl_c_ends_the_waiting(self):
        path = self.write_tar(["a.jpg"])
        with self.hold_lock():
            process = self.start(path)
            process.stderr.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual(out, "")
        self.assertEqual(self.staged(), [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
