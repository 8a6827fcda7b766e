# adapters/python/sluice_worker/modes/mixture.py - mixture rows: episodes of many data sets to batches of frame pairs.
# SPDX-License-Identifier: Apache-2.0
"""The adapter brings `make_recipe(fields)` and `make_source(recipe)`: next() answers a dict of arrays, first_pairs(n) what
is compared with ours. `spec` has the fields of our own rows (docs/mixture.md) and `sources`, the data sets. A pass is a
whole run: the pipeline is built, `warmup` batches are taken, and then, timed, `steps` of them. Details are those of ours.
"""
import functools
import hashlib
import json
import math
import os
import time

from ..adapter import Failed, Spec
from ..timing import Sample
from .loader import whole

BYTES_PER_PAGE = 4096
MOST_BATCHES = 10_000_000
TEXTS = ("name", "folder", "split", "image", "action", "state", "language", "robot")
METADATA = ("full", "dataset_only", "off")


class Mixture:
    def __init__(self, adapter):
        self.adapter = adapter
        self.release()

    def load(self, request):
        """Data sets are named by the case."""
        return {"items": 0, "bytes": 0}

    def recipe_of(self, raw):
        Spec.read(raw)
        number, truth = functools.partial(whole, raw), functools.partial(flag, raw)
        sources = raw.get("sources")
        if not isinstance(sources, list) or not sources:
            raise Failed("'sources' is no list of data sets")
        metadata = raw.get("metadata", "full")
        if metadata not in METADATA:
            raise Failed(f"'metadata' is {str(metadata)[:40]!r}, {', '.join(METADATA)} is meant")
        fields = dict(
            sources=[source_fields(source) for source in sources], full=metadata == "full",
            batch_size=number("batch_size", 64, 1, 65536), mix_block=number("mix_block", 4, 1, 65536),
            samples_per_episode=number("samples_per_episode", 1, 0, 10**6),
            shuffle_episodes=truth("shuffle_episodes", True), shuffle_pairs=truth("shuffle_pairs", True),
            image_size=number("image_size", 256, 1, 4096), queue=number("queue", 4, 1, 4096),
            # As the study divides what it is asked for by the root of the number of data sets.
            interleave=max(1, int(number("pipeline_interleave", 4, 1, 65536) / math.sqrt(len(sources)))),
            prefetch=number("prefetch", 2, 1, 256), seed=number("seed", self.adapter.session.seed, 0, 2**64 - 1))
        if fields["batch_size"] % fields["mix_block"] != 0:
            raise Failed(f"'batch_size' {fields['batch_size']} is no multiple of 'mix_block' {fields['mix_block']}")
        return self.adapter.make_recipe(fields)

    def support(self, raw):
        self.recipe_of(raw)

    def prepare(self, raw):
        self.release()
        self.recipe = self.recipe_of(raw)
        self.warmup, self.steps = whole(raw, "warmup", 8, 0, MOST_BATCHES), whole(raw, "steps", 160, 1, MOST_BATCHES)
        self.sleep_s = whole(raw, "sleep_s", 0, 0, 600, (int, float))
        self.stage_samples = whole(raw, "stage_samples", 0, 0, 10**6)
        self.times_path = str(raw.get("batch_times", ""))
        start = time.monotonic()
        self.source = self.make_source()
        self.open_s = time.monotonic() - start
        return {"items_per_pass": self.steps * self.recipe.batch_size, "bytes_per_item": 6 * self.recipe.image_size**2}

    def make_source(self):
        try:
            return self.adapter.make_source(self.recipe)
        except KeyError as problem:
            raise Failed(str(problem.args[0])) from None

    def take(self):
        """A batch, a byte of every page looked at, and its line of batch_times.jsonl."""
        if self.sleep_s > 0 and self.lines:
            time.sleep(self.sleep_s)
        start = time.monotonic_ns()
        try:
            batch = self.source.next()
        except Exception as problem:
            raise Failed(self.source.reason(problem)) from None
        got = time.monotonic_ns()
        batch["images"].reshape(-1)[::BYTES_PER_PAGE].sum()
        end, counts = time.monotonic_ns(), {}
        for number in batch["source"].tolist():
            name = self.recipe.sources[number].name
            counts[name] = counts.get(name, 0) + 1
        self.lines.append({"idx": len(self.lines), "dt_s": (end - start) / 1e9, "fetch_dt_s": (got - start) / 1e9,
                           "materialize_dt_s": (end - got) / 1e9, "is_warmup": len(self.lines) < self.warmup,
                           "dataset_counts": counts, "rss_bytes": resident_bytes()})
        return batch

    def check(self, sample):
        """The first pair of every data set against the definition of the resize; then a batch."""
        digest = hashlib.sha256()
        for pair in self.first_pairs(len(self.recipe.sources)):
            digest.update(pair.tobytes())
        batch = self.take()
        check_batch(batch, self.recipe, self.source.sizes)
        self.lines = []
        self.source.close()
        reply = {"digest": digest.hexdigest(), "shape": list(batch["images"].shape), "dtype": str(batch["images"].dtype),
                 **self.source.info}
        self.stages = self.known_stages() if self.stage_samples else {}
        if sample is not None:
            reply["samples"] = self.write_samples(sample)
        return reply

    def known_stages(self):
        """Processor seconds per sample and stage. Found once for all processes that write their times to one place."""
        path = f"{self.times_path}-stages.json" if self.times_path else ""
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        found = self.source.stages(self.stage_samples)
        if path:
            write_whole(path, [json.dumps(found)])
        return found

    def first_pairs(self, count):
        """uint8 [3, 2, size, size], each compared with a plain bilinear resize of the decoded frames."""
        import numpy
        size, pairs = self.recipe.image_size, self.source.first_pairs(count)
        for source in self.recipe.sources[:count]:
            try:
                pair, frames = next(pairs)
            except StopIteration:
                raise Failed(f"data set {source.name}: no episode with a pair of frames {source.offset} steps apart") from None
            except Exception as problem:
                raise Failed(f"data set {source.name}: {self.source.reason(problem)}") from None
            images = pair["images"]
            if images.shape != (3, 2, size, size) or images.dtype != numpy.uint8:
                raise Failed(f"a pair is {images.dtype} of shape {images.shape}, uint8 of {(3, 2, size, size)} is meant")
            meant = numpy.stack([bilinear(frame, size) for frame in frames]).transpose(3, 0, 1, 2)
            furthest = float(numpy.abs(images - meant).max())
            if furthest > 1.01:  # fractions may be cut off
                raise Failed(f"data set {source.name}: a resized pixel is {furthest:.1f} levels off, at most 1 is meant")
            yield images

    def write_samples(self, sample):
        """Both frames of a pair below each other: float32 [2 * size, size, 3] in 0..255."""
        import numpy
        if not isinstance(sample, dict) or not isinstance(sample.get("path"), str):
            raise Failed("check: 'sample' has no text 'path'")
        items, draws = whole(sample, "items", 1, 1, 2**20), whole(sample, "draws", 1, 1, 2**10)
        shapes, size = [], self.recipe.image_size
        with open(sample["path"], "wb") as file:
            for pair in self.first_pairs(min(items, len(self.recipe.sources))):
                picture = numpy.ascontiguousarray(pair.transpose(1, 2, 3, 0), numpy.float32).reshape(2 * size, size, 3)
                for _ in range(draws):  # nothing is drawn
                    picture.tofile(file)
                    shapes.append({"shape": list(picture.shape)})
        return shapes

    def preflight(self, slow_item_s, items):
        """A few batches: a whole run would take its time twice."""
        self.take()
        start = time.monotonic_ns()
        self.take()
        spent = time.monotonic_ns() - start
        self.lines = []
        self.source.close()
        return {"pass_ns": max(1, spent * self.steps)}

    def measure(self, passes, warmup_ms, warmup_limit_ms):
        if passes != 1:
            raise Failed(f"measure: 'passes' is {passes}, a run of a mixture is one pass")
        self.lines, start = [], time.monotonic()
        self.source.close()
        for _ in range(self.warmup):
            self.take()
            if len(self.lines) == 1:
                start = time.monotonic() - start
        sample = Sample()
        sample.start()
        for _ in range(self.steps):
            self.take()
        sample.stop()
        ended = time.monotonic()
        self.source.close()
        reply = sample.reply(self.steps * self.recipe.batch_size, 0)
        details = {**self.details(sample), "start_s": self.open_s + (start if self.warmup else 0),
                   "teardown_s": time.monotonic() - ended}
        return {**reply, "details": details}

    def details(self, sample):
        """As the row of ours has them; what tf.data does not count is left out."""
        times = sorted(line["dt_s"] for line in self.lines[self.warmup :])
        samples = self.steps * self.recipe.batch_size
        total = sum(source.weight for source in self.recipe.sources)
        counts = {source.name: 0 for source in self.recipe.sources}
        for line in self.lines:
            for name, count in line["dataset_counts"].items():
                counts[name] += count
        details = {"batch_size": self.recipe.batch_size, "warmup": self.warmup, "batches": self.steps,
                   "open_s": self.open_s, "measured_s": sum(times), "wall_s": sample.elapsed_ns / 1e9,
                   "mean_s": sum(times) / len(times), "max_s": times[-1], "cpu_s": sample.cpu_ns / 1e9,
                   **{f"p{q}_s": percentile(times, q) for q in (50, 90, 99)},
                   "samples_per_s": samples / sum(times), "batches_per_s": self.steps / sum(times),
                   "peak_rss_bytes": max(line["rss_bytes"] for line in self.lines),
                   "stats": {"batches": len(self.lines), "samples": sum(counts.values()),
                             "sources": [{"name": source.name, "requested": source.weight / total,
                                          "samples": counts[source.name]} for source in self.recipe.sources]}}
        if self.stages:
            details["stage_cpu_s"] = {name: spent * samples for name, spent in self.stages.items()}
            details["stage_cpu_from"] = f"pipelines cut after each stage, {self.stage_samples} samples each, before the run"
        if self.times_path:
            details["batch_times"] = f"{self.times_path}-{os.getpid()}.jsonl"
            write_lines(details["batch_times"], self.lines)
        return details

    def release(self):
        if getattr(self, "source", None) is not None:
            self.source.close()
        self.recipe = self.source = None
        self.stages, self.lines = {}, []


