# tests/train/mpi_world_test.py - real ranks by MPI train as one does; one that dies or hangs is named, and no one is left behind.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()
MODULES = Path(sys.argv.pop(1)).resolve()
SAMPLES = 8
LIMIT_S = 100  # of a whole program; nothing here asserts on speed
ENVIRONMENT = {**os.environ, "SLUICE_MODULE_DIR": str(MODULES), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}  # Open MPI keeps memory until the end


@unittest.skipIf(shutil.which("mpirun") is None or not (MODULES / "libsluice_mpi.so").exists(), "no Open MPI on this machine; tools/setup installs it")
class MpiWorldTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.mark = f"world-{os.getpid()}-{self.id()}"  # in the environment of every rank

    def tearDown(self):
        shutil.rmtree(self.folder)
        self.assertEqual(self.left_behind(), [])

    def left_behind(self):
        found = []
        for one in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (one / "environ").read_bytes() and "Z" not in (one / "stat").read_text().rsplit(")", 1)[1][:3]:
                    found.append((one / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                pass
        return found

    def run_ranks(self, ranks, *flags, start=False):
        out = self.folder / f"{ranks}-{start}.json"
        by = [] if start else ["mpirun", "-n", str(ranks)]
        more = ["--start", str(ranks)] if start else []
        done = subprocess.run([*by, PROGRAM, out, str(SAMPLES), *more, *flags], env={**ENVIRONMENT, "SLUICE_TEST_MARK": self.mark},
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        return done, json.loads(out.read_text()) if out.exists() else None

    def trained(self, ranks, start=False):
        done, told = self.run_ranks(ranks, start=start)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(told["ranks"], ranks)
        self.assertEqual(told["answers"], [f"done? {rank}" for rank in range(1, ranks)])
        self.assertEqual(told["sync_bytes"] > 0, ranks > 1)
        return told

    def assert_same(self, found, expected):
        for a, b in zip(found["losses"], expected["losses"]):
            self.assertAlmostEqual(a, b, delta=2e-5 * abs(b))
        self.assertEqual(set(found["tensors"]), set(expected["tensors"]))
        for name, values in expected["tensors"].items():
            scale = max(map(abs, values)) or 1
            worst = max(abs(a - b) for a, b in zip(found["tensors"][name], values))
            self.assertLess(worst / scale, 1e-3, name)

    def test_two_and_four_ranks_train_as_one(self):
        one = self.trained(1)
        for ranks in (2, 4):
            many = self.trained(ranks)
            self.assert_same(many, one)
            self.assertEqual(self.trained(ranks), many, "two runs give the same bits")

    def test_a_process_starts_the_others_itself(self):
        self.assert_same(self.trained(2, start=True), self.trained(2))

    def test_a_rank_that_hangs_is_named(self):
        for start in (False, True):
            done, told = self.run_ranks(3, "--hang", "2", "--timeout", "1", start=start)
            self.assertNotEqual(done.returncode, 0)
            self.assertIsNone(told)
            self.assertIn("sluice: rank 2 of 3 did not come to the end of its step within 1 s", done.stderr)

    def test_a_rank_that_dies_ends_the_others(self):
        for start in (False, True):
            done, told = self.run_ranks(3, "--die", "1", "--timeout", "1", start=start)
            self.assertNotEqual(done.returncode, 0)
            self.assertIsNone(told)

    def test_variables_that_disagree_with_mpi(self):
        done = subprocess.run([PROGRAM, self.folder / "none.json", "8"], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              env={**ENVIRONMENT, "SLUICE_TEST_MARK": self.mark, "RANK": "1", "WORLD_SIZE": "2"})
        self.assertEqual(done.returncode, 5)
        self.assertIn("torchrun started this process as rank 1 of 2, MPI finds rank 0 of 1", done.stderr)


if __name__ == "__main__":
    unittest.main()
