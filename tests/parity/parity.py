#!/usr/bin/env python3
# tests/parity/parity.py - every transform beside AlbumentationsX, given the same draws: a table, and docs/parity.md.
# SPDX-License-Identifier: Apache-2.0
"""usage: parity.py PROGRAM [--quick] [--partial] [--write | --store] [NAME...]

PROGRAM is parity_apply. --quick: small images and few draws. --partial: transforms that are missing are no violation.
--write: rewrite docs/parity.md. --store: write tests/aug/golden instead, and compare nothing. Exit 0 when every transform is within its class, 1 when not, 77 (skipped) without the
environment `albumentationsx`.
"""
import argparse
import importlib.util
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "adapters")]

import peer  # noqa: E402

peer.enter("albumentationsx")

import cv2  # noqa: E402
import numpy as np  # noqa: E402
from golden import Store  # noqa: E402
from lab import A, Apply, Case, Figures, Lab, Property  # noqa: E402

CLASSES = {
    "equal": "no sample differs",
    "pointwise": "at most 1 level",
    "nearest": "at most 1 % of the pixels differ",
    "smooth": "99.9th percentile at most 3 levels, mean at most 0.5",
    "property": "the draw cannot be matched: figures of ours lie in stated ranges",
}


def load_cases():
    cases = {}
    for path in sorted((HERE / "cases").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"cases_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for case in module.CASES:
            cases.setdefault(case.name, []).append(case)
    return cases


class Inputs:
    """Photographs of our own generator: RGB, nine channels of three of them, clips that move."""

    def __init__(self, apply, quick):
        width, height = (160, 120) if quick else (500, 375)
        self.photos = apply.photos(3 if quick else 6, width, height)
        self.draws = {"R": 2 if quick else 5, "9": 1 if quick else 2, "V": 1 if quick else 2}

    def of(self, kind, number):
        photos = [np.roll(self.photos[(number + k) % len(self.photos)], 11 * k, axis=1) for k in range(3)]
        if kind == "9":
            return np.concatenate(photos, axis=-1)
        return np.stack(photos) if kind == "V" else self.photos[number % len(self.photos)]


def seed_of(kind, number):
    return 1000 * "R9V".index(kind) + 7 * number + 1


def run_case(case, row, apply, inputs, figures):
    sets = (case.sets if case.sets is not None else "R" + row["sets"].replace("R", ""))
    labs = [Lab(case, row, apply, inputs.of(kind, number), seed_of(kind, number), inputs.photos)
            for kind in "R9V" if kind in sets for number in range(inputs.draws[kind])]
    for lab, answer in zip(labs, apply.run([lab.jobs() for lab in labs])):
        keep = lab.compared()
        for kind in ("output", "reference"):
            figures.add(answer[kind], lab.output, keep)
        figures.draws += 1


class Row:
    def __init__(self, row):
        self.name, self.kind = row["name"], row.get("parity", "-")
        self.figures, self.properties, self.notes, self.violations = Figures(), [], [], []

    def cells(self):
        f = self.figures
        measured = f.draws > 0
        number = lambda text: text if measured else "-"
        return [self.name, self.kind, str(f.draws) if measured else "-", number(f"{f.max:.4g}"),
                number(f"{f.p999:.4g}"), number(f"{f.mean:.4f}"), number(f"{100 * f.share:.3f} %"),
                number(f"{100 * f.compared:.1f} %"), "FAIL" if self.violations else "ok"]


HEAD = ["transform", "class", "draws", "max", "p99.9", "mean", "pixels differing", "compared", "verdict"]


def judge(row, cases, apply, inputs, partial):
    made = Row(row)
    if not row["present"]:
        if not partial:
            made.violations.append("missing: no such transform in our registry")
        return made if not partial else None
    if not cases and not partial:
        made.violations.append("no case in tests/parity/cases")
    try:
        for case in cases:
            made.notes += [case.note] if case.note else []
            if isinstance(case, Property):
                lab = Lab(case, row, apply, inputs.of("R", 0), seed_of("R", 0), inputs.photos)
                made.properties += [tuple(one) for one in case.check(lab)]
            else:
                run_case(case, row, apply, inputs, made.figures)
    except Exception as error:  # noqa: BLE001 - one broken case must not hide the others
        traceback.print_exc()
        made.violations.append(f"{type(error).__name__}: {error}".splitlines()[0])
    made.violations += made.figures.violations(made.kind)
    made.violations += [f"{what}: {value:.5g} not in {low:.5g} to {high:.5g}"
                        for what, value, low, high in made.properties if not low <= value <= high]
    if made.kind == "property" and not made.properties and cases:
        made.violations.append("class property without a property")
    return made if cases or not partial else None


def table(rows, markdown):
    lines = [HEAD] + [row.cells() for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    fill = lambda line: [cell.ljust(widths[i]) if i < 2 else cell.rjust(widths[i]) for i, cell in enumerate(line)]
    if not markdown:
        return ["  ".join(fill(line)).rstrip() for line in lines]
    rule = ["-" * w if i < 2 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return ["| " + " | ".join(line) + " |" for line in [fill(HEAD), rule] + [fill(line) for line in lines[1:]]]


def document(rows):
    good = sum(not row.violations for row in rows)
    lines = [
        "# Parity with AlbumentationsX", "",
        "<!-- Written by `make parity`; do not edit. -->", "",
        f"AlbumentationsX {A.__version__}, OpenCV {cv2.__version__}, NumPy {np.__version__}. {good} of {len(rows)} transforms "
        "are within their class. Command: `make parity` (`tests/parity/parity.py`).", "",
        "Inputs are synthetic photographs of 500 x 375 pixels, 3 channels, and 9 channels and clips where the transform is "
        "in those sets. The library runs with a seed; what it drew is fixed by ranges of one value, read from the object, "
        "or recovered by running it again on images of coordinates; our fast path and our reference get the same draw. "
        "Figures are levels of 255, the worst over all draws and of both; `compared` is the smallest share of pixels, "
        "where borders with other rules are left out.", "",
        "| class | rule |", "|---|---|", *[f"| {kind} | {rule} |" for kind, rule in CLASSES.items()], "",
        *table(rows, markdown=True), ""]
    notes = [f"- {row.name}: {'; '.join(dict.fromkeys(row.notes))}" for row in rows if row.notes]
    if notes:
        lines += ["## Notes", "", *notes, ""]
    if any(row.properties for row in rows):
        lines += ["## Properties", "", "| transform | figure | ours | from | to | verdict |", "|---|---|--:|--:|--:|---|"]
        lines += [f"| {row.name} | {what} | {value:.5g} | {low:.5g} | {high:.5g} | {'ok' if low <= value <= high else 'FAIL'} |"
                  for row in rows for what, value, low, high in row.properties] + [""]
    return "\n".join(lines)


def store(apply, listed, cases):
    made = Store(ROOT / "tests" / "aug" / "golden", apply)
    for row in listed:
        exact = [case for case in cases.get(row["name"], []) if isinstance(case, Case)]
        stored = row["present"] and row["parity"] != "property"
        for number, case in enumerate(exact if stored else []):
            made.add(case, row, number)
    made.finish()
    return 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    for flag in ("--quick", "--partial", "--write", "--store"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    cases, rows = load_cases(), []
    with tempfile.TemporaryDirectory(prefix="sluice-parity-") as folder:
        apply = Apply(options.program, folder)
        listed = apply.list()
        unknown = [name for name in [*cases, *options.names] if name not in [row["name"] for row in listed]]
        if unknown:
            sys.exit(f"parity: no transform {', '.join(unknown)}")
        if options.store:
            return store(apply, listed, cases)
        inputs = Inputs(apply, options.quick)
        for row in listed:
            if options.names and row["name"] not in options.names:
                continue
            made = judge(row, cases.get(row["name"], []), apply, inputs, options.partial)
            rows += [made] if made else []
    print("\n".join(table(rows, markdown=False)))
    for row in rows:
        for what, value, low, high in row.properties:
            print(f"{row.name}: {what} {value:.5g} in {low:.5g} to {high:.5g}")
    for row in rows:
        for violation in row.violations:
            print(f"VIOLATION {row.name}: {violation}")
    if options.write:
        (ROOT / "docs" / "parity.md").write_text(document(rows))
    failed = sum(bool(row.violations) for row in rows)
    print(f"AlbumentationsX {A.__version__}: {len(rows) - failed} of {len(rows)} transforms within their class")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
