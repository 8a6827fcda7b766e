# bench/augment_worker.py - sluice.augment behind the worker protocol: the transforms as a user of the Python package calls them.
# SPDX-License-Identifier: Apache-2.0
"""usage: augment_worker.py PACKAGE      PACKAGE: the folder with `sluice` in it (build/release/python); started by bench/augment_speed.py

Inputs, checks and the timed loop are those of all Python workers (adapters/python)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "adapters" / "python"))
from sluice_worker import Adapter, Unsupported, serve  # noqa: E402


class Augment(Adapter):
    name = "sluice-augment"
    packages = ("sluice-bench",)
    unit_float = True  # ours of float32 are in 0..1

    def __init__(self, package):
        super().__init__()
        self.package, self.made, self.seed = package, None, 0

    def open(self):
        sys.path.insert(0, self.package)
        import numpy
        import sluice.augment

        self.augment = sluice.augment
        self.transforms = tuple(sluice.augment.names())
        self.materialise = numpy.ascontiguousarray

    def versions(self):
        import sluice

        return {"sluice-bench": sluice.__version__}

    def build(self, spec):
        if spec.transform not in self.transforms:
            raise Unsupported(f"{spec.transform} is not available in {self.name}")
        return getattr(self.augment, spec.transform)(seed=self.seed, **spec.params)

    def reseed(self, seed):
        super().reseed(seed)
        self.seed = seed


if __name__ == "__main__":
    sys.exit(serve(Augment(*sys.argv[1:2])))
