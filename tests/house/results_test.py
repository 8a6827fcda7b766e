# tests/house/results_test.py - published results: the commit that each names is in the history, clean, and README.md of the folder tells of each, and where it comes from.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results"
README = (ROOT / "README.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT / "tools"))
import provenance  # noqa: E402

# Measured before these were rules; each goes when it is measured anew.
DIRTY = {"c6eee1034a14-dirty"}
WITHOUT_COMMIT = {
    "bisect/simulated.json", "bisect/trials-cpu.json", "eval-spread/before.json", "eval-spread/now.json", "false-alarms.json", "gate-quick/R2.gate_report.txt",
    "gate-quick/R2.verdict.json", "gate-quick/R3.gate_report.txt", "gate-quick/R3.verdict.json", "gate-quick/turns-of-one/same-program-4x200-steps.json",
    "gate-quick/turns-of-one/same-program-before-8x20-steps.json", "gate-quick/turns-of-one/same-program-warm-4x120-steps.json",
    "gate-quick/turns-of-one/same1.gate_report.txt", "gate-quick/turns-of-one/same1.verdict.json", "gate-quick/turns-of-one/same2.gate_report.txt",
    "gate-quick/turns-of-one/same2.verdict.json", "gate-quick/turns-of-one/slow1.gate_report.txt", "gate-quick/turns-of-one/slow1.verdict.json", "gate-quick/visits.json",
    "h200-images/first_visit.txt", "h200-images/gpu_image_speed.txt", "h200-images/probe.txt", "h200-images/sanitizers.txt",
    "h200-images/words_instead_of_bytes.txt", "h200-vit5-small/kernels.txt", "h200-vit5-small/sanitize.txt", 
    "mixture/metadata/study.json", "mixture/mixture_summary.txt", "python-import.json", "selftest-simulated.json",
    
}


# In prose: words of hexadecimal digits with a letter and a digit among them; of digits alone where they are called a commit or end a part of a sentence.
HASH = re.compile(r"(?<![\w/.#%-])(?:(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}|(?:(?<=\bcommit )\d{7,12}|(?<=\bat )\d{7,12}(?=[,;:.)`])))(?!\w|\.\w|/)")


def hashes(text):
    """(line, hash) of the commits that a page names; code in fences is an example."""
    text = re.sub(r"```.*?```", lambda part: "\n" * part[0].count("\n"), text, flags=re.DOTALL)
    return [(text.count("\n", 0, found.start()) + 1, found[0]) for found in HASH.finditer(text)]


def is_in_history(sha):
    return subprocess.run(["git", "merge-base", "--is-ancestor", sha, "HEAD"], cwd=ROOT, capture_output=True, check=False).returncode == 0


def published(*suffixes):
    return [path for path in sorted(RESULTS.rglob("*")) if path.suffix in suffixes]


class ResultsTest(unittest.TestCase):
    def skip_without_history(self):
        if subprocess.run(["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() != "false":
            self.skipTest("the history is not here")

    def test_every_commit_is_in_the_history(self):
        self.skip_without_history()
        named = {}
        for path in published(".json", ".txt"):
            for commit in provenance.Origin(path).commits:
                named.setdefault(commit, path.relative_to(ROOT))
        self.assertGreater(len(named), 10)
        for commit, path in named.items():
            with self.subTest(commit=commit, path=str(path)):
                self.assertRegex(commit, "^[0-9a-f]{7,40}(-dirty)?$")
                self.assertTrue(commit in DIRTY or not commit.endswith("-dirty"), "built from changed sources: it cannot be built again")
                sha = commit.removesuffix("-dirty")
                self.assertEqual(not is_in_history(sha), sha in provenance.NOT_IN_HISTORY, "not in the history: it cannot be built again")
        self.assertEqual(DIRTY - named.keys(), set(), "no result names it any more: take it off the list")
        self.assertEqual(provenance.NOT_IN_HISTORY - {commit.removesuffix("-dirty") for commit in named}, set(), "no result names it any more: take it off the list")

    def test_every_commit_of_the_prose_is_in_the_history(self):
        self.skip_without_history()
        named = {}
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "bench/kernels").glob("*.md"))):
            for line, sha in hashes(page.read_text(encoding="utf-8")):
                named.setdefault(sha, f"{page.relative_to(ROOT)}:{line}")
        self.assertGreater(len(named), 20)
        for sha, place in named.items():
            with self.subTest(commit=sha, place=place):
                listed = any(lost.startswith(sha) for lost in provenance.NOT_IN_HISTORY)
                self.assertTrue(listed or is_in_history(sha), "not in the history: say it without the hash, or take the result away")

    def test_the_headline_names_the_commit_of_its_files(self):
        said = re.findall(r"Sluice at commit ([0-9a-f]+).*?(?=\n\n)", README, re.DOTALL)
        paragraphs = [part for part in README.split("\n\n") if "Sluice at commit" in part]
        self.assertEqual((len(said), len(paragraphs)), (1, 1))
        files = set(re.findall(r"\]\((docs/results/[^)#]+\.json)#", paragraphs[0]))
        self.assertGreater(len(files), 1)
        for file in files:
            self.assertEqual(json.loads((ROOT / file).read_text(encoding="utf-8"))["tool"]["git"], said[0], file)

    def test_what_is_a_hash_in_prose(self):
        for text, found in (("built at e65926e, commit 7693726; (5a9b532).", ["e65926e", "7693726", "5a9b532"]), ("`c5f91eb33b9a` and c6eee1034a14-dirty, at 7693726)", ["c5f91eb33b9a", "c6eee1034a14", "7693726"]),
                            ("1000000 images, at 4194304 bytes, decade, defaced, 0x1f2e3d4c", []), ("a\n```\n11  205acdb11217\n```\nat fe27c74", ["fe27c74"]),
                            ("[1](a.txt#c5f91eb33b9a;1), [a](5a9b532.json), site/5a9b532", [])):
            self.assertEqual([sha for _, sha in hashes(text)], found, text)
        self.assertEqual(hashes("a\n```\nb\n```\nat fe27c74"), [(5, "fe27c74")])

    def test_every_file_names_a_commit(self):
        silent = {str(path.relative_to(RESULTS)) for path in published(".json", ".txt") if not provenance.Origin(path).commits}
        self.assertEqual(silent - WITHOUT_COMMIT, set(), "no commit is named: write it as \"git\" (bench/measured_by.py)")
        self.assertEqual(WITHOUT_COMMIT - silent, set(), "names one now, or is gone: take it off the list")

    def test_scripts_write_the_commit(self):
        writers = [path for path in sorted((ROOT / "bench").glob("*.py")) if re.search(r"write_text\(.*(?:json\.dumps|text)|print\(json\.dumps\(result", path.read_text(encoding="utf-8"))]
        self.assertGreater(len(writers), 8)
        for path in writers:
            self.assertRegex(path.read_text(encoding="utf-8"), r'"(?:git": git\(|program": )', f"{path.name} writes a result without the commit (bench/measured_by.py)")

    def test_the_commit_of_a_script(self):
        sys.path.insert(0, str(ROOT / "bench"))
        import measured_by
        with tempfile.TemporaryDirectory() as folder:
            def sh(words):
                return subprocess.run(words, shell=True, cwd=folder, check=True, capture_output=True, text=True,
                                      env={**os.environ, "GIT_CEILING_DIRECTORIES": str(Path(folder).parent), "GIT_CONFIG_GLOBAL": "/dev/null"}).stdout.strip()

            self.assertEqual(measured_by.git(checkout=folder), "unknown")
            sh("git init -q . && echo 1 > a && git add a && git -c user.name=T -c user.email=t@example.org commit -qm one && git -c user.name=T -c user.email=t@example.org tag -a -m t v1")
            sha = sh("git rev-parse --short=12 HEAD")
            self.assertEqual(measured_by.git(checkout=folder), sha)
            (Path(folder) / "a").write_text("2\n")
            self.assertEqual(measured_by.git(checkout=folder), sha + "-dirty")
            program = Path(folder) / "program"
            for said, commit in ((f"sluice 0.1.0 ({sha})", sha), (f"sluice 0.1.0 ({sha}-dirty)", f"{sha}-dirty"), ("sluice 0.1.0 (unknown)", "unknown")):
                program.write_text(f"#!/bin/sh\necho '{said}'\n")
                program.chmod(0o755)
                self.assertEqual(measured_by.git(program), commit)
        self.assertEqual(measured_by.git(folder + "/none"), "unknown")

    def test_the_table_of_provenance_is_fresh(self):
        text = (RESULTS / "README.md").read_text(encoding="utf-8")
        self.assertMultiLineEqual(provenance.PLACE.search(text)[2], provenance.table(), "run tools/provenance.py")

    def test_commits_and_scores_of_a_row_are_those_of_its_files(self):
        """Read here by plain search, beside what the tool understands of a file."""
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in provenance.PLACE.search((RESULTS / "README.md").read_text(encoding="utf-8"))[2].splitlines()[2:]]
        self.assertEqual([row[0] for row in rows], [entry.name for entry in sorted(RESULTS.iterdir()) if entry.name != "README.md"])
        for name, commit, _, noise, _ in rows:
            texts = [path.read_text(encoding="utf-8", errors="replace") for path in ([RESULTS / name] if (RESULTS / name).is_file() else (RESULTS / name).rglob("*")) if path.is_file()]
            for sha in re.findall(r"\b[0-9a-f]{12}\b", commit):
                self.assertTrue(any(sha in text for text in texts), f"{name}: no file of it names {sha}")
            for text in texts:
                for sha in re.findall(r'"tool": \{\s*"version": "[^"]*",\s*"git": "([0-9a-f]{12})', text):
                    self.assertIn(sha, commit, name)
            zero = any(re.search(r'"noise": \{\s*"score": 0\b', text) for text in texts)
            self.assertEqual("**0**" in noise, zero, name)

    def test_what_a_cell_says(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, score, git in (("one/a.json", 0, "6051632f628e"), ("one/b.json", 90, "c6eee1034a14-dirty"), ("one/c.json", 97, "0123456789ab"), ("two.json", 0, "0123456789ab")):
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text(json.dumps({"tool": {"git": git}, "rows": [{"runs": [1] * (1 + score // 90)}], "environment": {"timestamp": "2026-11-18T01:00:00Z", "noise": {"score": score}}}))
            (root / "one/d.txt").write_text("no word of it")
            lines = provenance.table(root).splitlines()[2:]
        self.assertEqual(lines, [
            "| one | 0123456789ab, 6051632f628e (commit not in history), c6eee1034a14 (built from changed sources), none in d.txt | 2026-11-18 | **0** (a.json), 90 to 97 | 1 to 2 |",
            "| two.json | 0123456789ab | 2026-11-18 | **0** | 1 |"])

    def test_the_readme_tells_of_each(self):
        links = set(re.findall(r"\]\(([^)#]+)", (RESULTS / "README.md").read_text()))
        for entry in sorted(RESULTS.iterdir()):
            if entry.name != "README.md":
                self.assertTrue(any(link.split("/")[0] == entry.name for link in links), f"{entry.name} is not in docs/results/README.md")
        for link in links:
            if "://" not in link:
                self.assertTrue((RESULTS / link).exists(), link)


if __name__ == "__main__":
    unittest.main()
