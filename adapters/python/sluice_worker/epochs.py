# adapters/python/sluice_worker/epochs.py - epochs of a torch DataLoader: how one is built, consumed and timed.
# SPDX-License-Identifier: Apache-2.0
"""Knows no library: a recipe (recipes.py) brings `item`, `batch` and `seed`.

Work of the loader's processes is never done in this one when there are any: libraries with thread pools are
safe to fork only while they have not worked yet.
"""
import random
import re
import resource
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Subset

from .adapter import is_device_problem
from .media import BadFile

MEMORY = "memory_dataloader_augment"
DECODE = "decode_dataloader_augment"
DECODE_COPY = "decode_dataloader_augment_batch_copy"
SCOPES = (MEMORY, DECODE, DECODE_COPY)
# Separates our reason from the traceback that the DataLoader wraps around what its processes raise.
MARK = "\x1e"


class ItemProblem(Exception):
    """What a recipe raised for one item. One text argument, so that it survives a process border."""


def first_line(problem):
    """Type and first line of a library's own text."""
    lines = [line for line in str(problem).strip().splitlines() if line.strip()]
    return f"{type(problem).__name__}: {lines[0].strip()}" if lines else type(problem).__name__


def marked(text):
    return f"{MARK}{text}{MARK}"


def loader_reason(problem):
    """The text of what went wrong in a loader's process, out of the traceback around it."""
    text = str(problem)
    if text.count(MARK) >= 2:
        return text.split(MARK)[1]
    raised = re.findall(r"^(?:\w+\.)*(\w*(?:Error|Exception|Problem|Interrupt)): (.*)$", text, re.MULTILINE)
    if text.startswith("Caught ") and raised:
        return ": ".join(raised[-1])
    return first_line(problem)


def is_library_problem(problem):
    """False for a file that cannot be read, a loader process that was killed and a device that gave up."""
    return not isinstance(problem, BadFile) and "killed by signal" not in str(problem) and not is_device_problem(problem)


class Samples(Dataset):
    """Items of a source (a list of decoded samples, or of paths with their reader) through a recipe."""

    def __init__(self, items, item, read=None):
        self.items, self.item, self.read = items, item, read

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        sample = self.items[index]
        if self.read is not None:
            try:
                sample = self.read(sample)
            except Exception as problem:
                reason = problem if isinstance(problem, BadFile) else f"{Path(sample).name}: {first_line(problem)}"
                raise BadFile(marked(reason)) from None
        try:
            return self.item(sample)
        except Exception as problem:
            raise ItemProblem(marked(first_line(problem))) from problem


