#!/usr/bin/env python3
# tools/provenance.py - the table of docs/results/README.md that says of every published folder and file where it comes from.
# SPDX-License-Identifier: Apache-2.0
"""usage: provenance.py [--check]    fills the table between `<!-- provenance -->` and `<!-- /provenance -->`; --check changes nothing, exit 1 when it is stale

Read from the files: commits of the programs that measured, days, noise score and the number of runs of a row. What a file does not hold is not said.
"""
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/results"
PAGE = RESULTS / "README.md"
PLACE = re.compile(r"(<!-- provenance -->\n)(.*?)(<!-- /provenance -->)", re.DOTALL)
# Each goes when its table is measured anew; tests/house/results_test.py asks git.
NOT_IN_HISTORY = {
    "6051632f628e",  # measured before a commit of the history was asked for
    # Steps whose tree is 2e989c5 and whose own history was lost.
    "7693726", "c3ea93b6a85f",
}
COMMIT = re.compile(r"[0-9a-f]{7,40}(?:-dirty)?")
SAID = re.compile(rf"sluice [\d.]+ \(({COMMIT.pattern})\)")
IN_TEXT = re.compile(rf"\bcommit ({COMMIT.pattern})\b")


def commits(document, depth=3):
    """Of a result: values of "git" and "commit" in its upper levels, alone or in a list, and those in what a program says of itself."""
    if isinstance(document, list):
        for value in document if depth > 0 else []:
            yield from commits(value, depth - 1)
    if not isinstance(document, dict):
        return
    for key, value in document.items():
        if key in ("git", "commit"):
            yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))
        elif key in ("program", "sluice") and isinstance(value, str):
            yield from SAID.findall(value)
        elif depth > 0:
            yield from commits(value, depth - 1)


class Origin:
    """What one file says of where it comes from."""

    def __init__(self, path):
        self.path = path
        text = path.read_text(encoding="utf-8", errors="replace")
        document = json.loads(text) if path.suffix == ".json" else {}
        self.commits = set(commits(document) if path.suffix == ".json" else IN_TEXT.findall(text) if path.suffix == ".txt" else ())
        environment = document.get("environment") or {}
        day = environment.get("timestamp") or document.get("timestamp") or document.get("date")
        self.day = day[:10] if isinstance(day, str) else None
        noise = environment.get("noise")
        self.noise = noise.get("score") if isinstance(noise, dict) else None
        rows = document.get("rows")
        self.runs = {len(row["runs"]) for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict) and row.get("runs")}


def files_of(entry):
    return [entry] if entry.is_file() else sorted(path for path in entry.rglob("*") if path.is_file())


def entries(results=None):
    results = results or RESULTS
    return [entry for entry in sorted(results.iterdir()) if entry.name != "README.md"]


def commit_cell(origins):
    words = []
    for commit in sorted({commit for origin in origins for commit in origin.commits}):
        sha, _, dirty = commit.partition("-")
        flaws = ["commit not in history"] * (sha in NOT_IN_HISTORY) + ["built from changed sources"] * bool(dirty)
        words.append(sha + (f" ({', '.join(flaws)})" if flaws else ""))
    silent = [origin.path.name for origin in origins if not origin.commits and origin.path.suffix in (".json", ".txt")]
    if silent:
        words.append("none in " + (f"{len(silent)} files" if len(silent) > 2 else " and ".join(silent)) if len(origins) > 1 else "none in the file")
    return ", ".join(words) or "none"


def noise_cell(origins):
    """The least and most of the scores; files that were measured at 0 apart, and named where they are few."""
    zero = [origin.path.name for origin in origins if origin.noise == 0]
    others = [origin.noise for origin in origins if origin.noise]
    words = []
    if zero:
        words.append("**0**" if len(zero) == sum(origin.noise is not None for origin in origins) else f"**0** ({', '.join(zero)})" if len(zero) < 3 else f"**0** ({len(zero)} files)")
    return ", ".join(words + ([span(others)] if others else []))


def span(values):
    least, most = min(values), max(values)
    return str(least) if least == most else f"{least} to {most}"


def table(results=None):
    lines = ["| published | commit of the program | measured | noise score | runs of a row |", "|---|---|---|---|---|"]
    for entry in entries(results):
        origins = [Origin(path) for path in files_of(entry)]
        days = [origin.day for origin in origins if origin.day]
        runs = [count for origin in origins for count in origin.runs]
        lines.append(f"| {entry.name} | {commit_cell(origins)} | {span(days) if days else ''} | {noise_cell(origins)} | {span(runs) if runs else ''} |")
    return "\n".join(lines) + "\n"


def main(words):
    if set(words) - {"--check"}:
        print(__doc__, file=sys.stderr)
        return 2
    text = PAGE.read_text(encoding="utf-8")
    fresh = PLACE.sub(lambda place: place[1] + table() + place[3], text)
    if fresh == text:
        return 0
    if words:
        print("docs/results/README.md: the table of provenance is stale, run tools/provenance.py", file=sys.stderr)
        return 1
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
