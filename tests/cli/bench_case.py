# tests/cli/bench_case.py - a bench command over a few generated photographs, made once for the tests of a class.
# SPDX-License-Identifier: Apache-2.0
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()


def sluice(*arguments, folder):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=300)


class BenchCase(unittest.TestCase):
    """Subclasses set COMMAND and COUNT; the photographs are in D."""
    COMMAND, COUNT = (), 0

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        made = sluice("data", "make", "--kind", "rgb", "--count", cls.COUNT, "--out", "D", "--quiet", folder=cls.folder)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def bench(self, *arguments, command=None):
        return sluice(*(command or self.COMMAND), *arguments, folder=self.folder)

    def result(self, *arguments, **named):
        done = self.bench(*arguments, "--json", **named)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)
