#!/usr/bin/env python3
# tests/slurm/loopback_test.py - on a real Slurm of this machine: kills and --resume, requeue, an allocation, commands and
# studies, ranks of srun, a checked-in script.
# SPDX-License-Identifier: Apache-2.0
"""usage: loopback_test.py PROGRAM"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import kills  # noqa: E402
import loopback  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
QUICK = ["--sample-ms", "2", "--warmup-ms", "0"]


class LoopbackTest(unittest.TestCase):
    def test_killed_and_resumed(self):
        record = kills.run(PROGRAM, len(kills.KINDS), 7, lambda _: None)
        self.assertEqual(record["complete"], len(kills.KINDS), json.dumps(record, indent=1))

    def config(self, folder, count=6):
        names = ["HorizontalFlip", "VerticalFlip", "Transpose", "Resize", "Invert", "Posterize"][:count]
        path = Path(folder) / "run.yaml"
        path.write_text(f"version: 1\nselection: {{scenario: image-rgb, mode: micro, libraries: [sluice], transforms: [{', '.join(names)}]}}\n"
                        "data: {num_items: 2}\nexecution: {num_runs: 1}\ncluster: {cases_per_task: 3}\n")
        return path

    def test_a_task_that_slurm_puts_back_goes_on(self):
        with loopback.cluster() as cluster, tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            done = subprocess.run([PROGRAM, "run", "--config", self.config(folder), "--backend", "slurm", "--out", out, "--json",
                                   "--sample-ms", "400"], env=cluster.environment, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            array = json.loads(done.stdout)["types"][0]["array_job"]
            first = out / "tasks/0000/results/image-rgb/micro/sluice_micro_results.json"
            kills.until(lambda: first.exists() and rows_of(first), "the first row")
            before = rows_of(first)[0]
            put_back = subprocess.run([loopback.which("scontrol"), "requeue", f"{array}_0"], env=cluster.environment,
                                      capture_output=True, text=True, check=False)
            kills.until((out / "done/collect.json").exists, "the end")
            marker = json.loads((out / "done/0000.json").read_text())
            self.assertEqual(put_back.returncode, 0, put_back.stderr)
            self.assertEqual(marker["place"].get("restart_count"), "1")
            self.assertEqual(json.loads(first.read_text())["rows"][0], before, "what was measured is kept")
            self.assertEqual(len(rows_of(out / "results/image-rgb/micro/sluice_micro_results.json")), 6)

    def test_inside_an_allocation(self):
        with loopback.cluster() as cluster, tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            done = subprocess.run([loopback.which("salloc"), "--nodes=1", "--exclusive", PROGRAM, "run", "--config",
                                   self.config(folder), "--backend", "slurm", "--out", out, *QUICK],
                                  env=cluster.environment, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr + "".join(p.read_text() for p in out.glob("logs/*.out")))
            self.assertIn("report:", done.stdout)
            self.assertEqual(json.loads((out / "done/0001.json").read_text())["place"]["node"], "small")

    def test_a_command_ends_with_its_code(self):
        with loopback.cluster() as cluster, tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            gate = [PROGRAM, "gate", "--bench", "--compare", "--quick", "--dim", "32", "--heads", "2", "--layers", "1", "--seq-len", "16",
                    "--batch-size", "2", "--warmup-steps", "1", "--measure-steps", "4", "--repeat", "1", "--baseline-dir", "none", "--quiet",
                    "--backend", "slurm", "--out", out]
            for more in (["--wait"], ["--resume"]):
                done = subprocess.run([*gate, *more], cwd=folder, env=cluster.environment, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
                self.assertIn(f"exit code 4: {out}/tasks/0000", done.stdout)
            self.assertEqual(json.loads((out / "done/0000.json").read_text())["place"]["node"], "small")
            self.assertEqual(len(list((out / "logs").glob("*.sbatch"))), 1)

    def test_a_study_on_two_nodes(self):
        with loopback.cluster(("small", "large")) as cluster, tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "study.yaml").write_text("name: small\npreset: small4\nbatch_size: 8\nrepeats: 3\n"
                                                     "base: {cpus: 1, mix: 2/4, read: 1/1, warmup: 1, steps: 2}\n"
                                                     "groups: [{label: metadata A/B, metadata: [full, dataset_only]}]\n")
            subprocess.run([PROGRAM, "data", "make", "--quiet", "--kind", "episodes", "--preset", "small4", "--episodes", "8", "--out", "small"],
                           cwd=folder, check=True)
            done = subprocess.run([PROGRAM, "bench", "mixture", "--study", "study.yaml", "--root", "small", "--image-size", "32", "--quiet",
                                   "--backend", "slurm", "--out", "out", "--wait"], cwd=folder, env=cluster.environment, capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            runs = json.loads((Path(folder) / "out/study.json").read_text())["runs"]
            self.assertEqual(sorted(run["repeat"] for run in runs), [1, 1, 2, 2, 3, 3])

    def test_ranks_of_srun(self):
        """Without PMIx they meet by TCP; one that starts others in a step of its own is no rank of Slurm's."""
        alike = ["bench", "allreduce", "--max-bytes", "1k", "--samples", "2", "--json"]
        with loopback.cluster(("large", "small")) as cluster, tempfile.TemporaryDirectory() as folder:
            for name, options, flags, more, library in (
                    ("node", ["--mpi=none", "--ntasks=2"], [], {}, "TCP"),
                    ("nodes", ["--mpi=none", "--nodes=2", "--ntasks=2"], [], {"MASTER_ADDR": "127.0.0.1"}, "TCP"),
                    ("pmix", ["--mpi=pmix", "--ntasks=2"], [], {}, "Open MPI"),
                    ("alone", ["--mpi=none", "--ntasks=1", "--cpus-per-task=2"], ["--world-size", "2", "--runs", "1"], {}, "Open MPI")):
                with self.subTest(name):
                    done = subprocess.run([loopback.which("srun"), *options, PROGRAM, *alike, *flags, "--out", Path(folder) / name],
                                          env={**cluster.environment, **more}, capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    file = json.loads(done.stdout)
                    self.assertEqual({row["params"]["world_size"] for row in file["rows"]}, {"2"})
                    self.assertEqual({row["status"] for row in file["rows"]}, {"ok"})
                    self.assertIn(library, json.dumps(file["summary"]))
            done = subprocess.run([loopback.which("srun"), "--mpi=none", "--nodes=2", "--ntasks=2", PROGRAM, *alike, "--rank-timeout", "5"],
                                  cwd=folder, env=cluster.environment, capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("rank 0 has no address: large: ", done.stderr)
            self.assertIn("; MASTER_ADDR names another", done.stderr)

    def test_a_checked_in_script(self):
        with loopback.cluster() as cluster, tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "logs").mkdir()
            subprocess.run([PROGRAM, "data", "make", "--kind", "rgb", "--count", "4", "--out", "photos", "--quiet"], cwd=folder, check=True)
            job = subprocess.run([loopback.which("sbatch"), "--parsable", "--wait", ROOT / "examples/slurm/bench-dataloader.sbatch",
                                  "--input", "photos", "--batch-size", "2", "--num-workers", "1"], cwd=folder,
                                 env={**cluster.environment, "SLUICE": str(PROGRAM)}, capture_output=True, text=True, check=False)
            log = Path(folder) / f"logs/sluice-bench-dataloader-{job.stdout.strip()}.out"
            self.assertEqual(job.returncode, 0, job.stderr + (log.read_text() if log.exists() else ""))
            subprocess.run([PROGRAM, "validate", log.with_suffix("")], check=True, capture_output=True)


def rows_of(file):
    return json.loads(file.read_text())["rows"]


if __name__ == "__main__":
    PROGRAM = Path(sys.argv.pop(1)).resolve()
    if absent := loopback.missing_programs():
        print(f"skipped: {absent[0]} is not installed; tools/setup --with slurm installs it")
        sys.exit(77)
    os.umask(0o022)
    unittest.main()
