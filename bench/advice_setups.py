# bench/advice_setups.py - ten set-ups: what `sluice diagnose` advises first, what it promises, what it brings.
# SPDX-License-Identifier: Apache-2.0
"""usage: advice_setups.py PROGRAM FAULT_SERVER OUT.json [NAME...]

Each set-up is diagnosed with --verify, so that the advice is tried in pairs. OUT.json holds a line for each; the table goes to stdout.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CORES = len(os.sched_getaffinity(0))


def images(count, width, height):
    return ["data", "make", "--kind", "rgb", "--count", count, "--width", width, "--height", height]


# name: data, flags of diagnose. A model time of 0.5 ms waits for any loader; 400 ms never waits.
SETUPS = {
    "decode-bound": (images(256, 500, 375), ["--model-time-ms", 0.5, "--batch-size", 32]),
    "huge images": (images(24, 3000, 2250), ["--model-time-ms", 0.5, "--batch-size", 8]),
    "tiny files": (images(2048, 64, 48), ["--model-time-ms", 0.5, "--batch-size", 64]),
    "too few workers": (images(256, 500, 375), ["--model-time-ms", 0.5, "--batch-size", 32, "--num-workers", 1]),
    "too many workers": (images(256, 500, 375), ["--model-time-ms", 0.5, "--batch-size", 32, "--num-workers", 16]),
    "augment-bound": (images(256, 300, 300), ["--model-time-ms", 0.5, "--batch-size", 32, "--recipe", "three-augment"]),
    "small model on the same cores": (images(128, 640, 480), ["--model", "vit5-tiny", "--layers", 1, "--image-size", 96, "--batch-size", 8]),
    "large model": (images(128, 500, 375), ["--model-time-ms", 400, "--batch-size", 32]),
    "cold reads": (images(256, 640, 480), ["--model-time-ms", 0.5, "--batch-size", 32, "--read-mode", "direct"]),
    "S3 with 20 ms a request": (images(64, 320, 240), ["--model-time-ms", 0.5, "--batch-size", 16]),
}


def run(program, *words, env=None):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=600, check=False, env=env)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def measured(program, server, name, folder):
    data, flags = SETUPS[name]
    photos = folder / "photos"
    run(program, *data, "--out", photos, "--quiet")
    command = ["diagnose", "--verify", "--json", "--quiet", "--seed", 1, "--out", folder / "run", *flags]
    if not name.startswith("S3"):
        return json.loads(run(program, *command, "--input", photos))
    slow = ["--fault", "slow_first_byte", "1", "--slow-s", "0.02", "--anonymous", "--bucket", "photographs"]
    with subprocess.Popen([server, *slow, "--folder", photos, "photos/"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as running:
        port = int(running.stdout.readline())
        document = json.loads(run(program, *command, "--input", "s3://photographs/photos", "--endpoint", f"http://127.0.0.1:{port}",
                                  "--anonymous"))
        running.communicate()
        return document


def line_of(name, document):
    summary = document["summary"]
    line = {"setup": name, "verdict": document["verdict"]["bottleneck"], "advice": None}
    if "advice_taken" in summary:
        taken = summary["advice_taken"]
        line |= {"advice": taken["what"], "promised": taken["promised"], "measured": taken["gain"], "pairs": taken["pairs"],
                 "kept": taken["gain"]["high"] >= taken["promised"]["low"], "faster": taken["gain"]["low"] > 1}
    return line


def main():
    program, server, out, *names = sys.argv[1:]
    lines = []
    print("| set-up | verdict | first advice | promised | measured | kept |\n|---|---|---|--:|--:|---|")
    for name in names or SETUPS:
        with tempfile.TemporaryDirectory() as folder:
            document = measured(program, server, name, pathlib.Path(folder))
        line = line_of(name, document)
        lines.append(line)
        if line["advice"] is None:
            print(f"| {name} | {line['verdict']} | none | | | |", flush=True)
            continue
        promised, found = line["promised"], line["measured"]
        print(f"| {name} | {line['verdict']} | {line['advice']} | {promised['low']:.2f} to {promised['high']:.2f} × "
              f"| {found['point']:.2f} × ({found['low']:.2f} to {found['high']:.2f}) | {'yes' if line['kept'] else 'no'} |", flush=True)
    report = {"program": run(program, "--version").strip(), "cores": CORES, "load_average": os.getloadavg()[0],
              "machine_profile": document["machine_profile"], "setups": lines}
    pathlib.Path(out).write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
