#!/usr/bin/env python3
# bench/resume_speed.py - how long sluice.Loader takes to resume in the middle of an epoch, beside a start from 0.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench/resume_speed.py OUT.json [--rounds N] [--photographs N] [--arrays N] [--folder FOLDER]

Needs the program and the package in build/release. Two sets: generated photographs (batches of 64, recipe imagenet-train) and many arrays in
files of 256 bytes (batches of 256), both with 2 workers. In every round three fresh loaders take turns, in random order:
  start          at sample 0 of an epoch
  same_workers   resumes at a random position of it
  other_workers  the same with 3 workers; its state is that of a loader with 2
For each the time of the constructor (which lists the set), of load_state_dict, and from there (start: from iter()) to the first batch.
The batch is compared with that of a loader that ran through the epoch; files are in the page cache from then on."""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import zlib

from measured_by import git

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "build" / "release" / "python"))
import sluice  # noqa: E402
from sluice import measure  # noqa: E402

PROGRAM = ROOT / "build" / "release" / "sluice"
EPOCHS = 2
WORKERS = {"start": 2, "same_workers": 2, "other_workers": 3}


def seen(loader, batch):
    images, labels = batch
    return loader.indices.tolist(), labels.tolist(), zlib.crc32(images.tobytes())


class Set:
    def __init__(self, name, path, **options):
        self.name, self.options = name, {"path": path, "seed": 1, **options}
        with self.loader(2) as loader:
            self.samples = loader.dataset_size
            self.state = loader.state_dict()
            self.expected = [[seen(loader, batch) for batch in loader] for _ in range(EPOCHS)]

    def loader(self, workers):
        return sluice.Loader(**self.options, workers=workers)

    def once(self, kind, epoch, step):
        """Seconds of the constructor, of load_state_dict (None at a start), and to the first batch."""
        begin = time.perf_counter()
        with self.loader(WORKERS[kind]) as loader:
            made = time.perf_counter()
            if kind == "start":
                loader.set_epoch(epoch)
            else:
                loader.load_state_dict({**self.state, "epoch": epoch, "consumed": step * loader.batch_size})
            placed = time.perf_counter()
            batch = next(iter(loader))
            came = time.perf_counter()
            if seen(loader, batch) != self.expected[epoch][step]:
                raise SystemExit(f"bench/resume_speed.py: {self.name}, {kind}: batch {step} of epoch {epoch} is another one than without a resume")
            del batch
        return made - begin, None if kind == "start" else placed - made, came - made


def timing(samples):
    one = measure.Timing("", samples, 1)
    return {"median": one.median, "interval": one.interval, "samples": samples}


def measured(one, rounds, draw):
    taken = {kind: [] for kind in WORKERS}
    for _ in range(rounds + 1):
        epoch, step = draw.randrange(EPOCHS), draw.randrange(1, len(one.expected[0]))
        for kind in draw.sample(list(WORKERS), len(WORKERS)):
            taken[kind].append(one.once(kind, epoch, 0 if kind == "start" else step))
    found = {"samples": one.samples, "batch_size": one.options["batch_size"]}
    starts = taken["start"][1:]  # the first round warms up
    for kind, samples in taken.items():
        samples = samples[1:]
        found[kind] = {"workers": WORKERS[kind], "constructor_ms": timing([1e3 * made for made, _, _ in samples]),
                       "first_batch_ms": timing([1e3 * came for _, _, came in samples])}
        if kind != "start":
            found[kind]["load_state_dict_ms"] = timing([1e3 * placed for _, placed, _ in samples])
            found[kind]["to_the_state_ms"] = timing([1e3 * (made + placed) for made, placed, _ in samples])
            found[kind]["first_batch_over_start"] = timing([came / start for (_, _, came), (_, _, start) in zip(samples, starts, strict=True)])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--photographs", type=int, default=1024)
    parser.add_argument("--arrays", type=int, default=100_000)
    parser.add_argument("--folder", help="where the sets are made, and stay; default: a temporary folder")
    arguments = parser.parse_args()
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.folder or temporary)
        for kind, count, more in (("rgb", arguments.photographs, ["--classes", "8"]), ("arrays", arguments.arrays, ["--bytes", "256"])):
            subprocess.run([PROGRAM, "data", "make", "--kind", kind, "--count", str(count), *more, "--out", folder / kind, "--quiet"], check=True,
                           stdout=subprocess.DEVNULL)
        sets = [Set("photographs", folder / "rgb", batch_size=64), Set("arrays", folder / "arrays", recipe="array", batch_size=256)]
        document = {"git": git(PROGRAM), "rounds": arguments.rounds, "cores": len(os.sched_getaffinity(0)), "interval": "of the median, at least 95 %, by rounds",
                    "load_average_before": os.getloadavg()[0], "sets": {one.name: measured(one, arguments.rounds, draw) for one in sets},
                    "load_average": os.getloadavg()[0]}
    pathlib.Path(arguments.out).write_text(json.dumps(document, indent=1) + "\n")
    for name, one in document["sets"].items():
        for kind in WORKERS:
            print(name, kind, {what: [round(value["median"], 3), *(round(end, 3) for end in value["interval"])]
                               for what, value in one[kind].items() if isinstance(value, dict)})


if __name__ == "__main__":
    main()
