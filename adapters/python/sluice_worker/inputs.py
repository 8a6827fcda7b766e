# adapters/python/sluice_worker/inputs.py - decoded items that all workers of a run share.
# SPDX-License-Identifier: Apache-2.0
import json
import mmap

from .adapter import Failed

ALIGNMENT = 64
DIMENSIONS = {"HWC": 3, "THWC": 4}


def open_shared(index_path, data_path, limit=None):
    """[(name, uint8 array)] over one mapping of the data file.

    The pages are shared by all processes until one is written to (a private mapping): the arrays are writable, as a
    library's users have them, and a library that writes to its input spoils only its own copy.
    """
    import numpy

    try:
        with open(index_path, encoding="utf-8") as file:
            index = json.load(file)
    except (OSError, ValueError) as problem:
        raise Failed(f"inputs.index: {problem}") from None
    layout = index.get("layout") if isinstance(index, dict) else None
    if layout not in DIMENSIONS or index.get("version") != 1 or index.get("dtype") != "uint8":
        raise Failed("inputs.index: version 1, dtype uint8 and layout HWC or THWC are meant")
    entries = index.get("items")
    if not isinstance(entries, list) or not entries:
        raise Failed("inputs.index: no items")
    try:
        with open(data_path, "rb") as file:
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError) as problem:
        raise Failed(f"inputs.data: {problem}") from None
    items = []
    for entry in entries[:limit]:
        name, offset, shape = read_entry(entry, DIMENSIONS[layout], len(memory))
        count = 1
        for side in shape:
            count *= side
        items.append((name, numpy.frombuffer(memory, numpy.uint8, count, offset).reshape(shape)))
    return items


def read_entry(entry, dimensions, size):
    """(name, offset, shape) of one item, inside a file of `size` bytes."""
    if not isinstance(entry, dict):
        raise Failed("inputs.index: an item is no object")
    name, offset, shape = str(entry.get("name", "")), entry.get("offset"), entry.get("shape")
    whole = isinstance(shape, list) and len(shape) == dimensions
    if not whole or not all(type(side) is int and side > 0 for side in shape):
        raise Failed(f"inputs.index: item '{name}' has shape {shape}, {dimensions} positive sides are meant")
    bytes_needed = 1
    for side in shape:
        bytes_needed *= side
    if type(offset) is not int or offset < 0 or offset % ALIGNMENT or offset + bytes_needed > size:
        raise Failed(f"inputs.index: item '{name}' at offset {offset} is not inside the data, or not aligned to {ALIGNMENT}")
    return name, offset, shape