def source_fields(source):
    if not isinstance(source, dict) or not isinstance(source.get("folder"), str):
        raise Failed("an entry of 'sources' has no text 'folder'")
    weight = source.get("weight", 1)
    if type(weight) not in (int, float) or not 0 < weight < 1e15:
        raise Failed(f"'weight' is {str(weight)[:40]!r}, a number above 0 is meant")
    return {"weight": float(weight), "offset": whole(source, "offset", 1, 1, 10**6),
            **{key: str(source[key]) for key in TEXTS if key in source}}


def flag(fields, key, default):
    value = fields.get(key, default)
    if type(value) is not bool:
        raise Failed(f"'{key}' is {str(value)[:40]!r}, true or false is meant")
    return value


def percentile(ordered, q):
    """Linear between neighbours, as NumPy's."""
    at = (len(ordered) - 1) * q / 100
    low = int(at)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (at - low)


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def write_lines(path, lines):
    """batch_times.jsonl, with the dominant data set of each batch and how long ago it dominated before."""
    last, text = {}, []
    for line in lines:
        dominant = max(line["dataset_counts"], key=line["dataset_counts"].get)  # the first of equals
        gap = None
        if not line["is_warmup"]:
            gap = line["idx"] - last[dominant] if dominant in last else None
            last[dominant] = line["idx"]
        text.append(json.dumps({**line, "dominant_dataset": dominant, "dominant_gap_batches": gap}) + "\n")
    write_whole(path, text)


