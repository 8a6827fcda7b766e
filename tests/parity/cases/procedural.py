# tests/parity/cases/procedural.py - noise, weather, fractal patterns and fields of light.
# SPDX-License-Identifier: Apache-2.0
"""Fields of light and Snow follow from what the library says it drew. Noise and patterns cannot be matched sample by
sample: their distributions are compared, the library's beside ours where it is not a stated number."""
import numpy as np
from lab import Case, Property


def near(what, value, expected, error):
    """Within `error` of a stated number."""
    return what, float(value), float(expected - error), float(expected + error)


def like(what, ours, theirs, low, high):
    """A figure of ours over the library's."""
    return f"{what}, ours / library", float(ours / theirs), low, high


def flat(lab, value, dtype=np.uint8):
    return np.full((lab.height, lab.width, 3), value, dtype)


def correlation(a, b):
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def ours_with(lab, draw, image):
    """Our output for a given draw."""
    job = {"transform": lab.case.name, "params": {}, "draw": draw, "input": lab.apply.put(image), "output": lab.apply.path()}
    return lab.apply.run([job])[0]["output"]


def gaussian_noise(lab):
    weak = lab.ours(1, flat(lab, 128), {"std": 0.1})[0].astype(float) - 128  # hardly ever saturates
    photo, theirs = lab.ours(1)[0].astype(float), lab.library(1)[0].astype(float)
    n = weak.size
    z = weak / 25.5
    return [
        near("mean, levels", weak.mean(), 0, 5 * 25.5 / n**0.5),
        near("std, levels", weak.std(), 25.5, 0.1 + 5 * 25.5 / (2 * n) ** 0.5),
        near("skewness", (z**3).mean(), 0, 5 * (15 / n) ** 0.5),
        near("kurtosis", (z**4).mean(), 3, 0.02 + 5 * (96 / n) ** 0.5),
        near("share beyond 51 levels, 2.02 std", (np.abs(weak) > 51).mean(), 0.0434, 0.003),
        near("correlation of channels", correlation(weak[..., 0], weak[..., 1]), 0, 5 * (3 / n) ** 0.5),
        near("correlation along x", correlation(weak[:, 1:], weak[:, :-1]), 0, 5 / n**0.5),
        near("correlation along y", correlation(weak[1:], weak[:-1]), 0, 5 / n**0.5),
        like("mean on a photograph", photo.mean(), theirs.mean(), 0.98, 1.02),
        like("std on a photograph", photo.std(), theirs.std(), 0.98, 1.02),
        like("share of 0 and 255", np.isin(photo, (0, 255)).mean(), np.isin(theirs, (0, 255)).mean(), 0.97, 1.03),
    ]


def salt_and_pepper(lab):
    params = {"amount": [0.05, 0.05], "salt_vs_pepper": [0.4, 0.4]}
    made = lab.ours(8, flat(lab, 128), params)
    pixels = lab.height * lab.width
    hit = np.array([(one[..., 0] != 128) for one in made])
    expected = np.full((4, 4), 0.05)
    tiles = np.array([[tile.mean() for tile in np.array_split(band, 4, axis=2)] for band in np.array_split(hit, 4, axis=1)])
    drawn = [d["amount"] for d in (lab.ours(40, flat(lab, 128)[:8, :8]), lab.last_draws)[1]]
    return [
        near("salt pixels less the stated count", sum((one[..., 0] == 255).sum() for one in made) - 8 * int(pixels * 0.05 * 0.4), 0, 0),
        near("pepper pixels less the stated count", sum((one[..., 0] == 0).sum() for one in made) - 8 * int(pixels * 0.05 * 0.6), 0, 0),
        near("pixels whose channels differ", sum((one != one[..., :1]).sum() for one in made), 0, 0),
        near("largest error of a sixteenth's share", np.abs(tiles - expected).max(), 0, 5 * (0.05 * 16 / (8 * pixels)) ** 0.5),
        near("correlation along x", correlation(hit[:, :, 1:], hit[:, :, :-1]), 0, 5 / hit.size**0.5),
        near("correlation of two draws", correlation(hit[0], hit[1]), 0, 5 / pixels**0.5),
        near("smallest amount drawn", min(drawn), 0.0125, 0.0025),
        near("largest amount drawn", max(drawn), 0.0575, 0.0025),
    ]


def rain_draw(lab):
    return {"slant": lab.params["slant"], "drop_length": int(lab.params["drop_length"]), "drop_width": 5, "brightness": 1.0,
            "drops": np.asarray(lab.params["rain_drops"]).ravel().tolist()}


