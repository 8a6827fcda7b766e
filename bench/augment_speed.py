#!/usr/bin/env python3
# bench/augment_speed.py - sluice.augment beside AlbumentationsX, both called from Python, in one interleaved run; and what a call costs.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench/augment_speed.py OUT [--runs N] [--items N]     OUT: a run folder to make

Needs ./sluice, the package in build/release/python and the group albumentationsx (which it installs). `sluice run` measures the 57 RGB
transforms of three rows in turns: AlbumentationsX, sluice.augment, and the same transforms without Python. `sluice ratio` computes the
ratios from the result files in OUT, over transforms that compute the same in both. OUT/calls.json is then the time of calls on an image of one pixel, in fresh processes."""
import argparse
import json
import pathlib
import subprocess
import tempfile

from measured_by import git

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "sluice"
PACKAGE = ROOT / "build" / "release" / "python"
CALLS = """
import json, sys
import numpy
sys.path.insert(0, sys.argv[1])
import sluice
from sluice import augment, measure
pixel = numpy.full((1, 1, 3), 7, numpy.uint8)
found = {}
for name in ("Invert", "HorizontalFlip", "Brightness", "ColorJitter"):
    transform = getattr(augment, name)()
    made = transform(pixel)
    assert made.shape == pixel.shape and made.dtype == pixel.dtype and (name != "Invert" or (made == 248).all()), made
    found[name] = measure.time(lambda: transform(pixel), seconds=0.3).median * 1e6
print(json.dumps(found))
"""


def python_of(library):
    answer = subprocess.run([PROGRAM, "peers", "install", library, "--json", "--quiet"], check=True, stdout=subprocess.PIPE)
    return pathlib.Path(json.loads(answer.stdout)["environments"][0]["folder"]) / "bin/python"


def config(python, arguments):
    return f"""version: 1
selection:
  scenario: image-rgb
  mode: micro
  libraries: [albumentationsx, sluice]
  transform_set: paper
  peers:
    sluice-augment: [{python}, {ROOT}/bench/augment_worker.py, {PACKAGE}]
data:
  num_items: {arguments.items}
execution:
  num_runs: {arguments.runs}
"""


def calls(python, processes):
    """Microseconds of a call on one pixel: the median of each process."""
    command = [python, "-c", CALLS, str(PACKAGE)]
    taken = [json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout) for _ in range(processes)]
    found = {}
    for name in taken[0]:
        values = sorted(one[name] for one in taken)
        found[name] = {"median_us": (values[(processes - 1) // 2] + values[processes // 2]) / 2, "process_medians_us": values,
                       "interval_us": [values[0], values[-1]]}
    return {"processes": processes, "interval": "least and largest process: holds the median with 99 % at 8 processes", "calls": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--items", type=int, default=16)
    arguments = parser.parse_args()
    python = python_of("albumentationsx")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(config(python, arguments))
        file.flush()
        subprocess.run([PROGRAM, "run", "--config", file.name, "--out", arguments.out, "--sample-ms", "40", "--warmup-ms", "20"], check=True)
    for over in ("albumentationsx", "sluice"):
        subprocess.run([PROGRAM, "ratio", arguments.out, "--of", "sluice-augment", "--over", over], check=True)
    found = {"git": git(PROGRAM), **calls(python, 8)}
    (pathlib.Path(arguments.out) / "calls.json").write_text(json.dumps(found, indent=1) + "\n")
    for name, one in found["calls"].items():
        print(f"{name} on one pixel: {one['median_us']:.2f} us ({one['interval_us'][0]:.2f} to {one['interval_us'][1]:.2f})")


if __name__ == "__main__":
    main()
