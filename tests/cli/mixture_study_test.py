#!/usr/bin/env python3
# tests/cli/mixture_study_test.py - `sluice bench mixture --study` as a user meets it: pages, going on, bad input.
# SPDX-License-Identifier: Apache-2.0
"""usage: mixture_study_test.py PROGRAM"""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import unittest.mock

import small_episodes

STUDY = """
name: small
preset: small4
batch_size: 8
repeats: 2
base: {cpus: 64, mix: 2/4, read: 1/1, warmup: 1, steps: 6}
groups:
  - {label: metadata A/B, metadata: [full, dataset_only]}
  - {label: CPU sweep, cpus: [64, 1]}
  - {label: samples per episode, samples_per_episode: [1, 0], mix: 4/2}
"""
KNOBS = ["metadata", "cpus", "decode", "interleave", "mix_block", "queue", "samples_per_episode"]


class MixtureStudy(small_episodes.SmallEpisodes):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.study = cls.folder / "study.yaml"
        cls.study.write_text(STUDY)

    def arguments(self, *more):
        return ["bench", "mixture", "--quiet", "--study", self.study, "--root", self.root, "--image-size", 32, *more]

    def measure(self, *more):
        return self.sluice(*self.arguments("--out", self.out, *more))

    def record(self):
        return json.loads((self.out / "study.json").read_text())

    def test_a_study_leaves_its_pages_and_is_not_measured_twice(self):
        done = self.measure()
        self.assertEqual(done.returncode, 0, done.stderr)
        record = self.record()
        settings = {tuple(run[key] for key in ["metadata", "cpus", "mix_block", "samples_per_episode"]) for run in record["runs"]}
        self.assertEqual(len(record["runs"]), 2 * len(settings))
        self.assertEqual({run["repeat"] for run in record["runs"]}, {1, 2})
        for run in record["runs"]:
            self.assertEqual(run["failure"], "")
            self.assertAlmostEqual(run["samples_per_s"], 8 * run["batches_per_s"], places=6)
            self.assertTrue(list(self.out.glob(f"batch_times/*{run['id'].replace('.', '?')}/batch_times.jsonl")), run["id"])
        log = (self.out / "run_log.md").read_text()
        self.assertIn("| Decode/Interleave | Mix block/queue |", log)
        self.assertIn("clipped to the", log)
        self.assertIn("short", log)
        advice = (self.out / "recommendation.md").read_text()
        for heading in ["### Full metadata", "### Pure throughput", "### Avoid", "### What metadata costs"]:
            self.assertIn(heading, advice)
        self.assertIn(advice, done.stdout)
        self.assertFalse((self.out / "scratch").exists())

        again = self.measure("--json")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(json.loads(again.stdout)["runs"], record["runs"])
        more = self.measure("--repeats", 3)
        self.assertEqual(more.returncode, 0, more.stderr)
        self.assertEqual(self.record()["runs"][: len(record["runs"])], record["runs"])
        self.assertEqual(len(self.record()["runs"]), 3 * len(settings))

    def test_steps_shorten_every_run(self):
        done = self.measure("--steps", 2, "--repeats", 1, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({(run["warmup"], run["steps"]) for run in json.loads(done.stdout)["runs"]}, {(1, 2)})
        self.assertIn("no interval and no claim", (self.out / "recommendation.md").read_text())

    def test_an_identical_second_node_measures_for_itself(self):
        done = self.measure("--steps", 2, "--repeats", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        first = self.record()
        (host,) = {run["host"] for run in first["runs"]}
        self.assertRegex(host, r"^[0-9a-f]{12}$")
        twin = json.loads(json.dumps(first).replace(host, "0123456789ab"))  # the same profile, another node
        (self.out / "study.json").write_text(json.dumps(twin))
        again = self.measure("--steps", 2, "--repeats", 1)
        self.assertEqual(again.returncode, 0, again.stderr)
        runs = self.record()["runs"]
        self.assertEqual(runs[: len(twin["runs"])], twin["runs"])
        self.assertEqual([run["host"] for run in runs], ["0123456789ab"] * len(twin["runs"]) + [host] * len(twin["runs"]))
        advice = (self.out / "recommendation.md").read_text()
        self.assertEqual(advice.count("## Machine "), 2)
        self.assertNotIn(socket.gethostname(), advice + (self.out / "study.json").read_text() + (self.out / "run_log.md").read_text())

    def test_the_best_settings_are_trained_with(self):
        done = self.measure("--steps", 2, "--repeats", 1, "--then-train", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        record = self.record()
        self.assertEqual(len(record["trained"]), 2)
        rates = {json.dumps([run[key] for key in KNOBS]): run["samples_per_s"] for run in record["runs"]}
        trained = [rates.pop(json.dumps([one[key] for key in KNOBS])) for one in record["trained"]]  # no setting twice
        quiet = all(run["others"] is not None and run["others"] < 0.05 for run in record["runs"])
        if quiet:  # else disturbed runs may not count
            self.assertEqual(trained, sorted(trained, reverse=True))
            self.assertGreaterEqual(trained[-1], max(rates.values()))
        for one in record["trained"]:
            self.assertEqual((one["model"], one["device"], one["failure"]), ("vit5-tiny", "cpu", ""))
            self.assertGreater(one["trained_samples_per_s"], 0)
            self.assertGreater(one["step_s"], 0)
            self.assertTrue(0 <= one["wait_fraction"] < 1)
            self.assertGreater(one["loss"], 0)
            use = one["use"]
            self.assertTrue(0 <= use["cpu"] <= 1, use)
            self.assertGreater(use["ram_bytes"], 0)
            self.assertEqual((use["gpu"], use["gpu_ram_bytes"]), (None, None))
            self.assertIn("no GPU was asked for", use["gpu_reason"])
        advice = (self.out / "recommendation.md").read_text()
        self.assertIn("## End to end", advice)
        self.assertRegex(advice, r"\| \d+ % \| n/a \|")
        again = self.measure("--steps", 2, "--repeats", 1, "--then-train", 2)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.record()["trained"], record["trained"])

    def test_an_interrupted_study_keeps_what_is_finished_and_goes_on(self):
        process = subprocess.Popen(self.command(*self.arguments("--out", self.out)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not (self.out / "study.json").exists():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.fail(f"ended with {process.wait(timeout=0.02)} before its first run was kept")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        kept = self.record()["runs"]
        self.assertGreaterEqual(len(kept), 1)
        self.assertIn("not finished", (self.out / "run_log.md").read_text())
        done = self.measure()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.record()["runs"][: len(kept)], kept)
        self.assertNotIn("not finished", (self.out / "run_log.md").read_text())

    def test_what_another_process_adds_until_the_folder_is_locked_is_kept(self):
        """git is asked after study.json is looked at and before the lock is taken: this one ends another study's run then."""
        done = self.measure("--steps", 2, "--repeats", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = self.record()
        (self.out / "study.json").rename(self.folder / "whole.json")
        (self.out / "study.json").write_text(json.dumps(whole | {"runs": whole["runs"][:1]}))
        (self.folder / "bin").mkdir()
        git = self.folder / "bin" / "git"
        git.write_text(f"#!/bin/sh\n[ -e '{self.folder}/whole.json' ] && mv '{self.folder}/whole.json' '{self.out}/study.json'\nexit 1\n")
        git.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, PATH=f"{git.parent}:{os.environ['PATH']}"):
            again = self.measure("--steps", 2, "--repeats", 1)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertFalse((self.folder / "whole.json").exists())
        self.assertEqual(self.record()["runs"], whole["runs"])

    def test_bad_input_is_refused_before_a_folder_is_made(self):
        broken = self.folder / "broken.yaml"
        broken.write_text("name: x\ngroups: [{label: a, read: 4}]\n")
        for arguments, says in [
            (["--study", broken, "--root", self.root], "two numbers"),
            (["--study", self.folder / "none.yaml", "--root", self.root], "none.yaml"),
            (["--study", self.study], "--root is missing"),
            (["--study", self.study, "--root", self.folder / "nowhere"], "nowhere"),
            (["--study", self.study, "--root", self.root, "--metadata", "off"], "--metadata: the study sets it"),
            (["--study", self.study, "--root", self.root, "--repeats", 0], "--repeats"),
            (["--root", self.root, "--repeats", 2], "--repeats belongs to --study"),
        ]:
            refused = self.sluice("bench", "mixture", "--quiet", "--out", self.out, *arguments)
            self.assertEqual(refused.returncode, 2, (arguments, refused.stderr))
            self.assertIn(says, refused.stderr)
            self.assertEqual(len(refused.stderr.strip().splitlines()), 1, refused.stderr)
            self.assertFalse(self.out.exists())

    def test_a_folder_of_another_study_is_left_alone(self):
        self.out.mkdir()
        (self.out / "study.json").write_text('{"schema_version": 1, "study": {"name": "other"}, "runs": []}')
        refused = self.measure()
        self.assertEqual(refused.returncode, 2)
        self.assertIn("holds another study (other)", refused.stderr)
        (self.out / "study.json").write_text("{")
        refused = self.measure()
        self.assertEqual(refused.returncode, 2)
        self.assertIn("study.json", refused.stderr)

    def test_a_run_that_fails_is_named_and_measured_again(self):
        damaged = self.folder / "damaged"
        shutil.copytree(self.root, damaged)
        for shard in damaged.glob("*/*/*.tfrecord*"):
            shard.write_bytes(b"\0" * 64)
        refused = self.sluice("bench", "mixture", "--quiet", "--study", self.study, "--root", damaged, "--on-error", "stop", "--repeats", 1, "--out", self.out)
        self.assertIn(refused.returncode, (2, 5), refused.stderr)
        if refused.returncode == 5:
            self.assertTrue(all(run["failure"] for run in self.record()["runs"]))
            self.assertIn("failed:", (self.out / "run_log.md").read_text())


if __name__ == "__main__":
    MixtureStudy.program = sys.argv.pop(1)
    unittest.main()
