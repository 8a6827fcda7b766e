#!/usr/bin/env python3
# tests/adapters/loader_test.py - loaders of one group: recipe, batches, processes that stop and end.
# SPDX-License-Identifier: Apache-2.0
"""usage: loader_test.py torch|dali|spdl     exit 77, which is a visible skip, when the group or `light` is not installed"""
import concurrent.futures
import functools
import os
import shutil
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

import peer

GROUP = sys.argv.pop(1) if len(sys.argv) > 1 else "torch"
LIBRARIES = {"torch": ("torch-tensor", "torch-pil", "torch-albumentationsx", "webdataset"),
             "dali": ("dali-cpu",), "spdl": ("spdl",)}
PROCESSES = LIBRARIES["torch"]  # those whose workers are processes
LIMIT = {"spdl": 3.0}  # grey values on average; FFmpeg decodes and scales chroma otherwise
USUAL_LIMIT = 1.5
IMAGES, BATCH, SIDE, SAMPLES = 64, 8, 224, 16


def case_of(library):
    return "loader/rrc224" if library == "torch-albumentationsx" else "loader/rrc224-antialias"


def write_images(folder):
    """Sizes of both orientations, smaller and larger than the output; soft, as photographs are."""
    import numpy
    from PIL import Image
    for number in range(IMAGES):
        width, height = ((420, 300), (260, 330), (180, 180), (301, 227))[number % 4]
        y, x = numpy.mgrid[0:height, 0:width].astype(numpy.float32)
        light = 70 * numpy.sin((2 * x + y) / (9 + number % 5) + number)
        waves = [120 + light + 50 * numpy.sin((x * (1 + c) + y * (3 - c)) / 90 + number) for c in range(3)]
        Image.fromarray(numpy.stack(waves, axis=-1).astype(numpy.uint8)).save(folder / f"{number:03d}.jpg", quality=92)


