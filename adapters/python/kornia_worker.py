# adapters/python/kornia_worker.py - Kornia: float32 tensors in 0..1, batches of one; clips through VideoSequential.
# SPDX-License-Identifier: Apache-2.0
"""Clips are batches of one clip (BTCHW) with same_on_frame: one draw per clip.

Clips use the same conversions as images. (The published video rows once passed 0.2 as a brightness factor, 20 as a hue and 0.5 as
a saturation; those were mistakes of their time.)
"""
import sys

from sluice_worker import Unsupported, serve
from sluice_worker.tensors import TensorAdapter

SHARPNESS = 2.0  # the definition's alpha and lightness have no counterpart; 2 is what was published
SNOW_BRIGHTNESS = (2.0, 2.0)  # likewise; the definition has only the snow point
FISHEYE_CENTRE, FISHEYE_GAMMA = (-0.3, 0.3), (0.9, 1.1)  # likewise, for OpticalDistortion

IN_CHUNKS = {"Grayscale", "JpegCompression"}  # with nine channels called on each RGB third: they know three only


def fixed(value):
    return (float(value), float(value))


def span(values):
    return tuple(float(v) for v in values)


def affine(K, p, frames=1):
    """Angle, shift and scale are fixed and the shear is left out, as published. One entry per frame."""
    tensor = K.tensor
    return K.Affine(
        angle=tensor([float(p["angle"])] * frames),
        translation=tensor([span(p["shift"])] * frames),
        scale_factor=tensor([fixed(p["scale"])] * frames),
        mode=p["interpolation"],
        padding_mode="zeros",
        align_corners=True,
    )


def colours(kind):
    """Scalars and ranges as they are."""

    def build(K, p):
        value = lambda key: span(p[key]) if isinstance(p[key], list) else p[key]
        return getattr(K, kind)(value("brightness"), value("contrast"), value("saturation"), value("hue"), p=1.0)

    return build


def resized_crop(K, p):
    return K.RandomResizedCrop(
        tuple(p["size"]), scale=span(p["scale"]), ratio=span(p["ratio"]), resample=p["interpolation"], p=1.0
    )


def perspective(K, p):
    return K.RandomPerspective(distortion_scale=p["scale"][1], resample=p["interpolation"], p=1.0)


def motion_blur(K, p):
    return K.RandomMotionBlur(
        kernel_size=p["kernel_size"], angle=span(p["angle_range"]), direction=span(p["direction_range"]), p=1.0
    )


def fisheye(K, p):
    centre, gamma = K.tensor(FISHEYE_CENTRE), K.tensor(FISHEYE_GAMMA)
    return K.RandomFisheye(center_x=centre, center_y=centre.clone(), gamma=gamma, p=1.0)


def rgb_shift(K, p):
    shift = p["pixel_shift"] / 255
    return K.RandomRGBShift(shift, shift, shift, p=1.0)


def rain(K, p):
    width, height = p["drop_width"], p["drop_height"]
    return K.RandomRain(drop_width=(width, width), drop_height=(height, height), p=1.0)


def erasing(K, p):
    return K.RandomErasing(scale=span(p["scale"]), ratio=span(p["ratio"]), value=float(p["fill"]), p=1.0)


def gained(kind):
    return lambda K, p: getattr(K, kind)(gain=span(p["gain"]), p=1.0)


def rough(kind):
    return lambda K, p: getattr(K, kind)(roughness=fixed(p["roughness"]), p=1.0)


def plain(kind):
    return lambda K, p: getattr(K, kind)(p=1.0)


