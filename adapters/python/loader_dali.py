# adapters/python/loader_dali.py - NVIDIA DALI's CPU pipeline as a loader; needs no GPU.
# SPDX-License-Identifier: Apache-2.0
"""The graph of DALI's ImageNet examples: shuffled reader, decoder that decodes the drawn crop only, triangular
(antialiased) resize, crop_mirror_normalize to float CHW."""
import os

from dali_worker import dali_reason
from sluice_worker.media import BadFile
from sluice_worker.sources import FLIP, MEAN, RATIO, SCALE, SIDE, STD, Source

ATTEMPTS = 10  # to draw a crop that fits, as torchvision does


def finished(fn, types, images, mirror):
    """Everything after the decoder."""
    images = fn.resize(images, resize_x=SIDE, resize_y=SIDE, interp_type=types.INTERP_LINEAR, antialias=True)
    return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mirror=mirror,
                                    mean=[255 * value for value in MEAN], std=[255 * value for value in STD])


def training_graph(settings):
    from nvidia.dali import fn, types
    encoded, _ = fn.readers.file(files=settings.files, random_shuffle=True, name="reader")
    images = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB, random_area=list(SCALE),
                                           random_aspect_ratio=list(RATIO), num_attempts=ATTEMPTS)
    return finished(fn, types, images, fn.random.coin_flip(probability=FLIP))


def fixed_graph(settings):
    """The largest central square, cut out by the decoder's own slicing."""
    from nvidia.dali import fn, math, types
    encoded, _ = fn.readers.file(files=settings.files, name="reader")
    sizes = fn.peek_image_shape(encoded)
    height, width = sizes[0], sizes[1]
    side = math.min(height, width)
    start = fn.stack((width - side) // 2, (height - side) // 2)
    images = fn.decoders.image_slice(encoded, start=fn.cast(start, dtype=types.INT32),
                                     shape=fn.cast(fn.stack(side, side), dtype=types.INT32), axes=[1, 0],
                                     device="cpu", output_type=types.RGB)
    return finished(fn, types, images, 0)


def built(graph, settings, batch_size, threads, depth):
    from nvidia.dali import Pipeline
    pipeline = Pipeline(batch_size=batch_size, num_threads=threads, device_id=None, seed=settings.seed % 2**31,
                        prefetch_queue_depth=depth, set_affinity=settings.variant == "affinity")
    with pipeline:
        pipeline.set_outputs(graph(settings))
    pipeline.build()
    return pipeline


class DaliSource(Source):
    """`workers` are threads of one pipeline, 0: one for each usable core; `prefetch` is the depth of its queue; "affinity"
    keeps each thread on a core, as its page on performance has it."""

    variants = ("", "affinity")

    def __init__(self, settings):
        self.settings, self.pipeline, self.batch = settings, None, None
        self.threads = settings.workers or len(os.sched_getaffinity(0))
        self.depth = settings.prefetch
        self.info = {"workers": self.threads, "prefetch": settings.prefetch}

    @staticmethod
    def open():
        import nvidia.dali.fn  # noqa: F401

    @staticmethod
    def array(batch):
        """A view: the batch is dense already."""
        import numpy
        return numpy.asarray(batch.as_tensor())

    def next(self):
        if self.pipeline is None:
            self.pipeline = built(training_graph, self.settings, self.settings.batch_size, self.threads, self.depth)
        self.batch = self.pipeline.run()[0]  # kept: the array is a view of it
        return self.array(self.batch)

    def fixed(self, count):
        pipeline = built(fixed_graph, self.settings, 1, 1, 1)
        for path in self.settings.files[:count]:
            try:
                batch = pipeline.run()[0]
            except RuntimeError as problem:  # not every operator names the file
                raise BadFile(f"{os.path.basename(path)}: {dali_reason(problem)}") from None
            yield self.array(batch)[0]

    def reason(self, problem):
        return super().reason(problem) if isinstance(problem, BadFile) else dali_reason(problem)

    def close(self):
        self.batch = self.pipeline = None