def write_whole(path, lines):
    with open(path + ".partial", "w", encoding="utf-8") as file:
        file.writelines(lines)
    os.replace(path + ".partial", path)


def check_batch(batch, recipe, sizes):
    import numpy
    count = recipe.batch_size
    meant = {"images": ((count, 3, 2, recipe.image_size, recipe.image_size), "uint8"), "source": ((count,), "int32")}
    if recipe.full:
        meant.update(frame=((count,), "int64"), offset=((count,), "int32"), language=((count,), "object"),
                     robot=((count,), "object"), episode_id=((count,), "object"),
                     action=((count, sizes["action"]), "float32"), state=((count, sizes["state"]), "float32"))
    for key, (shape, dtype) in meant.items():
        got = batch.get(key)
        if got is None or got.shape != shape or str(got.dtype) != dtype or not got.flags.c_contiguous:
            found = "missing" if got is None else f"{got.dtype} of shape {got.shape}"
            raise Failed(f"'{key}' of the batch is {found}, contiguous {dtype} of {shape} is meant")
    blank = int((numpy.ptp(batch["images"].reshape(count, -1), axis=1) < 8).sum())
    if blank:
        raise Failed(f"{blank} of {count} samples are blank")


def bilinear(image, size):
    """The definition, in float64: half-pixel centres, four neighbours, edges repeated."""
    import numpy

    def axis(length):
        at = numpy.clip((numpy.arange(size) + 0.5) * length / size - 0.5, 0, length - 1)
        low = numpy.floor(at).astype(int)
        return low, numpy.minimum(low + 1, length - 1), at - low

    (top, bottom, down), (left, right, across) = axis(image.shape[0]), axis(image.shape[1])
    rows = image[top] * (1 - down)[:, None, None] + image[bottom] * down[:, None, None]
    return rows[:, left] * (1 - across)[None, :, None] + rows[:, right] * across[None, :, None]
