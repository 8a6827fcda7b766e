# adapters/python/sluice_worker/modes/jpeg.py - image files in memory to RGB arrays: the rows decode/jpeg, decode/jpeg-progressive.
# SPDX-License-Identifier: Apache-2.0
"""An adapter of this mode has `size(bytes)` -> width, height; `decode(bytes)` -> H x W x 3 uint8, and `reference(bytes)`,
another library's; `is_progressive(bytes)`, and `progressive(bytes)` -> the same picture so encoded."""
import hashlib
from pathlib import Path

from ..adapter import Failed, Unsupported
from ..media import media_files
from .micro import Micro

CASES = ("decode/jpeg", "decode/jpeg-progressive")
ENCODED_AGAIN = 32  # files at most, where none is progressive: as many as our own row takes
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp"}  # what our own row takes
# Mean distance in grey values. Builds of one JPEG library differ by rounding; one that decodes something else, by more.
TOLERANCE = 1.0
COMPARED = 8  # images; all are decoded by the check


class Jpeg(Micro):
    def load(self, request):
        self.names = media_files(request.get("data_dir", ""), suffixes=SUFFIXES)
        self.items = [Path(name).read_bytes() for name in self.names]
        return {"items": len(self.items), "bytes": sum(map(len, self.items))}

    def support(self, raw):
        raise Unsupported(f"{self.adapter.name} decodes files; it has no transform here")

    def prepare(self, raw):
        case = raw.get("case") if isinstance(raw, dict) else raw
        row = str(case).split("/threads=")[0]
        if row not in CASES:
            raise Unsupported(f"{self.adapter.name} has no '{case}' here, only {' and '.join(CASES)}")
        if row == CASES[1]:
            self.take_progressive()
        self.call = self.adapter.decode
        pixels = 0
        for name, data in zip(self.names, self.items):
            width, height = self.asked(self.adapter.size, name, data)
            pixels += width * height
        return {"items_per_pass": len(self.items), "bytes_per_item": 3 * pixels / len(self.items)}

    def take_progressive(self):
        """The progressive files; where there are none, the first ones encoded so, as our own row does it."""
        files = list(zip(self.names, self.items))
        chosen = [file for file in files if self.asked(self.adapter.is_progressive, *file)]
        if not chosen:
            chosen = [(name, self.asked(self.adapter.progressive, name, data)) for name, data in files[:ENCODED_AGAIN]]
        self.names, self.items = [name for name, _ in chosen], [data for _, data in chosen]

    def asked(self, what, name, data):
        """A file that the library cannot read is named."""
        try:
            output = what(data)
        except Exception as problem:
            raise Failed(f"{Path(name).name}: {type(problem).__name__}: {problem}") from None
        if output is None:  # OpenCV's way to say so
            raise Failed(f"{Path(name).name}: {self.adapter.name} does not decode it")
        return output

    def check(self, sample):
        digest = hashlib.sha256()
        for number, (name, data) in enumerate(zip(self.names, self.items)):
            output = self.asked(self.call, name, data)
            if number < COMPARED:
                self.compare(Path(name).name, output, self.adapter.reference(data))
            digest.update(f"{output.shape} {output.dtype}".encode())
            digest.update(output.tobytes())
        return {"digest": digest.hexdigest(), "shape": list(output.shape), "dtype": str(output.dtype)}

    def compare(self, name, output, reference):
        numpy = self.adapter.numpy
        if output.dtype != numpy.uint8 or not output.flags.c_contiguous:
            raise Failed(f"{name}: {output.dtype} where contiguous uint8 is meant")
        if reference is None or output.shape != reference.shape:
            raise Unsupported(f"{name}: the two decoders do not agree on its size")
        distance = float(numpy.abs(output.astype(numpy.int16) - reference).mean())
        if distance > TOLERANCE:
            raise Unsupported(f"{name}: the two decoders are {distance:.1f} grey values apart, {TOLERANCE:g} are allowed")
