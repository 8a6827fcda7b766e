# tests/cli/ci_command_test.py - `sluice ci` as a user meets it: files, refusals, and lines that the program accepts.
# SPDX-License-Identifier: Apache-2.0
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()


class CiTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def sluice(self, *words):
        return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, cwd=self.folder, timeout=60,
                              check=False)

    def test_writes_two_files_and_again_over_its_own(self):
        for _ in range(2):
            done = self.sluice("ci", "--provider", "github", "--runner", "self-hosted,gpu")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.split(), ["./.github/workflows/perf_gate.yml", "./docs/perf.md"])
        text = (self.folder / ".github/workflows/perf_gate.yml").read_text(encoding="utf-8")
        self.assertEqual(text, self.sluice("ci", "--runner", "self-hosted,gpu", "--print").stdout)
        done = self.sluice("ci", "--provider", "gitlab", "--out-dir", "sub", "--json")
        self.assertEqual(json.loads(done.stdout)["files"], ["sub/.gitlab/perf_gate.yml", "sub/docs/perf.md"])

    def test_overwrites_nothing_of_others(self):
        page = self.folder / "docs" / "perf.md"
        page.parent.mkdir()
        page.write_text("mine", encoding="utf-8")
        done = self.sluice("ci")
        self.assertEqual(done.returncode, 2)
        self.assertIn("docs/perf.md: exists, and sluice did not write it", done.stderr)
        self.assertEqual(page.read_text(encoding="utf-8"), "mine")
        self.assertFalse((self.folder / ".github").exists())
        self.assertEqual(self.sluice("ci", "--force").returncode, 0)
        self.assertIn("# Performance gate", page.read_text(encoding="utf-8"))

    def test_bad_flags(self):
        for words, expected in [(["--provider", "jenkins"], "--provider"), (["--runner", "a b"], "--runner 'a b'"),
                                (["--baseline-branch", "a;b"], "--baseline-branch 'a;b'"), (["--artifact-days", "0"], "--artifact-days")]:
            done = self.sluice("ci", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(expected, done.stderr)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_every_line_calls_a_command_with_flags_it_has(self):
        """Lines of the workflow must not outlive the commands they call."""
        for provider in ("github", "gitlab"):
            text = self.sluice("ci", "--provider", provider, "--print").stdout.replace("\\\n", " ")
            calls = re.findall(r"\./sluice ((?:[a-z]+ ?)+)([^|>\n]*)", text)
            self.assertGreater(len(calls), 6)
            for command, rest in calls:
                words = command.split()[:2 if command.startswith("baseline") else 1]
                done = self.sluice(*words, "--help-all")
                self.assertEqual(done.returncode, 0, words)
                if "--against" in rest and "--against" not in done.stdout:
                    continue  # a program without the paired gate
                for flag in set(re.findall(r"--[a-z-]+", rest)):
                    self.assertRegex(done.stdout, rf"(^|[ ,]){flag}\b", f"{words} {flag}")

    def test_shell_and_workflow_checkers_find_nothing(self):
        text = self.sluice("ci", "--print").stdout
        for block in re.findall(r"run: \|\n((?: {10}.*\n|\n)+)", text):
            script = "\n".join(line[10:] for line in block.splitlines())
            done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr + script)
        if shutil.which("actionlint"):
            path = self.folder / "perf_gate.yml"
            path.write_text(text, encoding="utf-8")
            done = subprocess.run(["actionlint", path], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)


def step_of_workflow(name):
    """The shell lines of the step whose name begins so."""
    text = subprocess.run([PROGRAM, "ci", "--print"], capture_output=True, text=True, check=True).stdout
    return re.search(rf"name: {name}.*?run: \|\n((?: {{10}}[^\n]*\n)+)", text, re.DOTALL).group(1)


