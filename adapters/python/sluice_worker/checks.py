# adapters/python/sluice_worker/checks.py - is this output what the transform is meant to give? Checked before times.
# SPDX-License-Identifier: Apache-2.0
import hashlib

import numpy

from . import references
from .adapter import Failed

# May leave an image as it was: by a draw (no turn, the old order) or because there is nothing to do.
MAY_KEEP = {
    "RandomRotate90", "ChannelShuffle", "RandomJigsaw", "AutoContrast", "Equalize", "UnsharpMask", "RandomCrop224",
    "Resize", "LongestMaxSize", "SmallestMaxSize", "Posterize", "Grayscale", "Normalize",
}  # fmt: skip


def synthetic(size, channels, frames=None):
    """A small image, or clip, that is the same everywhere: gradients, an edge and some grain."""
    height, width = size
    y, x, c = numpy.ogrid[:height, :width, :channels]
    grain = (x * 2654435761 + y * 40503 + c * 9973) % 61
    image = ((x * 255 // max(1, width - 1) + 2 * y + 40 * c) % 195 + grain).astype(numpy.uint8)
    if frames is None:
        return numpy.ascontiguousarray(image)
    return numpy.ascontiguousarray(numpy.stack([numpy.roll(image, t, axis=1) for t in range(frames)]))


def repeated(image, frames):
    """A clip in which nothing moves."""
    return numpy.ascontiguousarray(numpy.broadcast_to(image, (frames, *image.shape)))


def frames_problem(output):
    """'' when all frames of the output are equal, but for rounding."""
    spread = numpy.abs(output[1:].astype(numpy.float32) - output[:1].astype(numpy.float32))
    limit = 1e-4 if output.dtype.kind == "f" else 0
    different = int((spread.reshape(len(spread), -1).max(axis=1) > limit).sum()) if len(spread) else 0
    return f"{different} frames of a clip are treated differently from its first" if different else ""


def contiguity_problem(output):
    if isinstance(output, numpy.ndarray):
        whole = output.flags["C_CONTIGUOUS"]
    elif hasattr(output, "is_contiguous"):
        whole = output.is_contiguous()
    else:
        whole = True  # an image of the library's own, which has no strides to be seen
    return "" if whole else "the output is not contiguous in memory"


def device_problem(output, device):
    """'' unless a tensor has left the device that the row is for."""
    where = getattr(getattr(output, "device", None), "type", device)  # arrays of NumPy have no type there
    return "" if where == device else f"the output is on device '{where}', the row is for '{device}'"


def expected_sizes(spec, height, width):
    """The (height, width) pairs that the definition allows. A pixel of rounding is allowed where a ratio is kept."""
    name, params = spec.transform, spec.params
    if name == "Resize":  # some force the square, some scale the shorter side
        side = params["target_size"]
        return {(side, side)} | near_ratio(height, width, side / min(height, width))
    if name == "RandomCrop224":
        return {(params["height"], params["width"])}
    if name == "RandomResizedCrop":
        return {tuple(params["size"])}
    if name == "Pad":
        return {(height + 2 * params["padding"], width + 2 * params["padding"])}
    if name == "LongestMaxSize":
        return near_ratio(height, width, params["max_size"] / max(height, width))
    if name == "SmallestMaxSize":
        return near_ratio(height, width, params["max_size"] / min(height, width))
    if name == "Transpose":
        return {(width, height)}
    if name == "RandomRotate90":
        return {(height, width), (width, height)}
    return {(height, width)}


def near_ratio(height, width, factor):
    """Sizes of the scaled image, floor to ceiling; the side that defines the factor is whole anyway."""
    tall, wide = height * factor, width * factor
    sides = lambda side: {round(side)} if abs(side - round(side)) < 1e-6 else {int(side), int(side) + 1}
    return {(h, w) for h in sides(tall) for w in sides(wide)}


def shape_problem(spec, source, output):
    """'' or what is wrong with frames, channels or size."""
    if output.ndim != source.ndim:
        return f"{spec.transform}: output has {output.ndim} dimensions, the input {source.ndim}"
    if spec.is_clip and output.shape[0] != source.shape[0]:
        return f"{spec.transform}: output has {output.shape[0]} frames, the input {source.shape[0]}"
    if output.shape[-1] != source.shape[-1]:
        return f"{spec.transform}: output has {output.shape[-1]} channels, the input {source.shape[-1]}"
    allowed = expected_sizes(spec, *source.shape[-3:-1])
    if tuple(output.shape[-3:-1]) not in allowed:
        sizes = " or ".join(f"{h}x{w}" for h, w in sorted(allowed))
        return f"{spec.transform}: output is {output.shape[-3]}x{output.shape[-2]}, {sizes} is meant"
    return ""


def in_pixels(output, unit_float, spec):
    """float32 in units of 0..255. Outputs of Normalize have no such unit and stay as they are."""
    values = numpy.ascontiguousarray(output, dtype=numpy.float32)
    if unit_float and output.dtype.kind == "f" and spec.transform != "Normalize":
        values = values * numpy.float32(255)
    return values


class Verdict:
    """Collects outputs of one case; raises Failed at the first that is wrong."""

    def __init__(self, spec, unit_float, reference=None):
        self.spec = spec
        self.unit_float = unit_float
        self.reference = reference or references.for_spec(spec)
        self.digest = hashlib.sha256()
        self.first = None
        self.seen_change = False
        self.could_change = False

    def add(self, source, output):
        spec = self.spec
        problem = shape_problem(spec, source, output)
        if not problem and output.dtype.kind not in "uf":
            problem = f"{spec.transform}: output has type {output.dtype}, unsigned or floating point is meant"
        if not problem and output.dtype.kind == "f" and not numpy.isfinite(output).all():
            problem = f"{spec.transform}: output has values that are not finite"
        if problem:
            raise Failed(problem)
        if self.first is None:
            self.first = output
        self.digest.update(f"{output.shape} {output.dtype.str};".encode())
        self.digest.update(numpy.ascontiguousarray(output).tobytes())
        self.compare(source, in_pixels(output, self.unit_float, spec))

    def compare(self, source, pixels):
        frames = [(source, pixels)]
        if self.spec.is_clip:
            frames = [(source[0], pixels[0]), (source[-1], pixels[-1])]
        for before, after in frames:
            problem = self.reference(before, after) if self.reference else ""
            if problem:
                raise Failed(f"{self.spec.transform}: {problem}")
            self.could_change |= bool((before != before[0, 0]).any())
            self.seen_change |= before.shape != after.shape or not references.same(before, after)

    def reply(self):
        if self.first is None:
            raise Failed(f"{self.spec.transform}: no output")
        if self.could_change and not self.seen_change and self.spec.transform not in MAY_KEEP:
            raise Failed(f"{self.spec.transform}: the output is the input")
        return {
            "digest": self.digest.hexdigest(),
            "shape": list(self.first.shape),
            "dtype": str(self.first.dtype),
        }
