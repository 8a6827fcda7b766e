# tests/slurm/scripted_case.py - what tests with scripted programs of Slurm share: a folder, the program, and what was called.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTED = Path(__file__).resolve().parent / "scripted" / "slurm"
SLURM_PROGRAMS = ("sbatch", "squeue", "scancel", "srun", "scontrol")


class ScriptedSlurm(unittest.TestCase):
    """`PROGRAM` is set before the tests run; `self.out` is not there yet."""
    PROGRAM = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="sluice-slurm-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.slurm = self.folder / "slurm"
        self.slurm.mkdir()
        programs = self.folder / "bin"
        programs.mkdir()
        for name in SLURM_PROGRAMS:
            (programs / name).symlink_to(SCRIPTED)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        self.environment |= {"SCRIPTED_SLURM": str(self.slurm), "PATH": f"{programs}:{os.environ['PATH']}",
                             "SLUICE_CACHE_DIR": str(self.folder / "cache")}
        self.out = self.folder / "out"

    def program(self, *arguments, check=0, **environment):
        done = subprocess.run([self.PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=self.folder,
                              env={**self.environment, **environment})
        self.assertEqual(done.returncode, check, done.stderr + done.stdout)
        return done

    def calls(self, program=None):
        file = self.slurm / "calls.jsonl"
        calls = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [call for call in calls if program in (None, call[0])]

    def skip(self, *tasks):
        (self.slurm / "skip").write_text(" ".join(map(str, tasks)))
