# adapters/python/sluice_marks.py - marks the steps and phases of a training program for `sluice watch`.
# SPDX-License-Identifier: Apache-2.0
"""Marks for `sluice watch`: where a step begins, and what happens inside it.

    import sluice_marks as marks

    for batch in marks.wrap(loader):        # waiting for a batch is the phase "data"
        marks.step()                        # a step begins here, and the one before ends
        with marks.phase("forward"):
            loss = model(batch)
    marks.pause()                           # the last step ends here

Without the variable SLUICE_MARKS, which `sluice watch` sets, every call returns at once. With it the process writes
records into the file "$SLUICE_MARKS.<pid>", mapped into memory; docs/watch.md describes them. Call from one thread.
A forked child (a worker of a DataLoader) marks nothing. Nothing here raises: what finds no room is counted.
"""
import contextlib
import mmap
import os
import struct
import time

__all__ = ["on", "pause", "phase", "step", "wrap"]

_VERSION, _RECORD, _HEADER = 1, 32, 64  # bytes
_CHUNK, _LIMIT = 256 * 1024, 64 * 1024 * 1024  # reserved at a time, so that a full disk is no crash; the whole
_NAME = 1  # kind of a record; 2 is a step, 3 a phase

_prefix = os.environ.get("SLUICE_MARKS", "")


def _make(clock=time.monotonic_ns):
    """step, pause, phase and on, over one file. What a mark touches is nonlocal: quicker to store than a global."""
    prefix = _prefix
    pack = struct.Struct("=QQQII").pack_into  # begin, end, index, id, kind: the kind last, so that a part has none
    memory = None
    file = -1
    at = room = 0  # the next record; where the reserved bytes end
    begun = 0  # of the step that runs; 0: none
    index = 0  # of that step

    def make_file():
        """False where it cannot be."""
        nonlocal memory, file, at, room
        try:
            file = os.open(f"{prefix}.{os.getpid()}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            os.ftruncate(file, _LIMIT)
            os.posix_fallocate(file, 0, _CHUNK)
            memory = mmap.mmap(file, _LIMIT)
        except (OSError, ValueError):
            memory = None
            return False
        struct.pack_into("=8sIIQ", memory, 0, b"SLUICEMK", _VERSION, _RECORD, os.getpid())
        at, room = _HEADER, _CHUNK
        return True

    def grow():
        """Called where no room is left, the first time too; True when there is some again."""
        nonlocal room, prefix
        if memory is None:
            if prefix and make_file():
                return True
            prefix = ""
            return False
        if room < _LIMIT:
            try:
                os.posix_fallocate(file, room, _CHUNK)
                room += _CHUNK
                return True
            except OSError:
                pass
        dropped = struct.unpack_from("=Q", memory, 24)[0]
        struct.pack_into("=Q", memory, 24, dropped + 1)
        return False

    def forget():
        """After a fork: the file is the parent's."""
        nonlocal memory, prefix, at, room
        memory, prefix, at, room = None, "", 0, 0

    class Phase:
        """One per name, used again and again."""
        __slots__ = ("begin", "number")

        def __init__(self, number):
            self.number = number

        def __enter__(self):
            self.begin = clock()

        def __exit__(self, kind, value, trace):
            nonlocal at
            now = clock()
            if at != room or grow():
                pack(memory, at, self.begin, now, 0, self.number, 3)
                at += 32

    class Phases(dict):
        """Name to phase; a new name is written down once."""

        def __missing__(self, name):
            nonlocal at
            number = len(self) + 1
            if at != room or grow():
                text = str(name).encode("utf-8", "replace")[:24]
                struct.pack_into("=24sII", memory, at, text, number, _NAME)
                at += _RECORD
            self[name] = Phase(number)
            return self[name]

    def step():
        """A step begins here; the one that runs ends at the same moment."""
        nonlocal begun, at, index
        now = clock()
        if begun:
            if at != room or grow():
                pack(memory, at, begun, now, index, 0, 2)
                at += 32
            index += 1
        begun = now

    def pause():
        """Ends the step that runs; what follows is no step until the next step(): validation, checkpoints."""
        nonlocal begun
        if begun:
            step()
            begun = 0

    def on():
        """True while marks are written."""
        return bool(prefix)

    os.register_at_fork(after_in_child=forget)
    return step, pause, Phases().__getitem__, on  # `with phase("forward"):` is the dictionary's own code


def wrap(iterable, name="data"):
    """The same items; waiting for each is a phase of its own."""
    items = iter(iterable)
    waiting = phase(name)
    while True:
        with waiting:
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


if _prefix:
    step, pause, phase, on = _make()
else:
    _nothing = contextlib.nullcontext()

    def step():
        """Does nothing: the program is not watched."""

    pause = step

    def phase(name):  # pylint: disable=unused-argument
        """A context that does nothing: the program is not watched."""
        return _nothing

    def on():
        """False: the program is not watched."""
        return False
