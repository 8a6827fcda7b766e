# adapters/python/loader_worker.py - loaders: JPEG files, or videos, to training batches, each library as its own guide sets it up.
# SPDX-License-Identifier: Apache-2.0
"""usage: loader_worker.py torch-tensor|torch-pil|torch-albumentationsx|webdataset|torchcodec|pyav|dali-cpu|spdl|sluice-python   (and the mode)

loader_torch.py, loader_clips.py, loader_dali.py, loader_spdl.py and loader_sluice.py hold the loaders; the mode is sluice_worker/modes/loader.py.
"""
import importlib
import os
import sys

from sluice_worker import Adapter, serve
from sluice_worker.sources import ANTIALIAS, CLIPS, PLAIN

# library -> (module, class of its source, its case, packages: the first is the library's own)
LOADERS = {
    "torch-tensor": ("loader_torch", "TensorSource", ANTIALIAS, ("torch", "torchvision", "numpy")),
    "torch-pil": ("loader_torch", "PilSource", ANTIALIAS, ("torch", "torchvision", "pillow", "numpy")),
    "torch-albumentationsx": ("loader_torch", "AlbumentationsXSource", PLAIN,
                              ("albumentationsx", "torch", "opencv-python-headless", "numpy")),
    "webdataset": ("loader_torch", "WebDatasetSource", ANTIALIAS, ("webdataset", "torch", "torchvision", "numpy")),
    "torchcodec": ("loader_clips", "TorchcodecSource", CLIPS, ("torchcodec", "torch", "torchvision", "numpy")),
    "pyav": ("loader_clips", "PyavSource", CLIPS, ("av", "torch", "torchvision", "numpy")),
    "dali-cpu": ("loader_dali", "DaliSource", ANTIALIAS, ("nvidia-dali-cuda130", "numpy")),
    "spdl": ("loader_spdl", "SpdlSource", ANTIALIAS, ("spdl", "spdl-core", "spdl-io", "numpy")),
    "sluice-python": ("loader_sluice", "SluiceSource", ANTIALIAS, ("sluice-bench", "numpy")),
}


class LoaderAdapter(Adapter):
    default_mode = "loader"

    def __init__(self, library):
        super().__init__()
        self.name = library
        module, source, case, self.packages = LOADERS[library]
        self.module, self.source_name = module, source
        self.cases = self.transforms = (case,)

    def open(self):
        """The library is imported here, before loader processes are forked."""
        self.source = getattr(importlib.import_module(self.module), self.source_name)
        self.source.open()

    def versions(self):
        """Of the package of a build tree, which is not installed, it says itself."""
        found = super().versions()
        if self.name == "sluice-python":
            found["sluice-bench"] = importlib.import_module("sluice").__version__
        return found

    def configure(self, session):
        """All usable cores; how many of them are used, a case says by its workers."""
        return {**super().configure(session), "usable_cores": len(os.sched_getaffinity(0))}

    def make_source(self, settings):
        return self.source(settings)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in LOADERS:
        sys.exit(f"usage: loader_worker.py {'|'.join(LOADERS)}")
    sys.exit(serve(LoaderAdapter(sys.argv[1])))