BUILDERS = {
    "Resize": lambda K, p: K.Resize((p["target_size"], p["target_size"]), resample=p["interpolation"]),
    "RandomCrop224": lambda K, p: K.RandomCrop((p["height"], p["width"]), pad_if_needed=True, p=1.0),
    "RandomResizedCrop": resized_crop,
    "HorizontalFlip": plain("RandomHorizontalFlip"),
    "VerticalFlip": plain("RandomVerticalFlip"),
    "Rotate": lambda K, p: K.RandomRotation(span(p["angle_range"]), p=1.0),  # bilinear: the default, as published
    "Affine": affine,
    "Perspective": perspective,
    "Elastic": lambda K, p: K.RandomElasticTransform(sigma=fixed(p["sigma"]), alpha=fixed(p["alpha"]), p=1.0),
    "ColorJitter": colours("ColorJitter"),
    "ChannelShuffle": plain("RandomChannelShuffle"),
    "Grayscale": plain("RandomGrayscale"),
    "RGBShift": rgb_shift,
    "GaussianBlur": lambda K, p: K.RandomGaussianBlur(tuple(p["kernel_size"]), fixed(p["sigma"]), p=1.0),
    "GaussianNoise": lambda K, p: K.RandomGaussianNoise(mean=float(p["mean"]), std=float(p["std"]), p=1.0),
    "Invert": plain("RandomInvert"),
    "Posterize": lambda K, p: K.RandomPosterize(bits=float(p["bits"]), p=1.0),  # draws from `bits` to 8
    "Solarize": lambda K, p: K.RandomSolarize(thresholds=p["threshold"], p=1.0),
    "Sharpen": lambda K, p: K.RandomSharpness(SHARPNESS, p=1.0),
    "AutoContrast": plain("RandomAutoContrast"),
    "Equalize": plain("RandomEqualize"),
    "Erasing": erasing,
    "JpegCompression": lambda K, p: K.RandomJPEG(jpeg_quality=float(p["quality"]), p=1.0),
    "RandomGamma": lambda K, p: K.RandomGamma(gamma=fixed(p["gamma"] / 100), p=1.0),
    "PlankianJitter": lambda K, p: K.RandomPlanckianJitter(mode=p["mode"], p=1.0),
    "MedianBlur": lambda K, p: K.RandomMedianBlur((p["blur_limit"], p["blur_limit"]), p=1.0),
    "MotionBlur": motion_blur,
    "CLAHE": lambda K, p: K.RandomClahe(clip_limit=span(p["clip_limit"]), grid_size=tuple(p["tile_grid"]), p=1.0),
    "Brightness": lambda K, p: K.RandomBrightness(brightness=fixed(1 + p["brightness_limit"][0]), p=1.0),
    "Contrast": lambda K, p: K.RandomContrast(contrast=fixed(1 + p["contrast_limit"][0]), p=1.0),
    "Blur": lambda K, p: K.RandomBoxBlur((p["radius"], p["radius"]), border_type=p["border_mode"], p=1.0),
    "ChannelDropout": plain("RandomChannelDropout"),
    "LinearIllumination": gained("RandomLinearIllumination"),
    "CornerIllumination": gained("RandomLinearCornerIllumination"),
    "GaussianIllumination": gained("RandomGaussianIllumination"),
    "Hue": lambda K, p: K.RandomHue(hue=(-p["hue"] / 360, p["hue"] / 360), p=1.0),
    "PlasmaBrightness": rough("RandomPlasmaBrightness"),
    "PlasmaContrast": rough("RandomPlasmaContrast"),
    "PlasmaShadow": rough("RandomPlasmaShadow"),
    "Rain": rain,
    "SaltAndPepper": lambda K, p: K.RandomSaltAndPepperNoise(
        amount=span(p["amount"]), salt_vs_pepper=span(p["salt_vs_pepper"]), p=1.0
    ),
    "Saturation": lambda K, p: K.RandomSaturation(saturation=fixed(1 + p["saturation_factor"]), p=1.0),
    "Snow": lambda K, p: K.RandomSnow(snow_coefficient=span(p["snow_point_range"]), brightness=SNOW_BRIGHTNESS, p=1.0),
    "OpticalDistortion": fisheye,
    "Shear": lambda K, p: K.RandomShear(float(p["shear"]), p=1.0),
    "ThinPlateSpline": lambda K, p: K.RandomThinPlateSpline(scale=p["distortion_scale"], p=1.0),
    "ColorJiggle": colours("ColorJiggle"),
    "LongestMaxSize": lambda K, p: K.LongestMaxSize(p["max_size"], resample=p["interpolation"], p=1.0),
    "SmallestMaxSize": lambda K, p: K.SmallestMaxSize(p["max_size"], resample=p["interpolation"], p=1.0),
    "RandomRotate90": lambda K, p: K.RandomRotation90(tuple(p["times"]), p=1.0),
    "RandomJigsaw": lambda K, p: K.RandomJigsaw(tuple(p["grid"]), p=1.0),
    "Normalize": lambda K, p: K.Normalize(mean=K.tensor(p["mean"]), std=K.tensor(p["std"]), p=1.0),
}


