#!/usr/bin/env python3
# tests/cli/program_test.py - the built program as a user meets it: exit codes, messages, interruption, resume.
# SPDX-License-Identifier: Apache-2.0
"""usage: program_test.py PROGRAM"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = None
# Small enough for a test; the numbers mean nothing.
TINY = ["--images", "2", "--samples", "1", "--sample-ms", "1", "--warmup-ms", "0"]
SHORTEST = ["bench", "harness", "--quiet"]  # the same session as `quick`, with four rows
TRANSFORMS = ["HorizontalFlip", "Resize", "Rotate", "GaussianBlur", "Equalize"]
PLAYED = ["pillow", "opencv-wheel"]  # by tour_worker.py


def run(*arguments, environment=None, **options):
    merged = {**os.environ, **(environment or {})}
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100, env=merged,
                          **options)


def wait_until(condition, limit_s=60):
    """Asks again every few milliseconds; False when the limit passes."""
    pause = threading.Event()
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(0.005)
    return True


def finished_runs(result_file):
    if not result_file.exists():
        return 0
    document = json.loads(result_file.read_text())  # atomic: never half a document
    return min(len(row["runs"]) for row in document["rows"])


def process_state(pid):
    """(state letter, parent) of a process, or None when there is none."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1])


def children_of(pid):
    everyone = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]
    return [one for one in everyone if (process_state(one) or ("", 0))[1] == pid]


def alive(pid):
    state = process_state(pid)
    return state is not None and state[0] != "Z"


