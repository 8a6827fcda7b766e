# tests/adapters/pillow_test.py - Pillow's rows: what is inside the timer with and without an array at the end.
# SPDX-License-Identifier: Apache-2.0
import sys
import unittest

import peer

peer.enter("light")

import numpy  # noqa: E402
import pillow_worker  # noqa: E402
from PIL import Image  # noqa: E402
from sluice_worker.adapter import Params, Spec  # noqa: E402
from sluice_worker.checks import contiguity_problem  # noqa: E402


class PillowTest(unittest.TestCase):
    def setUp(self):
        self.picture = peer.picture(1, 48, 64)

    def timed(self, library, transform, **params):
        """The adapter, and what the timed loop makes of a picture."""
        adapter = pillow_worker.LIBRARIES[library]()
        adapter.open()
        call = adapter.build(Spec(transform=transform, params=Params(params)))
        return adapter, adapter.materialise(call(adapter.convert(self.picture, "image-rgb")))

    def test_the_output_stays_an_image_that_the_next_step_would_take(self):
        adapter, output = self.timed("pillow", "HorizontalFlip")
        self.assertIsInstance(output, Image.Image)
        self.assertEqual(contiguity_problem(output), "")
        numpy.testing.assert_array_equal(adapter.to_array(output), self.picture[:, ::-1])
        self.assertTrue(adapter.to_array(output).flags["C_CONTIGUOUS"])

    def test_a_file_that_was_only_opened_is_decoded(self):
        _, output = self.timed("pillow", "JpegCompression", quality=50)
        self.assertIsNone(output.fp, "its bytes are still to be read")

    def test_the_other_row_makes_an_array(self):
        adapter, output = self.timed("pillow-array", "HorizontalFlip")
        self.assertIsInstance(output, numpy.ndarray)
        numpy.testing.assert_array_equal(adapter.to_array(output), self.picture[:, ::-1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
