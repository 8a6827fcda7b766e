# tests/cli/bench_decode_test.py - `sluice bench decode`: its rows, and other libraries beside those of JPEG.
# SPDX-License-Identifier: Apache-2.0
import unittest

from bench_case import BenchCase

SHORT = ["--data-dir", "D", "--runs", 1, "--samples", 1, "--sample-ms", 1, "--warmup-ms", 0, "--quiet"]


class BenchDecodeTest(BenchCase):
    COMMAND, COUNT = ("bench", "decode"), 3

    def test_progressive_files_are_measured_beside_baseline(self):
        rows = {row["case"]: row for row in self.result(*SHORT)["rows"] if row["library"] == "sluice"}
        baseline, progressive = rows["decode/jpeg/threads=1"], rows["decode/jpeg-progressive/threads=1"]
        for row in (baseline, progressive):
            self.assertIn(row["status"], ("ok", "unstable"), row)
        # The same pictures, encoded once more: other bytes, hence other pixels.
        self.assertNotEqual(baseline["output_digest"], progressive["output_digest"])

    def test_libraries_decode_the_rows_of_jpeg_on_one_thread(self):
        done = self.bench(*SHORT, "--libraries", "sluice,pillow", "--json")
        if "is not installed" in done.stderr:
            self.skipTest(done.stderr)
        cases = [row["case"] for row in self.result(*SHORT, "--libraries", "sluice,pillow")["rows"] if row["library"] == "pillow"]
        self.assertEqual(sorted(cases), ["decode/jpeg-progressive/threads=1", "decode/jpeg/threads=1"])

    def test_what_is_no_decoder_of_files_is_refused(self):
        done = self.bench(*SHORT, "--libraries", "pillow,pyav")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.strip(), "sluice: --libraries pyav: no decoder of files; accepted: pillow, opencv-wheel, "
                                              "kornia-rs, pyvips, pillow-simd, simplejpeg, imagecodecs")


if __name__ == "__main__":
    unittest.main()
