# tests/cli/ranks_case.py - what tests of several ranks share: the variables of MPI, processes by their mark, and who was left behind.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

WAIT_S = 120  # of a whole command; nothing here asserts on speed
PATIENCE_S = 6  # for a rank that hangs: others must not be late on a busy machine
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}  # Open MPI keeps memory until the end


def has_mpi(program):
    return shutil.which("mpirun") is not None and (program.parent / "libsluice_mpi.so").exists()


def torchrun_variables(ranks, port=None):
    """Of each rank, as torchrun sets them; the ranks meet at this port, or one that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = port or one.getsockname()[1]
    return [{"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "SLUICE_WORLD_PORT": str(port)}
            for rank in range(ranks)]


def wait_until(condition):
    """What it gives, as soon as it is true."""
    limit = time.monotonic() + WAIT_S
    while time.monotonic() < limit:
        if found := condition():
            return found
        os.sched_yield()
    raise AssertionError("waited in vain")


class RanksCase(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.mark = f"ranks-{os.getpid()}-{self.id()}"  # in the environment of every process
        self.environment = {**ENVIRONMENT, "SLUICE_TEST_MARK": self.mark}

    def tearDown(self):
        self.assert_nobody_is_left()
        shutil.rmtree(self.folder)

    def assert_nobody_is_left(self):
        """A process that ends is seen for a moment (Open MPI's ranks for up to two seconds); one that stays is a fault."""
        limit = time.monotonic() + 10
        while left := self.processes():
            if time.monotonic() > limit:
                for pid, _ in left:
                    os.kill(pid, signal.SIGKILL)
                self.fail(f"left behind: {left}")
            os.sched_yield()

    def processes(self):
        """(pid, command line) of all that run, in the order in which they were started."""
        found = []
        for one in Path("/proc").glob("[0-9]*"):
            try:
                state = (one / "stat").read_text().rsplit(")", 1)[1].split()
                if self.mark.encode() in (one / "environ").read_bytes() and state[0] not in "ZX":
                    found.append((int(state[19]), int(one.name), (one / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except OSError:
                pass
        return [(pid, line) for _, pid, line in sorted(found)]

    def by_torchrun(self, ranks, command, port=None):
        """What each rank ended with: (exit code, stdout, stderr)."""
        started = [subprocess.Popen(command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**self.environment, **variables})
                   for variables in torchrun_variables(ranks, port)]
        said = [one.communicate(timeout=WAIT_S) for one in started]
        return [(one.returncode, *words) for one, words in zip(started, said)]

    def other_version(self, program):
        """A copy whose git hash is another, byte for byte, and who gives a field that ranks are told another name."""
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        mine = re.search(r"\(([0-9a-f]{7,40})", version)[1].encode()
        theirs = mine[::-1] if mine[::-1] != mine else b"0" * len(mine)
        copy = self.folder / "sluice-of-old"
        text = program.read_bytes()
        self.assertIn(mine, text)
        copy.write_bytes(text.replace(mine, theirs).replace(b"\0data_dir\0", b"\0data_dix\0").replace(b"\0sums\0", b"\0sumz\0"))
        copy.chmod(0o755)
        self.environment["SLUICE_MODULE_DIR"] = str(program.parent)
        return copy, mine.decode(), theirs.decode()

    def refused_by_version(self, program, *command):
        """Rank 1 of mpirun is another version: it is named, with both versions, and the exit code is 2."""
        copy, mine, theirs = self.other_version(program)
        words = list(map(str, command))
        done = subprocess.run(["mpirun", "-n", "1", program, *words, ":", "-n", "1", copy, *words], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=WAIT_S, check=False)
        lines = [line for line in done.stderr.splitlines() if "rank 1 of 2: " in line]
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertGreaterEqual(len(lines), 1, done.stderr)
        for line in lines:
            self.assertIn(theirs, line)
            self.assertIn(mine, line)

    def at_a_taken_port(self, command):
        """The exit codes and stderr of two ranks, and the port; who has it listens, and never answers."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            ends = self.by_torchrun(2, [*command, "--rank-timeout", "1"], port)
        self.assertEqual([line for line in ends[1][2].splitlines()],
                         [f"sluice: rank 1 of 2 is not let in at 127.0.0.1 port {port}: nothing came within 2 s; rank 0 of the same ranks must listen there, "
                          "SLUICE_WORLD_PORT names another port"])
        return [code for code, _, _ in ends], ends[0][2], f"rank 0 cannot listen at 127.0.0.1 port {port}: Address already in use; SLUICE_WORLD_PORT names another port"

    def variables(self, pid):
        return dict(one.split("=", 1) for one in Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0") if "=" in one)
