# adapters/python/sluice_worker/modes/loader.py - loader rows: a live loader, timed by the batches it delivers.
# SPDX-License-Identifier: Apache-2.0
"""The adapter brings `cases` and `make_source(settings)`, a Source of ../sources.py.

A pass is one round: as many batches as the loader makes side by side, so that a sample holds whole rounds and starts and
ends at the same point of one. The clock starts once a batch had to be waited for: what was made while nobody looked is
taken before it, untimed.
"""
import functools
import hashlib
import math
import time

from ..adapter import Failed, Spec, Unsupported
from ..media import JPEG_SUFFIXES, VIDEO_SUFFIXES, media_files
from ..sources import CLIP_FRAMES, CLIPS, FLOATS_PER_PAGE, SIDE, Settings, in_levels
from ..timing import Sample, children_cpu_ns

CHECKED_IMAGES = 8
WAITED = 0.5  # a batch that took this share of the usual time was not lying ready
LEAST, MOST = -2.2, 2.7  # of normalised values: black and white through MEAN and STD, a little wider


class Loader:
    def __init__(self, adapter):
        self.adapter = adapter
        self.files = []
        self.settings = self.source = None
        self.batch_ns = None  # of one batch in a steady state, once known
        self.clips = CLIPS in adapter.cases
        self.suffixes = VIDEO_SUFFIXES if self.clips else JPEG_SUFFIXES
        self.shape = ((CLIP_FRAMES,) if self.clips else ()) + (3, SIDE, SIDE)  # of a sample

    def load(self, request):
        """Without a folder: the case's `input` is read."""
        limit = request.get("num_items")
        limit = limit if type(limit) is int and limit > 0 else None
        folder = str(request.get("data_dir", ""))
        self.files = media_files(folder, self.clips, limit, request.get("skip") or (), self.suffixes) if folder else []
        return {"items": len(self.files), "bytes": 0}

    def files_of(self, raw):
        if self.files:
            return self.files
        folder = str(raw.get("input", ""))
        if "://" in folder:
            raise Unsupported(f"{self.adapter.name} reads local folders here, not '{folder.partition('://')[0]}' addresses")
        if not folder:
            raise Failed("no data is loaded: `load` with 'data_dir' comes first")
        return media_files(folder, self.clips, suffixes=self.suffixes)

    def case_of(self, raw):
        case = str(Spec.read(raw).raw.get("case", ""))
        name = "/".join(case.split("/")[:2])  # axes of a sweep follow
        if name not in self.adapter.cases:
            raise Unsupported(f"{self.adapter.name} has no case '{case}': {', '.join(self.adapter.cases)}")
        return name

    def settings_of(self, raw):
        name = self.case_of(raw)
        number = functools.partial(whole, raw)
        variant = str(raw.get("variant", ""))
        if variant not in self.adapter.source.variants:
            known = ", ".join(f"'{one}'" for one in self.adapter.source.variants)
            raise Failed(f"{self.adapter.name} has no variant '{variant}': {known}")
        return Settings(files=self.files_of(raw)[: number("epoch_items", 0, 0, 2**40) or None],
                        batch_size=number("batch_size", 256, 1, 65536), workers=number("workers", 2, 0, 1024),
                        prefetch=number("prefetch", 2, 1, 1024),
                        seed=number("seed", self.adapter.session.seed, 0, 2**64 - 1),
                        antialias=name.endswith("-antialias"), variant=variant, step_ms=number("step_ms", 0, 0, 600_000, (int, float)))

    def support(self, raw):
        self.case_of(raw)

    def prepare(self, raw):
        self.release()
        self.settings = self.settings_of(raw)
        if len(self.settings.files) < self.settings.batch_size:
            count = len(self.settings.files)
            raise Failed(f"batch_size {self.settings.batch_size} is more than the {count} files there are")
        self.source = self.adapter.make_source(self.settings)
        return {"items_per_pass": self.source.round * self.settings.batch_size, "bytes_per_item": 4 * math.prod(self.shape)}

    def take(self):
        """One batch, every page of it looked at, as a training step would, and the time of that step."""
        try:
            batch = self.source.next()
        except Exception as problem:
            raise self.failure(problem) from None
        batch.reshape(-1)[::FLOATS_PER_PAGE].sum()
        if self.settings.step_ms > 0:
            time.sleep(self.settings.step_ms / 1000)
        return batch

    def failure(self, problem):
        """What went wrong in a loader is a file or a process that died: never a verdict on the library."""
        if type(problem) in (Failed, Unsupported, MemoryError):
            return problem
        return Failed(self.source.reason(problem))

    def take_rounds(self, count):
        for _ in range(count * self.source.round):
            self.take()

    def check(self, sample):
        count = min(len(self.settings.files), CHECKED_IMAGES)
        digest = hashlib.sha256()
        for image in self.fixed(count):
            digest.update(image.tobytes())
        batch = self.take()
        self.check_batch(batch)
        reply = {"digest": digest.hexdigest(), "shape": list(batch.shape), "dtype": str(batch.dtype),
                 "queue_depth": self.source.depth, **self.source.info}
        if sample is not None:
            reply["samples"] = self.write_samples(sample)
        return reply

    def check_batch(self, batch):
        import numpy
        meant = (self.settings.batch_size, *self.shape)
        if batch.shape != meant or batch.dtype != numpy.float32 or not batch.flags.c_contiguous:
            raise Failed(f"the batch is {batch.dtype} of shape {batch.shape}, contiguous float32 of {meant} is meant")
        low, high = float(batch.min()), float(batch.max())
        if not (LEAST <= low and high <= MOST):
            raise Failed(f"normalised values reach from {low:.3g} to {high:.3g}, {LEAST} to {MOST} is meant")
        if not high - low > 0.5:
            raise Failed(f"the batch is blank: all values are from {low:.3g} to {high:.3g}")

    def fixed(self, count):
        """The first images in the order of names, whole central square: float32 HWC in 0..255, normalising taken back; of a
        clip the frames one under another."""
        import numpy
        images = self.source.fixed(count)
        for _ in range(count):
            try:
                image = next(images)
            except Exception as problem:
                raise self.failure(problem) from None
            if image.shape != self.shape or image.dtype != numpy.float32:
                raise Failed(f"an image is {image.dtype} of shape {image.shape}, float32 of {self.shape} is meant")
            yield numpy.concatenate([in_levels(frame) for frame in image]) if self.clips else in_levels(image)
        images.close()

    def write_samples(self, sample):
        if not isinstance(sample, dict) or not isinstance(sample.get("path"), str):
            raise Failed("check: 'sample' has no text 'path'")
        items, draws = whole(sample, "items", 1, 1, 2**20), whole(sample, "draws", 1, 1, 2**10)
        shapes = []
        with open(sample["path"], "wb") as file:
            for image in self.fixed(min(items, len(self.settings.files))):
                for _ in range(draws):  # nothing is drawn
                    image.tofile(file)
                    shapes.append({"shape": list(image.shape)})
        return shapes

    def estimate(self, rounds):
        """Sets batch_ns. Batches that lay ready make a round short: the longest counts."""
        self.take_rounds(1)
        longest = 0
        for _ in range(rounds):
            start = time.monotonic_ns()
            self.take_rounds(1)
            longest = max(longest, time.monotonic_ns() - start)
        self.batch_ns = max(1, longest / self.source.round)

    def drain(self):
        """Takes what lies ready; False when no batch had to be waited for, after twice what can lie there. With a step
        that takes longer than a batch the queue is full before the sample and after it."""
        for _ in range(2 * self.source.depth + self.source.round):
            start = time.monotonic_ns()
            self.take()
            if self.settings.step_ms > 0 or time.monotonic_ns() - start >= WAITED * self.batch_ns:
                return True
        return False

    def preflight(self, slow_item_s, items):
        self.estimate(2)
        return {"pass_ns": max(1, round(self.batch_ns * self.source.round))}

    def measure(self, passes, warmup_ms, warmup_limit_ms):
        warm_until = time.monotonic_ns() + warmup_ms * 1e6
        if self.batch_ns is None:
            self.estimate(1)
        waited, rounds = self.drain(), 0
        while time.monotonic_ns() < warm_until:
            self.take_rounds(1)
            rounds += 1
        sample = Sample()
        children = children_cpu_ns()
        sample.start()
        self.take_rounds(passes)
        sample.stop()
        batches = passes * self.source.round
        self.batch_ns = sample.elapsed_ns / batches
        reply = sample.reply(batches * self.settings.batch_size, rounds)
        reply["cpu_ns"] += max(0, children_cpu_ns() - children)
        share = 0.0 if waited else min(1.0, self.source.depth / batches)
        return {**reply, "details": {"batches": batches, "prefetched_share": share, **self.source.info}}

    def release(self):
        if self.source is not None:
            self.source.close()
        self.settings = self.source = self.batch_ns = None


def whole(fields, key, default, low, high, kinds=(int,)):
    value = fields.get(key, default)
    if type(value) not in kinds or not low <= value <= high:
        meant = "a number" if float in kinds else "an integer"
        raise Failed(f"'{key}' is {str(value)[:40]!r}, {meant} from {low} to {high} is meant")
    return value