class Operators:
    """Kornia's classes and what the builders need beside them."""

    def __init__(self, torch, place):
        import kornia.augmentation
        import kornia.geometry.transform

        self.augmentation = kornia.augmentation
        self.Affine = kornia.geometry.transform.Affine
        self.tensor = lambda values: place(torch.tensor(values))

    def __getattr__(self, name):
        return getattr(self.augmentation, name)


class Kornia(TensorAdapter):
    name = "kornia"
    packages = ("kornia", "torch", "numpy", "kornia_rs")
    transforms = tuple(BUILDERS)
    unit_float = True

    def open(self):
        super().open()
        self.operators = Operators(self.torch, self.place)

    def transform(self, spec, **more):
        """The library's own module."""
        if spec.transform not in BUILDERS:
            raise Unsupported(f"{spec.transform} is not available in kornia")
        return BUILDERS[spec.transform](self.operators, spec.params, **more)

    def build(self, spec):
        call = self.clip_call(spec) if spec.is_clip else self.image_call(spec)
        if spec.transform == "RandomJigsaw":
            call = self.padded(call, spec.params["grid"])
        if spec.channels != 3 and spec.transform in IN_CHUNKS:
            call = self.in_chunks(call)
        return call

    def image_call(self, spec):
        made = self.transform(spec)
        return lambda image: made(image.unsqueeze(0)).squeeze(0)

    def clip_call(self, spec):
        """Frames as a batch where VideoSequential does not do: Affine is no augmentation, and of a dropped channel it tells
        only the first frame."""
        if spec.transform == "Affine":
            return affine(self.operators, spec.params, spec.clip_length)
        if spec.transform == "ChannelDropout":
            return self.operators.RandomChannelDropout(same_on_batch=True, p=1.0)
        made = self.operators.VideoSequential(self.transform(spec), data_format="BTCHW", same_on_frame=True)
        return lambda clip: made(clip.unsqueeze(0)).squeeze(0)

    def padded(self, call, grid):
        """Sides that the grid does not divide are padded with zeros, and cut again."""
        pad = self.torch.nn.functional.pad

        def whole(item):
            height, width = item.shape[-2:]
            below, right = -height % grid[0], -width % grid[1]
            if not below and not right:
                return call(item)
            return call(pad(item, (0, right, 0, below)))[..., :height, :width]

        return whole

    def convert(self, array, scenario):
        return self.place(self.tensor(array).float().div_(255))

    def references(self, spec):
        from sluice_worker import references  # needs NumPy, which is there once the library is

        if spec.transform == "RandomRotate90":  # warps about the centre and keeps the size: parts of the image are lost
            return lambda before, after: ""
        if spec.transform == "Posterize":
            makes = [references.posterize(bits) for bits in range(spec.params["bits"], 9)]
            return references.one_of(makes, "posterized to the stated bits or more")
        return None


if __name__ == "__main__":
    sys.exit(serve(Kornia()))
