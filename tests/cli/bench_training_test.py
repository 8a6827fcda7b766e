# tests/cli/bench_training_test.py - `sluice bench training` as a user meets it, on a model of milliseconds.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import shutil
import subprocess
import unittest

from bench_case import BenchCase, PROGRAM, sluice

FLAGS = {"--dim": 32, "--heads": 2, "--layers": 2, "--image-size": 32, "--classes": 10, "--batch-size": 4,
         "--warmup-steps": 1, "--measure-steps": 5, "--seed": 3}


def tiny(over=(), leave=()):
    """The words of a model of milliseconds; `over` replaces flags."""
    flags = {**FLAGS, **dict(over)}
    return ["--quiet", *(word for flag, value in flags.items() if flag not in leave for word in (flag, value))]


def gpt(over):
    """The same of a model of text, fed by a loader."""
    return tiny({"--model": "gpt-tiny", "--mode": "e2e", "--seq-len": 16, **over}, leave=["--image-size", "--classes"])


E2E = tiny()
SYNTHETIC = [*E2E, "--mode", "synthetic"]


class TrainingTest(BenchCase):
    COMMAND, COUNT = ("bench", "training"), 12

    def test_json_is_a_result_file_with_metrics(self):
        document = self.result(*SYNTHETIC, "--grad-accum", 2, "--out", "run-a")
        metrics = document["metrics"]
        self.assertEqual(metrics, json.loads((self.folder / "run-a/metrics.json").read_text()))
        self.assertEqual(metrics["schema_version"], "1.0")
        self.assertEqual(metrics["run_config"]["mode"], "synthetic")
        self.assertEqual(metrics["run_config"]["global_batch_size"], 8)
        self.assertEqual(metrics["throughput"]["tokens_per_step"], 4 * 2 * 9)  # 4 patches, class token, 4 registers
        self.assertEqual(len(metrics["loss"]["loss_values"]), 5)
        self.assertIsNone(metrics["mfu"]["mfu_p50"])
        self.assertIn("--peak-tflops", metrics["mfu"]["mfu_p50_reason"])
        self.assertIsNone(metrics["utilization"]["compute"])
        self.assertGreater(metrics["memory"]["peak_allocated_bytes"], 0)
        phases = metrics["phases"]["per_step"]
        self.assertEqual(list(phases), [f"{name}_s" for name in (
            "data", "transfer", "forward", "loss", "backward", "grad_sync", "optimizer_step")])
        self.assertEqual((phases["data_s"], phases["transfer_s"], phases["grad_sync_s"]), (0, 0, 0))
        self.assertAlmostEqual(metrics["phases"]["residual_s"],
                               metrics["phases"]["natural_step_s"] - sum(phases.values()), places=9)
        row, = document["rows"]
        self.assertEqual((row["case"], row["library"], row["unit"]), ("training/vit5-tiny", "sluice", "samples/s"))
        self.assertEqual((row["items_per_sample"], len(row["runs"][0]["samples_ns"])), (8, 5))
        self.assertTrue(document["canary"])
        self.assertIn("noise", document["environment"])

    def test_the_old_name_prints_the_block_of_the_seed(self):
        done = self.bench(*SYNTHETIC, "--peak-tflops", 1, "--repeat", 2, command=("benchmark-training",))
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in ("Training Benchmark Results:", "Forward Pass: ", "Backward Pass: ", "Total: ",
                     "Mixed Precision: Disabled", "Gradient Norm: ", "best median", "MFU p50", "residual",
                     "Forward and backward > 100 samples/s", "Recommendations"):
            self.assertIn(line, done.stdout)

    def test_batches_of_a_loader(self):
        document = self.result(*E2E, "--input", "D", "--num-workers", 1)
        metrics = document["metrics"]
        self.assertEqual(metrics["data"]["source"], "loader")
        self.assertGreater(metrics["phases"]["per_step"]["data_s"], 0)
        self.assertGreater(metrics["phases"]["per_step"]["transfer_s"], 0)
        self.assertGreater(metrics["phases"]["natural_data_wait_s"], 0)
        self.assertEqual(document["summary"]["epoch"]["samples"], 12)

    def test_without_input_it_is_synthetic_and_says_so(self):
        document = self.result(*E2E)
        self.assertEqual((document["run_config"]["mode"], document["metrics"]["run_config"]["mode"]), ("synthetic",) * 2)
        self.assertEqual(document["metrics"]["data"]["source"], "resident")

    def test_batches_of_tokens(self):
        made = self.bench("--tokens", 3000, "--vocabulary", 200, "--out", "text", "--quiet",
                          command=("data", "make", "--kind", "text"))
        self.assertEqual(made.returncode, 0, made.stderr)
        document = self.result(*gpt({"--input": "text"}))
        metrics = document["metrics"]
        self.assertEqual(metrics["run_config"]["mode"], "e2e")
        self.assertEqual(metrics["data"]["source"], "loader")
        self.assertEqual(metrics["data"]["recipe"], {"name": "tokens", "sequence": 16, "vocabulary": 4096})
        self.assertEqual(metrics["data"]["samples"], 187)
        self.assertEqual(metrics["throughput"]["tokens_per_step"], 4 * 16)
        for phase in ("data", "transfer", "forward", "backward", "optimizer_step"):
            self.assertGreater(metrics["phases"]["per_step"][f"{phase}_s"], 0, phase)
        self.assertEqual((document["timing"]["data_source"], document["timing"]["includes_decode"]), ("file", False))
        self.assertEqual(document["dataset"]["count"], 187)
        row, = document["rows"]
        self.assertEqual((row["case"], row["status"]), ("training/gpt-tiny", "ok"))
        for over, said in (({"--input": "D"}, "has no tokens.json"), ({}, "--mode e2e: needs --input"),
                           ({"--input": "text", "--batch-size": 500}, "--batch-size 500"),
                           ({"--input": "text", "--seq-len": 3000}, "a sequence of 3000 needs 3001")):
            done = self.bench(*gpt(over), "--out", "refused")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.strip().count("\n"), 0, done.stderr)
            self.assertFalse((self.folder / "refused").exists())
        beyond = self.folder / "beyond"  # as in train_text_test.py, where more of this kind is
        shutil.copytree(self.folder / "text", beyond)
        shard, = sorted(beyond.glob("*.bin"))
        content = bytearray(shard.read_bytes())
        content[2 * 1000:2 * 1000 + 2] = (4096).to_bytes(2, "little")
        shard.write_bytes(content)
        index = json.loads((beyond / "tokens.json").read_text())
        (beyond / "tokens.json").write_text(json.dumps({**index, "vocabulary": 5000}))
        done = self.bench(*gpt({"--input": "beyond"}), "--out", "refused")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"{shard.name}: token 1000 is 4096; the model has 4096 ids", done.stderr)
        self.assertEqual(done.stderr.strip().count("\n"), 0, done.stderr)
        self.assertFalse((self.folder / "refused").exists())
        done = self.bench(*E2E, "--input", "text", "--out", "refused")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("holds tokens", done.stderr)
        self.assertFalse((self.folder / "refused").exists())

    def test_a_sweep_survives_what_does_not_fit(self):
        words = tiny({"--layers": 12, "--image-size": 256, "--measure-steps": 2}, leave=["--batch-size"])
        document = self.result(*words, "--mode", "synthetic", "--sweep", "batch-size=1,2,60000")
        sweep = document["summary"]["sweep"]
        self.assertEqual([one["batch_size"] for one in sweep], [1, 2, 60000])
        self.assertGreater(sweep[1]["samples_per_sec"], 0)
        self.assertIsNone(sweep[2]["samples_per_sec"])
        self.assertIn("fits", sweep[2]["samples_per_sec_reason"])
        self.assertEqual(document["summary"]["oom_batch_sizes"], [60000])
        self.assertGreaterEqual(document["summary"]["max_batch"]["batch_size"], 1)
        self.assertGreaterEqual(document["summary"]["critical_batch"]["batch_size"], 1)
        best = document["summary"]["best_batch"]
        self.assertEqual([one["batch_size"] for one in sweep if one.get("best")], [best["batch_size"]])
        self.assertGreaterEqual(best["of_best"], 0.98)
        self.assertGreater(sweep[0]["cpu_use"], 0)
        self.assertNotIn("compute_use", sweep[0])  # no GPU
        self.assertEqual(document["rows"][2]["status"], "unsupported")

    def test_the_last_block_in_full_and_on_the_class_token(self):
        words = [*SYNTHETIC, "--last-block", "full,class-token", "--peak-tflops", 1]
        document = self.result(*words)
        self.assertEqual([row["case"] for row in document["rows"]],
                         ["training/vit5-tiny", "training/vit5-tiny/last_block=class-token"])
        self.assertEqual(document["run_config"]["last_block"], "full,class-token")
        self.assertEqual([one["last_block"] for one in document["summary"]["sweep"]], ["full", "class-token"])
        full, short = document["summary"]["libraries"]
        self.assertEqual([one["engine"]["last_block"] for one in (full, short)], ["full", "class-token"])
        self.assertEqual(full["flop_model"], short["flop_model"])
        # Eight tokens of four samples without projection and MLP, forward and twice backward.
        self.assertEqual(full["flop_executed"] - short["flop_executed"], 3 * 2 * 4 * 8 * 9 * 32 * 32)
        digests = {row["output_digest"].rpartition(",")[0] for row in document["rows"]}
        self.assertEqual(len(digests), 1, digests)
        mfu = document["metrics"]["mfu"]
        self.assertEqual(mfu["estimator"], "shapes")
        self.assertGreater(mfu["mfu_p50_6nd"], 0)
        self.assertIn(mfu["executed_flop_per_step"], (full["flop_executed"], short["flop_executed"]))
        self.assertEqual(mfu["flop_per_step"], full["flop_model"])
        done = self.bench(*words)
        for line in ("(FLOP of the model, shapes)", "FLOP executed", "% of the model's FLOP", "MFU p50 by 6ND"):
            self.assertIn(line, done.stdout)

    def test_a_run_is_resumed(self):
        words = [*tiny(leave=["--batch-size"]), "--mode", "synthetic", "--sweep", "batch-size=1,2", "--out", "kept"]
        first = self.result(*words)
        file = self.folder / "kept/results/bench-training.json"
        document = json.loads(file.read_text())
        del document["rows"][1]  # as after an interruption
        file.write_text(json.dumps(document))
        second = self.result(*words, "--resume")
        ids = [[row["runs"][0]["run_id"] for row in one["rows"]] for one in (first, second)]
        self.assertEqual([row["case"] for row in second["rows"]], [row["case"] for row in first["rows"]])
        self.assertEqual(ids[0][0], ids[1][0])
        self.assertNotEqual(ids[0][1], ids[1][1])
        self.assertEqual(second["metrics"]["start"]["first_step_s_reason"], "the run was resumed")
        for more, said in ((("--grad-accum", 2), "cannot be resumed"), ((), "--resume")):
            done = self.bench(*words, *(("--resume", *more) if more else ()))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.strip().count("\n"), 0, done.stderr)
        done = self.bench(*SYNTHETIC, "--resume")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--out DIR", done.stderr)

    def test_two_types_of_numbers(self):
        document = self.result(*SYNTHETIC, "--dtype", "fp32,bf16")
        self.assertEqual({row["case"] for row in document["rows"]},
                         {"training/vit5-tiny/dtype=fp32", "training/vit5-tiny/dtype=bf16"})
        amp = document["metrics"]["amp"]
        self.assertGreater(amp["speedup"], 0)
        if "loss_difference" in amp:  # else no step was timed in both
            self.assertLess(abs(amp["loss_difference"]), 0.05)

    def test_images_are_mixed(self):
        document = self.result(*SYNTHETIC, "--mixup", 0.8, "--cutmix", 1)
        self.assertEqual((document["run_config"]["mixup"], document["run_config"]["cutmix"]), (0.8, 1))
        self.assertEqual([document["metrics"]["run_config"][key] for key in ("mixup", "cutmix", "random_erasing")], [0.8, 1, 0])
        self.assertEqual(document["rows"][0]["case"], "training/vit5-tiny/cutmix=1/mixup=0.8")  # never beside one that is not
        done = self.bench(*SYNTHETIC, "--mixup", 0.8, "--profile", "trace")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Mixup 0.8", done.stdout)

    def test_several_inputs_are_rows_of_their_storage(self):
        document = self.result(*E2E, "--input", "D", "--input", "D", "--random-erasing", 0.5)
        kind = document["run_config"]["storage"].partition(",")[0]
        self.assertEqual(document["run_config"]["storage"], f"{kind},{kind}-2")
        self.assertEqual(document["run_config"]["random_erasing"], 0.5)
        self.assertEqual([document["metrics"]["run_config"][key] for key in ("mixup", "random_erasing")], [0, 0.5])
        self.assertEqual({row["case"]: row["params"]["storage"] for row in document["rows"]},
                         {f"training/vit5-tiny/random_erasing=0.5/storage={name}": name for name in (kind, kind + "-2")})
        self.assertEqual([line["storage"] for line in document["summary"]["sweep"]], [kind, kind + "-2"])
        self.assertEqual([one["items"] for one in document["run_config"]["inputs"]], [12, 12])
        self.assertEqual(document["metrics"]["data"]["recipe"]["erasing"], 0.5)

    def test_arrays_train_a_model_that_holds_them(self):
        made = sluice("data", "make", "--kind", "arrays", "--count", 16, "--bytes", 5000, "--out", "A", "--quiet",
                      folder=self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        document = self.result(*tiny({"--input": "A", "--image-size": 48}))
        row, = document["rows"]
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertEqual(document["metrics"]["data"]["recipe"]["name"], "numbers")
        for over, said in (({"--image-size": 32}, "--image-size 48 takes them all"),
                           ({"--image-size": 48, "--recipe": "three-augment"}, "is for images"),
                           ({"--image-size": 48, "--libraries": "sluice,torch-eager"}, "sluice alone reads")):
            done = self.bench(*tiny({"--input": "A", **over}), "--out", "refused")
            self.assertIn(said, done.stderr, over)
            self.assertEqual(done.returncode, 2, over)
            self.assertFalse((self.folder / "refused").exists(), over)

    def test_bundles_beside_the_files_stay_for_the_next_run(self):
        cache = {"SLUICE_CACHE_DIR": str(self.folder / "cache")}

        def run(*words):
            done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, env={**os.environ, **cache},
                                  capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        kept = []
        for out, took in ("packed", r"packing took [0-9.]+ s, with reading"), ("packed-before", r"packing took [0-9.]+ s in an earlier"):
            document = json.loads(run("bench", "training", *tiny({"--input": "D"}), "--enable-bundling", "--json",
                                      "--out", out))
            self.assertRegex((self.folder / out / "report.md").read_text(), took)
            self.assertEqual([row["status"] for row in document["rows"]], ["ok", "ok"])
            self.assertEqual({row["params"]["storage"] for row in document["rows"]} & {"bundles"}, {"bundles"})
            kept.append(document["run_config"]["bundles"]["kept"])
        self.assertEqual(kept, [False, True])
        entry, = json.loads(run("data", "bundle", "--kept", "--json"))
        self.assertEqual(entry["samples"], 12)
        self.assertGreater(entry["bytes"], 0)
        self.assertIn(", removed", run("data", "bundle", "--remove", entry["name"]))
        self.assertEqual(json.loads(run("data", "bundle", "--kept", "--json")), [])
        done = sluice("data", "bundle", "--remove", "none", folder=self.folder)
        self.assertEqual((done.returncode, "--kept lists them" in done.stderr), (2, True), done.stderr)

    def test_bundles_are_packed_when_nothing_is_left_to_refuse(self):
        cache = self.folder / "cache-of-refused"

        def run(out, *words):
            return subprocess.run([PROGRAM, "bench", "training", *map(str, tiny({"--input": "D"})), "--out", out,
                                   *words], cwd=self.folder, env={**os.environ, "SLUICE_CACHE_DIR": str(cache)},
                                  capture_output=True, text=True, timeout=300, check=False)

        done = run("resumed")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("resumed", "--enable-bundling", "--resume")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("cannot be resumed", done.stderr)
        self.assertFalse((cache / "bundles").exists(), "they were packed before the refusal")
        for more in (), ("--resume",):
            done = run("resumed-bundled", "--enable-bundling", "--json", *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads(done.stdout)
            self.assertEqual([one["storage"] for one in document["run_config"]["inputs"]][1], "bundles")
            self.assertEqual(document["run_config"]["bundles"]["kept"], False)
        shutil.rmtree(cache)
        done = run("resumed-bundled", "--enable-bundling", "--resume", "--grad-accum", "2")
        self.assertEqual((done.returncode, (cache / "bundles").exists()), (2, False), done.stderr)

    def test_a_cold_disk_is_read_past_the_page_cache(self):
        done = self.bench(*E2E, "--input-cold", "D", "--json")
        document = json.loads(done.stdout)
        self.assertIn(document["run_config"]["storage"], ("disk-cold", "network-cold", "memory", "shared"))
        row, = document["rows"]
        self.assertEqual(done.returncode, 0 if row["status"] == "ok" else 5)
        if row["status"] != "ok":  # a file system without such reads says so
            self.assertIn("direct", row["reason"])

    def test_refusals_write_nothing(self):
        for words, said in (({"--gpu": "cuda:999"}, "cuda"), ({"--gpu": "cuda:999", "--libraries": "torch-eager"}, "cuda"),
                            ({"--gpu": "cuda:999", "--compile": "off,fused,graph"}, "cuda"),
                            ({"--compile": "off,fused"}, "one form"), ({"--batch-size": 60000, "--image-size": 2048}, "fits"),
                            ({"--input": "nowhere"}, "nowhere"), ({"--heads": 5}, "heads"),
                            ({"--last-block": "half"}, "full and class-token are accepted"),
                            ({"--last-block": "class-token", "--readout": "gap"}, "full is accepted"),
                            ({"--dtype": "fp8"}, "--dtype 'fp8': fp32, bf16, bf16-residual and bf16-weights are accepted"),
                            ({"--dtype": "bf16,fp8"}, "--dtype 'fp8'"),
                            ({"--readout": "max"}, "cls and gap are accepted"), ({"--registers": 5}, "a square number"),
                            ({"--registers": 5000}, "1024"), ({"--mixup": 0.8, "--batch-size": 5}, "even"),
                            ({"--input": "D", "--random-erasing": 1.5}, "1.5")):
            done = self.bench(*tiny(words), "--out", "refused")
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.strip().count("\n"), 0, done.stderr)
            self.assertFalse((self.folder / "refused").exists(), words)

    def test_what_does_not_fit_is_told_how_it_could(self):
        done = self.bench(*tiny({"--batch-size": 60000, "--image-size": 2048}), "--out", "refused")
        self.assertRegex(done.stderr, r"a batch of up to \d+ fits; less is needed with --checkpoint-activations [\d.]+ GiB")
        steps = re.search(r"--batch-size (\d+) --grad-accum (\d+) [\d.]+ GiB", done.stderr)
        self.assertEqual(int(steps[1]) * int(steps[2]), 60000)

    def test_mixed_precision_is_told_at_debug_level_in_any_case(self):
        words = [str(word) for word in tiny({"--mode": "synthetic", "--measure-steps": 1})]
        for dtype, level in (("bf16", "DEBUG"), ("fp32", "Debug")):
            out = self.folder / f"amp-{dtype}"
            done = subprocess.run([PROGRAM, "bench", "training", *words, "--dtype", dtype, "--out", out], cwd=self.folder,
                                  env={**os.environ, "SLUICE_LOG_LEVEL": level}, capture_output=True, text=True,
                                  timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            enabled = json.loads((out / "metrics.json").read_text())["amp"]["enabled"]  # not every CPU has bf16 products
            self.assertIn("debug: " + ("Using automatic mixed precision (AMP): " if enabled else
                                       "Automatic mixed precision (AMP) is off, fp32 is used: ") + f"--dtype {dtype}",
                          done.stderr)

    def test_the_machine_is_watched_and_its_use_checked(self):
        document = self.result(*tiny({"--mode": "synthetic", "--warmup-steps": 12, "--measure-steps": 8}))
        use = document["summary"]["resources"]
        self.assertGreater(len(use["at_s"]), 0)
        self.assertEqual((len(use["cpu"]), len(use["ram_bytes"])), (len(use["at_s"]),) * 2)
        self.assertIn("--gpu", use["no_gpu"])
        marks = {one["name"].split(" (")[0]: one["status"] for one in document["summary"]["indicators"]}
        for name in ("Sustained rate", "Stable memory", "Frequent allocations"):
            self.assertIn(marks[name], ("pass", "fail"), name)
        self.assertIn("Excessive CPU", marks)
        self.assertGreater(document["metrics"]["utilization"]["memory_bytes_per_s_estimate"], 0)

    def test_others_alone_say_why_they_are_not_there(self):
        done = subprocess.run([PROGRAM, "bench", "training", *map(str, SYNTHETIC), "--libraries", "torch-eager", "--out", "alone"],
                              capture_output=True, text=True, cwd=self.folder, timeout=300,
                              env={**os.environ, "SLUICE_PYTHON_TORCH": "/no/python"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("our engine was not asked for", done.stdout)
        self.assertIn("SLUICE_PYTHON_TORCH /no/python: is no program", done.stdout)
        self.assertFalse((self.folder / "alone/metrics.json").exists())

    def test_a_loss_that_is_no_number_ends_with_5(self):
        done = self.bench(*tiny({"--measure-steps": 400}), "--mode", "synthetic", "--optimizer", "adamw", "--lr", 1000,
                          "--clip", 0)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertRegex(done.stderr, r"step \d+")

    def test_the_memory_plan(self):
        done = self.bench(*SYNTHETIC, "--print-memory")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("blocks.1.attn.qkv.weight", done.stdout)
        document = self.result(*SYNTHETIC, "--print-memory")
        self.assertGreater(document["bytes"], sum(t["bytes"] for t in document["tensors"] if t["arena"] == "parameters"))

    def test_traces_come_from_a_pass_of_their_own(self):
        for asked, chrome in (("trace", ["profile/chrome/trace.json"]), ("tb", [])):
            document = self.result(*SYNTHETIC, "--profile", asked, "--out", asked)
            files = document["summary"]["profile"]
            self.assertEqual(files[:len(chrome)], chrome)
            ops = document["summary"]["top_ops"]
            self.assertEqual(ops, sorted(ops, key=lambda op: -op["ms_per_step"]))
            self.assertGreater(ops[0]["share"], 0)
            self.assertIn("Ops of a profiled step", (self.folder / asked / "report.html").read_text())
            details = document["rows"][0]["runs"][0]["details"][-1]
            steps = [step for step, _ in details["memory_by_step"]]
            self.assertEqual(steps, sorted(set(steps)))
            self.assertLessEqual(details["warmup_steps"], len(steps))
            self.assertEqual(details["memory_of"], "process")
            self.assertNotIn("top_kernels", document["summary"])  # there is no GPU
            self.assertEqual(len(files), len(chrome) + 2)  # one for TensorBoard per cycle
            for file in files[len(chrome):]:
                self.assertRegex(file, r"^profile/tb/sluice\.\d{13}\.pt\.trace\.json$")
            for file in files:
                names = {event.get("name") for event in json.loads((self.folder / asked / file).read_text())["traceEvents"]}
                self.assertLessEqual({"data", "forward", "loss", "backward", "grad_sync", "optimizer_step"}, names)
            self.assertEqual({str(path.relative_to(self.folder / asked)) for path in
                              (self.folder / asked / "profile").rglob("*.json")}, set(files))


if __name__ == "__main__":
    unittest.main()
