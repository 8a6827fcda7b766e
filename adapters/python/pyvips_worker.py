# adapters/python/pyvips_worker.py - libvips through pyvips: RGB images, evaluated when the pixels are asked for.
# SPDX-License-Identifier: Apache-2.0
"""A call builds a pipeline; `materialise` runs it into an array, inside the timer. Its cache of operations is off, so that
every call computes. Draws come from Python's `random`."""
import math
import random
import sys

from opencv_wheel_worker import about_centre, draw_region
from sluice_worker import Adapter, Unsupported, serve


def resized(image, height, width):
    return image.resize(width / image.width, vscale=height / image.height, kernel="linear")


def resize(V, p):
    return lambda image: resized(image, p["target_size"], p["target_size"])


def max_size(pick):
    def build(V, p):
        def call(image):
            factor = p["max_size"] / pick(image.height, image.width)
            return resized(image, max(1, round(image.height * factor)), max(1, round(image.width * factor)))

        return call

    return build


def crop(V, p):
    height, width = p["height"], p["width"]

    def call(image):
        if image.height < height or image.width < width:
            image = image.gravity("centre", max(width, image.width), max(height, image.height))
        return image.crop(
            random.randint(0, image.width - width), random.randint(0, image.height - height), width, height
        )

    return call


def resized_crop(V, p):
    def call(image):
        y, x, h, w = draw_region(image.height, image.width, p["scale"], p["ratio"])
        return resized(image.crop(x, y, w, h), *p["size"])

    return call


def pad(V, p):
    n, fill = p["padding"], [p["fill"]] * 3
    return lambda image: image.embed(
        n, n, image.width + 2 * n, image.height + 2 * n, extend="background", background=fill
    )


def warp(V, image, matrix, interpolation):
    """`matrix` takes input to output; the output has the input's size and a black border."""
    (a, b, dx), (c, d, dy) = matrix
    return image.affine(
        [a, b, c, d], interpolate=V.interpolators[interpolation], oarea=[0, 0, image.width, image.height],
        odx=dx, ody=dy,
    )  # fmt: skip


def turned(V, angle):
    return V.numpy.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])


def rotate(V, p):
    def call(image):
        linear = turned(V, math.radians(random.uniform(*p["angle_range"])))
        return warp(V, image, about_centre(V.numpy, linear, (image.height, image.width)), p["interpolation"])

    return call


def affine(V, p):
    slant_x, slant_y = (math.tan(math.radians(s)) for s in p["shear"])
    slant = V.numpy.array([[1, slant_x], [slant_y, 1]])

    def call(image):
        linear = p["scale"] * turned(V, math.radians(random.uniform(-p["angle"], p["angle"]))) @ slant
        matrix = about_centre(V.numpy, linear, (image.height, image.width), p["shift"])
        return warp(V, image, matrix, p["interpolation"])

    return call


def shear(V, p):
    linear = V.numpy.array([[1, math.tan(math.radians(p["shear"]))], [0, 1]])
    return lambda image: warp(V, image, about_centre(V.numpy, linear, (image.height, image.width)), "bilinear")


def shuffle(V, p):
    def call(image):
        order = random.sample(range(3), 3)
        return image[order[0]].bandjoin([image[order[1]], image[order[2]]])

    return call


def table(V, function):
    """A lookup table of 256 values, applied to every band."""
    values = [min(255, max(0, function(v))) for v in range(256)]
    look_up = V.pyvips.Image.new_from_array([values]).cast("uchar")
    return lambda image: image.maplut(look_up)


def erase(V, p):
    low, high = (math.log(r) for r in p["ratio"])
    fill = [p["fill"]] * 3

    def call(image):
        for _ in range(10):
            area = image.height * image.width * random.uniform(*p["scale"])
            shape = math.exp(random.uniform(low, high))
            h, w = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < h < image.height and 0 < w < image.width:
                x, y = random.randint(0, image.width - w), random.randint(0, image.height - h)
                return image.draw_rect(fill, x, y, w, h, fill=True)
        return image.copy()

    return call


