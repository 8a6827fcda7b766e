# python/sluice/decoding.py - one encoded image as an array.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

from . import _check, _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy


def decode(source: bytes | bytearray | memoryview | str | os.PathLike, *, exif: bool = False, allow_truncated: bool = False,
           region: tuple[int, int, int, int] | None = None) -> numpy.ndarray:
    """A JPEG, PNG or WebP as height x width x 3 of uint8 (RGB), in memory of its own.

    source           the encoded bytes, or the path of a file
    exif             turn the pixels as the EXIF orientation says; else as stored
    allow_truncated  accept damaged data; what cannot be decoded stays grey
    region           (x, y, width, height): exactly these pixels of the whole, for less time
    The interpreter's lock is released while decoding: threads decode side by side. The rules are those of docs/decode.md."""
    where = None
    if region is not None:
        where = [_check.integer("region", one, 0, 1 << 20) for one in region]
        if len(where) != 4:
            raise ValueError(f"region is {region!r}; accepted: (x, y, width, height)")
    name = None
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        with open(name, "rb") as file:
            source = file.read()
    try:
        return _native.decode(source, _check.flag("exif", exif), _check.flag("allow_truncated", allow_truncated), where)
    except ValueError as error:
        raise ValueError(f"{name}: {error}" if name else str(error)) from None