def rain(lab):
    black = flat(lab, 0)
    ours, theirs = np.array(lab.ours(12, black))[..., 0], np.array(lab.library(12, black))[..., 0]
    same = ours_with(lab, rain_draw(lab), black)[..., 0].astype(float)
    off = np.abs(same - lab.run(black)[..., 0])
    slants = [d["slant"] for d in lab.last_draws]
    short = lab.height < 200  # short drops are mostly outline
    return [
        like("wet share", (ours > 0).mean(), (theirs > 0).mean(), 0.9, 2 if short else 1.1),
        near("largest level added", ours.max(), 200, 0),
        near("largest lean drawn", max(map(abs, slants)), 7.5, 2.5),
        near("leans to both sides", (min(slants) < 0) + (max(slants) > 0), 2, 0),
        near("mean level off, given the library's drops", off.mean(), 0, 2.5 if short else 1.0),
        near("share of pixels over 8 levels off", (off > 8).mean(), 0, 0.1 if short else 0.02),
    ]


def roughness(pattern, lag):
    """Root mean square of differences at a distance, a share of each side."""
    dx, dy = max(1, round(lag * pattern.shape[-1])), max(1, round(lag * pattern.shape[-2]))
    across = pattern[..., dx:] - pattern[..., :-dx]
    down = pattern[..., dy:, :] - pattern[..., :-dy, :]
    return float(((across**2).mean() / 2 + (down**2).mean() / 2) ** 0.5)


def plasma(formula, rounding, low, high):
    """`formula(image, strength, pattern)` is what is done with the pattern, 255 being the largest sample."""

    def check(lab):
        grey = np.stack([flat(lab, 0.5, np.float32)[..., 0], flat(lab, 0.25, np.float32)[..., 0], flat(lab, 0.75, np.float32)[..., 0]], -1)
        outputs, draws = lab.ours(16, grey), None
        draws = lab.last_draws
        effect = lambda p, s: formula(grey.astype(float) * 255, s, p[..., None])[..., 2] / 255
        one, zero = np.ones(grey.shape[:2]), np.zeros(grey.shape[:2])
        patterns = np.array([
            (out[..., 2] - effect(zero, d["strength"])) / (effect(one, d["strength"]) - effect(zero, d["strength"]))
            for out, d in zip(outputs, draws, strict=True)])
        theirs = []
        for seed in range(16):
            lab.made.set_random_seed(seed)
            lab.made(image=grey)
            theirs.append(lab.made.params["plasma_pattern"])
        theirs = np.array(theirs)
        photo = lab.image.astype(float)
        exact = rounding(np.clip(formula(photo, draws[0]["strength"], patterns[0][..., None]), 0, 255))
        off = np.abs(ours_with(lab, draws[0], lab.image) - exact)
        rows = [
            near("levels off the formula, at most", off.max(), 0, 1),
            near("smallest of the pattern", patterns.min(), 0, 0.02),
            near("largest of the pattern", patterns.max(), 1, 0.02),
            near("mean of the pattern", patterns.mean(), 0.5, 0.06),
            near("smallest strength drawn", min(d["strength"] for d in draws), low, 0.2),
            near("largest strength drawn", max(d["strength"] for d in draws), high, 0.2),
            like("std of the pattern", patterns.std(axis=(1, 2)).mean(), theirs.std(axis=(1, 2)).mean(), 0.8, 1.2),
        ]
        return rows + [like(f"difference at 1/{part} of the side", roughness(patterns, 1 / part), roughness(theirs, 1 / part), 0.75, 1.25)
                       for part in (128, 64, 32, 16, 8, 4)]
    return check


def contrast_formula(image, strength, pattern):
    return image + strength * pattern * (image - image.mean())


half_up = lambda x: np.floor(x + 0.5)

CASES = [
    Property("GaussianNoise", gaussian_noise, note="the library rounds the noise towards 0, ours to the nearest level"),
    Property("SaltAndPepper", salt_and_pepper),
    Property("Rain", rain, note="given the library's drops: at some slants the outline of a line differs from OpenCV's by "
             "single pixels, each of which the blur spreads as 4 levels over 49"),
    Case("Snow", draw=lambda lab: {"snow_point": lab.params["snow_point"]},
         note="the library rounds hue to 2 degrees and saturation to a level on the way, ours keeps them"),
    Property("PlasmaBrightness", plasma(lambda x, s, p: x + 255 * s * p, half_up, -0.3, 0.3)),
    Property("PlasmaContrast", plasma(contrast_formula, half_up, -0.3, 0.3),
             note="in a clip the library takes the mean of all frames, ours that of each"),
    Property("PlasmaShadow", plasma(lambda x, s, p: x * (1 - s * p), np.floor, 0.3, 0.7)),
    Case("LinearIllumination", draw=lambda lab: {"intensity": lab.params["intensity"]}),
    Case("CornerIllumination", draw=lambda lab: {"intensity": lab.params["intensity"], "corner": int(lab.params["corner"])}),
    Case("GaussianIllumination", draw=lambda lab: {
        "intensity": lab.params["intensity"], "centre": list(lab.params["center"]), "sigma": lab.params["sigma"]}),
]
