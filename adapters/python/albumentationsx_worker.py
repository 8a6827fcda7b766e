# adapters/python/albumentationsx_worker.py - AlbumentationsX: uint8 HWC arrays, clips through `images=`.
# SPDX-License-Identifier: Apache-2.0
"""Serves `albumentationsx` (pinned) and `albumentationsx-latest`: the first argument is the row's library.

A transform is called alone, without Compose: fewer checks per call, and no telemetry. Every call is written with the
argument names of the pinned version; a newer one that ignores one of them with a warning answers `unsupported`.
"""
import os
import sys

from sluice_worker import Adapter, Unsupported, serve

INTERPOLATION = {"nearest": 0, "bilinear": 1}  # cv2.INTER_NEAREST, INTER_LINEAR
BORDER = {"constant": 0}  # cv2.BORDER_CONSTANT


def span(value):
    """[low, high] as the library wants it."""
    return tuple(value)


def fixed(value):
    return (value, value)


def around(value):
    return (-value, value)


def affine(A, p):
    x, y = p["shift"]
    shear_x, shear_y = p["shear"]
    return A.Affine(
        rotate=around(p["angle"]),
        translate_px={"x": fixed(x), "y": fixed(y)},
        scale=fixed(p["scale"]),
        shear={"x": fixed(shear_x), "y": fixed(shear_y)},
        interpolation=INTERPOLATION[p["interpolation"]],
        border_mode=BORDER[p["border_mode"]],
        fill=p["fill"],
        p=1,
    )


def elastic(A, p):
    return A.ElasticTransform(
        alpha=p["alpha"],
        sigma=p["sigma"],
        interpolation=INTERPOLATION[p["interpolation"]],
        approximate=p["approximate"],
        same_dxdy=p["same_dxdy"],
        p=1,
    )


def colour_jitter(A, p):
    """Scalars are fixed factors here (other libraries draw from 0 to 1 + v); lists are ranges."""
    as_range = lambda value: span(value) if isinstance(value, list) else fixed(value)
    return A.ColorJitter(
        brightness_range=as_range(p["brightness"]),
        contrast_range=as_range(p["contrast"]),
        saturation_range=as_range(p["saturation"]),
        hue_range=as_range(p["hue"]),
        p=1,
    )


def photometric(A, p):
    return A.PhotoMetricDistort(
        brightness_range=span(p["brightness"]),
        contrast_range=span(p["contrast"]),
        saturation_range=span(p["saturation"]),
        hue_range=span(p["hue"]),
        distort_p=1.0,
        p=1,
    )


def rotate(A, p):
    return A.Rotate(
        angle_range=span(p["angle_range"]),
        interpolation=INTERPOLATION[p["interpolation"]],
        border_mode=BORDER[p["border_mode"]],
        fill=p["fill"],
        p=1,
    )


def resized_crop(A, p):
    return A.RandomResizedCrop(
        size=span(p["size"]),
        scale=span(p["scale"]),
        ratio=span(p["ratio"]),
        interpolation=INTERPOLATION[p["interpolation"]],
        p=1,
    )


def max_size(kind):
    return lambda A, p: getattr(A, kind)(
        max_size=p["max_size"], interpolation=INTERPOLATION[p["interpolation"]], p=1
    )


def rgb_shift(A, p):
    shift = around(p["pixel_shift"])
    return A.RGBShift(r_shift_range=shift, g_shift_range=shift, b_shift_range=shift, p=1)


def illumination(mode, **more):
    """The gain is not passed on, as published: the library's own default range is the same."""
    return lambda A, p: A.Illumination(mode=mode, p=1, **more)


def motion_blur(A, p):
    return A.MotionBlur(
        blur_range=fixed(p["kernel_size"]),
        angle_range=span(p["angle_range"]),
        direction_range=span(p["direction_range"]),
        p=1,
    )


def unsharp_mask(A, p):
    return A.UnsharpMask(
        blur_range=span(p["blur_limit"]),
        sigma_range=fixed(float(p["sigma"])),
        alpha_range=span(p["alpha"]),
        threshold=p["threshold"],
        p=1,
    )


