#!/usr/bin/env python3
# tests/slurm/kills.py - a matrix of 100 cases on a Slurm of this machine, killed at random moments and continued.
# SPDX-License-Identifier: Apache-2.0
"""usage: kills.py PROGRAM [--trials 20] [--seed 1] [--result FILE]

50 transforms on two node types, two libraries, ten cases to a task. Each trial submits, waits a random time, kills (scancel of an
array, of a task, of the collecting job; kill -9 of tasks, of the collecting process), and runs `--resume` once. It is complete
when every case is there once, cases that were finished before were kept sample by sample, and exactly the others were
measured. Exit code 0: all complete; 77: there is no Slurm here.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import loopback  # noqa: E402

TYPES = ("small", "large")
CASES_PER_TYPE = 50
CASES_PER_TASK = 10
LIBRARIES = ("sluice", "twin")
KINDS = ("scancel array", "scancel task", "kill -9 task", "scancel collect", "kill -9 collect")
LIMIT_S = 900  # for a matrix that takes half a minute on a quiet machine
PAUSE = threading.Event()


def until(condition, what, limit_s=LIMIT_S, step_s=0.05):
    end = time.monotonic() + limit_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not after {limit_s} s")
        PAUSE.wait(step_s)


class Matrix:
    """One run of the matrix in a folder of its own."""

    def __init__(self, program, folder, cluster):
        self.program, self.folder, self.cluster = program, folder, cluster
        self.out = folder / "out"
        self.config = folder / "run.yaml"
        names = json.loads(self.call("plan", "--config", self.write_config(None), "--json"))["plan"]["jobs"][0]["cases"]
        self.write_config([one["case"].rpartition("/")[2] for one in names][:CASES_PER_TYPE])

    def write_config(self, transforms):
        chosen = f"transforms: [{', '.join(transforms)}]" if transforms else "transform_set: paper"
        self.config.write_text(f"""version: 1
selection:
  scenario: image-rgb
  mode: micro
  libraries: [sluice]
  {chosen}
  peers: {{twin: [{self.program}, worker]}}
