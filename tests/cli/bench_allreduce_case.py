# tests/cli/bench_allreduce_case.py - what tests of `sluice bench allreduce` share, on CPUs and GPUs: what was measured, what is refused, a rank that fails.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import statistics
import subprocess
from pathlib import Path

from ranks_case import WAIT_S, RanksCase


def busy_ticks(process):
    """CPU time of a process so far."""
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class BenchAllreduceCase(RanksCase):
    PROGRAM = None
    DEVICE_IN_CASE = ""
    PATIENCE_S = 2
    BUSY_TICKS = 100  # of a rank that has joined, and adds up

    def bench(self, *flags, by=(), **variables):
        return subprocess.run([*by, self.PROGRAM, "bench", "allreduce", *flags], cwd=self.folder, env={**self.environment, **variables},
                              capture_output=True, text=True, timeout=WAIT_S, check=False)

    def measured(self, done, ranks, sizes, runs, samples, library="Open MPI"):
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads((self.folder / "run/results/bench-allreduce.json").read_text())
        rows = {int(row["params"]["bytes"]): row for row in document["rows"]}
        self.assertEqual(sorted(rows), sizes)
        for size, row in rows.items():
            self.assertEqual((row["status"], row["params"]["world_size"], len(row["runs"])), ("ok", str(ranks), runs))
            self.assertEqual({len(run["samples_ns"]) for run in row["runs"]}, {samples})
            self.assertIn(f"exact sums of {ranks} ranks", row["output_digest"])
            self.assertEqual(row["case"], f"allreduce/sum/bytes={size}{self.DEVICE_IN_CASE}/world_size={ranks}")
        found = document["summary"]["allreduce"]
        self.assertEqual((found["world_size"], found["machines"]), (ranks, 1))
        self.assertIn(library, found["library"])
        self.assertEqual([line["bytes"] for line in found["sizes"]], sizes)
        for line in found["sizes"]:
            row = rows[line["bytes"]]
            rate = statistics.geometric_mean(statistics.median(row["items_per_sample"] / ns for ns in run["samples_ns"]) for run in row["runs"])
            self.assertAlmostEqual(line["algorithm_gb_per_s"]["point"] / (line["bytes"] * rate), 1, delta=1e-6)
            self.assertAlmostEqual(line["bus_gb_per_s"]["point"], line["algorithm_gb_per_s"]["point"] * 2 * (ranks - 1) / ranks)
            self.assertAlmostEqual(line["time_us"]["point"], line["bytes"] * 1e-3 / line["algorithm_gb_per_s"]["point"])
            self.assertLessEqual(line["time_us"]["low"], line["time_us"]["point"])
        self.assertEqual(done.stdout.count("bus bandwidth"), 1, "rank 0 alone speaks")
        self.assertNotIn("left running", done.stderr)
        return document

    def refused(self, done, text, code=2):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertFalse((self.folder / "run").exists())

    def fault(self, number, ranks, *flags):
        """What is said of the row when the last rank that was started gets a signal."""
        command = [self.PROGRAM, "bench", "allreduce", *flags, "--max-bytes", "64k", "--samples", "10000", "--sums", "10000",
                   "--rank-timeout", str(self.PATIENCE_S), "--timeout", "100", "--runs", "1", "--out", "run"]
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        busy = []
        while len(busy) < ranks - 1 and process.poll() is None:  # ends with the run at the latest
            busy = [pid for pid, line in self.processes() if "--allreduce-rank" in line and self.has_worked(pid)]
        self.assertEqual(len(busy), ranks - 1, "not all ranks were started")
        os.kill(busy[-1], number)
        out, error = process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, 5, out + error)
        row = json.loads((self.folder / "run/results/bench-allreduce.json").read_text())["rows"][0]
        self.assertEqual(row["status"], "failed")
        return row["reason"]

    def has_worked(self, pid):
        try:
            return busy_ticks(Path(f"/proc/{pid}")) >= self.BUSY_TICKS
        except OSError:
            return False