def hue_saturation(A, hue, saturation):
    return A.HueSaturationValue(hue_shift_range=hue, sat_shift_range=saturation, val_shift_range=(0, 0), p=1)


def enhance(A, p):
    return A.Enhance(mode=p["mode"], alpha_range=span(p["alpha"]), p=1)


BUILDERS = {
    "Resize": lambda A, p: A.Resize(
        height=p["target_size"], width=p["target_size"], interpolation=INTERPOLATION[p["interpolation"]], p=1
    ),
    "RandomCrop224": lambda A, p: A.RandomCrop(height=p["height"], width=p["width"], pad_if_needed=True, p=1),
    "RandomResizedCrop": resized_crop,
    "HorizontalFlip": lambda A, p: A.HorizontalFlip(p=1),
    "VerticalFlip": lambda A, p: A.VerticalFlip(p=1),
    "Pad": lambda A, p: A.Pad(padding=p["padding"], fill=p["fill"], border_mode=BORDER[p["border_mode"]], p=1),
    "Rotate": rotate,
    "Affine": affine,
    "Perspective": lambda A, p: A.Perspective(
        scale=span(p["scale"]), interpolation=INTERPOLATION[p["interpolation"]], fill=p["fill"], p=1
    ),
    "Elastic": elastic,
    "ColorJitter": colour_jitter,
    "ChannelShuffle": lambda A, p: A.ChannelShuffle(p=1),
    "Grayscale": lambda A, p: A.ToGray(num_output_channels=p["num_output_channels"], p=1),
    "RGBShift": rgb_shift,
    "GaussianBlur": lambda A, p: A.GaussianBlur(
        blur_range=span(p["kernel_size"]), sigma_range=fixed(p["sigma"]), p=1
    ),
    "GaussianNoise": lambda A, p: A.GaussNoise(
        std_range=fixed(p["std"]), mean_range=fixed(float(p["mean"])), per_channel=p["per_channel"], p=1
    ),
    "Invert": lambda A, p: A.InvertImg(p=1),
    "Posterize": lambda A, p: A.Posterize(num_bits=fixed(p["bits"]), p=1),
    "Solarize": lambda A, p: A.Solarize(threshold_range=fixed(p["threshold"]), p=1),
    "Sharpen": lambda A, p: A.Sharpen(alpha_range=span(p["alpha"]), lightness_range=span(p["lightness"]), p=1),
    "AutoContrast": lambda A, p: A.AutoContrast(method="pil", p=1),
    "Equalize": lambda A, p: A.Equalize(mode=p["mode"], p=1),
    "Erasing": lambda A, p: A.Erasing(scale=span(p["scale"]), ratio=span(p["ratio"]), fill=p["fill"], p=1),
    "JpegCompression": lambda A, p: A.ImageCompression(
        compression_type="jpeg", quality_range=fixed(p["quality"]), p=1
    ),
    "RandomGamma": lambda A, p: A.RandomGamma(gamma_range=fixed(p["gamma"]), p=1),
    "PlankianJitter": lambda A, p: A.PlanckianJitter(mode=p["mode"], p=1),
    "MedianBlur": lambda A, p: A.MedianBlur(blur_range=fixed(p["blur_limit"]), p=1),
    "MotionBlur": motion_blur,
    "CLAHE": lambda A, p: A.CLAHE(clip_range=span(p["clip_limit"]), tile_grid_size=span(p["tile_grid"]), p=1),
    "Brightness": lambda A, p: A.RandomBrightnessContrast(
        brightness_range=span(p["brightness_limit"]), contrast_range=(0.0, 0.0), p=1
    ),
    "Contrast": lambda A, p: A.RandomBrightnessContrast(
        brightness_range=(0.0, 0.0), contrast_range=span(p["contrast_limit"]), p=1
    ),
    "Blur": lambda A, p: A.Blur(blur_range=fixed(p["radius"]), p=1),  # `radius` is the side of the kernel here
    "ChannelDropout": lambda A, p: A.ChannelDropout(p=1),
    "LinearIllumination": illumination("linear", angle_range=(90, 90)),
    "CornerIllumination": illumination("corner"),
    "GaussianIllumination": illumination("gaussian"),
    "Hue": lambda A, p: hue_saturation(A, around(p["hue"]), (0, 0)),
    "PlasmaBrightness": lambda A, p: A.PlasmaBrightnessContrast(
        roughness=p["roughness"], contrast_range=(0.0, 0.0), p=1
    ),
    "PlasmaContrast": lambda A, p: A.PlasmaBrightnessContrast(
        roughness=p["roughness"], brightness_range=(0.0, 0.0), p=1
    ),
    "PlasmaShadow": lambda A, p: A.PlasmaShadow(roughness=p["roughness"], p=1),
    "Rain": lambda A, p: A.RandomRain(
        drop_width=p["drop_width"], brightness_coefficient=p["brightness_coefficient"], p=1
    ),
    "SaltAndPepper": lambda A, p: A.SaltAndPepper(
        amount_range=span(p["amount"]), salt_vs_pepper_range=span(p["salt_vs_pepper"]), p=1
    ),
    "Saturation": lambda A, p: hue_saturation(A, (0, 0), around(p["saturation_factor"] * 255)),
    "Snow": lambda A, p: A.RandomSnow(snow_point_range=span(p["snow_point_range"]), p=1),
    "OpticalDistortion": lambda A, p: A.OpticalDistortion(distort_range=around(p["distort_limit"]), mode=p["mode"], p=1),
    "Shear": lambda A, p: A.Affine(shear=fixed(p["shear"]), interpolation=1, border_mode=0, p=1),
    "ThinPlateSpline": lambda A, p: A.ThinPlateSpline(
        num_control_points=p["num_control_points"], scale_range=fixed(p["distortion_scale"]), p=1
    ),
    "PhotoMetricDistort": photometric,
    "ColorJiggle": colour_jitter,
    "LongestMaxSize": max_size("LongestMaxSize"),
    "SmallestMaxSize": max_size("SmallestMaxSize"),
    "Transpose": lambda A, p: A.Transpose(p=1),
    "RandomRotate90": lambda A, p: A.RandomRotate90(p=1),
    "RandomJigsaw": lambda A, p: A.RandomGridShuffle(grid=span(p["grid"]), p=1),
    "EnhanceEdge": enhance,
    "EnhanceDetail": enhance,
    "UnsharpMask": unsharp_mask,
    "Normalize": lambda A, p: A.Normalize(mean=span(p["mean"]), std=span(p["std"]), p=1),
}


