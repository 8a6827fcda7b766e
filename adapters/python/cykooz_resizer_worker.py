# adapters/python/cykooz_resizer_worker.py - fast_image_resize, Rust, through cykooz.resizer: RGB images in other sizes.
# SPDX-License-Identifier: Apache-2.0
"""Its convolution with the bilinear filter, which widens with the factor as Pillow's does. Draws come from Python's `random`."""
import sys

from opencv_wheel_worker import draw_region
from sluice_worker import Adapter, Unsupported, serve


def resize(R, p):
    side, options = p["target_size"], R.options()
    return lambda image: R.resized(image, side, side, options)


def max_size(pick):
    def build(R, p):
        options = R.options()

        def call(image):
            height, width = image.height, image.width
            factor = p["max_size"] / pick(height, width)
            return R.resized(image, max(1, round(height * factor)), max(1, round(width * factor)), options)

        return call

    return build


def resized_crop(R, p):
    def call(image):
        y, x, h, w = draw_region(image.height, image.width, p["scale"], p["ratio"])
        return R.resized(image, *p["size"], R.options((x, y, w, h)))

    return call


BUILDERS = {
    "Resize": resize,
    "RandomResizedCrop": resized_crop,
    "LongestMaxSize": max_size(max),
    "SmallestMaxSize": max_size(min),
}


class CykoozResizer(Adapter):
    name = "cykooz-resizer"
    packages = ("cykooz-resizer", "numpy")
    transforms = tuple(BUILDERS)

    def open(self):
        import cykooz_resizer
        import numpy

        self.library, self.numpy = cykooz_resizer, numpy
        self.resizer = cykooz_resizer.Resizer()
        self.bilinear = cykooz_resizer.ResizeAlg.convolution(cykooz_resizer.FilterType.bilinear)

    def options(self, box=None):
        crop = {} if box is None else {"crop_box": self.library.CropBox(*box)}
        return self.library.ResizeOptions(resize_alg=self.bilinear, use_alpha=False, **crop)

    def resized(self, image, height, width, options):
        output = self.library.ImageData(width, height, self.library.PixelType.U8x3)
        self.resizer.resize(image, output, options)
        return output

    def build(self, spec):
        if spec.is_clip or spec.channels != 3:
            raise Unsupported("cykooz-resizer: the rows are for RGB images, not for clips or 9 channels")
        if spec.transform not in BUILDERS:
            raise Unsupported(f"{spec.transform} is not available in {self.name}")
        return BUILDERS[spec.transform](self, spec.params)

    def convert(self, array, scenario):
        """Of 9 channels or a clip only so much that loading ends."""
        if array.ndim != 3 or array.shape[2] != 3:
            array = self.numpy.zeros((1, 1, 3), self.numpy.uint8)
        height, width = array.shape[:2]
        return self.library.ImageData(width, height, self.library.PixelType.U8x3, array.tobytes())

    def materialise(self, output):
        pixels = self.numpy.frombuffer(output.get_buffer(), self.numpy.uint8)
        return pixels.reshape(output.height, output.width, 3)

    def nbytes(self, item):
        return item.width * item.height * 3


if __name__ == "__main__":
    sys.exit(serve(CykoozResizer()))
