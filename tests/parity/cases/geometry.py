# tests/parity/cases/geometry.py - crops, flips, turns, tiles, resizes: what was drawn shows in images of coordinates.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from lab import Case


def coordinates(lab):
    """Where each output pixel comes from, exactly; (0, 0) where from nowhere. Only for what moves pixels unchanged."""
    y, x = np.mgrid[1:lab.height + 1, 1:lab.width + 1]
    out = lab.run(np.stack([x % 256, y % 256, x // 256 * 16 + y // 256], axis=-1).astype(np.uint8)).astype(int)
    return out[..., 0] + out[..., 2] // 16 * 256, out[..., 1] + out[..., 2] % 16 * 256


def crop_of(lab):
    x, y = coordinates(lab)
    rows, columns = np.nonzero(x)
    return {"x": int(x[rows[0], columns[0]] - 1 - columns[0]), "y": int(y[rows[0], columns[0]] - 1 - rows[0]),
            "width": x.shape[1], "height": x.shape[0]}


def turns_of(lab):
    x, y = coordinates(lab)
    inputs = np.mgrid[1:lab.height + 1, 1:lab.width + 1]
    for times in range(4):
        want_y, want_x = (np.rot90(one, times) for one in inputs)
        if want_x.shape == x.shape and (want_x == x).all() and (want_y == y).all():
            return {"times": times}
    raise ValueError("no quarter turn")


def bands_of(shift_x, shift_y, side, count):
    """Lengths of the bands of tiles along the last axis: they end where, anywhere, the displacement changes."""
    changes = ((np.diff(shift_x) != 0) | (np.diff(shift_y) != 0)).any(axis=0)
    ends = [0, *(np.nonzero(changes)[0] + 1), side]
    if len(ends) != count + 1:
        raise ValueError("neighbouring tiles stayed together: another seed")
    return np.diff(ends).tolist()


def tiles_of(lab):
    x, y = coordinates(lab)
    columns, rows = np.arange(1, lab.width + 1)[None, :], np.arange(1, lab.height + 1)[:, None]
    grid = lab.row["params"]["grid"]
    widths = bands_of(x - columns, y - rows, lab.width, grid[1])
    heights = bands_of((x - columns).T, (y - rows).T, lab.height, grid[0])
    left, top = np.cumsum([0, *widths[:-1]]), np.cumsum([0, *heights[:-1]])
    order = [int(np.searchsorted(top, y[v, u] - 1)) * len(widths) + int(np.searchsorted(left, x[v, u] - 1))
             for v in top for u in left]
    return {"heights": heights, "widths": widths, "order": order}


def hole_of(lab):
    erased = (lab.run(np.full((lab.height, lab.width, 3), 255, np.uint8)) == 0).all(axis=-1)
    rows, columns = np.nonzero(erased.any(axis=1))[0], np.nonzero(erased.any(axis=0))[0]
    if len(rows) == 0:
        return {"width": 0}
    return {"x": int(columns[0]), "y": int(rows[0]), "width": len(columns), "height": len(rows), "fill": 0}


def part_of(lab):
    """The place of the centres of the first and last output pixels gives the borders of the part."""
    ramp = np.mgrid[0:lab.height, 0:lab.width].astype(np.float32) / 1024
    out = lab.run(np.stack([ramp[1], ramp[0], ramp[0]], axis=-1)).astype(float) * 1024
    height, width = out.shape[:2]

    def borders(line, count):
        inner = np.arange(count // 4, count - count // 4)  # no clamping there
        slope, at = np.polyfit(inner + 0.5, line[inner] + 0.5, 1)
        return round(at), round(slope * count)

    x, part_width = borders(out[0, :, 0], width)
    y, part_height = borders(out[:, 0, 1], height)
    return {"x": x, "y": y, "width": part_width, "height": part_height, "out_width": width, "out_height": height}


CASES = [
    Case("Erasing", draw=hole_of),
    Case("HorizontalFlip"),
    Case("LongestMaxSize"),
    Case("Pad"),
    Case("RandomCrop224", draw=crop_of),
    Case("RandomJigsaw", draw=tiles_of),
    Case("RandomResizedCrop", draw=part_of),
    Case("RandomRotate90", draw=turns_of),
    Case("Resize"),
    Case("SmallestMaxSize"),
    Case("Transpose"),
    Case("VerticalFlip"),
]
