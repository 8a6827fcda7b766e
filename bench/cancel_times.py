#!/usr/bin/env python3
# bench/cancel_times.py - how soon every command ends after Ctrl-C and SIGTERM, in every phase: docs/results/cancel.json.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench/cancel_times.py PROGRAM FAULT_SERVER OUT [--times N] [--only PHASE:COMMAND]

Each case of tests/cli/cancelling.py N times by each signal; one that does not end with 130 ends this too. OUT gets every time in ms;
`tools/readme_table.py docs/threat-model.md` makes the table."""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cli"))
import cancelling  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("server")
    parser.add_argument("out", type=Path)
    parser.add_argument("--times", type=int, default=25)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    version = subprocess.run([options.program, "--version"], check=True, capture_output=True, text=True).stdout.split("\n")[0]
    world = cancelling.World(options.program, options.server)
    rows, load = [], [os.getloadavg()[0]]
    head = {"what": "milliseconds from the signal to the end of the program, exit code 130 each time", "program": version,
            "cores": len(os.sched_getaffinity(0))}
    try:
        for case in world.cases():
            if not f"{case.phase}:{case.command}".startswith(options.only):
                continue
            row = {"phase": case.phase, "command": case.command}
            for number in cancelling.SIGNALS:
                row[f"{number.name}_ms"] = [round(1000 * world.cancelled(case, number), 1) for _ in range(options.times)]
            rows.append(row)
            load.append(os.getloadavg()[0])
            loads = {"load_of_the_machine": {"least": min(load), "most": max(load)}}
            lines = ",\n  ".join(json.dumps(one) for one in rows)
            options.out.write_text(json.dumps(head | loads)[:-1] + f',\n "cancel_times": [\n  {lines}\n]}}\n')
            print(f"{max(row['SIGINT_ms'] + row['SIGTERM_ms']):7.0f} ms at most  {case.phase}: {case.command}", flush=True)
    finally:
        world.close()


if __name__ == "__main__":
    main()
