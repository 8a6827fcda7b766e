#!/usr/bin/env python3
# tools/figures.py - every measured figure of a document is a link that names file, row and field; this tool fills it in, and names those without one.
# SPDX-License-Identifier: Apache-2.0
"""usage: figures.py [--check] [PAGE.md...]    fills the marks of the pages (README.md, docs, bench/kernels unless told); --check: exit 1 when one differs,
                                           when two disagree, or when a figure stands without one
       figures.py --unmarked [PAGE.md...]  figures with a unit that are no mark

A mark is a link with a `#`: `[1.92 ×](docs/results/h200-vit5-small/last-block.json#training/vit5-small@sluice/torch-compile)`.
Into a result file (.json) its number is computed, with as many decimals as stand there. After the `#`:
  CASE@LIBRARY          items per second: median over runs of all items over all time
  CASE@LIBRARY:ms       milliseconds of a timed sample: median over runs of their medians; :us microseconds of an item
  CASE@LIBRARY/PEER     how many times as fast, paired by block; :low and :high are the ends of its 95 % interval
  /summary/scaling/...  a value of the file by JSON pointer
  ALL@LIBRARY/PEER      of the manifest.json of a folder: the geometric mean of that ratio over all cases in it; :least and :most are the ends of its range;
                        the PEER `fastest` is in every case the fastest other
Into any other file, a result in text or a source that declares a constant, it is the number on the line that holds the words after the `#` (`%20` is
a space; comments of a source do not count): `[64 GiB](../src/sluice/storage/cache/cache.h#max_bytes)`. Where that line holds several numbers, `;N` says
which, and where several lines with a number hold the words, `;LINE.N`; both count from 1: `[5 %](paired_row.cpp#kLoaderTau%20=;1*100)`.
Each may end with `*FACTOR`. A mark that cannot be resolved, or whose number differs, is named with page and line.

Tables between `<!-- transforms: A, B -->` and `<!-- /transforms -->` are filled from docs/results/transforms-rgb, -x86 and transforms-real.

A figure is a number with a unit, a decimal that is called a ratio ("the 0.66 of", "a ratio of 1.2", "falls from 0.76"), a share of the time in words
("a third of the CPU time"), or a count in digits of how many in digits ("27 of 30", "7 out of the 9"). No measurement, and so without a mark:
  code in fences, and words of code that are more than a figure; pages that tools/docs writes; tables that a tool fills from results
  paragraphs that open with **Limit** or **Prediction**: computed from bytes and operations. But a rate in them is one (B/s, FLOP/s, samples/s), and so is
  every figure of a sentence that says what something takes, took, costs, reaches, gives, falls from, came to or was measured at
  what follows `predicted`, `goal`, `computed`, `specified` (by a maker) or `assumed` (what a computation starts from, where no file holds it), as in
  `goal: 20 ms` and `goal: 38 of 40`, or stands below such a head of a table; the 95 % of an interval
  a link to the web: quoted from there
  the shape of something, "as 1 of 8" and "136 of 256 pieces"
A number that opens a cell has the unit of its column's head.
"""
import json
import math
import re
import statistics
import sys
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

import readme_table

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/results"
LINK = re.compile(r"\[([^\]\[]*)\]\(([^)\s]*)\)")
MARK = re.compile(r"\[([^\]\[]*)\]\(([^)#\s]+\.\w+)#([^)\s]+)\)")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
IN_SOURCE = re.compile(r"(?<![\w.])\d[\d',]*(?:\.\d+)?(?:e-?\d+)?")
UNITS = (r"×(?!\s?\d)|%|per cent|percent\b|s\b|seconds\b|min\b|minutes\b|ms\b|us\b|µs|ns\b|s/step\b|[TGMk]B/s|[TGMK]iB/s|[TGMK]iB\b|[TGMkK]B\b|[TG]FLOP/s|[TG]FLOPS?\b|"
         r"(?:samples|images|img|clips|tokens|files|frames|steps|batches)/s|times (?:as|the|its|tf|torch|Py|what)")
