# adapters/python/torchvision_worker.py - torchvision transforms v2: uint8 tensors, CHW images and TCHW clips.
# SPDX-License-Identifier: Apache-2.0
"""A clip is one call on TCHW: torchvision draws once per call, so one draw per clip.

Clips use the same conversions as images. (The published video rows once had p=0.5 flips and raw 0.2 as brightness and contrast
factors; those were mistakes of their time.)
"""
import sys

from sluice_worker import Unsupported, serve
from sluice_worker.tensors import TensorAdapter

SHARPNESS_FACTOR = 2.0  # the definition's alpha and lightness have no counterpart; 2 is what was published

# With nine channels these are called on each RGB third: they know one or three channels only.
IN_CHUNKS = {
    "AutoContrast", "Brightness", "ColorJiggle", "ColorJitter", "Contrast", "Grayscale", "JpegCompression",
    "PhotoMetricDistort", "Sharpen",
}  # fmt: skip


def affine(V, p):
    """Pixels become fractions of the reference size. Angle and both shears are drawn from ranges here."""
    fraction = tuple(pixels / p["reference_size"] for pixels in p["shift"])
    return V.RandomAffine(
        degrees=p["angle"],
        translate=fraction,
        scale=(p["scale"], p["scale"]),
        shear=tuple(p["shear"]),
        interpolation=V.InterpolationMode(p["interpolation"]),
        fill=p["fill"],
    )


def colour_jitter(V, p):
    value = lambda key: tuple(p[key]) if isinstance(p[key], list) else p[key]
    return V.ColorJitter(value("brightness"), value("contrast"), value("saturation"), value("hue"))


def photometric(V, p):
    return V.RandomPhotometricDistort(
        tuple(p["brightness"]), tuple(p["contrast"]), tuple(p["saturation"]), tuple(p["hue"]), p=1.0
    )


def resized_crop(V, p):
    return V.RandomResizedCrop(
        size=tuple(p["size"]), scale=tuple(p["scale"]), ratio=tuple(p["ratio"]),
        interpolation=V.InterpolationMode(p["interpolation"]), antialias=True,
    )  # fmt: skip


def rotate(V, p):
    return V.RandomRotation(
        tuple(p["angle_range"]), interpolation=V.InterpolationMode(p["interpolation"]), fill=p["fill"]
    )


def perspective(V, p):
    return V.RandomPerspective(
        distortion_scale=p["scale"][1], p=1.0, interpolation=V.InterpolationMode(p["interpolation"]), fill=p["fill"]
    )


def elastic(V, p):
    return V.ElasticTransform(
        alpha=float(p["alpha"]), sigma=float(p["sigma"]), interpolation=V.InterpolationMode(p["interpolation"])
    )


def erasing(V, p):
    return V.RandomErasing(p=1.0, scale=tuple(p["scale"]), ratio=tuple(p["ratio"]), value=p["fill"])


# A whole number as size keeps the ratio (the shorter side becomes 512); the threshold of Solarize meets uint8 pixels as it is:
# both as published, both in the semantics audit.
BUILDERS = {
    "Resize": lambda V, p: V.Resize(
        size=p["target_size"], interpolation=V.InterpolationMode(p["interpolation"]), antialias=True
    ),
    "RandomCrop224": lambda V, p: V.RandomCrop((p["height"], p["width"]), pad_if_needed=True),
    "RandomResizedCrop": resized_crop,
    "HorizontalFlip": lambda V, p: V.RandomHorizontalFlip(p=1.0),
    "VerticalFlip": lambda V, p: V.RandomVerticalFlip(p=1.0),
    "Pad": lambda V, p: V.Pad(p["padding"], fill=p["fill"], padding_mode=p["border_mode"]),
    "Rotate": rotate,
    "Affine": affine,
    "Perspective": perspective,
    "Elastic": elastic,
    "ColorJitter": colour_jitter,
    "ChannelShuffle": lambda V, p: V.RandomChannelPermutation(),
    "Grayscale": lambda V, p: V.Grayscale(num_output_channels=p["num_output_channels"]),
    "GaussianBlur": lambda V, p: V.GaussianBlur(tuple(p["kernel_size"]), sigma=(p["sigma"], p["sigma"])),
    "Invert": lambda V, p: V.RandomInvert(p=1.0),
    "Posterize": lambda V, p: V.RandomPosterize(bits=p["bits"], p=1.0),
    "Solarize": lambda V, p: V.RandomSolarize(threshold=p["threshold"], p=1.0),
    "Sharpen": lambda V, p: V.RandomAdjustSharpness(sharpness_factor=SHARPNESS_FACTOR, p=1.0),
    "AutoContrast": lambda V, p: V.RandomAutocontrast(p=1.0),
    "Equalize": lambda V, p: V.RandomEqualize(p=1.0),
    "Erasing": erasing,
    "JpegCompression": lambda V, p: V.JPEG(quality=p["quality"]),
    "Brightness": lambda V, p: V.ColorJitter(brightness=p["brightness_limit"][0]),
    "Contrast": lambda V, p: V.ColorJitter(contrast=p["contrast_limit"][0]),
    "PhotoMetricDistort": photometric,
    "ColorJiggle": colour_jitter,
    "Normalize": lambda V, p: V.Compose([V.to_float(), V.Normalize(mean=p["mean"], std=p["std"])]),
}


class Torchvision(TensorAdapter):
    name = "torchvision"
    packages = ("torchvision", "torch", "numpy")
    transforms = tuple(BUILDERS)

    def open(self):
        super().open()
        from torchvision.transforms import v2

        self.v2 = v2
        v2.to_float = lambda: v2.ToDtype(self.torch.float32, scale=True)

    def transform(self, spec):
        """The library's own object."""
        if spec.transform not in BUILDERS:
            raise Unsupported(f"{spec.transform} is not available in torchvision")
        return BUILDERS[spec.transform](self.v2, spec.params)

    def build(self, spec):
        made = self.transform(spec)
        if spec.channels != 3 and spec.transform in IN_CHUNKS:
            return self.in_chunks(made)
        return made

    def convert(self, array, scenario):
        return self.place(self.tensor(array))


if __name__ == "__main__":
    sys.exit(serve(Torchvision()))
