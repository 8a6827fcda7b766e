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
_NAME, _STEP, _PHASE = 1, 2, 3

_prefix = os.environ.get("SLUICE_MARKS", "")
_clock = time.monotonic_ns
_pack = struct.Struct("=QQQII").pack_into  # begin, end, index, id, kind: the kind last, so that a part has none
_memory = None
_file = -1
_at = _end = 0  # the next record; where the reserved bytes end
_begun = 0  # of the step that runs; 0: none
_index = 0  # of that step


def _open():
    """Makes the file; False where it cannot be."""
    global _memory, _file, _at, _end
    try:
        _file = os.open(f"{_prefix}.{os.getpid()}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.ftruncate(_file, _LIMIT)
        os.posix_fallocate(_file, 0, _CHUNK)
        _memory = mmap.mmap(_file, _LIMIT)
    except (OSError, ValueError):
        _memory = None
        return False
    struct.pack_into("=8sIIQ", _memory, 0, b"SLUICEMK", _VERSION, _RECORD, os.getpid())
    _at, _end = _HEADER, _CHUNK
    return True


def _grow():
    """Called where no room is left, the first time too; True when there is some again."""
    global _end, _prefix
    if _memory is None:
        if _prefix and _open():
            return True
        _prefix = ""
        return False
    if _end < _LIMIT:
        try:
            os.posix_fallocate(_file, _end, _CHUNK)
            _end += _CHUNK
            return True
        except OSError:
            pass
    dropped = struct.unpack_from("=Q", _memory, 24)[0]
    struct.pack_into("=Q", _memory, 24, dropped + 1)
    return False


def _after_fork():
    """The file is the parent's."""
    global _memory, _prefix, _at, _end
    _memory, _prefix, _at, _end = None, "", 0, 0


class _Phase:
    __slots__ = ("_begin", "_id")

    def __init__(self, number):
        self._id = number

    def __enter__(self):
        self._begin = _clock()

    def __exit__(self, kind, value, trace):
        global _at
        end = _clock()
        if _at == _end and not _grow():
            return
        _pack(_memory, _at, self._begin, end, 0, self._id, _PHASE)
        _at += _RECORD


class _Phases(dict):
    """Name to phase; a new name is written down once."""

    def __missing__(self, name):
        global _at
        number = len(self) + 1
        if _at != _end or _grow():
            text = str(name).encode("utf-8", "replace")[:24]
            struct.pack_into("=24sII", _memory, _at, text, number, _NAME)
            _at += _RECORD
        self[name] = _Phase(number)
        return self[name]


def _step():
    """A step begins here; the one that runs ends at the same moment."""
    global _begun, _at, _index
    now = _clock()
    if _begun:
        if _at != _end or _grow():
            _pack(_memory, _at, _begun, now, _index, 0, _STEP)
            _at += _RECORD
        _index += 1
    _begun = now


def _pause():
    """Ends the step that runs; what follows is no step until the next step(): validation, checkpoints."""
    global _begun
    if _begun:
        _step()
        _begun = 0


def on():
    """True while marks are written."""
    return bool(_prefix)


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
    step = _step
    pause = _pause
    phase = _Phases().__getitem__  # `with phase("forward"):`; the dictionary's own code, no call of ours
    os.register_at_fork(after_in_child=_after_fork)
else:
    _nothing = contextlib.nullcontext()

    def step():
        """Does nothing: the program is not watched."""

    pause = step

    def phase(name):  # pylint: disable=unused-argument
        """A context that does nothing: the program is not watched."""
        return _nothing
