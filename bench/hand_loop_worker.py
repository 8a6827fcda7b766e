# bench/hand_loop_worker.py - the loop a person would write by hand, behind the least possible protocol.
# SPDX-License-Identifier: Apache-2.0
"""What our Python workers are compared with to show what they cost (at most 3 %).

usage: hand_loop_worker.py albumentationsx|pillow      (started by the supervisor, never by hand)

It takes the messages of docs/peer-protocol.md, holds a few RGB micro transforms, and shares no line with
adapters/python: a transform, a list of images, a for loop between two readings of time.perf_counter.
"""
import hashlib
import importlib.metadata
import json
import sys
import time
from pathlib import Path

import numpy as np
from serve import Unsupported, serve

LIBRARY = sys.argv[1] if len(sys.argv) > 1 else ""


def albumentationsx_transform(name, p):
    import albumentations as A
    import cv2
    cv2.setNumThreads(0)
    cv2.ocl.setUseOpenCL(False)
    return {
        "HorizontalFlip": lambda: A.HorizontalFlip(p=1),
        "RandomCrop224": lambda: A.RandomCrop(p["height"], p["width"], pad_if_needed=True, p=1),
        "Resize": lambda: A.Resize(p["target_size"], p["target_size"], cv2.INTER_LINEAR, p=1),
        "GaussianBlur": lambda: A.GaussianBlur(blur_range=tuple(p["kernel_size"]), sigma_range=(p["sigma"],) * 2, p=1),
        "Posterize": lambda: A.Posterize(num_bits=(p["bits"],) * 2, p=1),
        "Brightness": lambda: A.RandomBrightnessContrast(brightness_range=tuple(p["brightness_limit"]),
                                                         contrast_range=(0, 0), p=1),
    }.get(name)


def pillow_transform(name, p):
    from PIL import Image, ImageEnhance, ImageFilter, ImageOps
    size = (p.get("target_size", 0),) * 2
    return {
        "HorizontalFlip": lambda: lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        "Resize": lambda: lambda image: image.resize(size, Image.Resampling.BILINEAR),
        "GaussianBlur": lambda: lambda image: image.filter(ImageFilter.GaussianBlur(radius=p["sigma"])),
        "Posterize": lambda: lambda image: ImageOps.posterize(image, p["bits"]),
        "Brightness": lambda: lambda image: ImageEnhance.Brightness(image).enhance(1 + p["brightness_limit"][0]),
    }.get(name)


class Albumentationsx:
    package = "albumentationsx"
    kept = [None] * 8  # outputs alive at a time, as everywhere

    def load(self, arrays):
        self.images = [np.array(array) for array in arrays]

    def prepare(self, make, seed):
        self.transform = make()
        self.transform.set_random_seed(seed)

    def seed(self, seed):
        self.transform.set_random_seed(seed)

    def one_pass(self):
        transform = self.transform
        for i, image in enumerate(self.images):
            self.kept[i % 8] = np.ascontiguousarray(transform(image=image)["image"])

    def first(self):
        return self.transform(image=self.images[0])["image"]


class Pillow:
    package = "pillow"
    kept = [None] * 8

    def load(self, arrays):
        from PIL import Image
        self.images = [Image.fromarray(np.array(array)) for array in arrays]

    def prepare(self, make, seed):
        self.transform = make()

    def seed(self, seed):
        pass

    def one_pass(self):
        transform = self.transform
        for i, image in enumerate(self.images):
            output = transform(image)
            output.load()
            self.kept[i % 8] = output

    def first(self):
        return np.asarray(self.transform(self.images[0]))


library = {"albumentationsx": Albumentationsx, "pillow": Pillow}.get(LIBRARY, Albumentationsx)()
transforms = {"albumentationsx": albumentationsx_transform, "pillow": pillow_transform}.get(LIBRARY)
state = {"seed": 0, "checked": False}


def hello(_):
    return {"protocol": 1, "name": f"hand-{LIBRARY}", "version": importlib.metadata.version(library.package),
            "cases": ["HorizontalFlip", "RandomCrop224", "Resize", "GaussianBlur", "Posterize", "Brightness"]}


def configure(m):
    state["seed"] = m.get("seed", 0) % 2**32
    return {"threads": 1}


def load(m):
    index = json.loads(Path(m["inputs"]["index"]).read_text(encoding="utf-8"))
    data = np.memmap(m["inputs"]["data"], dtype=np.uint8, mode="r")
    items = index["items"][: m.get("num_items") or None]
    library.load([data[i["offset"]: i["offset"] + int(np.prod(i["shape"]))].reshape(i["shape"]) for i in items])
    return {"items": len(items), "bytes": sum(int(np.prod(i["shape"])) for i in items)}


def prepare(m):
    spec = m["spec"]
    make = transforms(spec["transform"], spec.get("params", {}))
    if make is None:
        raise Unsupported(f"the hand loop of {LIBRARY} has no {spec['transform']}")
    library.prepare(make, state["seed"])
    state["checked"] = False
    return {"items_per_pass": len(library.images), "bytes_per_item": 0}


def check(_):
    library.seed(state["seed"])
    output = np.ascontiguousarray(library.first())
    state["checked"] = True
    text = f"{output.shape}{output.dtype}".encode()
    return {"digest": hashlib.sha256(text + output.tobytes()).hexdigest(), "shape": list(output.shape),
            "dtype": str(output.dtype)}


def timed(passes):
    cpu, start_ns, start = time.process_time_ns(), time.monotonic_ns(), time.perf_counter()
    for _ in range(passes):
        library.one_pass()
    elapsed = time.perf_counter() - start
    return start_ns, max(1, round(elapsed * 1e9)), time.process_time_ns() - cpu


def measure(m):
    if not state["checked"]:
        raise ValueError("the output was not checked")
    warmup, until = 0, time.perf_counter() + m["warmup_ms"] / 1e3
    while time.perf_counter() < until:
        library.one_pass()
        warmup += 1
    start_ns, elapsed, cpu = timed(m["passes"])
    return {"start_ns": start_ns, "samples_ns": [elapsed], "items_per_sample": m["passes"] * len(library.images),
            "cpu_ns": cpu, "warmup_passes": warmup}


if __name__ == "__main__":
    if transforms is None:
        sys.exit("usage: hand_loop_worker.py albumentationsx|pillow, started by a supervisor (docs/peer-protocol.md)")
    serve({"hello": hello, "configure": configure, "load": load, "prepare": prepare, "check": check,
           "preflight": lambda m: {"pass_ns": timed(1)[1]}, "measure": measure})