def jpeg(V, p):
    load = V.pyvips.Image.jpegload_buffer
    return lambda image: load(image.jpegsave_buffer(Q=p["quality"]), access="sequential")


def box_blur(V, p):
    side = p["radius"]
    kernel = V.pyvips.Image.new_from_array([[1] * side] * side, scale=side * side)
    return lambda image: image.conv(kernel, precision="integer")


def quarter_turn(V, p):
    turns = ("d0", "d270", "d180", "d90")  # counter-clockwise, as in the definition
    return lambda image: image.rot(turns[random.randint(*p["times"])])


def linear(scale, offset):
    return lambda image: image.linear(scale, offset, uchar=True)


BUILDERS = {
    "Resize": resize,
    "RandomCrop224": crop,
    "RandomResizedCrop": resized_crop,
    "HorizontalFlip": lambda V, p: lambda image: image.fliphor(),
    "VerticalFlip": lambda V, p: lambda image: image.flipver(),
    "Pad": pad,
    "Rotate": rotate,
    "Affine": affine,
    "ChannelShuffle": shuffle,
    "Grayscale": lambda V, p: lambda image: image.colourspace("b-w").colourspace("srgb"),
    "GaussianBlur": lambda V, p: lambda image: image.gaussblur(p["sigma"]),
    "Invert": lambda V, p: lambda image: image.invert(),
    "Posterize": lambda V, p: lambda image: image & (0xFF & (0xFF << (8 - p["bits"]))),
    "Solarize": lambda V, p: table(V, lambda v: 255 - v if v >= p["threshold"] * 255 else v),
    "Equalize": lambda V, p: lambda image: image.hist_equal(),
    "Erasing": erase,
    "JpegCompression": jpeg,
    "RandomGamma": lambda V, p: lambda image: image.gamma(exponent=100 / p["gamma"]),
    "MedianBlur": lambda V, p: lambda image: image.median(p["blur_limit"]),
    "Brightness": lambda V, p: linear(1, 255 * p["brightness_limit"][0]),
    "Contrast": lambda V, p: linear(1 + p["contrast_limit"][0], 0),
    "Blur": box_blur,
    "Shear": shear,
    "LongestMaxSize": max_size(max),
    "SmallestMaxSize": max_size(min),
    "RandomRotate90": quarter_turn,
}


class Pyvips(Adapter):
    name = "pyvips"
    packages = ("pyvips", "pyvips-binary", "numpy")
    transforms = tuple(BUILDERS)

    def open(self):
        import numpy
        import pyvips

        pyvips.cache_set_max(0)
        self.pyvips, self.numpy = pyvips, numpy
        self.interpolators = {name: pyvips.Interpolate.new(name) for name in ("nearest", "bilinear")}

    def build(self, spec):
        if spec.is_clip or spec.channels != 3:
            raise Unsupported("pyvips: the rows are for RGB images, not for clips or 9 channels")
        if spec.transform not in BUILDERS:
            raise Unsupported(f"{spec.transform} is not available in {self.name}")
        return BUILDERS[spec.transform](self, spec.params)

    def convert(self, array, scenario):
        """Over the mapped pixels, without a copy. Of 9 channels or a clip only so much that loading ends."""
        if array.ndim != 3 or array.shape[2] != 3:
            return self.pyvips.Image.black(1, 1, bands=3)
        image = self.pyvips.Image.new_from_memory(array, array.shape[1], array.shape[0], 3, "uchar")
        return image.copy(interpretation="srgb")

    def materialise(self, output):
        return self.numpy.ascontiguousarray(output.numpy())

    def nbytes(self, item):
        return item.width * item.height * item.bands


if __name__ == "__main__":
    sys.exit(serve(Pyvips()))
