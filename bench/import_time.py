#!/usr/bin/env python3
# bench/import_time.py - how long `import sluice` takes, in fresh processes.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench/import_time.py PYTHON OUT.json [--processes N]     PYTHON: an interpreter that has the wheel installed

Each process imports by turns `sluice` and `json`, a module of Python's own, and tells the seconds of its one import. The first of each
kind is not counted: it reads the files from the disk, and Python writes its .pyc."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

from measured_by import git

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "build" / "release" / "python"))
from sluice import measure  # noqa: E402

TEXT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def seconds(python, module):
    done = subprocess.run([python, "-c", TEXT.format(module)], check=True, stdout=subprocess.PIPE, text=True, cwd="/")
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python")
    parser.add_argument("out")
    parser.add_argument("--processes", type=int, default=41)
    arguments = parser.parse_args()
    taken = {"sluice": [], "json": []}
    for _ in range(arguments.processes + 1):
        for module, samples in taken.items():
            samples.append(seconds(arguments.python, module))
    timings = {module: measure.Timing(module, samples[1:], 1) for module, samples in taken.items()}
    document = {"git": git(), "processes": arguments.processes, "load_average": os.getloadavg()[0],
                "imports": {name: {"median_s": one.median, "interval_s": one.interval, "samples_s": one.samples}
                            for name, one in timings.items()}}
    pathlib.Path(arguments.out).write_text(json.dumps(document, indent=1) + "\n")
    for one in timings.values():
        print(one)


if __name__ == "__main__":
    main()
