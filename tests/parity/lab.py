# tests/parity/lab.py - one transform beside AlbumentationsX: runs it, finds out what it drew, compares the outputs.
# SPDX-License-Identifier: Apache-2.0
"""What a file in cases/ may use.

Case(name, build, draw)   the library's object, and how our draw follows from what it did
Property(name, check)     where the draw cannot be matched: figures with the range they must lie in
Lab                       what both are handed: inputs, outputs, recovered maps

The draw of a run is found from the library's own outputs: `Lab.run` calls it again, same seed, on any other image (of
coordinates, of constants), and `Lab.params` is what the object says it drew.
"""
import json
import subprocess
from pathlib import Path

import albumentations as A
import albumentationsx_worker as worker
import numpy as np

OUTSIDE = -1e5  # the map of a pixel that shows no part of the input


class Case:
    """`build(A)` makes the library's transform (None: as the benchmark does). `draw(lab)` answers the JSON of our draw
    (None: ours draws nothing). `use_map`: no draw, the recovered map goes through our remap. `border`: pixels left out
    at the edge, and beside pixels that are partly outside the input. `params`: ours, where not the canonical ones.
    `geometry(A)`: a twin of the transform that interpolates, for recovering the map of one that does not.
    `mask(lab)`: bool array of the pixels to compare. `sets`: of "R9V", when fewer than the transform is in."""

    def __init__(self, name, build=None, draw=None, *, use_map=False, border=0, params=None, geometry=None, mask=None,
                 sets=None, note=""):
        self.name, self.build, self.draw, self.use_map, self.border = name, build, draw, use_map, border
        self.params, self.geometry, self.mask, self.sets, self.note = params, geometry, mask, sets, note


class Property:
    """`check(lab)` answers rows (what, value, low, high)."""

    def __init__(self, name, check, build=None, note=""):
        self.name, self.check, self.build, self.note = name, check, build, note


