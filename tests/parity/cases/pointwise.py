# tests/parity/cases/pointwise.py - what is done to every sample, or every pixel, alike.
# SPDX-License-Identifier: Apache-2.0
from lab import Case


def flat(lab, value):
    """An image of one level, or of one level per channel."""
    return lab.np.zeros((lab.height, lab.width, lab.channels), lab.np.uint8) + lab.np.asarray(value, lab.np.uint8)


def order(lab):
    return {"order": lab.run(flat(lab, range(lab.channels)))[0, 0].tolist()}


def dropped(lab):
    return {"channel": int(lab.np.argmin(lab.run(flat(lab, 255))[0, 0]))}


def shift(lab):
    """128 has room for 100 either way. The library drops the fraction; so does ours."""
    return {"shift": [int(level) - 128 for level in lab.run(flat(lab, 128))[0, 0]]}


CASES = [
    Case("Invert"),
    Case("Posterize"),
    Case("Solarize", lambda A: A.Solarize(threshold_range=(0.5, 0.5), p=1), draw=lambda lab: {"threshold": 0.5}),
    Case("Brightness", draw=lambda lab: {"factor": 1.2}),
    Case("Contrast", draw=lambda lab: {"factor": 1.2}),
    Case("RandomGamma"),
    Case("RGBShift", draw=shift),
    Case("Grayscale"),
    Case("ChannelShuffle", draw=order),
    Case("ChannelDropout", draw=dropped),
    Case("PlankianJitter", draw=lambda lab: {"temperature": int(lab.params["temperature"])}),
    Case("AutoContrast", sets="R9", note="of a clip the library takes the extremes of all frames, ours of each"),
    Case("Equalize"),
    Case("Normalize"),
]
