# adapters/python/sluice_worker/loop.py - the protocol: one request, one answer, until bye or end of input.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys

from .adapter import Failed, Session, Unsupported, is_device_problem, is_out_of_memory
from .modes import mode_named

PROTOCOL = 1
MAX_LINE = 16 * 1024 * 1024
MAX_THREADS = 1024
POLICIES = ("", "micro-single", "micro-threads", "pipeline-default", "pipeline-single-worker",
            "loader-all-cores")


def one_line(text, limit=400):
    """The first line that says something, without control characters: what fits in a reason."""
    for line in str(text).splitlines():
        line = "".join(c if c.isprintable() else " " for c in line).strip()
        if line:
            return line[:limit]
    return ""


def describe(problem):
    """`TypeName: first line of the text`, the library's own words."""
    text = one_line(problem)
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__


class Worker:
    """Answers requests. `answer` never raises for anything that a request or a library can do."""

    # Steps in which an exception of the library means that it cannot do the case.
    LIBRARY_STEPS = ("prepare", "check")

    def __init__(self, adapter, modes=None):
        self.adapter = adapter
        self.mode_of = modes or mode_named
        self.opened = False
        self.mode = None
        self.mode_name = None
        self.load_request = {}
        self.case = None
        self.checked = False
        self.ended = False

    def answer(self, line):
        """One line in, one object out."""
        request_id = None
        step = ""
        try:
            request = self.parse(line)
            request_id = request["id"]
            step = request["type"]
            handler = getattr(self, "on_" + step, None) if step.isidentifier() else None
            if handler is None:
                raise Unsupported(f"unknown message '{one_line(step, 60)}'")
            reply = {"type": step, **handler(request)}
        except Unsupported as problem:
            reply = self.error("unsupported", one_line(problem) or "unsupported")
        except Failed as problem:
            reply = self.error("failed", one_line(problem) or "failed")
        except MemoryError:
            reply = self.error("failed", f"{step}: out of memory")
        except Exception as problem:  # of the library, or ours: the row pays, the worker goes on
            full = self.adapter.memory_decides and is_out_of_memory(problem)
            verdict = full or (step in self.LIBRARY_STEPS and not is_device_problem(problem))
            code = "unsupported" if verdict else "failed"
            reply = self.error(code, describe(problem))
        if request_id is not None:
            reply["id"] = request_id
        return reply

    @staticmethod
    def error(code, reason):
        return {"type": "error", "code": code, "reason": reason}

    @staticmethod
    def parse(line):
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            raise Failed("the line is no JSON object") from None
        if not isinstance(request, dict):
            raise Failed("the line is no JSON object")
        if type(request.get("id")) is not int:
            raise Failed("the request has no integer 'id'")
        if not isinstance(request.get("type"), str):
            raise Failed("the request has no text 'type'")
        return request

    def open(self):
        if self.opened:
            return
        try:
            self.adapter.open()
        except ImportError as problem:
            raise Unsupported(f"{self.adapter.name} is not installed: {describe(problem)}") from None
        self.opened = True

    def on_hello(self, request):
        if request.get("protocol") != PROTOCOL:
            raise Failed(f"protocol {request.get('protocol')!r} is not spoken here: {PROTOCOL}")
        self.open()
        versions = self.adapter.versions()
        package = self.adapter.packages[0] if self.adapter.packages else ""
        return {
            "protocol": PROTOCOL,
            "name": self.adapter.name,
            "version": versions.get(package, ""),
            "versions": {**versions, "python": sys.version.split()[0]},
            "cases": list(self.adapter.transforms),
        }

    def on_configure(self, request):
        self.open()
        session = Session(
            threads=integer(request, "threads", 1, MAX_THREADS, 1),
            device=str(request.get("device", "cpu")),
            seed=integer(request, "seed", 0, 2**64 - 1, 0),
            thread_policy=str(request.get("thread_policy", "")),
        )
        if session.thread_policy not in POLICIES:
            raise Failed(f"unknown thread_policy '{one_line(session.thread_policy, 60)}': {', '.join(POLICIES[1:])}")
        found = self.adapter.configure(session)
        counts = [n for key, n in found.items() if type(n) is int and key != "torch_interop"]
        return {"threads": min(MAX_THREADS, max([1, *counts])), "in_force": found}

    def on_load(self, request):
        self.load_request = request
        self.enter_mode(str(request.get("mode", self.adapter.default_mode)))
        return self.mode.load(request)

    def enter_mode(self, name):
        self.open()
        self.forget_case()
        if self.mode is None or self.mode_name != name:
            self.mode = self.mode_of(name)(self.adapter)
            self.mode_name = name

    def on_support(self, request):
        cases = request.get("cases")
        if not isinstance(cases, list):
            raise Failed("support: 'cases' is no list")
        supported, unsupported = [], {}
        for entry in cases:
            if not isinstance(entry, dict) or not isinstance(entry.get("case"), str):
                raise Failed("support: an entry of 'cases' has no text 'case'")
            spec = entry.get("spec") if isinstance(entry.get("spec"), dict) else {}
            self.enter_mode(str(spec.get("mode", self.adapter.default_mode)))
            try:
                self.mode.support(with_case(entry["case"], entry["spec"]))
                supported.append(entry["case"])
            except (Unsupported, Failed) as problem:
                unsupported[entry["case"]] = one_line(problem)
            except Exception as problem:  # the library's own
                unsupported[entry["case"]] = describe(problem)
        self.forget_case()
        return {"supported": supported, "unsupported": unsupported}

    def on_prepare(self, request):
        self.forget_case()
        spec = request.get("spec")
        default = self.adapter.default_mode
        name = str(spec.get("mode", default)) if isinstance(spec, dict) else default
        if self.mode is None or name != self.mode_name:
            raise Failed(f"prepare: mode '{one_line(name, 40)}' was not loaded")
        reply = self.mode.prepare(with_case(request.get("case"), spec))
        self.case = request.get("case")
        return reply

    def on_check(self, request):
        self.require_case("check")
        self.checked = False
        reply = self.mode.check(request.get("sample"))
        self.checked = True
        return reply

    def on_preflight(self, request):
        self.require_checked("preflight")
        return self.mode.preflight(
            number(request, "slow_item_s", 0), integer(request, "items", 1, 2**31, 10)
        )

    def on_measure(self, request):
        self.require_checked("measure")
        if request.get("case", self.case) != self.case:
            raise Failed(f"measure: '{one_line(request.get('case'), 80)}' was not prepared")
        return self.mode.measure(
            integer(request, "passes", 1, 2**40, None),
            number(request, "warmup_ms", 0),
            number(request, "warmup_limit_ms", 0),
        )

    def on_release(self, request):
        self.forget_case()
        return {}

    def on_cancel(self, request):
        return {"cancelled": False}

    def on_bye(self, request):
        self.ended = True
        try:  # processes of a loader end with their case: none is left for the supervisor to kill
            self.forget_case()
        except Exception:  # noqa: BLE001 - the process ends anyway
            pass
        return {}

    def forget_case(self):
        self.case = None
        self.checked = False
        if self.mode is not None:
            self.mode.release()

    def require_case(self, step):
        if self.case is None:
            raise Failed(f"{step}: no case is prepared")

    def require_checked(self, step):
        self.require_case(step)
        if not self.checked:
            raise Failed(f"{step}: the output was not checked")


