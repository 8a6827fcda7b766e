#!/usr/bin/env python3
# tools/readme_table.py - fills the result tables of a Markdown file from the result files they name.
# SPDX-License-Identifier: Apache-2.0
"""usage: readme_table.py [--check] [FILE.md...]    README.md unless told; --check changes nothing, exit 1 when stale

Between `<!-- results: docs/results/NAME.json -->`, a path beside the page, and `<!-- /results -->` stands one line with machine and commit, one
table and, where peers were measured beside us, the ratio to each: computed from the raw samples of that result file. Where a folder
is named, a summary by library of the matrix in it. No number is typed by hand.
"""
import json
import math
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = re.compile(r"(<!-- results: (\S+) -->\n)(.*?)(<!-- /results -->)", re.DOTALL)


def run_rates(row):
    """Items per second of every run: all its items over all its time, so that stalls count."""
    rates = []
    for run in row["runs"]:
        samples = run["samples_ns"]
        if samples:
            rates.append(row["items_per_sample"] * len(samples) / (sum(samples) * 1e-9))
    return rates


def rounded(value):
    """Four significant digits, thousands separated."""
    digits = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{digits}f}" if digits else f"{round(value, 3 - math.floor(math.log10(abs(value)))):,.0f}"


def table_row(row):
    if row["status"] != "ok":
        return f"| {row['case']} | {row['library']} | {row['status']}: {row['reason']} | | |"
    rates = run_rates(row)
    spread = f"{100 * statistics.stdev(rates) / statistics.mean(rates):.1f} %" if len(rates) > 1 else ""
    return (f"| {row['case']} | {row['library']} | {rounded(statistics.median(rates))} {row['unit']} "
            f"| {spread} | {len(rates)} |")


def paired_logs(ours, theirs):
    """Of our rate over the peer's, run by run of the same block."""
    ours, theirs = ({run["block"]: rate for run, rate in zip(row["runs"], run_rates(row))} for row in (ours, theirs))
    return [math.log(ours[block] / theirs[block]) for block in sorted(ours.keys() & theirs.keys())]


def paired_ratio(document, claim):
    """Geometric mean of our rate over the peer's."""
    ours, theirs = (next(r for r in document["rows"] if (r["case"], r["library"]) == (claim["case"], library)) for library in (claim["library"], claim["peer"]))
    logs = paired_logs(ours, theirs)
    return math.exp(statistics.mean(logs)), len(logs)


def ratio_lines(document):
    lines = []
    for claim in ((document.get("summary") or {}).get("peer_ratios") or []):
        ratio, pairs = paired_ratio(document, claim)
        interval = claim["ci95"]
        assert interval["low"] <= ratio <= interval["high"], f"{claim['case']}: the samples say {ratio}"
        lines.append(f"- {claim['case']}: {claim['library']} is **{ratio:.3f} ×** {claim['peer']} "
                     f"(95 % interval {interval['low']:.3f} to {interval['high']:.3f}, {pairs} pairs)")
    return [""] + lines if lines else []


def table(document, name):
    head = [headline(document, name), "", "| case | library | median over runs | spread (CV) | runs |", "|---|---|---|---|---|"]
    return "\n".join(head + [table_row(row) for row in document["rows"]] + ratio_lines(document)) + "\n"


def matrix_rates(documents):
    """{case: {library: (median rate, comparable)}} of the rows that were measured; of OpenCV's two builds the faster."""
    cases = {}
    for document in documents:
        for row in document["rows"]:
            if row["status"] != "ok":
                continue
            library = row["library"].removesuffix("-wheel")
            cell = (statistics.median(run_rates(row)), "not_comparable" not in row)
            cases.setdefault(row["case"], {})
            cases[row["case"]][library] = max(cell, cases[row["case"]].get(library, cell))
    return cases


def matrix_table(documents, name):
    """One line per library: rows, median, wins among comparable rows, and the geometric mean of its rate over the first library's where both are."""
    cases = matrix_rates(documents)
    libraries = list(dict.fromkeys(library for rates in cases.values() for library in rates))
    asked = len({row["case"] for document in documents for row in document["rows"]})
    wins = dict.fromkeys(libraries, 0)
    for rates in cases.values():
        able = {library: rate for library, (rate, comparable) in rates.items() if comparable}
        if len(able) > 1:
            wins[max(able, key=able.get)] += 1
    first = libraries[0]
    lines = [headline(documents[0], name), "", f"| library | rows measured | median of its rows | fastest of comparable rows | times {first}, same comparable rows |",
             "|---|---|---|---|---|"]
    for library in libraries:
        own = [rates[library][0] for rates in cases.values() if library in rates]
        both = [(rates[library], rates[first]) for rates in cases.values() if library in rates and first in rates]
        logs = [math.log(one[0] / other[0]) for one, other in both if one[1] and other[1]]
        mean = f"{math.exp(statistics.mean(logs)):.2f} × ({len(logs)} rows)" if logs else "none"
        lines.append(f"| {library} | {len(own)} of {asked} | {rounded(statistics.median(own))} {documents[0]['rows'][0]['unit']} "
                     f"| {wins[library]} | {mean} |")
    return "\n".join(lines) + "\n"


