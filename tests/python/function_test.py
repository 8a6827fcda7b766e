# tests/python/function_test.py - a function of the user inside a recipe: what it gets, what it costs, how it fails.
# SPDX-License-Identifier: Apache-2.0
import gc
import sys
import threading
import traceback
import unittest
import weakref

from support import PhotoTest, run_python
import numpy as np
import sluice

RESIZE = ("Resize", {"target_size": 16})
BEGIN = """
import gc, os, sys
import numpy as np
import sluice
def loader_of(function, **options):
    return sluice.Loader(sys.argv[1], sluice.Recipe([("Resize", {"target_size": 16}), function], size=16),
                         **{"batch_size": 4, "workers": 2, **options})
"""


def inverted(image):
    return 255 - image


class FunctionTest(PhotoTest):
    def loader(self, steps, *, recipe=(), **options):
        made = sluice.Loader(self.photos, sluice.Recipe(steps, **{"size": 16, "dtype": "uint8", "layout": "hwc", **dict(recipe)}),
                             **{"batch_size": 8, "workers": 2, "seed": 3, **options})
        self.addCleanup(made.close)
        return made

    def batches(self, *arguments, **options):
        return [images.copy() for images, _ in self.loader(*arguments, **options)]


class ContentTest(FunctionTest):
    def test_the_sample_goes_through_the_function_between_the_steps(self):
        plain = self.batches([RESIZE, "HorizontalFlip", ("Brightness", {}, 0.5)])
        for workers in (0, 1, 3):
            found = self.batches([RESIZE, "HorizontalFlip", ("Brightness", {}, 0.5), inverted], workers=workers)
            np.testing.assert_array_equal(found, 255 - np.array(plain))
        same = self.batches([RESIZE, lambda image: image, "HorizontalFlip", ("Brightness", {}, 0.5)])
        np.testing.assert_array_equal(same, plain)

    def test_steps_draw_what_they_would_draw_without_it(self):
        steps = [RESIZE, ("HorizontalFlip", {}, 0.5), ("VerticalFlip", {}, 0.5), ("HorizontalFlip", {}, 0.5)]
        whole = self.batches(steps)
        for place in range(1, 5):
            np.testing.assert_array_equal(self.batches([*steps[:place], lambda image: image, *steps[place:]]), whole)

    def test_it_may_change_its_array_in_place_or_return_a_view(self):
        def darker(image):
            image //= 2
            return image

        plain = np.array(self.batches([RESIZE]))
        np.testing.assert_array_equal(self.batches([RESIZE, darker]), plain // 2)
        np.testing.assert_array_equal(self.batches([RESIZE, lambda image: image[::-1, :, ::-1]]), plain[:, :, ::-1, :, ::-1])

    def test_it_may_keep_its_arrays(self):
        kept = []

        def keeps(image):
            kept.append((image, image.copy()))
            return image

        self.batches([RESIZE, keeps])
        self.assertGreaterEqual(len(kept), 40)
        for image, copy in kept:
            np.testing.assert_array_equal(image, copy)

    def test_shape_and_type_as_declared(self):
        def cut(image):
            self.assertEqual((image.shape, image.dtype), ((70, 90, 3), np.uint8))
            return np.float32(image[:20, :30] / 255)

        function = sluice.Function(cut, shape=(20, 30, 3), dtype="float32")
        images = self.batches([function, ("Resize", {"target_size": 16})], recipe={"dtype": "float32"})[0]
        self.assertEqual((images.shape, images.dtype), ((8, 16, 16, 3), np.float32))
        self.assertTrue(0 <= images.min() <= images.max() <= 1)  # not normalised

    def test_a_key_makes_random_numbers_that_survive_a_resume(self):
        def noisy(image, key):
            return np.random.default_rng(key).integers(0, 256, image.shape, np.uint8)

        steps = [RESIZE, sluice.Function(noisy, keyed=True)]
        whole = self.batches(steps, workers=1)
        first = self.loader(steps)
        iteration = iter(first)
        next(iteration)
        second = self.loader(steps, workers=3)
        second.load_state_dict(first.state_dict())
        np.testing.assert_array_equal([images.copy() for images, _ in second], whole[1:])
        self.assertEqual(len({images.tobytes() for images in whole}), 5)

    def test_its_cost_is_told(self):
        self.assertNotIn("function", self.loader([RESIZE]).stats())
        loader = self.loader([RESIZE, inverted], persistent=False)
        self.assertEqual(loader.stats()["function"], {"name": "inverted", "calls": 0, "busy_ns": 0, "lock_wait_ns": 0,
                                                      "mean_ns": None, "share": None})
        list(loader)
        cost = loader.stats()["function"]
        self.assertEqual(cost["calls"], 40)
        self.assertGreater(cost["busy_ns"], 0)
        self.assertAlmostEqual(cost["mean_ns"], cost["busy_ns"] / 40)
        self.assertGreaterEqual(cost["lock_wait_ns"], 0)
        self.assertTrue(0 < cost["share"] <= 1, cost)
        busy = sum(stage["busy_ns"] for stage in loader.stats()["stages"].values())
        self.assertAlmostEqual(cost["share"], (cost["busy_ns"] + cost["lock_wait_ns"]) / busy)


class FailureTest(FunctionTest):
    def fails(self, steps, kind, words, **options):
        """The exception, which names the sample in one line."""
        options = {"shuffle": "none", "workers": 2, **options}
        loader = self.loader(steps, **options)
        with self.assertRaisesRegex(kind, words) as caught:
            list(loader)
        self.assertEqual(str(caught.exception).count("\n"), 0)
        self.assertTrue(str(caught.exception).startswith(loader.sample_name(0) + ": the function "), caught.exception)
        return caught.exception

    def test_what_it_raises_arrives_with_its_traceback_and_the_sample(self):
        def broken(image):
            raise LookupError("two\nlines")

        for workers in (0, 1, 3):
            for on_error in ("fail", "skip"):
                with self.subTest(workers=workers, on_error=on_error):
                    error = self.fails([RESIZE, broken], RuntimeError, r"broken raised LookupError: two\\nlines$", workers=workers,
                                       on_error=on_error)
                    self.assertEqual(error.__cause__.args, ("two\nlines",))
                    text = "".join(traceback.format_exception(error))
                    self.assertIn('raise LookupError("two\\nlines")', text)
                    self.assertIn("direct cause", text)

    def test_the_sample_that_is_named_is_the_first_of_the_batch(self):
        def sometimes(image, key):
            if key[2] in (11, 13, 30):
                raise ValueError(f"sample {key[2]}")
            return image

        loader = self.loader([RESIZE, sluice.Function(sometimes, keyed=True)], shuffle="none", workers=3)
        iteration = iter(loader)
        next(iteration)
        with self.assertRaisesRegex(RuntimeError, "raised ValueError: sample 11$") as caught:
            next(iteration)
        self.assertTrue(str(caught.exception).startswith(loader.sample_name(11) + ": "))
        self.assertEqual(caught.exception.__cause__.args, ("sample 11",))

    def test_ends_of_the_program_stay_what_they_are(self):
        for kind in (KeyboardInterrupt, SystemExit):
            def ends(image):
                raise kind("now")
            with self.assertRaisesRegex(kind, "now"):
                list(self.loader([RESIZE, ends]))

        def stops(image):
            raise StopIteration
        self.fails([RESIZE, stops], RuntimeError, "raised StopIteration")  # else the epoch would seem to end here

    def test_wrong_results_are_one_line(self):
        accepted = r"; accepted: an array of \(16, 16, 3\) uint8$"
        for result, words in ((None, "returned a NoneType"), ([1, 2], "returned a list"),
                              (np.zeros((16, 16), np.uint8), r"returned \(16, 16\) uint8"),
                              (np.zeros((16, 15, 3), np.uint8), r"returned \(16, 15, 3\) uint8"),
                              (np.zeros((16, 16, 3)), r"returned \(16, 16, 3\) float64")):
            self.fails([RESIZE, lambda image: result], ValueError, words + accepted)
        self.fails([RESIZE, lambda image: image[1:], "HorizontalFlip"], ValueError, r"returned \(15, 16, 3\) uint8" + accepted)

    def test_wrong_declarations_are_refused(self):
        for arguments, kind, words in ((dict(function=3), TypeError, "function is 3; accepted: something that can be called"),
                                       (dict(shape=(3, 4)), ValueError, r"shape is \(3, 4\); accepted: \(height, width, 3\)"),
                                       (dict(shape=(0, 4, 3)), ValueError, "shape is 0"),
                                       (dict(dtype="float64"), ValueError, "dtype is 'float64'; accepted: uint8, float32"),
                                       (dict(keyed=1), TypeError, "keyed is 1")):
            with self.assertRaisesRegex(kind, words):
                sluice.Function(**{"function": inverted, **arguments})
        with self.assertRaisesRegex(ValueError, "two functions, .*inverted.*; accepted: one in a list"):
            sluice.Recipe([inverted, inverted])
        with self.assertRaisesRegex(ValueError, "dtype is 'uint8', and Function.inverted. returns float32"):
            sluice.Recipe([sluice.Function(inverted, dtype="float32")], dtype="uint8")
        with self.assertRaisesRegex(TypeError, "a step is <class .*Blur.*>; accepted: a transform"):
            sluice.Recipe([sluice.augment.Blur])

    def test_a_function_that_asks_its_own_loader_is_told(self):
        for asks in (lambda loader: loader.close(), lambda loader: next(iter(loader)), lambda loader: loader.state_dict()):
            own = []

            def called(image, asks=asks, own=own):
                asks(own[0])
                return image
            own.append(self.loader([RESIZE, called]))
            with self.assertRaisesRegex(RuntimeError, "asked its own loader") as caught:
                list(own[0])
            self.assertIsInstance(caught.exception.__cause__, RuntimeError)
            own[0].close()

        def looks(image):
            self.assertEqual(loader.dataset_size, 40)
            return image
        loader = self.loader([RESIZE, looks])
        self.assertEqual(len(list(loader)), 5)


class LifetimeTest(FunctionTest):
    def test_a_function_that_refers_to_its_loader_is_collected(self):
        def made():
            def called(image):
                holder[0].dataset_size
                return image
            holder = [None]
            loader = holder[0] = sluice.Loader(self.photos, sluice.Recipe([RESIZE, called], size=16), batch_size=8, workers=2)
            next(iter(loader))
            return weakref.ref(loader)

        for _ in range(20):  # workers ask for the lock while the collector is at work
            found = made()
            for _ in range(100):  # a worker may be in the function, and then holds it
                gc.collect()
                if found() is None:
                    break
            self.assertIsNone(found())

    def test_the_collector_may_come_by_a_worker(self):
        done = run_python(BEGIN + """
def collects(image):
    gc.collect()
    return image
for turn in range(30):
    loader = loader_of(collects)
    next(iter(loader))
    loader.itself = loader
    del loader
print("fine")
""", self.photos)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "fine\n", ""))

    def test_the_program_may_end_while_the_function_runs(self):
        for text in ("iteration = iter(loader_of(lambda image: image)); next(iteration)",
                     "for images, labels in loader_of(lambda image: image): sys.exit(0)",
                     "loader = loader_of(lambda image: np.sort(image, axis=None).reshape(image.shape)); iter(loader)"):
            done = run_python(BEGIN + text, self.photos)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), text)

    def test_close_waits_for_a_call(self):
        inside, goes_on = threading.Event(), threading.Event()

        def waits(image):
            inside.set()
            goes_on.wait(30)
            return image

        loader = self.loader([RESIZE, waits], workers=1)
        iter(loader)
        self.assertTrue(inside.wait(30))
        closing = threading.Thread(target=loader.close)
        closing.start()
        goes_on.set()
        closing.join(30)
        self.assertFalse(closing.is_alive())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
