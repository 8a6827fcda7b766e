# tests/golden/antialias/make.py - writes the arrays beside it again: outputs of Pillow's BILINEAR for the C++ test.
# SPDX-License-Identifier: Apache-2.0
#
# usage: python3 tests/golden/antialias/make.py     needs numpy and Pillow; made with Pillow 13.0.0
import pathlib

import numpy as np
from PIL import Image

FOLDER = pathlib.Path(__file__).resolve().parent
WIDTH, HEIGHT = 61, 52
SIZES = ((24, 20), (47, 35), (31, 44), (9, 50), (64, 60), (5, 3), (1, 1))


def photograph():
    """Edges, a gradient and noise: what resizing is hard on."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    gradient = np.stack([4 * x, 4 * y, 2 * (x + y)], axis=-1)
    stripes = 120 * ((x // 3 + y // 5) % 2)[..., None]
    noise = np.random.RandomState(3).randint(0, 64, size=(HEIGHT, WIDTH, 3))
    return np.clip(gradient // 2 + stripes + noise - 16, 0, 255).astype(np.uint8)


def main():
    image = photograph()
    np.save(FOLDER / "input.npy", image)
    for width, height in SIZES:
        resized = Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR)
        np.save(FOLDER / f"{width}x{height}.npy", np.asarray(resized))


if __name__ == "__main__":
    main()
