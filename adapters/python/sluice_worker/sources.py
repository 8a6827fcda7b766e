# adapters/python/sluice_worker/sources.py - what a loader library supplies to the mode `loader`, and the recipe's numbers.
# SPDX-License-Identifier: Apache-2.0
import random
from dataclasses import dataclass, field

from .media import BadFile

SIDE = 224
SCALE, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)  # RandomResizedCrop: share of the area, width over height
FLIP = 0.5
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of values in 0..1
FLOATS_PER_PAGE = 1024
ANTIALIAS, PLAIN = "loader/rrc224-antialias", "loader/rrc224"
CLIPS = "loader/clip16-antialias"
CLIP_FRAMES, CLIP_STRIDE = 16, 2  # every second frame


@dataclass
class Settings:
    """One case. `workers` are processes or threads, `prefetch` batches ahead of each, as the library counts them."""

    files: list = field(default_factory=list)
    batch_size: int = 256
    workers: int = 2
    prefetch: int = 2
    seed: int = 0
    antialias: bool = True
    variant: str = ""  # another way of the library's guide to do the same; "" is the usual one
    step_ms: float = 0  # what the consumer does with a batch: it sleeps


class Source:
    """A live loader over `settings.files`, epoch after epoch without an end. Nothing works before the first next()."""

    variants = ("",)  # that it knows
    depth = 0  # batches that may lie ready
    round = 1  # batches that are made side by side, and therefore come together
    info = {}  # about the set-up, for people

    def next(self):
        """The next batch, in memory of this process: float32 array B x 3 x SIDE x SIDE, normalised. It may be written
        over by the call after it."""
        raise NotImplementedError

    def fixed(self, count):
        """Yields the first `count` files as they come out when the crop is the whole central square and nothing is
        flipped: float32 arrays 3 x SIDE x SIDE, normalised, by the same functions as next()."""
        raise NotImplementedError

    def reason(self, problem):
        """One line on what next() or fixed() raised."""
        if isinstance(problem, BadFile):
            return str(problem)
        lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
        return f"{type(problem).__name__}: {lines[0]}" if lines else type(problem).__name__

    def close(self):
        """Ends processes and threads."""


def in_levels(image):
    """3 x H x W normalised -> H x W x 3 in 0..255."""
    import numpy
    mean, std = (numpy.array(values, numpy.float32).reshape(3, 1, 1) for values in (MEAN, STD))
    return numpy.ascontiguousarray(((image * std + mean) * numpy.float32(255)).transpose(1, 2, 0))


def endless_batches(count, batch_size, seed):
    """Lists of indices: epoch after epoch, each in an order of its own, without the rest that fills no batch. A loader
    that reads from here never pauses between epochs, which is its best case."""
    order, draw = list(range(count)), random.Random(seed)
    while True:
        draw.shuffle(order)
        for start in range(0, count - batch_size + 1, batch_size):
            yield order[start : start + batch_size]
