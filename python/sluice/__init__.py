# python/sluice/__init__.py - the package: loader, recipes, transforms, decoder.
# SPDX-License-Identifier: Apache-2.0
"""Batches of images for training, made on threads, with exact resume in the middle of an epoch.

    import sluice
    for images, labels in sluice.Loader("photos/train", recipe="imagenet-train", batch_size=256, workers=8):
        ...

`Loader` and `Recipe` make batches, `Mixture` those of robots, `Array` is one on a GPU, `augment` has the transforms, `decode` reads one image, `measure` judges what is slower.
docs/python.md is the manual.
numpy is imported with the first array, not with the package."""
import os as _os

from . import _native, augment, measure
from ._native import Array
from .decoding import decode
from .loader import Loader
from .mixture import Mixture
from .recipe import Function, Recipe

_native.set_module_folder(_os.path.join(_os.path.dirname(_os.path.realpath(__file__)), "lib", "sluice"))

__version__ = _native.version
__all__ = ["Array", "Function", "Loader", "Mixture", "Recipe", "augment", "decode", "measure"]