def for_channels(name, params, channels):
    """Nine channels: weights of red, green and blue mean nothing, and statistics repeat."""
    if channels == 3:
        return None
    if name == "Grayscale":
        return lambda A: A.ToGray(num_output_channels=channels, method="average", p=1)
    if name == "Normalize":
        repeat = channels // 3
        return lambda A: A.Normalize(mean=span(params["mean"]) * repeat, std=span(params["std"]) * repeat, p=1)
    return None


class AlbumentationsX(Adapter):
    packages = ("albumentationsx", "albucore", "numpy", "opencv-python-headless", "torch", "numkong", "stringzilla")
    transforms = tuple(BUILDERS)

    def __init__(self, name="albumentationsx"):
        super().__init__()
        self.name = name
        self.library = None
        self.built = []

    def open(self):
        os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
        os.environ.setdefault("ALBUMENTATIONS_NO_TELEMETRY", "1")
        import albumentations
        import numpy

        self.library = albumentations
        self.materialise = numpy.ascontiguousarray  # itself: no frame of Python around it in the timed loop

    def transform(self, spec):
        """The library's own object."""
        name = spec.transform
        if name not in BUILDERS:
            raise Unsupported(f"{name} is not available in {self.name}")
        special = for_channels(name, spec.params, spec.channels)
        made = special(self.library) if special else BUILDERS[name](self.library, spec.params)
        self.built.append(made)
        return made

    def build(self, spec):
        made = self.transform(spec)
        if spec.is_clip:  # one draw for all frames of the clip
            return lambda clip: made(images=clip)["images"]
        return lambda image: made(image=image)["image"]

    def reseed(self, seed):
        super().reseed(seed)
        for made in self.built:
            made.set_random_seed(seed % 2**32)

    def forget(self):
        self.built.clear()


if __name__ == "__main__":
    sys.exit(serve(AlbumentationsX(*sys.argv[1:2])))