data: {{num_items: 1}}
execution: {{num_runs: 1, disable_slow_skip: true}}
cluster: {{node_types: [{', '.join(TYPES)}], cases_per_task: {CASES_PER_TASK}}}
""")
        return self.config

    def call(self, *words):
        done = subprocess.run([self.program, *map(str, words)], env=self.cluster.environment, capture_output=True, text=True,
                              cwd=self.folder, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{words}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def submit(self, *more):
        return json.loads(self.call("run", "--config", self.config, "--backend", "slurm", "--out", self.out, "--sample-ms", "2",
                                    "--warmup-ms", "0", "--json", *more))["types"]

    def queue(self):
        """{(name, task or None): state}, of what has not ended."""
        said = subprocess.run([loopback.which("squeue"), "--noheader", "--array", "--format=%j %K %T %A"],
                              env=self.cluster.environment, capture_output=True, text=True, check=True).stdout
        jobs = {}
        for line in said.splitlines():
            name, task, state, _ = line.split()
            jobs[name, int(task) if task.isdigit() else None] = state
        return jobs

    def finished(self):
        """{(type, case): the samples of all libraries}, of cases that every library's file of a task holds."""
        found = {}
        for kind in TYPES:
            for task in sorted((self.out / kind / "tasks").glob("[0-9][0-9][0-9][0-9]")):
                found |= {(kind, case): samples for case, samples in cases_in(task).items()}
        return found

    def collected(self):
        return {(kind, case): samples for kind in TYPES for case, samples in cases_in(self.out / kind).items()}

    def missing_tasks(self):
        return {kind: [n for n in range(CASES_PER_TYPE // CASES_PER_TASK) if not (self.out / kind / f"done/{n:04}.json").exists()]
                for kind in TYPES}

    def processes(self, collecting):
        """Those of tasks, or of collecting jobs, by process number: what they were started with."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if len(words) > 2 and words[1:3] == ["slice", str(self.out)] and ("--collect" in words) == collecting:
                found[int(entry.name)] = words
        return found


def cases_in(folder):
    by_library = []
    for library in LIBRARIES:
        file = folder / "results/image-rgb/micro" / f"{library}_micro_results.json"
        rows = json.loads(file.read_text())["rows"] if file.exists() else []
        by_library.append({row["case"]: [run["samples_ns"] for run in row["runs"]] for row in rows if row["status"] == "ok"})
    shared = set(by_library[0]) & set(by_library[1])
    return {case: [samples[case] for samples in by_library] for case in shared}


def token_of(matrix):
    return json.loads((matrix.out / "submission.json").read_text())["token"]


def kill(matrix, kind, chance):
    """Returns what was killed, in words; nothing when there was nothing of that kind any more."""
    name = f"sluice-{token_of(matrix)}-{chance.choice(TYPES)}"
    def scancel(*words):
        subprocess.run([loopback.which("scancel"), *words], env=matrix.cluster.environment, check=True, capture_output=True)
    if kind == "scancel array":
        if not any(job == name for job, _ in matrix.queue()):
            return None
        scancel(f"--name={name}")
        return name
    if kind == "scancel task":
        running = [job for job, state in matrix.queue().items() if job[1] is not None and state == "RUNNING"]
        if not running:
            return None
        job, task = chance.choice(sorted(running))
        ids = subprocess.run([loopback.which("squeue"), "--noheader", "--array", f"--name={job}", "--format=%F_%K %K"],
                             env=matrix.cluster.environment, capture_output=True, text=True, check=True).stdout.split("\n")
        scancel(*[line.split()[0] for line in ids if line.split()[1:] == [str(task)]])
        return f"{job} task {task}"
    if kind == "scancel collect":
        if (f"{name}-collect", None) not in matrix.queue():
            return None
        scancel(f"--name={name}-collect")
        return f"{name}-collect"
    collecting = kind == "kill -9 collect"
    processes = matrix.processes(collecting)
    if collecting and not processes:  # it lives for a moment only: wait for it
        until(lambda: matrix.processes(True) or not matrix.queue(), "a collecting process", step_s=0.002)
        processes = matrix.processes(True)
    killed = []
    for number in processes:
        try:
            os.kill(number, signal.SIGKILL)
            killed.append(number)
        except ProcessLookupError:
            pass
    return f"{len(killed)} processes" if killed else None


def trial(matrix, kind, moment_s, at_once, chance):
    shutil.rmtree(matrix.out, ignore_errors=True)
    began = time.monotonic()
    matrix.submit()
    PAUSE.wait(moment_s)
    killed = kill(matrix, kind, chance)
    if not killed:
        until(lambda: not matrix.queue(), "the queue")
        return {"killed": None}
    if kind.startswith("kill") or not at_once:  # a process that is killed is a running job until Slurm has seen its end
        until(lambda: not matrix.queue(), "the queue after the kill")
    # The queue first: a task that ends in between is then in the queue and not missing, and not the other way round.
    queued = {key for key, state in matrix.queue().items() if state != "COMPLETING"}
    before = matrix.finished()
    missing = matrix.missing_tasks()
    collected_before = {kind_: (matrix.out / kind_ / "done/collect.json").exists() for kind_ in TYPES}
    answer = {one["node_type"]: one for one in matrix.submit("--resume")}
    until(lambda: not matrix.queue(), "the queue after --resume")
    after = matrix.collected() if all((matrix.out / name / "done/collect.json").exists() for name in TYPES) else {}
    measured = {key for key, samples in after.items() if before.get(key) != samples}
    not_finished = set(after) - set(before)
    token = token_of(matrix)
    # Tasks may have ended between the look at the folder and the submission, where they were still in the queue.
    exact = all(set(answer[name]["tasks"]) | set(answer[name]["in_queue"]) <= set(missing[name]) and
                all((f"sluice-{token}-{name}", task) in queued for task in set(missing[name]) - set(answer[name]["tasks"]))
                for name in TYPES)
    complete = len(after) == CASES_PER_TYPE * len(TYPES) and measured == not_finished and exact
    if complete:
        for name in TYPES:
            matrix.call("validate", matrix.out / name)
        complete = all(one["complete"] for one in matrix.submit("--resume"))
    return {"kind": kind, "moment_s": round(moment_s, 2), "killed": re.sub(r"sluice-\w{8}", "sluice", killed),
            "resumed": "at once" if at_once and not kind.startswith("kill") else "when the queue was empty",
            "finished_cases_before": len(before), "missing_tasks": missing, "collected_before": collected_before,
            "submitted": {name: {"tasks": answer[name]["tasks"], "in_queue": answer[name]["in_queue"],
                                 "collect": answer[name]["collect_job"] is not None} for name in TYPES},
            "cases_measured_after": len(measured), "cases_measured_twice": len(measured & set(before)),
            "cases": len(after), "complete": complete, "seconds": round(time.monotonic() - began, 1)}


def run(program, trials, seed, note):
    chance = random.Random(seed)
    record = {"seed": seed, "cases": CASES_PER_TYPE * len(TYPES), "node_types": list(TYPES), "cases_per_task": CASES_PER_TASK,
              "libraries": list(LIBRARIES), "trials": []}
    record["sluice"] = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    with loopback.cluster(TYPES) as cluster, tempfile.TemporaryDirectory(prefix="sluice-kills-") as folder:
        record["slurm"] = subprocess.run([loopback.which("sbatch"), "--version"], env=cluster.environment, capture_output=True,
                                         text=True, check=True).stdout.strip()
        matrix = Matrix(program, Path(folder), cluster)
        began = time.monotonic()
        matrix.submit()
        until(lambda: not matrix.queue(), "the matrix, not killed")
        whole_s = time.monotonic() - began
        if len(matrix.collected()) != record["cases"]:
            logs = "\n".join(path.read_text()[-500:] for path in sorted((matrix.out / "logs").glob("*.out")))
            raise RuntimeError(f"the matrix is not complete even where nothing is killed:\n{logs}")
        record["undisturbed_s"] = round(whole_s, 1)
        for number in range(trials):
            kind = KINDS[number % len(KINDS)]
            moment_s = chance.uniform(0, whole_s)
            at_once = chance.random() < 0.5
            while not (one := trial(matrix, kind, moment_s, at_once, chance))["killed"]:
                moment_s /= 2  # there was nothing left to be killed
            record["trials"].append({"trial": number + 1, **one})
            note(record)
    record["complete"] = sum(one["complete"] for one in record["trials"])
    note(record)
    return record


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--result", type=Path)
    arguments = parser.parse_args()
    if absent := loopback.missing_programs():
        print(f"skipped: {absent[0]} is not installed; tools/setup --with slurm installs it")
        return 77

    def note(record):
        if record["trials"]:
            print(json.dumps(record["trials"][-1]), flush=True)
        if arguments.result:
            arguments.result.write_text(json.dumps(record, indent=1) + "\n")
    record = run(arguments.program.resolve(), arguments.trials, arguments.seed, note)
    print(f"{record['complete']} of {arguments.trials} complete")
    return 0 if record["complete"] == arguments.trials else 1


if __name__ == "__main__":
    sys.exit(main())
