# adapters/python/pipeline_worker.py - DataLoader rows of albumentationsx, torchvision, kornia and pillow.
# SPDX-License-Identifier: Apache-2.0
"""usage: pipeline_worker.py albumentationsx|torchvision|kornia|pillow      (a supervisor adds the mode)

The adapters of the micro rows bring the transforms; recipes.py makes recipes of them.
"""
import importlib
import sys

from recipes import RECIPES
from sluice_worker import serve

# library -> (module, class) of its micro adapter
ADAPTERS = {"albumentationsx": ("albumentationsx_worker", "AlbumentationsX"),
            "torchvision": ("torchvision_worker", "Torchvision"),
            "kornia": ("kornia_worker", "Kornia"),
            "pillow": ("pillow_worker", "Pillow")}


def prepare_readers():
    """Loaded before loader processes are forked: these would do it again in every epoch, inside the timer (for kornia that
    is a thousand modules). Nor is a library that is linked with CUDA to be first loaded in a child of a process on a device."""
    import cv2  # noqa: F401
    import PIL.Image
    import torchvision.io  # noqa: F401
    PIL.Image.preinit()


def piped(library):
    """The library's adapter, with torch beside it and recipes instead of single transforms."""
    module, name = ADAPTERS[library]
    module = importlib.import_module(module)
    base = getattr(module, name)

    class Piped(base):
        packages = (*base.packages, *(p for p in ("torch", "torchvision") if p not in base.packages))

        def open(self):
            import torch.utils.data  # noqa: F401
            super().open()
            prepare_readers()

    adapter = Piped()
    adapter.in_thirds = getattr(module, "IN_CHUNKS", ())  # with nine channels called on each RGB third
    adapter.recipes = RECIPES[library](adapter)
    return adapter


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ADAPTERS:
        sys.exit(f"usage: pipeline_worker.py {'|'.join(ADAPTERS)}")
    sys.exit(serve(piped(sys.argv[1])))
