# adapters/python/mixture_tfdata_worker.py - episode mixtures: TensorFlow Datasets and tf.data.
# SPDX-License-Identifier: Apache-2.0
"""mixture_tfdata.py holds the pipeline; the mode is sluice_worker/modes/mixture.py."""
import os
import sys

import mixture_tfdata
from sluice_worker import Adapter, serve


class TfdataAdapter(Adapter):
    name = "tfdata"
    packages = ("tensorflow-datasets", "tensorflow-cpu", "tensorflow", "numpy")
    default_mode = "mixture"
    transforms = ("mixture/pairs",)

    def open(self):
        mixture_tfdata.open_library()

    def configure(self, session):
        """TensorFlow's pools have as many threads as there are usable cores."""
        return {**super().configure(session), "usable_cores": len(os.sched_getaffinity(0))}

    def make_recipe(self, fields):
        sources = [mixture_tfdata.DataSet(**source) for source in fields.pop("sources")]
        return mixture_tfdata.Recipe(sources=sources, **fields)

    def make_source(self, recipe):
        return mixture_tfdata.Pipeline(recipe)


if __name__ == "__main__":
    sys.exit(serve(TfdataAdapter()))
