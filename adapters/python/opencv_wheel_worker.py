# adapters/python/opencv_wheel_worker.py - OpenCV's Python wheel: what it does in a call or by its documented recipe.
# SPDX-License-Identifier: Apache-2.0
"""The recipes, with their sources, are the table of ../opencv_recipes.md; the C++ worker follows the same table."""
import math
import random
import sys

from sluice_worker import Adapter, Unsupported, serve


def table(cv2, np, function):
    """A lookup table of 256 values; LUT applies it to every channel."""
    values = np.array([min(255, max(0, function(v))) for v in range(256)], np.uint8)
    return lambda image: cv2.LUT(image, values)


def crop(cv2, np, p):
    height, width = p["height"], p["width"]

    def call(image):
        rows, columns = image.shape[:2]
        if rows < height or columns < width:
            image = centred(cv2, image, max(0, height - rows), max(0, width - columns))
            rows, columns = image.shape[:2]
        y, x = random.randint(0, rows - height), random.randint(0, columns - width)
        return image[y : y + height, x : x + width].copy()

    return call


def centred(cv2, image, rows, columns):
    top, left = rows // 2, columns // 2
    return cv2.copyMakeBorder(image, top, rows - top, left, columns - left, cv2.BORDER_CONSTANT, value=0)


def draw_region(height, width, scale, ratio):
    """(y, x, height, width) of a part of the image: area and shape drawn, ten tries, then the largest in the middle."""
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(10):
        area = height * width * random.uniform(*scale)
        shape = math.exp(random.uniform(low, high))
        w, h = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, height - h), random.randint(0, width - w), h, w
    shape = min(max(width / height, ratio[0]), ratio[1])
    w, h = min(width, round(height * shape)), min(height, round(width / shape))
    return (height - h) // 2, (width - w) // 2, h, w


def resized_crop(cv2, np, p):
    size = (p["size"][1], p["size"][0])

    def call(image):
        y, x, h, w = draw_region(*image.shape[:2], p["scale"], p["ratio"])
        return cv2.resize(image[y : y + h, x : x + w], size, interpolation=cv2.INTER_LINEAR)

    return call


def erase(cv2, np, p):
    low, high = (math.log(r) for r in p["ratio"])
    fill = (p["fill"],) * 3

    def call(image):
        rows, columns = image.shape[:2]
        output = image.copy()
        for _ in range(10):
            area = rows * columns * random.uniform(*p["scale"])
            shape = math.exp(random.uniform(low, high))
            h, w = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < h < rows and 0 < w < columns:
                y, x = random.randint(0, rows - h), random.randint(0, columns - w)
                return cv2.rectangle(output, (x, y), (x + w - 1, y + h - 1), fill, cv2.FILLED)
        return output

    return call


def warp(cv2, image, matrix, flags, fill):
    size = (image.shape[1], image.shape[0])
    return cv2.warpAffine(image, matrix, size, flags=flags, borderMode=cv2.BORDER_CONSTANT, borderValue=(fill,) * 3)


def rotate(cv2, np, p):
    def call(image):
        centre = ((image.shape[1] - 1) / 2, (image.shape[0] - 1) / 2)
        matrix = cv2.getRotationMatrix2D(centre, random.uniform(*p["angle_range"]), 1)
        return warp(cv2, image, matrix, cv2.INTER_NEAREST, p["fill"])

    return call


def about_centre(np, linear, shape, shift=(0, 0)):
    """The 2x3 matrix of a linear map about the image's centre, then a shift."""
    centre = np.array([(shape[1] - 1) / 2, (shape[0] - 1) / 2])
    offset = centre + np.array(shift, np.float64) - linear @ centre
    return np.column_stack([linear, offset])


def affine(cv2, np, p):
    slant_x, slant_y = (math.tan(math.radians(s)) for s in p["shear"])
    slant = np.array([[1, slant_x], [slant_y, 1]])

    def call(image):
        turn = math.radians(random.uniform(-p["angle"], p["angle"]))
        turned = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
        matrix = about_centre(np, p["scale"] * turned @ slant, image.shape, p["shift"])
        return warp(cv2, image, matrix, cv2.INTER_LINEAR, p["fill"])

    return call


def shear(cv2, np, p):
    linear = np.array([[1, math.tan(math.radians(p["shear"]))], [0, 1]])
    return lambda image: warp(cv2, image, about_centre(np, linear, image.shape), cv2.INTER_LINEAR, 0)


