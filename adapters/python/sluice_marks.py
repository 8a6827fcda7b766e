# adapters/python/sluice_marks.py - marks the steps and phases of a training program for `sluice watch`.
# SPDX-License-Identifier: Apache-2.0
"""Marks for `sluice watch`: where a step begins, what happens inside it, and what it came to.

    import sluice_marks as marks

    marks.device(torch.cuda)                # steps by the clock of the GPU; nothing where there is none
    for batch in marks.wrap(loader):        # waiting for a batch is the phase "data"
        marks.step()                        # a step begins here, and the one before ends
        with marks.phase("forward"):
            loss = model(batch)
        marks.log(loss=loss, samples=len(batch), tokens=batch.numel())  # of this step; no wait for the GPU
    marks.pause()                           # the last step ends here

Without the variable SLUICE_MARKS, which `sluice watch` sets, every call returns at once. With it the process writes
records into the file "$SLUICE_MARKS.<pid>", mapped into memory; docs/watch.md describes them. Call from one thread.
A forked child (a worker of a DataLoader) marks nothing. Nothing here raises: what finds no room, and a value that is no
number, is counted. Nothing is imported that the program has not: torch's version is noted if torch is there.
"""
import atexit
import collections
import contextlib
import mmap
import os
import platform
import struct
import sys
import time

__all__ = ["device", "log", "on", "pause", "phase", "step", "wrap"]

_VERSION, _RECORD, _HEADER = 1, 32, 64  # bytes
_CHUNK, _LIMIT = 256 * 1024, 64 * 1024 * 1024  # reserved at a time, so that a full disk is no crash; the whole
_NAME, _VALUE, _TEXT = 1, 4, 5  # kinds of a record; 2 is a step, 3 a phase
_NONSENSE, _LOSS, _TOKENS, _SAMPLES, _FLOP, _DEVICE_NS, _PEAK, _RESERVED = range(8)  # what a value is
_TORCH, _CUDA, _PYTHON = 1, 2, 3  # what a text is
_MEMORY_EVERY = 256  # steps between two looks at the peak memory

_prefix = os.environ.get("SLUICE_MARKS", "")


