# tests/parity/cases/warps.py - warps: the matrix, or the whole map, is recovered from images of coordinates.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from lab import Case


def matrix_of(lab):
    return {"matrix": lab.affine()}


def distort_of(lab):
    """Fisheye: the displacement is k r^2 times the place relative to the centre, r being 1 at a corner."""
    map_x, map_y = lab.map()
    y, x = np.nonzero(lab.coverage == 1)
    dx, dy = x - lab.width / 2, y - lab.height / 2
    square = (dx * dx + dy * dy) / (lab.width ** 2 + lab.height ** 2) * 4
    expected = np.concatenate([dx * square, dy * square])
    seen = np.concatenate([map_x[y, x] - x, map_y[y, x] - y])
    return {"distort": float(expected @ seen / (expected @ expected))}


PINS = np.array([(0, 0), (1, 0), (0, 1), (1, 1), (0.5, 0.5)])


def spline_terms(x, y):
    columns = [np.ones_like(x), x, y]
    for pin_x, pin_y in PINS:
        square = (x - pin_x) ** 2 + (y - pin_y) ** 2
        columns.append(square * np.log(np.maximum(square, 1e-30)))
    return np.stack(columns, axis=-1)


def pins_of(lab):
    """Fits the spline to the recovered map and reads off how far the pins are displaced."""
    map_x, map_y = lab.map()
    y, x = np.nonzero(lab.coverage == 1)
    terms = spline_terms(x / lab.width, y / lab.height)
    seen = np.stack([(map_x[y, x] - x) / lab.width, (map_y[y, x] - y) / lab.height], axis=-1)
    fit = np.linalg.lstsq(terms, seen.astype(float), rcond=None)[0]
    return {"displacements": (spline_terms(PINS[:, 0], PINS[:, 1]) @ fit).ravel().tolist()}


CASES = [
    Case("Affine", draw=matrix_of, border=2),
    Case("Elastic", use_map=True, border=2),
    Case("OpticalDistortion", draw=distort_of, border=2),
    Case("OpticalDistortion", use_map=True, border=2),
    Case("Perspective", draw=lambda lab: {"matrix": lab.homography()}, border=2),
    Case("Rotate", draw=matrix_of, border=2,
         geometry=lambda A: A.Rotate(angle_range=(-45, 45), interpolation=1, border_mode=0, fill=0, p=1)),
    Case("Shear", border=2),
    Case("ThinPlateSpline", draw=pins_of, border=2),
    Case("ThinPlateSpline", use_map=True, border=2),
]
