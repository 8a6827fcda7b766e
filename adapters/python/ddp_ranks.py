# adapters/python/ddp_ranks.py - the ranks of torch-ddp: processes of this machine that train one model by DistributedDataParallel.
# SPDX-License-Identifier: Apache-2.0
"""Rank 0 is the worker that is measured. It starts the others as `ddp_ranks.py`, tells each by a line on its standard input what to
do next (`step`, `compare`), and is met by them in torch.distributed: over gloo on the loopback device on the CPU, over NCCL on
GPUs, one for each rank. A rank whose input ends is done: none outlives the worker. Between two lines it sleeps, so that it is in
nobody's way while the worker is stopped.
"""
import datetime
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import torch
import torch.distributed as dist
from sluice_worker.adapter import Failed
from torch.nn.parallel import DistributedDataParallel

HOST = "127.0.0.1"
HERE = "here"


class Ranks:
    """Of one training: the group, and on rank 0 the other processes."""

    def __init__(self, raw, threads, seed, device):
        self.backend = "nccl" if device.type == "cuda" else "gloo"
        self.size, self.rank = raw["world_size"], raw.get("rank", 0)
        self.others = []
        self.timeout_s = float(raw.get("rank_timeout_s", 120))
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        store = dist.TCPStore(HOST, raw.get("port", 0), self.size, self.rank == 0, wait_for_workers=False,
                              timeout=datetime.timedelta(seconds=self.timeout_s))
        try:
            if self.rank == 0:
                self.start_others({**raw, "inputs": None, "expected_loss": None, "port": store.port}, threads, seed)
            dist.init_process_group(self.backend, store=store, rank=self.rank, world_size=self.size,
                                    timeout=datetime.timedelta(seconds=self.timeout_s))
        except BaseException:
            self.close()
            raise

    def start_others(self, raw, threads, seed):
        for rank in range(1, self.size):
            other = subprocess.Popen([sys.executable, "-B", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.others.append(other)
            self.say(other, json.dumps({"raw": {**raw, "rank": rank}, "threads": threads, "seed": seed}))
        for rank, other in enumerate(self.others, 1):
            if other.stdout.readline().strip() != HERE.encode():
                raise Failed(f"rank {rank} of {self.size} ended before it joined: exit code {other.wait()}")

    @staticmethod
    def say(other, line):
        try:
            other.stdin.write(line.encode() + b"\n")
            other.stdin.flush()
        except OSError as problem:
            raise Failed(f"a rank is gone: {problem}") from None

    def tell(self, line):
        for other in self.others:
            self.say(other, line)

    def wrap(self, model, mode):
        """Gradients are added up in place while backward goes on; there are no buffers to keep alike. Compiled after it is
        wrapped, as PyTorch's notes on DDP advise: so graphs end where buckets do."""
        wrapped = DistributedDataParallel(model, gradient_as_bucket_view=True, broadcast_buffers=False)
        return wrapped if mode is None else torch.compile(wrapped, mode=mode)

    def compare(self, model):
        """Weights and gradients are the same bits on every rank, though each has a batch of its own. Every rank calls it."""
        numbers = []
        for parameter in model.parameters():
            gradient = parameter.grad if parameter.grad is not None else torch.zeros(1)
            numbers += [parameter.detach().double().sum(), gradient.double().sum(), gradient.double().square().sum()]
        mine = torch.stack(numbers)
        everyone = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(everyone, mine)
        for rank, one in enumerate(everyone):
            if not torch.equal(one, everyone[0]):
                raise Failed(f"rank {rank} of {self.size} has other weights or gradients than rank 0")

    def close(self):
        for other in self.others:
            other.stdin.close()
        for other in self.others:
            try:
                other.wait(5)
            except subprocess.TimeoutExpired:
                other.kill()
                other.wait()
            other.stdout.close()
        self.others = []
        if dist.is_initialized():
            dist.destroy_process_group()


def main():
    job = json.loads(sys.stdin.readline())
    from sluice_worker.modes.training import Training
    from training_worker import TrainingAdapter
    torch.set_num_threads(job["threads"])
    adapter = TrainingAdapter("torch-ddp")
    adapter.session = SimpleNamespace(seed=job["seed"])
    print(HERE, flush=True)
    training = Training(adapter)
    training.make(job["raw"])
    training.checked = True
    for line in sys.stdin:
        if line.strip() == "compare":
            training.compare_ranks()
        else:
            training.step()
    training.release()


if __name__ == "__main__":
    main()
