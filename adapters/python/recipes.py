# adapters/python/recipes.py - DataLoader recipes of every library: crop, transform, Normalize, ToTensor, its own way.
# SPDX-License-Identifier: Apache-2.0
"""One class per library, set up as its guide says. The loader knows none of this: conversion lives here.

`sample` makes what the memory scope holds, `read` what the decode scopes read, `recipe` the work on it: `item` runs in
the loader's processes; `batch` runs in the main process, on the device, when `on_device`.
"""
import functools
import math
import random
import types
from dataclasses import replace

from sluice_worker.adapter import Params, Unsupported
from sluice_worker.media import read_array, read_clip, read_float_tensor, read_pil, read_tensor

CROPS = ("RandomCrop224", "RandomResizedCrop")
LAST_STAGES = ["Normalize", "ToTensor"]
# The stages that a recipe adds to the transform measured, where the spec does not bring their parameters itself.
STAGE_PARAMS = {
    "RandomCrop224": {"height": 224, "width": 224},
    "Normalize": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
}


def recipe_stages(spec):
    """[(name, spec of that stage)] before Normalize: an optional crop, then the transform measured."""
    names = spec.raw.get("recipe") or [*([] if spec.transform in CROPS else ["RandomCrop224"]), spec.transform, *LAST_STAGES]
    if not isinstance(names, list) or names[-2:] != LAST_STAGES or spec.transform not in names[:-2]:
        raise Unsupported(f"recipe {names}: [RandomCrop224,] {spec.transform}, Normalize, ToTensor is meant")
    return [(name, spec if name == spec.transform else replace(spec, transform=name, params=stage_params(spec, name)))
            for name in names[:-2]]


def stage_params(spec, name):
    own = (spec.raw.get("stage_params") or {}).get(name, STAGE_PARAMS.get(name))
    if own is None:
        raise Unsupported(f"recipe stage '{name}' has no parameters; known: {', '.join(STAGE_PARAMS)}")
    return Params(own)


def statistics(spec):
    """(mean, std), one entry per channel, of pixels in 0..1."""
    params, repeat = stage_params(spec, "Normalize"), spec.channels // 3
    return tuple(params["mean"]) * repeat, tuple(params["std"]) * repeat


class Recipe:
    on_device = False

    def __init__(self, item, batch=None, seed=None, statistics=None):
        self.item = item
        self.seed_library = seed
        self.statistics = statistics  # (mean, std) when pixels are whole 255ths before Normalize: checked
        if batch is not None:
            self.batch, self.on_device = batch, True

    def seed(self, seed):
        """In the process that does the work, after the common generators."""
        if self.seed_library is not None:
            self.seed_library(seed)


class Library:
    """Of one adapter. recipe(spec, device, split): `device` is a torch.device; `split`: loader processes only crop, the
    rest is done on the device in the main process. Libraries of the host have no such split."""

    def __init__(self, adapter):
        self.adapter = adapter

    def stages(self, spec):
        """What build() gives, for use one after another."""
        return [self.adapter.build(stage) for _, stage in recipe_stages(spec)]


class AlbumentationsxRecipes(Library):
    def sample(self, array):
        return array

    def read(self, path, spec):
        return read_clip(path, spec.clip_length) if spec.is_clip else read_array(path, spec.channels)

    def recipe(self, spec, device, split):
        import numpy
        A = self.adapter.library
        mean, std = statistics(spec)
        stages = [self.adapter.transform(stage) for _, stage in recipe_stages(spec)]
        compose = A.Compose([*stages, A.Normalize(mean=mean, std=std), A.ToTensorV2()], telemetry=False)

        def image_item(image):
            return compose(image=image)["image"]

        def clip_item(clip):
            import torch
            frames = compose(images=clip)["images"]
            return frames if isinstance(frames, torch.Tensor) else torch.stack(list(frames))

        def seed(value):  # its set_random_seed() mixes in the number of the loader process
            compose.set_random_state(numpy.random.default_rng(value), random.Random(value))

        return Recipe(clip_item if spec.is_clip else image_item, seed=seed,
                      statistics=(mean, std))


