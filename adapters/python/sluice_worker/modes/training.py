# adapters/python/sluice_worker/modes/training.py - training rows: one pass is one step of a model, on a fixed batch or a feed.
# SPDX-License-Identifier: Apache-2.0
"""The fields of a case are described in training_worker.py. The adapter says how the step is compiled (`compile_mode`)."""
import math
import os
import re
import time
from contextlib import nullcontext
from dataclasses import replace

import numpy
import torch
from torch.utils.flop_counter import FlopCounterMode

from lamb_torch import Optimizer, OptimizerConfig
from mix_torch import Mixer
from safetensors_file import load_weights, read_safetensors
from vit5_torch import ModelSpec, check_last_block, is_decayed, loss_of, make_model

from ..adapter import Failed, Unsupported
from ..gpu_memory import torch_peaks
from ..media import JPEG_SUFFIXES, media_files
from ..sources import Settings
from ..timing import Sample

TOLERANCE = {"fp32": 1e-4, "bf16": 2e-2, "bf16-weights": 2e-2}  # of the first loss, relative
STEPS_IN_A_ROW = 20  # of the warm-up, timed together on a GPU
COMPILING_STEPS = 3  # what is compiled or captured at the second and third step is so before any time


class Training:
    def __init__(self, adapter):
        self.adapter = adapter
        self.release()

    def load(self, request):
        return {}

    def support(self, raw):
        self.read(raw)

    def read(self, raw):
        """Checks the fields and keeps what a step needs to know."""
        case = str(raw.get("case", ""))
        if case.partition("/")[0] != "training":
            raise Unsupported(f"{self.adapter.name} has no case '{case}': training/<model>")
        try:
            spec = ModelSpec.read(raw.get("model") or {})
            check_last_block(spec, raw.get("last_block", "full"))
            update = OptimizerConfig.read(raw.get("update") or {})
        except (TypeError, ValueError) as problem:
            raise Failed(str(problem)) from None
        if spec.family == "gpt" and raw.get("seq_len"):
            spec = replace(spec, sequence=whole(raw, "seq_len", 1))
        if raw.get("data") == "loader" and spec.family != "vit5":
            raise Unsupported(f"{self.adapter.name} loads images: {spec.family} takes none")
        if mixing_of(raw) and spec.family != "vit5":
            raise Unsupported(f"mixup and cutmix mix images: {spec.family} takes none")
        for key, value in (("average", True), ("checkpointing", True)):
            if raw.get(key) == value:
                raise Unsupported(f"{self.adapter.name} has no row with {key} {str(value).lower()}")
        if whole(raw, "world_size", 1) > 1:
            self.check_ranks(raw)
        dtype, kind = raw.get("dtype", "fp32"), raw.get("optimizer", "lamb")
        if dtype not in TOLERANCE:
            raise Unsupported(f"dtype '{dtype}' has no PyTorch row: {', '.join(TOLERANCE)}")
        if kind not in ("lamb", "adamw", "none"):
            raise Failed(f"'optimizer' is '{kind}', lamb, adamw or none is meant")
        if dtype == "bf16-weights" and kind != "none":
            raise Unsupported("dtype 'bf16-weights' is forward and backward alone: optimizer none")
        device = device_of(raw.get("device", "cpu"), raw.get("rank", 0))
        if device.type == "cpu" and self.adapter.compile_mode == "max-autotune":
            raise Unsupported(f"{self.adapter.name} is for a GPU: on the CPU torch-compile is the compiled row")
        if self.adapter.loader == "dali":
            self.check_dali(raw, device)
        if (raw.get("loader") or {}).get("read_mode") == "direct":
            raise Unsupported(f"{self.adapter.name} reads through the page cache: it has no row of a cold disk")
        return spec, dtype, device, None if kind == "none" else replace(update, kind=kind)

    def check_ranks(self, raw):
        if self.adapter.name != "torch-ddp":
            raise Unsupported(f"{self.adapter.name} is one process: torch-ddp has several ranks")
        device_of(raw.get("device", "cpu"), raw["world_size"] - 1)  # before any rank waits for the last one
        if raw.get("data") == "loader":
            raise Unsupported("torch-ddp's ranks have a fixed batch each: it has no row that is fed from files")

    def check_dali(self, raw, device):
        from training_feed_dali import require_dali
        if device.type == "cpu":
            raise Unsupported(f"{self.adapter.name} is for a GPU")
        if raw.get("data") != "loader":
            raise Unsupported(f"{self.adapter.name} is a loader that feeds torch-compile: it wants files (--input)")
        require_dali()

    def prepare(self, raw):
        self.started_ns = time.monotonic_ns()
        self.release()
        device = self.read(raw)[2]
        with DriverMemory(self, device):
            return self.make(raw)

    def make(self, raw):
        self.spec, self.dtype, self.device, update = self.read(raw)
        self.raw, self.batch, self.accumulate = raw, whole(raw, "batch", 8), whole(raw, "grad_accum", 1)
        self.warmup_steps = whole(raw, "warmup_steps", 1, least=0)
        self.smoothing = float(raw.get("label_smoothing", 0.0))
        self.rss_before = memory("VmRSS")
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        torch.manual_seed(raw.get("seed", self.adapter.session.seed) + raw.get("rank", 0))
        numbers = torch.bfloat16 if self.dtype == "bf16-weights" else torch.float32
        self.feed_settings = self.settings_of(raw) if raw.get("data") == "loader" else None
        inputs, labels = self.make_batch(raw.get("inputs"))
        self.inputs, self.labels = inputs.to(self.device), labels.to(self.device)
        if inputs.is_floating_point():
            self.inputs = self.inputs.to(numbers)
        self.fixed = self.inputs, self.labels
        mixing = mixing_of(raw)
        self.mixer = Mixer(*mixing, raw.get("seed", self.adapter.session.seed), self.spec, self.device) if mixing else None
        self.last_block = raw.get("last_block", "full")
        self.model = make_model(self.spec, self.last_block).train()
        if raw.get("weights"):
            load_weights(self.model, read_safetensors(raw["weights"])[0])
        self.model.to(self.device, numbers)  # the tables of positions too
        self.network = self.model
        self.world_size = whole(raw, "world_size", 1)
        if self.world_size > 1:
            from ddp_ranks import Ranks
            self.ranks = Ranks(raw, torch.get_num_threads(), self.adapter.session.seed, self.device)
        mode = self.mode = self.compile_mode()
        if self.ranks:
            self.network = self.ranks.wrap(self.model, mode)
        self.optimizer = (Optimizer(self.model.named_parameters(), is_decayed, update, mode is not None)
                          if update else None)
        self.loss = self.compute_loss if mode is None or self.ranks else torch.compile(self.compute_loss, mode=mode)
        return {"items_per_pass": self.items(), "bytes_per_item": 0}

    def items(self):
        """Samples of a step, of all ranks."""
        return self.batch * self.accumulate * self.world_size

    def settings_of(self, raw):
        """Of the feed: the loader's own fields, as loader rows have them."""
        given = raw.get("loader") or {}
        folder = str(given.get("input", ""))
        if "://" in folder:
            raise Unsupported(f"{self.adapter.name} reads local folders here, not '{folder.partition('://')[0]}' addresses")
        files = media_files(folder, suffixes=JPEG_SUFFIXES)[: whole(given, "epoch_items", 0, least=0) or None]
        if len(files) < self.batch:
            raise Failed(f"batch {self.batch} is more than the {len(files)} images there are")
        return Settings(files=files, batch_size=self.batch, workers=whole(given, "workers", 2, least=0),
                        prefetch=whole(given, "prefetch", 2), seed=given.get("seed", 0))

    def compile_mode(self):
        """Gradients that are added up may not lie in memory that the next replay of a CUDA graph writes. torch-ddp is compiled
        where that pays, on a GPU."""
        mode = self.adapter.compile_mode
        if self.adapter.name == "torch-ddp" and self.device.type == "cuda":
            return "default"
        return "max-autotune-no-cudagraphs" if mode == "max-autotune" and self.accumulate > 1 else mode

    def replays_graphs(self):
        return self.compile_mode() == "max-autotune"

    def make_batch(self, files):
        spec = self.spec
        vision = spec.family == "vit5"
        name, shape, kind = (("images", (self.batch, 3, spec.image, spec.image), "<f4") if vision
                             else ("ids", (self.batch, spec.sequence), "<i4"))
        targets = (self.batch,) if vision else shape
        if files:
            inputs, labels = flat_file(files[name], kind, shape), flat_file(files["labels"], "<i4", targets)
        else:
            outputs = spec.classes if vision else spec.vocabulary
            inputs = torch.randn(shape) if vision else torch.randint(outputs, shape)
            labels = torch.randint(outputs, targets)
        return inputs if vision else inputs.long(), labels.long()

    def compute_loss(self):
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.dtype == "bf16"):
            inputs = self.feed.normalised(self.inputs) if self.feed else self.inputs
            targets = None
            if self.mixer:
                inputs, targets = self.mixer.images(inputs), self.mixer.targets(self.labels)
            return loss_of(self.network(inputs), self.labels, targets, self.smoothing)

    def step(self):
        """The timed work. Without an optimizer the gradients are dropped. On a GPU it is queued, not done."""
        if self.adapter.compile_mode == "max-autotune":
            torch.compiler.cudagraph_mark_step_begin()
        if self.ranks:
            self.ranks.tell("step")
        for micro in range(self.accumulate):
            if self.feed:
                self.inputs, self.labels = self.feed.next()
            if self.mixer and self.checked:
                self.mixer.draw()
            with self.network.no_sync() if self.ranks and micro + 1 < self.accumulate else nullcontext():
                loss = self.loss()
                (loss / self.accumulate if self.accumulate > 1 else loss).backward()
            if self.feed:
                self.feed.prefetch()
        if self.optimizer is not None:
            self.optimizer.step()
        self.model.zero_grad(set_to_none=True)
        return loss

    def compare_ranks(self):
        """After a backward of every rank."""
        self.ranks.tell("compare")
        self.loss().backward()
        self.ranks.compare(self.model)
        self.model.zero_grad(set_to_none=True)

    def check(self, sample):
        with DriverMemory(self, self.device):
            return self.check_steps()

    def check_steps(self):
        begun_ns = time.monotonic_ns()
        # A fed row is compiled for what its feed gives, once: the fixed batch is looked at without compiling.
        first = self.plain_loss() if self.feed_settings else float(self.step())
        self.check_loss(first, self.raw.get("expected_loss"), "the loss of the first step is")
        self.checked = True
        if self.feed_settings:
            self.start_feed()
        first_ns = time.monotonic_ns()
        for _ in range(COMPILING_STEPS - (not self.feed)):
            self.step()
        self.wait()
        if self.ranks:
            self.compare_ranks()
        # What a user waits for: everything up to the end of the first step; the first step itself, with the start of its
        # loader, which compiles; the steps after it that compile what is left.
        self.told = {**self.engine(), "first_step_s": seconds_between(self.started_ns, first_ns),
                     "compile_s": seconds_between(begun_ns, first_ns),
                     "settle_s": seconds_between(first_ns, time.monotonic_ns())}
        self.executed_flop = self.count_flop()
        count = sum(parameter.numel() for parameter in self.model.parameters())
        digest = f"{count} parameters" + (f", loss {first:.4g}" if self.device.type == "cpu" else "")
        return {"digest": digest, "loss": first, "parameters": count, "versions": self.adapter.versions(),
                "build": torch.__config__.show().split("\n")[1].strip(" -"), "engine": self.told}

    def check_loss(self, found, expected, words):
        if not math.isfinite(found):
            raise Failed(f"{words} {found}")
        if expected is None:
            return
        limit = float(self.raw.get("tolerance") or TOLERANCE[self.dtype])
        if abs(found - expected) > limit * abs(expected):
            raise Failed(f"not comparable: {words} {found:.7g}, {expected:.7g} within {limit:g} of it is meant")

    def plain_loss(self):
        """Of the batch that is there, not compiled; nothing is learnt from it."""
        with torch.no_grad():
            return float(self.compute_loss())

    def start_feed(self):
        """The numbers were right; from here on it is fed. What is compiled for the feed gives the loss of what is not."""
        self.feed = self.feed_class()(self.feed_settings, self.device, self.spec.classes, self.spec.image,
                                      self.raw["loader"].get("random_erasing", 0))
        self.inputs, self.labels = self.feed.next()
        plain = self.plain_loss()
        if self.adapter.compile_mode == "max-autotune":
            torch.compiler.cudagraph_mark_step_begin()
        loss = self.loss()
        loss.backward()
        self.check_loss(float(loss), plain, "the loss of the first batch from files is")
        self.model.zero_grad(set_to_none=True)

    def feed_class(self):
        if self.adapter.loader == "dali":
            from training_feed_dali import DaliFeed
            return DaliFeed
        from training_feed import TrainingFeed
        return TrainingFeed

    def count_flop(self):
        """FLOP of the matrix products of a step, as PyTorch counts them over one sample, forward and backward, not compiled.
        None where attention is not among what it counts: a sum without it would be wrong."""
        inputs, labels = self.inputs, self.labels
        self.inputs, self.labels = (one[:1] for one in self.fixed)
        feed, self.feed = self.feed, None
        network, self.network = self.network, self.model  # of this rank alone
        counter = FlopCounterMode(display=False)
        try:
            with counter:
                self.compute_loss().backward()
        finally:
            self.inputs, self.labels, self.feed, self.network = inputs, labels, feed, network
            self.model.zero_grad(set_to_none=True)
        counted = counter.get_flop_counts()["Global"]
        if not any("attention" in str(operation) for operation in counted):
            return None
        return counter.get_total_flops() * self.items()

    def engine(self):
        """What runs, as our engine reports itself."""
        told = {"device": "cpu", "library": f"PyTorch {torch.__version__}", "threads": torch.get_num_threads(),
                "dtype": self.dtype, "compile": self.compile_mode() or "off", "last_block": self.last_block}
        if self.ranks:
            told.update(ranks=self.world_size, backend=self.ranks.backend)
        if self.device.type == "cuda":
            told.update(device=f"{self.device} {torch.cuda.get_device_name(self.device)}", cuda=torch.version.cuda,
                        cudnn=str(torch.backends.cudnn.version()), driver=driver_version(),
                        peak_memory="reserved" if self.replays_graphs() else "allocated")
        return told

    def wait(self):
        """Until the device is idle."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def preflight(self, slow_item_s, items):
        self.wait()
        start = time.monotonic_ns()
        self.step()
        self.wait()
        return {"pass_ns": max(1, time.monotonic_ns() - start)}

    def warm_up(self, warmup_ms):
        """Answers the number of steps. On a GPU the last of the first warm-up are timed together: what a loop that never
        waits for the device takes per step."""
        least = max(self.warmup_steps, 1 if warmup_ms > 0 else 0)  # one at least after a stop
        queued = min(STEPS_IN_A_ROW, self.warmup_steps) if self.device.type == "cuda" else 0
        warm_until, done = time.monotonic_ns() + warmup_ms * 1e6, 0
        while done < least or time.monotonic_ns() < warm_until:
            if queued and done == least - queued:
                self.wait()
                start = time.monotonic_ns()
            self.step()
            done += 1
            if queued and done == least:
                self.wait()
                self.queued_step_ns = (time.monotonic_ns() - start) // queued
        self.warmup_steps = 0  # only before the first sample
        self.wait()
        return done

    def measure(self, passes, warmup_ms, warmup_limit_ms):
        with DriverMemory(self, self.device):
            reply = self.measure_steps(passes, warmup_ms)
        if self.driver_bytes > 0:
            reply["details"]["driver_peak_bytes"] = self.driver_bytes
        return reply

    def measure_steps(self, passes, warmup_ms):
        self.reset_peak()
        warmup = self.warm_up(warmup_ms)
        step, sample = self.step, Sample()
        sample.start()
        for _ in range(passes):
            loss = step()
        self.wait()
        sample.stop()
        last = float(loss)
        if not math.isfinite(last):
            raise Failed(f"the loss is {last} after {passes} steps")
        reply = sample.reply(passes * self.items(), warmup)
        details = {"steps": passes, "loss": last, "peak_rss_bytes": memory("VmHWM"),
                   "rss_before_model_bytes": self.rss_before, "engine": self.told}
        if self.executed_flop:
            details["flop_executed"] = self.executed_flop
        if self.device.type == "cuda":
            details.update(torch_peaks(torch.cuda, self.device, self.replays_graphs()))
            if self.queued_step_ns:
                details["queued_step_ns"] = self.queued_step_ns
        if self.feed:
            details["data"] = {"source": "loader", "samples": len(self.feed_settings.files),
                               "workers": self.feed_settings.workers, "prefetch": self.feed_settings.prefetch,
                               "loader": self.adapter.loader}
        return {**reply, "details": details}

    def reset_peak(self):
        reset_peak_rss()
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)

    def release(self):
        if getattr(self, "feed", None):
            self.feed.close()
        self.feed = self.feed_settings = None
        if getattr(self, "ranks", None):
            self.ranks.close()
        self.ranks = self.network = None
        self.model = self.optimizer = self.loss = self.inputs = self.labels = self.spec = self.told = None
        self.fixed = self.executed_flop = self.mixer = None
        self.checked = False  # the first step: images as they are
        self.queued_step_ns = self.driver_bytes = 0
        if getattr(self, "mode", None) is not None:
            torch.compiler.reset()
            end_compilers()
        self.mode = None
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()


def seconds_between(start_ns, end_ns):
    return round((end_ns - start_ns) * 1e-9, 3)


def end_compilers():
    """torch.compile keeps processes that compile; the name of what ends them is not a promise of PyTorch."""
    try:
        from torch._inductor.async_compile import shutdown_compile_workers
    except ImportError:
        return
    shutdown_compile_workers()


class DriverMemory:
    """Adds to `driver_bytes` what the driver's free memory falls by inside: other workers of the measurement are stopped
    then. The CUDA context, which is there before, is not in it."""

    def __init__(self, training, device):
        self.training, self.device = training, device

    def free(self):
        return torch.cuda.mem_get_info(self.device)[0] if self.device.type == "cuda" else 0

    def __enter__(self):
        self.before = self.free()

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.training.driver_bytes += self.before - self.free()


def mixing_of(raw):
    """(mixup, cutmix), parameters of Beta distributions; nothing: images stay as they are."""
    alphas = tuple(raw.get(key, 0) for key in ("mixup", "cutmix"))
    if not all(isinstance(alpha, (int, float)) and 0 <= alpha <= 1000 for alpha in alphas):
        raise Failed(f"'mixup' and 'cutmix' are {alphas}, numbers from 0 to 1000 are meant")
    return alphas if any(alphas) else None


def whole(raw, key, default, least=1):
    value = raw.get(key, default)
    if type(value) is not int or not least <= value <= 2**20:
        raise Failed(f"'{key}' is {value!r}, an integer from {least} to {2**20} is meant")
    return value


def device_of(name, rank=0):
    """"cpu" or "cuda:N", which must be there. Rank r of several has the r-th after it; where NCCL lets ranks share a GPU
    they go round."""
    if name == "cpu":
        return torch.device("cpu")
    found = re.fullmatch(r"cuda:(\d{1,3})", str(name))
    if not found:
        raise Failed(f"'device' is {name!r}, cpu or cuda:N is meant")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    index = int(found[1]) + rank
    if index >= count > int(found[1]) and os.environ.get("NCCL_MULTI_RANK_GPU_ENABLE") == "1":
        index %= count
    if index >= count:
        raise Unsupported(f"PyTorch {torch.__version__} finds no device cuda:{index}: {count} CUDA devices")
    return torch.device("cuda", index)


def driver_version():
    """Of the NVIDIA driver; None where it does not say."""
    try:
        with open("/proc/driver/nvidia/version", encoding="ascii", errors="replace") as file:
            found = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", file.readline())
    except OSError:
        return None
    return found[0] if found else None


def flat_file(path, kind, shape):
    try:
        values = numpy.fromfile(path, kind)
    except OSError as problem:
        raise Failed(f"inputs: {problem}") from None
    if values.size != math.prod(shape):
        raise Failed(f"{path}: has {values.size} values, {math.prod(shape)} are meant")
    return torch.from_numpy(values.reshape(shape))


def memory(key):
    """Bytes of a line of /proc/self/status: VmRSS, or VmHWM, its peak."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next((int(line.split()[1]) * 1024 for line in file if line.startswith(key + ":")), 0)


def reset_peak_rss():
    """VmHWM starts again from what is held now; where the kernel refuses, the peak is that of the process so far."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        pass
