#!/usr/bin/env python3
# bench/ranks_beside_threads.py - two ranks of one thread beside one rank of two, of the same total batch, in pairs.
# SPDX-License-Identifier: Apache-2.0
"""usage: ranks_beside_threads.py [--pairs N] [--warmup N] [--steps N] [--out FILE]      FILE: JSON; without it on stdout

Needs ./sluice (or SLUICE) with MPI. Every pair runs `bench training --model vit5-tiny --gpu cpu --mode synthetic` as one rank (--batch-size 16
--threads 2) and as two (--batch-size 8 --world-size 2 --threads 1), one after the other; which comes first alternates, as the first does.
`ratio` is samples/s of two ranks over those of two threads: the geometric mean of the pairs, and a 95 % t interval of their logarithms. At least 0.95
is wanted, and at most 5 % of a step in which gradients are added up and nothing else is done (`exposed_share`, the median of the pairs).
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(os.environ.get("SLUICE", ROOT / "sluice")).resolve()
COMMON = ["bench", "training", "--model", "vit5-tiny", "--gpu", "cpu", "--mode", "synthetic"]
FORMS = {"threads": ["--batch-size", "16", "--threads", "2"], "ranks": ["--batch-size", "8", "--world-size", "2", "--threads", "1"]}
LEAST_RATIO, MOST_EXPOSED = 0.95, 0.05


def t_quantile(p, df):
    """Of Student's t, p above 1/2: where the integral of its density (Simpson's rule) is p, by bisection."""
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)

    def below(x, parts=2000):
        # With y = sqrt(df) tan(a) the range is finite, and the density a power of a cosine.
        end = math.atan(x / math.sqrt(df))
        width = end / parts
        weights = (1 if i in (0, parts) else 4 if i % 2 else 2 for i in range(parts + 1))
        return 0.5 + scale * math.sqrt(df) * width / 3 * sum(w * math.cos(i * width) ** (df - 1) for i, w in enumerate(weights))

    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < p else (low, middle)
    return low


def interval(ratios):
    """Geometric mean with its 95 % t interval over pairs; without ends where one pair is all there is."""
    logs = [math.log(one) for one in ratios]
    centre = statistics.mean(logs)
    found = {"point": math.exp(centre), "low": None, "high": None}
    if len(logs) > 1:
        half = t_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
        found.update(low=math.exp(centre - half), high=math.exp(centre + half))
    return found


def measured(form, arguments, folder):
    command = [PROGRAM, *COMMON, *FORMS[form], "--warmup-steps", str(arguments.warmup), "--measure-steps", str(arguments.steps), "--json", "--quiet", "--out", folder]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    document = json.loads(done.stdout) if done.stdout else {"rows": []}
    size = "2" if form == "ranks" else "1"
    rows = [row for row in document["rows"] if row["params"].get("world_size", "1") == size]
    if done.returncode != 0 or len(rows) != 1 or rows[0]["status"] != "ok":
        why = rows[0]["reason"] if rows else f"{len(document['rows'])} rows"
        sys.exit(f"ranks_beside_threads.py: {form}: exit code {done.returncode}, {why}; a measured row is wanted")
    found = {"samples_per_s": rows[0]["median"]}
    if form == "ranks":
        scaling = document["summary"]["scaling"]
        found.update(exposed_share=scaling["grad_sync_exposed_share"], exposed_ms=scaling["grad_sync_exposed_ms"], library=scaling["library"])
    return found, document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if arguments.pairs < 1:
        parser.error(f"--pairs {arguments.pairs}: at least 1 is accepted")
    pairs = []
    for i in range(arguments.pairs):
        pair = {}
        for form in list(FORMS) if i % 2 == 0 else list(FORMS)[::-1]:
            with tempfile.TemporaryDirectory() as folder:
                pair[form], document = measured(form, arguments, f"{folder}/run")
        pairs.append(pair)
        print(f"pair {i + 1} of {arguments.pairs}: {pair['ranks']['samples_per_s'] / pair['threads']['samples_per_s']:.3f}", file=sys.stderr)
    ratio = interval([pair["ranks"]["samples_per_s"] / pair["threads"]["samples_per_s"] for pair in pairs])
    exposed = statistics.median(pair["ranks"]["exposed_share"] for pair in pairs)
    result = {"schema": "sluice-ranks-beside-threads-1", "program": document["tool"], "commands": {form: " ".join([*COMMON, *flags]) for form, flags in FORMS.items()},
              "warmup_steps": arguments.warmup, "measure_steps": arguments.steps, "n_pairs": len(pairs), "pairs": pairs,
              "ratio": {**ratio, "least_wanted": LEAST_RATIO, "method": "t on log ratios of pairs, 95 %"},
              "exposed_share": {"median": exposed, "most_wanted": MOST_EXPOSED}, "met": ratio["point"] >= LEAST_RATIO and exposed <= MOST_EXPOSED}
    text = json.dumps(result, indent=2) + "\n"
    if arguments.out:
        Path(arguments.out).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
