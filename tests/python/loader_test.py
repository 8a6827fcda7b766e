# tests/python/loader_test.py - what sluice.Loader gives: the bytes of the C++ loader, epochs, ranks, arrays without a copy.
# SPDX-License-Identifier: Apache-2.0
import gc
import hashlib
import os
import subprocess
import sys
import unittest
from unittest import mock

from support import BUILD, PhotoTest
import numpy as np
import sluice


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


class ContentTest(PhotoTest):
    def probe(self, *words):
        program = BUILD / "tests" / "python" / "loader_probe"
        return [line.split() for line in subprocess.run([program, *map(str, words)], check=True, capture_output=True,
                                                        text=True).stdout.splitlines()]

    def test_batches_are_those_of_the_cpp_loader(self):
        recipes = {"imagenet-train": sluice.Recipe("imagenet-train", size=48), "three-augment": sluice.Recipe("three-augment", size=48),
                   "centre-u8-hwc": sluice.Recipe("centre-crop", size=48, dtype="uint8", layout="hwc")}
        for name, recipe in recipes.items():
            for workers in (0, 1, 3):
                with self.subTest(recipe=name, workers=workers), \
                        sluice.Loader(self.photos, recipe, batch_size=7, workers=workers, seed=5, drop_last=False) as loader:
                    loader.set_epoch(3)
                    found = [[digest(images), digest(labels), digest(loader.indices)] for images, labels in loader]
                    self.assertEqual(len(found), len(loader))
                    self.assertEqual(found, self.probe(self.photos, name, 7, 5, 3))

    def test_types_shapes_and_labels(self):
        for dtype, layout in (("float32", "chw"), ("float16", "hwc"), ("uint8", "hwc")):
            recipe = sluice.Recipe("resize", size=(32, 40), dtype=dtype, layout=layout)
            with self.subTest(dtype=dtype), sluice.Loader(self.photos, recipe, batch_size=10, workers=1) as loader:
                images, labels = next(iter(loader))
                self.assertEqual(images.shape, (10, 3, 32, 40) if layout == "chw" else (10, 32, 40, 3))
                self.assertEqual((images.dtype, labels.dtype), (np.dtype(dtype), np.dtype("int64")))
                classes = sorted({path.parent.name for path in self.photos.glob("*/*.jpg")})
                for index, label in zip(loader.indices, labels):
                    self.assertEqual(loader.sample_name(int(index)).split("/")[0], classes[label])

    def test_own_normalisation_and_transforms(self):
        steps = [("Resize", {"target_size": 64}), "HorizontalFlip"]
        with sluice.Loader(self.photos, sluice.Recipe(steps, size=(64, 64), dtype="uint8", layout="hwc"), batch_size=4, workers=1,
                           shuffle="none") as loader:
            images, _ = next(iter(loader))
            pipeline = sluice.augment.Compose(steps)
            for i, index in enumerate(loader.indices):
                photo = sluice.decode(self.photos / loader.sample_name(int(index)))
                np.testing.assert_array_equal(images[i], pipeline(photo, index=int(index)))
        plain = sluice.Recipe("centre-crop", size=32, mean=(0, 0, 0), std=(1, 1, 1))
        bytes_ = sluice.Recipe("centre-crop", size=32, dtype="uint8")
        with sluice.Loader(self.photos, plain, batch_size=40) as a, sluice.Loader(self.photos, bytes_, batch_size=40) as b:
            np.testing.assert_allclose(next(iter(a))[0], next(iter(b))[0] / 255.0, atol=1e-6)


class EpochTest(PhotoTest):
    def loader(self, **options):
        options = {"batch_size": 8, "workers": 2, "seed": 1, **options}
        made = sluice.Loader(self.photos, sluice.Recipe(size=16, dtype="uint8"), **options)
        self.addCleanup(made.close)
        return made

    def orders(self, loader, epochs=1):
        return [[loader.indices.tolist() for _ in loader] for _ in range(epochs)]

    def test_every_iteration_is_an_epoch(self):
        loader = self.loader()
        first, second = self.orders(loader, 2)
        self.assertNotEqual(first, second)
        self.assertEqual(sorted(sum(first, [])), list(range(40)))
        loader.set_epoch(0)
        self.assertEqual(self.orders(loader, 2), [first, second])

    def test_breaking_out_begins_the_next_epoch(self):
        loader = self.loader()
        for _ in loader:
            break
        other = self.loader()
        other.set_epoch(1)
        self.assertEqual(self.orders(loader), self.orders(other))

    def test_a_second_iteration_ends_the_first(self):
        loader = self.loader()
        first = iter(loader)
        next(first)
        second = iter(loader)
        with self.assertRaisesRegex(RuntimeError, "another iteration of this loader has begun"):
            next(first)
        self.assertEqual(len(list(second)), 5)
        self.assertEqual(list(second), [])  # stays at its end

    def test_ranks_share_an_epoch(self):
        parts = [self.orders(self.loader(batch_size=4, rank=rank, world=3, drop_last=False))[0] for rank in range(3)]
        self.assertEqual(sorted(sum(sum(parts, []), [])), list(range(40)))
        with mock.patch.dict(os.environ, {"RANK": "2", "WORLD_SIZE": "3"}):
            loader = self.loader(batch_size=4, drop_last=False)
            self.assertEqual((loader.rank, loader.world), (2, 3))
            self.assertEqual(self.orders(loader)[0], parts[2])

    def test_len_is_that_of_an_epoch(self):
        for batch, drop_last, want in ((8, True, 5), (7, True, 5), (7, False, 6), (40, True, 1)):
            self.assertEqual(len(self.loader(batch_size=batch, drop_last=drop_last)), want)

    def test_workers_may_end_with_the_epoch(self):
        self.assertEqual(self.orders(self.loader(persistent=False), 2), self.orders(self.loader(), 2))