class Timed(Dataset):
    """Nanoseconds that each item takes, read where the work is done."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        start = time.monotonic_ns()
        self.samples[index]
        return time.monotonic_ns() - start


class Usage:
    """Processor time and faults of this process and of its ended children, since made."""

    def __init__(self):
        self.start = self.read()

    @staticmethod
    def read():
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return (sum(u.ru_utime + u.ru_stime for u in both), sum(u.ru_majflt for u in both),
                sum(u.ru_nivcsw for u in both))

    def answer(self):
        cpu, faults, switches = (now - then for now, then in zip(self.read(), self.start))
        return {"cpu_ns": max(0, round(cpu * 1e9)), "major_faults": faults, "involuntary_switches": switches}


def to_device(batch, device):
    """The batch-copy scope: float32, page-locked, copied without waiting."""
    batch = batch.to(torch.float32)
    if device.type == "cuda":
        batch = batch.pin_memory()
    return batch.to(device, non_blocking=True)


def drained(loader):
    """Its batches. Its processes are gone when this ends, also by an error: a traceback would keep them."""
    iterator = iter(loader)
    try:
        yield from iterator
    finally:
        if hasattr(iterator, "_shutdown_workers"):  # as its own end of the epoch calls it
            iterator._shutdown_workers()


class Epochs:
    """One recipe over one dataset. `single_threads` is called in every loader process when the policy asks for it."""

    def __init__(self, recipe, samples, spec, seed, device, single_threads=None):
        self.recipe, self.samples, self.seed, self.device = recipe, samples, seed, device
        self.scope = spec.get("scope", DECODE)
        self.batch_size = int(spec.get("batch_size", 32))
        self.workers = int(spec.get("workers", 0))
        self.min_time_ns = int(float(spec.get("min_time_s", 0)) * 1e9)
        self.min_batches = int(spec.get("min_batches", 1))
        self.single_threads = single_threads
        self.copies = self.scope == DECODE_COPY

    def start_process(self, worker_id):
        """In every loader process. Process 0 makes the first batch, so that it is the same for any number of them."""
        if self.single_threads is not None:
            self.single_threads()
        self.seed_process(worker_id)

    def seed_process(self, worker_id):
        seed = (self.seed + worker_id) % 2**32
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        self.recipe.seed(seed)

    def loader(self, dataset, batch_size, workers):
        generator = torch.Generator()
        generator.manual_seed(self.seed % 2**63)
        return DataLoader(dataset, batch_size=batch_size, shuffle=False, num_workers=workers,
                          multiprocessing_context="fork" if workers else None,
                          pin_memory=self.copies and self.device.type == "cuda",
                          worker_init_fn=self.start_process, drop_last=False, generator=generator)

    def consume(self, batch):
        """The batch as the training step would get it; never repaired."""
        if not isinstance(batch, torch.Tensor) or batch.dim() < 2:
            raise TypeError(f"the batch is {type(batch).__name__}, not one tensor with a leading batch dimension")
        if self.recipe.on_device:
            return self.recipe.batch(batch.to(self.device, non_blocking=True))
        return to_device(batch, self.device) if self.copies else batch.contiguous()

    def batches(self, dataset=None):
        """One epoch: a loader is built, used up and gone when it ends."""
        if self.workers == 0:
            self.start_process(0)
        elif self.recipe.on_device:  # the part of this process draws too
            self.seed_process(0)
        dataset = self.samples if dataset is None else dataset
        for batch in drained(self.loader(dataset, self.batch_size, self.workers)):
            yield self.consume(batch)

    def synchronise(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def first_batch(self):
        """Of a fresh loader over the first `batch_size` items: what `check` looks at, and the warm-up."""
        first = Subset(self.samples, range(min(self.batch_size, len(self.samples))))
        batch = None
        for batch in self.batches(first):
            pass
        self.synchronise()
        return batch

    def item_ns(self, items, slow_item_s):
        """Mean time of one item over the first `items`, where it is made; stops when too slow for certain."""
        if self.recipe.on_device or self.copies:
            return self.batch_item_ns(items)
        count = max(1, min(items, len(self.samples)))
        limit = slow_item_s * 1e9 * count if slow_item_s > 0 else float("inf")
        if self.workers == 0:
            self.start_process(0)
        timed = Subset(Timed(self.samples), range(count))
        spent = 0
        for elapsed in drained(self.loader(timed, 1, min(1, self.workers))):
            spent += int(elapsed)
            if spent >= limit:
                break
        return spent / count

    def batch_item_ns(self, items):
        """For device rows: at least one whole batch through a loader."""
        count = min(len(self.samples), max(items, self.batch_size))
        self.synchronise()
        start = time.monotonic_ns()
        for _ in self.batches(Subset(self.samples, range(count))):
            pass
        self.synchronise()
        return (time.monotonic_ns() - start) / count

    def epoch(self):
        """Batches of one epoch, all items seen."""
        batches = items = 0
        for batch in self.batches():
            batches += 1
            items += batch.shape[0]
        if items != len(self.samples):
            raise RuntimeError(f"the epoch gave {items} items, the dataset has {len(self.samples)}")
        return batches

    def measure(self, passes):
        """Samples of `passes` epochs each, until the shortest time and the fewest batches of the spec are reached."""
        self.first_batch()
        cuda = self.device.type == "cuda"
        if cuda:
            torch.cuda.reset_peak_memory_stats(self.device)
        samples, batches, start_ns, usage = [], 0, None, Usage()
        while True:
            self.synchronise()
            start = time.monotonic_ns()
            for _ in range(passes):
                batches += self.epoch()
            self.synchronise()
            samples.append(max(1, time.monotonic_ns() - start))
            start_ns = start if start_ns is None else start_ns
            if sum(samples) >= self.min_time_ns and batches >= self.min_batches:
                break
        answer = {"start_ns": start_ns, "samples_ns": samples, "items_per_sample": passes * len(self.samples),
                  "warmup_passes": 0, **usage.answer()}
        if cuda:
            answer["gpu_memory"] = {"peak_allocated_bytes": torch.cuda.max_memory_allocated(self.device),
                                    "peak_reserved_bytes": torch.cuda.max_memory_reserved(self.device)}
        return answer