class Scratch(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def alone(self):
        """Variables with which no other library is installed and no module is built."""
        empty = self.folder / "empty"
        empty.mkdir(exist_ok=True)
        return {"SLUICE_CACHE_DIR": str(empty), "SLUICE_MODULE_DIR": str(empty), "SLUICE_PYTHON_LIGHT": ""}

    def assert_one_line_error(self, done, code, *parts):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        for part in parts:
            self.assertIn(part, lines[0])


    def assert_measured(self, done, document):
        """Every row is ok and the exit code 0. On a busy machine a row may be stopped early as too slow, and samples of a
        millisecond may look as if they had kept more cores busy than they may: only such a row is failed, and the code 5.
        A failed part of the canary is a warning: it is no row of the table."""
        rows = document["rows"] + document["canary"]
        accepted = {"early_stopped": "preflight: ", "failed": "thread policy violated"}
        for row in rows:
            if row["status"] != "ok":
                self.assertIn(accepted.get(row["status"], "no such status"), row["reason"], row)
        failed = any(row["status"] == "failed" for row in document["rows"])
        self.assertEqual(done.returncode, 5 if failed else 0, done.stderr)
        fit = [row for row in rows if row["status"] == "ok"]
        self.assertTrue(fit, "some row must be fit to measure")
        return fit


class Usage(Scratch):
    def test_version_and_help(self):
        self.assertRegex(run("--version").stdout, r"^sluice \d+\.\d+\.\d+ \(")
        shown = run("--help")
        self.assertEqual(shown.returncode, 0)
        for word in ("quick", "env", "data", "bench", "report", "compare", "Exit codes"):
            self.assertIn(word, shown.stdout)
        self.assertLess(shown.stdout.index("Measure:"), shown.stdout.index("\n  bench "))
        self.assertIn("Examples:", run("quick", "--help").stdout)

    def test_help_all(self):
        plain, whole = run("gate", "--help"), run("gate", "--help-all")
        self.assertEqual((plain.returncode, whole.returncode), (0, 0))
        self.assertLess(len(plain.stdout.splitlines()), 53)
        self.assertIn("sluice gate --help-all", plain.stdout.splitlines()[-1])
        self.assertNotIn("--ema-decay", plain.stdout)
        self.assertIn("--ema-decay", whole.stdout)

    def test_misspelt_command_and_flag(self):
        self.assert_one_line_error(run("qick"), 2, "qick", "'quick'")
        self.assert_one_line_error(run("quick", "--imagse", "3"), 2, "--imagse", "did you mean '--images'? See --help")
        self.assert_one_line_error(run("data", "mkae"), 2, "mkae", "'make'")
        self.assert_one_line_error(run("data", "make", "--knd", "rgb"), 2, "data make: ", "'--kind'")
        self.assert_one_line_error(run(), 2, "quick")

    def test_a_flag_like_no_other_names_three_and_the_help(self):
        done = run("gate", "--frobnicate")
        self.assert_one_line_error(done, 2, "gate: unknown flag '--frobnicate'; the nearest are --", "; see --help")
        self.assertLess(len(done.stderr), 120)

    def test_bad_values(self):
        self.assert_one_line_error(run("quick", "--runs", "0"), 2, "--runs", "0")
        self.assert_one_line_error(run("quick", "--cpus", "9999"), 2, "9999")
        self.assert_one_line_error(run("quick", "--peer", "opencv"), 2, "NAME=PROGRAM")
        self.assert_one_line_error(run("quick", "--peer", "x=no/such/program"), 2, "no/such/program")
        self.assert_one_line_error(run("quick", "--resume"), 2, "--out")
        self.assert_one_line_error(run("quick", "--log-level", "loud"), 2, "loud", "debug")

    def test_worker_by_hand(self):
        self.assert_one_line_error(run("worker"), 2, "SLUICE_PEER_IN")


class Quick(Scratch):
    def in_company(self):
        """Variables with which Pillow and OpenCV's wheel are played."""
        adapters = self.folder / "adapters" / "python"
        adapters.mkdir(parents=True)
        for name in ("jpeg", "pillow", "opencv_wheel"):
            (adapters / f"{name}_worker.py").symlink_to(pathlib.Path(__file__).with_name("tour_worker.py").resolve())
        return {"SLUICE_ADAPTERS": str(adapters.parent), "SLUICE_PYTHON_LIGHT": sys.executable}

    def test_json_is_the_result_file(self):
        out = self.folder / "run"
        done = run("quick", "--json", "--quiet", "--out", out, "--runs", "2", *TINY, environment=self.in_company())
        document = json.loads(done.stdout)
        self.assertEqual(document, json.loads((out / "results" / "quick.json").read_text()))
        self.assertEqual(len(document["canary"]), 3)
        self.assert_a_tour_in_company(document)
        for row in self.assert_measured(done, document):
            self.assertEqual(row["n_runs"], 2)
            if row["library"] == "sluice":  # the others of this test give the same time always
                self.assertLess(row["ci95"]["low"], row["ci95"]["high"])
            self.assertEqual(len({run["pid"] for run in row["runs"]}), 2, "every run is a fresh process")
            for one in row["runs"]:
                self.assertTrue(all(isinstance(ns, int) and ns > 0 for ns in one["samples_ns"]))
        for name in ("env.json", "report.md", "report.html", "resolved_config.yaml"):
            self.assertTrue((out / name).exists(), name)
        for name in ("data", "inputs"):
            self.assertFalse((out / name).exists(), f"{name}: generated data is removed")

    def assert_a_tour_in_company(self, document):
        rows = {(row["case"], row["library"]): row for row in document["rows"]}
        for case in ["decode/jpeg/threads=1", *(f"image-rgb/micro/{name}" for name in TRANSFORMS)]:
            for library in PLAYED:
                row = rows[case, library]
                self.assertEqual(row["status"], "ok", row)
                self.assertEqual(row["library_version"], "0.jpeg" if case.startswith("decode") else "0.micro")
        for case in ("training/vit5-tiny", "end-to-end/vit5-tiny"):
            self.assertEqual(rows[case, "sluice"]["params"]["batch_size"], "2")
        summary = document["summary"]
        compared = {(one["case"], one["peer"]) for one in summary["peer_ratios"]}
        fit = {case for (case, library), row in rows.items() if library == "sluice" and row["status"] == "ok"}
        self.assertEqual(compared, {key for key in rows if key[1] in PLAYED and key[0] in fit})
        self.assertEqual(len(summary["found"]), 3)
        self.assertRegex(summary["found"][0], r"^Beside opencv-wheel and pillow|^Beside pillow and opencv-wheel")

    def test_table_and_report_path_and_resume_with_another_configuration(self):
        out = self.folder / "run"
        done = run("quick", "--quiet", "--out", out, "--runs", "1", *TINY, environment=self.alone())
        document = json.loads((out / "results" / "quick.json").read_text())
        training = [row for row in document["rows"] if row["case"].endswith("/vit5-tiny")]
        self.assertEqual([row["status"] for row in training], ["unsupported"] * 2)
        document["rows"] = [row for row in document["rows"] if row not in training]
        self.assert_measured(done, document)
        self.assertEqual({row["library"] for row in document["rows"]}, {"sluice"})
        for word in ("decode/jpeg", "pipeline", "image-rgb/micro/Resize", "canary", str(out / "report.html")):
            self.assertIn(word, done.stdout)
        said = " ".join(done.stdout.split())  # lines are wrapped
        self.assertIn("Nothing was measured beside us: environment 'light' is not installed.", said)
        self.assertIn("Next: `sluice peers install light`", said)
        self.assertIn("Training was not measured: libsluice_dnn.so is not installed; `make build` builds it", said)
        self.assertIn("an emulated accelerator that trains 1786 images/s", said)
        done = run("quick", "--quiet", "--out", out, "--resume", "--runs", "2", *TINY, environment=self.alone())
        self.assert_one_line_error(done, 2, "quick.json", "runs")

    def test_two_runs_of_one_program_do_the_same_work(self):
        digests = []
        for name in ("baseline", "candidate"):  # without --seed: each has another order
            out = self.folder / name
            done = run("quick", "--quiet", "--out", out, "--runs", "1", *TINY, environment=self.alone())
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads((out / "results" / "quick.json").read_text())
            digests.append({(row["case"], row["library"]): row["output_digest"] for row in document["rows"]})
        self.assertTrue(any("loader/" in case for case, _ in digests[0]), digests[0])
        self.assertEqual(digests[0], digests[1])
        compared = run("compare", self.folder / "baseline", self.folder / "candidate", "--threshold", "99%")
        self.assertNotIn("different output", compared.stdout)

    def test_a_tour_that_was_interrupted_in_its_later_parts_goes_on_there(self):
        out = self.folder / "run"
        result = out / "results" / "quick.json"
        arguments = ["quick", "--quiet", "--out", str(out), "--runs", "1", *TINY]
        running = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, **self.alone()})

        def transforms():
            rows = json.loads(result.read_text())["rows"] if result.exists() else []
            return {row["case"]: row["runs"][0]["pid"] for row in rows if "/micro/" in row["case"] and row["runs"]}
        self.assertTrue(wait_until(lambda: len(transforms()) >= 2 or running.poll() is not None))
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130, errors)
        kept = transforms()
        self.assertTrue(2 <= len(kept) <= len(TRANSFORMS), kept)
        done = run(*arguments, "--resume", environment=self.alone())
        self.assertIn(done.returncode, (0, 5), done.stderr)  # 5: see assert_measured
        after = transforms()
        self.assertEqual({case: after[case] for case in kept}, kept, "finished cases are not measured again")
        self.assertEqual(len(after), len(TRANSFORMS))
        self.assertEqual(len(json.loads(result.read_text())["summary"]["found"]), 3)

    def test_interrupted_then_resumed(self):
        out = self.folder / "run"
        result = out / "results" / "bench-harness.json"
        arguments = [*SHORTEST, "--out", str(out), "--runs", "6", *TINY]
        running = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(wait_until(lambda: finished_runs(result) >= 2 or running.poll() is not None))
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130, errors)
        before = json.loads(result.read_text())
        kept = {row["case"]: [run["run_id"] for run in row["runs"]] for row in before["rows"]}
        self.assertTrue(all(2 <= len(ids) < 6 for ids in kept.values()), kept)

        self.assert_one_line_error(run(*arguments), 2, str(out), "--resume")
        done = run(*arguments, "--resume")
        after = json.loads(result.read_text())
        for row in self.assert_measured(done, after):
            ids = [run["run_id"] for run in row["runs"]]
            self.assertEqual(len(ids), 6)
            before_it = kept.get(row["case"], [])  # the canary is not among the rows
            self.assertEqual(ids[:len(before_it)], before_it, "finished runs are kept")
            self.assertEqual([run["block"] for run in row["runs"]], list(range(6)))

    def test_killed_supervisor_leaves_a_valid_folder_and_no_worker(self):
        out = self.folder / "run"
        result = out / "results" / "bench-harness.json"
        running = subprocess.Popen([PROGRAM, *SHORTEST, "--out", str(out), "--runs", "500", *TINY],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertTrue(wait_until(lambda: finished_runs(result) >= 1))
        workers = []
        self.assertTrue(wait_until(lambda: workers.extend(children_of(running.pid)) or workers))
        running.kill()
        running.wait()
        json.loads(result.read_text())
        self.assertTrue(wait_until(lambda: not any(map(alive, workers)), 10), workers)

    def test_killed_before_its_first_result_starts_again_and_resumes(self):
        for more in ([], ["--resume"]):
            out = self.folder / f"run{len(more)}"
            command = [*SHORTEST, "--out", str(out), "--runs", "1", *TINY]
            killed = subprocess.Popen([PROGRAM, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.assertTrue(wait_until(lambda: (out / "data" / "dataset.json").exists()))
            killed.kill()
            killed.wait()
            self.assertEqual(list((out / "results").glob("*.json")), [])
            done = run(*command, *more, "--json")
            self.assert_measured(done, json.loads(done.stdout))
            self.assertEqual(sorted(path.name for path in out.rglob("*.tmp")), [])

    def test_a_second_run_in_the_same_folder_is_told_who_writes_it(self):
        out = self.folder / "run"
        first = subprocess.Popen([PROGRAM, *SHORTEST, "--out", str(out), "--runs", "500", *TINY],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        self.assertTrue(wait_until(lambda: (out / "data" / "dataset.json").exists()))
        second = run(*SHORTEST, "--out", out, "--resume", *TINY)
        self.assert_one_line_error(second, 2, f"process {first.pid} (sluice bench harness) is writing it")

    def test_a_slowed_row_is_recorded(self):
        out = self.folder / "run"
        done = run(*SHORTEST, "--json", "--out", out, "--runs", "1", *TINY,
                   environment={"SLUICE_INJECT_SLOWDOWN": "harness/empty=300%"})
        document = json.loads(done.stdout)
        self.assert_measured(done, document)
        self.assertIn("SLUICE_INJECT_SLOWDOWN", document["environment"]["variables"])
        bad = run(*SHORTEST, "--out", self.folder / "bad", "--runs", "1", *TINY,
                  environment={"SLUICE_INJECT_SLOWDOWN": "lots"})
        self.assertEqual(bad.returncode, 5)
        self.assertIn("lots", bad.stderr)


class BadInput(Scratch):
    def test_missing_and_empty_data(self):
        self.assert_one_line_error(run("quick", "--quiet", "--out", self.folder / "a", "--data-dir", "no/such"), 2, "no/such")
        empty = self.folder / "empty"
        empty.mkdir()
        self.assert_one_line_error(run("quick", "--quiet", "--out", self.folder / "b", "--data-dir", empty), 2, str(empty), "jpg")
        self.assertFalse((self.folder / "a").exists() or (self.folder / "b").exists(), "nothing was written")

    def test_damaged_image_fails_its_rows_and_names_the_file(self):
        data = self.folder / "data"
        self.assertEqual(run("data", "make", "--kind", "rgb", "--count", "2", "--out", data, "--quiet").returncode, 0)
        victim = sorted(data.glob("*.jpg"))[1]
        victim.write_bytes(victim.read_bytes()[:3000])
        done = run("quick", "--quiet", "--out", self.folder / "run", "--data-dir", data, "--runs", "1",
                   "--sample-ms", "1", "--warmup-ms", "0", environment=self.alone())
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn(victim.name, done.stderr + done.stdout)

    def test_out_cannot_be_a_folder(self):
        blocker = self.folder / "file"
        blocker.write_text("x")
        self.assert_one_line_error(run("quick", "--quiet", "--out", blocker / "run", *TINY), 2, str(blocker))

    def test_full_disk_is_one_line_and_nothing_half_written(self):
        out = self.folder / "run"

        def tiny_files():
            import resource
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        done = run("quick", "--quiet", "--out", out, *TINY, preexec_fn=tiny_files)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for path in out.rglob("*"):
            self.assertNotIn(".tmp", path.name)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
