# python/sluice/watching.py - how long the steps of a training loop take, and what they wait for.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import time as _clock

from . import _check, _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar
    Item = TypeVar("Item")

COUNTS = ("tokens", "samples", "flop")  # several of one step add up; of several losses the last counts
DATA = "data"  # the phase of wrap()


class Steps:
    """What a Watch saw after its warm-up: `seconds` of each step, `phases` by name (seconds of each step, an outer phase without
    the inner ones), `values` by name (loss, tokens, samples, flop; None where a step has none). `left_out` phases were not inside
    one step, `skipped` values were no numbers."""

    def __init__(self, seconds: list[float], phases: dict[str, list[float]], values: dict[str, list[float | None]], left_out: int, skipped: int):
        self.seconds, self.phases, self.values, self.left_out, self.skipped = seconds, phases, values, left_out, skipped

    @property
    def median(self) -> float:
        return _show.median(self.seconds)

    @property
    def interval(self) -> tuple[float, float]:
        """Of the median, 95 % if steps are independent, of this process: another one may have other luck, which `sluice watch --runs` sees."""
        return _show.median_interval(self.seconds)

    def share(self, phase: str = DATA) -> float:
        """Of all time in steps, what `phase` took; that of "data" is the time for which the model waited."""
        return sum(self.phases.get(phase, ())) / sum(self.seconds)

    def rate(self, what: str = "samples") -> float | None:
        """Samples, tokens or flop per second over the steps that have a count; None where none has."""
        counted = [(count, took) for count, took in zip(self.values.get(what, ()), self.seconds) if count is not None]
        return sum(count for count, _ in counted) / sum(took for _, took in counted) if counted else None

    def __repr__(self) -> str:
        low, high = map(_show.seconds, self.interval)
        words = [f"{len(self.seconds)} steps: {_show.seconds(self.median)} ({low} to {high})"]
        words += [f"{self.rate(what):,.4g} {what}/s" for what in COUNTS if self.rate(what) is not None]
        words += [f"{name} {100 * self.share(name):.1f} %" for name in self.phases]
        return ", ".join(words)

    def _repr_html_(self) -> str:
        rows = [{"part": "step", "median": _show.seconds(self.median), "of all time": "100 %"}]
        rows += [{"part": name, "median": _show.seconds(_show.median(took)), "of all time": f"{100 * self.share(name):.1f} %"}
                 for name, took in self.phases.items()]
        return _show.paragraph(repr(self)) + _show.table(rows, list(rows[0]))

    def to_pandas(self) -> Any:
        """A line for each step: seconds, those of each phase, values."""
        import pandas
        return pandas.DataFrame({"seconds": self.seconds, **self.phases, **self.values})


class _Phase:
    """One for each name, used again and again."""
    __slots__ = ("watch", "name", "forwarded")

    def __init__(self, watch, name, forwarded):
        self.watch, self.name, self.forwarded = watch, name, forwarded

    def __enter__(self):
        if self.forwarded is not None:
            self.forwarded.__enter__()
        self.watch._enter(self.name)

    def __exit__(self, *raised):
        self.watch._leave()
        if self.forwarded is not None:
            self.forwarded.__exit__(*raised)


