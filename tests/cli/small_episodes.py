# tests/cli/small_episodes.py - the data sets of small4, made once for the tests of a class, each with a folder of its own.
# SPDX-License-Identifier: Apache-2.0
import pathlib
import shutil
import subprocess
import tempfile
import unittest


class SmallEpisodes(unittest.TestCase):
    """`program` is set before the tests run; `self.out` is not there yet."""
    program = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.root = cls.folder / "small"
        made = cls.sluice("data", "make", "--quiet", "--kind", "episodes", "--preset", "small4", "--episodes", 8, "--out", cls.root)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def sluice(cls, *arguments):
        return subprocess.run(cls.command(*arguments), capture_output=True, text=True, timeout=300)

    @classmethod
    def command(cls, *arguments):
        return [cls.program, *map(str, arguments)]

    def setUp(self):
        self.out = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "out"
