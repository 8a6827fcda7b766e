# tests/house/tree_test.py - what every file of the repository must keep: heads, sizes, links, listed sources.
# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = sorted(p.parent for p in (ROOT / "src" / "sluice").glob("*/CMakeLists.txt"))
CODE = {".h", ".cpp", ".cu", ".py", ".cmake"}


def repository_files():
    """What git knows or would add; every file outside build trees where git does not answer."""
    listing = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True)
    if listing.returncode == 0:
        files = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    else:
        files = [p for p in ROOT.rglob("*") if p.relative_to(ROOT).parts[0] not in {"build", "runs", ".git"}]
    return sorted(p for p in files if p.is_file() and not p.is_symlink())


FILES = repository_files()
TEXTS = {}
for _path in FILES:
    try:
        TEXTS[_path] = _path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        pass  # an image or another binary of the test corpus


def name(path):
    return path.relative_to(ROOT).as_posix()


def opens_well(path, text):
    """`path - purpose` first (a shebang may come before), the licence on a line of its own soon after."""
    lines = [line for line in text.splitlines()[:12] if not line.startswith("#!")]
    purpose = re.match(r'(?://|#|/\*|""") ?(\S+) - \S', lines[0] if lines else "")
    named = purpose and purpose.group(1) in (name(path), name(path).removeprefix("src/"))
    return bool(named) and any(re.fullmatch(r"\W*SPDX-License-Identifier: Apache-2\.0\W*", line) for line in lines)


def links_of(text):
    """Targets of inline links, outside code."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.findall(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)", text)


def anchors_of(text):
    """The ids that Markdown renderers give to headings."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    heads = re.findall(r"^#+ +(.*?) *$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


class TreeTest(unittest.TestCase):
    def test_every_source_opens_with_its_path_and_licence(self):
        wrong = [name(p) for p, text in TEXTS.items() if p.suffix in CODE and not opens_well(p, text)]
        self.assertEqual(wrong, [], "these do not open with `path - purpose` and the SPDX line")

    def test_every_script_opens_with_its_path_and_licence(self):
        scripts = [p for p, text in TEXTS.items() if text.startswith("#!") and not p.suffix]
        self.assertIn(ROOT / "tools" / "setup", scripts)
        self.assertEqual([name(p) for p in scripts if not opens_well(p, TEXTS[p])], [])

    def test_no_source_is_longer_than_600_lines(self):
        long = {name(p): text.count("\n") for p, text in TEXTS.items() if p.suffix in CODE and text.count("\n") > 600}
        self.assertEqual(long, {})

    def test_every_room_has_a_short_readme(self):
        for room in ROOMS:
            with self.subTest(room=room.name):
                readme = room / "README.md"
                self.assertTrue(readme.is_file(), f"{name(readme)} is missing")
                self.assertLessEqual(readme.read_text(encoding="utf-8").count("\n"), 40)

    def test_a_large_room_has_folders(self):
        for room in ROOMS:
            with self.subTest(room=room.name):
                self.assertLessEqual(sum(path.parent == room for path in FILES), 42, "files side by side: make folders")

    def test_every_source_of_a_room_is_listed(self):
        """A header may be left out of the list when it is private: then a source of its own room includes it."""
        for room in ROOMS:
            listed = re.sub(r"#.*", "", (room / "CMakeLists.txt").read_text(encoding="utf-8"))
            words = set(re.split(r"[\s()]+", listed))
            for path in FILES:
                if path.suffix not in {".h", ".cpp"} or room not in path.parents:
                    continue
                include = f'#include "{name(path).removeprefix("src/")}"'
                private = path.suffix == ".h" and any(include in TEXTS[p] for p in room.rglob("*") if p.suffix in {".cpp", ".h"})
                with self.subTest(file=name(path)):
                    self.assertTrue(private or path.relative_to(room).as_posix() in words,
                                    "on disk, but not in CMakeLists.txt: never built or checked")

    def test_every_test_is_listed(self):
        for path in FILES:
            if re.fullmatch(r"tests/\w+/\w+_test\.(cpp|py)", name(path)):
                listed = (path.parent / "CMakeLists.txt").read_text(encoding="utf-8")
                self.assertRegex(listed, rf"\b{path.stem}\b", f"{name(path)} is never run")

    def test_a_test_file_keeps_to_a_namespace_of_its_own(self):
        for path, text in TEXTS.items():  # several of them are compiled as one
            if re.fullmatch(r"tests/\w+/\w+_test\.cpp", name(path)):
                with self.subTest(file=name(path)):
                    self.assertTrue(re.search(rf"^namespace [\w:]+::{path.stem} {{\nnamespace {{$", text, re.M))

    def test_every_relative_link_leads_somewhere(self):
        for path, text in TEXTS.items():
            if path.suffix != ".md":
                continue
            for target in links_of(text):
                if re.match(r"[a-z]+:", target):
                    continue  # another site: not asked for in a test
                file, _, anchor = target.partition("#")
                other = (path.parent / file).resolve() if file else path
                with self.subTest(file=name(path), link=target):
                    self.assertTrue(other.exists(), "leads nowhere")
                    if anchor and other.suffix == ".md":
                        self.assertIn(anchor, anchors_of(other.read_text(encoding="utf-8")))

    def test_the_readme_is_short(self):
        self.assertLess((ROOT / "README.md").read_text(encoding="utf-8").count("\n"), 150)

    def test_no_path_of_one_machine_is_committed(self):
        machine = re.compile(r"(?<![\w.])/work/[\w.]")
        people = re.compile(r"(?<![\w.])/(root|home|Users)/[\w.]")  # invented ones are what tests of redaction feed in
        found = [f"{name(p)}:{n}: {line.strip()}" for p, text in TEXTS.items() if p != Path(__file__).resolve()
                 for n, line in enumerate(text.splitlines(), 1)
                 if machine.search(line) or (people.search(line) and not name(p).startswith("tests/"))]
        self.assertEqual(found, [])

    def test_text_files_end_with_one_newline_and_hold_no_tab_or_carriage_return(self):
        tabs_allowed = {"Makefile"}
        for path, text in TEXTS.items():
            if path.suffix not in CODE | {".md", ".json"} or "corpus" in path.parts:
                continue
            with self.subTest(file=name(path)):
                self.assertTrue(text == "" or text.endswith("\n"))
                self.assertNotIn("\r", text)
                self.assertTrue(path.name in tabs_allowed or "\t" not in text)


if __name__ == "__main__":
    unittest.main()