class MeasureTest(unittest.TestCase):
    """The step that measures, with a program that ends as it is told and writes down what it was asked."""

    def codes_of(self, base, *ends):
        block = step_of_workflow("Bench and eval")
        with tempfile.TemporaryDirectory() as folder:
            there = Path(folder)
            (there / "ends").write_text("\n".join(ends) + "\n")
            (there / "sluice").write_text('#!/bin/sh\necho "$@" >> asked\nmkdir perf/stored\nread -r code < ends\nsed -i 1d ends\nexit "$code"\n')
            (there / "sluice").chmod(0o755)
            (there / "perf").mkdir()
            subprocess.run(["bash", "-eo", "pipefail", "-c", block], cwd=folder, check=True,
                           env={"UPDATE": "", "BASE_REF": base, "GITHUB_OUTPUT": "output", "PATH": "/usr/bin:/bin"})
            return (there / "output").read_text(), (there / "asked").read_text().splitlines()

    def test_baselines_are_those_of_the_base_branch(self):
        output, asked = self.codes_of("main", "0")
        self.assertEqual(output, "code=0\n")
        self.assertIn("--baseline-ref origin/main", asked[0])
        self.assertNotIn("--baseline-ref", self.codes_of("", "0")[1][0])

    def test_an_undecided_run_is_made_once_more(self):
        for ends, code, times in [(["5", "0"], 0, 2), (["5", "5"], 5, 2), (["5", "1"], 1, 2), (["1"], 1, 1)]:
            output, asked = self.codes_of("main", *ends)
            self.assertEqual((output, len(asked)), (f"code={code}\n", times))


class GitlabTest(unittest.TestCase):
    """The script of the merge request's job, with a program that ends as it is told."""

    def code_of(self, **ends):
        """The exit code of the job, and what it asked for."""
        text = subprocess.run([PROGRAM, "ci", "--print", "--provider", "gitlab"], capture_output=True, text=True, check=True).stdout
        script = re.search(r"env --out perf/env\n    - \|\n((?: {6}[^\n]*\n)+)", text).group(1)
        with tempfile.TemporaryDirectory() as folder:
            there = Path(folder)
            for name, codes in ends.items():
                (there / name).write_text("\n".join(codes) + "\n")
            (there / "sluice").write_text('#!/bin/sh\nfor out; do :; done\necho "$out" >> asked\nmkdir "$out"\nends=${out#perf/}\n'
                                          'read -r code < "$ends"\nsed -i 1d "$ends"\nexit "$code"\n')
            (there / "git").write_text("#!/bin/sh\n")
            for program in ("sluice", "git"):
                (there / program).chmod(0o755)
            (there / "perf").mkdir()
            done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=folder, check=False,
                                  env={"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "PERF_BUILD": "true",
                                       "PATH": f"{folder}:/usr/bin:/bin"})
            return done.returncode, (there / "asked").read_text().split()

    def test_what_is_not_decided_is_asked_once_more(self):
        both = ["perf/stored", "perf/pairs"]
        for stored, pairs, code, asked in [(["0"], ["0"], 0, both), (["5", "0"], ["0"], 0, ["perf/stored", *both]),
                                           (["5", "5"], ["0"], 5, ["perf/stored", *both]), (["4"], ["1"], 1, both),
                                           (["1"], ["5", "5"], 1, [*both, "perf/pairs"]), (["5", "1"], ["0"], 1, ["perf/stored", *both])]:
            self.assertEqual(self.code_of(stored=stored, pairs=pairs), (code, asked), (stored, pairs))


FAKE_CURL = """#!/usr/bin/env python3
# Answers as GitLab would, and writes down what it was asked.
import json, pathlib, sys
config = sys.stdin.read()
words = sys.argv[1:]
with open("asked", "a") as asked:
    asked.write(json.dumps({"words": words, "config": config, "data": pathlib.Path("note.json").read_text()}) + "\\n")
value = lambda flag: words[words.index(flag) + 1] if flag in words else None
answer = ""
if words[-1].endswith("/user"):
    answer = '{"id": 7}'
elif "page=" in words[-1]:
    page = words[-1].split("page=")[-1]
    answer = pathlib.Path("page" + page).read_text()
    following = str(int(page) + 1)
    pathlib.Path(value("--dump-header")).write_text("HTTP/2 200\\r\\nx-next-page: %s\\r\\n"
                                                    % (following if pathlib.Path("page" + following).exists() else ""))
if value("--output") not in (None, "/dev/null"):
    pathlib.Path(value("--output")).write_text(answer)
elif value("--output") is None:
    print(answer)
"""


