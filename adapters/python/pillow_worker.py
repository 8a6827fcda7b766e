# adapters/python/pillow_worker.py - Pillow and its fork Pillow-SIMD: RGB images only, one frame at a time.
# SPDX-License-Identifier: Apache-2.0
"""usage: pillow_worker.py [pillow|pillow-simd|pillow-array]      (a supervisor adds the mode)

Only what Pillow has: no composite is rebuilt from its parts. Draws come from Python's `random`. Pillow-SIMD is the same
module, built with instructions of x86-64: an environment holds one of the two. Outputs are images of Pillow, which its next
step would take as they are; in rows of pillow-array each becomes a NumPy array inside the timer, for users who go on with those."""
import io
import math
import random
import sys

from sluice_worker import Adapter, Unsupported, serve


def rotate(P, p):
    low, high = p["angle_range"]
    resample = P.resample(p["interpolation"])

    def call(image):
        return image.rotate(-random.uniform(low, high), resample=resample, fillcolor=p["fill"])

    return call


def affine(P, p):
    """Fixed angle, shift, scale and first shear about the centre, as published: the inverse matrix for transform()."""
    resample = P.resample(p["interpolation"])
    shift_x, shift_y = p["shift"]

    def call(image):
        matrix = inverse_affine(image.size, p["angle"], (shift_x, shift_y), p["scale"], p["shear"][0])
        return image.transform(image.size, P.Image.Transform.AFFINE, matrix, resample=resample, fillcolor=p["fill"])

    return call


def inverse_affine(size, angle, shift, scale, shear):
    """Output -> input coefficients of: centre to origin, shear, rotate, scale, back, shift (degrees, pixels)."""
    turn, slant = math.radians(angle), math.tan(math.radians(shear))
    a, b = scale * math.cos(turn), scale * (math.cos(turn) * slant - math.sin(turn))
    c, d = scale * math.sin(turn), scale * (math.sin(turn) * slant + math.cos(turn))
    determinant = a * d - b * c
    ia, ib, ic, id_ = d / determinant, -b / determinant, -c / determinant, a / determinant
    centre_x, centre_y = size[0] / 2, size[1] / 2
    from_x, from_y = centre_x + shift[0], centre_y + shift[1]
    return (
        ia, ib, centre_x - ia * from_x - ib * from_y,
        ic, id_, centre_y - ic * from_x - id_ * from_y,
    )  # fmt: skip


def shear(P, p):
    """About the centre; bilinear."""
    slant = math.tan(math.radians(p["shear"]))

    def call(image):
        matrix = (1, slant, -slant * image.height / 2, 0, 1, 0)
        return image.transform(
            image.size, P.Image.Transform.AFFINE, matrix, resample=P.Image.Resampling.BILINEAR
        )

    return call


def jpeg(P, p):
    def call(image):
        buffer = io.BytesIO()
        image.save(buffer, format="JPEG", quality=p["quality"])
        buffer.seek(0)
        return P.Image.open(buffer)

    return call


def unsharp_mask(P, p):
    """Kernel side to radius, weight to per cent: both halves are drawn per image."""
    low, high = p["blur_limit"]
    weak, strong = p["alpha"]

    def call(image):
        radius = random.uniform(low / 2, high / 2)
        percent = int(100 + random.uniform(weak, strong) * 200)
        return image.filter(P.ImageFilter.UnsharpMask(radius=radius, percent=percent, threshold=p["threshold"]))

    return call


def resize(P, p):
    size, resample = (p["target_size"], p["target_size"]), P.resample(p["interpolation"])
    return lambda image: image.resize(size, resample)


def transposed(P, method):
    return lambda image: image.transpose(method)


def filtered(kernel):
    return lambda image: image.filter(kernel)


def enhanced(kind, factor):
    return lambda image: kind(image).enhance(factor)


