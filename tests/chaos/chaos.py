#!/usr/bin/env python3
# tests/chaos/chaos.py - random commands under random faults; after each, what must hold whatever happened.
# SPDX-License-Identifier: Apache-2.0
"""usage: chaos.py PROGRAM SHIM FAULT_SERVER [--seconds S | --runs N] [--seed N] [--only NAME] [--record FILE]

A run is a command, a fault and a moment, all drawn from one seed that is printed; `--seed N --runs 1` is that run again. `--record` adds to FILE.
What must hold afterwards is in class Invariants."""
import argparse
import collections
import errno
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

SECRET = "chaos-secret-7d1f0c"
EXIT_CODES = {0, 1, 2, 3, 4, 5, 124, 130}  # design: the table of exit codes
LIMIT_S = 120
TEMPORARY = re.compile(r"\.tmp$|\.part(ial)?$")

MODEL = ["--dim", "32", "--heads", "2", "--layers", "1", "--seq-len", "16", "--batch-size", "2", "--warmup-steps", "1",
         "--measure-steps", "2", "--repeat", "1"]
WAVE = ["--runs", "1", "--samples", "1", "--sample-ms", "1", "--warmup-ms", "0"]
LOADER = ["--batch-size", "2", "--num-workers", "2", "--num-batches", "2", "--runs", "1"]

# Name: (arguments, further arguments under which it may be run again, one list each). {F} is the folder of what all runs
# share, {out} what this one may write to.
COMMANDS = {
    "data make": (["data", "make", "--kind", "rgb", "--count", "4", "--out", "{out}"], [["--force"]]),
    "data bundle": (["data", "bundle", "--input", "{F}/D", "--out", "{out}"], []),
    "data bundle s3": (["data", "bundle", "--input", "s3://bucket/D", "--endpoint", "{server}", "--out", "{out}"], []),
    "data stage": (["data", "stage", "--from", "{F}/D.tar.gz", "--to", "{out}"], []),
    "augment": (["augment", "{F}/D/one/0.jpg", "{F}/D/two/1.jpg", "--pipeline", "{F}/list.yaml", "--out", "{out}"], [["--force"]]),
    "bench decode": (["bench", "decode", "--data-dir", "{F}/D", *WAVE, "--out", "{out}"], [["--resume"]]),
    "bench dataloader": (["bench", "dataloader", "--input", "{F}/D", *LOADER, "--out", "{out}"], []),
    "bench dataloader s3": (["bench", "dataloader", "--input", "s3://bucket/D", "--endpoint", "{server}", *LOADER,
                             "--cache-dir", "{out}/cache", "--out", "{out}/run"], []),
    "bench storage": (["bench", "storage", "--input", "{F}/D", "--runs", "1", "--operations", "4", "--bytes", "1m",
                       "--out", "{out}"], []),
    "bench training": (["bench", "training", "--model", "gpt-tiny", *MODEL, "--out", "{out}"], []),
    "gate": (["gate", "--quick", "--bench", "--compare", *MODEL, "--baseline-dir", "{out}/baselines", "--out", "{out}/run"], []),
    "baseline promote": (["baseline", "promote", "{F}/quiet", "--baseline-dir", "{out}", "--without-eval", "--maintainer",
                          "--reason", "chaos"], []),
    "publish": (["publish", "--from", "{F}/decode", "--to", "{out}", "--purpose", "chaos", "--machine", "one"], [["--force"]]),
    "report": (["report", "{F}/decode", "--out", "{out}"], [["--force"]]),
    "compare": (["compare", "{F}/decode", "{F}/decode", "--json"], []),
    "validate": (["validate", "{F}/decode"], []),
    "train": (["train", "--input", "{F}/D", "--model", "vit5-tiny", "--image-size", "32", "--epochs", "1", "--batch-size", "2",
               "--out", "{out}"], [["--resume"]]),
}
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
CALLS = {"ENOSPC": ("write", errno.ENOSPC, 0), "EIO on write": ("write", errno.EIO, 1), "EIO on sync": ("sync", errno.EIO, 0),
         "EIO on rename": ("rename", errno.EIO, 1), "EIO on read": ("read", errno.EIO, 1), "EMFILE": ("open", errno.EMFILE, 0),
         "read-only": ("create", errno.EROFS, 0)}
