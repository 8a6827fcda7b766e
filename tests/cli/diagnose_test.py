# tests/cli/diagnose_test.py - `sluice diagnose` as a user meets it: rows, verdict, report, errors.
# SPDX-License-Identifier: Apache-2.0
import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
SHORT = ["--runs", 2, "--samples", 1, "--sample-ms", 20, "--warmup-ms", 1, "--num-workers", 1]
VERDICTS = ("INPUT", "COMPUTE", "INTERFERENCE", "MIXED")


def run(*arguments, cwd=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=300,
                          check=False)


class DiagnoseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.data = Path(cls.scratch.name) / "photos"
        made = run("data", "make", "--kind", "rgb", "--count", 24, "--out", cls.data)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def diagnose(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            given = () if "--input" in arguments else ("--input", self.data)
            result = run("diagnose", *given, "--batch-size", 4, *SHORT, *arguments, "--out", Path(folder) / "D", "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            document = json.loads(result.stdout)
            stored = json.loads((Path(folder) / "D" / "results" / "diagnose.json").read_text(encoding="utf-8"))
            self.assertEqual(document, stored)
            page = (Path(folder) / "D" / "report.html").read_text(encoding="utf-8")
            self.assertIn('class="answer"', page)
            self.assertIn(document["verdict"]["statement"], html.unescape(page).replace("\u00a0", " "))
            for row in document["rows"]:
                for one in row["runs"]:
                    batches = [sample.get("batches", row["items_per_sample"] / 4) for sample in one["details"]]
                    self.assertEqual(set(batches), {row["items_per_sample"] / 4}, row["case"])  # what is timed is counted
            return document

    def check_identities(self, found):
        loader, step, together = (found[f"{name}_ms_per_batch"] for name in ("loader", "step", "together"))
        self.assertAlmostEqual(found["ideal_ms_per_batch"], max(loader, step), places=9)
        self.assertAlmostEqual(found["residual_ms_per_batch"], together - max(loader, step), places=9)
        self.assertAlmostEqual(found["overlap"], (loader + step - together) / min(loader, step), places=9)
        self.assertAlmostEqual(found["headspace"], 1 - step / together, places=9)
        self.assertAlmostEqual(found["accelerator_use"], 1 - found["wait_share"], places=9)
        self.assertIn(found["verdict"], VERDICTS)
        self.assertTrue(found["statement"].startswith(found["verdict"] + ":"))
        for name in ("loader", "step", "together"):
            interval = found[f"{name}_ms_per_batch_ci95"]
            self.assertLessEqual(interval["low"], found[f"{name}_ms_per_batch"])

    def test_an_emulated_accelerator_that_is_slow_hides_the_loader(self):
        document = self.diagnose("--model-time-ms", 60)
        self.assertEqual([row["case"] for row in document["rows"]],
                         ["diagnose/loader", "diagnose/model", "diagnose/together"])
        found = document["summary"]["attribution"]
        self.check_identities(found)
        self.assertGreaterEqual(found["step_ms_per_batch"], 60)
        self.assertGreaterEqual(found["together_ms_per_batch"], 60)
        self.assertIsNone(found["transfer_ms_per_batch"])
        self.assertIn("emulated", found["transfer_ms_per_batch_reason"])
        self.assertEqual(document["verdict"]["bottleneck"], found["verdict"])

    def diagnose_a_fast_model(self, *arguments):
        """The first of four visits in which it waits, with advice, or the last: a sample may be one batch, and others may have its core for longer than that."""
        for _ in range(4):
            document = self.diagnose("--model-time-ms", 0.01, *arguments)
            found = document["summary"]["attribution"]
            self.check_identities(found)
            if found["verdict"] == "INPUT" and found["wait_share"] > 0.5 and document["summary"].get("advice"):
                break
        return document

    def test_a_fast_one_waits_for_the_loader(self):
        document = self.diagnose_a_fast_model()
        found = document["summary"]["attribution"]
        self.assertEqual(found["verdict"], "INPUT")
        self.assertGreater(found["wait_share"], 0.5)
        self.check_advice(document["summary"])
        self.assertIn("decode", [stage["stage"] for stage in document["summary"]["stages"]])

    def check_advice(self, summary):
        """Best first, each with a promise; the first finding says the same in words."""
        advice = summary.get("advice", [])
        self.assertEqual([one["gain"]["low"] for one in advice], sorted((one["gain"]["low"] for one in advice), reverse=True))
        for one, line in zip(advice, summary["diagnosis"][0]["solutions"]):
            self.assertGreaterEqual(one["gain"]["low"], 1.03)
            self.assertIn(one["how"], line)
            self.assertIn(f"{one['gain']['low']:.2f} to {one['gain']['high']:.2f} x", line)

    def test_the_first_advice_is_tried_in_pairs(self):
        big = Path(self.scratch.name) / "big"
        if not big.exists():  # 1,024 pixels wide: most of each decode is lost work
            self.assertEqual(run("data", "make", "--kind", "rgb", "--count", 8, "--width", 1024, "--height", 768, "--out", big).returncode, 0)
        document = self.diagnose_a_fast_model("--verify", "--input", big)
        summary = document["summary"]
        self.check_advice(summary)
        self.assertTrue(summary["advice"])
        taken = summary["advice_taken"]
        self.assertEqual(taken["what"], summary["advice"][0]["what"])
        self.assertEqual(taken["promised"], summary["advice"][0]["gain"])
        self.assertEqual(taken["pairs"], 2)
        self.assertLessEqual(taken["gain"]["low"], taken["gain"]["point"])
        self.assertEqual([row["case"] for row in document["rows"]][-2:], ["diagnose/before", "diagnose/advised"])

    def test_a_slow_step_hears_nothing_of_the_loader(self):
        document = self.diagnose("--model-time-ms", 60)
        if document["verdict"]["bottleneck"] == "COMPUTE":  # else the machine was busy
            self.assertNotIn("advice", document["summary"])
            self.assertEqual(len(document["summary"]["diagnosis"]), 1)
            self.assertIn("a faster loader won't help", document["verdict"]["statement"])

    def test_our_own_model_has_a_transfer(self):
        document = self.diagnose("--model", "vit5-tiny", "--layers", 1)
        self.assertEqual([row["case"] for row in document["rows"]],
                         ["diagnose/loader", "diagnose/model", "diagnose/transfer", "diagnose/together"])
        found = document["summary"]["attribution"]
        self.check_identities(found)
        self.assertGreater(found["transfer_ms_per_batch"], 0)
        self.assertGreater(found["step_slowdown"], 0)
        self.assertGreater(found["loader_slowdown"], 0)

    def test_without_input_photographs_are_made(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run("diagnose", "--images", 8, "--batch-size", 4, *SHORT, "--model-time-ms", 1, "--out",
                         Path(folder) / "D")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("Verdict: ", result.stdout)
            self.assertFalse((Path(folder) / "D" / "data").exists())

    def test_bytes_may_be_handed_to_an_emulated_accelerator(self):
        document = self.diagnose("--model-time-ms", 0.01, "--upload", "uint8")
        self.assertEqual(document["run_config"]["upload"], "uint8")
        self.assertNotIn("upload_bytes", [one["kind"] for one in document["summary"].get("advice", [])])

    def test_few_images_are_a_small_batch_and_said_to_be_few(self):
        for count in (1, 3):
            few = Path(self.scratch.name) / f"few-{count}"
            self.assertEqual(run("data", "make", "--kind", "rgb", "--count", count, "--out", few).returncode, 0)
            with self.subTest(count=count), tempfile.TemporaryDirectory() as folder:
                result = run("diagnose", "--input", few, *SHORT, "--model-time-ms", 1, "--out", Path(folder) / "D")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(f"Per batch of {count} ", result.stdout)
                if "COMPUTE" not in result.stdout.splitlines()[0]:
                    self.assertIn("few samples", result.stdout)

    def test_one_core_has_an_answer_and_no_more_workers(self):
        core = min(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as folder:
            words = ["diagnose", "--input", self.data, "--batch-size", 4, *SHORT[:-2], "--model-time-ms", 0.01, "--out", Path(folder) / "D",
                     "--json"]
            result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, check=False,
                                    preexec_fn=lambda: os.sched_setaffinity(0, {core}))
            self.assertEqual(result.returncode, 0, result.stderr)
            document = json.loads(result.stdout)
            self.assertEqual(document["run_config"]["num_workers"], 1)
            self.assertNotIn("more_workers", [one["kind"] for one in document["summary"].get("advice", [])])

    def test_images_that_cannot_be_read_are_one_line(self):
        broken = Path(self.scratch.name) / "broken"
        broken.mkdir()
        for name in "ab":
            (broken / f"{name}.jpg").write_bytes(b"\xff\xd8\xff no image")
        for flags in ([], ["--skip-errors"]):
            with self.subTest(flags=flags), tempfile.TemporaryDirectory() as folder:
                result = run("diagnose", "--input", broken, *SHORT, "--model-time-ms", 1, *flags, "--out", Path(folder) / "D")
                self.assertIn(result.returncode, (2, 4, 5), result.stderr)
                self.assertRegex(result.stderr, r"[ab]\.jpg")
                self.assertNotIn("Verdict", result.stdout)

    def test_torch_gets_the_line_to_paste(self):
        python = Path(self.scratch.name) / "adapters" / "python"
        python.mkdir(parents=True)
        shutil.copy(Path(__file__).parent / "tune_worker.py", python / "loader_worker.py")
        fake = dict(os.environ, SLUICE_ADAPTERS=str(python.parent), SLUICE_PYTHON_TORCH=sys.executable)
        with tempfile.TemporaryDirectory() as folder:
            words = ["diagnose", "--library", "torch", "--input", self.data, "--batch-size", 4, "--runs", 3, "--sample-ms", 1,
                     "--warmup-ms", 0, "--model-time-ms", 0.001, "--out", Path(folder) / "D"]
            result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, check=False, env=fake)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("Verdict: INPUT", result.stdout)
            if len(os.sched_getaffinity(0)) > 1:
                self.assertRegex(result.stdout, r"DataLoader\(num_workers=\d+, prefetch_factor=2, persistent_workers=True\)")

    def test_what_cannot_be_is_refused_before_anything_is_written(self):
        for arguments, text in ((["--model", "gpt-tiny"], "gpt-tiny"), (["--batch-size", 25], "25"),
                                (["--model-time-ms", -1], "--model-time-ms"), (["--model-time-ms", 0], "bench dataloader"),
                                (["--library", "torch"], "--model-time-ms"), (["--library", "torch", "--recipe", "three-augment"], "--recipe"),
                                (["--thorough", "--runs", 3], "--runs"), (["--gpu", "cuda:0"], "cuda:0")):
            with self.subTest(arguments=arguments), tempfile.TemporaryDirectory() as folder:
                result = run("diagnose", "--input", self.data, *(["--batch-size", 4] if "--batch-size" not in arguments else []),
                             *arguments, "--out", Path(folder) / "D")
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(text, result.stderr)
                self.assertFalse((Path(folder) / "D").exists())


if __name__ == "__main__":
    unittest.main()
