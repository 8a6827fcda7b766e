# tests/cli/bench_allreduce_test.py - `sluice bench allreduce` with real ranks, started here or by mpirun; and what it refuses.
# SPDX-License-Identifier: Apache-2.0
import json
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from bench_allreduce_case import BenchAllreduceCase
from ranks_case import WAIT_S, has_mpi

PROGRAM = Path(sys.argv.pop(1)).resolve()
HAS_MPI = has_mpi(PROGRAM)
NO_MPI = "no Open MPI on this machine; tools/setup installs it"


class BenchAllreduceTest(BenchAllreduceCase):
    PROGRAM = PROGRAM

    @unittest.skipUnless(HAS_MPI, NO_MPI)
    def test_ranks_that_it_starts(self):
        flags = ["--world-size", "2", "--min-bytes", "8", "--max-bytes", "1m", "--factor", "16", "--runs", "2", "--samples", "3", "--out", "run"]
        self.measured(self.bench(*flags), 2, [8, 128, 2048, 32768, 524288], 2, 3)
        page = (self.folder / "run/report.html").read_text()
        self.assertIn("All-reduce by size", page)
        self.assertIn("2 ranks by Open MPI", page)
        report = subprocess.run([PROGRAM, "report", "run"], cwd=self.folder, capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn("allreduce/sum/bytes=8/world_size=2", (self.folder / "run/report.md").read_text())
        valid = subprocess.run([PROGRAM, "validate", "run"], cwd=self.folder, capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(valid.returncode, 0, valid.stdout + valid.stderr)

    @unittest.skipUnless(HAS_MPI, NO_MPI)
    def test_ranks_of_mpirun_have_one_run(self):
        flags = ["--min-bytes", "4", "--max-bytes", "4k", "--factor", "32", "--sums", "5", "--samples", "2", "--out", "run"]
        document = self.measured(self.bench(*flags, by=("mpirun", "-n", "3")), 3, [4, 128, 4096], 1, 2)
        self.assertEqual({row["items_per_sample"] for row in document["rows"]}, {5})

    @unittest.skipUnless(HAS_MPI, NO_MPI)
    def test_ranks_with_too_little_memory_are_named(self):
        done = self.bench("--max-bytes", "1024g", "--out", "run", by=("mpirun", "-n", "2"))
        self.assertEqual(done.returncode, 2, done.stderr)
        row = json.loads((self.folder / "run/results/bench-allreduce.json").read_text())["rows"][0]
        self.assertEqual(row["status"], "unsupported")
        self.assertIn("sluice: rank 0 of 2: 4194304 MiB", done.stderr)
        self.assertRegex(row["reason"], r"rank 0 of 2: 4194304 MiB are wanted by the 2 ranks of its machine, \d+ are free")

    @unittest.skipUnless(HAS_MPI, NO_MPI)
    def test_a_rank_that_is_killed_costs_the_row(self):
        self.fault(signal.SIGKILL, 2, "--world-size", "2")

    def test_ranks_of_torchrun(self):
        first, second = self.by_torchrun(2, [PROGRAM, "bench", "allreduce", "--max-bytes", "128", "--samples", "3", "--sums", "4", "--out", "run"])
        self.measured(subprocess.CompletedProcess([], *first), 2, [8, 16, 32, 64, 128], 1, 3, library="TCP")
        self.assertEqual(second, (0, "", ""), "rank 0 alone speaks")

    @unittest.skipUnless(HAS_MPI, NO_MPI)
    def test_a_rank_of_another_version_is_named(self):
        self.refused_by_version(PROGRAM, "bench", "allreduce", "--max-bytes", "64", "--out", "run")

    def test_a_port_that_is_taken(self):
        codes, said, words = self.at_a_taken_port([PROGRAM, "bench", "allreduce", "--max-bytes", "64", "--out", "run"])
        self.assertEqual(codes, [2, 2], said)
        self.assertIn(f"sluice: {words}\n", said)

    def test_refusals(self):
        self.refused(self.bench("--world-size", "0", "--out", "run"), "--world-size 0: 2 to 1024 add up, or -1")
        self.refused(self.bench("--world-size", "1", "--out", "run"), "--world-size 1: 2 to 1024 add up, or -1")
        self.refused(self.bench("--world-size", "2", "--min-bytes", "2", "--out", "run"), "--min-bytes 2: one number has 4")
        self.refused(self.bench("--world-size", "2", "--min-bytes", "1m", "--max-bytes", "1k", "--out", "run"), "--max-bytes 1k: is less than --min-bytes 1m")
        self.refused(self.bench("--world-size", "2", "--max-bytes", "much", "--out", "run"), "--max-bytes 'much': expected bytes")
        self.refused(self.bench("--world-size", "2", "--max-bytes", "1024g", "--out", "run"), "--max-bytes 1024g: 2 ranks want 4194304 MiB of memory")
        self.refused(self.bench("--world-size", "2", "--gpu", "tpu", "--out", "run"), "--gpu tpu: accepted are cpu, cuda and cuda:N")
        self.refused(self.bench("--out", "run", RANK="1", WORLD_SIZE="2"), "MASTER_ADDR is not set; torchrun sets it")
        self.refused(self.bench("--out", "run", RANK="0", WORLD_SIZE="2"), "MASTER_ADDR is not set; torchrun sets it")
        self.refused(self.bench("--out", "run", "--world-size", "3", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2"), "--world-size 3: mpirun started 2 ranks")
        self.refused(self.bench("--out", "run", "--runs", "3", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2"), "--runs 3: the ranks that mpirun started")

    def test_a_device_that_is_not_there(self):
        for ranks in ("2", "-1"):
            done = self.bench("--gpu", "cuda:1000", "--world-size", ranks, "--out", "run")
            self.refused(done, "sluice: device cuda:1000: ")
            self.assertRegex(done.stderr, r"; cpu is accepted$|; cpu and .* are accepted$")
        modules = self.folder / "modules"
        modules.mkdir()
        done = self.bench("--gpu", "cuda", "--world-size", "2", "--out", "run", SLUICE_MODULE_DIR=str(modules))
        self.refused(done, "sluice: device cuda:0: this build has no CUDA engine")

    def test_ranks_of_a_launcher_look_for_their_devices_themselves(self):
        first, second = self.by_torchrun(2, [PROGRAM, "bench", "allreduce", "--gpu", "cuda:1000", "--max-bytes", "128", "--out", "run"])
        self.assertEqual((first[0], second), (2, (0, "", "")), first[2])
        self.assertRegex(first[2], r"(?m)^sluice: rank 0 of 2: device cuda:1000: .* accepted$")
        row = json.loads((self.folder / "run/results/bench-allreduce.json").read_text())["rows"][0]
        self.assertEqual((row["case"], row["status"]), ("allreduce/sum/device=cuda/world_size=2", "unsupported"))

    def test_without_the_module_it_says_so(self):
        modules = self.folder / "modules"
        modules.mkdir()
        done = self.bench("--world-size", "2", "--out", "run", SLUICE_MODULE_DIR=str(modules))
        row = json.loads((self.folder / "run/results/bench-allreduce.json").read_text())["rows"][0]
        self.assertEqual((row["status"], done.returncode), ("unsupported", 2), done.stderr)
        self.assertIn("libsluice_mpi.so is not installed; `make build` builds it where Open MPI is", row["reason"])
        self.assertIn("sluice: libsluice_mpi.so is not installed", done.stderr)


if __name__ == "__main__":
    unittest.main()
