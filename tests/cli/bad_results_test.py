#!/usr/bin/env python3
# tests/cli/bad_results_test.py - result files that cannot be trusted, given to every command that reads one.
# SPDX-License-Identifier: Apache-2.0
"""usage: bad_results_test.py PROGRAM"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

KINDS = pathlib.Path(__file__).resolve().parents[1] / "results" / "kinds"
PROGRAM = None


def change(*path, value):
    def apply(document):
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value
    return apply


def repeat_a_row(document):
    document["rows"].append(document["rows"][0])


# What is wrong, and what the one line must say of it: the field, the value, what would be accepted.
BAD = {
    "older": (change("schema_version", value=0), ["schema_version 0", "reads 1 to 1"]),
    "newer": (change("schema_version", value=2), ["schema_version 2", "newer than 1"]),
    "row": (change("rows", 0, "median", value="fast"), ["rows[0].median", "must be a finite number", '"fast"']),
    "figure": (change("metrics", "timing", "step_time_p50_s", value="slow"),
               ["metrics.timing.step_time_p50_s", "must be a finite number", '"slow"']),
    "summary": (change("summary", "libraries", value=7), ["summary.libraries", "must be an array", "7"]),
    "section": (change("summary", value=[1]), ["summary", "must be an object", "an array"]),
    "twice": (repeat_a_row, ["rows[3]", "repeats rows[0]", "one row per case, library and params"]),
}


class BadResults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.good = cls.folder / "good" / "results" / "training.json"
        cls.good.parent.mkdir(parents=True)
        shutil.copy(KINDS / "training.json", cls.good)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def sluice(self, *words):
        return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=60, check=False)

    def run_folder(self, name, damage):
        """A run folder whose result file is damaged; what else a gate needs is sound."""
        run = self.folder / name
        (run / "results").mkdir(parents=True)
        document = json.loads(self.good.read_text(encoding="utf-8"))
        (run / "metrics.json").write_text(json.dumps(document["metrics"]), encoding="utf-8")
        damage(document)
        (run / "results" / "training.json").write_text(json.dumps(document), encoding="utf-8")
        return run

    def commands(self, run):
        file = run / "results" / "training.json"
        out = self.folder / "out"
        yield ["compare", file, self.good]
        yield ["compare", self.good, run]
        yield ["ratio", file, "--of", "sluice", "--over", "torch-eager"]
        for form in ("md", "html", "csv", "text", "junit", "openmetrics", "google-benchmark"):
            yield ["report", file, "--format", form]
        yield ["report", run, "--out", out]
        yield ["coverage", run, "--profile", "full-paper"]
        yield ["publish", "--from", run, "--to", out, "--purpose", "test", "--machine", "test"]
        yield ["baseline", "promote", run, "--baseline-dir", out, "--without-eval", "--maintainer", "--reason", "test"]

    def test_every_command_refuses_in_one_line(self):
        for name, (damage, said) in BAD.items():
            run = self.run_folder(name, damage)
            for words in self.commands(run):
                with self.subTest(bad=name, command=words):
                    done = self.sluice(*words)
                    self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    for words_said in ["training.json", *said]:
                        self.assertIn(words_said, done.stderr)
                    self.assertEqual(done.stdout, "")
                    self.assertFalse((self.folder / "out").exists())

    def test_validate_lists_the_same_problem(self):
        for name, (damage, said) in BAD.items():
            run = self.run_folder("validate-" + name, damage)
            done = self.sluice("validate", run)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            for words_said in ["unsound", "training.json", *said]:
                self.assertIn(words_said, done.stdout)

    def test_old_files_of_every_kind_still_compare(self):
        for file in sorted(KINDS.glob("*.json")):
            done = self.sluice("compare", file, file)
            self.assertIn(done.returncode, (0, 4), f"{file}: {done.stdout}{done.stderr}")
            self.assertEqual(done.stderr, "", file)
            self.assertEqual(self.sluice("report", file, "--format", "md").stdout, file.with_suffix(".md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
