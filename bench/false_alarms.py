#!/usr/bin/env python3
# bench/false_alarms.py - does `sluice compare` cry wolf, and does it see a slowdown? Measured, not assumed.
# SPDX-License-Identifier: Apache-2.0
"""Repeats: quick (base), quick again (same code), quick with one row slowed by the documented test hook.

compare(base, again) must call no row a regression; compare(base, slowed) must call the slowed row one, and no other.
Writes what every comparison said to --out, and prints the two counts with their Wilson intervals.

usage: bench/false_alarms.py --repetitions 20 --case decode/jpeg/threads=1 --slowdown 15% --out FILE
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from measured_by import git


def wilson(successes, n, z=1.959964):
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def quick(program, folder, slowdown=None):
    environment = dict(os.environ)
    environment.pop("SLUICE_INJECT_SLOWDOWN", None)
    if slowdown:
        environment["SLUICE_INJECT_SLOWDOWN"] = slowdown
    start = time.monotonic()
    subprocess.run([program, "quick", "--out", str(folder), "--quiet"], check=True, env=environment,
                   stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def compare(program, base, candidate):
    """The rows called regressions, and the whole comparison."""
    done = subprocess.run([program, "compare", str(base), str(candidate), "--json"], stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"compare ended with {done.returncode}")
    document = json.loads(done.stdout)
    called = [row["case"] for row in document["rows"] if row["verdict"] == "regression"]
    return called, document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="./sluice")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--case", default="decode/jpeg/threads=1")
    parser.add_argument("--slowdown", default="15%")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()

    log = []
    quiet = found = 0
    with tempfile.TemporaryDirectory() as scratch:
        for repetition in range(arguments.repetitions):
            folders = {name: pathlib.Path(scratch) / f"{repetition}-{name}" for name in ("base", "same", "slow")}
            seconds = [quick(arguments.program, folders["base"]), quick(arguments.program, folders["same"]),
                       quick(arguments.program, folders["slow"], f"{arguments.case}={arguments.slowdown}")]
            alarms, same = compare(arguments.program, folders["base"], folders["same"])
            called, slow = compare(arguments.program, folders["base"], folders["slow"])
            quiet += not alarms
            found += called == [arguments.case]
            log.append({"repetition": repetition, "seconds": [round(s, 1) for s in seconds], "false_alarms": alarms,
                        "called_slowed": called, "compare_same": same, "compare_slowed": slow})
            print(f"{repetition + 1:3} of {arguments.repetitions}: A/A {alarms or 'quiet'}; "
                  f"slowed {called}; {sum(seconds):.0f} s", flush=True)
            n = repetition + 1
            summary = {"git": git(arguments.program), "repetitions": n, "case": arguments.case, "slowdown": arguments.slowdown,
                       "quiet": quiet, "quiet_wilson95": wilson(quiet, n),
                       "found_alone": found, "found_alone_wilson95": wilson(found, n), "log": log}
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            arguments.out.write_text(json.dumps(summary, indent=1) + "\n")
    low, high = wilson(quiet, arguments.repetitions)
    print(f"A/A: no false alarm in {quiet} of {arguments.repetitions} (95 % interval {low:.2f} to {high:.2f})")
    low, high = wilson(found, arguments.repetitions)
    print(f"{arguments.case} slowed by {arguments.slowdown}: that row and no other in {found} of "
          f"{arguments.repetitions} (95 % interval {low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
