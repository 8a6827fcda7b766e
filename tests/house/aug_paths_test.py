# tests/house/aug_paths_test.py - fast paths and references of transforms are independent: neither reaches the other.
# SPDX-License-Identifier: Apache-2.0
"""Reads the sources of src/sluice/aug: which function names which, from every `.fast` and `.reference` of a spec on.
A row whose two paths are one function, or where one reaches the other, has no fast path: it is listed and fails."""
import json
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AUG = ROOT / "src" / "sluice" / "aug"
NOT_NAMES = {"if", "for", "while", "switch", "return", "sizeof", "alignas", "decltype", "requires", "noexcept", "static_assert",
             "constexpr", "HWY_ATTR", "defined", "operator"}
PATH_FIELD = re.compile(r"\.(fast|reference)\s*=\s*\{([^}]*)\}")


def stripped(text):
    """Without comments, strings and preprocessor lines; as long as before, so that nothing moves."""
    text = re.sub(r'R"\((.*?)\)"', lambda m: " " * len(m.group()), text, flags=re.DOTALL)
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'(?!\w)|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*"
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.DOTALL | re.MULTILINE)


def closing(text, start):
    """The place after the brace that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def name_of(head):
    """What a definition with this head is called: a function, else a variable; None for neither."""
    head = re.sub(r"template\s*<[^{}]*?>\s*(?=[\w\[:])", " ", head)
    before = head.split("=", 1)[0]
    for word in re.finditer(r"([A-Za-z_]\w*)\s*\(", before):
        if word.group(1) not in NOT_NAMES:
            return word.group(1)
    if "=" in head or before.strip():
        words = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]", "", before))
        return words[-1] if words else None
    return None


class Function:
    def __init__(self, file, name, body, hidden):
        self.file, self.name, self.body, self.hidden = file, name, body, hidden
        self.words = set(re.findall(r"[A-Za-z_]\w*", body))

    @property
    def uses_kernels(self):
        return "kernels::" in self.body

    def __repr__(self):
        return f"{self.name} ({self.file.name})"


def functions_of(path, text=None):
    """Every definition of a file; what lies in an unnamed namespace is hidden from other files."""
    text = stripped(path.read_text(encoding="utf-8") if text is None else text)
    found = []

    def walk(start, end, hidden):
        at, head = start, start
        while at < end:
            if text[at] in ";}":
                head = at + 1
            elif text[at] == "{":
                after, opening = closing(text, at), text[head:at]
                if re.search(r"\bnamespace\b", opening):
                    walk(at + 1, after - 1, hidden or re.search(r"\bnamespace\s*$", opening) is not None)
                elif re.search(r"\b(struct|class|union)\b[^()=]*$", opening):
                    walk(at + 1, after - 1, hidden)
                elif not re.search(r"\benum\b", opening):
                    name = name_of(opening)
                    if name:
                        found.append(Function(path, name, text[head:after].split(name, 1)[-1], hidden))
                at = head = after
                continue
            at += 1

    walk(0, len(text), False)
    return found


class Graph:
    def __init__(self, functions):
        self.functions = functions
        self.here, self.shared = {}, {}
        for one in functions:
            self.here.setdefault((one.file, one.name), []).append(one)
            if not one.hidden:
                self.shared.setdefault(one.name, []).append(one)

    def named(self, file, word):
        return self.here.get((file, word)) or self.shared.get(word, [])

    def reached(self, start):
        """Every function that `start` names, directly or through others; itself too."""
        seen, todo = set(), list(start)
        while todo:
            one = todo.pop()
            if one in seen:
                continue
            seen.add(one)
            for word in one.words:
                todo += self.named(one.file, word)
        return seen


def spec_functions(text):
    return re.findall(r"^TransformSpec (\w+)\(\);", text, flags=re.MULTILINE)


def paths_of(one):
    """{kind: names} of a function that fills in a Definition; a lambda is not a name."""
    found = {"fast": [], "reference": []}
    for kind, values in PATH_FIELD.findall(one.body):
        for value in filter(lambda v: v not in ("", "nullptr"), map(str.strip, values.split(","))):
            name = re.match(r"&?\s*([A-Za-z_]\w*)\s*(?:<|$)", value)
            found[kind].append(name.group(1) if name else value)
    return found


def problems_of(graph, spec):
    """What is wrong with the row of a spec function, and whether it has a fast path."""
    problems = []
    starts = graph.named(None, spec)
    if len(starts) != 1:
        return [f"{spec}: {len(starts)} definitions"]
    definitions = [one for one in graph.reached(starts) if PATH_FIELD.search(one.body)]
    if not definitions:
        return [f"{spec}: no .fast and .reference functions in reach"]
    for definition in definitions:
        paths = paths_of(definition)
        for kind, names in paths.items():
            if not names:
                problems.append(f"{spec}: no {kind} path")
            for name in names:
                found = graph.named(definition.file, name)
                if not found:
                    problems.append(f"{spec}: {kind} path '{name}' is no function of this room")
                if name.endswith("_reference") != (kind == "reference"):
                    problems.append(f"{spec}: {kind} path '{name}': references, and only they, end in _reference")
                others = sorted({repr(one) for one in graph.reached(found)
                                 if (one.uses_kernels if kind == "reference" else one.name.endswith("_reference"))})
                if others:
                    what = "uses kernels through" if kind == "reference" else "reaches the reference"
                    problems.append(f"{spec}: {kind} path '{name}' {what} {', '.join(others)}")
        if set(paths["fast"]) & set(paths["reference"]):
            problems.append(f"{spec}: one function is both paths")
    return problems


class PathsTest(unittest.TestCase):
    def test_every_mutation_finds_its_text(self):
        for one in json.loads((ROOT / "tests" / "aug" / "mutations.json").read_text(encoding="utf-8")):
            with self.subTest(transform=one["transform"], kind=one["kind"]):
                self.assertIn(one["text"], (ROOT / one["file"]).read_text(encoding="utf-8"))

    @classmethod
    def setUpClass(cls):
        files = sorted(path for path in AUG.rglob("*.*") if path.suffix in {".cpp", ".h"} and "kernels" not in path.parts)
        general = {"make_transform.h", "transform.h", "transform.cpp", "compose.cpp", "registry.cpp"}  # call both
        cls.graph = Graph([one for path in files if path.name not in general for one in functions_of(path)])
        cls.specs = spec_functions((AUG / "specs.h").read_text(encoding="utf-8"))

    def test_every_row_has_two_independent_paths(self):
        self.assertIn("solarize_spec", self.specs)
        without = {spec: problems for spec in self.specs if (problems := problems_of(self.graph, spec))}
        for problems in without.values():
            print("no fast path: " + "; ".join(problems))
        self.assertEqual(sorted(without), [], "rows without a fast path of their own")

    def test_kernels_know_no_reference(self):
        for path in sorted((AUG / "kernels").iterdir()):
            with self.subTest(file=path.name):
                self.assertEqual(re.findall(r"\w+_reference\b", stripped(path.read_text(encoding="utf-8"))), [])

    def test_every_spec_is_in_the_registry(self):
        registry = stripped((AUG / "registry.cpp").read_text(encoding="utf-8"))
        self.assertEqual([spec for spec in self.specs if f"{spec}()" not in registry], [])

    # The reading itself.
    def judged(self, text):
        return problems_of(Graph(functions_of(Path("one.cpp"), text)), "one_spec")

    GOOD = """
        namespace sluice::aug { namespace {
        constexpr int kTable[2] = {1, 2};
        int half(int x) { return x / 2; }
        template <class T> void one_reference(T x) { half(x); }
        template <class T> void one_fast(T x) { kernels::one(half(x)); }
        }  // namespace
        TransformSpec one_spec() {
          return make_transform(Definition<P, D>{.fast = {one_fast, nullptr}, .reference = {one_reference}});
        } }"""

    def test_a_sound_row_is_sound(self):
        self.assertEqual(self.judged(self.GOOD), [])

    def test_what_is_wrong_is_found(self):
        for old, new, expected in (
                ("{ kernels::one(half(x)); }", "{ one_reference(x); }", "reaches the reference one_reference"),
                ("return x / 2;", "return one_reference(x);", "reaches the reference one_reference"),
                ("{ half(x); }", "{ kernels::one(x); }", "uses kernels through one_reference"),
                ("return x / 2;", "return kernels::half(x);", "uses kernels through half"),
                (".fast = {one_fast", ".fast = {one_reference", "one function is both paths"),
                (".reference = {one_reference}", ".reference = {one_reference, one_fast}", "end in _reference"),
                (".fast = {one_fast, nullptr}, ", "", "no fast path"),
                ("{one_fast, nullptr}", "{[](int x) { half(x); }}", "is no function of this room")):
            with self.subTest(change=new):
                self.assertIn(old, self.GOOD)
                self.assertIn(expected, "; ".join(self.judged(self.GOOD.replace(old, new))))


if __name__ == "__main__":
    unittest.main()