def channels_first(array):
    """uint8 HWC or THWC array -> CHW or TCHW tensor of its own."""
    import torch
    axes = (0, 3, 1, 2) if array.ndim == 4 else (2, 0, 1)
    return torch.from_numpy(array.transpose(axes).copy())


class TorchvisionRecipes(Library):
    """On a device: images are cropped on the host, then each goes through the transform by itself (its random
    parameters are per call), labelled as such; clips go through the whole recipe one by one."""

    def sample(self, array):
        return channels_first(array)

    def read(self, path, spec):
        if spec.is_clip:
            return channels_first(read_clip(path, spec.clip_length))
        return read_tensor(path, spec.channels)

    def recipe(self, spec, device, split):
        import torch
        from torchvision.transforms import v2
        mean, std = (list(values) for values in statistics(spec))
        stages = self.stages(spec)
        finish = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean=mean, std=std)]
        if not split:
            return Recipe(v2.Compose([*stages, *finish]), statistics=(mean, std))
        if spec.is_clip:
            whole = v2.Compose([*stages, *finish])
            return Recipe(same, batch=lambda batch: torch.stack([whole(clip) for clip in batch]),
                          statistics=(mean, std))
        shift, scale = (torch.tensor(values, device=device).view(-1, 1, 1) for values in (mean, std))
        crop, later = stages[0], stages[1:]

        def batch(images):
            for stage in later:
                images = torch.stack([stage(image) for image in images])
            return images.to(torch.float32).div_(255).sub_(shift).div_(scale)

        return Recipe(crop, batch=batch, statistics=(mean, std))


BY_CLIP = ("Affine", "ChannelDropout")  # of kornia: VideoSequential does not do for these, see its adapter


class KorniaRecipes(Library):
    """float32 in 0..1. On the host one item is a batch of one; on a device the whole batch goes through at once, with
    parameters of its own for every image or clip."""

    def sample(self, array):
        return channels_first(array) / 255.0

    def read(self, path, spec):
        if spec.is_clip:
            return channels_first(read_clip(path, spec.clip_length)) / 255.0
        return read_float_tensor(path, spec.channels)

    def stage(self, name, spec):
        """A module that takes batches."""
        if spec.is_clip and name in BY_CLIP:
            return modules().PerClip(self.adapter.clip_call(spec))
        if name == "Affine":  # wants one entry of each parameter per image
            return modules().PerSize(functools.partial(self.adapter.transform, spec))
        module = self.adapter.transform(spec)
        if spec.channels != 3 and name in self.adapter.in_thirds:
            module = modules().InThirds(module)
        return module

    def chain(self, spec, stages):
        """Stages, then Normalize; clips through VideoSequential, one draw per clip."""
        import kornia.augmentation as K
        import torch
        mean, std = (torch.tensor(values) for values in statistics(spec))
        stages = [*stages, K.Normalize(mean=mean, std=std)]
        if not spec.is_clip:
            return torch.nn.Sequential(*stages)
        clips = functools.partial(K.VideoSequential, data_format="BTCHW", same_on_frame=True)
        if not any(isinstance(stage, modules().PerClip) for stage in stages):
            return clips(*stages)
        return torch.nn.Sequential(*[stage if isinstance(stage, modules().PerClip) else clips(stage) for stage in stages])

    def recipe(self, spec, device, split):
        stages = [self.stage(*stage) for stage in recipe_stages(spec)]
        if not split:
            chain = self.chain(spec, stages)
            return Recipe(without_gradients(lambda item: chain(item.unsqueeze(0)).squeeze(0)))
        if spec.is_clip:
            return Recipe(same, batch=without_gradients(self.chain(spec, stages).to(device)))
        crop, rest = stages[0], self.chain(spec, stages[1:]).to(device)
        return Recipe(without_gradients(lambda item: crop(item.unsqueeze(0)).squeeze(0)), batch=without_gradients(rest))