def with_case(case, spec):
    """What a mode gets: the spec, and the name of the case in it."""
    return {"case": case, **spec} if isinstance(spec, dict) else spec


def integer(request, key, low, high, default):
    value = request.get(key, default)
    if type(value) is not int or not low <= value <= high:
        raise Failed(f"{request['type']}: '{key}' is {one_line(repr(value), 40)}, an integer from {low} to {high} is meant")
    return value


def number(request, key, default):
    value = request.get(key, default)
    if type(value) not in (int, float) or not 0 <= value < 1e15:
        raise Failed(f"{request['type']}: '{key}' is {one_line(repr(value), 40)}, a number of 0 or more is meant")
    return value


def read_line(stream):
    """The next line; None at the end; b"" stands for one that is too long, which is skipped."""
    line = stream.readline(MAX_LINE + 1)
    if not line:
        return None
    if len(line) <= MAX_LINE:
        return line
    while line and not line.endswith(b"\n"):
        line = stream.readline(MAX_LINE)
    return b""


def serve(adapter, modes=None):
    """Speaks the protocol on the descriptors of the environment until bye; answers the exit status."""
    try:
        requests = os.fdopen(int(os.environ["SLUICE_PEER_IN"]), "rb")
        replies = os.fdopen(int(os.environ["SLUICE_PEER_OUT"]), "wb")
    except (KeyError, ValueError, OSError):
        print(f"{adapter.name}: a worker of `sluice run`, not meant to be started by hand", file=sys.stderr)
        return 2
    worker = Worker(adapter, modes)
    while not worker.ended:
        line = read_line(requests)
        if line is None:
            break
        reply = json.dumps(worker.answer(line), ensure_ascii=True).encode()
        try:
            replies.write(reply + b"\n")
            replies.flush()
        except BrokenPipeError:
            return 1
    # No tidy interpreter exit: native libraries may crash in their destructors, and nothing is left to save.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
