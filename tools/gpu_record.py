#!/usr/bin/env python3
# tools/gpu_record.py - which GPU tests passed, on which device, at which commit: written by gpu_check, published, and compared with the sources.
# SPDX-License-Identifier: Apache-2.0
"""usage: gpu_record.py sources                      digest of all that is compiled for GPUs, as it lies here
       gpu_record.py write LINES FACTS FILE       a record of the lines of `gpu_check run` and of its facts, which a run that was cut off has left, too
       gpu_record.py publish FILE                 puts a record where it is published, and the folder into its table; then tools/provenance.py. Where one
                                                  of its commit is published, as of plain tests before those under sanitizers, the two become one
       gpu_record.py newest [FOLDER]              the newest record that is published (docs/results/gpu-tests), whether it is signed off (every test passed),
                                                  and whether the sources are still those"""
import datetime
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "docs/results/gpu-tests"
SOURCES = ("src/sluice/train/cuda", "src/sluice/train/cuda_module", "src/sluice/loader/gpu_module")
SCHEMA = "sluice-gpu-tests/1"
ROW = "| [gpu-tests](gpu-tests) | `tools/gpu_check pack`, on one NVIDIA GPU `build/gpu/gpu_check run` | which tests of label `gpu` passed there, by commit (`tools/gpu_record.py newest`) |"
VERDICTS = ("ok", "FAILED", "SKIPPED", "TIMEOUT")


def sources_digest(root=ROOT):
    listed = subprocess.run(["git", "ls-files", "-z", *SOURCES], cwd=root, capture_output=True, text=True, check=True).stdout
    digest = hashlib.sha256()
    for name in sorted(filter(None, listed.split("\0"))):
        path = root / name
        if path.suffix != ".md" and path.exists():
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def record_of(lines, facts):
    """`lines`: verdict, test, sanitizer or -, seconds, words; by tabs. `facts`: commit, sources, device; a line each."""
    tests = []
    for line in lines:
        verdict, test, tool, seconds, words = line.rstrip("\n").split("\t", 4)
        if verdict not in VERDICTS:
            raise ValueError(f"verdict '{verdict}'; accepted: {', '.join(VERDICTS)}")
        tests.append({"test": test, "sanitizer": None if tool == "-" else tool, "verdict": verdict, "seconds": int(seconds), "said": words})
    commit, sources, device = [line.rstrip("\n") for line in facts]
    return counted({"schema": SCHEMA, "commit": commit, "sources": sources, "device": device, "tests": tests})


def counted(record):
    """The record with its tests in order, how many passed, and whether that signs it off."""
    tests = sorted(record["tests"], key=lambda t: (t["sanitizer"] or "", t["test"]))
    return {**record, "tests": tests, "ok": sum(t["verdict"] == "ok" for t in tests), "of": len(tests), "signed": signed(tests)}


def signed(tests):
    bad = sum(test["verdict"] != "ok" for test in tests)
    return f"no: {bad} of {len(tests)} did not pass" if bad else "all passed" if tests else "no: nothing ran"


def merged(there, fresh):
    """One record of two of a commit: of the same test under the same tool the newer, by date, else `fresh`. What the other device ran names it."""
    if there["sources"] != fresh["sources"]:
        raise ValueError(f"sources '{fresh['sources']}' of commit {fresh['commit']}; accepted: those of its published record, {there['sources']}")
    older, newer = (fresh, there) if there.get("date", "") > fresh.get("date", "") else (there, fresh)
    strange = {"device": older["device"]} if older["device"] != newer["device"] else {}
    tests = {(test["test"], test["sanitizer"]): test for test in [{**strange, **test} for test in older["tests"]] + newer["tests"]}
    return {**older, **newer, "tests": list(tests.values())}


def is_in_history(commit, root):
    return subprocess.run(["git", "merge-base", "--is-ancestor", commit, "HEAD"], cwd=root, capture_output=True, check=False).returncode == 0


def publish(file, root=ROOT):
    """The path it was written to. A record of sources that no commit of the history has is refused."""
    record = json.loads(Path(file).read_text())
    if not re.fullmatch("[0-9a-f]{7,40}", record["commit"]):
        raise ValueError(f"{file}: commit '{record['commit']}'; accepted: that of a clean checkout")
    if not is_in_history(record["commit"], root):
        raise ValueError(f"{file}: commit '{record['commit']}'; accepted: one in the history of HEAD")
    path = root / PUBLISHED.relative_to(ROOT) / f"{record['commit']}.json"
    path.parent.mkdir(exist_ok=True)
    record = counted(merged(json.loads(path.read_text()), record) if path.exists() else record)
    path.write_text(json.dumps(record, indent=1) + "\n")
    page = path.parents[1] / "README.md"
    lines = page.read_text().split("\n")
    if ROW not in lines:
        lines.insert(lines.index("", lines.index("|---|---|---|")), ROW)  # the end of the first table
        page.write_text("\n".join(lines))
    return path


def newest(folder=PUBLISHED, root=ROOT):
    """(record, path) of the commit that is nearest in history; None: there is none."""
    best = None
    for path in sorted(Path(folder).glob("*.json")):
        record = json.loads(path.read_text())
        count = subprocess.run(["git", "rev-list", "--count", f"{record['commit']}..HEAD"], cwd=root, capture_output=True, text=True, check=False)
        if count.returncode == 0 and (best is None or int(count.stdout) < best[0]):
            best = (int(count.stdout), record, path)
    return best and best[1:]


def words_of(record, sources):
    """One line about a record."""
    by = {}
    for test in record["tests"]:
        of = by.setdefault(test["sanitizer"] or "tests", [0, 0])
        of[0] += test["verdict"] == "ok"
        of[1] += 1
    counts = ", ".join(f"{name} {good} of {count} ok" for name, (good, count) in by.items())
    stale = "" if record["sources"] == sources else "; the CUDA sources have changed since: run build/gpu/gpu_check on a GPU and publish its record"
    return f"GPU tests at {record['commit']} on {record['device']}: {counts}; signed off: {signed(record['tests'])}{stale}"


def main(words):
    if words == ["sources"]:
        print(sources_digest())
    elif len(words) == 4 and words[0] == "write":
        with open(words[1]) as lines, open(words[2]) as facts:
            record = record_of(lines, facts)
        record["date"] = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        Path(words[3]).write_text(json.dumps(record, indent=1) + "\n")
    elif len(words) == 2 and words[0] == "publish":
        try:
            print(publish(words[1]).relative_to(ROOT))
        except ValueError as error:
            print(f"gpu_record.py: {error}", file=sys.stderr)
            return 2
    elif words and words[0] == "newest" and len(words) <= 2:
        found = newest(*words[1:])
        print(words_of(found[0], sources_digest()) if found else "no record of GPU tests is published")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
