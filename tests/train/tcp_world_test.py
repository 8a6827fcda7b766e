# tests/train/tcp_world_test.py - real ranks by TCP, as torchrun or a process of ours starts them, train as one does; faults are named.
# With SLUICE_TEST_DEVICE=cuda:0 on that device, by NCCL: several ranks share it where NCCL allows that.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import socket
import struct
import subprocess
import sys
import unittest
from pathlib import Path

import world_case

PROGRAM = Path(sys.argv.pop(1)).resolve()
MODULES = Path(sys.argv.pop(1)).resolve()
DEVICE = os.environ.get("SLUICE_TEST_DEVICE", "cpu")
SAMPLES = 8
PATIENCE_S = 6 if DEVICE == "cpu" else 25  # NCCL takes seconds to begin
LIMIT_S = 200  # of a whole program; nothing here asserts on speed
# Kernels of a device begin their sums in another order than a CPU: what is left is rounding of fp32.
BOUNDS = {} if DEVICE == "cpu" else {"losses": 1e-4, "tensors": 5e-3}


def free_port():
    with socket.socket() as one, socket.socket() as next_one:
        while True:
            one.bind(("127.0.0.1", 0))
            try:
                next_one.bind(("127.0.0.1", one.getsockname()[1] + 1))
                return one.getsockname()[1]
            except OSError:
                one.close()
                one = socket.socket()


