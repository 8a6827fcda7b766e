#!/usr/bin/env python3
# tests/cli/bench_mixture_test.py - `sluice bench mixture` as a user meets it: files, numbers, bad input.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench_mixture_test.py PROGRAM"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import small_episodes

FEW = ["--preset", "small4", "--batch-size", "8", "--mix-block", "2", "--image-size", "32", "--warmup", "2", "--steps", "20"]
NAMES = {"arm", "gripper", "rover", "table"}


class BenchMixture(small_episodes.SmallEpisodes):
    def bench(self, *arguments):
        return self.sluice("bench", "mixture", "--quiet", *arguments)

    def test_a_run_leaves_its_numbers_and_drawings(self):
        done = self.bench("--root", self.root, *FEW, "--json", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result, json.loads((self.out / "results" / "bench-mixture.json").read_text()))
        (row,) = result["rows"]
        self.assertEqual((row["case"], row["status"], row["items_per_sample"]), ("mixture/small4", "ok", 160))
        for name in ["mixture_over_time.svg", "mixture_windows_every_stride.svg", "mixture_summary.txt", "report.html"]:
            self.assertTrue((self.out / name).stat().st_size > 0, name)
        lines = [json.loads(line) for line in (self.out / "batch_times.jsonl").read_text().splitlines()]
        self.assertEqual([line["idx"] for line in lines], list(range(22)))
        self.assertEqual(sum(line["is_warmup"] for line in lines), 2)
        for line in lines:
            self.assertEqual(sum(line["dataset_counts"].values()), 8)
            self.assertLessEqual(set(line["dataset_counts"]), NAMES)
            self.assertAlmostEqual(line["dt_s"], line["fetch_dt_s"] + line["materialize_dt_s"])
        metrics = result["metrics"]
        times = [line["dt_s"] for line in lines if not line["is_warmup"]]
        self.assertAlmostEqual(metrics["batches_per_s"], len(times) / sum(times), places=6)
        self.assertAlmostEqual(metrics["samples_per_s"], 8 * metrics["batches_per_s"], places=6)
        self.assertGreater(metrics["start_s"], 0)
        self.assertGreater(metrics["teardown_s"], 0)
        self.assertEqual({share["name"] for share in metrics["shares"]["rows"]}, NAMES)
        self.assertEqual(sum(share["samples"] for share in metrics["shares"]["rows"]), 22 * 8)
        self.assertTrue(result["verdict"]["short_run"])
        self.assertEqual(row["runs"][0]["details"][0]["batch_times"], "batch_times.jsonl")
        self.assertFalse((self.out / "scratch").exists())
        self.assertNotIn(str(self.root), json.dumps(result["run_config"]))

    def test_the_machine_is_watched_while_a_model_trains(self):
        done = self.bench("--root", self.root, *FEW, "--train", "vit5-tiny", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads((self.out / "results" / "bench-mixture.json").read_text())
        use = result["summary"]["resources"]
        self.assertEqual(len(use["at_s"]), len(use["cpu"]))
        self.assertEqual(len(use["at_s"]), len(use["ram_bytes"]))
        self.assertTrue(use["cpu"] and all(0 <= share <= 1 for share in use["cpu"]), use)
        self.assertGreater(min(use["ram_bytes"]), 0)
        self.assertNotIn("gpu", use)
        self.assertIn("no GPU was asked for", use["no_gpu"])
        self.assertRegex(done.stdout, r"CPU +mean \d+ %, highest \d+ % of \d+ core")
        self.assertRegex(done.stdout, r"GPU +n/a: no GPU was asked for")
        self.assertIn("CPU over time", (self.out / "report.html").read_text())

    def test_more_episodes_than_a_shard_can_hold_are_refused(self):
        lying = self.out.parent / "lying"
        shutil.copytree(self.root, lying)
        self.addCleanup(shutil.rmtree, lying)
        told = next(lying.glob("small_arm/*/dataset_info.json"))
        info = json.loads(told.read_text())
        info["splits"][0]["shardLengths"][0] = "999999999999"
        told.write_text(json.dumps(info))
        done = self.bench("--root", lying, *FEW, "--out", self.out)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("dataset_info.json says 999999999999 episodes, of which each takes at least 16", done.stderr)
        self.assertFalse(self.out.exists())

    def test_seeds_and_runs_are_rows_and_runs(self):
        done = self.bench("--root", self.root, *FEW, "--seeds", "3,4", "--runs", "2", "--deterministic", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads((self.out / "results" / "bench-mixture.json").read_text())
        self.assertEqual([row["case"] for row in result["rows"]], ["mixture/small4/seed=3", "mixture/small4/seed=4"])
        hashes = [[run["details"][0]["stats"]["schedule_hash"] for run in row["runs"]] for row in result["rows"]]
        self.assertEqual([len(set(of_seed)) for of_seed in hashes], [1, 1])
        self.assertNotEqual(hashes[0], hashes[1])
        self.assertEqual(len(list((self.out / "batch_times").iterdir())), 3)
        for said in ["short run", "All runs", "schedule", "mixture of small4: 4 data sets"]:
            self.assertIn(said, done.stdout)
        compared = self.sluice("compare", self.out, self.out)
        self.assertEqual(compared.returncode, 0, compared.stderr)

    def test_beside_others_ours_checks_as_they_do_and_once_more_as_it_is(self):
        nothing = self.out.parent / "cache"  # tf.data is not installed there: its row says so, ours are measured
        done = subprocess.run(self.command("bench", "mixture", "--quiet", "--root", self.root, *FEW, "--libraries", "sluice,tfdata", "--out", self.out),
                              capture_output=True, text=True, timeout=300, env={**os.environ, "SLUICE_CACHE_DIR": str(nothing)}, check=False)
        result = json.loads((self.out / "results" / "bench-mixture.json").read_text())
        rows = {(row["case"], row["library"]): row["status"] for row in result["rows"]}
        self.assertEqual((rows["mixture/small4", "sluice"], rows["mixture/small4/checks=first", "sluice"]), ("ok", "ok"), done.stderr)
        self.assertNotEqual(rows["mixture/small4", "tfdata"], "ok")
        self.assertNotIn(("mixture/small4/checks=first", "tfdata"), rows)
        self.assertTrue(result["run_config"]["check_always"])

    def test_a_killed_run_keeps_its_lines(self):
        process = subprocess.Popen(self.command("bench", "mixture", "--quiet", "--root", self.root, *FEW[:-1], "1000000", "--out", self.out),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        lines = self.out / "batch_times.jsonl"
        deadline = time.monotonic() + 120
        try:
            while time.monotonic() < deadline and not (lines.exists() and lines.read_bytes().count(b"\n") >= 7):  # two of the warm-up
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.fail(f"ended with {process.wait(timeout=0.02)} before it was killed")
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # the worker too
            process.wait()
        kept = [json.loads(line) for line in lines.read_text().splitlines()]
        self.assertGreaterEqual(len(kept), 7)
        self.assertEqual([line["idx"] for line in kept], list(range(len(kept))))
        self.assertIsNotNone(kept[-1]["dominant_dataset"])
        drawn = self.sluice("report", lines, "--out", self.out.parent / "drawn")
        self.assertEqual(drawn.returncode, 0, drawn.stderr)

    def test_a_run_says_who_dominates_by_weight_and_who_costs_most(self):
        done = self.bench("--root", self.root, *FEW, "--prime-samples", "5", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        metrics = json.loads((self.out / "results" / "bench-mixture.json").read_text())["metrics"]
        weighted = metrics["by_weight"]
        self.assertEqual(weighted["batches"], 20)
        self.assertEqual(sum(row["alone"] for row in weighted["rows"]), weighted["decided"])
        self.assertEqual(sum(row["by_count"] for row in weighted["rows"]), 20)
        self.assertEqual({row["name"] for row in weighted["rows"]}, NAMES)
        costs = metrics["bottlenecks"]
        self.assertEqual(costs, sorted(costs, key=lambda row: -row["time_s"]))
        self.assertAlmostEqual(sum(row["share"] for row in costs), 1)
        for said in ["Dominance by weight", "Bottlenecks"]:
            self.assertIn(said, done.stdout)

    def test_validation_is_one_pass_over_its_split(self):
        done = self.bench("--root", self.root, *FEW, "--metadata", "dataset_only", "--validate", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("every episode was seen", done.stdout)
        validation = json.loads((self.out / "results" / "bench-mixture.json").read_text())["metrics"]["validation"]
        self.assertTrue(validation["whole"])
        self.assertEqual({(row["name"], row["split"], row["episodes"], row["seen"]) for row in validation["data_sets"]},
                         {(name, "train[90%:]", 1, 1) for name in NAMES})
        self.assertTrue(all(row["without_language"] == 0 and row["type"] == "generated" for row in validation["data_sets"]))

    def test_overrides_change_the_mix(self):
        done = self.bench("--root", self.root, *FEW, "--weight", "table=0.3", "--weight", "rover=0", "--skip", "gripper", "--json",
                          "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        shares = {one["name"]: one["requested"] for one in json.loads(done.stdout)["metrics"]["shares"]["rows"]}
        self.assertEqual(set(shares), {"arm", "table"})
        self.assertAlmostEqual(shares["table"], 0.3 / 0.7)

    def test_without_metadata_nothing_is_drawn_but_all_is_timed(self):
        done = self.bench("--root", self.root, *FEW, "--metadata", "off", "--json", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing is drawn", done.stderr)
        self.assertGreater(json.loads(done.stdout)["metrics"]["samples_per_s"], 0)
        self.assertFalse((self.out / "mixture_summary.txt").exists())

    def test_a_preset_of_ones_own_from_the_data_to_the_numbers(self):
        info = self.sluice("data", "info", self.root)
        self.assertEqual(info.returncode, 0, info.stderr)
        self.assertRegex(info.stdout, r"steps/observation/pose +tensor float32 2\n")
        self.assertRegex(info.stdout, r"steps/observation/rgb +image uint8 64x96x3 jpeg\n")
        drafted = self.sluice("data", "info", self.root, "--preset")
        self.assertEqual(drafted.returncode, 0, drafted.stderr)
        preset = self.folder / "my.yaml"
        text = drafted.stdout.replace("  small_arm:", "  my_arm:").replace("weight: 1", "weight: 3", 1)
        preset.write_text("type: lab\n" + text)
        done = self.bench("--preset", preset, *FEW[2:], "--json", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["rows"][0]["case"], "mixture/my")
        shares = {one["name"]: one["requested"] for one in result["metrics"]["shares"]["rows"]}
        self.assertEqual(shares, {"my_arm": 0.5, "small_gripper": 1 / 6, "small_rover": 1 / 6, "small_table": 1 / 6})
        config = result["run_config"]
        self.assertEqual(config["preset"], "my")
        self.assertEqual([(one["name"], one["type"], one["offset"]) for one in config["data_sets"]][0], ("my_arm", "lab", 1))
        self.assertNotIn(str(self.folder), json.dumps(config))

    def test_a_wrong_preset_names_file_and_line(self):
        preset = self.folder / "wrong.yaml"
        drafted = self.sluice("data", "info", self.root, "--preset").stdout
        for old, new, said in [
            ("folder: small_rover/0.1.0", "foldr: small_rover/0.1.0", "nearest: 'folder'"),
            ("weight: 1", "weight: heavy", "'heavy'"),
            ("image: steps/observation/rgb ", "image: steps/observation/rbg ", "did you mean 'steps/observation/rgb'?"),
            ("folder: small_rover/0.1.0", "folder: small_rovr", "small_rovr"),
        ]:
            self.assertIn(old, drafted)
            preset.write_text(drafted.replace(old, new, 1))
            done = self.bench("--preset", preset, *FEW[2:], "--out", self.out)
            self.assertEqual(done.returncode, 2, (new, done.stderr))
            self.assertRegex(done.stderr, r"wrong\.yaml:\d+: ")
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertFalse(self.out.exists())
        refused = self.sluice("data", "info", self.folder / "wrong.yaml", "--preset")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("holds no episodes", refused.stderr)

    def test_bad_data_is_skipped_or_stops_the_run(self):
        damaged = self.out.parent / "damaged"
        shutil.copytree(self.root, damaged)
        for shard in sorted(damaged.glob("small_arm/*/*tfrecord*"))[:1]:
            data = bytearray(shard.read_bytes())
            data[len(data) // 2] ^= 0xFF
            shard.write_bytes(data)
        done = self.bench("--root", damaged, *FEW, "--samples-per-episode", "0", "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"arm: [1-9]\d* bad records")
        done = self.bench("--root", damaged, *FEW, "--samples-per-episode", "0", "--on-error", "stop", "--out", self.out.parent / "stop")
        self.assertEqual(done.returncode, 5, done.stdout)
        self.assertIn("checksum", done.stderr + done.stdout)

    def test_bad_input_is_one_line_exit_2_and_leaves_nothing(self):
        (self.folder / "empty").mkdir(exist_ok=True)
        for arguments, said in [
            ([], "--root is missing"),
            (["--root", self.folder / "nowhere"], "nowhere"),
            (["--root", self.folder / "empty"], "small_arm"),
            (["--root", self.root, "--preset", "oxe29"], "language_table"),
            (["--root", self.root, "--preset", "oxe30"], "accepted: oxe29, small4"),
            (["--root", self.root, "--batch-size", "9"], "multiple of the mix block"),
            (["--root", self.root, "--steps", "0"], "steps 0"),
            (["--root", self.root, "--split", "test"], "test"),
            (["--root", self.root, "--split", "train[5:5]"], "no episode"),
            (["--root", self.root, "--skip", "arm,gripper,rover,table"], "no data set"),
            (["--root", self.root, "--libraries", "nobody"], "nobody"),
            (["--root", self.root, "--mix", "sorted"], "--mix"),
            (["--root", self.root, "--gpu", "cuda:0"], "--train MODEL"),
            (["--root", self.root, "--gpu", "cuda:999", "--train", "vit5-tiny"], "cuda"),
        ]:
            out = self.out.parent / "refused"
            preset = [] if "--preset" in arguments else ["--preset", "small4"]
            done = self.bench(*preset, "--out", out, *arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertFalse(out.exists(), arguments)


if __name__ == "__main__":
    BenchMixture.program = os.path.abspath(sys.argv.pop(1))
    unittest.main()
