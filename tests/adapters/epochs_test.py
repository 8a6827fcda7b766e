# tests/adapters/epochs_test.py - how epochs are built, consumed and accounted, with recipes made up here.
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import tempfile
import time
import unittest

import peer

peer.enter("torch")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from PIL import Image  # noqa: E402
from pipeline_worker import piped  # noqa: E402
from sluice_worker import Failed, Spec, Unsupported  # noqa: E402
from sluice_worker.epochs import DECODE, DECODE_COPY, MEMORY, Epochs, Samples, loader_reason, to_device  # noqa: E402
from sluice_worker.media import frame_indices  # noqa: E402
from sluice_worker.modes.pipeline import Pipeline  # noqa: E402

CPU = torch.device("cpu")
BURN_S = 0.03


class Scripted:
    """A recipe without a library."""

    on_device = False
    statistics = None

    def __init__(self, item):
        self.item = item

    def seed(self, seed):
        pass


def burn(sample):
    """Uses up processor time, however long that takes."""
    until = time.process_time() + BURN_S
    while time.process_time() < until:
        pass
    return torch.zeros(3, 2, 2)


def epochs(item, items=4, **fields):
    recipe = Scripted(item)
    spec = {"scope": MEMORY, "batch_size": 2, "workers": 0, **fields}
    return Epochs(recipe, Samples(list(range(items)), recipe.item), spec, 1, CPU)


class EpochsTest(unittest.TestCase):
    def test_processor_time_counts_the_loader_processes(self):
        for workers in (0, 2):
            measured = epochs(burn, workers=workers).measure(1)
            self.assertGreaterEqual(measured["cpu_ns"], 0.9 * 4 * BURN_S * 1e9, f"{workers} workers")

    def test_every_loader_process_is_gone_after_an_epoch(self):
        import multiprocessing
        whole = epochs(lambda n: torch.full((3, 2, 2), float(n)), items=5, workers=2)
        seen = torch.cat(list(whole.batches()))
        self.assertEqual(seen[:, 0, 0, 0].tolist(), [0, 1, 2, 3, 4])  # in order, the last batch not dropped
        self.assertEqual(multiprocessing.active_children(), [])

        def bad(n):
            raise ValueError("no")

        with self.assertRaises(Exception):
            list(epochs(bad, workers=2).batches())
        self.assertEqual(multiprocessing.active_children(), [])
        epochs(burn, items=100, workers=2).item_ns(50, 0.0001)  # stops in the middle
        self.assertEqual(multiprocessing.active_children(), [])

    def test_a_batch_that_is_no_tensor_is_refused(self):
        for item in (lambda n: {"image": torch.zeros(2)}, lambda n: n):
            with self.assertRaises(TypeError):
                list(epochs(item).batches())

    def test_preflight_stops_once_too_slow_for_certain(self):
        done = []

        def slow(n):
            done.append(n)
            return burn(n)

        whole = epochs(slow, items=100)
        self.assertGreaterEqual(whole.item_ns(50, 0.0001), 0.0001 * 1e9)
        self.assertLess(len(done), 50)

    def test_reasons_are_the_library_s_own_first_line(self):
        def bad(n):
            raise ValueError("cannot do this\nnot even a bit")

        for workers in (0, 1):
            with self.assertRaises(Exception) as caught:
                list(epochs(bad, workers=workers).batches())
            self.assertEqual(loader_reason(caught.exception), "ValueError: cannot do this")
        ragged = epochs(lambda n: torch.zeros(3, n + 1, 2), workers=1)
        with self.assertRaises(Exception) as caught:
            list(ragged.batches())
        self.assertRegex(loader_reason(caught.exception), r"^RuntimeError: .*equal size")

    def test_a_device_that_gives_up_fails(self):
        def full(n):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")

        with self.assertRaises(Failed):
            Pipeline.tried(lambda: full(0), Unsupported)

    def test_bad_files_fail_and_libraries_refuse(self):
        def bad(n):
            raise ValueError("no")

        with self.assertRaises(Unsupported):
            Pipeline.tried(epochs(bad, workers=1).first_batch, Unsupported)
        unreadable = epochs(burn, workers=1)
        unreadable.samples = Samples(["a/b.png"], burn, read=bad)
        with self.assertRaises(Failed) as caught:
            Pipeline.tried(unreadable.first_batch, Unsupported)
        self.assertEqual(str(caught.exception), "b.png: ValueError: no")

    def test_the_batch_copy_is_float(self):
        batch = torch.arange(6, dtype=torch.uint8).view(2, 3)
        copied = to_device(batch, CPU)
        self.assertEqual((copied.dtype, copied.tolist()), (torch.float32, batch.tolist()))
        whole = epochs(lambda n: torch.full((3, 2, 2), n, dtype=torch.uint8), scope=DECODE_COPY)
        self.assertEqual({batch.dtype for batch in whole.batches()}, {torch.float32})

    @unittest.skipUnless(torch.cuda.is_available(), "no CUDA device")
    def test_the_batch_copy_reaches_the_device(self):
        recipe = Scripted(lambda n: torch.full((3, 2, 2), float(n)))
        spec = {"scope": DECODE_COPY, "batch_size": 2, "workers": 1}
        whole = Epochs(recipe, Samples([0, 1, 2], recipe.item), spec, 1, torch.device("cuda"))
        self.assertTrue(all(batch.is_cuda for batch in whole.batches()))
        self.assertGreater(whole.measure(1)["gpu_memory"]["peak_allocated_bytes"], 0)


