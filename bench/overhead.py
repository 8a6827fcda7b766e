#!/usr/bin/env python3
# bench/overhead.py - what our Python workers cost: each beside the same loop written by hand, in one interleaved run.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench/overhead.py OUT [--runs N]     OUT: a run folder to make

Needs ./sluice and its groups albumentationsx and light (which it installs). Prints, by case, the rate through our worker over the rate of the loop by
hand with its interval, computed by `sluice ratio` from the result files in OUT; the limit is 3 % (0.97)."""
import argparse
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "sluice"
LIBRARIES = ("albumentationsx", "pillow")
TRANSFORMS = ("HorizontalFlip", "RandomCrop224", "Resize", "GaussianBlur", "Posterize", "Brightness")


def python_of(library):
    answer = subprocess.run([PROGRAM, "peers", "install", library, "--json", "--quiet"], check=True, stdout=subprocess.PIPE)
    return pathlib.Path(json.loads(answer.stdout)["environments"][0]["folder"]) / "bin/python"


def config(runs):
    peers = "\n".join(f"    hand-{name}: [{python_of(name)}, {ROOT}/bench/hand_loop_worker.py, {name}]" for name in LIBRARIES)
    return f"""version: 1
selection:
  scenario: image-rgb
  mode: micro
  libraries: [{', '.join(LIBRARIES)}]
  transforms: [{', '.join(TRANSFORMS)}]
  peers:
{peers}
data:
  num_items: 32
execution:
  num_runs: {runs}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(config(arguments.runs))
        file.flush()
        subprocess.run([PROGRAM, "run", "--config", file.name, "--out", arguments.out, "--sample-ms", "300"], check=True)
    for library in LIBRARIES:
        subprocess.run([PROGRAM, "ratio", arguments.out, "--of", library, "--over", f"hand-{library}"], check=True)


if __name__ == "__main__":
    main()