FAULTS = ["none", *SIGNALS, *CALLS, "clock +1 day", "clock -1 day", "twice at once"]


class Invariants:
    """Each gives a sentence for what does not hold."""

    @staticmethod
    def ended_by_the_table(code, fault, has_begun):
        """A signal that comes before the program looks at signals ends it as the system does."""
        if fault in SIGNALS and code == -SIGNALS[fault] and (fault == "SIGKILL" or not has_begun):
            return None
        return None if code in EXIT_CODES else f"ended with {code}"

    @staticmethod
    def says_why(code, stdout, stderr):
        if re.search(r"internal error|terminate called|Traceback|Assertion|std::", stderr):
            return f"said: {stderr.strip()[-300:]}"
        if code == 2 and not re.search(r"^sluice: ", stderr, re.M) and not re.search(r"^unreadable ", stdout, re.M):
            return f"ended with 2 and gave no reason: {stderr.strip()[-300:]!r}"
        return None

    @staticmethod
    def files_are_whole(folder):
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or TEMPORARY.search(path.name):
                continue
            if problem := broken(path):
                return f"{path.relative_to(folder)}: {problem}"
        return None

    @staticmethod
    def no_temporary_left(folder):
        left = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if TEMPORARY.search(path.name)]
        return f"temporary files are left: {', '.join(left[:3])}" if left else None

    @staticmethod
    def nothing_outside(work, fault):
        """What the next run removes may be left: by a signal the snapshot that was being made and its lock, by one that cannot
        be caught unfinished bundles too, and either where no descriptor is left to list them with."""
        allowed = {"out", "home", "cache", "tmp"} | ({".out.new", ".out.lock"} if fault in SIGNALS else set())
        allowed |= {".out.new", ".out.partial"} if fault in {"SIGKILL", "EMFILE"} else set()
        strange = [path.name for path in work.iterdir() if path.name not in allowed]
        if fault not in SIGNALS:
            strange += [f"tmp/{path.name}" for path in (work / "tmp").iterdir()]
        strange += [f"home/{path.name}" for path in (work / "home").iterdir()]
        return f"written outside of --out: {', '.join(strange[:3])}" if strange else None

    @staticmethod
    def no_secret(work, *texts):
        if any(SECRET in text for text in texts):
            return "the secret is in the output"
        for path in work.rglob("*"):
            if path.is_file() and SECRET.encode() in path.read_bytes():
                return f"the secret is in {path.relative_to(work)}"
        return None

    @staticmethod
    def no_process_left(mark):
        """Those that are ending are given ten seconds in all."""
        end = time.monotonic() + 10
        while left := processes_of(mark):
            if not ended(left[0], end - time.monotonic()):
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                return f"{len(left)} processes are left"
        return None


def broken(path):
    content = path.read_bytes()
    try:
        if path.suffix == ".json":
            json.loads(content)
        elif path.suffix == ".jsonl":
            for line in content.decode().splitlines():
                json.loads(line)
        elif path.suffix == ".html" and not content.rstrip().endswith(b"</html>"):
            return "ends before its end"
        elif path.suffix == ".jpg" and not (content.startswith(b"\xff\xd8") and content.endswith(b"\xff\xd9")):
            return "is no whole JPEG"
        elif path.suffix == ".png" and not content.endswith(b"IEND\xaeB`\x82"):
            return "is no whole PNG"
        elif path.suffix == ".safetensors":
            size = int.from_bytes(content[:8], "little")
            header = json.loads(content[8:8 + size])
            most = max((one["data_offsets"][1] for name, one in header.items() if name != "__metadata__"), default=0)
            if len(content) != 8 + size + most:
                return f"holds {len(content)} bytes instead of {8 + size + most}"
        elif path.suffix in {".yaml", ".md", ".csv", ".xml"} and not content:
            return "is empty"
    except (ValueError, KeyError) as error:
        return f"cannot be read: {error}"
    return None