def _make(clock=time.monotonic_ns):
    """The functions of this module, over one file. What a mark touches is nonlocal: quicker to store than a global."""
    prefix = _prefix
    pack = struct.Struct("=QQQII").pack_into  # begin, end, index, id, kind: the kind last, so that a part has none
    pack_value = struct.Struct("=dQQII").pack_into  # value, nothing, index of its step, what, kind
    memory = None
    file = -1
    at = room = 0  # the next record; where the reserved bytes end
    begun = 0  # of the step that runs; 0: none
    index = 0  # of that step
    later = collections.deque()  # (event, begin, tensor, what, step): read when the event has passed
    held = []  # (tensor, what, step) of devices without events: read at pause() and at the end
    events = None  # torch.cuda, or what has such events; None: steps by our clock alone
    boundary = None  # the event at which the step that runs began
    spare = []  # events that can be recorded again
    noted = set()  # texts that were written

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
        """After a fork: the file is the parent's, and so is its GPU."""
        nonlocal memory, prefix, at, room, events, boundary
        memory, prefix, at, room = None, "", 0, 0
        events = boundary = None
        later.clear()
        held.clear()

    def put(what, value, of):
        """A value of step `of`; what is no single number becomes a record that the reader counts as skipped."""
        nonlocal at
        if at != room or grow():
            try:
                pack_value(memory, at, float(value), 0, of, what, _VALUE)
            except Exception:  # pylint: disable=broad-exception-caught  # of any framework
                pack_value(memory, at, 0.0, 0, of, _NONSENSE, _VALUE)
            at += _RECORD

    def note(what, text):
        nonlocal at
        if text and what not in noted and (at != room or grow()):
            struct.pack_into("=24sII", memory, at, str(text).encode("utf-8", "replace")[:24], what, _TEXT)
            at += _RECORD
            noted.add(what)

    def note_framework():
        """Once there is something to note: torch may be imported after the first step."""
        note(_PYTHON, platform.python_version())
        torch = sys.modules.get("torch")
        note(_TORCH, getattr(torch, "__version__", None))
        note(_CUDA, getattr(getattr(torch, "version", None), "cuda", None))

    def note_memory():
        for what, name in ((_PEAK, "max_memory_allocated"), (_RESERVED, "max_memory_reserved")):
            with contextlib.suppress(Exception):
                ask = getattr(events, name, None)
                if ask is not None:
                    put(what, ask(), index)

    def stamp():
        """An event where the device is to reach this mark; that of the step that ends is read later."""
        nonlocal boundary, events
        try:
            event = spare.pop() if spare else events.Event(enable_timing=True)
            event.record()
        except Exception:  # pylint: disable=broad-exception-caught  # no such device: our clock counts
            events = boundary = None
            return
        if begun and boundary is not None:
            later.append((event, boundary, None, _DEVICE_NS, index))
        boundary = event

    def read_later(wait=False):
        """What the device has done by now; it is never waited for unless asked to."""
        try:
            while later and (wait or later[0][0].query()):
                event, begin, tensor, what, of = later.popleft()
                if wait:
                    event.synchronize()
                if begin is None:
                    put(what, tensor, of)
                else:
                    put(what, begin.elapsed_time(event) * 1e6, of)
                    spare.append(begin)
        except Exception:  # pylint: disable=broad-exception-caught  # the device is lost: the program will say so
            later.clear()

    def read_held():
        for tensor, what, of in held:
            put(what, tensor, of)
        held.clear()

    def finish():
        """At the end of the program, where waiting costs nothing."""
        if memory is None:
            return
        read_later(wait=True)
        read_held()
        note_framework()
        note_memory()

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
        if events is not None:
            stamp()
        if begun:
            if at != room or grow():
                pack(memory, at, begun, now, index, 0, 2)
                at += 32
            if not index:
                note_framework()
            index += 1
            if later:
                read_later()
                if not index % _MEMORY_EVERY:
                    note_memory()
        begun = now

    def pause():
        """Ends the step that runs; what follows is no step until the next step(): validation, checkpoints."""
        nonlocal begun, boundary
        if begun:
            step()
            begun = 0
            boundary = None
            read_held()

    def take(what, value, of):
        """Now where that waits for nothing; a tensor of a GPU is copied by the GPU, and read when it has done so."""
        if type(value) in (float, int):
            put(what, value, of)
            return
        try:
            value = value.detach() if hasattr(value, "detach") else value
            if getattr(value, "is_cuda", False):
                copy = value.to("cpu", non_blocking=True)  # into pinned memory
                event = sys.modules["torch"].cuda.Event()
                event.record()
                later.append((event, None, copy, what, of))
                return
            if getattr(getattr(value, "device", None), "type", "cpu") != "cpu":
                held.append((value, what, of))
                return
        except Exception:  # pylint: disable=broad-exception-caught  # of any framework
            value = None
        put(what, value, of)

    def log(loss=None, tokens=None, samples=None, flop=None):
        """Values of the step that runs, or after pause() of the last one. Several counts in one step add up; of several
        losses the last counts. A tensor may stay where it is."""
        of = index if begun else index - 1
        if of < 0 or not prefix:
            return
        if loss is not None:
            take(_LOSS, loss, of)
        if tokens is not None:
            take(_TOKENS, tokens, of)
        if samples is not None:
            take(_SAMPLES, samples, of)
        if flop is not None:
            take(_FLOP, flop, of)

    def device(module):
        """Steps by the clock of the device from the next step() on: `module` is torch.cuda, or has its Event,
        max_memory_allocated and is_available. Where it is not available nothing changes."""
        nonlocal events
        available = getattr(module, "is_available", None)
        with contextlib.suppress(Exception):
            events = module if prefix and (available is None or available()) else None

    def on():
        """True while marks are written."""
        return bool(prefix)

    os.register_at_fork(after_in_child=forget)
    atexit.register(finish)
    return step, pause, Phases().__getitem__, log, device, on  # `with phase("forward"):` is the dictionary's own code


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
    step, pause, phase, log, device, on = _make()
else:
    _nothing = contextlib.nullcontext()

    def step():
        """Does nothing: the program is not watched."""

    pause = step

    def phase(name):  # pylint: disable=unused-argument
        """A context that does nothing: the program is not watched."""
        return _nothing

    def log(loss=None, tokens=None, samples=None, flop=None):  # pylint: disable=unused-argument
        """Does nothing: the program is not watched."""

    def device(module):  # pylint: disable=unused-argument
        """Does nothing: the program is not watched."""

    def on():
        """False: the program is not watched."""
        return False
