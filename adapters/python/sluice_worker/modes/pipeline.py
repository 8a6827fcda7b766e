# adapters/python/sluice_worker/modes/pipeline.py - DataLoader rows: a recipe over the epochs of a torch DataLoader.
# SPDX-License-Identifier: Apache-2.0
"""The adapter brings `recipes`: sample(array), read(path, spec) and recipe(spec, device, split), see recipes.py."""
import functools
import hashlib
import math

from ..adapter import Failed, Spec, Unsupported, set_threads
from ..checks import device_problem, expected_sizes, frames_problem, repeated, synthetic
from ..inputs import open_shared
from ..media import media_files
from ..refusals import refusing_ignored_arguments
from ..tensors import give_back_device_memory

CROP_SIDE = 224  # what a crop leaves before the transform measured, whatever the input
SYNTHETIC_SIZE = (240, 256)  # height, width
ROUNDING = 0.02  # grey values, of float32 after mean and deviation are taken back


class Pipeline:
    def __init__(self, adapter):
        self.adapter = adapter
        self.recipes = adapter.recipes
        self.scenario = None
        self.samples = None  # of the memory scope: decoded, in the library's own form, for all recipes
        self.files = None  # of the decode scopes
        self.epochs = self.spec = self.recipe = None

    def load(self, request):
        self.scenario = str(request.get("scenario", "image-rgb"))
        self.samples = self.files = None
        limit = request.get("num_items")
        limit = limit if type(limit) is int and limit > 0 else None
        inputs = request.get("inputs")
        if isinstance(inputs, dict):
            shared = open_shared(inputs.get("index", ""), inputs.get("data", ""), limit)
            self.samples = [self.recipes.sample(array) for _, array in shared]
            held = sum(self.adapter.nbytes(sample) for sample in self.samples if sample is not None)
            return {"items": len(self.samples), "bytes": held}
        self.files = media_files(request.get("data_dir", ""), self.scenario.startswith("video"), limit,
                                 request.get("skip") or ())
        return {"items": len(self.files), "bytes": 0}

    def device(self):
        import torch
        return torch.device(self.adapter.session.device)

    def build(self, spec):
        device = self.device()
        with refusing_ignored_arguments():
            return self.recipes.recipe(spec, device, device.type != "cpu")

    def support(self, raw):
        import torch
        spec = Spec.read(raw)
        recipe = self.build(spec)
        array = synthetic(SYNTHETIC_SIZE, spec.channels, spec.clip_length if spec.is_clip else None)
        self.adapter.reseed(self.adapter.session.seed)
        recipe.seed(self.adapter.session.seed % 2**32)
        with refusing_ignored_arguments():
            output = torch.stack([recipe.item(self.recipes.sample(array))])  # as the loader collates
            if recipe.on_device:
                output = recipe.batch(output.to(self.device()))
        self.check_batch(spec, recipe, output, 1)

    def prepare(self, raw):
        from ..epochs import SCOPES, DECODE, DECODE_COPY, MEMORY, Epochs, Samples
        import torch
        spec = Spec.read(raw)
        if spec.scenario != self.scenario:
            raise Failed(f"prepare: scenario '{spec.scenario}' was not loaded")
        scope = spec.raw.get("scope", DECODE)
        if scope not in SCOPES:
            raise Failed(f"unknown scope '{scope}': {', '.join(SCOPES)}")
        source = self.samples if scope == MEMORY else self.files
        if source is None:
            raise Failed(f"scope '{scope}' wants {'inputs' if scope == MEMORY else 'files'}, which were not loaded")
        session, target = self.adapter.session, self.device()
        if scope == DECODE_COPY:  # the copy goes to a device, also from libraries that work on the host
            copy_to = spec.raw.get("copy_to", "cuda")
            if copy_to != "cuda":
                raise Unsupported(f"no device '{copy_to}' to copy batches to; cuda is accepted")
            if not torch.cuda.is_available():
                raise Unsupported("no CUDA device to copy batches to")
            target = torch.device("cuda")
        self.spec, self.recipe = spec, self.build(spec)
        read = None if scope == MEMORY else functools.partial(self.recipes.read, spec=spec)
        single = functools.partial(set_threads, 1) if session.thread_policy.endswith(("single", "single-worker")) else None
        self.epochs = Epochs(self.recipe, Samples(source, self.recipe.item, read), spec.raw, session.seed, target, single)
        return {"items_per_pass": len(source), "bytes_per_item": 4 * math.prod(self.shapes(spec)[0])}

    @staticmethod
    def shapes(spec):
        """The shapes that one item of the batch may have."""
        sizes = sorted(expected_sizes(spec, CROP_SIDE, CROP_SIDE))
        frames = (spec.clip_length,) if spec.is_clip else ()
        return [(*frames, spec.channels, *size) for size in sizes]

    def check_batch(self, spec, recipe, batch, items):
        """Raises Failed for a batch that no training step could take."""
        import torch
        name, shapes = spec.transform, self.shapes(spec)
        if batch.dtype != torch.float32 or not batch.is_contiguous():
            raise Failed(f"{name}: the batch is {batch.dtype}, contiguous torch.float32 is meant")
        if tuple(batch.shape) not in [(items, *shape) for shape in shapes]:
            meant = " or ".join(str((items, *shape)) for shape in shapes)
            raise Failed(f"{name}: the batch has shape {tuple(batch.shape)}, {meant} is meant")
        problem = device_problem(batch, self.device().type) if recipe.on_device else ""
        if problem:
            raise Failed(f"{name}: {problem}")
        if not torch.isfinite(batch).all():
            raise Failed(f"{name}: the batch has values that are not finite")
        if recipe.statistics is not None:
            self.check_pixels(spec, batch, recipe.statistics)

    @staticmethod
    def check_pixels(spec, batch, statistics):
        """With Normalize taken back, pixels are whole numbers of 0..255: the statistics and the scale are right."""
        import torch
        mean, std = (torch.tensor(values, device=batch.device).view(-1, 1, 1) for values in statistics)
        pixels = (batch * std + mean) * 255
        off = float((pixels - pixels.round().clamp(0, 255)).abs().max())
        if off > ROUNDING:
            raise Failed(f"{spec.transform}: normalised values are {off:.3g} grey values from any pixel")

    def check(self, sample):
        first = self.tried(self.epochs.first_batch, Unsupported)
        self.check_batch(self.spec, self.recipe, first, min(self.epochs.batch_size, len(self.epochs.samples)))
        if self.spec.is_clip:
            self.check_still()
        first = first.cpu().numpy()
        digest = hashlib.sha256(f"{first.shape} {first.dtype.str};".encode())
        digest.update(first.tobytes())
        return {"digest": digest.hexdigest(), "shape": list(first.shape), "dtype": str(first.dtype)}

    def check_still(self):
        """One draw per clip: frames that are the same before are the same afterwards."""
        from ..epochs import Samples
        clip = repeated(synthetic(SYNTHETIC_SIZE, self.spec.channels), self.spec.clip_length)
        still = Samples([self.recipes.sample(clip)], self.recipe.item)
        batch = self.tried(lambda: list(self.epochs.batches(still))[0], Unsupported)
        problem = frames_problem(batch[0].cpu().numpy())
        if problem:
            raise Failed(f"{self.spec.transform}: {problem}")

    @staticmethod
    def tried(work, otherwise):
        """What `work` answers. A bad file or a dead loader process is Failed; what the library raised, `otherwise`."""
        from ..epochs import is_library_problem, loader_reason
        try:
            return work()
        except (Unsupported, MemoryError):
            raise
        except Exception as problem:
            kind = otherwise if is_library_problem(problem) else Failed
            raise kind(loader_reason(problem)) from None

    def preflight(self, slow_item_s, items):
        item_ns = self.tried(lambda: self.epochs.item_ns(items, slow_item_s), Failed)
        return {"pass_ns": max(1, round(item_ns * len(self.epochs.samples)))}

    def measure(self, passes, warmup_ms, warmup_limit_ms):
        return self.tried(lambda: self.epochs.measure(passes), Failed)

    def release(self):
        self.epochs = self.spec = self.recipe = None
        self.adapter.forget()
        give_back_device_memory()  # batches are copied to the device from libraries of the host too