# Offsets of the definition become factors 1 + offset; Blur's radius is Pillow's radius: a kernel of 11 x 11.
BUILDERS = {
    "Resize": resize,
    "HorizontalFlip": lambda P, p: transposed(P, P.Image.Transpose.FLIP_LEFT_RIGHT),
    "VerticalFlip": lambda P, p: transposed(P, P.Image.Transpose.FLIP_TOP_BOTTOM),
    "Pad": lambda P, p: lambda image: P.ImageOps.expand(image, border=p["padding"], fill=p["fill"]),
    "Rotate": rotate,
    "Affine": affine,
    "Grayscale": lambda P, p: lambda image: P.ImageOps.grayscale(image).convert("RGB"),
    "GaussianBlur": lambda P, p: filtered(P.ImageFilter.GaussianBlur(radius=p["sigma"])),
    "Invert": lambda P, p: P.ImageOps.invert,
    "Posterize": lambda P, p: lambda image: P.ImageOps.posterize(image, p["bits"]),
    "Solarize": lambda P, p: lambda image: P.ImageOps.solarize(image, threshold=int(p["threshold"] * 255)),
    "AutoContrast": lambda P, p: P.ImageOps.autocontrast,
    "Equalize": lambda P, p: P.ImageOps.equalize,
    "JpegCompression": jpeg,
    "MedianBlur": lambda P, p: filtered(P.ImageFilter.MedianFilter(size=p["blur_limit"])),
    "Brightness": lambda P, p: enhanced(P.ImageEnhance.Brightness, 1 + p["brightness_limit"][0]),
    "Contrast": lambda P, p: enhanced(P.ImageEnhance.Contrast, 1 + p["contrast_limit"][0]),
    "Blur": lambda P, p: filtered(P.ImageFilter.BoxBlur(radius=p["radius"])),
    "Saturation": lambda P, p: enhanced(P.ImageEnhance.Color, 1 + p["saturation_factor"]),
    "Shear": shear,
    "Transpose": lambda P, p: transposed(P, P.Image.Transpose.TRANSPOSE),
    "EnhanceEdge": lambda P, p: filtered(P.ImageFilter.EDGE_ENHANCE_MORE),
    "EnhanceDetail": lambda P, p: filtered(P.ImageFilter.DETAIL),
    "UnsharpMask": unsharp_mask,
}


class Modules:
    """Pillow's modules, in one place for the builders."""

    def __init__(self):
        from PIL import Image, ImageEnhance, ImageFilter, ImageOps

        self.Image, self.ImageEnhance, self.ImageFilter, self.ImageOps = Image, ImageEnhance, ImageFilter, ImageOps

    def resample(self, interpolation):
        return {"nearest": self.Image.Resampling.NEAREST, "bilinear": self.Image.Resampling.BILINEAR}[interpolation]


class Pillow(Adapter):
    name = "pillow"
    packages = ("pillow", "numpy")
    transforms = tuple(BUILDERS)

    def __init__(self):
        super().__init__()
        self.modules = None
        self.numpy = None

    def open(self):
        import numpy

        self.numpy = numpy
        self.modules = Modules()

    def build(self, spec):
        if spec.is_clip or spec.channels != 3:
            raise Unsupported(f"{self.name} has RGB images only, no clips and no 9-channel images")
        if spec.transform not in BUILDERS:
            raise Unsupported(f"{spec.transform} is not available in {self.name}")
        return BUILDERS[spec.transform](self.modules, spec.params)

    def convert(self, array, scenario):
        """Of 9 channels or a clip, which Pillow cannot hold, only so much that loading ends: every case is unsupported."""
        if array.ndim != 3 or array.shape[2] != 3:
            return self.modules.Image.new("RGB", (1, 1))
        return self.modules.Image.fromarray(array)

    def materialise(self, output):
        output.load()  # a file that was only opened is decoded
        return output

    def to_array(self, output):
        return self.numpy.ascontiguousarray(output)

    def nbytes(self, item):
        return item.width * item.height * 4  # Pillow holds RGB in four bytes


class PillowSimd(Pillow):
    name = "pillow-simd"
    packages = ("pillow-simd", "numpy")


class PillowArray(Pillow):
    name = "pillow-array"

    def materialise(self, output):
        return self.numpy.ascontiguousarray(output)

    def to_array(self, output):
        return output


LIBRARIES = {library.name: library for library in (Pillow, PillowSimd, PillowArray)}

if __name__ == "__main__":
    sys.exit(serve(LIBRARIES[(sys.argv[1:2] or ["pillow"])[0]]()))
