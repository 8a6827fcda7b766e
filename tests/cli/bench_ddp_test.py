# tests/cli/bench_ddp_test.py - `sluice bench training --world-size 2 --libraries sluice,torch-ddp` with the real PyTorch.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench_ddp_test.py PROGRAM; exit 77, which is a visible skip, without Open MPI or the group `torch`"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))
import peer  # noqa: E402

PROGRAM = Path(sys.argv.pop(1)).resolve()
WAIT_S = 280
SMALL = ["--image-size", "32", "--patch-size", "8", "--dim", "64", "--layers", "2", "--heads", "2", "--batch-size", "4", "--threads", "1",
         "--warmup-steps", "1", "--measure-steps", "4", "--repeat", "2"]
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


class BenchDdpTest(unittest.TestCase):
    def test_ranks_of_pytorch_beside_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, "bench", "training", *SMALL, "--world-size", "2", "--libraries", "sluice,torch-ddp", "--out", "run"],
                                  cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=WAIT_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads((Path(folder) / "run/results/bench-training.json").read_text())
        rows = {(row["library"], row["params"].get("world_size", "1")): row for row in document["rows"]}
        self.assertEqual({key: row["status"] for key, row in rows.items()},
                         {(library, ranks): "ok" for library in ("sluice", "torch-ddp") for ranks in ("1", "2")})
        for (_, ranks), row in rows.items():
            self.assertEqual(row["items_per_sample"], 4 * int(ranks))
        engine = rows["torch-ddp", "2"]["runs"][0]["details"][0]["engine"]
        self.assertEqual((engine["ranks"], engine["backend"], engine["threads"]), (2, "gloo", 1))
        self.assertEqual(rows["torch-ddp", "1"]["runs"][0]["details"][0]["engine"]["threads"], 1)
        (scaling,) = document["summary"]["peer_scaling"]
        self.assertEqual((scaling["library"], scaling["world_size"]), ("torch-ddp", 2))

        def rate(row):
            return row["items_per_sample"] / min(statistics.median(run["samples_ns"]) for run in row["runs"]) * 1e9
        self.assertAlmostEqual(scaling["samples_per_s"], rate(rows["torch-ddp", "2"]))
        self.assertAlmostEqual(scaling["scaling_efficiency"], rate(rows["torch-ddp", "2"]) / (2 * rate(rows["torch-ddp", "1"])))
        self.assertIn("point", scaling["scaling_efficiency_of_runs"])
        ratios = {(one["case"], one["peer"]) for one in document["summary"]["peer_ratios"]}
        self.assertIn(("training/vit5-tiny/world_size=2", "torch-ddp"), ratios)
        self.assertIn("2 ranks of torch-ddp: ", done.stdout)
        self.assertEqual(document["summary"]["scaling"]["world_size"], 2)


if __name__ == "__main__":
    if peer.python_of("torch") is None or shutil.which("mpirun") is None or not (PROGRAM.parent / "libsluice_mpi.so").exists():
        print("skipped: needs Open MPI and the environment 'torch' (sluice peers install torch)")
        sys.exit(peer.SKIPPED)
    unittest.main()