FIGURE = re.compile(rf"(?<![\w.,])\d[\d,]*(?:\.\d+)?\*{{0,2}}\s?(?:{UNITS})")
RATE = re.compile(rf"{FIGURE.pattern}(?<=/s)\b")
BARE = re.compile(rf"\b(?:the|an?|ratios?(?: of)?|falls from|rises from) \d\.\d+(?![\w.])(?!\s?(?:{UNITS}|[a-z]*-))")
SHARE = re.compile(r"\b(?:half|(?:an?|one|two|three|four) (?:third|quarter|fifth|sixth|tenth)s?) of (?:the|all|its) (?:CPU |wall |whole )?(?:time|step|seconds)\b")
COUNT = re.compile(r"(?<![\w.,:/-])(?<!\bas )(?<! x )\d[\d,]*\*{0,2} (?:out )?of (?:the |all |its )?\*{0,2}\d[\d,]*\b(?!\.\d)(?! (?:x |×|pieces\b))")
SAID = re.compile(rf"\b(?:predicted|goal|computed|specified|assumed):? (?:(?:of|at) )?(?:(?:{FIGURE.pattern}|[\d.]+)(?: and| to| or) )?(?:{FIGURE.pattern}|{SHARE.pattern}|{COUNT.pattern})", re.IGNORECASE)
SENTENCE = re.compile(r"(?:[^.;]|[.;](?!\s))+[.;]?")
MEASURING = re.compile(r"\b(?:measured|tak(?:es?|ing)|took|costs?|reach(?:es|ed)|gives|gave|(?:falls|fell|rises|rose) from|through|came|outcome)\b", re.IGNORECASE)
LEVEL = re.compile(r"\b9[059] %(?=\s+(?:t\s+)?(?:one-sided\s+)?(?:intervals?|limits?)\b)")
COMPUTED = re.compile(r"^\*\*(?:Limit|Prediction)\b.*?(?=\n\n|\n\*\*|\Z)", re.DOTALL | re.MULTILINE)
IN_HEAD = re.compile(r"(?<!\w)(?:ms|us|µs|ns|[TGM]B/s|[TG]FLOP/s|(?:samples|images|img)/s|%)(?!\w)")
SAID_BY_HEAD = re.compile(r"\b(?:predicted|promised|limit|goal|computed)\b", re.IGNORECASE)
FILLED = r"<!-- (results|transforms|provenance)\b.*?<!-- /\1 -->"
TRANSFORMS = re.compile(r"(<!-- transforms: ([\w, ]+) -->\n)(.*?)(<!-- /transforms -->)", re.DOTALL)
T95 = {**readme_table.T95, 14: 2.14479, 19: 2.09302}  # by pairs - 1


class BadMark(ValueError):
    pass


def pages():
    """All but those that a program writes: they say so in their head."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/python").glob("*.md")), RESULTS / "README.md",
             *sorted((ROOT / "bench/kernels").glob("*.md"))]
    return [page for page in found if not is_written(page.read_text(encoding="utf-8"))]


def is_written(text):
    return re.search(r"^(?:<!-- )?(?:Written|Generated) by `?(?:tools/docs|sluice docs|make parity)", text[:300], re.MULTILINE) is not None


@lru_cache(maxsize=None)
def document_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


def row_of(document, case, library):
    found = [row for row in document.get("rows", []) if (row["case"], row["library"]) == (case, library)]
    if not found:
        raise BadMark(f"it has no row {case} of {library}; it has: " + ", ".join(sorted({f"{row['case']}@{row['library']}" for row in document.get("rows", [])})[:8]))
    return found[0]


def ratio(logs, what):
    point = statistics.mean(logs)
    if what == "":
        return math.exp(point)
    if len(logs) - 1 not in T95:
        raise BadMark(f"{len(logs)} pairs: no interval is known for so many; accepted: " + ", ".join(str(n + 1) for n in T95) + f"")
    half = T95[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(point - half if what == "low" else point + half)


def by_row(document, name):
    case, _, rest = name.partition("@")
    library, _, field = rest.partition(":")
    library, _, peer = library.partition("/")
    row = row_of(document, case, library)
    if peer and field in ("", "low", "high"):
        return ratio(readme_table.paired_logs(row, row_of(document, case, peer)), field)
    if not peer and field in ("", "us"):
        rate = statistics.median(readme_table.run_rates(row))
        return rate if field == "" else 1e6 / rate
    if not peer and field == "ms":
        return statistics.median(statistics.median(run["samples_ns"]) for run in row["runs"]) * 1e-6
    raise BadMark(f"field '{field}'; accepted: ms, us, or low and high of a ratio")


def by_folder(folder, name):
    """Over all cases of a folder's results that both have and that compute the same."""
    library, _, field = name.partition("@")[2].partition(":")
    library, _, peer = library.partition("/")
    cases = defaultdict(dict)
    for row in (row for file in sorted(folder.rglob("*_results.json")) for row in document_of(file)["rows"] if row["status"] == "ok" and "not_comparable" not in row):
        cases[row["case"]][row["library"]] = row
    logs = []
    for rows in cases.values():
        others = {one: statistics.median(readme_table.run_rates(row)) for one, row in rows.items() if one not in (library, "memcpy")}
        beside = max(others, key=others.get) if peer == "fastest" and others else peer
        if library in rows and beside in rows:
            logs.append(statistics.mean(readme_table.paired_logs(rows[library], rows[beside])))
    if not logs:
        raise BadMark(f"it has no case of both '{library}' and '{peer}'")
    if field not in ("", "least", "most"):
        raise BadMark(f"field '{field}'; accepted: least, most")
    return math.exp({"": statistics.mean(logs), "least": min(logs), "most": max(logs)}[field])


