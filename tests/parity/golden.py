# tests/parity/golden.py - small outputs of AlbumentationsX, stored for the C++ test of our references.
# SPDX-License-Identifier: Apache-2.0
import io
import json
import re

import cv2
import numpy as np
from lab import A, Case, Lab, plain

WIDTH, HEIGHT = 48, 36
# Where the canonical parameters would make large files of a small image.
SMALL = {
    "Resize": {"target_size": 64},
    "RandomCrop224": {"height": 24, "width": 32},
    "RandomResizedCrop": {"size": [24, 24]},
    "LongestMaxSize": {"max_size": 64},
    "SmallestMaxSize": {"max_size": 45},
}


def small_case(case, row):
    """The case and its row, with parameters for a small image."""
    if case.name not in SMALL:
        return case, row
    params = {**row["params"], **SMALL[case.name]}
    small = Case(case.name, None, case.draw, use_map=case.use_map, border=case.border, params=SMALL[case.name],
                 mask=case.mask)
    return small, {**row, "params": params}


class Store:
    """Replaces the folder's arrays.npys, one NPY file behind the other, and index.json, which says where each begins."""

    def __init__(self, folder, apply):
        self.folder, self.apply, self.records = folder, apply, []
        self.packed, self.arrays = io.BytesIO(), {}
        self.photos = apply.photos(2, WIDTH, HEIGHT, first=100)
        folder.mkdir(parents=True, exist_ok=True)
        for number, photo in enumerate(self.photos):
            self.put(f"input{number}", photo)

    def put(self, name, array):
        start = self.packed.tell()
        np.save(self.packed, np.ascontiguousarray(array))
        self.arrays[name] = [start, self.packed.tell() - start]
        return name

    def add(self, case, row, number):
        small, small_row = small_case(case, row)
        for draw in range(2 if row["draws"] else 1):
            name = f"{case.name}{number or ''}-{draw}"
            lab = Lab(small, small_row, self.apply, self.photos[draw], 40 + draw, self.photos)
            job = lab.jobs()
            record = {"transform": case.name, "params": lab.our_params, "input": f"input{draw}",
                      "output": self.put(name, lab.output)}
            if case.use_map:
                for axis in ("map_x", "map_y"):
                    record[axis] = self.put(f"{name}-{axis}", np.load(job[axis]))
            else:
                answer, = self.apply.run([job])
                record["draw"] = answer["draw"]
            keep = lab.compared()
            if not keep.all():
                record["compared"] = self.put(f"{name}-compared", keep.astype(np.uint8))
            self.records.append(record)

    def finish(self):
        index = {"made_by": "tests/parity/parity.py --store",
                 "versions": {"albumentationsx": A.__version__, "opencv": cv2.__version__, "numpy": np.__version__},
                 "arrays": self.arrays, "rows": self.records}
        lines = re.sub(r"\[\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2]", json.dumps(index, indent=1, default=plain))
        (self.folder / "arrays.npys").write_bytes(self.packed.getvalue())
        (self.folder / "index.json").write_text(lines + "\n")
        size = sum(file.stat().st_size for file in self.folder.iterdir())
        print(f"stored {len(self.records)} outputs, {size / 1e6:.2f} MB")
