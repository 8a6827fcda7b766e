# tests/backend/gcp/every_failure_test.py - whatever call of gcloud goes wrong, and however: no machine and no disk is left.
# SPDX-License-Identifier: Apache-2.0
"""usage: every_failure_test.py PROGRAM SOURCE_DIR. Every kind of failure at every call of a good run with two machines in turn.
With SLUICE_RECORD=FILE it also writes what it tried, once nothing was left of any: JSON, for docs/results."""
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))
import cloud_case  # noqa: E402
from measured_by import git  # noqa: E402

KINDS = ("fail_before", "fail_after", "half", "late", "garbage", "twice", "kill_before", "kill_after", "interrupt_before",
         "interrupt_after", "outage", "hang", "hang_after")  # fake_cloud.py
LEAST = 200


class EveryFailure(cloud_case.CloudCase):
    def test_every_kind_at_every_call(self):
        begun = git(self.PROGRAM)
        second = ["--config", self.write_config("two")]
        number = self.count_calls(*second)
        tried, codes = 0, {}
        for kind in KINDS:
            for at in range(1, number + 1):
                with self.subTest(kind=kind, at=at):
                    code = self.leaves_nothing(at, kind, *second)
                    codes[kind, code] = codes.get((kind, code), 0) + 1
                tried += 1
            print(f"{kind}: {({code: count for (one, code), count in codes.items() if one == kind})}", flush=True)
        print(f"{tried} failures at {number} calls", flush=True)
        self.assertGreaterEqual(tried, LEAST)
        self.assertIn(("kill_after", -9), codes)  # the faults do strike
        self.assertIn(("interrupt_after", 130), codes)
        if record := os.environ.get("SLUICE_RECORD"):
            of_kind = {kind: {str(code): count for (one, code), count in sorted(codes.items()) if one == kind} for kind in KINDS}
            self.assertEqual(sum(sum(counts.values()) for counts in of_kind.values()), tried, "one that left something is in no count")
            Path(record).write_text(json.dumps({"commit": begun, "failures": tried, "calls": number, "left": 0, "exit_codes": of_kind}, indent=1) + "\n")


if __name__ == "__main__":
    cloud_case.main(EveryFailure)