class Apply:
    """Our program, and the folder it exchanges arrays in."""

    def __init__(self, program, folder):
        self.program, self.folder, self.count = program, Path(folder), 0

    def list(self):
        return json.loads(subprocess.run([self.program, "--list"], check=True, stdout=subprocess.PIPE).stdout)

    def path(self):
        self.count += 1
        return str(self.folder / f"{self.count}.npy")

    def put(self, array):
        path = self.path()
        np.save(path, np.ascontiguousarray(array))
        return path

    def run(self, jobs):
        """The answers; paths of outputs are read and removed."""
        file = self.folder / "jobs.json"
        file.write_text(json.dumps(jobs, default=plain))
        done = subprocess.run([self.program, str(file)], check=True, stdout=subprocess.PIPE, text=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        for job, answer in zip(jobs, answers, strict=True):
            if not answer["ok"]:
                raise RuntimeError(f"ours: {answer['error']}")
            for kind in ("output", "reference"):
                if kind in job:
                    answer[kind] = np.load(job[kind])
        for job in jobs:
            for kind in ("input", "output", "reference", "map_x", "map_y"):
                Path(job.get(kind, "")).is_file() and Path(job[kind]).unlink()
        return answers

    def photos(self, count, width, height, first=0):
        return [one["output"] for one in self.run([
            {"photo": first + n, "width": width, "height": height, "output": self.path()} for n in range(count)])]


def plain(value):
    """NumPy in JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value)} is no JSON")


def build(name, params, channels, builder=None):
    special = worker.for_channels(name, params, channels)
    if special:
        return special(A)
    return builder(A) if builder else worker.BUILDERS[name](A, params)


class Lab:
    """One image (or clip) and one seed. `image` is (h, w, c) uint8, or (t, h, w, c)."""

    def __init__(self, case, row, apply, image, seed, photos=()):
        self.case, self.row, self.apply, self.image, self.seed, self.photos = case, row, apply, image, seed, photos
        self.np, self.A = np, A
        self.channels = image.shape[-1]
        self.is_clip = image.ndim == 4
        self.height, self.width = image.shape[-3:-1]
        self.our_params = getattr(case, "params", None) or {}
        self.made = build(case.name, row["params"], self.channels, case.build)
        self.twin = case.geometry(A) if getattr(case, "geometry", None) else self.made
        self.output = self._call(self.made, image)
        self.params = dict(self.made.params)  # what the library says it drew
        self.coverage = None

    def _call(self, made, image):
        made.set_random_seed(self.seed)
        image = np.ascontiguousarray(image)
        if self.is_clip and image.ndim == 4:
            return np.asarray(made(images=image)["images"])
        if self.is_clip:
            return np.asarray(made(images=np.stack([image] * len(self.image)))["images"])[0]
        return np.asarray(made(image=image)["image"])

    def run(self, image):
        """The library again, same draw, on another image of the same height and width."""
        return self._call(self.made, image)

    def map(self):
        """(map_x, map_y), float32: where in the input each output pixel comes from; OUTSIDE where from nowhere. Pixels
        that are partly outside are not compared, as the recovered place is then unknown."""
        y, x = np.mgrid[0:self.height, 0:self.width].astype(np.float32)
        try:
            map_x, map_y, coverage = self._map_f32(x, y)
        except Exception:  # noqa: BLE001 - whatever it says: this one takes no float images
            map_x, map_y, coverage = self._map_u8(x, y)
        whole = coverage > 0.9999
        self.coverage = np.where(whole, 1, np.where(coverage < 1e-4, 0, 0.5))
        return np.where(whole, map_x, OUTSIDE).astype(np.float32), np.where(whole, map_y, OUTSIDE).astype(np.float32)

    def _map_f32(self, x, y):
        scale = np.float32(max(self.width, self.height))
        out = self._call(self.twin, np.stack([x / scale, y / scale, np.ones_like(x)], axis=-1))
        if out.dtype != np.float32 or not np.isfinite(out).all():
            raise ValueError("no coordinates came back")
        return out[..., 0] * scale, out[..., 1] * scale, out[..., 2]

    def _map_u8(self, x, y, steps=8):
        """Coordinates as sums of clipped ramps: each ramp is a valid image, and the sum survives interpolation."""
        def recover(coordinate, side):
            total = 0.0
            for start in range(0, steps * side, 3 * 255):
                ramps = [np.clip(steps * coordinate - start - 255 * k, 0, 255) for k in range(3)]
                total = total + self._call(self.twin, np.stack(ramps, axis=-1).astype(np.uint8)).sum(axis=-1, dtype=np.float64)
            return total / steps
        ones = self._call(self.twin, np.full((self.height, self.width, 3), 255, np.uint8))[..., 0]
        return recover(x, self.width), recover(y, self.height), ones / 255.0

    def _points(self):
        map_x, map_y = self.map()
        y, x = np.nonzero(self.coverage == 1)
        step = max(1, len(x) // 40000)
        x, y = x[::step], y[::step]
        return x.astype(float), y.astype(float), map_x[y, x].astype(float), map_y[y, x].astype(float)

    def affine(self):
        """2x3, output to input, fitted to the recovered map."""
        x, y, to_x, to_y = self._points()
        for _ in range(3):  # places that were folded back at the border do not fit and are dropped
            terms = np.stack([x, y, np.ones_like(x)], axis=1)
            fit = [np.linalg.lstsq(terms, to, rcond=None)[0] for to in (to_x, to_y)]
            good = np.hypot(terms @ fit[0] - to_x, terms @ fit[1] - to_y) < 0.8
            if good.all() or good.sum() < 8:
                break
            x, y, to_x, to_y = x[good], y[good], to_x[good], to_y[good]
        return [list(map(float, line)) for line in fit]

    def homography(self):
        """3x3 with a last entry of 1, output to input, fitted to the recovered map."""
        x, y, to_x, to_y = self._points()
        size = float(max(self.width, self.height))
        x, y, to_x, to_y = x / size, y / size, to_x / size, to_y / size
        zero, one = np.zeros_like(x), np.ones_like(x)
        terms = np.concatenate([
            np.stack([x, y, one, zero, zero, zero, -x * to_x, -y * to_x], axis=1),
            np.stack([zero, zero, zero, x, y, one, -x * to_y, -y * to_y], axis=1)])
        fit = np.linalg.lstsq(terms, np.concatenate([to_x, to_y]), rcond=None)[0]
        matrix = np.append(fit, 1).reshape(3, 3)
        to_unit = np.diag([1 / size, 1 / size, 1])
        matrix = np.linalg.inv(to_unit) @ matrix @ to_unit
        return (matrix / matrix[2, 2]).tolist()

    # For Property
    def ours(self, count, image=None, params=None, reference=False, first_seed=0):
        """Our outputs on `image`, each with a draw of its own; `last_draws` holds those."""
        image = self.image if image is None else image
        kind = "reference" if reference else "output"
        answers = self.apply.run([
            {"transform": self.case.name, "params": params or {}, "seed": first_seed + n, "input": self.apply.put(image),
             kind: self.apply.path()} for n in range(count)])
        self.last_draws = [answer["draw"] for answer in answers]
        return [answer[kind] for answer in answers]

    def library(self, count, image=None, first_seed=0):
        """The library's outputs on `image`, each with a seed of its own."""
        image = self.image if image is None else image
        outputs = []
        for n in range(count):
            self.made.set_random_seed(first_seed + n)
            outputs.append(np.asarray(self.made(image=np.ascontiguousarray(image))["image"]))
        return outputs

    def jobs(self):
        """What our program is to do with this input."""
        job = {"input": self.apply.put(self.image), "output": self.apply.path(), "reference": self.apply.path()}
        if self.case.use_map:
            map_x, map_y = self.map()
            return {**job, "map_x": self.apply.put(map_x), "map_y": self.apply.put(map_y)}
        job.update(transform=self.case.name, params=self.our_params)
        if self.case.draw:
            job["draw"] = self.case.draw(self)
        return job

    def compared(self):
        """Which pixels of the output are compared: bool (h, w)."""
        border, shape = self.case.border, self.output.shape[-3:-1]
        keep = np.ones(shape, bool)
        if border:
            keep[:border], keep[-border:], keep[:, :border], keep[:, -border:] = False, False, False, False
        if self.coverage is not None and self.coverage.shape == shape:
            unknown = self.coverage == 0.5
            for _ in range(border):
                padded = np.pad(unknown, 1)
                unknown = (padded[1:-1, 1:-1] | padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:])
            keep &= ~unknown
        if self.case.mask:
            keep &= self.case.mask(self)
        return keep


