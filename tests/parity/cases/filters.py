# tests/parity/cases/filters.py - blurs and sharpening. The draws are read off the library's answer to an impulse.
# SPDX-License-Identifier: Apache-2.0
from lab import Case


def impulse(lab):
    """What one bright pixel becomes: the kernel, mirrored. Odd side, f32."""
    image = lab.np.zeros((lab.height, lab.width, lab.channels), lab.np.float32)
    y, x = lab.height // 2, lab.width // 2
    image[y, x] = 1
    return lab.run(image)[y - 4:y + 5, x - 4:x + 5, 0][::-1, ::-1]


def motion(lab):
    """The points of the mean: all have one weight."""
    y, x = lab.np.nonzero(impulse(lab) > 0)
    return {"dx": (x - 4).tolist(), "dy": (y - 4).tolist()}


def fixed(value):
    return (value, value)


CASES = [
    Case("GaussianBlur", draw=lambda lab: {"size": 5, "sigma": 2.0}),
    Case("Blur", draw=lambda lab: {"side": 5}),
    Case("MedianBlur"),
    Case("MotionBlur", draw=motion),
    Case("Sharpen", lambda A: A.Sharpen(alpha_range=fixed(0.41), lightness_range=fixed(0.73), p=1),
         draw=lambda lab: {"alpha": 0.41, "lightness": 0.73}),
    Case("EnhanceEdge", lambda A: A.Enhance(mode="edge", alpha_range=fixed(0.83), p=1), draw=lambda lab: {"alpha": 0.83}),
    Case("EnhanceDetail", lambda A: A.Enhance(mode="detail", alpha_range=fixed(0.83), p=1),
         draw=lambda lab: {"alpha": 0.83}),
    Case("UnsharpMask", lambda A: A.UnsharpMask(blur_range=fixed(5), sigma_range=fixed(0.0), alpha_range=fixed(0.37),
                                                threshold=10, p=1),
         draw=lambda lab: {"size": 5, "sigma": 0.0, "alpha": 0.37, "threshold": 10}),
    Case("CLAHE", lambda A: A.CLAHE(clip_range=fixed(2.7), tile_grid_size=(8, 8), p=1),
         draw=lambda lab: {"clip_limit": 2.7, "tile_grid": [8, 8]}),
]
