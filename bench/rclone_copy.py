#!/usr/bin/env python3
# bench/rclone_copy.py - our S3 client beside `rclone copy`, from the same `rclone serve s3` on loopback to memory:
#   bench/rclone_copy.py build/release/bench/s3_copy [--streams 4] [--rounds 5] [--mib 512] [--out FILE]
# SPDX-License-Identifier: Apache-2.0
import argparse
import hashlib
import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measured_by import git

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "storage"))
import servers  # noqa: E402


def timed(command, variables):
    """Wall and processor seconds of a process with its start."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, env={**os.environ, **variables}, timeout=300, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# Two-sided 95 % of Student's t by degrees of freedom; beyond the last one its value serves, a little too wide.
STUDENT_95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131]


def interval_95(ratios):
    """Of the geometric mean of ratios of pairs."""
    logs = [math.log(ratio) for ratio in ratios]
    wide = STUDENT_95[min(len(logs) - 1, len(STUDENT_95)) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return [math.exp(statistics.fmean(logs) - wide), math.exp(statistics.fmean(logs) + wide)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds: at least 2, or there is no interval")
    programs = servers.programs()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        source = Path(folder) / "root" / "bucket" / "set" / "large.bin"
        source.parent.mkdir(parents=True)
        block = random.Random(0).randbytes(1 << 20)
        with open(source, "wb") as file:
            for i in range(arguments.mib):
                file.write(i.to_bytes(8, "little") + block[8:])
        wanted = digest(source)
        with servers.Rclone(Path(folder) / "root") as server:
            variables = {**server.variables(), "SLUICE_MODULE_DIR": str(Path(arguments.program).resolve().parents[1])}
            remote = (f":s3,provider=Other,access_key_id={servers.KEY},secret_access_key={servers.SECRET},"
                      f"endpoint='{server.url}':bucket/set/large.bin")
            streams = str(arguments.streams)
            ours, theirs = Path(folder) / "ours.bin", Path(folder) / "theirs"
            commands = {
                "sluice": [arguments.program, "s3://bucket/set", "large.bin", ours, streams, server.url],
                "rclone": [programs / "rclone", "copy", "--config", "/dev/null", "--multi-thread-streams", streams,
                           "--multi-thread-cutoff", "8M", "--multi-thread-chunk-size", "8M", "--ignore-checksum", remote, theirs]}
            times = {name: [] for name in commands}
            for number in range(arguments.rounds + 1):  # the first warms up
                for name in sorted(commands, reverse=number % 2 == 0):
                    ours.unlink(missing_ok=True)
                    (theirs / "large.bin").unlink(missing_ok=True)
                    sample = timed(commands[name], variables)
                    if digest(ours if name == "sluice" else theirs / "large.bin") != wanted:
                        sys.exit(f"{name}: the copy differs")
                    if number > 0:
                        times[name].append(sample)
    gb = arguments.mib * (1 << 20) / 1e9
    result = {"what": "one object from `rclone serve s3` on loopback to /dev/shm, interleaved; time includes "
                      "the start of the program", "git": git(), "streams": arguments.streams, "mib": arguments.mib,
              "cores": len(os.sched_getaffinity(0)), "load": [round(load, 2) for load in os.getloadavg()], "rclone_version": "1.75.2"}
    for name, samples in times.items():
        result[name] = {"wall_s": [wall for wall, _ in samples],
                        "mb_per_s": 1000 * gb / statistics.median(wall for wall, _ in samples),
                        "cpu_s_per_gb": statistics.median(cpu for _, cpu in samples) / gb}
    ratios = [theirs[0] / ours[0] for ours, theirs in zip(times["sluice"], times["rclone"])]
    result["ratio"] = {"geomean": statistics.geometric_mean(ratios), "interval_95": interval_95(ratios),
                       "median": statistics.median(ratios), "each": ratios}
    text = json.dumps(result, indent=2) + "\n"
    print(text, end="")
    if arguments.out:
        Path(arguments.out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
