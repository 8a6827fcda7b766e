# tests/cli/bench_world_test.py - `sluice bench training` with several ranks: started here, or by mpirun; and what it refuses.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()
WAIT_S = 120  # nothing here asserts on speed
SMALL = ["--image-size", "32", "--patch-size", "8", "--dim", "64", "--layers", "2", "--heads", "2", "--batch-size", "4", "--threads", "1",
         "--warmup-steps", "1", "--measure-steps", "4"]
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}  # Open MPI keeps memory until the end
HAS_MPI = shutil.which("mpirun") is not None and (PROGRAM.parent / "libsluice_mpi.so").exists()


class BenchWorldTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())

    def tearDown(self):
        shutil.rmtree(self.folder)

    def bench(self, *flags, by=(), **variables):
        return subprocess.run([*by, PROGRAM, "bench", "training", *SMALL, *flags], cwd=self.folder, env={**ENVIRONMENT, **variables},
                              capture_output=True, text=True, timeout=WAIT_S, check=False)

    def measured(self, done, ranks):
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads((self.folder / "run/results/bench-training.json").read_text())
        rows = {row["params"].get("world_size", "1"): row for row in document["rows"]}
        self.assertEqual({name: row["status"] for name, row in rows.items()}, {"1": "ok", str(ranks): "ok"})
        self.assertEqual((rows["1"]["items_per_sample"], rows[str(ranks)]["items_per_sample"]), (4, 4 * ranks))
        scaling = document["summary"]["scaling"]
        self.assertEqual((scaling["world_size"], len(scaling["waits"])), (ranks, ranks))
        self.assertAlmostEqual(scaling["scaling_efficiency"], scaling["samples_per_s"] / (ranks * scaling["alone_samples_per_s"]))
        self.assertGreater(scaling["gradient_bytes"], 100_000)
        self.assertLessEqual(scaling["grad_sync_exposed_share"], 1)
        best = min(rows[str(ranks)]["runs"], key=lambda run: statistics.median(run["samples_ns"]))
        for wait in scaling["waits"]:
            of_rank = [ns for sample in best["details"] for ns in sample["world"]["waited_ns"][wait["rank"]]]
            self.assertAlmostEqual(wait["p50_ms"], statistics.median(of_rank) * 1e-6)
            self.assertLessEqual(wait["p99_ms"], max(of_rank) * 1e-6)
            self.assertGreaterEqual(wait["p99_ms"], wait["p50_ms"])
        details = rows[str(ranks)]["runs"][0]["details"]
        self.assertEqual({len(one) for sample in details for one in sample["world"]["waited_ns"]},
                         {len(sample["losses"]) for sample in details}, "every rank tells of every timed step")
        self.assertGreater(sum(details[0]["phases_ns"]["grad_sync"]), 0)
        self.assertIn(f"{ranks} ranks by Open MPI", done.stdout)
        self.assertIn("scaling efficiency", done.stdout)
        return document

    @unittest.skipUnless(HAS_MPI, "no Open MPI on this machine; tools/setup installs it")
    def test_ranks_that_it_starts(self):
        document = self.measured(self.bench("--world-size", "2", "--repeat", "2", "--out", "run"), 2)
        self.assertIn("low", document["summary"]["scaling"]["scaling_efficiency_of_runs"])
        page = (self.folder / "run/report.html").read_text()
        self.assertIn("2 ranks by Open MPI", page)

    @unittest.skipUnless(HAS_MPI, "no Open MPI on this machine; tools/setup installs it")
    def test_ranks_of_mpirun(self):
        done = self.bench("--out", "run", by=("mpirun", "-n", "3"))
        self.measured(done, 3)
        self.assertEqual(done.stdout.count("Training Benchmark Results"), 1, "rank 0 alone speaks")

    @unittest.skipUnless(HAS_MPI, "no Open MPI on this machine; tools/setup installs it")
    def test_ranks_share_the_samples_of_an_input(self):
        made = subprocess.run([PROGRAM, "data", "make", "--kind", "rgb", "--count", "24", "--out", "photos"], cwd=self.folder,
                              capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        document = self.measured(self.bench("--world-size", "2", "--input", "photos", "--num-workers", "1", "--out", "run"), 2)
        for row in document["rows"]:
            self.assertEqual(row["runs"][0]["details"][0]["data"]["samples"], 24)

    def refused(self, done, text, code=2):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertFalse((self.folder / "run").exists())

    def test_refusals(self):
        self.refused(self.bench("--world-size", "0", "--out", "run"), "--world-size 0: 1 to 1024, or -1")
        self.refused(self.bench("--out", "run", RANK="0", WORLD_SIZE="0"), "WORLD_SIZE is 0; 1 to 1048576 are accepted")
        self.refused(self.bench("--out", "run", RANK="0", WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="4"),
                     "say rank 1 of 4, RANK and WORLD_SIZE say rank 0 of 2")
        self.refused(self.bench("--out", "run", RANK="0", WORLD_SIZE="2"), "torchrun's ranks are for GPUs")
        self.refused(self.bench("--out", "run", "--world-size", "2", "--libraries", "sluice,torch-eager"), "with several ranks only sluice is measured")
        self.refused(self.bench("--out", "run", "--world-size", "3", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2"), "--world-size 3: mpirun started 2 ranks")
        self.refused(self.bench("--out", "run", "--repeat", "3", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2"), "--repeat 3: the ranks that mpirun started")

    def test_without_the_module_it_says_so(self):
        modules = self.folder / "modules"
        modules.mkdir()
        for one in PROGRAM.parent.glob("libsluice_*.so"):
            if one.name != "libsluice_mpi.so":
                (modules / one.name).symlink_to(one)
        done = self.bench("--world-size", "2", "--out", "run", SLUICE_MODULE_DIR=str(modules))
        document = json.loads((self.folder / "run/results/bench-training.json").read_text())
        rows = {row["params"].get("world_size", "1"): row for row in document["rows"]}
        self.assertEqual((rows["1"]["status"], rows["2"]["status"]), ("ok", "unsupported"), done.stderr)
        self.assertIn("libsluice_mpi.so is not installed; `make build` builds it where Open MPI is", rows["2"]["reason"])


if __name__ == "__main__":
    unittest.main()
