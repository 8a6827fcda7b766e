#!/usr/bin/env python3
# tools/compile_alone.py - checks that each source or header named on standard input compiles by itself.
# SPDX-License-Identifier: Apache-2.0
"""usage: ... | tools/compile_alone.py COMPILE_COMMANDS [--jobs N]
Sources take the command that the build has for them, without its precompiled header; headers that of a source of their room.
Files that the build does not compile (modules that were left out, fuzz targets) are named and passed over."""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def without_output(command):
    """The compiler and its flags alone: no launcher, no precompiled header, nothing written."""
    words = shlex.split(command)
    while words and not re.search(r"(\+\+|g\+\+|clang|cc)[-0-9]*$", words[0]):
        words.pop(0)
    kept, skip = [], 0
    for word in words:
        if skip:
            skip -= 1
        elif word in ("-o", "-c", "-include"):
            skip = 1
        elif word != "-Winvalid-pch":
            kept.append(word)
    return kept + ["-fsyntax-only"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    flags, of_room = {}, {}
    for entry in json.loads(arguments.commands.read_text()):
        file = Path(entry["file"])
        if file.suffix != ".cpp" or not file.is_relative_to(ROOT):
            continue
        name = file.relative_to(ROOT).as_posix()
        flags[name] = without_output(entry["command"])
        of_room.setdefault("/".join(name.split("/")[:3]), flags[name])
    passed_over, work = [], []
    for line in sorted(set(sys.stdin.read().split("\n")) - {""}):
        known = flags.get(line) if line.endswith(".cpp") else of_room.get("/".join(line.split("/")[:3]))
        if known is None:
            passed_over.append(line)
        else:
            # A header is no main file: it would be told that its #pragma once means nothing there.
            alone = ["-include", line, "-x", "c++", os.devnull] if line.endswith(".h") else [line]
            work.append((line, known + alone))

    def compile_one(one):
        return one[0], subprocess.run(one[1], cwd=ROOT, capture_output=True, text=True)

    bad = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for name, done in pool.map(compile_one, work):
            if done.returncode != 0:
                bad += 1
                print(f"{name} does not compile by itself:\n{done.stderr}", file=sys.stderr)
    words = f"{len(work) - bad} of {len(work)} files compile by themselves"
    if passed_over:
        words += f"; not part of this build: {', '.join(passed_over)}"
    print(words)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