def by_pointer(document, pointer):
    value = document
    for word in pointer[1:].split("/"):
        word = word.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(word)] if isinstance(value, list) else value[word]
        except (KeyError, IndexError, ValueError, TypeError):
            raise BadMark(f"it has no {pointer}: '{word}' is not there") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadMark(f"{pointer} is no number")
    return value


def by_words(file, words, which):
    """The number of a text's line that holds `words`; `which`: `N`, or `LINE.N` of several lines, or empty where there is one."""
    lines = []
    is_source = not file.is_relative_to(RESULTS)
    text = file.read_text(encoding="utf-8")
    for line in (re.sub(r"=\n\s*", "= ", text) if is_source else text).splitlines():
        if is_source:
            line = re.sub(r"^\s*(?://|#|\*).*|\s(?://|# ).*", "", line)
        numbers = IN_SOURCE.findall(re.sub(r"<<\s*\d+", "", line)) if words in line else []
        lines += [numbers] if numbers else []
    if not lines:
        raise BadMark(f"it has no line with '{words}' and a number")
    line, _, number = which.rpartition(".")
    if len(lines) > 1 and not line:
        raise BadMark(f"{len(lines)} lines with a number hold '{words}'; say which by ;LINE.N")
    if not 1 <= int(line or 1) <= len(lines):
        raise BadMark(f";{which}: {len(lines)} lines with a number hold '{words}'")
    numbers = lines[int(line or 1) - 1]
    if len(numbers) > 1 and not number:
        raise BadMark(f"its line with '{words}' holds {len(numbers)} numbers; say which by ;N")
    if not 1 <= int(number or 1) <= len(numbers):
        raise BadMark(f";{which}: that line with '{words}' holds {len(numbers)} numbers")
    return float(re.sub("[',]", "", numbers[int(number or 1) - 1]))


def is_computed(file):
    return file.suffix == ".json" and file.is_relative_to(RESULTS)


def resolved(page, path, select, number):
    """What the mark should show in place of `number`."""
    file = (page.parent / path).resolve()
    if not file.is_relative_to(ROOT) or not file.is_file():
        raise BadMark(f"{path}: no such file")
    select, which, factor = re.fullmatch(r"(.+?)(?:;((?:\d+\.)?\d+))?(?:\*([\d.e-]+))?", unquote(select)).groups()
    if not is_computed(file):
        value = by_words(file, select, which or "")
    elif which:
        raise BadMark(f";{which}: which number is asked of texts and sources only")
    elif select.startswith("/"):
        value = by_pointer(document_of(file), select)
    else:
        value = by_folder(file.parent, select) if select.startswith("ALL@") else by_row(document_of(file), select)
    return shown(value * float(factor or 1), number)


