# tests/parity/cases/colour.py - colour operations and JPEG. The drawn orders are found by trying all of them.
# SPDX-License-Identifier: Apache-2.0
import itertools

import cv2
import numpy as np
from lab import Case


def brightness(x, b):
    return np.clip(x * np.float32(b), 0, 255).astype(np.uint8)


def contrast(x, c):
    mean = cv2.cvtColor(x, cv2.COLOR_RGB2GRAY).mean()
    return np.clip(x * np.float32(c) + np.float32(mean * (1 - c)), 0, 255).astype(np.uint8)


def both(x, b, c):
    """Brightness directly before contrast: one table."""
    mean = b * cv2.cvtColor(x, cv2.COLOR_RGB2GRAY).mean()
    return np.clip(np.clip(x * np.float32(b), 0, 255) * np.float32(c) + np.float32(mean * (1 - c)), 0, 255).astype(np.uint8)


def saturation(x, s):
    grey = cv2.cvtColor(cv2.cvtColor(x, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    return cv2.addWeighted(x, s, grey, 1 - s, 0)


def hue(x, h):
    hsv = cv2.cvtColor(x, cv2.COLOR_RGB2HSV)
    hsv[..., 0] = (hsv[..., 0].astype(int) + int(np.floor(180 * h))) % 180
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)


STEPS = (brightness, contrast, saturation, hue)


def chain(image, factors, order):
    for n, step in enumerate(order):
        if step == 0 and order[n + 1:n + 2] == (1,):
            continue
        fused = step == 1 and n > 0 and order[n - 1] == 0
        image = both(image, *factors[:2]) if fused else STEPS[step](image, factors[step])
    return image


def draw_of(factors, orders, channels):
    """The draw whose outcome on a noise image is nearest to the library's."""
    def draw(lab):
        noise = np.random.default_rng(5).integers(0, 256, (48, 64, 3), dtype=np.uint8)
        if lab.is_clip:
            noise = noise[:lab.height, :lab.width]
        seen = lab.run(noise).astype(int)
        tries = {}
        for order in orders:
            made = chain(noise, factors, order).astype(int)
            for take in channels:
                tries[order, take] = np.abs(made[..., list(take)] - seen).mean()
        order, take = min(tries, key=tries.get)
        if tries[order, take] > 1:
            raise ValueError(f"no order explains the output: {min(tries.values())} levels off")
        found = dict(zip(("brightness", "contrast", "saturation", "hue"), factors))
        found["order"] = list(order)
        return found if channels == RGB else {**found, "channels": list(take)}
    return draw


RGB = [(0, 1, 2)]
ANY_ORDER = list(itertools.permutations(range(4)))
ANY_CHANNELS = list(itertools.permutations(range(3)))


def fixed(value):
    return (value, value)


def jitter(name, *factors):
    return Case(name, lambda A: A.ColorJitter(*[fixed(f) for f in factors], p=1), draw=draw_of(factors, ANY_ORDER, RGB))


def distort(*factors):
    return Case("PhotoMetricDistort", lambda A: A.PhotoMetricDistort(*[fixed(f) for f in factors], distort_p=1.0, p=1),
                draw=draw_of(factors, [(0, 1, 2, 3), (0, 2, 3, 1)], ANY_CHANNELS))


def shift(name, hue_shift, saturation_shift):
    return Case(name, lambda A: A.HueSaturationValue(hue_shift_range=fixed(hue_shift), sat_shift_range=fixed(saturation_shift),
                                                     val_shift_range=(0, 0), p=1),
                draw=lambda lab: {"shift": hue_shift + saturation_shift})


CASES = [
    jitter("ColorJitter", 0.5, 1.5, 1.5, 0.5),
    jitter("ColorJiggle", 0.9, 0.6, 1.4, 0.03),
    jitter("ColorJiggle", 1.1, 1.4, 0.6, -0.04),
    distort(0.9, 1.4, 0.6, -0.04),
    distort(1.1, 0.6, 1.4, 0.03),
    shift("Hue", 13.7, 0.0),
    shift("Hue", -20.0, 0.0),
    shift("Saturation", 0.0, 61.3),
    shift("Saturation", 0.0, -88.8),
    Case("JpegCompression", draw=lambda lab: {"quality": 50}),
]