def hand_lines(documents, name):
    """Of every library that stands beside a loop by hand: the paired ratio to it, over its cases."""
    rows = {(row["case"], row["library"]): row for document in documents for row in document["rows"] if row["status"] == "ok"}
    lines = [headline(documents[0], name), ""]
    for library in sorted({library for _, library in rows if ("hand-" + library) in {other for _, other in rows}}):
        ratios = []
        for case in [case for case, other in rows if other == library and (case, "hand-" + library) in rows]:
            document = {"rows": [rows[case, library], rows[case, "hand-" + library]]}
            ratios.append(paired_ratio(document, {"case": case, "library": library, "peer": "hand-" + library}))
        points = [ratio for ratio, _ in ratios]
        lines.append(f"- {library} through our worker is **{math.exp(statistics.mean(map(math.log, points))):.3f} ×** the loop by hand "
                     f"({min(points):.3f} to {max(points):.3f} over {len(points)} transforms, {ratios[0][1]} pairs each)")
    return "\n".join(lines) + "\n"


T95 = {1: 12.7062, 2: 4.30265, 3: 3.18245, 4: 2.77645, 5: 2.57058, 6: 2.44691, 7: 2.36462, 8: 2.30600, 9: 2.26216}  # by pairs - 1
TIE = 0.97  # a ratio from here on is no loss


def outcome(logs):
    """win, tie or loss, as analysis/versus.cpp has it: the 95 % interval of the paired ratio beside 1."""
    point, half = statistics.mean(logs), T95[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    if point - half > 0:
        return "win"
    return "tie" if point + half >= 0 or point >= math.log(TIE) else "loss"


def versus_line(documents, name):
    """Ours against the fastest other that computes the same, row by row, all computed from the samples; what the file says of the same pair must agree."""
    cases, claims = {}, {}
    for document in documents:
        for row in document["rows"]:
            if row["status"] == "ok":
                cases.setdefault(row["case"], {})[row["library"]] = row
        claims |= {claim["case"]: claim for claim in (document.get("summary") or {}).get("versus", [])}
    points, outcomes, different = {}, [], 0
    for case, rows in cases.items():
        others = {library: row for library, row in rows.items() if library not in ("sluice", "memcpy")}
        able = {library: statistics.median(run_rates(row)) for library, row in others.items() if "not_comparable" not in row}
        if "sluice" not in rows or not others:
            continue
        if not able:
            different += 1
            continue
        peer = max(able, key=able.get)
        logs = paired_logs(rows["sluice"], rows[peer])
        points[case.rsplit("/", 1)[1]] = math.exp(statistics.mean(logs))
        outcomes.append(outcome(logs))
        claim = claims.get(case)
        if claim and claim["fastest_peer"] == peer:
            assert abs(claim["ratio"] / math.exp(statistics.mean(logs)) - 1) < 1e-3 and claim["outcome"] == outcomes[-1], f"{name}: {case}: the samples say {outcomes[-1]}"
    mean = math.exp(statistics.mean(map(math.log, points.values())))
    slowest, fastest = min(points, key=points.get), max(points, key=points.get)
    unit = "clips" if "video" in next(iter(cases)) else "images"
    aside = f"; {different} rows, whose other libraries compute something else, are not counted" if different else ""
    return (f"{headline(documents[0], name)}\n\n{len(points)} rows of {unit}: **{outcomes.count('win')} wins, {outcomes.count('tie')} ties, "
            f"{outcomes.count('loss')} losses** against the fastest other that computes the same, geometric mean **{mean:.2f} ×** "
            f"(from {slowest} {points[slowest]:.2f} × to {fastest} {points[fastest]:.1f} ×){aside}\n")


def headline(document, name):
    environment = document["environment"]
    cpu = environment["cpu"]["model_name"] or environment["cpu"]["part"] or "unknown CPU"
    return (f"{cpu}, {environment['cores']['usable']} cores (`{document['machine_profile']}`), "
            f"commit {document['tool']['git']}, from [{name}]({name}):")


def cancel_table(document, name):
    """Of bench/cancel_times.py: quantiles over both signals."""
    load = document["load_of_the_machine"]
    lines = [f"{document['program']}, {document['cores']} cores with a load of {load['least']:.1f} to {load['most']:.1f}, from [{name}]({name}):", "",
             "| phase | command | signals | p50, ms | p99, ms | longest, ms |", "|---|---|--:|--:|--:|--:|"]
    for row in document["cancel_times"]:
        times = sorted(row["SIGINT_ms"] + row["SIGTERM_ms"])
        at = [times[math.ceil(share * len(times)) - 1] for share in (0.5, 0.99, 1)]
        lines.append(f"| {row['phase']} | {row['command']} | {len(times)} | " + " | ".join(f"{value:.0f}" for value in at) + " |")
    return "\n".join(lines) + "\n"


def filled(text, root):
    def fill(place):
        path = root / place.group(2)
        if not path.exists():
            return place.group(1) + "_No result is published yet._\n" + place.group(4)
        if path.is_dir():
            documents = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(path.rglob("*_results.json"))]
            libraries = {row["library"] for document in documents for row in document["rows"]}
            by_hand = any(library.startswith("hand-") for library in libraries)
            text = hand_lines if by_hand else versus_line if "memcpy" in libraries else matrix_table
            return place.group(1) + text(documents, place.group(2)) + place.group(4)
        document = json.loads(path.read_text(encoding="utf-8"))
        if "cancel_times" in document:
            return place.group(1) + cancel_table(document, place.group(2)) + place.group(4)
        return place.group(1) + table(document, place.group(2)) + place.group(4)
    return PLACE.sub(fill, text)


def main(arguments):
    check = "--check" in arguments
    names = [a for a in arguments if a != "--check"] or ["README.md"]
    stale = []
    for name in names:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        fresh = filled(text, path.parent)
        if fresh != text:
            stale.append(name)
            if not check:
                path.write_text(fresh, encoding="utf-8")
    if check and stale:
        print(f"stale, run tools/readme_table.py: {', '.join(stale)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
