# tests/train/mpi_world_test.py - real ranks by MPI train as one does; one that dies or hangs is named, and no one is left behind.
# SPDX-License-Identifier: Apache-2.0
import json
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import world_case

PROGRAM = Path(sys.argv.pop(1)).resolve()
MODULES = Path(sys.argv.pop(1)).resolve()
SAMPLES = 8
LIMIT_S = 100  # of a whole program; nothing here asserts on speed
MORE = {"SLUICE_MODULE_DIR": str(MODULES), "OMPI_MCA_mpi_yield_when_idle": "1"}


@unittest.skipIf(shutil.which("mpirun") is None or not (MODULES / "libsluice_mpi.so").exists(), "no Open MPI on this machine; tools/setup installs it")
class MpiWorldTest(world_case.WorldCase):
    def run_ranks(self, ranks, *flags, start=False, **variables):
        out = self.folder / f"{ranks}-{start}.json"
        by = [] if start else ["mpirun", "-n", str(ranks)]
        more = ["--start", str(ranks)] if start else []
        done = subprocess.run([*by, PROGRAM, out, str(SAMPLES), *more, *flags], env={**self.environment, **MORE, **variables},
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        return done, json.loads(out.read_text()) if out.exists() else None

    def trained(self, ranks, start=False, **variables):
        done, told = self.run_ranks(ranks, start=start, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(told["ranks"], ranks)
        self.assertEqual(told["answers"], [f"done? {rank}" for rank in range(1, ranks)])
        self.assertEqual(told["sync_bytes"] > 0, ranks > 1)
        return told

    def test_two_and_four_ranks_train_as_one(self):
        one = self.trained(1)
        for ranks in (2, 4):
            many = self.trained(ranks)
            self.assert_same(many, one)
            self.assertEqual(self.trained(ranks), many, "two runs give the same bits")

    def test_a_process_starts_the_others_itself(self):
        self.assert_same(self.trained(2, start=True), self.trained(2))

    def test_memory_that_ranks_share_and_messages_give_the_same_sums(self):
        for start in (False, True):
            shared, sent = self.trained(3, start=start), self.trained(3, start=start, SLUICE_SUMS_BY="mpi")
            self.assertTrue(shared["library"].endswith(", sums in shared memory"), shared["library"])
            self.assertNotIn("shared memory", sent["library"])
            self.assert_same(shared, sent)
        done, _ = self.run_ranks(2, start=True, SLUICE_SUMS_BY="luck")
        self.assertEqual((done.returncode, done.stderr), (5, "sluice: SLUICE_SUMS_BY 'luck': accepted: memory (the default on one machine), mpi\n"))

    def test_a_rank_that_hangs_is_named(self):
        for start in (False, True):
            done, told = self.run_ranks(3, "--hang", "2", "--timeout", "1", start=start)
            self.assertNotEqual(done.returncode, 0)
            self.assertIsNone(told)
            self.assertIn("sluice: rank 2 of 3 did not come to the end of its step within 1 s", done.stderr)

    def test_a_rank_that_never_comes_is_not_waited_for(self):
        for start in (False, True):
            done, told = self.run_ranks(3, "--late", "1", "--timeout", "1", start=start)
            self.assertNotEqual(done.returncode, 0)
            self.assertIsNone(told)
            self.assertIn("sluice: a rank did not come within 20 s: MPI waits for it", done.stderr)

    def test_a_rank_that_dies_ends_the_others(self):
        for start in (False, True):
            done, told = self.run_ranks(3, "--die", "1", "--timeout", "1", start=start)
            self.assertNotEqual(done.returncode, 0)
            self.assertIsNone(told)

    def test_variables_that_disagree_with_mpi(self):
        done = subprocess.run([PROGRAM, self.folder / "none.json", "8"], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              env={**self.environment, **MORE, "PMI_RANK": "1", "PMI_SIZE": "2"})
        self.assertEqual(done.returncode, 5)
        self.assertIn("mpirun started this process as rank 1 of 2, MPI finds rank 0 of 1", done.stderr)


if __name__ == "__main__":
    unittest.main()
