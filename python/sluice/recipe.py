# python/sluice/recipe.py - what is done to every sample on its way into the batch.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from . import _check, augment

TYPE_CHECKING = False  # the module `typing` would be half of the time of the import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

NAMES = ("imagenet-train", "centre-crop", "three-augment", "resize", "array")
LARGEST_SIDE = 4096


class Function:
    """A function of yours as one step of a list: `Recipe(["HorizontalFlip", sluice.Function(mine, dtype="float32")], size=224)`.

    function  is given the sample as a numpy array, height x width x 3, uint8 (0 to 255) or float32 (0 to 1) as the step before it
              made it, and returns another, or the same one changed in place
    shape     (height, width, 3) of what it returns; None: that of the recipe if it is the last step, else that of what it was given
    dtype     of what it returns, "uint8" or "float32"; float32 that comes out of the last step is not normalised
    keyed     call it as function(image, (seed, epoch, index)): random numbers drawn from that key alone are the same after a
              resume and with any number of workers

    A function alone in the list means `Function(function)`. Workers call it one at a time, with the interpreter's lock held:
    `loader.stats()["function"]` says what that costs. What it raises reaches whoever waits for the batch, as cause of a
    RuntimeError that names the sample; on_error="skip" does not pass over it."""

    def __init__(self, function: Callable[..., Any], *, shape: Sequence[int] | None = None, dtype: str = "uint8",
                 keyed: bool = False):
        if not callable(function):
            raise TypeError(f"function is {function!r}; accepted: something that can be called with an array")
        self.function = function
        if shape is not None:
            if not isinstance(shape, (tuple, list)) or len(shape) != 3 or shape[2] != 3:
                raise ValueError(f"shape is {shape!r}; accepted: (height, width, 3)")
            shape = [_check.integer("shape", one, 1, LARGEST_SIDE) for one in shape]
        self._description = {"name": getattr(function, "__qualname__", type(function).__name__), "shape": shape,
                             "dtype": _check.choice("dtype", dtype, ("uint8", "float32")), "keyed": _check.flag("keyed", keyed)}

    def __repr__(self) -> str:
        return f"Function({self._description['name']})"


def _split(steps):
    """The steps before the function, the function or None, the steps after it."""
    before, function, after = [], None, []
    for one in steps:
        is_step = isinstance(one, (str, tuple, list, augment.Compose)) or isinstance(one, type)
        if is_step or not (isinstance(one, Function) or callable(one)):
            (before if function is None else after).append(one)
            continue
        if function is not None:
            raise ValueError(f"two functions, {function!r} and {one!r}; accepted: one in a list")
        function = one if isinstance(one, Function) else Function(one)
    return augment.steps_of(before), function, augment.steps_of(after)


class Recipe:
    """What becomes of an encoded sample: its decoding, cropping, transforms, type and layout in the batch.

    recipe       "imagenet-train": a random part resized to `size`, mirrored half the time, normalised.
                 "three-augment": the same, then one of grayscale, solarize and blur, and colour jitter (DeiT III).
                 "centre-crop": the largest central square, resized. "resize": the whole image, resized.
                 "array": .npy files, as they are. Or a list of transforms: names of `sluice.augment`, (name, parameters)
                 pairs or transforms made there, and one function of yours, see `Function`; what comes out of the last must
                 have `size`.
    size         side of the result in pixels, or (height, width) for "resize" and lists
    dtype        "float32", "float16", "bfloat16" (normalised) or "uint8" (as it is). bfloat16 is not for numpy
    layout       "chw" or "hwc"
    mean, std    three numbers each, of samples from 0 to 1; None: ImageNet's
    filter       "antialias" (as Pillow and torchvision), "plain" (as OpenCV) or "bicubic"
    scale, ratio of the random part: its share of the area, its width over height; None: 0.08 to 1, 3/4 to 4/3
    erasing      probability that a random rectangle is erased
    scaled_decode decode JPEGs at the smallest scale that fills the crop: faster, not exact
    """

    def __init__(self, recipe: str | Sequence[Any] = "imagenet-train", *, size: int | tuple[int, int] = 224,
                 dtype: str = "float32", layout: str = "chw", mean: Sequence[float] | None = None,
                 std: Sequence[float] | None = None, filter: str = "antialias", scale: tuple[float, float] | None = None,
                 ratio: tuple[float, float] | None = None, erasing: float = 0.0, scaled_decode: bool = False):
        if isinstance(recipe, str):
            name, steps, self.function, after = _check.choice("recipe", recipe, NAMES), [], None, []
        else:
            name, (steps, self.function, after) = "steps", _split(recipe)
        if self.function and self.function._description["dtype"] == "float32" and dtype == "uint8":
            raise ValueError(f"dtype is 'uint8', and {self.function!r} returns float32; accepted: float32, float16, bfloat16")
        height, width = size if isinstance(size, (tuple, list)) and len(size) == 2 else (size, size)
        if (mean is None) != (std is None):
            raise ValueError("one of mean and std is given; accepted: both, or neither")
        self._description = {
            "name": name,
            "steps": steps,
            "function": self.function and self.function._description,
            "after": after,
            "height": _check.integer("size", height, 1, LARGEST_SIDE),
            "width": _check.integer("size", width, 1, LARGEST_SIDE),
            "dtype": _check.choice("dtype", dtype, ("float32", "float16", "bfloat16", "uint8")),
            "layout": _check.choice("layout", layout, ("chw", "hwc")),
            "mean": None if mean is None else _check.numbers("mean", mean, 3),
            "std": None if std is None else _check.numbers("std", std, 3),
            "filter": _check.choice("filter", filter, ("antialias", "plain", "bicubic")),
            "scale": None if scale is None else _check.numbers("scale", scale, 2),
            "ratio": None if ratio is None else _check.numbers("ratio", ratio, 2),
            "erasing": _check.number("erasing", erasing, 0, 1),
            "scaled_decode": _check.flag("scaled_decode", scaled_decode),
        }

    def __repr__(self) -> str:
        shown = {k: v for k, v in self._description.items() if v is not None and k not in ("name", "steps", "function", "after")}
        return f"Recipe({self._description['name']!r}, {', '.join(f'{k}={v!r}' for k, v in shown.items())})"
