# adapters/python/loader_sluice.py - our own loader, as Python sees it: the package `sluice` beside the C++ worker.
# SPDX-License-Identifier: Apache-2.0
"""What sluice.Loader costs on top of the loader in C++, and what a PyTorch user gains by it. The package is the one that was
built with the program, or installed with it: peers/launch.cpp names its folder."""
import os

from sluice_worker import Failed, Unsupported
from sluice_worker.sources import MEAN, SIDE, STD, Source


class SluiceSource(Source):
    """`workers` are threads, 0: one for each usable core."""

    def __init__(self, settings):
        self.settings, self.loader, self.batches = settings, None, None
        self.threads = settings.workers or len(os.sched_getaffinity(0))
        self.depth = settings.prefetch
        self.info = {"workers": self.threads, "prefetch": settings.prefetch}

    @staticmethod
    def open():
        try:
            import sluice  # noqa: F401
        except ImportError as problem:
            raise Unsupported(f"the Python package is not built for this Python: {problem}; run: make wheel") from None

    def folder(self):
        """It takes a folder, not a list: the files must be all that lies there."""
        parents = {os.path.dirname(path) for path in self.settings.files}
        return parents.pop() if len(parents) == 1 else os.path.commonpath(parents)

    def made(self, recipe, **options):
        import sluice
        kind = sluice.Recipe(recipe, size=SIDE, mean=MEAN, std=STD, filter="antialias" if self.settings.antialias else "plain")
        loader = sluice.Loader(self.folder(), kind, rank=0, world=1, **options)
        if loader.dataset_size != len(self.settings.files):
            raise Failed(f"{self.folder()} holds {loader.dataset_size} images, {len(self.settings.files)} are meant")
        return loader

    def next(self):
        if self.loader is None:
            self.loader = self.made("imagenet-train", batch_size=self.settings.batch_size, workers=self.threads,
                                    prefetch=self.settings.prefetch, seed=self.settings.seed)
            self.batches = iter(self.loader)
        taken = next(self.batches, None)
        if taken is None:  # the next epoch, which the threads have begun
            self.batches = iter(self.loader)
            taken = next(self.batches)
        return taken[0]

    def fixed(self, count):
        with self.made("centre-crop", batch_size=1, workers=0, shuffle="none") as loader:
            place = {loader.sample_name(index): index for index in range(loader.dataset_size)}
            wanted = [place[os.path.relpath(path, self.folder())] for path in self.settings.files[:count]]
            images = {}
            for image, _ in loader:
                images[int(loader.indices[0])] = image[0].copy()
                if all(index in images for index in wanted):
                    break
        yield from (images[index] for index in wanted)

    def close(self):
        loader, self.loader, self.batches = self.loader, None, None
        if loader is not None:
            loader.close()
