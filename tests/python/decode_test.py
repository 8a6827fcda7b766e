# tests/python/decode_test.py - sluice.decode: bytes and files, regions, what is refused.
# SPDX-License-Identifier: Apache-2.0
import sys
import unittest

from support import PhotoTest
import numpy as np
import sluice


class DecodeTest(PhotoTest):
    COUNT = 4

    def setUp(self):
        self.photo = sorted(self.photos.glob("*/*.jpg"))[0]

    def test_bytes_and_files_are_the_same(self):
        image = sluice.decode(self.photo)
        self.assertEqual((image.shape, image.dtype, image.flags.c_contiguous), ((70, 90, 3), np.uint8, True))
        data = self.photo.read_bytes()
        for source in (str(self.photo), data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
            np.testing.assert_array_equal(sluice.decode(source), image)

    def test_a_region_is_those_pixels_of_the_whole(self):
        image = sluice.decode(self.photo)
        np.testing.assert_array_equal(sluice.decode(self.photo, region=(11, 7, 30, 40)), image[7:47, 11:41])

    def test_each_result_has_memory_of_its_own(self):
        first = sluice.decode(self.photo)
        copy = first.copy()
        sluice.decode(self.photo)[:] = 0
        np.testing.assert_array_equal(first, copy)

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ValueError, "^not a JPEG, PNG or WebP"):
            sluice.decode(b"text")
        bad = self.folder / "bad.jpg"
        bad.write_bytes(self.photo.read_bytes()[:400])
        with self.assertRaisesRegex(ValueError, "bad.jpg: "):
            sluice.decode(bad)
        with self.assertRaises(FileNotFoundError):
            sluice.decode("nowhere.jpg")
        with self.assertRaisesRegex(TypeError, "bytes-like"):
            sluice.decode(5)
        for region in ((0, 0, 91, 10), (0, 0, 0, 0), (1, 2)):
            with self.assertRaises(ValueError):
                sluice.decode(self.photo, region=region)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
