#!/usr/bin/env python3
# tests/backend/run_test.py - `sluice run` with real processes: odd peers, interruption, resume, exactly the planned files.
# SPDX-License-Identifier: Apache-2.0
"""usage: run_test.py PROGRAM SOURCE_DIR"""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = None
SOURCE = None
QUICK = ["--sample-ms", "1", "--warmup-ms", "0"]  # the numbers mean nothing


def wait_until(condition, limit_s=60):
    pause = threading.Event()
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(0.005)
    return True


class RunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = pathlib.Path(tempfile.mkdtemp(prefix="sluice-run-test-"))
        cls.data = cls.base / "data"
        subprocess.run([PROGRAM, "data", "make", "--count", "3", "--out", cls.data, "--quiet"], check=True,
                       capture_output=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.base)

    def setUp(self):
        self.folder = self.base / self.id().rpartition(".")[2]
        self.folder.mkdir()
        self.notes = self.folder / "notes"
        self.notes.touch()
        self.out = self.folder / "out"
        # Nothing is installed: peers other than ours cannot be had, which is a row like any other.
        self.environment = {**os.environ, "ODD_WORKER_NOTES": str(self.notes), "SLUICE_CACHE_DIR": str(self.folder / "cache")}

    def config(self, transforms, runs=2, extra=""):
        path = self.folder / "run.yaml"
        path.write_text(f"""version: 1
selection:
  scenario: image-rgb
  mode: micro
  libraries: [sluice, pillow]
  transforms: [{', '.join(transforms)}]
  peers:
    odd: [{sys.executable}, {SOURCE}/tests/backend/odd_worker.py]
data:
  data_dir: {self.data}
  num_items: 2
execution:
  num_runs: {runs}
{extra}""")
        return path

    def run_program(self, *arguments, check=None):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100,
                              env=self.environment)
        if check is not None:
            self.assertEqual(done.returncode, check, done.stderr + done.stdout)
        return done

    def measure(self, config, *more, check=0):
        return self.run_program("run", "--config", config, "--out", self.out, *QUICK, *more, check=check)

    def rows(self, library):
        file = self.out / "results/image-rgb/micro" / f"{library}_micro_results.json"
        return {row["params"]["transform"]: row for row in json.loads(file.read_text())["rows"]}

    def test_files_are_those_of_the_plan(self):
        config = self.config(["Resize", "HorizontalFlip"])
        planned = json.loads(self.run_program("plan", "--config", config, "--out", self.out, "--json", check=0).stdout)
        self.assertFalse(self.out.exists(), "plan runs nothing")
        self.measure(config)
        found = sorted(str(path.relative_to(self.out)) for path in (self.out / "results").rglob("*.json"))
        self.assertEqual(found, sorted(planned["plan"]["expected_outputs"]))
        for name in ("resolved_config.yaml", "env.json", "report.md", "report.html"):
            self.assertTrue((self.out / name).is_file(), name)
        self.assertFalse((self.out / "inputs").exists(), "decoded inputs go with the run")

    def test_each_bad_habit_costs_its_row_only(self):
        self.measure(self.config(["HorizontalFlip", "Pad", "Blur", "Invert", "Rotate", "Solarize", "MedianBlur", "Resize"]),
                     check=5)  # failed rows
        rows = self.rows("odd")
        self.assertEqual({name: row["status"] for name, row in rows.items()},
                         {"HorizontalFlip": "ok", "Pad": "unsupported", "Blur": "failed", "Invert": "failed",
                          "Rotate": "failed", "Solarize": "failed", "MedianBlur": "early_stopped", "Resize": "ok"})
        self.assertEqual(rows["Pad"]["reason"], "odd has no padding")
        self.assertIn("signal 11", rows["Blur"]["reason"])
        self.assertIn("answered with something", rows["Invert"]["reason"])
        self.assertIn("exited with code 3", rows["Rotate"]["reason"])
        self.assertIn("differs between processes", rows["Solarize"]["reason"])
        self.assertIn("0.05 s per item", rows["MedianBlur"]["reason"])
        self.assertGreaterEqual(rows["MedianBlur"]["preflight_item_s"], 0.05)
        self.assertNotIn("preflight_item_s", rows["Resize"])
        self.assertEqual(len(rows["Resize"]["runs"]), 2)
        self.assertEqual(rows["Resize"]["thread_policy"]["name"], "micro-single")
        for row in self.rows("pillow").values():
            self.assertEqual(row["status"], "unsupported")
            self.assertIn("light", row["reason"])
        self.assertEqual(self.rows("sluice")["Resize"]["status"], "ok")
        self.assertEqual(self.rows("sluice")["Blur"]["status"], "ok")

    def test_killed_and_resumed_measures_no_finished_case_twice(self):
        transforms = ["HorizontalFlip", "VerticalFlip", "Transpose", "Grayscale", "Posterize", "Resize", "Equalize"]
        config = self.config(transforms)
        file = self.out / "results/image-rgb/micro/odd_micro_results.json"
        process = subprocess.Popen([PROGRAM, "run", "--config", config, "--out", self.out, *QUICK], env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.assertTrue(wait_until(lambda: file.exists() and len(json.loads(file.read_text())["rows"]) >= 2))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        finished = [row["case"] for row in json.loads(file.read_text())["rows"]]
        before = collections.Counter(self.notes.read_text().split())
        again = self.measure(config, "--resume")
        counts = collections.Counter(self.notes.read_text().split())
        for case in finished:
            self.assertEqual(counts[case], before[case], case)
        self.assertEqual(list(self.rows("odd")), transforms)
        self.assertEqual(list(self.rows("sluice")), transforms)
        self.assertIn(f"{len(finished)} of 7 cases were finished", again.stdout)
        self.measure(config, "--resume")  # nothing left to do
        self.assertEqual(collections.Counter(self.notes.read_text().split()), counts)

    def test_a_run_in_the_same_folder_is_refused(self):
        config = self.config(["Resize"])
        self.measure(config)
        done = self.measure(config, check=2)
        self.assertIn("--resume", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        fewer = self.config(["Resize"], runs=1)
        done = self.measure(fewer, "--resume", check=2)
        self.assertIn("num_runs", done.stderr)

    def test_one_run_now_and_two_more_later(self):
        config = self.config(["Resize", "Pad", "HorizontalFlip"], runs=1)
        self.measure(config)
        before = self.rows("odd")
        self.assertEqual([len(row["runs"]) for row in before.values()], [1, 0, 1])  # odd has no padding
        done = self.measure(config, "--resume", "--num-runs", 3)
        self.assertIn("runs were added to 3 cases", done.stdout)
        for library in ("odd", "sluice"):
            rows = self.rows(library)
            for name in ("Resize", "HorizontalFlip"):
                row = rows[name]
                self.assertEqual((row["status"], row["n_runs"], [run["block"] for run in row["runs"]]), ("ok", 3, [0, 1, 2]))
                self.assertEqual(len({run["pid"] for run in row["runs"]}), 3)
        self.assertEqual(self.rows("odd")["Resize"]["runs"][0], before["Resize"]["runs"][0], "what is measured stays")
        self.assertEqual(self.rows("odd")["Pad"], before["Pad"])
        self.assertIn("over 3 runs", (self.out / "report.md").read_text())
        self.run_program("validate", self.out, check=0)
        covered = self.run_program("coverage", self.out)
        self.assertIn("3 of 3 runs", covered.stdout)
        self.measure(config, "--resume", "--num-runs", 3)  # nothing left to do
        self.assertEqual(self.rows("odd")["Resize"]["n_runs"], 3)

    def test_coverage_tells_one_run_from_three(self):
        config = self.config(["Resize"], runs=1)
        self.measure(config)
        self.assertIn("1 of 1 run", self.run_program("coverage", self.out).stdout)
        resolved = self.out / "resolved_config.yaml"
        resolved.write_text(resolved.read_text().replace("num_runs: 1", "num_runs: 3"))
        done = self.run_program("coverage", self.out, check=1)
        self.assertIn("Resize in sluice: 1 of 3 runs", done.stdout)

    def test_files_of_pipelines_get_the_name_of_their_runs(self):
        config = self.folder / "loader.yaml"
        config.write_text(f"""version: 1
selection: {{scenario: image-rgb, mode: pipeline, libraries: [sluice], transforms: [Pad, HorizontalFlip]}}
data: {{data_dir: {self.data}, num_items: 3}}
execution: {{num_runs: 1, batch_size: 2, workers: 2}}
""")
        self.measure(config)
        digests = [self.digests()]
        self.assertEqual([path.name for path in self.loader_files()], ["sluice_decode_dataloader_augment_n3_r1_w2_b2_results.json"])
        self.measure(config, "--resume", "--num-runs", 3)
        self.assertEqual([path.name for path in self.loader_files()], ["sluice_decode_dataloader_augment_n3_r3_w2_b2_results.json"])
        rows = json.loads(self.loader_files()[0].read_text())["rows"]
        self.assertEqual([(row["status"], row["n_runs"]) for row in rows], [("ok", 3), ("ok", 3)])
        digests.append(self.digests())
        self.assertEqual(digests[0], digests[1], "the same in every process")
        done = self.measure(config, "--resume", "--num-runs", 2, check=2)
        self.assertIn("num_runs was 3", done.stderr)

    def test_a_resume_that_is_refused_leaves_every_file_its_name(self):
        config = self.folder / "loader.yaml"
        config.write_text(f"""version: 1
selection: {{scenario: image-rgb, mode: pipeline, libraries: [sluice, pillow], transforms: [Pad]}}
data: {{data_dir: {self.data}, num_items: 3}}
execution: {{num_runs: 1, batch_size: 2, workers: 1}}
""")
        self.measure(config)
        before = self.loader_files()
        self.assertEqual(len(before), 2)
        changed = json.loads(before[0].read_text())  # pillow's, looked at last
        changed["tool"]["git"] = "another"
        before[0].write_text(json.dumps(changed))
        done = self.measure(config, "--resume", "--num-runs", 3, check=2)
        self.assertIn("tool.git was", done.stderr)
        self.assertEqual(self.loader_files(), before)

    def test_clips_give_one_batch_in_every_process_and_scope(self):
        clips = self.folder / "clips"
        made = self.run_program("data", "make", "--kind", "video", "--count", 3, "--width", 240, "--height", 200, "--out", clips)
        if "libsluice_video" in made.stderr:
            self.skipTest(made.stderr)
        self.assertEqual(made.returncode, 0, made.stderr)
        config = self.folder / "clips.yaml"
        digests = set()
        for scope in ("memory_dataloader_augment", "decode_dataloader_augment"):
            config.write_text(f"""version: 1
selection: {{scenario: video-16f, mode: pipeline, libraries: [sluice], transforms: [ColorJitter]}}
data: {{data_dir: {clips}}}
execution: {{num_runs: 2, batch_size: 2, workers: 1, pipeline_scope: {scope}}}
""")
            shutil.rmtree(self.out, ignore_errors=True)
            self.measure(config)
            row, = json.loads(self.loader_files("video-16f")[0].read_text())["rows"]
            self.assertEqual((row["status"], row["n_runs"], row["unit"]), ("ok", 2, "clips/s"), row["reason"])
            digests.add(row["output_digest"])
        self.assertEqual(len(digests), 1, digests)

    def test_a_library_without_a_package_for_this_machine_is_rows_that_say_so(self):
        other = ["setarch", "linux32"]  # `uname -m` is then i686, or armv8l
        if shutil.which(other[0]) is None or subprocess.run([*other, "true"], check=False, capture_output=True).returncode:
            self.skipTest("no setarch, or it may not choose another machine")
        config = self.config(["Resize", "Pad"], runs=1)
        config.write_text(config.read_text().replace("pillow", "cykooz-resizer"))
        subprocess.run([*other, PROGRAM, "run", "--config", config, "--out", self.out, *QUICK], check=True, capture_output=True,
                       env=self.environment)
        for row in self.rows("cykooz-resizer").values():
            self.assertEqual(row["status"], "unsupported")
            self.assertRegex(row["reason"], "cykooz-resizer has no package for .*, only for x86_64")
        self.assertEqual(self.rows("sluice")["Resize"]["status"], "ok")

    def loader_files(self, scenario="image-rgb"):
        return sorted((self.out / f"results/{scenario}/pipeline").glob("*.json"))

    def digests(self):
        return [row["output_digest"] for row in json.loads(self.loader_files()[0].read_text())["rows"]]

    def test_generated_items_are_marked_and_not_taken_for_a_data_set(self):
        config = self.config(["Resize"], runs=1)
        text = config.read_text()
        config.write_text(text.replace(f"data_dir: {self.data}", "gcs_uri: gs://bucket/photos.tar"))
        done = self.measure(config, check=2)
        self.assertIn("--allow-generated", done.stderr)
        shutil.rmtree(self.out, ignore_errors=True)
        self.measure(config, "--allow-generated")
        self.check_marked(True)
        shutil.rmtree(self.out)
        config.write_text(text)
        self.measure(config)
        self.check_marked(False)

    def check_marked(self, generated):
        document = json.loads((self.out / "results/image-rgb/micro/sluice_micro_results.json").read_text())
        self.assertEqual(document["run_config"]["data"]["generated"], generated)
        self.assertIn(f"generated: {str(generated).lower()}", (self.out / "resolved_config.yaml").read_text())
        self.assertEqual("items are generated" in (self.out / "report.md").read_text(), generated)

    def test_a_misspelt_key_names_its_line_and_the_nearest(self):
        done = self.measure(self.config(["Resize"], extra="  num_worker: 2\n"), check=2)
        self.assertRegex(done.stderr, r"run\.yaml:\d+: .*num_worker")
        self.assertIn("workers", done.stderr)
        self.assertFalse(self.out.exists())

    def test_a_cloud_config_goes_to_the_cloud_unless_local(self):
        config = SOURCE / "configs/paper/prod_c4_rgb_micro_cpu.yaml"
        done = self.measure(config, check=2)
        self.assertIn("--bundle: needed", done.stderr)  # asked for before anything is called
        self.assertFalse(self.out.exists())

    def test_corrupt_images_are_skipped_counted_and_named(self):
        data = self.folder / "data"
        shutil.copytree(self.data, data)
        (data / "aaa-broken.jpg").write_bytes((data / "rgb-000000.jpg").read_bytes()[:300])
        config = self.config(["Resize"])
        done = self.measure(config, "--data-dir", data, check=2)
        self.assertIn("aaa-broken.jpg", done.stderr)
        self.assertIn("data.max_corrupt", done.stderr)
        shutil.rmtree(self.out, ignore_errors=True)
        self.measure(config, "--data-dir", data, "--set", "data.max_corrupt=1")
        document = json.loads((self.out / "results/image-rgb/micro/odd_micro_results.json").read_text())
        self.assertEqual(len(document["summary"]["skipped_files"]), 1)
        self.assertIn("aaa-broken.jpg", document["summary"]["skipped_files"][0])
        self.assertEqual(document["rows"][0]["status"], "ok")


class EveryConfigTest(unittest.TestCase):
    """With nothing installed every row of a peer is unsupported, so this is quick; test-peers runs it with them."""

    def test_every_config_leaves_exactly_the_planned_files(self):
        base = pathlib.Path(tempfile.mkdtemp(prefix="sluice-config-test-"))
        try:
            self.run_all(base)
        finally:
            shutil.rmtree(base)

    def run_all(self, base):
        environment = {**os.environ, "SLUICE_CACHE_DIR": str(base / "cache")}
        for kind in ("rgb", "video"):
            subprocess.run([PROGRAM, "data", "make", "--kind", kind, "--count", "2", "--out", base / kind, "--quiet"],
                           check=True, capture_output=True)
        configs = sorted(path for folder in ("examples", "paper") for path in (SOURCE / "configs" / folder).glob("*.yaml"))
        self.assertGreaterEqual(len(configs), 20)
        run_forms = set()  # scenario, mode, scope, device, ours or not: configs of one form differ in numbers and peers
        for config in configs:
            with self.subTest(config=config.name):
                out = base / config.stem
                data = base / ("video" if "video" in config.name else "rgb")
                flags = ["--config", config, "--local", "--num-items", "2", "--num-runs", "1", "--data-dir", data,
                         "--out", out]
                if "decode" not in config.name:
                    flags += ["--transforms", "HorizontalFlip,Resize"]
                flags = list(map(str, flags))
                plan = json.loads(subprocess.run([PROGRAM, "plan", *flags, "--json"], check=True, capture_output=True,
                                                 env=environment).stdout)
                planned = sorted(plan["plan"]["expected_outputs"])
                self.assertTrue(planned)
                form = (frozenset(re.sub(r"/[a-z]+_|_w\d+_b\d+", "/", path) for path in planned),
                        any("/sluice_" in path for path in planned))
                if form in run_forms:
                    continue
                run_forms.add(form)
                done = subprocess.run([PROGRAM, "run", *flags, *QUICK, "--set", "execution.seed=1"], capture_output=True,
                                      text=True, env=environment, timeout=100)
                self.assertEqual(done.returncode, 0, done.stderr)
                found = sorted(str(path.relative_to(out)) for path in (out / "results").rglob("*.json"))
                self.assertEqual(found, planned)
        self.assertGreaterEqual(len(run_forms), 10)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    SOURCE = pathlib.Path(sys.argv.pop(1))
    unittest.main()
