# tests/house/nightly_test.py - no test is left to nobody: what `make test` leaves out is run by a written command.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("SLUICE_BUILD_DIR", str(ROOT / "build" / "release"))


def left_out():
    """Labels that the preset of `make test` leaves out."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]
    release, = (one for one in presets if one["name"] == "release")
    return release["filter"]["exclude"]["label"]


def filters(target):
    """(-L, -LE) of every call of ctest that a target of the Makefile makes; '' where there is none."""
    done = subprocess.run(["make", "-n", "SETUP=true", "PEERS=true", "PYTHON_ENV=true", target], cwd=ROOT, capture_output=True, text=True, check=True)
    calls = [line for line in done.stdout.splitlines() if re.match(r"ctest ", line)]
    return [tuple((re.findall(rf' {flag} "?([^ "]+)', call) or [""])[0] for flag in ("-L", "-LE")) for call in calls]


def runs(labels, wanted, refused):
    return any(re.search(wanted, one) for one in labels) and not (refused and any(re.search(refused, one) for one in labels))


class NightlyTest(unittest.TestCase):
    def test_every_test_is_run_by_make_test_or_nightly_or_on_a_gpu(self):
        shown = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, text=True, check=True)
        nightly = filters("nightly")
        self.assertGreaterEqual(len(nightly), 2, nightly)
        found = {}
        for test in json.loads(shown.stdout)["tests"]:
            labels = next((one["value"] for one in test.get("properties", []) if one["name"] == "LABELS"), [])
            if any(re.search(left_out(), label) for label in labels) and "gpu" not in labels:
                found[test["name"]] = sum(runs(labels, *one) for one in nightly)
        self.assertIn("eval.builtin_model_test", found)
        self.assertIn("house.mutation_test", found)
        self.assertEqual({name: times for name, times in found.items() if times != 1}, {}, "not run exactly once by make nightly")


if __name__ == "__main__":
    unittest.main()
