# python/sluice/measure.py - how long a function takes, and whether one is slower than another: the gate, for Python.
# SPDX-License-Identifier: Apache-2.0
"""`time(fn)` measures in this process, `Watch` the steps of a training loop. `ab(a, b)`, `compare(...)` and `gate(...)` ask the
program: fresh processes in pairs, the statistics and verdicts of docs/ab.md and docs/baseline-comparison.md.

    python -m sluice.measure FILE.py:FUNCTION [SECONDS]     prints seconds per call: what ab() runs for a function"""
from __future__ import annotations

import os
import sys
import time as _clock

from . import _check, _json, _show
from .watching import Steps, Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Steps", "Timing", "Verdict", "Watch", "ab", "compare", "gate", "program", "time"]
LEAST_SAMPLES = 11
SAMPLE_NS = 2_000_000  # a sample is as many calls as take this long: the clock's own cost is then below a thousandth


def program() -> str:
    """The `sluice` command: SLUICE_PROGRAM, else that of the wheel, else the one that PATH finds."""
    import shutil
    own = os.path.join(os.path.dirname(os.path.realpath(__file__)), "bin", "sluice")
    found = os.environ.get("SLUICE_PROGRAM") or (own if os.path.exists(own) else shutil.which("sluice"))
    if not found:
        raise FileNotFoundError("the program sluice is not found; accepted: the wheel, PATH, or SLUICE_PROGRAM=FILE")
    return found


class Timing:
    """What time() found: `samples` are seconds per call, each over `calls` calls."""

    def __init__(self, name: str, samples: list[float], calls: int):
        self.name, self.samples, self.calls = name, samples, calls

    @property
    def median(self) -> float:
        return _show.median(self.samples)

    @property
    def interval(self) -> tuple[float, float]:
        """Of the median, at least 95 %, of this process: another one may have other luck, which only ab() sees."""
        return _show.median_interval(self.samples)

    def _row(self):
        low, high = self.interval
        return {"function": self.name, "median": _show.seconds(self.median), "from": _show.seconds(low), "to": _show.seconds(high),
                "samples": len(self.samples), "calls per sample": self.calls}

    def __repr__(self) -> str:
        row = self._row()
        return f"{row['function']}: {row['median']} ({row['from']} to {row['to']}), {row['samples']} samples of {self.calls} calls"

    def _repr_html_(self) -> str:
        return _show.table([self._row()], list(self._row()))

    def to_pandas(self) -> Any:
        import pandas
        return pandas.DataFrame({"function": self.name, "seconds": self.samples})


