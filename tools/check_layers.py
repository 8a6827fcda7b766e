#!/usr/bin/env python3
# tools/check_layers.py - proves that includes point down only, as the ROOMS lists and the order below say.
# SPDX-License-Identifier: Apache-2.0
"""usage: check_layers.py [ROOT]    exit 0: all sound; 1: one line per violation on stderr

For every room under ROOT/src/sluice it reads the ROOMS list of its CMakeLists.txt and the includes of its sources.
A violation is: a room without a place in the order; a declared or included room that is not below it; an included
room that is not declared; a cycle of declarations; a third-party header outside the one room that may see it.
"""
import re
import sys
from pathlib import Path

# Each line: the rooms on the right may see those on the left, and whatever those may see.
ORDER = """
core < stats config env image storage
stats config env image storage < aug measure
aug measure < results loader train
results loader train < peers
peers < eval
eval < scenario
scenario < plan
plan < backend
stats results < analysis
analysis < gate publish
gate < report
backend report < visit
visit publish < cli
"""
OWNERS = {"yaml-cpp/": "config", "CLI/": "cli"}  # header prefix: the only room that includes it
SOURCE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
ROOM_CALL = re.compile(r"\bsluice_room\s*\(([^)]*)\)")
KEYWORDS = {"SOURCES", "HEADERS", "ROOMS", "LIBS", "PUBLIC_LIBS"}


def rooms_below(order=ORDER):
    """{room: every room it may see}, the transitive closure of the order."""
    below = {}
    for line in order.strip().splitlines():
        lower, upper = (side.split() for side in line.split("<"))
        for room in lower:
            below.setdefault(room, set())
        for room in upper:
            seen = below.setdefault(room, set())
            for low in lower:
                seen |= {low} | below[low]
    return below


def declared_rooms(cmake_text):
    """The ROOMS list of the sluice_room() call, or None when there is no such call."""
    call = ROOM_CALL.search(re.sub(r"#.*", "", cmake_text))
    if not call:
        return None
    rooms, keyword = [], None
    for word in call.group(1).split():
        if word in KEYWORDS:
            keyword = word
        elif keyword == "ROOMS":
            rooms.append(word)
    return rooms


def includes(path):
    """(line, included path) for every include directive."""
    # Comments keep their newlines, so that line numbers stay true.
    text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), path.read_text(encoding="utf-8"))
    return [(text.count("\n", 0, m.start(1)) + 1, m.group(1)) for m in INCLUDE.finditer(text)]


def find_cycle(graph):
    """One cycle as a list of rooms whose last is its first, or None."""
    done, trail = set(), []

    def visit(room):
        if room in trail:
            return trail[trail.index(room):] + [room]
        if room in done:
            return None
        trail.append(room)
        for other in graph.get(room, []):
            cycle = visit(other)
            if cycle:
                return cycle
        trail.pop()
        done.add(room)
        return None

    for room in graph:
        cycle = visit(room)
        if cycle:
            return cycle
    return None


def check_file(path, where, room, declared, below):
    for line, included in includes(path):
        for prefix, owner in OWNERS.items():
            if included.startswith(prefix) and room != owner:
                yield f"{where}:{line}: includes <{included}>, which only room '{owner}' may see"
        parts = included.split("/")
        if parts[0] != "sluice" or len(parts) < 3 or parts[1] == room:
            continue
        other = parts[1]
        if other not in below[room]:
            yield f"{where}:{line}: room '{room}' includes '{included}', but '{other}' is not below it"
        elif declared is not None and other not in declared:
            yield f"{where}:{line}: includes '{included}', but ROOMS of '{room}' does not name '{other}'"


def check(root):
    """Every violation under `root`, as lines of text."""
    below = rooms_below()
    base = root / "src" / "sluice"
    if not base.is_dir():
        return [f"{base}: is not a folder; the argument is the root of the repository"]
    problems, graph = [], {}
    for folder in sorted(p for p in base.iterdir() if p.is_dir()):
        room = folder.name
        if room not in below:
            problems.append(f"{folder.relative_to(root)}: room '{room}' has no place in ORDER of tools/check_layers.py")
            continue
        cmake = folder / "CMakeLists.txt"
        declared = declared_rooms(cmake.read_text(encoding="utf-8")) if cmake.is_file() else None
        if declared is None and any(folder.glob("*.cpp")):
            problems.append(f"{cmake.relative_to(root)}: missing, or without a sluice_room() call")
        graph[room] = declared or []
        for other in graph[room]:
            if other not in below[room]:
                problems.append(f"{cmake.relative_to(root)}: ROOMS of '{room}' names '{other}', which is not below it")
        for path in sorted(folder.rglob("*")):
            if path.suffix in SOURCE_SUFFIXES:
                problems += check_file(path, path.relative_to(root), room, declared, below)
    cycle = find_cycle(graph)
    if cycle:
        problems.append("ROOMS lists form a cycle: " + " -> ".join(cycle))
    return problems


def main(arguments):
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        count = sum(1 for p in (root / "src" / "sluice").iterdir() if p.is_dir())
        print(f"layers: {count} rooms, every include points down")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