def perspective(cv2, np, p):
    inwards = ((1, 1), (-1, 1), (-1, -1), (1, -1))

    def call(image):
        height, width = image.shape[:2]
        strength = random.uniform(*p["scale"])
        corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], np.float32)
        moved = corners.copy()
        for corner, (x, y) in zip(moved, inwards):
            corner += (x * random.uniform(0, strength) * width, y * random.uniform(0, strength) * height)
        matrix = cv2.getPerspectiveTransform(moved, corners)
        return cv2.warpPerspective(
            image, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT,
            borderValue=(p["fill"],) * 3,
        )  # fmt: skip

    return call


def mixed(cv2, np, image, sources):
    output = np.empty_like(image)
    pairs = [index for target, source in enumerate(sources) for index in (source, target)]
    cv2.mixChannels([image], [output], pairs)
    return output


def drop_channel(cv2, np, p):
    def call(image):
        sources = [0, 1, 2]
        sources[random.randrange(3)] = -1
        return mixed(cv2, np, image, sources)

    return call


def rgb_shift(cv2, np, p):
    limit = p["pixel_shift"]

    def call(image):
        return cv2.add(image, tuple(random.randint(-limit, limit) for _ in range(3)) + (0,))

    return call


def blended_kernel(np, kernel, weight):
    output = kernel * weight
    output[1, 1] += 1 - weight
    return output


def sharpen(cv2, np, p):
    def call(image):
        kernel = np.full((3, 3), -1, np.float32)
        kernel[1, 1] = 8 + random.uniform(*p["lightness"])
        return cv2.filter2D(image, -1, blended_kernel(np, kernel, random.uniform(*p["alpha"])))

    return call


def enhance(kernel):
    def build(cv2, np, p):
        whole = np.array(kernel, np.float32)
        return lambda image: cv2.filter2D(image, -1, blended_kernel(np, whole, random.uniform(*p["alpha"])))

    return build


def motion_blur(cv2, np, p):
    side = p["kernel_size"]
    middle, axes = (side // 2, side // 2), (0, round(side / 2))

    def call(image):
        kernel = np.zeros((side, side), np.float32)
        cv2.ellipse(kernel, middle, axes, 90 - random.uniform(*p["angle_range"]), 0, 360, 1, cv2.FILLED)
        return cv2.filter2D(image, -1, kernel / kernel.sum())

    return call


def per_channel(cv2, function):
    return lambda image: cv2.merge([function(channel) for channel in cv2.split(image)])


def auto_contrast(cv2, np, p):
    return per_channel(cv2, lambda channel: cv2.normalize(channel, None, 0, 255, cv2.NORM_MINMAX))


def jpeg(cv2, np, p):
    options = [cv2.IMWRITE_JPEG_QUALITY, p["quality"]]

    def call(image):
        _, stream = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)
        return cv2.cvtColor(cv2.imdecode(stream, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)

    return call


def clahe(cv2, np, p):
    equaliser = cv2.createCLAHE(tileGridSize=tuple(p["tile_grid"]))

    def call(image):
        equaliser.setClipLimit(random.uniform(*p["clip_limit"]))
        lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
        lab[:, :, 0] = equaliser.apply(lab[:, :, 0])
        return cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)

    return call


def max_size(pick):
    def build(cv2, np, p):
        def call(image):
            factor = p["max_size"] / pick(image.shape[:2])
            size = (max(1, round(image.shape[1] * factor)), max(1, round(image.shape[0] * factor)))
            return cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)

        return call

    return build


def quarter_turn(cv2, np, p):
    codes = {1: cv2.ROTATE_90_COUNTERCLOCKWISE, 2: cv2.ROTATE_180, 3: cv2.ROTATE_90_CLOCKWISE}

    def call(image):
        times = random.randint(*p["times"])
        return cv2.rotate(image, codes[times]) if times else image.copy()

    return call


def unsharp_mask(cv2, np, p):
    sides = [k for k in range(p["blur_limit"][0], p["blur_limit"][1] + 1) if k % 2]

    def call(image):
        side, amount = random.choice(sides), random.uniform(*p["alpha"])
        blurred = cv2.GaussianBlur(image, (side, side), p["sigma"])
        flat = cv2.absdiff(image, blurred) < p["threshold"]
        output = cv2.addWeighted(image, 1 + amount, blurred, -amount, 0)
        np.copyto(output, image, where=flat)  # copyTo with a mask per value, which cv2.copyTo does not take
        return output

    return call


