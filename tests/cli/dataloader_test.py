# tests/cli/dataloader_test.py - `sluice bench dataloader` as a user meets it, on a few small images.
# SPDX-License-Identifier: Apache-2.0
import json
import unittest

from bench_case import BenchCase, sluice

SHORT = ["--runs", 1, "--samples", 1, "--num-batches", 2, "--warmup-ms", 0, "--seed", 3, "--quiet"]


class DataloaderTest(BenchCase):
    COMMAND, COUNT = ("bench", "dataloader"), 24

    def test_json_is_a_result_file_with_metrics(self):
        document = self.result("--input", "D", "--batch-size", 8, "--num-workers", 2, *SHORT)
        metrics = document["metrics"]
        self.assertGreater(metrics["throughput_samples_per_sec"], 0)
        self.assertGreater(metrics["load_time_per_batch_ms"], 0)
        self.assertEqual(metrics["workers"], 2)
        self.assertTrue(0 < metrics["worker_efficiency"] <= 1.01, metrics)
        self.assertIsNone(metrics["gpu_utilization_percent"])
        self.assertIn("--gpu", metrics["gpu_utilization_percent_reason"])
        self.assertIsNone(metrics["cache_hit_rate"])
        self.assertEqual(document["dataset"]["count"], 24)
        rows = {row["case"]: row for row in document["rows"]}
        row = rows["loader/rrc224-antialias"]
        self.assertEqual((row["status"], row["items_per_sample"]), ("ok", 16))
        details = row["runs"][0]["details"][0]
        self.assertEqual((details["batches"], details["samples"]), (2, 16))
        for stage in ("read", "decode", "augment", "collate"):
            self.assertGreater(details["stages"][stage]["busy_ns"], 0, stage)
        self.assertIn(rows["loader/rrc224-antialias/epoch=first"]["runs"][0]["details"][0]["page_cache"],
                      ("cold", "mixed", "warm", "unknown"))
        self.assertEqual(document["verdict"]["limit"], document["summary"]["diagnosis"][0]["diagnosis"].split()[0])

    def test_videos_are_loaded_as_clips(self):
        made = sluice("data", "make", "--kind", "video", "--count", 4, "--out", "V", "--quiet", folder=self.folder)
        if made.returncode != 0 and "libsluice_video" in made.stderr:
            self.skipTest(made.stderr)
        self.assertEqual(made.returncode, 0, made.stderr)
        document = self.result("--input", "V", "--num-workers", 1, "--libraries", "sluice,torch-pil", *SHORT)
        rows = {(row["case"], row["library"]): row for row in document["rows"]}
        row = rows["loader/clip16-antialias", "sluice"]
        self.assertEqual((row["status"], row["items_per_sample"]), ("ok", 8))
        refused = rows["loader/rrc224-antialias", "torch-pil"]
        self.assertEqual((refused["status"], refused["reason"]),
                         ("unsupported", "torch-pil loads images, and the input holds videos"))

    def test_two_runs_draw_the_same_crops_unless_a_seed_is_given(self):
        short = [word for word in SHORT if word not in ("--seed", 3)]
        first, second, other = (
            self.result("--input", "D", "--batch-size", 8, "--num-workers", 1, *short, *more)
            for more in ((), (), ("--seed", 7)))
        digest = lambda document: {row["case"]: row["output_digest"] for row in document["rows"]}
        self.assertEqual(digest(first), digest(second))
        self.assertNotEqual(first["block_order_seed"], second["block_order_seed"])
        self.assertNotEqual(digest(first), digest(other))

    def test_figures_that_are_not_there_are_one_line(self):
        done = self.bench("--input", "D", "--batch-size", 8, "--num-workers", 1, *SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("not available here: "), 1)
        self.assertNotIn("n/a (", done.stdout)

    def test_the_old_name_prints_the_block_of_the_seed(self):
        done = self.bench("--input-dir", "D", "--batch-size", 8, "--num-workers", 1, *SHORT, "--out", "old",
                          command=("benchmark-dataloader",))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "DataLoader Benchmark Results:")
        self.assertEqual([line.split(":")[0] for line in lines[2:8]],
                         ["Throughput", "GPU Utilization", "CPU Usage", "Memory", "Workers", "Cache Hit Rate"])
        self.assertIn("n/a", lines[3])
        self.assertIn("1 active", lines[6])
        self.assertIn("Recommended: --batch-size 8", done.stdout)
        page = (self.folder / "old" / "report.html").read_text(encoding="utf-8")
        for part in ("The loader delivers", "Where the time of the workers goes", ">Figures<", ">Targets<"):
            self.assertIn(part, page)
        report = (self.folder / "old" / "report.md").read_text(encoding="utf-8")
        for heading in ("# Performance Benchmark Report", "## Configuration", "## Optimizations Applied"):
            self.assertIn(heading, report)

    def test_a_sweep_marks_one_optimum_and_a_step_answers_the_question(self):
        document = self.result("--input", "D", "--batch-size", 8, "--num-workers", 1, "--sweep", "workers=0,1", "--sweep",
                               "prefetch=1,2", "--step-ms", 40, "--trace", "trace.json", *SHORT)
        sweep = document["summary"]["sweep"]
        self.assertEqual([(one["num_workers"], one["prefetch"]) for one in sweep], [(0, 1), (1, 1), (1, 2)])
        self.assertEqual(sum(one["optimal"] for one in sweep), 1)
        best = next(one for one in sweep if one["optimal"])
        self.assertIn(f"--num-workers {best['num_workers']}", document["summary"]["recommended"]["flags"])
        step = document["summary"]["step"]
        self.assertEqual(step["step_ms_per_batch"], 40)
        self.assertGreaterEqual(step["together_ms_per_batch"], 40)
        self.assertIn(document["verdict"]["is_it_the_loader"], ("INPUT", "COMPUTE", "INTERFERENCE", "MIXED"))
        self.assertIn("traceEvents", json.loads((self.folder / "trace.json").read_text(encoding="utf-8")))

    def test_batches_that_were_made_before_the_clock_are_not_counted(self):
        made = sluice("data", "make", "--kind", "arrays", "--count", 64, "--bytes", 4096, "--out", "A", "--quiet",
                      folder=self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        document = self.result("--input", "A", "--batch-size", 8, "--num-workers", 2, "--prefetch", 8, "--runs", 1,
                               "--samples", 5, "--num-batches", 2, "--warmup-ms", 0, "--quiet")
        row = next(row for row in document["rows"] if row["case"] == "loader/raw")
        for details in row["runs"][0]["details"]:
            read = details["stages"].get("read", {"bytes": 0})["bytes"]
            self.assertGreaterEqual(read, details["samples"] * 4096, details)

    def test_a_sweep_over_workers_says_where_it_stops_paying(self):
        document = self.result("--input", "D", "--batch-size", 8, "--sweep", "workers=1,2", *SHORT)
        self.assertGreater(document["summary"]["sweep"][0]["memory_bytes"], 0)
        guide = document["summary"]["worker_guide"]
        self.assertEqual(guide["most_tried"], 2)
        self.assertTrue(guide["advice"])

    def test_a_share_estimates_the_whole(self):
        document = self.result("--input", "D", "--batch-size", 4, "--num-workers", 1, "--sample-ratio", 0.5, *SHORT)
        epoch = document["summary"]["epoch"]
        self.assertEqual((epoch["samples"], epoch["estimated_total_batches"]), (24, 6))
        self.assertGreater(epoch["estimated_full_epoch_time_seconds"], 0)
        self.assertEqual(document["rows"][1]["runs"][0]["details"][0]["epoch_items"], 12)

    def test_damaged_samples_are_skipped_counted_and_named_once(self):
        made = sluice("data", "make", "--kind", "rgb", "--count", 12, "--out", "damaged", "--quiet", folder=self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        victims = ["rgb-000000.jpg", "rgb-000007.jpg"]  # the first one, too: it is checked before anything is timed
        for name in victims:
            (self.folder / "damaged" / name).write_text("garbage")
        words = ["--input", "damaged", "--batch-size", 12, "--num-workers", 1, *SHORT]
        failed = self.bench(*words)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("rgb-0000", failed.stdout + failed.stderr)
        rows = {row["case"]: row for row in self.result(*words, "--skip-errors")["rows"]}
        for name in ("loader/rrc224-antialias", "loader/rrc224-antialias/epoch=first"):
            row = rows[name]
            self.assertEqual(row["status"], "ok", row["reason"])
            details = row["runs"][0]["details"][0]
            self.assertGreaterEqual(details["skipped"], 2)
            self.assertEqual([one.split(":")[0] for one in details["skipped_samples"]], victims)
            for one in details["skipped_samples"]:
                self.assertEqual(one.count("rgb-"), 1, one)
        done = self.bench(*words, "--skip-errors")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"Skipped: 2 samples that cannot be used; \d+ times another was loaded instead\n"
                                      r"  rgb-000000.jpg: not a JPEG.*\n  rgb-000007.jpg: not a JPEG")

    def test_definitions_are_explained(self):
        done = self.bench("--explain")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("worker_efficiency", "mmap_effectiveness", "parallel_download_efficiency", "idle_vram"):
            self.assertIn(name, done.stdout)

    def test_bad_input_is_one_line_and_exit_2(self):
        (self.folder / "empty").mkdir()
        (self.folder / "text").mkdir()
        (self.folder / "text" / "a.jpg").write_text("no image", encoding="utf-8")
        for arguments, text in [
            (["--input", "nowhere"], "nowhere"),
            (["--input", "empty"], "empty"),
            (["--input", "text", "--batch-size", 1], "a.jpg"),
            (["--input", "D", "--batch-size", 25], "--batch-size 25: is larger than the data set, 24 samples"),
            (["--input", "D", "--batch-size", 8, "--sample-ratio", 0.1], "3 samples with --sample-ratio 0.1"),
            (["--input", "D", "--libraries", "sluice,torch-tensr"], "did you mean 'torch-tensor'?"),
            (["--input", "D", "--libraries", "spdl"], "'sluice' is missing"),
            (["--input", "D", "--sweep", "wrokers=1"], "expected workers=0,1,2,4"),
            (["--input", "D", "--sweep", "workers=1,x"], "'x' is not a number"),
            (["--input", "D", "--cache-dir", "C"], "--cache-dir"),
            (["--input", "s3://b/p", "--libraries", "sluice,spdl"], "local folders"),
            (["--input", "D", "--target", "speed=5"], "accepted: none, rate=SAMPLES_PER_S"),
            ([], "an input is missing"),
        ]:
            with self.subTest(arguments=arguments):
                done = self.bench(*arguments, *SHORT)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertNotIn(" threw: ", done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