def reference(path, antialias):
    """Float32 HWC of the whole central square."""
    import cv2
    import numpy
    from PIL import Image
    with Image.open(path) as file:
        image = file.convert("RGB")
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    image = image.crop((left, top, left + side, top + side))
    if antialias:
        image = image.resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    else:
        image = cv2.resize(numpy.asarray(image), (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    return numpy.asarray(image, numpy.float32)


def stat_of(pid):
    """(state, parent, group) of a process; None when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1]), int(fields[2])


def family(pid):
    """The process and all below it."""
    parents = {}
    for entry in os.listdir("/proc"):
        stat = stat_of(entry) if entry.isdigit() else None
        if stat and stat[0] != "Z":
            parents[int(entry)] = stat[1]
    found = [pid]
    for one in found:
        found.extend(child for child, parent in parents.items() if parent == one)
    return found


def wait_for(condition, what):
    until = time.monotonic() + 20
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"not within 20 s: {what}")
        time.sleep(0.01)


def each_library(test):
    """Runs a test once for every library, with its files loaded."""

    @functools.wraps(test)
    def run(self):
        for library, worker in self.workers.items():
            with self.subTest(library):
                loaded = worker.must("load", data_dir=str(self.images), mode="loader")
                self.assertEqual(loaded["items"], IMAGES)
                test(self, library, worker)

    return run


class LoaderTest(unittest.TestCase):
    """One process per library serves all its tests: importing torch takes seconds."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="sluice-loader-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.images, cls.broken = cls.folder / "images", cls.folder / "broken"
        cls.images.mkdir()
        write_images(cls.images)
        shutil.copytree(cls.images, cls.broken)
        (cls.broken / "003.jpg").write_bytes(b"this is no picture")
        cls.workers = {}
        for library in LIBRARIES[GROUP]:
            cls.workers[library] = peer.Peer(peer.ADAPTERS / "loader_worker.py", library, "loader",
                                             python=peer.python_of(GROUP), process_group=0)
            cls.addClassCleanup(cls.workers[library].close)
        with concurrent.futures.ThreadPoolExecutor() as side_by_side:  # they import for seconds
            list(side_by_side.map(lambda worker: worker.must("hello", protocol=1), cls.workers.values()))
        for worker in cls.workers.values():
            worker.must("configure", threads=2, device="cpu", seed=7, thread_policy="loader-all-cores")

    @staticmethod
    def prepare(library, worker, step="must", **more):
        spec = {"batch_size": BATCH, "workers": 2, "prefetch": 2, "epoch_items": 0, "seed": 0, **more}
        return getattr(worker, step)("prepare", case=case_of(library), spec=spec)

    @each_library
    def test_the_recipe_is_the_one_of_the_reference(self, library, worker):
        import numpy
        self.prepare(library, worker)
        path = self.folder / f"{library}.samples"
        checked = worker.must("check", sample={"path": str(path), "items": SAMPLES, "draws": 1})
        self.assertEqual((checked["shape"], checked["dtype"]), ([BATCH, 3, SIDE, SIDE], "float32"))
        self.assertEqual(checked["samples"], [{"shape": [SIDE, SIDE, 3]}] * SAMPLES)
        found = numpy.fromfile(path, numpy.float32).reshape(SAMPLES, SIDE, SIDE, 3)
        for number, image in enumerate(found):
            meant = reference(self.images / f"{number:03d}.jpg", case_of(library).endswith("antialias"))
            self.assertLessEqual(float(numpy.abs(image - meant).mean()), LIMIT.get(library, USUAL_LIMIT), number)

    @each_library
    def test_batches_are_measured_in_whole_rounds(self, library, worker):
        digests = set()
        for workers, prefetch in ((1, 2), (2, 1)):
            prepared = self.prepare(library, worker, workers=workers, prefetch=prefetch, epoch_items=20)
            round_items = BATCH * (1 if library == "dali-cpu" else workers)  # whose threads share a batch
            self.assertEqual((prepared["items_per_pass"], prepared["bytes_per_item"]), (round_items, 4 * 3 * SIDE * SIDE))
            digests.add(worker.must("check")["digest"])
            self.assertGreater(worker.must("preflight", slow_item_s=0)["pass_ns"], 0)
            measured = worker.must("measure", case=case_of(library), passes=4, warmup_ms=1, warmup_limit_ms=1)
            self.assertEqual(measured["items_per_sample"], 4 * round_items)  # beyond the epoch of 2 batches
            self.assertEqual(len(measured["samples_ns"]), 1)
            self.assertGreater(measured["samples_ns"][0], 0)
            self.assertGreaterEqual(measured["cpu_ns"], 0)
            self.assertTrue(0 <= measured["details"]["prefetched_share"] <= 1)
            self.assertEqual(measured["details"]["workers"], workers)
        self.assertEqual(len(digests), 1)

    @each_library
    def test_another_way_of_its_guide_gives_batches_too(self, library, worker):
        variant = {"dali-cpu": "affinity", "spdl": "images"}.get(library)
        if variant:
            prepared = self.prepare(library, worker, variant=variant)
            self.assertEqual(prepared["items_per_pass"], BATCH)
            checked = worker.must("check")
            self.assertEqual((checked["shape"], checked["dtype"]), ([BATCH, 3, SIDE, SIDE], "float32"))
            measured = worker.must("measure", case=case_of(library), passes=12, warmup_ms=1, warmup_limit_ms=1)
            self.assertEqual(measured["items_per_sample"], 12 * BATCH)  # beyond the epoch of 8 batches
            worker.must("release")
        reply = self.prepare(library, worker, "ask", variant="sideways")
        self.assertEqual(reply["code"], "failed")
        self.assertIn("no variant 'sideways'", reply["reason"])

    @each_library
    def test_all_processes_stop_with_the_group_and_end_with_the_case(self, library, worker):
        self.prepare(library, worker)
        worker.must("check")
        main = worker.process.pid
        processes = family(main)
        self.assertEqual(len(processes), 3 if library in PROCESSES else 1)
        self.assertEqual({stat_of(pid)[2] for pid in processes}, {main})  # one group, its own
        os.killpg(main, signal.SIGSTOP)
        try:
            wait_for(lambda: {stat_of(pid)[0] for pid in processes} == {"T"}, "all are stopped")
        finally:
            os.killpg(main, signal.SIGCONT)
        measured = worker.must("measure", case=case_of(library), passes=2, warmup_ms=0, warmup_limit_ms=0)
        self.assertGreater(measured["samples_ns"][0], 0)
        worker.must("release")
        wait_for(lambda: family(main) == [main], "the worker processes are gone")

    @each_library
    def test_what_cannot_be_done_says_so(self, library, worker):
        reply = worker.ask("prepare", case="loader/other", spec={})
        self.assertEqual(reply["code"], "unsupported")
        self.assertIn(case_of(library), reply["reason"])
        for wrong, words in (({"batch_size": IMAGES + 1}, "more than the 64 files"), ({"workers": -1}, "'workers'"),
                             ({"prefetch": "many"}, "'prefetch'"), ({"batch_size": 8, "epoch_items": 7}, "7 files")):
            reply = self.prepare(library, worker, "ask", **wrong)
            self.assertEqual(reply["code"], "failed")
            self.assertIn(words, reply["reason"])
        self.assertEqual(worker.ask("load", data_dir=str(self.folder / "nowhere"), mode="loader")["code"], "failed")
        worker.must("load", data_dir="")
        self.assertEqual(self.prepare(library, worker, input=str(self.images))["items_per_pass"] % BATCH, 0)
        reply = self.prepare(library, worker, "ask", input="s3://bucket/images")
        self.assertEqual(reply["code"], "unsupported")

    @each_library
    def test_a_bad_file_fails_the_row_in_one_line(self, library, worker):
        worker.must("load", data_dir=str(self.broken), mode="loader")
        self.prepare(library, worker)
        reply = worker.ask("check")
        self.assertEqual(reply["code"], "failed")
        self.assertIn("003", reply["reason"])
        self.assertNotIn("Traceback", reply["reason"])
        worker.must("load", data_dir=str(self.broken), mode="loader", skip=["003.jpg"])
        self.prepare(library, worker)
        worker.must("check")


if __name__ == "__main__":
    if peer.python_of(GROUP) is None:
        print(f"skipped: no environment '{GROUP}'; make one with: sluice peers install {GROUP}")
        sys.exit(peer.SKIPPED)
    sys.argv.insert(1, GROUP)
    peer.enter("light")
    sys.argv.pop(1)
    unittest.main()