class ArrayTest(PhotoTest):
    def setUp(self):
        self.loader = sluice.Loader(self.photos, sluice.Recipe(size=16, dtype="uint8"), batch_size=4, workers=2, prefetch=2)
        self.addCleanup(self.loader.close)

    def address(self, array):
        return array.__array_interface__["data"][0]

    def test_batches_are_memory_of_the_loader(self):
        slots = {self.address(images) for images, _ in self.loader}
        self.assertLessEqual(len(slots), 4)  # prefetch 2 and the two that are held

    def test_an_array_lives_as_long_as_anything_refers_to_it(self):
        iteration = iter(self.loader)
        images, labels = next(iteration)
        part, copy = images[1, :, 3:9], images.copy()
        want = labels.tolist()
        del images, iteration
        for _ in self.loader:
            pass
        self.loader.close()
        del self.loader
        gc.collect()
        np.testing.assert_array_equal(part, copy[1, :, 3:9])
        self.assertEqual(labels.tolist(), want)

    def test_who_keeps_all_batches_gets_copies_of_most(self):
        kept = list(self.loader)
        self.assertEqual(len(kept), 10)
        self.assertEqual(len({self.address(images) for images, _ in kept}), 10)
        self.loader.set_epoch(0)
        for (kept_images, kept_labels), (images, labels) in zip(kept, self.loader, strict=True):
            np.testing.assert_array_equal(kept_images, images)
            np.testing.assert_array_equal(kept_labels, labels)

    def test_arrays_travel_by_dlpack_without_a_copy(self):
        images, _ = next(iter(self.loader))
        self.assertEqual(self.address(np.from_dlpack(images)), self.address(images))


class RefusalTest(PhotoTest):
    def refused(self, kind, words, *arguments, **options):
        with self.assertRaisesRegex(kind, words) as caught:
            sluice.Loader(*arguments, **options)
        self.assertEqual(str(caught.exception).count("\n"), 0)

    def test_wrong_arguments_are_one_line_that_says_what_is_accepted(self):
        photos = self.photos
        self.refused(FileNotFoundError, "nowhere: cannot be opened", "nowhere")
        (self.folder / "empty").mkdir()
        self.refused(ValueError, "empty: ", self.folder / "empty")
        self.refused(TypeError, "batch_size is 'many'; accepted: a whole number from 1", photos, batch_size="many")
        self.refused(ValueError, "batch_size is 0; accepted: a whole number from 1", photos, batch_size=0)
        self.refused(ValueError, "a batch of 41 is larger than the dataset of 40", photos, batch_size=41)
        self.refused(ValueError, "workers is -1", photos, workers=-1)
        self.refused(ValueError, "recipe is 'imagenet'; accepted: imagenet-train", photos, "imagenet")
        self.refused(ValueError, "no transform 'Blurr'; did you mean 'Blur'", photos, ["Blurr"])
        self.refused(TypeError, "a step is 3; accepted", photos, [3])
        self.refused(ValueError, "device is 'tpu'; accepted: cpu, cuda", photos, device="tpu")
        self.refused(ValueError, "rank is 1 and world is None; accepted: both", photos, rank=1)
        self.refused(ValueError, "rank is 2; accepted: a whole number from 0 to 1", photos, rank=2, world=2)
        self.refused(ValueError, "tensors is 'cupy'; accepted: numpy", photos, tensors="cupy")
        with mock.patch("importlib.util.find_spec", return_value=None), mock.patch.dict(sys.modules):
            for name in ("torch", "jax"):
                sys.modules.pop(name, None)
                self.refused(ValueError, f"tensors is '{name}', and {name} is not installed in this environment; accepted: numpy", photos, tensors=name)
        self.refused(ValueError, "on_error is 'ignore'; accepted: fail, skip", photos, on_error="ignore")
        self.refused(ValueError, "timeout is nan", photos, timeout=float("nan"))
        self.refused(TypeError, "drop_last is 1; accepted: True or False", photos, drop_last=1)
        with self.assertRaisesRegex(ValueError, "mean is .*; accepted: 3 numbers"):
            sluice.Recipe(mean=(1, 2), std=(1, 2))
        with self.assertRaisesRegex(ValueError, "one of mean and std is given"):
            sluice.Recipe(mean=(1, 2, 3))
        self.refused(ValueError, "size is 32 x 40; accepted by 'imagenet-train': one number", photos, sluice.Recipe(size=(32, 40)))
        self.refused(ValueError, "'bfloat16', which numpy does not have", photos, sluice.Recipe(dtype="bfloat16"))

    def test_a_corrupt_sample_is_named_or_passed_over(self):
        broken = self.folder / "broken"
        (broken / "a").mkdir(parents=True)
        for i, path in enumerate(sorted(self.photos.glob("*/*.jpg"))[:8]):
            (broken / "a" / f"{i}.jpg").write_bytes(b"no photograph" if i == 5 else path.read_bytes())
        recipe = sluice.Recipe(size=16)
        with sluice.Loader(broken, recipe, batch_size=2, shuffle="none", workers=2) as loader:
            taken = []
            with self.assertRaisesRegex(ValueError, "a/5.jpg: not a JPEG, PNG or WebP"):
                for _ in loader:
                    taken += loader.indices.tolist()
            self.assertEqual(taken, [0, 1, 2, 3])
        with sluice.Loader(broken, recipe, batch_size=2, shuffle="none", workers=2, on_error="skip") as loader:
            self.assertEqual([loader.indices.tolist() for _ in loader], [[0, 1], [2, 3], [4, 6], [6, 7]])
            self.assertEqual(loader.stats()["batches"], 4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
