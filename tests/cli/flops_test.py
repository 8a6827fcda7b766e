# tests/cli/flops_test.py - `sluice flops` as a user meets it: documents, tables, files, errors.
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1))


def flops(*arguments):
    return subprocess.run([PROGRAM, "flops", *map(str, arguments)], capture_output=True, text=True)


def document(*arguments):
    done = flops(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class FlopsTest(unittest.TestCase):
    def test_vit5_small_is_exact(self):
        got = document("--model", "vit5-small")
        self.assertEqual(got["parameters"], 22_010_112)
        self.assertEqual(got["forward_flop"], 9_396_977_664)
        self.assertEqual(got["train_flop"], 28_190_932_992)
        self.assertAlmostEqual(got["max_samples_per_s"], 989e12 / 28_190_932_992)
        self.assertTrue(got["peak"]["assumed"])
        self.assertEqual(got["peak"]["device"], "H100 SXM")
        self.assertEqual(sum(part["forward_flop"] for part in got["components"]), got["forward_flop"])
        self.assertEqual(sum(part["parameters"] for part in got["components"]), got["parameters"])
        self.assertAlmostEqual(sum(part["share"] for part in got["components"]), 1)

    def test_the_peak_is_named_given_or_unknown(self):
        named = document("--model", "vit5-small", "--device-name", "NVIDIA A100-SXM4-80GB")
        self.assertEqual((named["peak"]["tflops"], named["peak"]["assumed"]), (312, False))
        given = document("--model", "vit5-small", "--peak-tflops", "28.190932992", "--device-name", "mine")
        self.assertAlmostEqual(given["max_samples_per_s"], 1000)
        unknown = document("--model", "vit5-small", "--device-name", "Voodoo 2", "--step-ms", 30)
        self.assertIsNone(unknown["max_samples_per_s"])
        self.assertIn("--peak-tflops", unknown["max_samples_per_s_reason"])
        self.assertIsNone(unknown["mfu"]["shapes"])
        self.assertIsNone(document("--model", "gpt-tiny", "--device-name", "Tesla T4")["max_samples_per_s"])

    def test_mfu_of_a_measured_step(self):
        got = document("--model", "vit5-small", "--batch-size", 256, "--step-ms", 31.988)
        self.assertAlmostEqual(got["mfu"]["shapes"], 0.2281, 4)

    def test_a_family_is_a_list(self):
        names = [one["model"] for one in document("--model", "gpt")["models"]]
        self.assertEqual(names, ["gpt-tiny", "gpt-small"])
        self.assertEqual(len(document()["models"]), 5)
        short = document("--model", "gpt-tiny", "--seq-len", 64)
        self.assertEqual(short["tokens_per_sample"], 64)

    def test_table(self):
        done = flops("--model", "vit5-small")
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("9,396,977,664", "28,190,932,992", "22,010,112", "attention", "assumed"):
            self.assertIn(text, done.stdout)

    def test_scaling_writes_csv_and_svg(self):
        with tempfile.TemporaryDirectory() as folder:
            got = document("--scaling", "--out", folder)
            text = (Path(folder) / "flop_scaling.csv").read_text(encoding="utf-8")
            rows = list(csv.DictReader(text.splitlines()))
            ElementTree.parse(Path(folder) / "flop_scaling.svg")
            self.assertEqual(sorted(p.name for p in Path(folder).glob("[!.]*")), ["flop_scaling.csv", "flop_scaling.svg"])
        self.assertEqual([row["grid_side"] for row in rows], ["7", "14", "16", "20", "28", "32", "56", "112"])
        self.assertAlmostEqual(float(rows[1]["attention_train"]), 9.4128, 4)
        self.assertAlmostEqual(got["scaling"][7]["hyena"]["train"] / 1e9, 623.0, 1)

    def test_errors_end_2_and_print_nothing(self):
        for arguments, text in ((("--model", "vit6"), "vit5-tiny, vit5-small"),
                                (("--model", "vit5-small", "--seq-len", "64"), "--seq-len 64"),
                                (("--scaling", "--model", "gpt-tiny"), "no patches"),
                                (("--model", "gpt-tiny", "--dtype", "fp8"), "fp8"),
                                (("--batch-size", "0"), "--batch-size"),
                                (("--peak-tflops", "-3"), "--peak-tflops")):
            with self.subTest(arguments=arguments):
                done = flops(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stdout, "")
                self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
