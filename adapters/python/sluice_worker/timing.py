# adapters/python/sluice_worker/timing.py - clocks, warm-up and the timed loop.
# SPDX-License-Identifier: Apache-2.0
import itertools
import multiprocessing
import os
import resource
import time

RING = 8  # outputs alive at a time, as in the native workers: one alone would stay in the nearest cache
SETTLED = 0.98  # a new best must be this share of the old one, else the pass counts as settled


class Sample:
    """Clock, processor time, faults and switches between start() and stop()."""

    def __init__(self, children=False):
        self.children = children  # also of ended child processes (loader workers)

    def start(self):
        self.usage = resource.getrusage(resource.RUSAGE_SELF)
        self.child_usage = resource.getrusage(resource.RUSAGE_CHILDREN) if self.children else None
        self.cpu = time.process_time_ns()
        self.start_ns = time.monotonic_ns()

    def stop(self):
        end = time.monotonic_ns()
        self.cpu_ns = time.process_time_ns() - self.cpu
        self.elapsed_ns = max(1, end - self.start_ns)
        after = resource.getrusage(resource.RUSAGE_SELF)
        self.major_faults = after.ru_majflt - self.usage.ru_majflt
        self.involuntary_switches = after.ru_nivcsw - self.usage.ru_nivcsw
        if self.children:
            self.add_children(resource.getrusage(resource.RUSAGE_CHILDREN))

    def add_children(self, after):
        before = self.child_usage
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.cpu_ns += int(seconds * 1e9)
        self.major_faults += after.ru_majflt - before.ru_majflt
        self.involuntary_switches += after.ru_nivcsw - before.ru_nivcsw

    def reply(self, items, warmup_passes):
        """The fields of a `measure` answer."""
        return {
            "start_ns": self.start_ns,
            "samples_ns": [self.elapsed_ns],
            "items_per_sample": items,
            "cpu_ns": self.cpu_ns,
            "warmup_passes": warmup_passes,
            "major_faults": self.major_faults,
            "involuntary_switches": self.involuntary_switches,
        }


def children_cpu_ns():
    """Processor time of the child processes that are alive, in steps of the kernel's clock tick (10 ms)."""
    ticks = 0
    for child in multiprocessing.active_children():
        try:
            with open(f"/proc/{child.pid}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])  # utime, stime
        except (OSError, IndexError, ValueError):
            continue  # it has just ended
    return ticks * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))


def run_passes(call, materialise, items, passes):
    """The timed work: the library's call, the copy into one piece, and the last few outputs kept. No clock, no test."""
    ring = [None] * RING
    for _ in range(passes):
        for slot, item in zip(itertools.cycle(range(RING)), items):
            ring[slot] = materialise(call(item))


def warm_up(call, materialise, items, warmup_ms, limit_ms, clock=time.monotonic_ns):
    """Untimed work, at least `warmup_ms`; answers the number of whole passes.

    Passes shorter than that go on until two in a row set no new best by over 2 %, or the limit. A longer one is not
    even finished: it has been warm since its first items.
    """
    begin = clock()
    until, limit = begin + warmup_ms * 1e6, begin + max(warmup_ms, limit_ms) * 1e6
    passes, best, without_best = 0, None, 0
    ring = [None] * RING
    while True:
        pass_start = now = clock()
        for slot, item in zip(itertools.cycle(range(RING)), items):
            ring[slot] = materialise(call(item))
            now = clock()
            if now >= limit or (passes == 0 and now >= until):
                return passes + (item is items[-1])
        passes += 1
        took = now - pass_start
        if best is None or took < best * SETTLED:
            best, without_best = took, 0
        else:
            without_best += 1
        if now >= until and without_best >= 2:
            return passes


def estimate_pass_ns(call, materialise, items, count, slow_item_s, sync, clock=time.monotonic_ns):
    """Nanoseconds of a whole pass, from the first `count` items; ends as soon as they are over the limit for sure."""
    probe = items[:count]
    limit = slow_item_s * 1e9 * len(probe) if slow_item_s > 0 else None
    sync()
    begin = clock()
    done = 0
    for item in probe:
        materialise(call(item))
        done += 1
        if limit is not None:
            sync()
            if clock() - begin >= limit:
                break
    sync()
    return max(1, round((clock() - begin) / done * len(items)))
