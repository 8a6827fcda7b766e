# adapters/python/kornia_rs_worker.py - kornia-rs: RGB images as NumPy arrays, by its own functions.
# SPDX-License-Identifier: Apache-2.0
"""Functions of `imgproc` take and give arrays; what only its `Image` has goes through one. Draws come from Python's `random`,
but for ColorJitter, which draws itself. It has no border but black in warps, and no padding. Its pool of one thread (RAYON_NUM_THREADS) works while the caller waits."""
import math
import random
import sys

from opencv_wheel_worker import about_centre, draw_region
from sluice_worker import Adapter, Unsupported, serve


def resize(K, p):
    size, how = (p["target_size"], p["target_size"]), p["interpolation"]
    return lambda image: K.imgproc.resize(image, size, how)


def max_size(pick):
    def build(K, p):
        def call(image):
            factor = p["max_size"] / pick(image.shape[:2])
            size = tuple(max(1, round(side * factor)) for side in image.shape[:2])
            return K.imgproc.resize(image, size, p["interpolation"])

        return call

    return build


def crop(K, p):
    height, width = p["height"], p["width"]

    def call(image):
        rows, columns = image.shape[:2]
        if rows < height or columns < width:
            raise Unsupported(f"kornia-rs does not pad: an image of {rows}x{columns} has no crop of {height}x{width}")
        return K.imgproc.crop(image, random.randint(0, columns - width), random.randint(0, rows - height), width, height)

    return call


def resized_crop(K, p):
    size = tuple(p["size"])

    def call(image):
        y, x, h, w = draw_region(*image.shape[:2], p["scale"], p["ratio"])
        return K.imgproc.resize(K.imgproc.crop(image, x, y, w, h), size, p["interpolation"])

    return call


def warp(K, image, matrix, interpolation):
    """`matrix` takes input to output, as in OpenCV."""
    return K.imgproc.warp_affine(image, tuple(matrix.ravel()), image.shape[:2], interpolation)


def rotate(K, p):
    def call(image):
        turn = math.radians(random.uniform(*p["angle_range"]))
        linear = K.numpy.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
        return warp(K, image, about_centre(K.numpy, linear, image.shape), p["interpolation"])

    return call


def affine(K, p):
    slant_x, slant_y = (math.tan(math.radians(s)) for s in p["shear"])
    slant = K.numpy.array([[1, slant_x], [slant_y, 1]])

    def call(image):
        turn = math.radians(random.uniform(-p["angle"], p["angle"]))
        turned = K.numpy.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
        matrix = about_centre(K.numpy, p["scale"] * turned @ slant, image.shape, p["shift"])
        return warp(K, image, matrix, p["interpolation"])

    return call


def shear(K, p):
    linear = K.numpy.array([[1, math.tan(math.radians(p["shear"]))], [0, 1]])
    return lambda image: warp(K, image, about_centre(K.numpy, linear, image.shape), "bilinear")


def jitter(K, p):
    """Ranges as it takes them: the width of each about "unchanged"."""
    transform = K.augmentations.ColorJitter(p["brightness"], p["contrast"], p["saturation"], p["hue"])
    return lambda image: transform(K.Image(image)).numpy()


def grayscale(K, p):
    return lambda image: K.imgproc.rgb_from_gray(K.imgproc.gray_from_rgb(image))


def adjusted(method, key, offset=0.0):
    """A method of its Image with one fixed factor."""

    def build(K, p):
        value = p[key][0] if isinstance(p[key], (list, tuple)) else p[key]
        return lambda image: getattr(K.Image(image), method)(offset + value).numpy()

    return build


def hue(K, p):
    """In turns; about the grey axis of RGB, where others turn the hue of HSV: 2.3 levels apart at +-20 degrees on photographs."""
    limit = p["hue"] / 360
    return lambda image: K.Image(image).adjust_hue(random.uniform(-limit, limit)).numpy()


def gaussian_blur(K, p):
    size, sigma = tuple(p["kernel_size"]), (p["sigma"], p["sigma"])
    return lambda image: K.imgproc.gaussian_blur(image, size, sigma)


def box_blur(K, p):
    size = (p["radius"], p["radius"])
    return lambda image: K.imgproc.box_blur(image, size)


def jpeg(K, p):
    encode, decode = K.io.encode_image_jpegturbo, K.io.decode_image_jpegturbo
    return lambda image: decode(encode(image, p["quality"]), "rgb")


# Brightness adds a share of white; the other factors are 1 + offset of the definition.
BUILDERS = {
    "Resize": resize,
    "RandomCrop224": crop,
    "RandomResizedCrop": resized_crop,
    "HorizontalFlip": lambda K, p: K.imgproc.horizontal_flip,
    "VerticalFlip": lambda K, p: K.imgproc.vertical_flip,
    "Rotate": rotate,
    "Affine": affine,
    "ColorJitter": jitter,
    "Grayscale": grayscale,
    "GaussianBlur": gaussian_blur,
    "JpegCompression": jpeg,
    "MedianBlur": lambda K, p: lambda image: K.imgproc.median_blur(image, p["blur_limit"]),
    "Brightness": lambda K, p: lambda image: K.imgproc.adjust_brightness(image, p["brightness_limit"][0]),
    "Contrast": adjusted("adjust_contrast", "contrast_limit", 1.0),
    "Blur": box_blur,
    "Hue": hue,
    "Saturation": adjusted("adjust_saturation", "saturation_factor", 1.0),
    "Shear": shear,
    "LongestMaxSize": max_size(max),
    "SmallestMaxSize": max_size(min),
}


class KorniaRs(Adapter):
    name = "kornia-rs"
    packages = ("kornia_rs", "numpy")
    transforms = tuple(BUILDERS)

    def open(self):
        import numpy
        from kornia_rs import augmentations, image, imgproc, io

        self.numpy, self.imgproc, self.augmentations, self.io = numpy, imgproc, augmentations, io
        self.Image = image.Image
        self.materialise = numpy.ascontiguousarray

    def build(self, spec):
        if spec.is_clip or spec.channels != 3:
            raise Unsupported("kornia-rs: images of 1, 3 or 4 channels only, no clips")
        if spec.transform not in BUILDERS:
            raise Unsupported(f"{spec.transform} is not available in {self.name}")
        return BUILDERS[spec.transform](self, spec.params)

    def reseed(self, seed):
        super().reseed(seed)
        self.augmentations.set_seed(seed % 2**32)


if __name__ == "__main__":
    sys.exit(serve(KorniaRs()))
