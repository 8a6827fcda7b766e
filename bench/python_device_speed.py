#!/usr/bin/env python3
# bench/python_device_speed.py - sluice.Loader feeding torch on a GPU, beside copies by hand and torch DataLoader.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench/python_device_speed.py OUT.json [--rounds N] [--photographs N] [--arrays N] [--batch N] [--workers N] [--folder FOLDER] [--no-checks]

Needs a GPU, torch, and the package on PYTHONPATH: a wheel unpacked by `pip install --no-index --no-deps --target`, or the build tree. Runs
tests/python/gpu_test.py first, and measures nothing unless it passes. Then in every round, in random order, one epoch each of
  device       sluice.Loader(device="cuda")
  pinned       sluice.Loader(pin_memory=True), images.to("cuda", non_blocking=True)
  pageable     sluice.Loader(), images.to("cuda")
  torch        torch DataLoader with pin_memory and persistent workers, non_blocking copies; transforms of torchvision, or PIL where that is not;
               of arrays numpy.load
over photographs (1,024 generated ones under several names; recipe imagenet-train, float32; uint8 by sluice alone) and over arrays of 150,528 bytes, where no decoder limits. The
consumer adds up every batch on the GPU; "busy" multiplies matrices besides. Threads and processes of all of them stay between the epochs;
the first batches of an epoch, two for every worker, are not
timed, the rest is, up to the end of the GPU's work."""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from measured_by import git

ROOT = pathlib.Path(__file__).resolve().parent.parent
if not any((pathlib.Path(folder) / "sluice").is_dir() for folder in sys.path[1:]):
    sys.path.insert(0, str(ROOT / "build" / "release" / "python"))
import numpy as np  # noqa: E402
import sluice  # noqa: E402
import torch  # noqa: E402
from sluice import measure  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ARRAY = 224 * 224 * 3


def program():
    carried = pathlib.Path(sluice.__file__).parent / "bin" / "sluice"
    return carried if carried.exists() else ROOT / "build" / "release" / "sluice"


class Photographs(torch.utils.data.Dataset):
    """A folder of images by class, as most write it."""

    def __init__(self, folder):
        self.files = sorted(folder.glob("*/*.jpg"))
        classes = sorted({path.parent.name for path in self.files})
        self.labels = [classes.index(path.parent.name) for path in self.files]
        from torchvision import transforms
        self.transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                             transforms.Normalize(MEAN, STD)])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        from PIL import Image
        with Image.open(self.files[index]) as image:
            return self.transform(image.convert("RGB")), self.labels[index]


class PlainPhotographs(Photographs):
    """Without torchvision: the same crop by PIL, normalised by numpy."""

    def __init__(self, folder):
        self.files = sorted(folder.glob("*/*.jpg"))
        classes = sorted({path.parent.name for path in self.files})
        self.labels = [classes.index(path.parent.name) for path in self.files]
        self.mean, self.std = (255 * np.array(one, "float32") for one in (MEAN, STD))

    def transform(self, image):
        width, height = image.size
        for _ in range(10):
            area = width * height * random.uniform(0.08, 1)
            ratio = np.exp(random.uniform(np.log(3 / 4), np.log(4 / 3)))
            w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
            if 0 < w <= width and 0 < h <= height:
                break
        else:
            w, h = width, height
        x, y = random.randint(0, width - w), random.randint(0, height - h)
        pixels = np.asarray(image.resize((224, 224), 2, (x, y, x + w, y + h)), "float32")
        if random.random() < 0.5:
            pixels = pixels[:, ::-1]
        return torch.from_numpy(np.ascontiguousarray(((pixels - self.mean) / self.std).transpose(2, 0, 1)))