def ended(pid, limit_s):
    """Waits for the end of a process that is not our child."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], max(0, limit_s))[0])
    finally:
        os.close(descriptor)


def processes_of(mark):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if f"CHAOS_RUN={mark}".encode() in (entry / "environ").read_bytes() and \
                        not (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


class World:
    """What all runs share: a few photographs, an archive of them, a server with faults, finished runs."""

    def __init__(self, program, shim, server, folder):
        self.program, self.shim, self.folder = program, shim, folder
        self.must("data", "make", "--kind", "rgb", "--count", "6", "--classes", "2", "--out", "made")
        for i, photo in enumerate(sorted((folder / "made").rglob("*.jpg"))):
            place = folder / "D" / ("one", "two")[i % 2]
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(photo, place / f"{i}.jpg")
        with tarfile.open(folder / "D.tar.gz", "w:gz") as archive:
            archive.add(folder / "D", "D")
        (folder / "list.yaml").write_text("steps:\n  - HorizontalFlip: {}\n")
        self.must("bench", "decode", "--data-dir", "D", *WAVE, "--out", "decode")
        self.must("gate", "--quick", "--bench", *MODEL, "--out", "run")
        self.make_quiet(folder)
        self.server = subprocess.Popen([server, "--key", "AKIDCHAOS", SECRET, "--folder", folder / "D", "D/", "--fault-rate", "0.1",
                                        "--slow-s", "0.05", "--seed", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.server.stdout.readline())}"

    @staticmethod
    def make_quiet(folder):
        """metrics.json as measured on a quiet machine: only such a run becomes a baseline. Alone: its samples say otherwise."""
        metrics = json.loads((folder / "run" / "metrics.json").read_text())
        metrics["timing"].update(waited_share=0.0, run_p50_s=[metrics["timing"]["step_time_p50_s"]] * 2)
        metrics["noise"] = {"verdict": "quiet", "score": 100, "steal": 0.0, "findings": []}
        (folder / "quiet").mkdir()
        (folder / "quiet" / "metrics.json").write_text(json.dumps(metrics))

    def must(self, *arguments):
        done = subprocess.run([self.program, *arguments, "--quiet"], cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode:
            sys.exit(f"chaos: {' '.join(arguments)} ended with {done.returncode} before any fault: {done.stderr}")

    def close(self):
        self.server.stdin.close()
        self.server.wait(10)


class Run:
    def __init__(self, world, seed, only):
        self.world, self.seed = world, seed
        draw = random.Random(seed)
        self.command = draw.choice(sorted(name for name in COMMANDS if only in name))
        self.fault = draw.choice(FAULTS)
        self.moment = draw.random()      # of a signal: share of the time that the command usually takes
        self.call = int(10 ** draw.uniform(0, 2.5)) - 1  # of a failing call: the first one
        self.work = world.folder / "runs" / str(seed)
        self.out = self.work / "out"
        for name in ("home", "tmp", "cache"):
            (self.work / name).mkdir(parents=True)

    def arguments(self, *more):
        filled = [word.format(F=self.world.folder, out=self.out, server=self.world.url) for word in COMMANDS[self.command][0]]
        return [str(self.world.program), *filled, *more, "--quiet"]

    def start(self, *more, faulty):
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.work / "home"), "TMPDIR": str(self.work / "tmp"),
                     "SLUICE_CACHE_DIR": str(self.work / "cache"), "AWS_ACCESS_KEY_ID": "AKIDCHAOS",
                     "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1", "CHAOS_RUN": str(self.seed)}
        if faulty and self.fault in CALLS:
            call, number, count = CALLS[self.fault]
            root = self.world.folder if call == "read" else self.work
            variables |= {"LD_PRELOAD": str(self.world.shim), "CHAOS_ROOT": str(root),
                          "CHAOS_FAULT": f"{call}:{number}:{self.call}:{count}"}
        elif faulty and self.fault.startswith("clock"):
            variables |= {"LD_PRELOAD": str(self.world.shim), "CHAOS_CLOCK": "86400" if "+" in self.fault else "-86400"}
        return subprocess.Popen(self.arguments(*more), cwd=self.work, env=variables, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def wait(self, process):
        try:
            stdout, stderr = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            return "hangs", stdout, stderr
        return process.returncode, stdout, stderr

    def first(self, usual_s):
        """The command under its fault: exit codes and what was said."""
        processes = [self.start(faulty=True)]
        if self.fault == "twice at once":
            processes.append(self.start(faulty=True))
        elif self.fault in SIGNALS:
            try:
                processes[0].wait(self.moment * 1.1 * usual_s)
            except subprocess.TimeoutExpired:
                processes[0].send_signal(SIGNALS[self.fault])
        return [self.wait(process) for process in processes]

    def problems(self, usual_s):
        killed = self.fault == "SIGKILL"
        found = []
        for code, stdout, stderr in self.first(usual_s):
            found.append("does not end" if code == "hangs" else Invariants.ended_by_the_table(code, self.fault, self.out.exists()))
            found.append(Invariants.says_why(code, stdout, stderr))
            found.append(Invariants.no_secret(self.work, stdout, stderr))
        found.append(Invariants.no_process_left(self.seed))
        found.append(Invariants.nothing_outside(self.work, self.fault))
        if self.out.exists():
            found.append(Invariants.files_are_whole(self.out))
            found.append(None if killed else Invariants.no_temporary_left(self.out))
        found.append(self.again())
        found.append(Invariants.nothing_outside(self.work, "none") if not killed else None)
        return [problem for problem in found if problem]

    def again(self):
        """Without a fault the same command completes what is there: as it is, or by one of the flags for that."""
        said = []
        for more in ([], *COMMANDS[self.command][1]):
            code, _, stderr = self.wait(self.start(*more, faulty=False))
            if code in {0, 1, 3, 4, 5} or self.finished(stderr):
                return (Invariants.files_are_whole(self.out) or Invariants.no_temporary_left(self.out)) if self.out.exists() else None
            said.append(f"{code} {stderr.strip()[-200:]}")
        return f"cannot be run again: {'; '.join(said)}"

    @staticmethod
    def finished(stderr):
        """A refusal to write over what is finished is an answer, too."""
        return re.search(r"holds? (a )?finished|holds results|is not empty|already", stderr) is not None

    def describe(self):
        return f"seed {self.seed}: {self.command}, {self.fault}, moment {self.moment:.2f}, call {self.call}"


def usual_times(world):
    """How long each command takes when nothing goes wrong."""
    times = {}
    for number, name in enumerate(COMMANDS):
        run = Run(world, f"usual-{number}", name)
        run.command = name
        begin = time.monotonic()
        code, _, stderr = run.wait(run.start(faulty=False))
        times[name] = time.monotonic() - begin
        if code not in {0, 1, 3, 4}:
            sys.exit(f"chaos: {name} ended with {code} without a fault: {stderr}")
        shutil.rmtree(run.work)
    return times


def version_of(program):
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]


def add_to(record, piece):
    """One line a piece, behind those that are there; the sums come first."""
    pieces = (json.loads(record.read_text())["pieces"] if record.exists() else []) + [piece]
    sums = {"runs": sum(one["runs"] for one in pieces), "broken": sum(len(one["broken"]) for one in pieces)}
    lines = ",\n  ".join(json.dumps(one) for one in pieces)
    record.write_text(json.dumps(sums)[:-1] + f',\n "pieces": [\n  {lines}\n]}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("program", "shim", "server"):
        parser.add_argument(name, type=lambda text: Path(text).resolve())
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--keep", action="store_true", help="keep the folders of runs with a problem")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    world = World(options.program, options.shim, options.server, folder)
    bad, done = [], collections.Counter()
    try:
        usual = usual_times(world)
        print(f"chaos: first seed {seed}; {len(COMMANDS)} commands, {len(FAULTS)} faults", flush=True)
        begin = time.monotonic()
        while sum(done.values()) < options.runs if options.runs else time.monotonic() - begin < options.seconds:
            run = Run(world, seed + sum(done.values()), options.only)
            problems = run.problems(usual[run.command])
            done[run.fault] += 1
            if problems:
                bad.append({"run": run.describe(), "problems": problems})
                print(f"BROKEN {run.describe()}\n  " + "\n  ".join(problems), flush=True)
            if not (problems and options.keep):
                shutil.rmtree(run.work, ignore_errors=True)
        took = time.monotonic() - begin
    finally:
        world.close()
        if not (bad and options.keep):
            shutil.rmtree(folder, ignore_errors=True)
    for fault in FAULTS:
        print(f"{done[fault]:6} runs  {fault}")
    print(f"chaos: {sum(done.values())} runs in {took:.0f} s, {len(bad)} with a broken invariant")
    if options.record:
        add_to(options.record, {"program": version_of(options.program), "first_seed": seed, "runs": sum(done.values()), "seconds": round(took),
                                "by_fault": done, "broken": bad})
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