class FrameIndicesTest(unittest.TestCase):
    def test_spread_rounded_down_and_repeated_when_short(self):
        self.assertEqual(frame_indices(32, 16).tolist(), [int(i * 31 / 15) for i in range(16)])
        self.assertEqual(frame_indices(16, 16).tolist(), list(range(16)))
        self.assertEqual(frame_indices(3, 5).tolist(), [0, 1, 2, 2, 2])
        self.assertEqual(frame_indices(0, 3).tolist(), [0, 0, 0])


class ClipRecipeTest(unittest.TestCase):
    def test_parameters_are_drawn_once_per_clip(self):
        clip = np.stack([peer.picture(1, 240, 256)] * 16)
        for library in ("albumentationsx", "torchvision", "kornia"):
            with self.subTest(library):
                adapter = piped(library)
                adapter.open()
                recipe = adapter.recipes.recipe(Spec.read(peer.spec("Rotate", "video-16f")), CPU, False)
                adapter.reseed(3)
                recipe.seed(3)
                first, second = (recipe.item(adapter.recipes.sample(clip)) for _ in range(2))
                self.assertEqual(tuple(first.shape), (16, 3, 224, 224))
                self.assertTrue(all(torch.equal(frame, first[0]) for frame in first))
                self.assertFalse(torch.equal(first, second))


class SplitRecipeTest(unittest.TestCase):
    """The work of device rows, here on the host: loader processes crop, the main process does the rest."""

    def both(self, library, name, scenario, arrays):
        """(what the loader alone gives, what the split gives) for items that the crop leaves as they are."""
        adapter = piped(library)
        adapter.open()
        spec = Spec.read(peer.spec(name, scenario))
        samples = [adapter.recipes.sample(array) for array in arrays]
        whole = adapter.recipes.recipe(spec, CPU, False)
        split = adapter.recipes.recipe(spec, CPU, True)
        self.assertEqual((whole.on_device, split.on_device), (False, True))
        epochs_of = [Epochs(recipe, Samples(samples, recipe.item), {"batch_size": 3, "scope": MEMORY}, 1, CPU)
                     for recipe in (whole, split)]
        return [one.first_batch() for one in epochs_of]

    def test_the_split_gives_what_the_loader_alone_gives(self):
        images = [peer.picture(n, 224, 224) for n in range(3)]
        clips = [np.stack([image] * 4) for image in images]
        nine = [np.concatenate([image] * 3, axis=-1) for image in images]
        for library in ("torchvision", "kornia"):
            for scenario, arrays in (("image-rgb", images), ("image-9ch", nine), ("video-16f", clips)):
                for name in ("HorizontalFlip", "GaussianBlur", "RandomCrop224"):
                    with self.subTest(library=library, scenario=scenario, transform=name):
                        alone, split = self.both(library, name, scenario, arrays)
                        self.assertEqual(alone.shape, split.shape)
                        self.assertTrue(torch.allclose(alone, split, atol=1e-5))

    def test_items_of_a_batch_have_parameters_of_their_own(self):
        same = [peer.picture(1, 224, 224)] * 3
        for library in ("torchvision", "kornia"):
            with self.subTest(library):
                _, split = self.both(library, "Rotate", "image-rgb", same)
                self.assertFalse(torch.equal(split[0], split[1]))
                _, split = self.both(library, "Rotate", "video-16f", [np.stack([image] * 3) for image in same])
                self.assertFalse(torch.equal(split[0], split[1]))
                self.assertTrue(torch.equal(split[0][0], split[0][2]))

    def test_fixed_parameters_reach_every_image_of_a_batch(self):
        images = [peer.picture(n, 224, 224) for n in range(3)]
        alone, split = self.both("kornia", "Affine", "image-rgb", images)  # its Affine wants them once per image
        self.assertTrue(torch.allclose(alone, split, atol=1e-4))

    def test_the_main_process_draws_from_the_seed(self):
        for library in ("torchvision", "kornia"):
            with self.subTest(library):
                adapter = piped(library)
                adapter.open()
                recipe = adapter.recipes.recipe(Spec.read(peer.spec("Rotate")), CPU, True)
                samples = Samples([adapter.recipes.sample(peer.picture(1, 230, 240))] * 2, recipe.item)
                for workers in (0, 2):
                    whole = Epochs(recipe, samples, {"batch_size": 2, "scope": MEMORY, "workers": workers}, 1, CPU)
                    self.assertTrue(torch.equal(whole.first_batch(), whole.first_batch()), f"{workers} workers")


class Importing:
    """A recipe's work on one item; answers how many modules it was the first to load."""

    def __init__(self, item):
        self.item = item

    def __call__(self, sample):
        before = set(sys.modules)
        self.item(sample)
        return torch.full((1, 1), len(set(sys.modules) - before))


class ReadersTest(unittest.TestCase):
    def test_loader_processes_load_no_reader(self):
        with tempfile.TemporaryDirectory(prefix="sluice-readers-") as folder:
            path = f"{folder}/0.jpg"
            Image.fromarray(peer.picture(0)).save(path)
            for library in ("albumentationsx", "torchvision", "kornia", "pillow"):
                with self.subTest(library):  # each in a process of its own: others have loaded theirs by now
                    done = subprocess.run([sys.executable, "-B", __file__, library, path], capture_output=True, text=True)
                    self.assertEqual(done.stdout.strip(), "0", done.stderr[-800:])


def modules_loaded_by_readers(library, path):
    adapter = piped(library)
    adapter.open()
    reader = Importing(lambda name: adapter.recipes.read(name, Spec.read(peer.spec("HorizontalFlip"))))
    recipe = Scripted(reader)
    whole = Epochs(recipe, Samples([path], recipe.item), {"batch_size": 1, "scope": DECODE, "workers": 1}, 1, CPU)
    return int(whole.first_batch().sum())


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2].endswith(".jpg"):
        print(modules_loaded_by_readers(*sys.argv[1:]))
    else:
        unittest.main()