class Arrays(torch.utils.data.Dataset):
    def __init__(self, folder):
        self.files = sorted(folder.rglob("*.npy"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return torch.from_numpy(np.load(self.files[index])), index


class Feed:
    """Batches of one library, epoch by epoch."""

    def __init__(self, loader, move, untimed):
        self.loader, self.move, self.untimed = loader, move, untimed

    def rate(self, busy):
        """Samples a second of an epoch after its first batches, and how many samples the epoch had."""
        total = torch.zeros((), dtype=torch.float64, device="cuda")
        seen = timed = 0
        for number, (images, labels) in enumerate(self.loader):
            if number == self.untimed:
                torch.cuda.synchronize()
                begin = time.perf_counter()
            images, labels = self.move(images), self.move(labels)
            total += images.sum(dtype=torch.float32) + labels.sum()
            if busy is not None:
                for _ in range(busy[1]):
                    torch.mm(busy[0], busy[0])
            seen += len(labels)
            timed += len(labels) if number >= self.untimed else 0
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        if not torch.isfinite(total).item():
            raise SystemExit("bench/python_device_speed.py: a batch is not finite")
        return timed / seconds, seen


def stay(tensor):
    return tensor


def by_hand(tensor):
    return tensor.to("cuda", non_blocking=True)


def plainly(tensor):
    return tensor.to("cuda")


def ours(path, recipe, arguments):
    options = {"batch_size": arguments.batch, "workers": arguments.workers, "tensors": "torch", "seed": 1}
    return {"device": Feed(sluice.Loader(path, recipe, device="cuda", **options), stay, 2 * arguments.workers),
            "pinned": Feed(sluice.Loader(path, recipe, pin_memory=True, **options), by_hand, 2 * arguments.workers),
            "pageable": Feed(sluice.Loader(path, recipe, **options), plainly, 2 * arguments.workers)}


def of_torch(dataset, sample_bytes, arguments):
    """None where its workers would not have the shared memory that their batches go through."""
    needed = 2 * arguments.workers * arguments.batch * sample_bytes
    free = shutil.disk_usage("/dev/shm").free
    if free < needed:
        print(f"torch DataLoader is not measured: /dev/shm has {free} bytes, its batches need {needed}", flush=True)
        return {}
    return {"torch": Feed(torch.utils.data.DataLoader(dataset, arguments.batch, shuffle=True, num_workers=arguments.workers, pin_memory=True,
                                            persistent_workers=True, drop_last=True), by_hand, 2 * arguments.workers)}


def photographs_of_torch(folder):
    """A data set and what its transforms are; the reason where there is neither library."""
    try:
        return Photographs(folder), "torchvision"
    except ImportError:
        pass
    try:
        import PIL
        return PlainPhotographs(folder), f"PIL {PIL.__version__}"
    except ImportError as error:
        return None, f"not measured: {error}"


def timing(samples):
    one = measure.Timing("", samples, 1)
    return {"median": one.median, "interval": one.interval, "samples": samples}


def measured(feeds, rounds, draw, busy=None):
    rates = {name: [] for name in feeds}
    seen = set()
    for number in range(rounds + 1):
        for name in draw.sample(list(feeds), len(feeds)):
            rate, count = feeds[name].rate(busy)
            seen.add(count)
            if number > 0:  # the first round warms up
                rates[name].append(rate)
    if len(seen) != 1:
        raise SystemExit(f"bench/python_device_speed.py: epochs of {sorted(seen)} samples; all must be of one size")
    found = {"samples_an_epoch": seen.pop(), "feeds": {name: {"samples_per_s": timing(samples)} for name, samples in rates.items()}}
    for name, samples in rates.items():
        if name != "device":
            found["feeds"][name]["device_over_this"] = timing([a / b for a, b in zip(rates["device"], samples, strict=True)])
    return found


def checks():
    """tests/python/gpu_test.py over the package that is measured; how many tests passed."""
    folder = str(pathlib.Path(sluice.__file__).parents[1])
    environment = {**os.environ, "SLUICE_PROGRAM": str(program()), "SLUICE_TEST_TORCH_PYTHON": sys.executable,
                   "PYTHONPATH": os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])}
    done = subprocess.run([sys.executable, "-B", ROOT / "tests" / "python" / "gpu_test.py"], env=environment, capture_output=True, text=True,
                          timeout=240)
    print(done.stdout, done.stderr, sep="", flush=True)
    passed = re.search(r"^Ran (\d+) tests? .*\n\nOK$", done.stderr, flags=re.MULTILINE)
    if done.returncode != 0 or passed is None:
        raise SystemExit("bench/python_device_speed.py: tests/python/gpu_test.py did not pass; nothing is measured")
    return int(passed[1])


