# tests/house/architecture_test.py - the table of rooms in ARCHITECTURE.md is what the CMake files declare.
# SPDX-License-Identifier: Apache-2.0
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_layers  # noqa: E402

ROW = re.compile(r"^\| \[(\w+)\]\(src/sluice/(\w+)/README\.md\) \| (.+) \| ([^|]*) ?\|$", re.M)


def rows_of(text):
    """{room: (its link, what it holds, what it may see)} in the order of the page."""
    return {name: (link, holds, sees.strip()) for name, link, holds, sees in ROW.findall(text)}


def rooms_of(root):
    """{room: the ROOMS of its CMakeLists.txt}"""
    found = {}
    for cmake in sorted((root / "src" / "sluice").glob("*/CMakeLists.txt")):
        rooms = check_layers.declared_rooms(cmake.read_text(encoding="utf-8"))
        if rooms is not None:
            found[cmake.parent.name] = rooms
    return found


def problems(rows, rooms):
    """One line for each thing in which page and CMake differ."""
    for name in sorted(set(rows) ^ set(rooms)):
        yield f"{name}: {'has no row in ARCHITECTURE.md' if name in rooms else 'is no room of src/sluice'}"
    for name in rows.keys() & rooms.keys():
        link, _, sees = rows[name]
        if link != name:
            yield f"{name}: its link goes to {link}"
        declared = set(rooms[name])
        if sees == "all":
            wanted = set(rooms) - {name}
        elif sees.startswith("all but "):
            wanted = set(rooms) - {name} - set(sees.removeprefix("all but ").split(", "))
        else:
            wanted = set(filter(None, sees.split(", ")))
        if wanted != declared:
            yield f"{name}: the page lets it see {sorted(wanted - declared)} more and {sorted(declared - wanted)} less than CMake"


class ArchitectureTest(unittest.TestCase):
    def test_the_table_of_rooms_is_what_cmake_declares(self):
        rows = rows_of((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
        self.assertGreater(len(rows), 20)
        self.assertEqual(list(problems(rows, rooms_of(ROOT))), [])

    def test_rows_stand_in_an_order_that_points_down(self):
        seen, rooms = set(), rooms_of(ROOT)
        for name in rows_of((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")):
            self.assertLessEqual(set(rooms[name]), seen, f"{name} stands above a room that it sees")
            seen.add(name)

    def test_each_difference_is_named(self):
        rows = rows_of("| [core](src/sluice/core/README.md) | basics | |\n| [cli](src/sluice/clj/README.md) | commands | core, stats |\n"
                       "| [lost](src/sluice/lost/README.md) | nothing | core |\n")
        found = sorted(problems(rows, {"core": [], "cli": ["core"], "image": ["core"]}))
        self.assertEqual(found, ["cli: its link goes to clj",
                                 "cli: the page lets it see ['stats'] more and [] less than CMake",
                                 "image: has no row in ARCHITECTURE.md", "lost: is no room of src/sluice"])


if __name__ == "__main__":
    unittest.main()
