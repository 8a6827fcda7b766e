#!/usr/bin/env python3
# bench/marks_speed.py - what a mark of sluice_marks costs in Python and in C, and its share of a 10 ms step.
# SPDX-License-Identifier: Apache-2.0
"""usage: marks_speed.py [--cc CC]    one JSON document; medians and bests over short batches, so that a busy machine disturbs few

Bests are compared with the targets: C mark and value 100 ns, Python mark 500 ns, Python phase 1200 ns, one value in Python 1000 ns,
a step of 10 ms with its mark and four phases 0.1 %. Exit 1 when one is missed.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from measured_by import git

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGETS_NS = {"c_step": 100, "c_phase": 100, "c_log": 100, "python_step": 500, "python_phase": 1200, "python_log": 1000}
C_PROGRAM = """
#include "sluice_marks.h"
#define BATCH(name, body)                                                        \\
  for (int b = 0; b < 200; ++b) {                                                \\
    uint64_t from = sluice_marks_clock();                                        \\
    for (int i = 0; i < 1000; ++i) { body; }                                     \\
    printf("%s %.3f\\n", name, (double)(sluice_marks_clock() - from) / 1000);     \\
  }
int main(void) {
  BATCH("c_step", sluice_marks_step())
  BATCH("c_phase", sluice_marks_end("forward", sluice_marks_begin()))
  BATCH("c_log", sluice_marks_log(SLUICE_MARKS_LOSS, 0.5))
  return !sluice_marks_on();
}
"""


def in_python():
    """Batches of 1000, as {name: [ns per mark]}."""
    import sluice_marks as marks
    assert marks.on()
    found = {"python_step": [], "python_phase": [], "python_log": []}
    for _ in range(200):
        step = marks.step
        start = time.perf_counter_ns()
        for _ in range(1000):
            step()
        found["python_step"].append((time.perf_counter_ns() - start) / 1000)
        start = time.perf_counter_ns()
        for _ in range(1000):
            with marks.phase("forward"):
                pass
        found["python_phase"].append((time.perf_counter_ns() - start) / 1000)
        start = time.perf_counter_ns()
        for _ in range(1000):
            marks.log(loss=0.5)
        found["python_log"].append((time.perf_counter_ns() - start) / 1000)
    return found


def in_c(compiler, folder, env):
    source = pathlib.Path(folder) / "speed.c"
    source.write_text(C_PROGRAM, encoding="utf-8")
    program = source.with_suffix("")
    subprocess.run([compiler, "-O2", "-std=gnu99", "-I", ROOT / "adapters" / "c", source, "-o", program], check=True)
    found = {}
    for line in subprocess.run([program], env=env, check=True, capture_output=True, text=True).stdout.splitlines():
        name, value = line.split()
        found.setdefault(name, []).append(float(value))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(in_python()))
        return 0
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        env = dict(os.environ, SLUICE_MARKS=f"{folder}/marks", PYTHONPATH=str(ROOT / "adapters" / "python"))
        child = subprocess.run([sys.executable, "-B", __file__, "--child"], env=env, check=True, capture_output=True, text=True)
        found = {**in_c(args.cc, folder, env), **json.loads(child.stdout)}
    result = {name: {"best_ns": round(min(values), 1), "median_ns": round(statistics.median(values), 1),
                     "target_ns": TARGETS_NS[name]} for name, values in found.items()}
    step = result["python_step"]["best_ns"] + 4 * result["python_phase"]["best_ns"]
    result["share_of_10_ms_step"] = {"percent": round(step / 1e7 * 100, 4), "target_percent": 0.1,
                                     "of": "one Python step with four phases"}
    met = all(result[name]["best_ns"] < target for name, target in TARGETS_NS.items()) and step < 1e4
    result |= {"met": met, "git": git()}
    print(json.dumps(result, indent=2))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