class Figures:
    """Differences in levels, over all that was compared: the worst of each figure."""

    def __init__(self):
        self.max = self.p999 = self.mean = self.share = 0.0
        self.compared, self.draws, self.problems = 1.0, 0, []

    def add(self, ours, theirs, keep):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            self.problems.append(f"{ours.dtype} {ours.shape}, the library's is {theirs.dtype} {theirs.shape}")
            return
        off = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)) * (255 if ours.dtype == np.float32 else 1)
        off = off[..., keep, :]
        if not off.size:
            self.problems.append("no pixel is left to compare")
            return
        self.max = max(self.max, float(off.max()))
        self.p999 = max(self.p999, float(np.percentile(off, 99.9)))
        self.mean = max(self.mean, float(off.mean()))
        self.share = max(self.share, float((off > 0).any(axis=-1).mean()))
        self.compared = min(self.compared, float(keep.mean()))

    def violations(self, kind):
        found = list(self.problems)
        if kind == "equal" and self.max > 0:
            found.append(f"max {self.max:g}, must be equal")
        if kind == "pointwise" and self.max > 1 + 1e-9:
            found.append(f"max {self.max:g} over 1")
        if kind == "nearest" and self.share > 0.01:
            found.append(f"{100 * self.share:.2f} % of pixels differ, over 1 %")
        if kind == "smooth" and self.p999 > 3:
            found.append(f"99.9th percentile {self.p999:g} over 3")
        if kind == "smooth" and self.mean > 0.5:
            found.append(f"mean {self.mean:.3f} over 0.5")
        return found
