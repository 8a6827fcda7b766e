# tests/cli/watch_test.py - `sluice watch` as a user meets it: programs that mark, and programs that go wrong.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.argv.pop(1)).resolve()
PLAIN = ROOT / "examples" / "watch" / "train_plain.py"
ENV = {key: value for key, value in os.environ.items() if key not in {"SLUICE_MARKS", "PYTHONPATH"}}


class WatchTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def sluice(self, *words, env=None):
        return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, cwd=self.folder, timeout=120,
                              env=env or ENV)

    def watch(self, *command, flags=(), out="R", code=0):
        done = self.sluice("watch", *flags, "--out", out, "--", *command)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def row(self, out="R"):
        file = json.loads((self.folder / out / "results" / "watch.json").read_text(encoding="utf-8"))
        return file["rows"][0]

    def script(self, *lines):
        path = self.folder / "script.py"
        path.write_text("\n".join(["import os, sys", "import sluice_marks as marks", *lines]), encoding="utf-8")
        return [sys.executable, "-B", path]

    def test_a_run_folder_with_steps_phases_and_metrics(self):
        done = self.watch(sys.executable, "-B", PLAIN, 30, flags=["--warmup", 5, "--runs", 2, "--samples-per-step", 16])
        self.assertIn("watch/step: 50 steps in 2 runs, median ", done.stdout)
        self.assertIn("weights ", done.stderr)
        self.assertEqual((self.folder / "R" / "program.log").read_text(encoding="utf-8").count("weights "), 2)
        row = self.row()
        self.assertEqual((row["status"], row["unit"], row["items_per_sample"]), ("ok", "samples/s", 16))
        self.assertEqual([len(run["samples_ns"]) for run in row["runs"]], [25, 25])
        self.assertNotEqual(row["runs"][0]["pid"], row["runs"][1]["pid"])
        details = row["runs"][0]["details"][0]
        self.assertEqual(list(details["phases_ns"]), ["data", "forward", "backward", "optimizer"])
        for i, step in enumerate(details["phased_step_ns"]):
            self.assertLessEqual(sum(times[i] for times in details["phases_ns"].values()), step)
        # Not known where an earlier child was larger: under sanitizers one that was forked from us is.
        self.assertTrue(row["peak_rss_bytes"] is None or row["peak_rss_bytes"] > 1 << 20, row["peak_rss_bytes"])
        metrics = json.loads((self.folder / "R" / "metrics.json").read_text(encoding="utf-8"))
        self.assertEqual(metrics["throughput"]["samples_per_step"], 16)
        self.assertEqual(metrics["timing"]["steps"], 25)
        self.assertIsNone(metrics["mfu"]["mfu_p50"])
        for name in ("env.json", "resolved_config.yaml", "report.md", "report.html"):
            self.assertTrue((self.folder / "R" / name).is_file(), name)

    def test_compare_accepts_it(self):
        for out in ("A", "B"):
            self.watch(sys.executable, "-B", PLAIN, 20, flags=["--runs", 3], out=out)
        done = self.sluice("compare", "A", "B", "--json", "--threshold", "90%")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("watch/step", done.stdout)

    def test_the_gate_judges_it_against_a_stored_run(self):
        self.watch(sys.executable, "-B", PLAIN, 20)
        done = self.sluice("gate", "--compare", "--current", "R", "--baseline-dir", "B")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        done = self.sluice("baseline", "promote", "R", "--without-eval", "--maintainer", "--reason", "first", "--baseline-dir", "B")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.sluice("gate", "--compare", "--current", "R", "--baseline-dir", "B", "--out", "G")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("samples_per_sec_p50 (steps/s), step_time_p50_s (s): median step of the best run", done.stdout)
        self.assertNotIn("tokens", done.stdout)
        line = json.loads((self.folder / "G" / "verdict.json").read_text(encoding="utf-8"))["lines"][0]
        self.assertIn((line["metric"], line["unit"]), [("samples_per_sec_p50", "steps/s"), ("fence/samples_per_sec_p50", "steps/s")])
        self.assertTrue((self.folder / "G" / "junit.xml").is_file())

    def test_one_run_has_one_rate_per_command_each_by_its_name(self):
        flags = ["--runs", 3, "--samples-per-step", 8]
        done = self.watch(sys.executable, "-B", PLAIN, 20, flags=flags, out="A")
        shown = {line.split("  ")[1].strip(): float(line.split()[-3]) for line in done.stdout.splitlines()
                 if line.endswith(("(report)", "(compare)", "(gate)"))}
        self.assertEqual(len(shown), 3, done.stdout)
        self.assertIn("samples/s", done.stdout)
        metrics = json.loads((self.folder / "A" / "metrics.json").read_text(encoding="utf-8"))
        near = lambda name, value: self.assertAlmostEqual(shown[name] / value, 1, places=4)
        near("best run, by its median step", metrics["throughput"]["samples_per_sec_p50"])
        near("median over runs", self.row(out="A")["median"])
        compared = json.loads(self.sluice("compare", "A", "A", "--json", "--threshold", "90%").stdout)
        near("geometric mean over runs", compared["rows"][0]["base"]["value"])

    def test_json_is_the_result_file_alone(self):
        done = self.watch(sys.executable, "-B", PLAIN, flags=["--json", "--quiet"])
        self.assertEqual(json.loads(done.stdout)["rows"][0]["case"], "watch/step")
        self.assertEqual(done.stderr, "")

    def test_a_program_in_c(self):
        paths = self.sluice("watch", "--print-paths").stdout.splitlines()
        self.assertEqual([Path(path).name for path in paths], ["sluice_marks.h", "sluice_marks.py"])
        for standard in ("gnu99", "c99", "c11"):
            subprocess.run([os.environ.get("CC", "cc"), f"-std={standard}", "-O1", "-Wall", "-Wextra", "-Werror", "-I",
                            Path(paths[0]).parent, ROOT / "examples" / "watch" / "train.c", "-o", self.folder / "train"],
                           check=True)
        self.watch("./train", 50, flags=["--name", "mine"])
        row = self.row()
        self.assertEqual(row["case"], "watch/mine")
        self.assertEqual(list(row["runs"][0]["details"][0]["phases_ns"]), ["forward", "update"])
        self.assertEqual(len(row["runs"][0]["samples_ns"]), 45)

    def test_enough_steps_end_the_program(self):
        endless = self.script("while True:", "    marks.step()", "    sum(range(10000))")
        self.watch(*endless, flags=["--steps", 20, "--warmup", 2, "--limit", 60])
        self.assertEqual(len(self.row()["runs"][0]["samples_ns"]), 20)

    def test_programs_that_go_wrong(self):
        steps = ["for _ in range(10):", "    marks.step()"]
        cases = [("never marks", ["pass"], [], 5, "marked no step: call sluice_marks.step()"),
                 ("fails", [*steps, "sys.exit(3)"], [], 5, "ended with exit code 3 after 9 steps"),
                 ("raises", [*steps, "raise ValueError"], [], 5, "ended with exit code 1 after 9 steps"),
                 ("crashes", [*steps, "os.abort()"], [], 5, "was ended by signal 6 (exit code 134) after 9 steps"),
                 ("too few", steps, ["--warmup", 9], 5, "marked 9 steps, of which --warmup 9 leaves none"),
                 ("hangs", [*steps, "while True: pass"], ["--limit", 2], 124, "did not end within --limit 2 s after 9 steps")]
        for name, lines, flags, code, expected in cases:
            with self.subTest(name):
                shutil.rmtree(self.folder / "R", ignore_errors=True)
                done = self.watch(*self.script(*lines), flags=["--quiet", *flags], code=code)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(expected, done.stderr)
                self.assertFalse((self.folder / "R" / "metrics.json").exists())
                self.assertIn(expected, self.row()["reason"])

    def test_bad_usage_runs_nothing(self):
        for words, expected in [(["--", "no-such-program"], "no-such-program"), ([], "no program"),
                                (["--", "./none"], "./none"), (["--runs", "0", "--", "true"], "--runs"),
                                (["--gpu", "tpu", "--", "true"], "--gpu tpu"), (["--name", "a/b", "--", "true"], "a/b")]:
            done = self.sluice("watch", "--out", "R", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(expected, done.stderr)
            self.assertFalse((self.folder / "R").exists())

    def test_forked_workers_mark_nothing_and_processes_are_counted(self):
        forks = self.script("for i in range(10):", "    marks.step()",
                            "    if i == 5 and os.fork() == 0:", "        marks.step()",
                            "        with marks.phase('child'): pass", "        os._exit(0)", "    if i == 5: os.wait()")
        self.watch(*forks, flags=["--warmup", 0])
        details = self.row()["runs"][0]["details"][0]
        self.assertEqual((details["steps"], details["processes"], details["skipped_records"]), (9, 1, 0))
        self.assertNotIn("phases_ns", details)

    def test_the_module_does_nothing_when_nobody_watches(self):
        env = dict(ENV, PYTHONPATH=str(ROOT / "adapters" / "python"))
        done = subprocess.run([sys.executable, "-B", PLAIN, "5"], env=env, cwd=self.folder, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])
        env["SLUICE_MARKS"] = str(self.folder / "missing" / "marks")  # cannot be made: off, and no word
        done = subprocess.run([sys.executable, "-B", PLAIN, "5"], env=env, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