@functools.cache
def modules():
    """Made when torch is there."""
    import torch

    class InThirds(torch.nn.Module):
        """Each RGB third by itself, for operations that know three channels only."""

        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, batch):
            return torch.cat([self.module(third) for third in batch.split(3, dim=1)], dim=1)

    class PerClip(torch.nn.Module):
        """A call that takes one clip, on each clip of a batch."""

        def __init__(self, call):
            super().__init__()
            self.call = call

        def forward(self, clips):
            return torch.stack([self.call(clip) for clip in clips])

    class PerSize(torch.nn.Module):
        """A module that is made for one size of batch: the last of an epoch may be smaller."""

        def __init__(self, make):
            super().__init__()
            self.make = functools.cache(make)

        def forward(self, batch):
            return self.make(frames=len(batch))(batch)

    return types.SimpleNamespace(InThirds=InThirds, PerClip=PerClip, PerSize=PerSize)


def without_gradients(call):
    """As kornia's guide does it for preprocessing."""
    import torch
    return torch.no_grad()(call)


def same(item):
    return item


class PillowRecipes(Library):
    def sample(self, array):
        from PIL import Image
        if array.ndim != 3 or array.shape[2] != 3:
            return None  # cannot be held; every recipe for it is refused
        return Image.fromarray(array)

    def read(self, path, spec):
        return read_pil(path, spec.channels)

    def stage(self, name, spec):
        if spec.is_clip or spec.channels != 3:
            raise Unsupported("pillow has RGB images only, no clips and no 9-channel images")
        if name == "RandomCrop224":
            return pillow_random_crop(spec.params)
        if name == "RandomResizedCrop":
            return pillow_random_resized_crop(spec.params)
        return self.adapter.build(spec)

    def recipe(self, spec, device, split):
        import torch
        from torchvision.transforms import PILToTensor
        stages = [self.stage(*stage) for stage in recipe_stages(spec)]
        shift, scale = (torch.tensor(values).view(-1, 1, 1) for values in statistics(spec))
        to_tensor = PILToTensor()

        def item(image):
            for stage in stages:
                image = stage(image)
            return to_tensor(image).float().div_(255).sub_(shift).div_(scale)

        return Recipe(item, statistics=statistics(spec))


def pillow_random_crop(params):
    """Pillow has no random crop; the recipe needs one: padded about the centre with 0, cut at a random place."""
    from PIL import Image
    height, width = params["height"], params["width"]

    def crop(image):
        if image.width < width or image.height < height:
            padded = Image.new(image.mode, (max(width, image.width), max(height, image.height)))
            padded.paste(image, ((padded.width - image.width) // 2, (padded.height - image.height) // 2))
            image = padded
        left, top = random.randint(0, image.width - width), random.randint(0, image.height - height)
        return image.crop((left, top, left + width, top + height))

    return crop


def pillow_random_resized_crop(params):
    """Ten tries at a random area with a log-uniform ratio, else the largest allowed box at the centre."""
    from PIL import Image
    height, width = params["size"]
    (small, large), (low, high) = params["scale"], params["ratio"]

    def box(image):
        for _ in range(10):
            area = image.width * image.height * random.uniform(small, large)
            ratio = math.exp(random.uniform(math.log(low), math.log(high)))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= image.width and 0 < h <= image.height:
                left, top = random.randint(0, image.width - w), random.randint(0, image.height - h)
                return left, top, left + w, top + h
        w = min(image.width, round(image.height * high))
        h = min(image.height, round(image.width / low))
        left, top = (image.width - w) // 2, (image.height - h) // 2
        return left, top, left + w, top + h

    return lambda image: image.resize((width, height), Image.Resampling.BILINEAR, box=box(image))


RECIPES = {"albumentationsx": AlbumentationsxRecipes, "torchvision": TorchvisionRecipes, "kornia": KorniaRecipes,
           "pillow": PillowRecipes}
