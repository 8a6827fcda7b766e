#!/usr/bin/env python3
# bench/crop_worker.py - AlbumentationsX on top of OpenCV's decoder: what our row pipeline/rrc224 is measured beside.
# SPDX-License-Identifier: Apache-2.0
"""JPEG in memory -> RandomResizedCrop 224 -> horizontal flip -> Normalize -> CHW float32, as its guide sets it up.

usage: sluice bench decode --peer "albumentationsx=PYTHON bench/crop_worker.py"     (PYTHON of the `albumentationsx` peers)

One thread; decoded straight to RGB, without orientation, as ours. Messages: docs/peer-protocol.md.
"""
import hashlib
import importlib.metadata
import os
import time
from pathlib import Path

from serve import Unsupported, serve

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
for variable in ("NO_ALBUMENTATIONS_UPDATE", "ALBUMENTATIONS_OFFLINE", "ALBUMENTATIONS_NO_TELEMETRY"):
    os.environ[variable] = "1"

CASE = "pipeline/rrc224"
SIDE = 224
KEPT = 8  # outputs alive at a time, as everywhere
EXTENSIONS = (".jpg", ".jpeg")
state = {"seed": 0, "files": [], "transform": None, "checked": False, "kept": [None] * KEPT}


def hello(_):
    return {"protocol": 1, "name": "albumentationsx", "version": importlib.metadata.version("albumentationsx"),
            "versions": {"opencv-python-headless": importlib.metadata.version("opencv-python-headless")},
            "cases": [CASE]}


def configure(m):
    import cv2

    cv2.setNumThreads(0)
    cv2.ocl.setUseOpenCL(False)
    state["seed"] = m.get("seed", 0) % 2**32
    return {"threads": 1}


def load(m):
    import numpy as np

    folder = Path(m["data_dir"])
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in EXTENSIONS)
    state["files"] = [np.fromfile(path, dtype=np.uint8) for path in paths]
    return {"items": len(paths), "bytes": sum(int(file.nbytes) for file in state["files"])}


def prepare(m):
    if m["case"] != CASE:
        raise Unsupported(f"only {CASE} is measured here")
    import albumentations as A
    import cv2
    from albumentations.pytorch import ToTensorV2

    state["transform"] = A.Compose([
        A.RandomResizedCrop(size=(SIDE, SIDE), scale=(0.08, 1.0), ratio=(0.75, 1.3333),
                            interpolation=cv2.INTER_LINEAR, p=1),
        A.HorizontalFlip(p=0.5),
        A.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), p=1),
        ToTensorV2(p=1),
    ], seed=state["seed"])
    state["flag"] = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    state["decode"] = cv2.imdecode
    state["checked"] = False
    return {"items_per_pass": len(state["files"]), "bytes_per_item": 4 * 3 * SIDE * SIDE}


def one(file):
    return state["transform"](image=state["decode"](file, state["flag"]))["image"].contiguous()


def one_pass():
    kept = state["kept"]
    for i, file in enumerate(state["files"]):
        kept[i % KEPT] = one(file)


def check(_):
    import torch

    output = one(state["files"][0])
    if tuple(output.shape) != (3, SIDE, SIDE) or output.dtype != torch.float32 or not bool(torch.isfinite(output).all()):
        raise ValueError(f"output is {tuple(output.shape)} {output.dtype}")
    if float(output.abs().max()) > 3 or float(output.std()) < 0.05:
        raise ValueError("output is no normalised photograph")
    state["checked"] = True
    return {"digest": hashlib.sha256(f"{tuple(output.shape)} {output.dtype}".encode()).hexdigest(),
            "shape": list(output.shape), "dtype": "float32"}


def timed(passes):
    cpu, start = time.process_time_ns(), time.monotonic_ns()
    for _ in range(passes):
        one_pass()
    return start, max(1, time.monotonic_ns() - start), time.process_time_ns() - cpu


def measure(m):
    if not state["checked"]:
        raise ValueError("the output was not checked")
    passes, until = 0, time.monotonic_ns() + m["warmup_ms"] * 1e6
    while time.monotonic_ns() < until:
        one_pass()
        passes += 1
    start, elapsed, cpu = timed(m["passes"])
    return {"start_ns": start, "samples_ns": [elapsed], "items_per_sample": m["passes"] * len(state["files"]),
            "cpu_ns": cpu, "warmup_passes": passes}


if __name__ == "__main__":
    serve({"hello": hello, "configure": configure, "load": load, "prepare": prepare, "check": check,
           "preflight": lambda m: {"pass_ns": timed(1)[1]}, "measure": measure})
