# adapters/python/loader_spdl.py - SPDL: a pipeline of threads over FFmpeg's decoder and filters.
# SPDX-License-Identifier: Apache-2.0
"""As its guide puts a loader of known batches together: every thread of the pool decodes the images of one batch, with crop,
scale and flip in the decoder's filter, and converts their frames at once. The variant "images" is its guide's other way: a stage of single images, collected
afterwards, which took more processor time: 3.0 and 3.4 ms per image against 2.9, two runs each on a busy machine."""
import math
import os
import random

from sluice_worker import Failed, Unsupported
from sluice_worker.media import BadFile
from sluice_worker.sources import FLIP, MEAN, RATIO, SCALE, SIDE, STD, Source, endless_batches

ATTEMPTS = 10
TIMEOUT_S = 120  # of one batch


def draw_box(width, height, draw):
    """x, y, width, height of RandomResizedCrop; the largest central square when none fits."""
    low, high = (math.log(side) for side in RATIO)
    for _ in range(ATTEMPTS):
        area, ratio = width * height * draw.uniform(*SCALE), math.exp(draw.uniform(low, high))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return draw.randint(0, width - w), draw.randint(0, height - h), w, h
    return central_square(width, height)


def central_square(width, height):
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


def decoded(path, box_of, flip):
    """One frame, SIDE x SIDE in RGB. FFmpeg's bilinear scaling widens its filter when it shrinks."""
    import spdl.io
    try:
        packets = spdl.io.demux_image(path)
    except RuntimeError as problem:
        raise BadFile(f"{os.path.basename(path)}: {str(problem).splitlines()[0]}") from None
    x, y, w, h = box_of(packets.width, packets.height)
    description = f"crop={w}:{h}:{x}:{y}:exact=1,scale={SIDE}:{SIDE}:flags=bilinear,{'hflip,' if flip else ''}format=rgb24"
    try:
        return spdl.io.decode_packets(packets, filter_desc=description)
    except RuntimeError as problem:
        raise BadFile(f"{os.path.basename(path)}: {str(problem).splitlines()[0]}") from None


def training_frame(path):
    """Draws from the module's generator: threads share it."""
    return decoded(path, lambda width, height: draw_box(width, height, random), random.random() < FLIP)


def normalised(frames):
    """Frames -> float32 B x 3 x SIDE x SIDE."""
    import numpy
    import spdl.io
    pixels = spdl.io.to_numpy(spdl.io.convert_frames(frames))
    batch = numpy.empty((len(frames), 3, SIDE, SIDE), numpy.float32)
    for channel, (mean, std) in enumerate(zip(MEAN, STD)):
        plane = batch[:, channel]
        numpy.multiply(pixels[..., channel], numpy.float32(1 / (255 * std)), out=plane)
        plane -= numpy.float32(mean / std)
    return batch


def leaves(problem):
    """Of a group of exceptions; of any other, itself."""
    inner = getattr(problem, "exceptions", ())
    for one in inner:
        yield from leaves(one)
    if not inner:
        yield problem if problem.__cause__ is None else problem.__cause__


def training_batch(paths):
    return normalised([training_frame(path) for path in paths])


class Batches:
    """The source of the pipeline: lists of paths without an end."""

    def __init__(self, settings):
        self.settings = settings

    def __iter__(self):
        files = self.settings.files
        for indices in endless_batches(len(files), self.settings.batch_size, self.settings.seed):
            yield [files[index] for index in indices]


class Images(Batches):
    """The same paths, one by one."""

    def __iter__(self):
        for paths in super().__iter__():
            yield from paths


class SpdlSource(Source):
    """`workers` are threads, 0: one for each usable core; `prefetch` is the size of the sink's buffer."""

    variants = ("", "images")

    def __init__(self, settings):
        self.settings, self.pipeline, self.batches = settings, None, None
        self.threads = settings.workers or len(os.sched_getaffinity(0))
        self.round = 1 if settings.variant == "images" else self.threads
        self.depth = settings.prefetch + self.round  # the sink's, and those that wait to enter it
        self.info = {"workers": self.threads, "prefetch": settings.prefetch}

    @staticmethod
    def open():
        import spdl.io
        import spdl.pipeline  # noqa: F401
        try:
            spdl.io.utils.get_ffmpeg_versions()
        except (ImportError, RuntimeError, OSError) as problem:
            raise Unsupported(f"spdl finds no FFmpeg libraries on this system: {problem}") from None

    def start(self):
        from spdl.pipeline import PipelineBuilder
        random.seed(self.settings.seed)
        self.pipeline = (self.batches_made(PipelineBuilder())
                         .add_sink(self.settings.prefetch)
                         .build(num_threads=self.threads, max_failures=0))
        self.pipeline.start()
        self.batches = self.pipeline.get_iterator(timeout=TIMEOUT_S)

    def batches_made(self, builder):
        """A batch per thread, or an image per thread and a batch of those that are ready."""
        if self.settings.variant != "images":
            return builder.add_source(Batches(self.settings)).pipe(training_batch, concurrency=self.threads,
                                                                   output_order="completion")
        return (builder.add_source(Images(self.settings))
                .pipe(training_frame, concurrency=self.threads, output_order="completion")
                .aggregate(self.settings.batch_size)
                .pipe(normalised))

    def next(self):
        if self.pipeline is None:
            self.start()
        try:
            return next(self.batches)
        except StopIteration:  # the source has no end: a stage has failed, and stopping raises why
            self.close()
            raise Failed("the pipeline ended") from None

    def fixed(self, count):
        for path in self.settings.files[:count]:
            yield normalised([decoded(path, central_square, False)])[0]

    def reason(self, problem):
        """A pipeline raises what its stages raised as one group: the file at fault, else the first."""
        found = list(leaves(problem))
        return super().reason(next((one for one in found if isinstance(one, BadFile)), found[0]))

    def close(self):
        pipeline, self.pipeline, self.batches = self.pipeline, None, None
        if pipeline is not None:
            pipeline.stop()