def name_again(folder, count):
    """More names for the files of a set, until it has `count`."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".jpg", ".npy"))
    for number in range(len(files), count):
        path = files[number % len(files)]
        os.link(path, path.with_stem(f"{path.stem}-{number // len(files)}"))


def matrices(milliseconds):
    """A matrix, and how many products of it take so long."""
    one = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(2):
        begin.record()
        for _ in range(50):
            torch.mm(one, one)
        end.record()
        torch.cuda.synchronize()
    return one, max(1, round(milliseconds / (begin.elapsed_time(end) / 50)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--photographs", type=int, default=8192)
    parser.add_argument("--arrays", type=int, default=8192)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--busy", type=float, default=5.0, help="milliseconds of products of matrices a step")
    parser.add_argument("--folder", help="where the sets are made, and stay; default: a temporary folder")
    parser.add_argument("--no-checks", action="store_true", help="the tests were run before")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("bench/python_device_speed.py: torch finds no GPU; a machine with one is needed")
    if min(arguments.photographs, arguments.arrays) <= 2 * arguments.workers * arguments.batch:
        raise SystemExit(f"bench/python_device_speed.py: sets of {arguments.photographs} and {arguments.arrays} samples; accepted: more than "
                         f"{2 * arguments.workers * arguments.batch}, which are not timed")
    passed = None if arguments.no_checks else checks()
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.folder or temporary)
        for kind, count, more in (("rgb", arguments.photographs, ["--classes", "8"]), ("arrays", arguments.arrays, ["--bytes", str(ARRAY)])):
            if not (folder / kind).exists():
                subprocess.run([program(), "data", "make", "--kind", kind, "--count", str(min(count, 1024)), *more, "--out", folder / kind,
                                "--quiet"], check=True, stdout=subprocess.DEVNULL)
                name_again(folder / kind, count)
        print("the sets are made", flush=True)
        dataset, transforms = photographs_of_torch(folder / "rgb")
        theirs = {} if dataset is None else of_torch(dataset, 4 * ARRAY, arguments)
        document = {"git": git(program()), "gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda,
                    "python": sys.version.split()[0], "cores": len(os.sched_getaffinity(0)), "rounds": arguments.rounds,
                    "batch_size": arguments.batch, "workers": arguments.workers, "transforms_of_torch": transforms, "tests_passed": passed,
                    "interval": "of the median, at least 95 %, by rounds", "load_average_before": os.getloadavg()[0], "sets": {}}
        busy = matrices(arguments.busy)
        document["busy_ms"] = arguments.busy
        for name, feeds, work in (
                ("photographs_float32", {**ours(folder / "rgb", "imagenet-train", arguments), **theirs}, None),
                ("photographs_uint8", ours(folder / "rgb", sluice.Recipe("imagenet-train", dtype="uint8"), arguments), None),
                ("arrays", {**ours(folder / "arrays", "array", arguments), **of_torch(Arrays(folder / "arrays"), ARRAY, arguments)}, None),
                ("arrays_busy", ours(folder / "arrays", "array", arguments), busy)):
            document["sets"][name] = measured(feeds, arguments.rounds, draw, work)
            for one, found in document["sets"][name]["feeds"].items():
                rate = found["samples_per_s"]
                print(f"{name:20} {one:10} {rate['median']:9.0f} samples/s ({rate['interval'][0]:.0f} to {rate['interval'][1]:.0f})", flush=True)
            for feed in feeds.values():
                if isinstance(feed.loader, sluice.Loader):
                    feed.loader.close()
        document["load_average"] = os.getloadavg()[0]
    pathlib.Path(arguments.out).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
