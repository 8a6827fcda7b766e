#!/usr/bin/env python3
# bench/eval_spread.py - how far do the figures of the built-in model of `sluice eval` scatter from training to training?
# SPDX-License-Identifier: Apache-2.0
"""Trains it from several seeds, and from the default one under other instruction sets of the matrix library.

usage: eval_spread.py SLUICE [--seeds 1,2,3,4,5,6,7,8] [--isa SSE41,AVX2,AVX512_CORE] --out FILE
With `--isa ""` the seeds alone: those that the recipe was not chosen by, say.
FILE holds the figures of every training, and of each set whether mean and three standard deviations over the seeds stay within
30 to 90 %. Exit 1 when those of a set do not.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from measured_by import git

LOW, HIGH = 30, 90  # percent: neither hopeless nor perfect
ENGINE = "engine_answers_40"  # known answers: no matter of training
DEFAULT_SEED = 42


def trained(sluice, seed, isa=None):
    """The figures of one training."""
    env = {**os.environ, **({"ONEDNN_MAX_CPU_ISA": isa} if isa else {})}
    start = os.times()
    told = json.loads(subprocess.run([sluice, "eval", "--json", "--quiet", "--seed", str(seed)], check=True, capture_output=True,
                                     text=True, env=env).stdout)
    end = os.times()
    return {"seed": seed, "isa": isa or "default", "ppl_fixed_shard": told["ppl_fixed_shard"],
            "percent": {name: round(100 * share, 2) for name, share in told["task_probe_accuracy"].items()},
            "weights_sha256": told["model"]["weights_sha256"], "training_steps": told["model"]["training_steps"],
            "cpu_s": round(end.children_user + end.children_system - start.children_user - start.children_system, 2)}


def summary(values):
    mean, sd = statistics.mean(values), statistics.stdev(values)
    return {"mean": round(mean, 2), "sd": round(sd, 2), "least": min(values), "most": max(values)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sluice", type=pathlib.Path)
    parser.add_argument("--seeds", default="1,2,3,4,5,6,7,8")
    parser.add_argument("--isa", default="SSE41,AVX2,AVX512_CORE")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    sluice = args.sluice.resolve()
    runs = []
    asked = [(int(seed), None) for seed in args.seeds.split(",")]
    if args.isa:
        asked += [(DEFAULT_SEED, None), *((DEFAULT_SEED, isa) for isa in args.isa.split(","))]
    for seed, isa in asked:
        runs.append(trained(sluice, seed, isa))
        print(runs[-1], flush=True)
    seeds = [run for run in runs if run["isa"] == "default"]
    sets = [name for name in seeds[0]["percent"] if name != ENGINE]
    over_seeds = {name: summary([run["percent"][name] for run in seeds]) for name in sets}
    outside = [name for name, one in over_seeds.items()
               if one["mean"] - 3 * one["sd"] < LOW or one["mean"] + 3 * one["sd"] > HIGH]
    profile = json.loads(subprocess.run([sluice, "env", "--json"], check=True, capture_output=True, text=True).stdout).get("machine_profile")
    document = {"what": "the built-in model of sluice eval, trained again and again", "git": git(sluice), "machine_profile": profile,
                "date": time.strftime("%Y-%m-%d", time.gmtime()), "limits_percent": [LOW, HIGH],
                "ppl_fixed_shard": summary([run["ppl_fixed_shard"] for run in seeds]), "percent": over_seeds,
                "cpu_s": summary([run["cpu_s"] for run in seeds]), "outside": outside, "trainings": runs}
    args.out.write_text(json.dumps(document, indent=1) + "\n")
    for name, one in over_seeds.items():
        print(f"{name}: {one['mean']:.1f} +- {one['sd']:.1f} % ({one['least']:.0f} to {one['most']:.0f})")
    sys.exit(1 if outside else 0)


if __name__ == "__main__":
    main()