def time(function: Callable[[], Any], *, seconds: float = 1.0, clock_ns: Callable[[], int] = _clock.perf_counter_ns) -> Timing:
    """Calls `function()` again and again for about `seconds`; a tenth of that before the first sample counts as warm-up."""
    if not callable(function):
        raise TypeError(f"function is {function!r}; accepted: something that can be called without arguments")
    budget_ns = int(_check.number("seconds", seconds, 1e-3, 3600) * 1e9)

    def took(calls):
        start = clock_ns()
        for _ in range(calls):
            function()
        return max(1, clock_ns() - start)

    calls, begin = 1, clock_ns()
    while (spent := took(calls)) < SAMPLE_NS:
        calls = min(calls * 10, max(calls + 1, calls * SAMPLE_NS // spent + 1))
    while clock_ns() - begin < budget_ns // 10:
        took(calls)
    samples, begin = [], clock_ns()
    while len(samples) < LEAST_SAMPLES or clock_ns() - begin < budget_ns:
        samples.append(took(calls) / calls / 1e9)
    return Timing(getattr(function, "__name__", repr(function)), samples, calls)


class Verdict:
    """What the program concluded. True when nothing got slower."""

    def __init__(self, document: dict[str, Any], exit_code: int):
        self.document, self.exit_code = document, exit_code

    @property
    def status(self) -> str:
        """PASS, IMPROVED, FAIL, WARN, INCONCLUSIVE or SKIP, in the words of the program."""
        return self.document.get("status") or self.document.get("verdict") or "unknown"

    @property
    def summary(self) -> str:
        """Its one line."""
        return self.document.get("summary") or self.status

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One for each thing that was compared."""
        return self.document.get("lines") or self.document.get("rows") or []

    def __bool__(self) -> bool:
        return self.exit_code == 0

    def __repr__(self) -> str:
        return f"Verdict({self.summary!r}, exit code {self.exit_code})"

    def _repr_html_(self) -> str:
        plain = [{key: value for key, value in row.items() if not isinstance(value, (dict, list))} for row in self.rows]
        return _show.paragraph(self.summary) + (_show.table(plain, list(plain[0])) if plain else "")

    def to_pandas(self) -> Any:
        import pandas
        return pandas.json_normalize(self.rows)


def _ask(*words):
    """Runs the program; its JSON and exit code. What it refuses is an exception with its line."""
    import subprocess
    done = subprocess.run([program(), *words, "--json"], capture_output=True, text=True)
    try:
        return Verdict(_json.loads(done.stdout), done.returncode)
    except ValueError:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        kind = ValueError if done.returncode == 2 else RuntimeError
        raise kind(lines[-1] if lines else f"sluice {words[0]} ended with {done.returncode} and said nothing") from None


def _flags(options):
    """tau="5%" as --tau 5%; True as a flag alone; a list as the flag repeated."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(flag)
            elif one is not None and one is not False:
                words += [flag, str(one)]
    return words


def _target(function):
    """FILE.py:NAME of a function that another process can find again."""
    name, code = getattr(function, "__qualname__", ""), getattr(function, "__code__", None)
    file = code.co_filename if code else ""
    if not name.isidentifier() or not os.path.isfile(file):
        raise ValueError(f"{function!r} cannot be found from another process; accepted: a command, or a function at the top of a file")
    return f"{os.path.abspath(file)}:{name}"


def ab(a: str | Callable[[], Any], b: str | Callable[[], Any], *, seconds: float = 1.0, **flags: Any) -> Verdict:
    """Whether b is slower than a: pairs of fresh processes in random order, as `sluice ab`.

    a, b      commands as typed into a shell, or functions without arguments at the top of a file; each process measures
              a function with time() for `seconds`
    flags     of `sluice ab`: pairs=16, tau="5%", metric=["wall", "cpu"], strict=True, ..."""
    import shlex
    words = []
    functions = [callable(one) for one in (a, b)]
    if any(functions) and not all(functions):
        raise ValueError("one of a and b is a function, the other a command; accepted: two of a kind")
    seconds = _check.number("seconds", seconds, 1e-3, 3600)
    for name, one in (("a", a), ("b", b)):
        if callable(one):
            one = shlex.join([sys.executable, "-m", "sluice.measure", _target(one), repr(seconds)])
        words += ["--" + name, _check.text(name, one)]
    if all(functions):
        flags = {"metric": "stdout", **flags}
    return _ask("ab", *words, *_flags(flags))


def compare(baseline: str | os.PathLike, candidate: str | os.PathLike, **flags: Any) -> Verdict:
    """Two result files or run folders, as `sluice compare`."""
    return _ask("compare", os.fspath(baseline), os.fspath(candidate), *_flags(flags))


def gate(**flags: Any) -> Verdict:
    """This machine beside its stored baseline, as `sluice gate`: gate(quick=True)."""
    return _ask("gate", *_flags(flags))


def _main(words):
    import importlib.util
    file, _, name = words[0].rpartition(":") if words else ("", "", "")
    if not os.path.isfile(file) or len(words) > 2:
        sys.exit("usage: python -m sluice.measure FILE.py:FUNCTION [SECONDS]")
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    spec = importlib.util.spec_from_file_location("__sluice_measured__", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    print(f"{time(getattr(module, name), seconds=float(words[1]) if len(words) > 1 else 1.0).median:.9g}")


if __name__ == "__main__":
    _main(sys.argv[1:])
