# tests/adapters/dali_test.py - DALI: no device is an answer, and every graph runs on DALI's CPU backend.
# SPDX-License-Identifier: Apache-2.0
"""The first class needs no package and no GPU; the second wants the group `dali` and is left out without it."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import peer

sys.path.insert(0, str(peer.ADAPTERS))
import dali_worker  # noqa: E402

PARAMS = {
    **peer.PARAMS,
    "VerticalFlip": {},
    "ColorJitter": {"brightness": 0.5, "contrast": 1.5, "saturation": 1.5, "hue": 0.5},
    "GaussianNoise": {"mean": 0, "std": 0.44, "per_channel": True},
    "Equalize": {"mode": "pil"},
    "Erasing": {"scale": [0.02, 0.33], "ratio": [0.3, 3.3], "fill": 0},
    "JpegCompression": {"quality": 50},
    "CLAHE": {"clip_limit": [1, 4], "tile_grid": [8, 8]},
    "Contrast": {"contrast_limit": [0.2, 0.2]},
    "Hue": {"hue": 20},
    "SaltAndPepper": {"amount": [0.01, 0.06], "salt_vs_pepper": [0.4, 0.6]},
    "Saturation": {"saturation_factor": 0.5},
    "Shear": {"shear": 10},
    "ColorJiggle": {"brightness": [0.875, 1.125], "contrast": [0.5, 1.5], "saturation": [0.5, 1.5],
                    "hue": [-0.05, 0.05]},
}
MAKE_MEDIA = """
import sys, pathlib
sys.path.insert(0, sys.argv[1])
import peer
from PIL import Image
folder = pathlib.Path(sys.argv[2])
for kind in ("images", "clips"):
    (folder / kind).mkdir()
for n in range(5):
    Image.fromarray(peer.picture(n)).save(folder / "images" / f"{n}.jpg", quality=92)
for n in range(3):
    peer.write_clip(folder / "clips" / f"{n}.mp4", 20 - 5 * n, codec="libvpx-vp9")
"""


class DeviceTest(unittest.TestCase):
    def test_there_are_22_operators(self):
        self.assertEqual(len(dali_worker.OPERATORS), 22)
        self.assertEqual(set(dali_worker.OPERATORS) - set(PARAMS), set())

    def test_without_a_device_configure_says_so(self):
        if dali_worker.cuda_devices():
            self.skipTest("there is one")
        worker = peer.Peer(peer.ADAPTERS / "dali_worker.py", "dali", "pipeline")
        self.addCleanup(worker.close)
        worker.must("hello", protocol=1)
        for device in ("cuda", "cpu"):
            reply = worker.ask("configure", threads=1, device=device, seed=1, thread_policy="pipeline-default")
            self.assertEqual((reply["code"], reply["reason"]), ("unsupported", "no CUDA device"))


@unittest.skipUnless(os.environ.get("SLUICE_TEST_ENTERED") == "dali", "no environment 'dali'")
class GraphTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="sluice-dali-"))
        made = subprocess.run([peer.python_of("torch"), "-B", "-c", MAKE_MEDIA, str(Path(__file__).parent), str(cls.folder)])
        if made.returncode != 0:
            raise RuntimeError("no media")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def mode(self, scenario):
        class OnCpu(dali_worker.DaliPipeline):
            device = "cpu"

        mode = OnCpu(dali_worker.Dali())
        mode.load({"scenario": scenario, "data_dir": str(self.folder / ("clips" if "video" in scenario else "images"))})
        return mode

    def test_image_graphs(self):
        sides = {"Resize": 512, "Pad": 244}
        for name in dali_worker.OPERATORS:
            with self.subTest(name):
                case = {**peer.spec(name), "params": PARAMS[name], "batch_size": 2, "workers": 1}
                mode, again = self.mode("image-rgb"), self.mode("image-rgb")
                self.assertEqual(mode.prepare(case)["items_per_pass"], 5)
                side = sides.get(name, 224)
                checked = mode.check(None)
                self.assertEqual(checked["shape"], [2, 3, side, side])
                again.prepare(case)
                self.assertEqual(again.check(None)["digest"], checked["digest"])
                self.assertEqual(mode.measure(2, 0, 0)["items_per_sample"], 10)

    def test_clip_graphs(self):
        unsupported = []
        for name in dali_worker.OPERATORS:
            mode = self.mode("video-16f")
            mode.prepare({**peer.spec(name, "video-16f"), "params": PARAMS[name], "batch_size": 2})
            try:
                self.assertEqual(mode.check(None)["shape"][:3], [2, 16, 3])
            except dali_worker.Unsupported as problem:
                unsupported.append(f"{name}: {problem}")
        self.assertEqual(len(unsupported), 1, unsupported)  # CLAHE takes no sequences
        self.assertIn("layout", unsupported[0])

    def test_what_dali_lacks_and_other_scopes(self):
        mode = self.mode("image-rgb")
        for case in (peer.spec("Posterize"), peer.spec("HorizontalFlip", scope="memory_dataloader_augment"),
                     peer.spec("HorizontalFlip", "image-9ch")):
            with self.assertRaises(dali_worker.Unsupported):
                mode.prepare(case)


if __name__ == "__main__":
    if peer.python_of("dali") and peer.python_of("torch"):
        peer.enter("dali")
    unittest.main()
