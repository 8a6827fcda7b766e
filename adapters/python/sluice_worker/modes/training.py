# adapters/python/sluice_worker/modes/training.py - training rows: one pass is one step of a model on a fixed batch.
# SPDX-License-Identifier: Apache-2.0
"""The fields of a case are described in training_worker.py. The adapter says whether the step is `compiled`."""
import math
import time
from dataclasses import replace

import numpy
import torch

from lamb_torch import Optimizer, OptimizerConfig
from safetensors_file import load_weights, read_safetensors
from vit5_torch import ModelSpec, is_decayed, loss_of, make_model

from ..adapter import Failed, Unsupported
from ..timing import Sample

TOLERANCE = {"fp32": 1e-4, "bf16": 2e-2}  # of the first loss, relative


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
            update = OptimizerConfig.read(raw.get("update") or {})
        except (TypeError, ValueError) as problem:
            raise Failed(str(problem)) from None
        if spec.family == "gpt" and raw.get("seq_len"):
            spec = replace(spec, sequence=whole(raw, "seq_len", 1))
        for key, value in (("data", "loader"), ("average", True), ("checkpointing", True)):
            if raw.get(key) == value:
                raise Unsupported(f"{self.adapter.name} has no row with {key} {str(value).lower()}")
        dtype, kind = raw.get("dtype", "fp32"), raw.get("optimizer", "lamb")
        if dtype not in TOLERANCE:
            raise Unsupported(f"dtype '{dtype}' has no PyTorch row: {', '.join(TOLERANCE)}")
        if kind not in ("lamb", "adamw", "none"):
            raise Failed(f"'optimizer' is '{kind}', lamb, adamw or none is meant")
        return spec, dtype, None if kind == "none" else replace(update, kind=kind)

    def prepare(self, raw):
        self.release()
        self.spec, self.dtype, update = self.read(raw)
        self.raw, self.batch, self.accumulate = raw, whole(raw, "batch", 8), whole(raw, "grad_accum", 1)
        self.warmup_steps = whole(raw, "warmup_steps", 1, least=0)
        self.smoothing = float(raw.get("label_smoothing", 0.0))
        self.rss_before = memory("VmRSS")
        torch.manual_seed(raw.get("seed", self.adapter.session.seed))
        self.inputs, self.labels = self.make_batch(raw.get("inputs"))
        self.model = make_model(self.spec).train()
        if raw.get("weights"):
            load_weights(self.model, read_safetensors(raw["weights"])[0])
        compiled = self.adapter.compiled
        self.optimizer = Optimizer(self.model.named_parameters(), is_decayed, update, compiled) if update else None
        self.loss = torch.compile(self.compute_loss) if compiled else self.compute_loss
        return {"items_per_pass": self.batch * self.accumulate, "bytes_per_item": 0}

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
        with torch.autocast("cpu", torch.bfloat16, enabled=self.dtype == "bf16"):
            return loss_of(self.model(self.inputs), self.labels, None, self.smoothing)

    def step(self):
        """The timed work. Without an optimizer the gradients are dropped."""
        for _ in range(self.accumulate):
            loss = self.loss()
            (loss / self.accumulate if self.accumulate > 1 else loss).backward()
        if self.optimizer is not None:
            self.optimizer.step()
        self.model.zero_grad(set_to_none=True)
        return loss

    def check(self, sample):
        first = float(self.step())
        if not math.isfinite(first):
            raise Failed(f"the loss of the first step is {first}")
        expected = self.raw.get("expected_loss")
        if expected is not None:
            limit = float(self.raw.get("tolerance") or TOLERANCE[self.dtype])
            if abs(first - expected) > limit * abs(expected):
                raise Failed(f"not comparable: the loss of the first step is {first:.7g}, {expected:.7g} within "
                             f"{limit:g} of it is meant")
        self.step()  # what is compiled at the second step only is compiled here
        count = sum(parameter.numel() for parameter in self.model.parameters())
        return {"digest": f"{count} parameters, loss {first:.4g}", "loss": first, "parameters": count,
                "versions": self.adapter.versions(), "build": torch.__config__.show().split("\n")[1].strip(" -")}

    def preflight(self, slow_item_s, items):
        start = time.monotonic_ns()
        self.step()
        return {"pass_ns": max(1, time.monotonic_ns() - start)}

    def measure(self, passes, warmup_ms, warmup_limit_ms):
        reset_peak()
        warm_until, warmup = time.monotonic_ns() + warmup_ms * 1e6, 0
        least = max(self.warmup_steps, 1 if warmup_ms > 0 else 0)  # one at least after a stop
        while warmup < least or time.monotonic_ns() < warm_until:
            self.step()
            warmup += 1
        self.warmup_steps = 0  # only before the first sample
        step, sample = self.step, Sample()
        sample.start()
        for _ in range(passes):
            loss = step()
        sample.stop()
        last = float(loss)
        if not math.isfinite(last):
            raise Failed(f"the loss is {last} after {passes} steps")
        reply = sample.reply(passes * self.batch * self.accumulate, warmup)
        return {**reply, "details": {"steps": passes, "loss": last, "peak_rss_bytes": memory("VmHWM"),
                                     "rss_before_model_bytes": self.rss_before}}

    def release(self):
        self.model = self.optimizer = self.loss = self.inputs = self.labels = self.spec = None
        if self.adapter.compiled:
            torch.compiler.reset()


def whole(raw, key, default, least=1):
    value = raw.get(key, default)
    if type(value) is not int or not least <= value <= 2**20:
        raise Failed(f"'{key}' is {value!r}, an integer from {least} to {2**20} is meant")
    return value


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


def reset_peak():
    """VmHWM starts again from what is held now; where the kernel refuses, the peak is that of the process so far."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        pass
