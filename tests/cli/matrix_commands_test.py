#!/usr/bin/env python3
# tests/cli/matrix_commands_test.py - `sluice validate`, `coverage`, `publish` and `report` on what a run leaves.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ARGS = None
CONFIG = """\
version: 1
selection:
  scenario: image-rgb
  mode: micro
  libraries: [pillow, opencv]
  transforms: [Resize, HorizontalFlip]
data:
  data_dir: {data}
  num_items: 4
execution:
  num_runs: 3
"""


class CommandTest(unittest.TestCase):
    """A run folder of two libraries and two transforms: rows are taken from the fixtures, names from the plan."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.run_folder = self.folder / "R"
        self.run_folder.mkdir()
        (self.run_folder / "resolved_config.yaml").write_text(CONFIG.format(data=self.folder), encoding="utf-8")
        subprocess.run([ARGS.writer, self.folder / "fixtures"], check=True)
        planned = self.sluice("plan", "--config", self.run_folder / "resolved_config.yaml", "--json")
        self.assertEqual(planned.returncode, 0, planned.stderr)
        document = json.loads(planned.stdout)
        self.jobs = document.get("plan", document)["jobs"]
        self.files = [self.write_job(job) for job in self.jobs]

    def sluice(self, *words):
        return subprocess.run([ARGS.program, *map(str, words)], capture_output=True, text=True, timeout=100, check=False)

    def write_job(self, job):
        """The first row of a fixture, renamed for every case and library of the job."""
        document = json.loads((self.folder / "fixtures" / "peers.json").read_text(encoding="utf-8"))
        row = document["rows"][0]
        row["runs"] = row["runs"][:3]
        document["rows"] = []
        document["run_config"] = {
            "selection": {"scenario": "image-rgb", "mode": "micro", "transforms": ["Resize", "HorizontalFlip"]},
            "data": {"data_dir": str(self.folder)}, "execution": {"num_runs": 3, "device": "none"}}
        document["argv"] = ["sluice", "run", "--data-dir", str(self.folder)]
        for transform in ("Resize", "HorizontalFlip"):
            for library in job["rows"]:
                document["rows"].append(self.row_for(row, f"image-rgb/micro/{transform}", library, transform))
        path = self.run_folder / job["output_file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    def row_for(self, row, case, library, transform):
        row = json.loads(json.dumps(row))
        row.update(case=case, library=library, params={"transform": transform})
        row["thread_policy"] = {"asked": 1, "in_force": 1, "cpu_per_wall": 1.0, "name": "micro-single"}
        rates = []
        for number, run in enumerate(row["runs"]):
            run["run_id"] = f"s-1/{case}/{library}/{number}"
            run["cpu_ns"] = sum(run["samples_ns"])
            rates.append(row["items_per_sample"] * len(run["samples_ns"]) * 1e9 / sum(run["samples_ns"]))
        samples = sorted(row["items_per_sample"] * 1e9 / ns for run in row["runs"] for ns in run["samples_ns"])
        row.update(median=sorted(rates)[1], mean=sum(rates) / 3, p50=samples[len(samples) // 2], n_runs=3,
                   n_samples=len(samples))
        return row

    def edit(self, path, change):
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document)
        path.write_text(json.dumps(document), encoding="utf-8")

    def test_a_whole_run_is_sound_and_covered(self):
        for command in ("validate", "coverage"):
            done = self.sluice(command, self.run_folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = json.loads(self.sluice("coverage", self.run_folder, "--json").stdout)
        self.assertEqual((document["complete"], document["expected"], document["missing"]), (True, 6, []))
        document = json.loads(self.sluice("validate", self.run_folder, "--json").stdout)
        self.assertEqual([entry["rows"] for entry in document["files"]], [4, 2])

    def test_missing_rows_are_listed(self):
        pillow = next(path for path in self.files if path.name.startswith("pillow"))
        self.edit(pillow, lambda document: document["rows"].pop())
        done = self.sluice("coverage", self.run_folder)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("image-rgb/micro/HorizontalFlip in pillow: no such row", done.stdout)
        self.edit(pillow, lambda document: document.update(rows=[]))
        self.assertIn("the file holds no row", self.sluice("coverage", self.run_folder).stdout)
        self.assertEqual(self.sluice("validate", pillow).returncode, 1)
        pillow.unlink()
        done = self.sluice("coverage", self.run_folder, "--json")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["missing"][0]["reason"], "no such file")

    def test_a_failed_row_is_missing_with_its_reason(self):
        def fail(document):
            row = document["rows"][0]
            row.update(status="failed", reason="it burnt", runs=[], median=None)
        self.edit(self.files[0], fail)
        done = self.sluice("coverage", self.run_folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed: it burnt", done.stdout)

    def test_unreadable_is_exit_2(self):
        text = self.files[0].read_text(encoding="utf-8")
        self.files[0].write_text(text[: len(text) // 2], encoding="utf-8")
        done = self.sluice("validate", self.run_folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("unreadable", done.stdout)
        self.assertEqual(self.sluice("coverage", self.run_folder).returncode, 2)
        self.assertEqual(self.sluice("validate", self.folder / "nowhere").returncode, 2)

    def test_coverage_needs_a_configuration_or_a_profile(self):
        done = self.sluice("coverage", self.run_folder / "results")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--profile", done.stderr)
        self.assertEqual(self.sluice("coverage", self.run_folder, "--profile", "paper").returncode, 2)

    def test_profiles_ask_for_the_paper(self):
        counts = {}
        for profile in ("full-paper", "ram-reduced"):
            done = self.sluice("coverage", self.run_folder, "--profile", profile, "--json")
            self.assertEqual(done.returncode, 1, done.stderr)
            document = json.loads(done.stdout)
            counts[profile] = document["expected"]
            tables = {entry["file"]: entry for entry in document["tables"]}
            self.assertEqual(tables["image-rgb/micro/pillow"]["expected"], 57)
            self.assertEqual(tables["image-rgb/micro/pillow"]["present"], 0, "4 items are no table of 2000")
            self.assertEqual(tables["image-9ch/micro/kornia"]["expected"], 41)
            self.assertEqual(tables["video-16f/micro/kornia"]["expected"], 51)
            self.assertEqual(tables["video-16f/pipeline/kornia_memory_dataloader_augment"]["expected"], 50)
            self.assertEqual("image-rgb/pipeline/kornia_decode_dataloader_augment" in tables, profile == "full-paper")
        self.assertLess(counts["ram-reduced"], counts["full-paper"])
        asked = [{entry["file"] for entry in json.loads(self.sluice(
            "coverage", self.run_folder, "--profile", "full-paper", "--json", *flag).stdout)["missing"]}
            for flag in ([], ["--require-optional-libraries"])]
        dali = {f"{scenario}/pipeline/dali_decode_dataloader_augment_dev-cuda" for scenario in ("image-rgb", "video-16f")}
        self.assertEqual(asked[1] - asked[0], dali)

    def test_a_foreign_file_is_named_and_passed_over(self):
        (self.run_folder / "results" / "package.json").write_text('{"name": "theirs"}', encoding="utf-8")
        for words in (("coverage",), ("validate",), ("report", "--format", "text")):
            done = self.sluice(words[0], self.run_folder, *words[1:])
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
            self.assertIn("package.json: is no result file", done.stderr)

    def test_publish_keeps_nothing_private(self):
        target = self.folder / "published" / "snapshot"
        words = ["publish", "--from", self.run_folder, "--to", target, "--purpose", "test", "--machine", "m", "--allow-dirty"]
        done = self.sluice(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.sluice(*words).returncode, 2)
        self.assertEqual(self.sluice(*words, "--force").returncode, 0)
        files = [path for path in target.rglob("*") if path.is_file()]
        self.assertEqual(len(files), 3)
        for path in files:
            self.assertNotIn(str(self.folder), path.read_text(encoding="utf-8"))
        self.assertEqual(self.sluice("validate", target).returncode, 0)
        self.assertIn("pillow", self.sluice("report", target, "--format", "md").stdout)

    def test_publish_refuses_what_nobody_can_build_again(self):
        for file in self.files:
            self.edit(file, lambda document: document["tool"].update(git="0123456789ab-dirty"))
        words = ["publish", "--from", self.run_folder, "--to", self.folder / "p", "--purpose", "x", "--machine", "m"]
        done = self.sluice(*words)
        self.assertEqual((done.returncode, len(done.stderr.strip().splitlines())), (2, 1), done.stderr)
        self.assertIn("its program was built from changed sources (0123456789ab-dirty), so not published", done.stderr)
        self.assertFalse((self.folder / "p").exists())
        for file in self.files:
            self.edit(file, lambda document: document["tool"].update(git="0123456789ab"))
        self.assertEqual(self.sluice(*words).returncode, 0)

    def test_publish_refuses_what_is_unsound(self):
        self.edit(self.files[0], lambda document: document["rows"][0].update(median=1.0))
        done = self.sluice("publish", "--from", self.run_folder, "--to", self.folder / "p", "--purpose", "x",
                           "--machine", "m")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)
        self.assertFalse((self.folder / "p").exists())

    def test_report_shows_the_matrix(self):
        done = self.sluice("report", self.run_folder, "--format", "text")
        self.assertIn("Profiler: image-rgb on the CPU", done.stdout)
        self.assertIn("2/2", done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--writer", required=True)
    parser.add_argument("--program", required=True)
    ARGS = parser.parse_args()
    sys.exit(not unittest.main(argv=[sys.argv[0]], exit=False).result.wasSuccessful())
