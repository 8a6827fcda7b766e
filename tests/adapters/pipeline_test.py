# tests/adapters/pipeline_test.py - DataLoader rows end to end: scopes, workers, shapes, digests, bad files.
# SPDX-License-Identifier: Apache-2.0
import shutil
import tempfile
import unittest
from pathlib import Path

import peer

peer.enter("torch")

import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402

MEMORY = "memory_dataloader_augment"
DECODE = "decode_dataloader_augment"
DECODE_COPY = "decode_dataloader_augment_batch_copy"
LIBRARIES = ("albumentationsx", "torchvision", "kornia", "pillow")
ITEMS, BATCH = 5, 2


class PipelineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="sluice-pipeline-"))
        cls.images = cls.folder / "images"
        (cls.images / "deeper").mkdir(parents=True)
        pictures = [peer.picture(n, 230 + 10 * n, 300) for n in range(ITEMS)]
        for n, picture in enumerate(pictures):  # one is smaller than the crop
            Image.fromarray(picture).save(cls.images / ("deeper" if n % 2 else ".") / f"{n}.png")
        cls.inputs = peer.write_inputs(cls.folder, pictures)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def worker(self, library, scenario="image-rgb", **load):
        made = peer.Peer(peer.ADAPTERS / "pipeline_worker.py", library, "pipeline")
        self.addCleanup(made.close)
        made.start()
        if load:
            self.loaded = made.must("load", scenario=scenario, mode="pipeline", **load)
        return made

    def take(self, worker, transform, **fields):
        """prepare, check, preflight and measure; answers (prepared, checked, measured)."""
        case = peer.spec(transform, **{"batch_size": BATCH, "workers": 0, **fields})
        prepared = worker.must("prepare", case=transform, spec=case)
        checked = worker.must("check")
        self.assertGreaterEqual(worker.must("preflight", slow_item_s=0, items=2)["pass_ns"], 1)
        measured = worker.must("measure", case=transform, passes=1, warmup_ms=0, warmup_limit_ms=0)
        self.assertEqual(prepared["items_per_pass"], measured["items_per_sample"])
        self.assertGreater(measured["cpu_ns"], 0)
        self.assertEqual(checked["dtype"], "float32")
        self.assertEqual(prepared["bytes_per_item"] * checked["shape"][0], 4 * int(np.prod(checked["shape"])))
        return prepared, checked, measured

    def test_digests_are_the_same_for_any_number_of_workers_and_in_every_process(self):
        for library in LIBRARIES:
            with self.subTest(library):
                digests = {name: set() for name in ("RandomCrop224", "RandomResizedCrop", "Rotate")}
                for workers in ([0, 2], [1]):
                    process = self.worker(library, inputs=self.inputs, data_dir="")
                    self.assertEqual(self.loaded["items"], ITEMS)
                    for name, seen in digests.items():
                        for count in workers:
                            _, checked, _ = self.take(process, name, scope=MEMORY, workers=count)
                            self.assertEqual(checked["shape"], [BATCH, 3, 224, 224])
                            seen.add(checked["digest"])
                self.assertEqual([len(seen) for seen in digests.values()], [1, 1, 1])

    def test_decode_scope_reads_the_files_and_agrees_with_memory(self):
        for library in LIBRARIES:  # PNG: every reader gives the same pixels
            with self.subTest(library):
                memory = self.worker(library, inputs=self.inputs, data_dir="")
                from_memory = self.take(memory, "HorizontalFlip", scope=MEMORY, batch_size=1)[1]
                files = self.worker(library, data_dir=str(self.images), num_items=4)
                self.assertEqual(self.loaded, {**self.loaded, "items": 4, "bytes": 0})
                for workers in (0, 2):
                    prepared, from_file, _ = self.take(files, "HorizontalFlip", scope=DECODE, workers=workers, batch_size=1)
                    self.assertEqual(from_file["digest"], from_memory["digest"])
                    self.assertEqual(prepared["items_per_pass"], 4)

    def test_batches_have_the_shape_of_their_recipe(self):
        sides = {"HorizontalFlip": 224, "Pad": 244, "Resize": 512, "LongestMaxSize": 512, "SmallestMaxSize": 512}
        lacks = {"torchvision": {"LongestMaxSize", "SmallestMaxSize"}, "kornia": {"Pad"},
                 "pillow": {"LongestMaxSize", "SmallestMaxSize"}}
        for library in LIBRARIES:
            process = self.worker(library, inputs=self.inputs, data_dir="")
            for name, side in sides.items():
                with self.subTest(library=library, transform=name):
                    if name in lacks.get(library, ()):
                        reply = process.ask("prepare", case=name, spec=peer.spec(name, scope=MEMORY))
                        self.assertEqual((reply["code"], reply["reason"]), ("unsupported", f"{name} is not available in {library}"))
                        continue
                    shape = self.take(process, name, scope=MEMORY)[1]["shape"]
                    self.assertEqual(shape, [BATCH, 3, side, side])

    def test_nine_channels_are_stacked_after_decode(self):
        for library in ("albumentationsx", "torchvision", "kornia"):
            with self.subTest(library):
                process = self.worker(library, "image-9ch", data_dir=str(self.images))
                for name in ("HorizontalFlip", "Grayscale"):
                    shape = self.take(process, name, scenario="image-9ch", scope=DECODE)[1]["shape"]
                    self.assertEqual(shape, [BATCH, 9, 224, 224])
        pillow = self.worker("pillow", "image-9ch", data_dir=str(self.images))
        reply = pillow.ask("prepare", case="x", spec=peer.spec("HorizontalFlip", "image-9ch", scope=DECODE))
        self.assertEqual(reply["code"], "unsupported")

    def test_clips_from_memory_and_from_files(self):
        clips = self.folder / "clips"
        clips.mkdir(exist_ok=True)
        for n, frames in enumerate((40, 9, 20)):
            peer.write_clip(clips / f"{n}.mp4", frames, size=(256, 240))
        folder = self.folder / "clip-inputs"
        folder.mkdir(exist_ok=True)
        inputs = peer.write_inputs(folder, [np.stack([peer.picture(n)] * 16) for n in range(3)])
        for library in ("albumentationsx", "torchvision", "kornia"):
            with self.subTest(library):
                process = self.worker(library, "video-16f", inputs=inputs, data_dir="")
                shape = self.take(process, "Rotate", scenario="video-16f", scope=MEMORY)[1]["shape"]
                self.assertEqual(shape, [BATCH, 16, 3, 224, 224])
                files = process.must("load", scenario="video-16f", mode="pipeline", data_dir=str(clips))
                self.assertEqual(files["items"], 3)
                shape = self.take(process, "HorizontalFlip", scenario="video-16f", scope=DECODE, workers=1)[1]["shape"]
                self.assertEqual(shape, [BATCH, 16, 3, 224, 224])

    def test_samples_go_on_until_time_and_batches_are_enough(self):
        process = self.worker("pillow", inputs=self.inputs, data_dir="")
        measured = self.take(process, "HorizontalFlip", scope=MEMORY, min_batches=7)[2]
        self.assertEqual(len(measured["samples_ns"]), 3)  # 3 batches in an epoch
        process.must("prepare", case="x", spec=peer.spec("HorizontalFlip", scope=MEMORY, min_time_s=0.05, batch_size=2))
        process.must("check")
        measured = process.must("measure", case="x", passes=2, warmup_ms=0, warmup_limit_ms=0)
        self.assertGreaterEqual(sum(measured["samples_ns"]), 50_000_000)
        self.assertEqual(measured["items_per_sample"], 2 * ITEMS)

    def test_a_bad_file_fails_the_row_by_name_and_can_be_skipped(self):
        broken = self.folder / "broken"
        shutil.copytree(self.images, broken)
        (broken / "deeper" / "0bad.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing more")
        for library in LIBRARIES:
            with self.subTest(library):
                process = self.worker(library, data_dir=str(broken))
                for workers in (0, 2):
                    process.must("prepare", case="x",
                                 spec=peer.spec("HorizontalFlip", scope=DECODE, workers=workers, batch_size=8))
                    reply = process.ask("check")
                    self.assertEqual(reply["code"], "failed")
                    self.assertIn("0bad.png", reply["reason"])
                    self.assertNotIn("Traceback", reply["reason"])
                process.must("load", scenario="image-rgb", mode="pipeline", data_dir=str(broken),
                             skip=["deeper/0bad.png"])
                self.assertEqual(self.take(process, "HorizontalFlip", scope=DECODE)[0]["items_per_pass"], ITEMS)

    def test_what_cannot_be_done_says_so(self):
        import torch
        process = self.worker("albumentationsx", data_dir=str(self.images))
        reply = process.ask("prepare", case="x", spec=peer.spec("Levitate", scope=DECODE))
        self.assertEqual((reply["code"], reply["reason"]), ("unsupported", "Levitate is not available in albumentationsx"))
        reply = process.ask("prepare", case="x", spec=peer.spec("HorizontalFlip", scope=MEMORY))
        self.assertEqual(reply["code"], "failed")
        self.assertIn("were not loaded", reply["reason"])
        reply = process.ask("prepare", case="x", spec=peer.spec("HorizontalFlip", scope="all"))
        self.assertIn("unknown scope 'all'", reply["reason"])
        if not torch.cuda.is_available():
            reply = process.ask("prepare", case="x", spec=peer.spec("HorizontalFlip", scope=DECODE_COPY))
            self.assertEqual((reply["code"], reply["reason"]), ("unsupported", "no CUDA device to copy batches to"))
        reply = process.ask("load", scenario="image-rgb", mode="pipeline", data_dir=str(self.folder / "nowhere"))
        self.assertIn("no image files", reply["reason"])

    def test_devices_that_are_not_there(self):
        import torch
        if torch.cuda.is_available():
            self.skipTest("there is one")
        for library, reason in (("kornia", "no CUDA device"), ("pillow", "pillow does not run on device 'cuda'")):
            made = peer.Peer(peer.ADAPTERS / "pipeline_worker.py", library, "pipeline")
            self.addCleanup(made.close)
            made.must("hello", protocol=1)
            reply = made.ask("configure", threads=1, device="cuda", seed=1, thread_policy="pipeline-default")
            self.assertEqual((reply["code"], reply["reason"]), ("unsupported", reason))


if __name__ == "__main__":
    unittest.main()
