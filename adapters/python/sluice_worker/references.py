# adapters/python/sluice_worker/references.py - NumPy definitions of the transforms that have an exact one.
# SPDX-License-Identifier: Apache-2.0
"""Each takes a frame before (uint8 HWC) and after (float32 HWC in 0..255) and answers '' or what is wrong."""
import numpy

TOLERANCE = 0.01  # of a pixel value: libraries that hold 0..1 in float32 come back within this


def same(before, after):
    return before.shape == after.shape and bool((numpy.abs(after - before.astype(numpy.float32)) <= TOLERANCE).all())


def equals(make):
    """The reference whose output must be met exactly."""

    def problem(before, after):
        wanted = make(before)
        if wanted.shape != after.shape:
            return f"output is {after.shape}, the reference {wanted.shape}"
        wrong = numpy.abs(after - wanted.astype(numpy.float32)) > TOLERANCE
        return f"{int(wrong.sum())} of {wrong.size} values differ from the reference" if wrong.any() else ""

    return problem


def one_of(makes, what):
    """One of several references must be met."""
    tests = [equals(make) for make in makes]

    def problem(before, after):
        return "" if any(not test(before, after) for test in tests) else f"output is not {what}"

    return problem


def flip_horizontal(image):
    return image[:, ::-1]


def flip_vertical(image):
    return image[::-1]


def transpose(image):
    return image.swapaxes(0, 1)


def invert(image):
    return 255 - image


def posterize(bits):
    return lambda image: image & ((0xFF << (8 - bits)) & 0xFF)


def pad(padding, fill):
    return lambda image: numpy.pad(image, ((padding, padding), (padding, padding), (0, 0)), constant_values=fill)


def quarter_turns(low, high):
    return one_of([lambda image, k=k: numpy.rot90(image, k) for k in range(low, high + 1)], "a quarter turn of the input")


def channels_permuted(before, after):
    sums = sorted(before.reshape(-1, before.shape[2]).sum(axis=0, dtype=numpy.int64).tolist())
    after_sums = sorted(after.reshape(-1, after.shape[2]).sum(axis=0, dtype=numpy.float64).tolist())
    close = numpy.allclose(sums, after_sums, rtol=1e-5, atol=1)
    return "" if close else "the output's channels are not the input's in another order"


def channels_dropped(before, after):
    if before.shape != after.shape:
        return "the size changed"
    dropped = 0
    for c in range(before.shape[2]):
        if same(before[:, :, c : c + 1], after[:, :, c : c + 1]):
            continue
        if numpy.abs(after[:, :, c]).max() > TOLERANCE:
            return f"channel {c} is neither kept nor zero"
        dropped += 1
    return "" if dropped or not before.any() else "no channel was dropped"


def erased(before, after):
    kept = (numpy.abs(after - before.astype(numpy.float32)) <= TOLERANCE) | (numpy.abs(after) <= TOLERANCE)
    return "" if kept.all() else "a value is neither kept nor zero"


def grey(before, after):
    spread = after[:, :, :3].max(axis=2) - after[:, :, :3].min(axis=2)
    return "" if float(spread.max()) <= 0.5 else "the output's channels are not equal"


def window(before, after):
    """`after` is a part of `before`; not looked at where the input had to be padded."""
    height, width = after.shape[:2]
    if before.shape[0] < height or before.shape[1] < width:
        return ""
    corner = numpy.rint(after[0, 0]).astype(numpy.int16)
    starts = before[: before.shape[0] - height + 1, : before.shape[1] - width + 1]
    for y, x in numpy.argwhere((starts == corner).all(axis=2)):
        part = before[y : y + height, x : x + width]
        if same(part[:1], after[:1]) and same(part, after):
            return ""
    return "the output is not a window of the input"


def shuffled_tiles(grid):
    def problem(before, after):
        if before.shape[0] % grid[0] or before.shape[1] % grid[1]:
            return ""  # libraries may pad
        counts = numpy.bincount(before.reshape(-1), minlength=256)
        after_counts = numpy.bincount(numpy.rint(after).astype(numpy.int64).clip(0, 255).reshape(-1), minlength=256)
        return "" if (counts == after_counts).all() else "the output's pixels are not the input's in another order"

    return problem


def normalised(mean, std):
    def problem(before, after):
        channels = before.shape[2]
        means = numpy.resize(numpy.asarray(mean, numpy.float32), channels)
        stds = numpy.resize(numpy.asarray(std, numpy.float32), channels)
        wanted = (before.astype(numpy.float32) / 255 - means) / stds
        worst = float(numpy.abs(after - wanted).max())
        return "" if worst <= 1e-3 else f"values differ from (x/255 - mean)/std by up to {worst:.3g}"

    return problem


def for_spec(spec):
    """The reference of a case; None when the definition leaves the values to the library."""
    p = spec.params
    makers = {
        "HorizontalFlip": lambda: equals(flip_horizontal),
        "VerticalFlip": lambda: equals(flip_vertical),
        "Transpose": lambda: equals(transpose),
        "Invert": lambda: equals(invert),
        "Posterize": lambda: equals(posterize(p["bits"])),
        "Pad": lambda: equals(pad(p["padding"], p["fill"])),
        "RandomRotate90": lambda: quarter_turns(*p["times"]),
        "ChannelShuffle": lambda: channels_permuted,
        "ChannelDropout": lambda: channels_dropped,
        "Erasing": lambda: erased,
        "Grayscale": lambda: grey,
        "RandomCrop224": lambda: window,
        "RandomJigsaw": lambda: shuffled_tiles(p["grid"]),
        "Normalize": lambda: normalised(p["mean"], p["std"]),
    }
    maker = makers.get(spec.transform)
    return maker() if maker else None