class Watch:
    """The marks of docs/watch.md inside a program or notebook. Under `sluice watch` and `sluice gate --watch` they are told to it, too.

        watch = measure.Watch()
        for images, labels in watch.wrap(loader):     # waiting for a batch is the phase "data"
            watch.step()                              # a step begins here, and the one before ends
            with watch.phase("forward"):
                loss = model(images)
            watch.log(loss=loss, samples=len(labels))
        watch.pause()                                 # the last step ends here; also before validation, checkpoints
        watch.result()

    warmup    first steps that do not count
    clock_ns  for tests: another clock
    Call from one thread. On a GPU the host runs ahead: a phase is then the time to launch work, unless you synchronise."""

    def __init__(self, *, warmup: int = 5, clock_ns: Callable[[], int] = _clock.monotonic_ns):
        self._warmup = _check.integer("warmup", warmup, 0, 1 << 40)
        self._clock = clock_ns
        self._begun = None  # of the step that runs
        self._seconds = []
        self._phases = []  # of each step, name to seconds
        self._values = []  # of each step, name to what was logged
        self._open = []  # phases that run: [name, step, begin, time of those inside it]
        self._left_out = 0
        self._named = {}
        self._marks = _marks_of_the_program()

    def step(self) -> None:
        """A step begins here; the one that runs ends at the same moment."""
        if self._marks:
            self._marks.step()
        now = self._clock()
        self._end(now)
        self._begun = now
        self._phases.append({})
        self._values.append({})

    def pause(self) -> None:
        """Ends the step that runs; what follows is no step until the next step()."""
        if self._marks:
            self._marks.pause()
        self._end(self._clock())

    def _end(self, now):
        if self._begun is not None:
            self._seconds.append((now - self._begun) / 1e9)
            self._begun = None

    def phase(self, name: str) -> _Phase:
        """`with watch.phase("forward"):`; phases may hold phases."""
        if name not in self._named:
            self._named[name] = _Phase(self, _check.text("name", name), self._marks.phase(name) if self._marks else None)
        return self._named[name]

    def _now_in(self):
        return len(self._phases) if self._begun is not None else None

    def _enter(self, name):
        self._open.append([name, self._now_in(), self._clock(), 0])

    def _leave(self):
        name, step, begin, inside = self._open.pop()
        took = self._clock() - begin
        if self._open:
            self._open[-1][3] += took
        if step is None or step != self._now_in():
            self._left_out += 1
            return
        phases = self._phases[-1]
        phases[name] = phases.get(name, 0.0) + (took - inside) / 1e9

    def wrap(self, iterable: Iterable[Item], name: str = DATA) -> Iterator[Item]:
        """The same items; waiting for each is the phase `name`."""
        items, waiting = iter(iterable), self.phase(name)
        while True:
            with waiting:
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item

    def log(self, *, loss: Any = None, tokens: Any = None, samples: Any = None, flop: Any = None) -> None:
        """Values of the step that runs, or after pause() of the last. Counts of one step add up; of several losses the last counts.
        A tensor is read by result(), not before: nothing waits for its device."""
        if self._marks:
            self._marks.log(loss=loss, tokens=tokens, samples=samples, flop=flop)
        if not self._values:
            return
        for name, value in (("loss", loss), ("tokens", tokens), ("samples", samples), ("flop", flop)):
            if value is not None:
                value = value.detach() if hasattr(value, "detach") else value
                kept = self._values[-1].setdefault(name, [])
                if name == "loss":
                    kept.clear()
                kept.append(value)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *raised: object) -> None:
        self.pause()

    def result(self) -> Steps:
        """Of the steps that have ended, without the first `warmup`."""
        count = len(self._seconds)
        if count <= self._warmup:
            raise RuntimeError(f"{count} steps have ended, warmup is {self._warmup}; accepted: more steps than that")
        counted = range(self._warmup, count)
        names = [name for name in self._named if any(name in self._phases[at] for at in counted)]
        phases = {name: [self._phases[at].get(name, 0.0) for at in counted] for name in names}
        values, skipped = {}, 0
        for name in ("loss", *COUNTS):
            if any(name in self._values[at] for at in counted):
                read = [_number(self._values[at].get(name)) for at in counted]
                skipped += sum(bad for _, bad in read)
                values[name] = [value for value, _ in read]
        return Steps(self._seconds[self._warmup:], phases, values, self._left_out, skipped)


def _number(logged):
    """(the sum, None where there is nothing; how many were no numbers)"""
    numbers, bad = [], 0
    for value in logged or ():
        try:
            numbers.append(float(value))
        except Exception:  # pylint: disable=broad-exception-caught  # of any framework
            bad += 1
    return (sum(numbers) if numbers else None), bad


def _marks_of_the_program():
    """The module of `sluice watch`, where it runs this program; else None."""
    if not os.environ.get("SLUICE_MARKS"):
        return None
    try:
        import sluice_marks
    except ImportError:  # the variable was set by hand
        return None
    return sluice_marks
