# tests/backend/gcp/every_failure_test.py - whatever call of gcloud goes wrong, and however: no machine and no disk is left.
# SPDX-License-Identifier: Apache-2.0
"""usage: every_failure_test.py PROGRAM SOURCE_DIR. Every kind of failure at every call of a good run with two machines in turn."""
import cloud_case

KINDS = ("fail_before", "fail_after", "half", "late", "garbage", "twice", "kill_before", "kill_after", "interrupt_before",
         "interrupt_after", "outage", "hang", "hang_after")  # fake_cloud.py
LEAST = 200


class EveryFailure(cloud_case.CloudCase):
    def test_every_kind_at_every_call(self):
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


if __name__ == "__main__":
    cloud_case.main(EveryFailure)
