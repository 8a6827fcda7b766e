# tests/cli/bench_world_test.py - `sluice bench training` with several ranks: started here, or by mpirun; and what it refuses.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import statistics
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from ranks_case import PATIENCE_S, WAIT_S, RanksCase, has_mpi, wait_until

PROGRAM = Path(sys.argv.pop(1)).resolve()
SMALL = ["--image-size", "32", "--patch-size", "8", "--dim", "64", "--layers", "2", "--heads", "2", "--batch-size", "4", "--threads", "1",
         "--warmup-steps", "1", "--measure-steps", "4"]
HAS_MPI = has_mpi(PROGRAM)


class BenchWorldTest(RanksCase):
    def bench(self, *flags, by=(), **variables):
        return subprocess.run([*by, PROGRAM, "bench", "training", *SMALL, *flags], cwd=self.folder, env={**self.environment, **variables},
                              capture_output=True, text=True, timeout=WAIT_S, check=False)

    def measured(self, done, ranks, library="Open MPI"):
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads((self.folder / "run/results/bench-training.json").read_text())
        rows = {row["params"].get("world_size", "1"): row for row in document["rows"]}
        self.assertEqual({name: row["status"] for name, row in rows.items()}, {"1": "ok", str(ranks): "ok"})
        self.assertEqual((rows["1"]["items_per_sample"], rows[str(ranks)]["items_per_sample"]), (4, 4 * ranks))
        scaling = document["summary"]["scaling"]
        self.assertEqual((scaling["world_size"], len(scaling["waits"])), (ranks, ranks))
        self.assertAlmostEqual(scaling["scaling_efficiency"], scaling["samples_per_s"] / (ranks * scaling["alone_samples_per_s"]))
        self.assertGreater(scaling["gradient_bytes"], 100_000)
        self.assert_rates(document, rows[str(ranks)], ranks, done.stdout)
        self.assertLessEqual(scaling["grad_sync_exposed_share"], 1)
        best = min(rows[str(ranks)]["runs"], key=lambda run: statistics.median(run["samples_ns"]))
        for wait in scaling["waits"]:
            of_rank = [ns for sample in best["details"] for ns in sample["world"]["waited_ns"][wait["rank"]]]
            self.assertAlmostEqual(wait["p50_ms"], statistics.median(of_rank) * 1e-6)
            self.assertLessEqual(wait["p99_ms"], max(of_rank) * 1e-6)
            self.assertGreaterEqual(wait["p99_ms"], wait["p50_ms"])
        self.assert_slowest(scaling, best["details"], ranks, done.stdout)
        details = rows[str(ranks)]["runs"][0]["details"]
        self.assertEqual({len(one) for sample in details for one in sample["world"]["waited_ns"]},
                         {len(sample["losses"]) for sample in details}, "every rank tells of every timed step")
        self.assertGreater(sum(details[0]["phases_ns"]["grad_sync"]), 0)
        self.assertIn(f"{ranks} ranks by {library}", done.stdout)
        self.assertIn("scaling efficiency", done.stdout)
        return document

    def assert_rates(self, document, row, ranks, text):
        """it/s, tokens/s and MFU of all ranks together; a ViT of 4 x 4 patches here."""
        scaling = document["summary"]["scaling"]
        tokens = document["metrics"]["run_config"]["seq_len"]
        steps_s = [ns * 1e-9 for ns in min((run["samples_ns"] for run in row["runs"]), key=statistics.median)]
        self.assertAlmostEqual(scaling["steps_per_s"] * statistics.median(steps_s), 1)
        self.assertAlmostEqual(scaling["samples_per_s"], scaling["steps_per_s"] * 4 * ranks)
        self.assertAlmostEqual(scaling["tokens_per_s"], scaling["samples_per_s"] * tokens, places=3)
        lines = {line["world_size"]: line for line in document["summary"]["sweep"]}
        for size, line in lines.items():
            self.assertAlmostEqual(line["steps_per_sec"] * 4 * size, line["samples_per_sec"])
            self.assertAlmostEqual(line["tokens_per_sec"], line["samples_per_sec"] * tokens, places=3)
        self.assertEqual(lines[ranks]["mfu_p50"], scaling["mfu_p50"])
        if scaling["mfu_p50"] is None:
            self.assertIn("--peak-tflops", scaling["mfu_p50_reason"])
            self.assertIn("MFU n/a: ", text)
        else:
            ours = next(line for line in document["summary"]["libraries"] if line["case"].endswith(f"world_size={ranks}"))
            self.assertAlmostEqual(scaling["mfu_p50"], statistics.median(ours["flop_model"] / step_s / (ranks * 0.25e12) for step_s in steps_s))
            self.assertRegex(text, r"MFU p50 [0-9.]+ % \(FLOP of the model, shapes\)")
        self.assertIn("it/s   tokens/s  MFU %", text)

    def assert_slowest(self, scaling, details, ranks, text):
        """Who waits least, where it is, and what the others wait longer than it."""
        slowest = scaling["slowest"]
        self.assertEqual(slowest["rank"], min(scaling["waits"], key=lambda wait: wait["p50_ms"])["rank"])
        self.assertEqual({wait["host"] for wait in scaling["waits"]}, {slowest["host"]}, "one machine")
        self.assertRegex(slowest["host"], "^[0-9a-f]{8}$")
        longer, last, steps = [], 0, 0
        for sample in details:
            waited = sample["world"]["waited_ns"]
            for step in range(len(waited[0])):
                own, others = waited[slowest["rank"]][step], [waited[rank][step] for rank in range(ranks) if rank != slowest["rank"]]
                longer += [max(one - own, 0) for one in others]
                last += own <= min(others)
                steps += 1
        self.assertAlmostEqual(slowest["waited_for_p50_ms"], statistics.median(longer) * 1e-6)
        self.assertLessEqual(slowest["waited_for_p50_ms"], slowest["waited_for_p99_ms"])
        self.assertLessEqual(slowest["waited_for_p99_ms"], max(longer) * 1e-6 + 1e-9)
        self.assertAlmostEqual(slowest["last_in_share_of_steps"], last / steps)
        self.assertIn(f"slowest: rank {slowest['rank']} on host {slowest['host']}; the others wait", text)

    @unittest.skipUnless(HAS_MPI, "no Open MPI on this machine; tools/setup installs it")
    def test_ranks_that_it_starts(self):
        document = self.measured(self.bench("--world-size", "2", "--repeat", "2", "--peak-tflops", "0.25", "--out", "run"), 2)
        self.assertIn("low", document["summary"]["scaling"]["scaling_efficiency_of_runs"])
        page = (self.folder / "run/report.html").read_text()
        self.assertIn("2 ranks by Open MPI", page)
        for head in ("it/s", "Tokens/s", "MFU p50 %"):
            self.assertIn(head, page)
        self.assertIn("slowest: rank", page)

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

    def test_ranks_of_torchrun(self):
        first, second = self.by_torchrun(2, [PROGRAM, "bench", "training", *SMALL, "--out", "run"])
        self.measured(subprocess.CompletedProcess([], *first), 2, library="TCP")
        self.assertEqual(second, (0, "", ""), "rank 0 alone speaks")

    def test_a_rank_alone_on_its_machine_has_its_cores(self):
        """Two ranks, one on each of two machines: both have all that this process may use."""
        flags = [word for i in range(0, len(SMALL), 2) if SMALL[i] != "--threads" for word in SMALL[i:i + 2]]
        cores = len(os.sched_getaffinity(0))
        for local, threads in (("1", cores), ("2", max(1, cores // 2))):
            self.environment["LOCAL_WORLD_SIZE"] = local
            ends = self.by_torchrun(2, [PROGRAM, "bench", "training", *flags, "--out", local])
            self.assertEqual([code for code, _, _ in ends], [0, 0], ends)
            document = json.loads((self.folder / local / "results/bench-training.json").read_text())
            self.assertEqual({row["thread_policy"]["asked"] for row in document["rows"]}, {threads})

    @unittest.skipUnless(HAS_MPI, "no Open MPI on this machine; tools/setup installs it")
    def test_a_rank_of_another_version_is_named(self):
        self.refused_by_version(PROGRAM, "bench", "training", *SMALL, "--out", "run")

    def test_a_port_that_is_taken(self):
        codes, said, words = self.at_a_taken_port([PROGRAM, "bench", "training", *SMALL, "--out", "run"])
        self.assertEqual(codes, [2, 2], said)
        self.assertEqual(said.count(words), 1, said)

    def fault(self, number, launched):
        """Exit code, lines about ranks, and the result file of a run of three ranks, one of which gets a signal."""
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        by, world = (["mpirun", "-n", "3"], []) if launched else ([], ["--world-size", "3"])
        flags = [word for i in range(0, len(SMALL), 2) if SMALL[i] != "--measure-steps" for word in SMALL[i:i + 2]]
        process = subprocess.Popen([*by, PROGRAM, "bench", "training", *flags, "--measure-steps", "1500", *world, "--rank-timeout", str(PATIENCE_S), "--out", "run"],
                                   cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def busy_ranks():
            """Those but 0 that have worked for a while: they take steps."""
            found = []
            for pid, line in self.processes():
                rank = "worker --rank" in line or (launched and "bench training" in line and self.variables(pid).get("OMPI_COMM_WORLD_RANK", "0") != "0")
                if rank and int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11]) >= 20:
                    found.append(pid)
            return found if len(found) == 2 else None

        os.kill(wait_until(busy_ranks)[1], number)
        output, errors = process.communicate(timeout=WAIT_S)
        self.assert_nobody_is_left()
        results = self.folder / "run/results/bench-training.json"
        self.assertTrue(results.exists(), output + errors)  # a launcher ends rank 0 as soon as another rank ends badly
        document = json.loads(results.read_text())
        rows = {row["params"].get("world_size", "1"): row for row in document["rows"]}
        self.assertEqual(rows["3"]["status"], "failed", output + errors)
        if not launched:
            self.assertEqual(rows["1"]["status"], "ok", "what was measured is kept")
        lines = [line for line in errors.splitlines() if "rank " in line and line.startswith(("sluice:", "warning:"))]
        self.assertEqual(len(lines), 1, errors)
        self.assertIn(rows["3"]["reason"], lines[0])
        return process.returncode, lines[0]

    @unittest.skipIf("SLUICE_TEST_SANITIZED" in os.environ, "1,500 steps take minutes under sanitizers")
    @unittest.skipUnless(HAS_MPI, "no Open MPI on this machine; tools/setup installs it")
    def test_a_rank_that_dies_is_named(self):
        code, line = self.fault(signal.SIGKILL, launched=False)
        self.assertEqual(code, 5)
        self.assertRegex(line, r"rank [12] of 3 died: its process \d+ is gone$")
        code, line = self.fault(signal.SIGKILL, launched=True)
        self.assertNotEqual(code, 0)  # mpirun's own
        self.assertRegex(line, r"rank [12] of 3 died: its process \d+ is gone$")

    @unittest.skipIf("SLUICE_TEST_SANITIZED" in os.environ, "1,500 steps take minutes under sanitizers")
    @unittest.skipUnless(HAS_MPI, "no Open MPI on this machine; tools/setup installs it")
    def test_a_rank_that_hangs_is_named(self):
        for launched in (False, True):
            code, line = self.fault(signal.SIGSTOP, launched)
            self.assertEqual(code, 5)
            # In a step, or between two: then rank 0 waits for its answer.
            self.assertRegex(line, f"rank [12] of 3 did not (come to the end of its step|answer) within {PATIENCE_S} s: it was stopped by a signal$")

    @unittest.skipUnless(HAS_MPI, "no Open MPI on this machine; tools/setup installs it")
    def test_a_rank_without_the_data_is_named(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        made = subprocess.run([PROGRAM, "data", "make", "--kind", "rgb", "--count", "24", "--out", "photos"], cwd=self.folder,
                              capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        command = [PROGRAM, "bench", "training", *SMALL, "--input", "photos", "--num-workers", "1", "--out", "run"]
        for fewer in (24, 1):
            done = subprocess.run(["mpirun", "-n", "1", *command, ":", "-n", "1", "-wdir", elsewhere, *command], cwd=self.folder, env=self.environment,
                                  capture_output=True, text=True, timeout=WAIT_S, check=False)
            lines = [line for line in done.stderr.splitlines() if line.startswith(("sluice:", "warning:"))]
            self.assertEqual((done.returncode, len(lines)), (2, 1), done.stderr)
            self.assertIn("rank 1 of 2: " + ("photos" if fewer == 24 else "finds 23 samples of digest"), lines[0])
            if fewer == 24:
                shutil.copytree(self.folder / "photos", elsewhere / "photos")
                sorted((elsewhere / "photos").rglob("*.jpg"))[0].unlink()
                shutil.rmtree(self.folder / "run")

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
        self.refused(self.bench("--out", "run", RANK="1", WORLD_SIZE="2"), "MASTER_ADDR is not set; torchrun sets it")
        self.refused(self.bench("--out", "run", RANK="0", WORLD_SIZE="2"), "MASTER_ADDR is not set; torchrun sets it")
        self.refused(self.bench("--out", "run", "--sync-alone"), "--sync-alone: is for one rank on a GPU")
        self.refused(self.bench("--out", "run", "--gpu", "cuda:7", "--world-size", "2"), "cuda:7")
        self.refused(self.bench("--out", "run", "--gpu", "cuda:7", "--world-size", "2", "--libraries", "sluice,torch-ddp"), "cuda:7")
        self.refused(self.bench("--out", "run", "--world-size", "2", "--libraries", "sluice,torch-eager"), "with several ranks sluice and torch-ddp are measured")
        self.refused(self.bench("--out", "run", "--libraries", "sluice,torch-ddp"), "torch-ddp is for several ranks; give --world-size 2")
        self.refused(self.bench("--out", "run", "--libraries", "sluice,torch-ddp", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2"),
                     "the ranks that mpirun started are sluice's; --world-size 2 starts those of other libraries too")
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