def resize(cv2, np, p):
    size = (p["target_size"], p["target_size"])
    return lambda image: cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)


def grayscale(cv2, np, p):
    return lambda image: cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)


def pad(cv2, np, p):
    n, fill = p["padding"], (p["fill"],) * 3
    return lambda image: cv2.copyMakeBorder(image, n, n, n, n, cv2.BORDER_CONSTANT, value=fill)


def box_blur(cv2, np, p):
    size = (p["radius"], p["radius"])
    return lambda image: cv2.blur(image, size, borderType=cv2.BORDER_CONSTANT)


def scaled(cv2, alpha, beta):
    return lambda image: cv2.convertScaleAbs(image, alpha=alpha, beta=beta)


BUILDERS = {
    "Resize": resize,
    "RandomCrop224": crop,
    "RandomResizedCrop": resized_crop,
    "HorizontalFlip": lambda cv2, np, p: lambda image: cv2.flip(image, 1),
    "VerticalFlip": lambda cv2, np, p: lambda image: cv2.flip(image, 0),
    "Pad": pad,
    "Rotate": rotate,
    "Affine": affine,
    "Perspective": perspective,
    "ChannelShuffle": lambda cv2, np, p: lambda image: mixed(cv2, np, image, random.sample(range(3), 3)),
    "Grayscale": grayscale,
    "RGBShift": rgb_shift,
    "GaussianBlur": lambda cv2, np, p: lambda image: cv2.GaussianBlur(image, tuple(p["kernel_size"]), p["sigma"]),
    "Invert": lambda cv2, np, p: cv2.bitwise_not,
    "Posterize": lambda cv2, np, p: table(cv2, np, lambda v: v & (0xFF << (8 - p["bits"]))),
    "Solarize": lambda cv2, np, p: table(cv2, np, lambda v: 255 - v if v >= p["threshold"] * 255 else v),
    "Sharpen": sharpen,
    "AutoContrast": auto_contrast,
    "Equalize": lambda cv2, np, p: per_channel(cv2, cv2.equalizeHist),
    "Erasing": erase,
    "JpegCompression": jpeg,
    "RandomGamma": lambda cv2, np, p: table(cv2, np, lambda v: round(255 * (v / 255) ** (p["gamma"] / 100))),
    "MedianBlur": lambda cv2, np, p: lambda image: cv2.medianBlur(image, p["blur_limit"]),
    "MotionBlur": motion_blur,
    "CLAHE": clahe,
    "Brightness": lambda cv2, np, p: scaled(cv2, 1, 255 * p["brightness_limit"][0]),
    "Contrast": lambda cv2, np, p: scaled(cv2, 1 + p["contrast_limit"][0], 0),
    "Blur": box_blur,
    "ChannelDropout": drop_channel,
    "Shear": shear,
    "LongestMaxSize": max_size(max),
    "SmallestMaxSize": max_size(min),
    "Transpose": lambda cv2, np, p: cv2.transpose,
    "RandomRotate90": quarter_turn,
    "EnhanceEdge": enhance([[-1, -1, -1], [-1, 9, -1], [-1, -1, -1]]),
    "EnhanceDetail": enhance([[0, -1 / 6, 0], [-1 / 6, 10 / 6, -1 / 6], [0, -1 / 6, 0]]),
    "UnsharpMask": unsharp_mask,
}


class OpenCvWheel(Adapter):
    name = "opencv-wheel"
    packages = ("opencv-python-headless", "numpy")
    transforms = tuple(BUILDERS)

    def open(self):
        import cv2
        import numpy

        self.cv2, self.numpy = cv2, numpy
        self.materialise = numpy.ascontiguousarray  # itself: no frame of Python around it in the timed loop

    def build(self, spec):
        if spec.is_clip or spec.channels != 3:
            raise Unsupported("opencv-wheel: the recipes are for RGB images, not for clips or 9 channels")
        if spec.transform not in BUILDERS:
            raise Unsupported(f"{spec.transform} is not available in {self.name}")
        return BUILDERS[spec.transform](self.cv2, self.numpy, spec.params)


if __name__ == "__main__":
    sys.exit(serve(OpenCvWheel()))