class TcpWorldTest(world_case.WorldCase):
    def variables_of(self, **more):
        plain = {name: value for name, value in self.environment.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")}
        return {**plain, "SLUICE_MODULE_DIR": str(MODULES), "NCCL_MULTI_RANK_GPU_ENABLE": "1", **more}

    def command(self, ranks, *flags):
        return [PROGRAM, self.folder / f"{ranks}.json", str(SAMPLES), "--device", DEVICE, *flags]

    def result(self, ranks):
        out = self.folder / f"{ranks}.json"
        told = json.loads(out.read_text()) if out.exists() else None
        out.unlink(missing_ok=True)
        return told

    def by_variables(self, ranks, *flags, sizes=None, **more):
        """As torchrun does: (exit code, stderr) of each rank, and what rank 0 wrote."""
        port = str(free_port())
        running = [subprocess.Popen(self.command(ranks, *flags), stderr=subprocess.PIPE, text=True, env=self.variables_of(
            RANK=str(rank), WORLD_SIZE=str(sizes[rank] if sizes else ranks), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **more))
            for rank in range(ranks)]
        ends = [(one.communicate(timeout=LIMIT_S)[1], one.returncode) for one in running]
        return [(code, text) for text, code in ends], self.result(ranks)

    def started(self, ranks, *flags):
        done = subprocess.run(self.command(ranks, "--start", str(ranks), "--tcp", "1", *flags), env=self.variables_of(), capture_output=True,
                              text=True, timeout=LIMIT_S, check=False)
        return done, self.result(ranks)

    def trained(self, ranks):
        done, told = self.started(ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((told["ranks"], told["answers"]), (ranks, [f"done? {rank}" for rank in range(1, ranks)]))
        self.assertEqual(told["sums"].startswith("NCCL "), DEVICE != "cpu")
        self.assertEqual(told["sync_bytes"] > 0, ranks > 1 or DEVICE != "cpu")
        return told

    def test_two_and_four_ranks_train_as_one(self):
        one = self.trained(1)
        for ranks in (2, 4):
            many = self.trained(ranks)
            self.assert_same(many, one, **BOUNDS)
            self.assertEqual(self.trained(ranks), many, "two runs give the same bits")

    def test_sums_that_are_larger_than_what_a_connection_holds(self):
        ends, told = self.by_variables(2, "--width", "512")
        self.assertEqual([code for code, _ in ends], [0, 0], ends)
        self.assertGreater(told["sync_bytes"], 20 << 20)

    def test_the_variables_of_torchrun(self):
        ends, told = self.by_variables(2)
        self.assertEqual([code for code, _ in ends], [0, 0], ends)
        started = self.trained(2)
        if DEVICE == "cpu":
            self.assertEqual(told, started)
        else:  # products are chosen by their time, which other work on the device may turn: then bits differ
            self.assert_same(told, started, **BOUNDS)

    def test_the_variables_of_srun(self):
        """A step on one node: no address, no port."""
        for step in range(20):  # the port follows from the numbers; another process may hold one
            running = [subprocess.Popen(self.command(2), stderr=subprocess.PIPE, text=True, env=self.variables_of(
                SLURM_JOB_ID=str(os.getpid()), SLURM_STEP_ID=str(step), SLURM_PROCID=str(rank), SLURM_STEP_NUM_TASKS="2",
                SLURM_LOCALID=str(rank), SLURM_STEP_NUM_NODES="1")) for rank in range(2)]
            ends = [(one.communicate(timeout=LIMIT_S)[1], one.returncode) for one in running]
            if "Address already in use" not in ends[0][0]:
                break
        self.assertEqual([code for _, code in ends], [0, 0], ends)
        self.assertEqual(self.result(2), self.trained(2))

    def test_two_machines_meet(self):
        """By the address of the first, and by its name, which it knows as an address of its own alone."""
        for master in ("10.77.0.1", "machine-one"):
            done = subprocess.run([sys.executable, "-B", Path(__file__).with_name("two_machines.py"), "machine-one", *self.command(2)],
                                  env=self.variables_of(MASTER_ADDR=master, MASTER_PORT="29500"), capture_output=True, text=True,
                                  timeout=LIMIT_S, check=False)
            if done.returncode == 77:
                self.skipTest("no namespaces of the network on this machine")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([code for code, _ in json.loads(done.stdout)], [0, 0], done.stdout)
            self.assertEqual(self.result(2), self.trained(2))

    def test_a_rank_that_hangs_is_named(self):
        done, told = self.started(3, "--hang", "2", "--timeout", str(PATIENCE_S))
        self.assertEqual(done.returncode, 5)
        self.assertIsNone(told)
        self.assertIn(f"sluice: rank 2 of 3 did not come to the end of its step within {PATIENCE_S} s", done.stderr)

    def test_a_rank_that_dies_is_named(self):
        done, told = self.started(3, "--die", "1", "--timeout", str(PATIENCE_S))
        self.assertEqual(done.returncode, 5)
        self.assertIsNone(told)
        self.assertIn("sluice: rank 1 of 3 has ended", done.stderr)
        ends, _ = self.by_variables(3, "--die", "1", "--timeout", str(PATIENCE_S))
        self.assertEqual([code for code, _ in ends], [5, -9, 5])
        self.assertIn("rank 1 of 3 has ended", ends[0][1])

    def test_a_rank_that_gives_up_says_why(self):
        ends, told = self.by_variables(3, "--refuse", "2", "--timeout", "30")
        self.assertIsNone(told)
        self.assertIn("sluice: rank 2 of 3: has no data", ends[0][1])

    def test_a_rank_that_does_not_come(self):
        port = str(free_port())
        done = subprocess.run(self.command(2, "--timeout", "1"), capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              env=self.variables_of(RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT=port))
        self.assertEqual((done.returncode, done.stderr), (5, "sluice: rank 1 of 2 did not come within 1 s\n"))
        done = subprocess.run(self.command(2, "--timeout", "1"), capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              env=self.variables_of(RANK="1", WORLD_SIZE="2", LOCAL_RANK="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=port))
        self.assertEqual((done.returncode, done.stderr),
                         (5, f"sluice: rank 0 at 127.0.0.1 port {int(port) + 1} did not answer within 1 s: Connection refused\n"))

    def test_ranks_that_count_differently(self):
        ends, _ = self.by_variables(2, "--timeout", "5", sizes=(2, 3))
        for _, text in ends:
            self.assertEqual(text, "sluice: rank 1 counts 3 ranks, rank 0 2\n")

    def test_who_has_come_hears_who_has_not(self):
        port = str(free_port())
        running = [subprocess.Popen(self.command(3, "--timeout", "2"), stderr=subprocess.PIPE, text=True, env=self.variables_of(
            RANK=str(rank), WORLD_SIZE="3", LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)) for rank in range(2)]
        for one in running:
            self.assertEqual(one.communicate(timeout=LIMIT_S)[1], "sluice: rank 2 of 3 did not come within 2 s\n")

    def test_a_stranger_is_not_let_in(self):
        port = free_port()
        rank_0 = subprocess.Popen(self.command(2, "--timeout", "4"), stderr=subprocess.PIPE, text=True, env=self.variables_of(
            RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TORCHELASTIC_RUN_ID="ours"))
        other = self.variables_of(RANK="1", WORLD_SIZE="2", LOCAL_RANK="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TORCHELASTIC_RUN_ID="theirs")
        stranger = subprocess.run(self.command(2, "--timeout", "4"), capture_output=True, text=True, timeout=LIMIT_S, check=False, env=other)
        self.assertIn(f"sluice: rank 1 of 2 is not let in at 127.0.0.1 port {port + 1}: the connection was closed; rank 0 of the same ranks must listen there, "
                      "SLUICE_WORLD_PORT names another port\n", stranger.stderr)
        self.assertIn("rank 1 of 2 did not come within 4 s", rank_0.communicate(timeout=LIMIT_S)[1])

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = subprocess.run(self.command(2), capture_output=True, text=True, timeout=LIMIT_S, check=False, env=self.variables_of(
                RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", SLUICE_WORLD_PORT=str(port)))
        self.assertEqual((done.returncode, done.stderr), (5, f"sluice: rank 0 cannot listen at 127.0.0.1 port {port}: Address already in use; "
                                                             "SLUICE_WORLD_PORT names another port\n"))

    def test_a_stranger_that_listens_is_not_waited_for(self):
        """It never accepts, which the system does for it; or it says something else; or nothing; or breaks off, at times while it is still being spoken to."""
        for answer, words in ((None, "nothing came within 2 s"), (b"220 mail.example.org ESMTP\r\n", "what came is not ours"),
                              (b"", "the connection was closed"), *[(b"reset", "the connection was closed")] * 20):
            with socket.socket() as stranger:
                stranger.bind(("127.0.0.1", 0))
                stranger.listen()
                port = stranger.getsockname()[1]
                rank_1 = subprocess.Popen(self.command(2, "--timeout", "1"), stderr=subprocess.PIPE, text=True, env=self.variables_of(
                    RANK="1", WORLD_SIZE="2", LOCAL_RANK="1", MASTER_ADDR="127.0.0.1", SLUICE_WORLD_PORT=str(port)))
                try:
                    if answer is not None:
                        with stranger.accept()[0] as one:
                            one.recv(16 if answer == b"reset" else 4096)
                            if answer == b"reset":
                                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                            else:
                                one.sendall(answer)
                    said = rank_1.communicate(timeout=LIMIT_S / 10)[1]
                finally:
                    rank_1.kill()
            self.assertEqual((rank_1.returncode, said), (5, f"sluice: rank 1 of 2 is not let in at 127.0.0.1 port {port}: {words}; rank 0 of the same ranks must "
                                                            "listen there, SLUICE_WORLD_PORT names another port\n"))

    def test_a_machine_that_is_lost_is_noticed(self):
        """Its cable is cut: no word comes from it, that it ended either. Rank 1 hears rank 0, which has no limit."""
        done = subprocess.run([sys.executable, "-B", Path(__file__).with_name("two_machines.py"), "--cut", "machine-one", *self.command(2, "--timeout", "2", "--mute", "0")],
                              env=self.variables_of(MASTER_ADDR="10.77.0.1", MASTER_PORT="29500"), capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode == 77:
            self.skipTest("no namespaces of the network on this machine")
        self.assertEqual(done.returncode, 0, done.stderr)
        code, text = json.loads(done.stdout)[1]
        self.assertEqual(code, 5, text)
        self.assertIn("sluice: rank 0 of 2 has ended (Connection timed out", text)

    def test_variables_that_are_missing_or_wrong(self):
        for more, words in (({}, "MASTER_ADDR is not set"), ({"MASTER_ADDR": "127.0.0.1"}, "MASTER_PORT is not set"),
                            ({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "70000"}, "MASTER_PORT is 70000; 1 to 65534 are accepted")):
            done = subprocess.run(self.command(2), capture_output=True, text=True, timeout=LIMIT_S, check=False,
                                  env=self.variables_of(RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", **more))
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
