# tests/train/tcp_world_gpu_test.py - ranks that share one GPU train as one does, losses and every gradient: what tcp_world_test.py tests of ranks on CPUs.
# SPDX-License-Identifier: Apache-2.0
"""usage: SLUICE_TEST_DEVICE=cuda:0 tcp_world_gpu_test.py WORLD_PROGRAM MODULES      exit 77 without a device"""
import sys
import unittest

import tcp_world_test

CASES = ("test_two_and_four_ranks_train_as_one", "test_the_variables_of_torchrun", "test_a_rank_that_hangs_is_named", "test_a_rank_that_dies_is_named")


def load_tests(_loader, _tests, _pattern):
    return unittest.TestSuite(map(tcp_world_test.TcpWorldTest, CASES))


if __name__ == "__main__":
    if not tcp_world_test.DEVICE.startswith("cuda:"):
        print("Skipped: SLUICE_TEST_DEVICE names no GPU", flush=True)
        sys.exit(77)
    unittest.main()
