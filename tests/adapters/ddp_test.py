#!/usr/bin/env python3
# tests/adapters/ddp_test.py - torch-ddp: ranks of DistributedDataParallel train as one process with all their batches would.
# SPDX-License-Identifier: Apache-2.0
"""exit 77, which is a visible skip, when the group `torch` is not installed"""
import os
import select
import sys
import tempfile
import unittest
from unittest import mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import peer  # noqa: E402

peer.enter("torch")

import torch  # noqa: E402
from lamb_torch import Optimizer, OptimizerConfig  # noqa: E402
from sluice_worker.adapter import Unsupported  # noqa: E402
from sluice_worker.modes.training import device_of  # noqa: E402
from safetensors_file import load_weights, read_safetensors, write_safetensors  # noqa: E402
from vit5_torch import ModelSpec, is_decayed, loss_of, make_model  # noqa: E402

SMALL = {"family": "vit5", "dim": 64, "layers": 2, "heads": 2, "image": 32, "patch": 8, "registers": 4, "classes": 10}
SEED, BATCH = 7, 4
UNTIMED = 3  # steps of `check`: those in which a compiled row compiles


def batch_of(rank):
    """What a rank without given inputs draws."""
    torch.manual_seed(SEED + rank)
    return torch.randn(BATCH, 3, 32, 32), torch.randint(10, (BATCH,))


class Ddp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.weights = Path(folder.name) / "w.safetensors"
        torch.manual_seed(1)
        write_safetensors(self.weights, dict(make_model(ModelSpec.read(SMALL)).named_parameters()))

    def worker(self, ends_it=True):
        worker = peer.Peer(peer.ADAPTERS / "training_worker.py", "torch-ddp", "training")
        for end in (worker.close,) if ends_it else (worker.requests.close, worker.replies.close):
            self.addCleanup(end)
        worker.must("hello", protocol=1)
        worker.must("configure", threads=1, device="cpu", seed=SEED, thread_policy="micro-threads")
        worker.must("load", data_dir="", mode="training")
        return worker

    def spec(self, ranks, **more):
        return {"model": SMALL, "batch": BATCH, "weights": str(self.weights), "inputs": None, "seed": SEED, "optimizer": "adamw",
                "world_size": ranks, "rank_timeout_s": 60, **more}

    def one_process(self, ranks, steps, accumulate=1):
        """Loss of the batch of rank 0 at every step, with the mean of all ranks' gradients."""
        model = make_model(ModelSpec.read(SMALL)).train()
        load_weights(model, read_safetensors(self.weights)[0])
        optimizer = Optimizer(model.named_parameters(), is_decayed, OptimizerConfig(kind="adamw"), False)
        batches, losses = [batch_of(rank) for rank in range(ranks)], []
        for _ in range(steps):
            for _ in range(accumulate):
                for rank, (images, labels) in enumerate(batches):
                    loss = loss_of(model(images), labels)
                    if rank == 0:
                        last = float(loss.detach())
                    (loss / ranks / accumulate).backward()
            losses.append(last)
            optimizer.step()
            model.zero_grad(set_to_none=True)
        return losses

    def test_ranks_learn_what_one_process_with_all_batches_learns(self):
        for ranks, accumulate in ((2, 1), (3, 2)):
            with self.subTest(ranks=ranks, accumulate=accumulate):
                worker = self.worker()
                meant = self.one_process(ranks, UNTIMED + 4, accumulate)
                prepared = worker.must("prepare", case="training/small", spec=self.spec(ranks, grad_accum=accumulate))
                self.assertEqual(prepared["items_per_pass"], BATCH * accumulate * ranks)
                checked = worker.must("check")
                self.assertAlmostEqual(checked["loss"], meant[0], delta=1e-4 * meant[0])
                self.assertEqual((checked["engine"]["ranks"], checked["engine"]["backend"], checked["engine"]["threads"]), (ranks, "gloo", 1))
                sample = worker.must("measure", case="training/small", passes=4, warmup_ms=0, warmup_limit_ms=0)
                # One more untimed step comes first: warmup_steps of the spec.
                meant = self.one_process(ranks, UNTIMED + sample["warmup_passes"] + 4, accumulate)
                self.assertAlmostEqual(sample["details"]["loss"], meant[-1], delta=2e-3 * meant[-1])
                alone = self.one_process(1, UNTIMED + sample["warmup_passes"] + 4, accumulate)
                self.assertGreater(abs(alone[-1] - meant[-1]), 1e-2 * meant[-1], "the other batches must have mattered")
                self.assertEqual(sample["items_per_sample"], 4 * BATCH * accumulate * ranks)

    def test_one_rank_is_plain_pytorch(self):
        worker = self.worker()
        prepared = worker.must("prepare", case="training/small", spec=self.spec(1))
        self.assertEqual(prepared["items_per_pass"], BATCH)
        self.assertNotIn("ranks", worker.must("check")["engine"])

    def test_another_first_loss_is_not_comparable(self):
        worker = self.worker()
        worker.must("prepare", case="training/small", spec=self.spec(2, expected_loss=1.0))
        self.assertIn("not comparable", worker.ask("check")["reason"])

    def test_what_it_has_no_row_for(self):
        worker = self.worker()
        for more, words in (({"data": "loader", "loader": {}}, "no row that is fed from files"), ({"device": "cuda:99"}, "finds no device cuda:100"),
                            ({"world_size": 0}, "world_size")):
            reply = worker.ask("prepare", case="training/small", spec={**self.spec(2), **more})
            self.assertIn(words, reply["reason"])

    def test_every_rank_has_a_gpu_of_its_own_or_shares_one(self):
        with mock.patch("torch.cuda.is_available", return_value=True), mock.patch("torch.cuda.device_count", return_value=2):
            self.assertEqual([device_of("cuda:0", rank).index for rank in (0, 1)], [0, 1])
            with self.assertRaisesRegex(Unsupported, "finds no device cuda:2: 2 CUDA devices"):
                device_of("cuda:1", 1)
            with mock.patch.dict(os.environ, NCCL_MULTI_RANK_GPU_ENABLE="1"):
                self.assertEqual([device_of("cuda:1", rank).index for rank in (0, 1, 2)], [1, 0, 1])
                with self.assertRaisesRegex(Unsupported, "finds no device cuda:2"):
                    device_of("cuda:2")

    def test_no_rank_outlives_the_worker(self):
        worker = self.worker(ends_it=False)
        worker.must("prepare", case="training/small", spec=self.spec(3))
        children = Path(f"/proc/{worker.process.pid}/task/{worker.process.pid}/children")
        if not children.exists():
            self.skipTest("this kernel does not list children")
        others = [pid for pid in children.read_text().split() if b"ddp_ranks.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        self.assertEqual(len(others), 2)
        ends = [os.pidfd_open(int(pid)) for pid in others]
        worker.process.kill()
        worker.process.wait()
        for end in ends:
            self.assertTrue(select.select([end], [], [], 60)[0], "a rank lives on")
            os.close(end)


if __name__ == "__main__":
    unittest.main()