class GitlabNoteTest(unittest.TestCase):
    """The job that writes the note, with a curl that answers as GitLab would."""

    MARKER = "<!-- sluice-perf-gate -->"
    TOKEN = "glpat-secret"

    def posted(self, *pages, comment=True):
        text = subprocess.run([PROGRAM, "ci", "--print", "--provider", "gitlab"], capture_output=True, text=True, check=True).stdout
        job = text[text.index("perf-note:"):text.index("perf-baseline:")]
        script = re.search(r"  script:\n    - \|\n((?: {6}[^\n]*\n)+)", job).group(1)
        with tempfile.TemporaryDirectory() as folder:
            there = Path(folder)
            for number, notes in enumerate(pages, 1):
                (there / f"page{number}").write_text(json.dumps(notes))
            (there / "curl").write_text(FAKE_CURL)
            (there / "curl").chmod(0o755)
            (there / "perf").mkdir()
            if comment:
                (there / "perf" / "pr_comment.md").write_text(f'{self.MARKER}\n## "FAIL" \\ `x`\n')
            done = subprocess.run(["sh", "-eu", "-c", script], cwd=folder, check=False, capture_output=True, text=True,
                                  env={"CI_API_V4_URL": "https://gitlab.example/api/v4", "CI_PROJECT_ID": "3",
                                       "CI_MERGE_REQUEST_IID": "5", "PERF_NOTE_TOKEN": self.TOKEN,
                                       "PATH": f"{folder}:/usr/bin:/bin"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(self.TOKEN, done.stdout + done.stderr)
            asked = [json.loads(line) for line in (there / "asked").read_text().splitlines()] if comment else []
        for one in asked:
            self.assertNotIn(self.TOKEN, " ".join(one["words"]), "no command line holds the token")
            self.assertEqual(one["config"], f'header = "PRIVATE-TOKEN: {self.TOKEN}"\n')
        return asked

    @unittest.skipUnless(shutil.which("jq"), "needs jq")
    def test_the_first_note_is_posted_and_later_ones_edit_it(self):
        notes = "https://gitlab.example/api/v4/projects/3/merge_requests/5/notes"
        other = {"id": 1, "author": {"id": 9}, "body": self.MARKER + "\nsomebody else's"}
        mine = {"id": 2, "author": {"id": 7}, "body": "no marker"}
        ours = {"id": 44, "author": {"id": 7}, "body": self.MARKER + "\nbefore"}
        for pages, method, address in ([[[]], "POST", notes], [[[other, mine]], "POST", notes],
                                       [[[other, ours]], "PUT", notes + "/44"], [[[other], [mine], [ours]], "PUT", notes + "/44"]):
            last = self.posted(*pages)[-1]
            self.assertEqual(last["words"][last["words"].index("--request") + 1], method, pages)
            self.assertEqual(last["words"][-1], address, pages)
            self.assertEqual(json.loads(last["data"])["body"], f'{self.MARKER}\n## "FAIL" \\ `x`\n')

    def test_without_a_comment_nothing_is_asked(self):
        self.assertEqual(self.posted([], comment=False), [])


class VerdictTest(unittest.TestCase):
    """The last step of the workflow, run as the runner would."""

    def verdict(self, event, stored, pairs):
        block = step_of_workflow("Verdict")
        return subprocess.run(["bash", "-eo", "pipefail", "-c", block], capture_output=True, text=True, check=False,
                              env={"EVENT": event, "STORED": stored, "PAIRS": pairs, "PATH": "/usr/bin:/bin"})

    def test_exit_codes(self):
        for event, stored, pairs, code, warns in [
                ("pull_request", "0", "0", 0, False), ("pull_request", "4", "0", 0, True), ("pull_request", "1", "0", 1, False),
                ("pull_request", "4", "1", 1, True), ("pull_request", "1", "5", 1, True), ("pull_request", "5", "0", 0, True),
                ("pull_request", "5", "4", 0, True), ("workflow_dispatch", "5", "", 5, False),
                ("pull_request", "0", "2", 2, False), ("workflow_dispatch", "4", "", 4, False),
                ("workflow_dispatch", "0", "", 0, False)]:
            done = self.verdict(event, stored, pairs)
            self.assertEqual((done.returncode, "::warning" in done.stdout), (code, warns), (event, stored, pairs))


if __name__ == "__main__":
    unittest.main()
