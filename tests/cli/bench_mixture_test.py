#!/usr/bin/env python3
# tests/cli/bench_mixture_test.py - `sluice bench mixture` as a user meets it: files, numbers, bad input.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench_mixture_test.py PROGRAM"""
import json
import os
import shutil
import sys
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