def shown(value, like):
    """`value` with the decimals, and thousands as in `like`."""
    decimals = len(like.partition(".")[2])
    return f"{value:,.{decimals}f}"


class Marks:
    """What was read of all pages: marks by what they name, and what is wrong with them."""

    def __init__(self):
        self.count = 0
        self.unresolved = []
        self.differing = []
        self.places = defaultdict(list)  # (file, what is selected) -> [(page:line, number)]

    def filled(self, page, text):
        """The text with its marks as the files have them."""

        def fill(mark):
            words, path, select = mark.groups()
            numbers = NUMBER.findall(words)
            if not numbers or path.endswith(".md") or "://" in path:
                return mark[0]
            self.count += 1
            where = f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, mark.start()) + 1}"
            if len(numbers) != 1:
                self.unresolved.append(f"{where}: [{words}]: a mark holds one number")
                return mark[0]
            try:
                fresh = resolved(page, path, select, numbers[0])
            except BadMark as problem:
                self.unresolved.append(f"{where}: {path}#{select}: {problem}")
                return mark[0]
            self.places[(page.parent / path).resolve(), select].append((where, numbers[0]))
            if fresh != numbers[0]:
                self.differing.append(f"{where}: {numbers[0]} stands there, {path} has {fresh}")
            return mark[0].replace(numbers[0], fresh, 1)

        def fill_table(place):
            where = f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, text.index(place[1])) + 1}"
            try:
                table = transforms_table(page, [name.strip() for name in place[2].split(",")])
            except BadMark as problem:
                self.unresolved.append(f"{where}: {problem}")
                return place[0]
            if table != place[3]:
                self.differing.append(f"{where}: the table of transforms is not what the results have")
            return place[1] + table + place[4]

        return TRANSFORMS.sub(fill_table, MARK.sub(fill, text))

    def disagreements(self):
        """Lines that name both of two marks of one place whose numbers differ."""
        lines = []
        for (file, select), places in self.places.items():
            decimals = min(len(number.partition(".")[2]) for _, number in places)
            by_number = {f"{float(number.replace(',', '')):.{decimals}f}": (where, number) for where, number in reversed(places)}
            if len(by_number) > 1 and max(map(float, by_number)) - min(map(float, by_number)) > 1.001 * 10 ** -decimals:
                lines.append(" and ".join(f"{where}: {number}" for where, number in reversed(by_number.values())) + f" disagree about {file.name}#{select}")
        return lines


def transforms_table(page, names):
    """Our time for an image beside memcpy and beside the fastest other that computes the same, on both processors, and on one of them of real photographs."""
    up = "../" * len(page.parent.relative_to(ROOT).parts)
    heads, processors, columns = [], [], []
    for name in ("transforms-rgb", "transforms-rgb-x86", "transforms-real"):
        documents = [document_of(file) for file in sorted((RESULTS / name).rglob("*_results.json"))]
        heads.append(readme_table.headline(documents[0], f"{up}docs/results/{name}").rstrip(":").replace(f"[{up}docs/results/{name}]", f"[{name}]"))
        processors.append(documents[0]["environment"]["cpu"]["architecture"])
        rows = defaultdict(dict)
        for row in (row for document in documents for row in document["rows"] if row["status"] == "ok"):
            rows[row["case"].rsplit("/", 1)[1]][row["library"]] = row
        missing = [transform for transform in names if "sluice" not in rows[transform]]
        if missing:
            raise BadMark(f"{name} has no row of {', '.join(missing)}")
        columns.append([cells_of(rows[transform]) for transform in names])
    lines = [f"µs an image (generated photographs of 500 × 375 RGB, u8), one thread: {heads[0]}; {heads[1]}. Real photographs of that size: {heads[2]}. "
             "Other: the fastest that computes the same, and how many times as fast ours is (95 % interval).", "",
             f"| transform | {processors[0]} | `memcpy` | other | {processors[1]} | `memcpy` | other | real | `memcpy` | other |",
             "|---|--:|--:|---|--:|--:|---|--:|--:|---|"]
    lines += [f"| {name} | " + " | ".join(columns[0][i] + columns[1][i] + columns[2][i]) + " |" for i, name in enumerate(names)]
    return "\n".join(lines) + "\n"


