#!/usr/bin/env python3
# tests/cli/tune_test.py - `sluice tune` as a user meets it: the answer, its evidence, limits, bad input.
# SPDX-License-Identifier: Apache-2.0
"""usage: tune_test.py PROGRAM"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
# Small enough for a test; the numbers mean nothing.
TINY = ["--batch-size", "4", "--max-workers", "2", "--max-prefetch", "2", "--sample-ms", "1", "--warmup-ms", "0",
        "--seed", "1"]


def run(*arguments, **variables):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100,
                          env=dict(os.environ, **variables))


class TuneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.data = cls.folder / "photos"
        made = run("data", "make", "--kind", "rgb", "--count", 12, "--width", 64, "--height", 48, "--out", cls.data)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_the_answer_stands_in_the_file_with_its_evidence(self):
        out = self.folder / "answer"
        done = run("tune", "--input", self.data, *TINY, "--budget-s", 3, "--out", out, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document, json.loads((out / "results" / "tune.json").read_text()))
        tune = document["summary"]["tune"]
        self.assertLessEqual(tune["elapsed_s"], 30)
        self.assertIn(tune["recommended"]["workers"], (1, 2))
        self.assertIn(f"--num-workers {tune['recommended']['workers']} ", tune["flags"] + " ")
        self.assertGreaterEqual(len(tune["rates"]), 1)
        for one in tune["evidence"]:
            self.assertIn(one["outcome"], ("better", "worse", "no gain", "as good", "undecided", "failed"))
            if "ratio" in one:
                self.assertLessEqual(one["ratio"]["low"], one["ratio"]["high"])
        places = [(place["workers"], place["prefetch"]) for place in tune["ranking"]]
        rates = [place["rate"] for place in tune["ranking"]]
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertEqual(places[0], (tune["best"]["workers"], tune["best"]["prefetch"]))
        recommended = (tune["recommended"]["workers"], tune["recommended"]["prefetch"])
        self.assertEqual(recommended == places[0], tune["choice"] == "first")
        self.assertLessEqual(recommended, places[0])
        if tune["settled"]:
            self.assertLessEqual(tune["loss"]["high"], tune["worth"])
        runs = {row["case"]: len(row["runs"]) for row in document["rows"]}
        self.assertEqual(sum(runs.values()), sum(rate["n"] for rate in tune["rates"]))

    def test_text_names_the_flags_and_how_sure_it_is(self):
        done = run("tune", "--input", self.data, *TINY, "--budget-s", 1, "--out", self.folder / "text")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sluice bench dataloader --batch-size 4 --num-workers ", done.stdout)
        self.assertIn("Recommended: ", done.stdout)
        self.assertRegex(done.stdout, "Settled after|Not enough data: ")
        self.assertNotIn("\x1b", done.stdout)

    def test_two_runs_draw_the_same_crops_unless_a_seed_is_given(self):
        digests = []
        for number, seed in enumerate(([], [], ["--seed", "9"])):
            done = run("tune", "--input", self.data, *TINY[:-2], *seed, "--budget-s", 1, "--out", self.folder / f"draws-{number}", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            digests.append({row["output_digest"] for row in json.loads(done.stdout)["rows"]})
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[0], digests[2])

    def fake_torch(self):
        """Variables under which tune_worker.py plays torch."""
        python = self.folder / "adapters" / "python"
        python.mkdir(parents=True, exist_ok=True)
        shutil.copy(pathlib.Path(__file__).parent / "tune_worker.py", python / "loader_worker.py")
        return {"SLUICE_ADAPTERS": str(python.parent), "SLUICE_PYTHON_TORCH": sys.executable}

    def test_torch_gets_a_line_to_paste_and_the_gain_over_its_default(self):
        out = self.folder / "torch"
        done = run("tune", "--library", "torch", "--input", self.data, "--batch-size", 4, "--max-workers", 4, "--max-prefetch", 2,
                   "--sample-ms", 1, "--warmup-ms", 0, "--seed", 1, "--budget-s", 12, "--out", out, **self.fake_torch())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\n  DataLoader\(num_workers=2, prefetch_factor=[12], persistent_workers=True\)\n")
        self.assertIn("Gain over DataLoader(num_workers=0), PyTorch's default: +", done.stdout)
        document = json.loads((out / "results" / "tune.json").read_text())
        tune = document["summary"]["tune"]
        self.assertEqual(tune["library"], "torch-pil")
        self.assertAlmostEqual(tune["gain"]["point"], 2, delta=0.1)
        self.assertLess(tune["gain"]["low"], tune["gain"]["high"])
        self.assertEqual({row["library"] for row in document["rows"]}, {"torch-pil"})

    def test_flags_that_torch_cannot_have_are_refused(self):
        for arguments, message in [(["--max-rss-gb", "1"], "--max-rss-gb"), (["--recipe", "three-augment"], "--recipe"),
                                   (["--read-mode", "mmap"], "--read-mode"), (["--pin-memory"], "--pin-memory")]:
            with self.subTest(message=message):
                done = run("tune", "--library", "torch", "--input", self.data, "--batch-size", 4, *arguments, **self.fake_torch())
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"{message}: is for --library sluice", done.stderr)

    def test_torch_that_is_not_installed_is_one_line_with_the_command(self):
        out = self.folder / "absent"
        done = run("tune", "--library", "torch", "--input", self.data, "--batch-size", 4, "--out", out,
                   SLUICE_CACHE_DIR=str(self.folder / "cache"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("run: sluice peers install", done.stderr)
        self.assertFalse(out.exists())

    def test_a_limit_that_nothing_meets_is_one_line(self):
        done = run("tune", "--input", self.data, *TINY, "--max-rss-gb", "0.000001", "--out", self.folder / "limit")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("--max-rss-gb allows", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_bad_input_is_refused_before_anything_is_written(self):
        for arguments, message in [
                ([], "an input is missing"),
                (["--input", self.folder / "nowhere"], "nowhere"),
                (["--input", self.data, "--batch-size", "13"], "--batch-size 13"),
                (["--input", self.data, "--num-workers", "3", "--max-workers", "2"], "--num-workers 3"),
                (["--input", self.data, "--max-cpu", "0%"], "--max-cpu 0%"),
                (["--input", self.data, "--gpu", "cuda:999"], "cuda"),
                (["--input", self.data, "--loader", "gpu"], "--loader gpu: needs a GPU"),
                (["--input", self.data, "--enable-bundling"], "--enable-bundling")]:
            with self.subTest(message=message):
                out = self.folder / "refused"
                done = run("tune", *arguments, "--out", out)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertFalse(out.exists())


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
