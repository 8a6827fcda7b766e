# tests/cli/profile_test.py - `sluice profile` as a user meets it: files, table, JSON, errors.
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
REGIONS = ["data", "transfer", "forward", "loss", "backward", "grad_sync", "optimizer_step"]
CATEGORIES = {"GEMM", "attention", "norm", "elementwise", "optimizer", "copy", "communication"}
SMALL = ["--model", "gpt-tiny", "--batch-size", "2"]


def run(*arguments, cwd=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=300,
                          check=False)


class ProfileTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = Path(self.scratch.name)

    def test_the_schedule_decides_which_steps_are_kept(self):
        out = self.folder / "D"
        result = run("profile", *SMALL, "--gpu", "cpu", "--wait", 1, "--warmup", 2, "--active", 3, "--repeat", 2, "--out", out,
                     "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document, json.loads((out / "profile" / "profile.json").read_text(encoding="utf-8")))
        self.assertEqual(document["steps"], 6)
        trace = json.loads((out / "profile" / "chrome" / "trace.json").read_text(encoding="utf-8"))
        events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        steps = {event["args"]["step"]: event for event in events if event["cat"] == "step"}
        self.assertEqual(sorted(steps), [3, 4, 5, 9, 10, 11])
        for number, step in steps.items():
            inside = [event for event in events if event["args"]["step"] == number and event is not step]
            regions = [event["name"] for event in inside if event["cat"] == "region"]
            self.assertEqual(regions, REGIONS)
            for event in inside:
                self.assertGreaterEqual(event["ts"], step["ts"] - 0.002)
                self.assertLessEqual(event["ts"] + event["dur"], step["ts"] + step["dur"] + 0.002)
            categories = {event["cat"] for event in inside} - {"region"}
            self.assertLessEqual(categories, CATEGORIES)
            self.assertLessEqual({"GEMM", "attention", "norm", "elementwise", "optimizer"}, categories)
        kept = sorted((out / "profile" / "tb").iterdir())
        self.assertEqual([str(path) for path in kept], document["files"]["tensorboard"])
        for path in kept:
            self.assertRegex(path.name, r"^sluice\.\d{13}\.pt\.trace\.json$")

    def test_tokens_are_loaded(self):
        made = run("data", "make", "--kind", "text", "--tokens", 2000, "--out", "text", "--quiet", cwd=self.folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        result = run("profile", *SMALL, "--input", "text", "--active", 1, "--repeat", 1, "--out", "D", "--json", cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["data"], "loader")

    def test_the_sums_agree(self):
        result = run("profile", *SMALL, "--active", 2, "--repeat", 1, "--top", 1000, "--out", self.folder / "D", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        ops, categories = document["top_ops"], document["categories"]
        self.assertEqual(sorted(ops, key=lambda op: -op["total_ms"]), ops)
        self.assertAlmostEqual(sum(op["total_ms"] for op in ops), sum(one["total_ms"] for one in categories), places=6)
        self.assertEqual(len({(op["name"], op["category"]) for op in ops}), len(ops))
        self.assertTrue(any(op["name"].startswith("block*.") for op in ops))
        self.assertEqual([one["phase"] for one in document["phases"]], REGIONS)
        for share in document["coverage"].values():
            self.assertTrue(0.5 < share <= 1.0001, document["coverage"])
        self.assertLessEqual(document["coverage"]["ops"], document["coverage"]["regions"] + 1e-9)

    def test_with_files_the_wait_for_data_is_a_region(self):
        data = self.folder / "photos"
        self.assertEqual(run("data", "make", "--kind", "rgb", "--count", 8, "--out", data).returncode, 0)
        result = run("profile", "--model", "vit5-tiny", "--layers", 1, "--batch-size", 2, "--input", data, "--active", 1,
                     "--repeat", 1, "--num-workers", 1, "--out", self.folder / "D", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document["data"], "loader")
        self.assertGreater(document["phases"][0]["total_ms"], 0)

    def test_people_get_a_table_and_know_that_it_is_no_measurement(self):
        result = run("profile", *SMALL, "--active", 1, "--repeat", 1, "--top", 3, "--out", self.folder / "D")
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in ("optimizer_step", "GEMM", "share", "none of this is a measurement", "trace.json"):
            self.assertIn(text, result.stdout)

    def test_what_cannot_be_is_refused_before_anything_is_written(self):
        for arguments, text in ((["--active", 0], "--active 0"), (["--repeat", 0], "--repeat 0"),
                                (["--wait", -1], "--wait -1"), (["--gpu", "cuda:0"], "cuda:0"),
                                (["--input", "nowhere"], "nowhere")):
            with self.subTest(arguments=arguments):
                result = run("profile", *SMALL, *arguments, "--out", self.folder / "D")
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(text, result.stderr)
                self.assertFalse((self.folder / "D").exists())


if __name__ == "__main__":
    unittest.main()