def cells_of(rows):
    rate = {library: statistics.median(readme_table.run_rates(row)) for library, row in rows.items()}
    able = [library for library, row in rows.items() if library not in ("sluice", "memcpy") and "not_comparable" not in row]
    cells = [readme_table.rounded(1e6 / rate["sluice"]), readme_table.rounded(1e6 / rate["memcpy"]) if "memcpy" in rate else ""]
    if not able:
        return [*cells, "none"]
    peer = max(able, key=rate.get)
    logs = readme_table.paired_logs(rows["sluice"], rows[peer])
    return [*cells, f"{peer} {ratio(logs, ''):.2f} × ({ratio(logs, 'low'):.2f} to {ratio(logs, 'high'):.2f})"]


def blank(part):
    return "\n" * part[0].count("\n")


def with_units(text):
    """The text with the unit of a column's head behind each number that opens a cell below it; cells below a head that says they are computed are blank."""
    lines, heads = text.split("\n"), []
    for i, line in enumerate(lines):
        cells = line.split("|")
        if not line.startswith("|"):
            heads = []
        elif i + 1 < len(lines) and re.match(r"\|[ :|-]+\|$", lines[i + 1]):
            heads = cells
        elif len(heads) == len(cells):
            for j, head in enumerate(heads):
                unit = IN_HEAD.search(head)
                if SAID_BY_HEAD.search(head):
                    cells[j] = ""
                elif unit and re.match(r"\W*\d", cells[j]) and not FIGURE.search(cells[j]):
                    cells[j] = re.sub(NUMBER, lambda number: f"{number[0]} {unit[0]}", cells[j], count=1)
            lines[i] = "|".join(cells)
    return "\n".join(lines)


def without_computed(part):
    """A paragraph of limits without what bytes and operations give: rates, and sentences that say what something takes, stay."""
    return SENTENCE.sub(lambda said: said[0] if MEASURING.search(said[0]) else only_rates(said[0]), SAID.sub(blank, part[0]))


def only_rates(text):
    kept = [found.span() for found in RATE.finditer(text)]
    return "".join(c if c == "\n" or any(start <= i < end for start, end in kept) else " " for i, c in enumerate(text))


def unmarked(text):
    """(line, figure) of those that stand without a mark."""
    text = re.sub(r"```.*?```", blank, text, flags=re.DOTALL)
    text = re.sub(FILLED, blank, text, flags=re.DOTALL)
    text = re.sub(r"`([^`\n]*)`", lambda code: code[1] if FIGURE.fullmatch(code[1]) else "", text)
    text = LINK.sub(lambda link: link[1] if not re.search(r"://|\.\w+#", link[2]) or re.search(r"\.md#", link[2]) else "", text)
    text = with_units(COMPUTED.sub(without_computed, text))
    text = LEVEL.sub("", SAID.sub(blank, text))
    found = [(figure.start(), figure[0]) for kind in (FIGURE, BARE, SHARE, COUNT) for figure in kind.finditer(text)]
    return [(text.count("\n", 0, start) + 1, figure) for start, figure in sorted(found)]


def main(words):
    options = {word for word in words if word.startswith("--")}
    if options - {"--check", "--unmarked"}:
        print(__doc__, file=sys.stderr)
        return 2
    chosen = [Path(word).resolve() for word in words if not word.startswith("--")] or pages()
    marks, bare = Marks(), []
    for page in chosen:
        text = page.read_text(encoding="utf-8")
        fresh = marks.filled(page, text)
        bare += [f"{page.relative_to(ROOT)}:{line}: {figure}" for line, figure in unmarked(text)]
        if not options and fresh != text:
            page.write_text(fresh, encoding="utf-8")
    if "--unmarked" in options:
        print(*bare, sep="\n")
    check = "--check" in options
    problems = marks.differing + marks.disagreements() + [line + " without a mark" for line in bare] if check else []
    for line in marks.unresolved + problems:
        print(line, file=sys.stderr)
    print(f"figures: {marks.count} traced to a file, {len(bare)} with a unit that are not")
    return 2 if marks.unresolved else 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
