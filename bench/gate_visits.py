#!/usr/bin/env python3
# bench/gate_visits.py - what does `sluice gate --quick` say of the same program, and of a slower one?
# SPDX-License-Identifier: Apache-2.0
"""Promotes one visit, then visits by turns with the same program and with one that an injected delay makes slower.

usage: gate_visits.py SLUICE [--visits 20] [--slowdown 10%] --out FILE
After every visit FILE holds all of them: verdict, exit code, seconds, the pairs' change and the machine's load.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

from measured_by import git


def visit(sluice, folder, name, slowdown):
    """One `gate --quick` in `folder`; `slowdown` is a share such as 10%, or None."""
    environment = {key: value for key, value in os.environ.items() if key != "SLUICE_INJECT_SLOWDOWN"}
    if slowdown:
        environment["SLUICE_INJECT_SLOWDOWN"] = slowdown
    began = time.monotonic()
    done = subprocess.run([sluice, "gate", "--quick", "--quiet", "--out", name], cwd=folder, env=environment,
                          capture_output=True, text=True)
    row = {"slowdown": slowdown, "exit": done.returncode, "seconds": round(time.monotonic() - began, 1),
           "load_average": os.getloadavg()[0], "error": None}
    verdict = folder / name / "verdict.json"
    if not verdict.exists():
        row["error"] = done.stderr.strip()
        return row
    document = json.loads(verdict.read_text())
    lines = {line["metric"]: line for line in document["lines"]}
    pairs = lines.get("step_time_pairs_s")
    row.update(status=document["status"], summary=document["summary"],
               not_passed={name: [line["status"], line["delta"], line["reason"]] for name, line in lines.items()
                           if line["status"] not in ("PASS", "SKIP")},
               stored_speed_change_pct=lines["step_time_p50_s"]["delta"] if "step_time_p50_s" in lines else None,
               pairs_change_pct=pairs and pairs["delta"], pairs_details=pairs and pairs["details"])
    return row


def promoted(sluice, folder, tries=5):
    """Visits until one may be the baseline; a visit that the machine disturbed is refused, with the reason."""
    refused = []
    for number in range(tries):
        name = f"first{number}"
        row = visit(sluice, folder, name, None)
        done = subprocess.run([sluice, "baseline", "promote", name, "--maintainer", "--reason", "first"], cwd=folder,
                              capture_output=True, text=True)
        if done.returncode == 0:
            (folder / name).rename(folder / "baseline")
            return row, refused
        refused.append((row["error"] or done.stderr).strip())
        print("refused:", refused[-1], flush=True)
    raise SystemExit(f"gate_visits.py: none of {tries} visits could be promoted")


def tally(rows):
    count = {}
    for row in rows:
        word = row.get("status") or f"exit {row['exit']}"
        count[word] = count.get(word, 0) + 1
    return {"verdicts": count, "visits": len(rows), "longest_s": max((row["seconds"] for row in rows), default=None)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sluice", type=pathlib.Path)
    parser.add_argument("--visits", type=int, default=20)
    parser.add_argument("--slowdown", default="10%")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    sluice = args.sluice.resolve()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        first, refused = promoted(sluice, folder)
        metrics = json.loads((folder / "baseline" / "metrics.json").read_text())
        for number in range(2 * args.visits):
            rows.append(visit(sluice, folder, f"visit{number}", args.slowdown if number % 2 else None))
            print(number, {key: rows[-1].get(key) for key in ("slowdown", "status", "seconds", "pairs_change_pct",
                                                              "load_average", "error")}, flush=True)
            document = {"what": "sluice gate --quick, one promoted baseline, the same program and a slower one by turns", "git": git(sluice),
                        "machine_profile": metrics["machine_profile"], "visits_asked_each": args.visits,
                        "promoted": first, "refused_baselines": refused,
                        "same": tally([row for row in rows if not row["slowdown"]]),
                        "slower": tally([row for row in rows if row["slowdown"]]), "visits": rows}
            args.out.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
