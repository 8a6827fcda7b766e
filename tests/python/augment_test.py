# tests/python/augment_test.py - sluice.augment: every transform gives what the command gives, on any array.
# SPDX-License-Identifier: Apache-2.0
import json
import sys
import threading
import unittest
from pathlib import Path

from support import ROOT, PhotoTest, sluice as command
sys.path.insert(0, str(ROOT / "tests" / "adapters"))
import peer  # noqa: E402
import numpy as np
import sluice
from sluice import augment


class AugmentTest(PhotoTest):
    COUNT = 4

    def setUp(self):
        self.files = sorted(self.photos.glob("*/*.jpg"))
        self.image = sluice.decode(self.files[0])

    def of_command(self, pipeline, image, *arguments):
        """What `sluice augment` writes for an image, and what it drew."""
        out = self.folder / "augmented"
        source = self.folder / "input.npy"
        np.save(source, image)
        (self.folder / "pipeline.yaml").write_text(json.dumps(pipeline))
        document = json.loads(command("augment", source, "--pipeline", self.folder / "pipeline.yaml", "--out", out, "--json",
                                      "--force", *arguments))
        item = document["items"][0]
        path = item["output"]
        return (np.load(path) if path.endswith(".npy") else sluice.decode(path)), item["steps"]

    def test_every_transform_equals_the_command(self):
        self.assertGreaterEqual(len(augment.names()), 57)
        every = [{"steps": [name]} for name in augment.names()]
        for pipeline in every:
            name = pipeline["steps"][0]
            with self.subTest(transform=name):
                want, draws = self.of_command(pipeline, self.image, "--index", 3, "--seed", 5)
                transform = getattr(augment, name)(seed=5)
                found = transform(self.image, index=3)
                if found.dtype == np.uint8 and found.shape[2] != 3:  # a PNG of one channel is read as RGB
                    want = want[:, :, :found.shape[2]]
                np.testing.assert_array_equal(found, want)
                self.assertEqual(transform.sample(self.image, index=3), draws)
                np.testing.assert_array_equal(transform.replay(self.image, draws), found)

    def test_a_list_equals_the_command(self):
        steps = ["HorizontalFlip", ("Rotate", {}, 0.5), "Blur", ("Rotate", {}, 0.5), ("Normalize", {})]
        pipeline = {"steps": ["HorizontalFlip", {"Rotate": {}, "p": 0.5}, "Blur", {"Rotate": {}, "p": 0.5}, "Normalize"]}
        compose = augment.Compose(steps, seed=2)
        for index in range(4):
            want, _ = self.of_command(pipeline, self.image, "--index", index, "--seed", 2)
            np.testing.assert_array_equal(compose(self.image), want)  # calls count by themselves
        loaded = augment.Compose.load(self.folder / "pipeline.yaml", seed=2)
        np.testing.assert_array_equal(loaded(self.image, index=1), compose(self.image, index=1))
        nested = augment.Compose([augment.HorizontalFlip(), augment.Compose(steps[1:])], seed=2)
        np.testing.assert_array_equal(nested(self.image, index=1), compose(self.image, index=1))

    def test_arrays_of_any_order_of_memory(self):
        blur = augment.Blur()
        want = blur(self.image)
        wide = np.zeros((70, 200, 3), np.uint8)
        wide[:, 50:140] = self.image
        for same in (wide[:, 50:140], np.asfortranarray(self.image), self.image[::-1][::-1], self.image.copy()):
            np.testing.assert_array_equal(blur(same), want)
        readonly = self.image.copy()
        readonly.flags.writeable = False
        np.testing.assert_array_equal(blur(readonly), want)
        np.testing.assert_array_equal(readonly, self.image)

    def test_frames_of_a_clip_get_one_draw(self):
        clip = np.stack([sluice.decode(path) for path in self.files])
        for pipeline in (augment.Rotate(seed=1), augment.Compose(["Rotate", "ColorJitter"], seed=1)):
            found = pipeline(clip, index=8)
            for frame, result in zip(clip, found, strict=True):
                np.testing.assert_array_equal(result, pipeline(frame, index=8))

    def test_float_images_and_probability_zero(self):
        floats = (self.image / 255).astype(np.float32)
        found = augment.HorizontalFlip()(floats)
        self.assertEqual(found.dtype, np.float32)
        np.testing.assert_array_equal(found, floats[:, ::-1])
        same = augment.HorizontalFlip(p=0)(self.image)
        np.testing.assert_array_equal(same, self.image)
        self.assertFalse(np.shares_memory(same, self.image))

    def test_threads_share_a_pipeline(self):
        pipeline = augment.Compose(["Rotate", "ColorJitter", "GaussianBlur"])
        want = [pipeline(self.image, index=i) for i in range(12)]
        wrong = []

        def work(first):
            for i in range(first, 12, 3):
                if not np.array_equal(pipeline(self.image, index=i), want[i]):
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(first,)) for first in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_what_is_refused(self):
        flip = augment.HorizontalFlip()
        for image, kind, words in ((5, TypeError, "the image is a int; accepted: an array"), (None, TypeError, "NoneType"),
                                   (np.zeros((4, 4, 3)), ValueError, "the image is an array of float64; accepted: uint8, float32"),
                                   (np.zeros((4, 4, 3), np.int8), ValueError, "the image is an array of int8; accepted: uint8, float32"),
                                   (np.zeros((4, 4, 3), bool), ValueError, "the image is an array of bool; accepted: uint8, float32"),
                                   (np.zeros((4, 4), np.uint8), ValueError, r"shape \(4, 4\); accepted: \(height"),
                                   (np.zeros((0, 4, 3), np.uint8), ValueError, r"shape \(0, 4, 3\)"),
                                   (np.zeros((4, 4, 99), np.uint8), ValueError, "99")):
            with self.subTest(image=type(image)), self.assertRaisesRegex(kind, words):
                flip(image)
        with self.assertRaisesRegex(ValueError, "Blur: unknown parameter 'size': accepted are"):
            augment.Blur(size=3)
        with self.assertRaisesRegex(AttributeError, "no transform 'Blurr'"):
            augment.Blurr
        with self.assertRaisesRegex(ValueError, "p is 2; accepted: a number from 0 to 1"):
            augment.Blur(p=2)
        with self.assertRaisesRegex(ValueError, "draws"):
            flip.replay(self.image, [{}, {}])
        with self.assertRaisesRegex(TypeError, "the parameters of Blur are 3; accepted: a dict"):
            augment.Compose([("Blur", 3)])

    def test_every_class_says_what_it_does(self):
        for name in augment.names():
            self.assertIn(augment._records()[name]["doc"], getattr(augment, name).__doc__)
        self.assertIn("HorizontalFlip", dir(augment))

    def test_the_worker_of_the_comparison_tells_its_version(self):
        worker = peer.Peer(ROOT / "bench" / "augment_worker.py", str(Path(sluice.__file__).parents[1]))
        self.addCleanup(worker.close)
        hello = worker.must("hello", protocol=1)
        self.assertEqual((hello["name"], hello["version"]), ("sluice-augment", sluice.__version__))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
