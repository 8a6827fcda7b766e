#!/usr/bin/env python3
# bench/bisect_trials.py - how often does `sluice bisect` name the guilty commit of a real program?
# SPDX-License-Identifier: Apache-2.0
"""Makes histories of a small C program, one commit of each slower by a share, and lets sluice bisect search them.

usage: bisect_trials.py SLUICE [--trials 40] [--commits 64] [--slowdown 0.05] [--metric wall] [--ms 40] --out FILE
After every trial FILE holds all of them: who was guilty, who was named, in how many probes, pairs and seconds.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import tempfile

from measured_by import git

PROGRAM = """#include <stdint.h>
#include <stdio.h>
#include "work.h"
int main(void) {
  uint64_t x = 88172645463325252u, sum = 0;
  for (long i = 0; i < WORK; ++i) {
    x ^= x << 13; x ^= x >> 7; x ^= x << 17;
    sum += x;
  }
  printf("%016llx\\n", (unsigned long long)sum);
  return 0;
}
"""
IDENTITY = {"GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "T",
            "GIT_COMMITTER_EMAIL": "t@example.org"}


def sh(command, folder):
    return subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True, text=True,
                          env={**os.environ, **IDENTITY}).stdout.strip()


def make_history(folder, commits, guilty, work, slowdown):
    """Every commit changes something; `guilty` makes the loop longer, too. Returns the commits, GOOD first."""
    (folder / "main.c").write_text(PROGRAM)
    (folder / "Makefile").write_text("build:\n\tcc -O2 -o program main.c\n")
    (folder / "work.h").write_text(f"#define WORK {work}L\n")
    sh("git init -q . && git add . && git commit -qm 'the first'", folder)
    for i in range(1, commits + 1):
        (folder / "notes.txt").write_text(f"change {i}\n")
        if i == guilty:
            (folder / "work.h").write_text(f"#define WORK {round(work * (1 + slowdown))}L\n")
        sh(f"git add . && git commit -qm 'change {i}'", folder)
    return sh("git rev-list --reverse HEAD", folder).split("\n")


def sized(folder, ms):
    """Rounds of the loop that take about so long here, in CPU time."""
    work = 10_000_000
    (folder / "main.c").write_text(PROGRAM)
    (folder / "work.h").write_text(f"#define WORK {work}L\n")
    sh("cc -O2 -o program main.c", folder)
    seconds = min(float(sh("bash -c 'TIMEFORMAT=%U; time ./program' 2>&1 | tail -n 1", folder)) for _ in range(5))
    return max(1000, round(work * ms / 1000 / seconds))


def trial(sluice, args, draw, work, scratch):
    guilty = draw.randint(1, args.commits)
    repo = scratch / "repo"
    repo.mkdir()
    shas = make_history(repo, args.commits, guilty, work, args.slowdown)
    done = subprocess.run([sluice, "bisect", shas[0], shas[-1], "--build", "make build", "--run", "./program",
                           "--metric", args.metric, "--alpha", str(args.alpha), "--max-pairs", str(args.max_pairs),
                           "--out", str(scratch / "out"), "--quiet", "--json"],
                          cwd=repo, capture_output=True, text=True,
                          env={**os.environ, "SLUICE_CACHE_DIR": str(scratch / "cache")})
    row = {"guilty": guilty, "exit": done.returncode, "error": done.stderr.strip() or None}
    if not done.stdout:
        return row
    found = json.loads(done.stdout)
    result = found["result"]
    named = shas.index(result["commit"]["sha"]) if result["commit"] else None
    suspects = [shas.index(one["sha"]) for one in result["suspects"]]
    row.update(end=result["end"], named=named, right=named == guilty, suspects=suspects,
               probes=len(found["probes"]), pairs=sum(len(p["pairs"]["a"]) for p in found["probes"]),
               seconds=round(found["elapsed_s"], 1), confidence=result["confidence"],
               speed_change=result["speed_change"],
               measured=[{key: p[key] for key in ("revision", "verdict", "judged_pairs", "speed_change", "sd_log_ratio",
                                                  "pairs", "order")} for p in found["probes"]])
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sluice", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--slowdown", type=float, default=0.05)
    parser.add_argument("--metric", default="wall")
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--max-pairs", type=int, default=192)
    parser.add_argument("--ms", type=float, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    sluice = args.sluice.resolve()
    draw = random.Random(args.seed)
    trials = []
    with tempfile.TemporaryDirectory() as folder:
        work = sized(pathlib.Path(folder), args.ms)
    profile = json.loads(subprocess.run([sluice, "env", "--json"], check=True, capture_output=True,
                                        text=True).stdout).get("machine_profile")
    for number in range(args.trials):
        with tempfile.TemporaryDirectory() as folder:
            trials.append(trial(sluice, args, draw, work, pathlib.Path(folder)))
        one = trials[-1]
        print(number, {key: one.get(key) for key in ("guilty", "named", "probes", "pairs", "seconds", "error")}, flush=True)
        document = {"what": "sluice bisect over histories of a C program", "git": git(sluice),
                    "machine_profile": profile, "commits": args.commits, "slowdown": args.slowdown,
                    "metric": args.metric, "alpha": args.alpha, "max_pairs": args.max_pairs, "program_ms": args.ms,
                    "seed": args.seed, "trials_asked": args.trials,
                    "right": sum(bool(t.get("right")) for t in trials), "trials_done": len(trials),
                    "most_probes": max(t.get("probes", 0) for t in trials), "trials": trials}
        args.out.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
