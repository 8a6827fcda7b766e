#!/usr/bin/env python3
# tests/report/command_test.py - `sluice report` as a user meets it: files, output, errors and exit codes.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ARGS = None
KINDS = pathlib.Path(__file__).resolve().parents[1] / "results" / "kinds"


class ReportCommandTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.run_folder = self.folder / "R"
        subprocess.run([ARGS.writer, self.run_folder / "results"], check=True)
        for name in ("hostile", "large", "empty"):
            (self.run_folder / "results" / f"{name}.json").unlink()
        (self.run_folder / "env.json").write_text("{}", encoding="utf-8")

    def report(self, *words):
        return subprocess.run([ARGS.program, "report", *map(str, words)], capture_output=True, text=True, timeout=60,
                              check=False)

    def refused(self, *words):
        done = self.report(*words)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        return done.stderr

    def test_writes_three_files_beside_the_results(self):
        done = self.report(self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        written = [self.run_folder / name for name in ("report.md", "report.html", "results.csv")]
        self.assertEqual(done.stdout.splitlines(), [str(path) for path in written])
        self.assertIn("decode/jpeg/threads=1", written[0].read_text(encoding="utf-8"))
        self.assertTrue(written[1].read_text(encoding="utf-8").startswith("<!doctype html>"))
        self.assertEqual(len(written[2].read_text(encoding="utf-8").splitlines()), 1 + 8 + 3 + 12 + 3)

    def test_what_was_published_stays_as_it_is(self):
        published = self.folder / "docs" / "results" / "micro"
        (published / "image-rgb").mkdir(parents=True)
        file = published / "image-rgb" / "quick.json"
        file.write_bytes((self.run_folder / "results" / "quick.json").read_bytes())
        lines = published / "batch_times.jsonl"
        lines.write_text("".join(json.dumps({"idx": i, "dt_s": 0.5, "fetch_dt_s": 0.25, "materialize_dt_s": 0.25, "is_warmup": False,
                                             "dominant_dataset": "a", "dataset_counts": {"a": 2}, "dominant_gap_batches": None}) + "\n"
                                 for i in range(8)), encoding="utf-8")
        before = sorted(self.folder.rglob("*"))
        for at in (published, published.parent, file, lines):
            error = self.refused(at)
            self.assertIn(f"{at}: is not of a run folder", error)
            self.assertIn("--out DIR", error)
        self.assertEqual(self.report(file, "--format", "md").returncode, 0, "stdout needs no folder")
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        for at, name in ((published, "report.md"), (lines, "mixture_summary.txt")):
            done = self.report(at, "--out", self.folder / "drawn")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((self.folder / "drawn" / name).exists())
        self.assertFalse(list(published.rglob("*report*")) + list(published.rglob("*.svg")))

    def test_a_file_of_a_run_folder_has_its_report_beside_it(self):
        done = self.report(self.run_folder / "results" / "quick.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.run_folder / "results" / "report.md").exists())

    def test_a_format_goes_to_stdout_or_into_out(self):
        done = self.report(self.run_folder / "results" / "quick.json", "--format", "text")
        self.assertIn("median ± sd", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        done = self.report(self.run_folder, "--format", "csv", "--out", self.folder / "new" / "place")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path.name for path in (self.folder / "new" / "place").glob("[!.]*")], ["results.csv"])

    def write_verdict(self, status="FAIL"):
        line = {"metric": "tokens_per_sec_p50", "unit": "tokens/s", "baseline": 1000, "current": 900, "delta": -10,
                "delta_unit": "%", "threshold": "at most 5 % less", "status": status, "blocking": True,
                "reason": "10 % less", "details": None}
        verdict = {"rule": "stored baseline", "machine_profile": "cpu", "timestamp": "2026-11-16T02:00:00Z", "base": "B",
                   "candidate": "R", "status": status, "summary": f"{status} (1 failure, 0 warnings)", "lines": [line]}
        (self.run_folder / "verdict.json").write_text(json.dumps(verdict), encoding="utf-8")

    def test_formats_for_ci_come_from_the_verdict_of_a_folder(self):
        self.write_verdict()
        root = xml.etree.ElementTree.fromstring(self.report(self.run_folder, "--format", "junit").stdout)
        self.assertEqual((root.get("tests"), root.get("failures")), ("1", "1"))
        done = self.report(self.run_folder, "--format", "annotations")
        self.assertTrue(done.stdout.startswith("::error title=tokens_per_sec_p50 FAIL::"), done.stdout)
        done = self.report(self.run_folder, self.run_folder, "--format", "pr-comment")
        self.assertTrue(done.stdout.startswith("<!-- sluice-perf-gate -->\n"))
        self.assertEqual(done.stdout.count("## Performance gate"), 2)
        metrics = self.report(self.run_folder, "--format", "openmetrics").stdout
        self.assertIn('sluice_gate_verdict{rule="stored baseline",machine="cpu",verdict="FAIL"} 1', metrics)
        self.assertIn("sluice_case_rate{", metrics)
        done = self.report(self.run_folder / "verdict.json", "--format", "github-summary")
        self.assertIn("| tokens_per_sec_p50 | 1,000 tokens/s |", done.stdout)

    def test_formats_for_ci_come_from_result_files_too(self):
        quick = self.run_folder / "results" / "quick.json"
        root = xml.etree.ElementTree.fromstring(self.report(quick, "--format", "junit").stdout)
        self.assertEqual(root.get("tests"), "8")
        for name in ("google-benchmark", "bencher", "github-action-benchmark"):
            self.assertTrue(json.loads(self.report(quick, "--format", name).stdout), name)
        self.assertIn("## Results", self.report(quick, "--format", "github-summary").stdout)
        self.assertIn("verdict.json", self.refused(self.run_folder, "--format", "annotations"))
        self.write_verdict("MAYBE")
        self.assertIn("'MAYBE'", self.refused(self.run_folder, "--format", "junit"))

    def test_json_is_one_document(self):
        done = self.report(self.run_folder, "--json")
        document = json.loads(done.stdout)
        self.assertEqual([pathlib.Path(entry["path"]).name for entry in document["files"]], ["peers.json", "quick.json"])
        self.assertEqual(len(document["files"][1]["result"]["rows"]), 8)
        self.assertFalse((self.run_folder / "report.md").exists())

    def test_bad_input_is_one_line_that_names_it(self):
        quick = self.run_folder / "results" / "quick.json"
        text = quick.read_text(encoding="utf-8")
        document = json.loads(text)
        quick.write_text(text[: len(text) // 2], encoding="utf-8")
        self.assertIn("quick.json: not valid JSON", self.refused(self.run_folder))
        document["schema_version"] = 7
        quick.write_text(json.dumps(document), encoding="utf-8")
        self.assertIn("schema_version 7 is newer than 1, which this program reads; use a newer sluice",
                      self.refused(quick))
        document["schema_version"] = 1
        del document["rows"][2]["status"]
        quick.write_text(json.dumps(document), encoding="utf-8")
        self.assertIn("quick.json: rows[2].status: is missing", self.refused(quick))
        self.assertIn("does not exist", self.refused(self.folder / "none"))
        (self.folder / "hollow").mkdir()
        self.assertIn("holds no result file", self.refused(self.folder / "hollow"))

    def test_runs_beside_their_baseline(self):
        training, amp, loader = (self.folder / f"{name}.json" for name in ("training", "training-amp", "loader"))
        for path in (training, amp, loader):  # stored files share a session
            document = json.loads((KINDS / path.name).read_text(encoding="utf-8"))
            path.write_text(json.dumps({**document, "session_id": path.stem}), encoding="utf-8")
        done = self.report("--baseline", training, "--baseline", loader, "--training", amp, "--loader", loader,
                           "--out", self.folder / "gain")
        self.assertEqual(done.returncode, 0, done.stderr)
        headline, *paths = done.stdout.splitlines()
        self.assertRegex(headline, r"^Data loading 1\.00×.*, training \d+\.\d+×.*, memory .*, against the baseline\.$")
        self.assertEqual(paths, [str(self.folder / "gain" / name) for name in ("gain.md", "gain.html")])
        page = (self.folder / "gain" / "gain.md").read_text(encoding="utf-8")
        for heading in ("## Improvements vs Baseline", "## Optimizations Applied", "## Use of the machine over time",
                        "## Configuration"):
            self.assertIn(heading, page)
        self.assertIn("<h2>Configuration</h2>", self.report("--baseline", training, amp, "--format", "html").stdout)
        self.assertIn("no kind in common", self.refused("--baseline", training, loader))
        self.assertIn("--baseline RUN", self.refused("--loader", loader))
        self.assertIn("no run beside it", self.refused("--baseline", loader))
        self.assertIn("md and html", self.refused("--baseline", training, amp, "--format", "csv"))

    def test_bad_usage(self):
        quick = self.run_folder / "results" / "quick.json"
        self.assertIn("--out DIR", self.refused(quick, quick))
        self.assertIn("quick.json", self.refused(quick, "--out", quick))
        self.assertEqual(self.report().returncode, 2)
        self.assertEqual(self.report(quick, "--format", "pdf").returncode, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--writer", required=True)
    parser.add_argument("--program", required=True)
    ARGS = parser.parse_args()
    sys.exit(not unittest.main(argv=[sys.argv[0]], exit=False).result.wasSuccessful())
