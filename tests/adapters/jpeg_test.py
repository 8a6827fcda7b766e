# tests/adapters/jpeg_test.py - libraries decode image files: checked by another, then timed.
# SPDX-License-Identifier: Apache-2.0
"""usage: jpeg_test.py light|rivals"""
import sys
import tempfile
import unittest
from pathlib import Path

import peer

GROUP = sys.argv[1]
peer.enter(GROUP)

LIBRARIES = {"light": ("pillow", "opencv-wheel"), "rivals": ("kornia-rs", "pyvips", "simplejpeg", "imagecodecs")}[GROUP]
CASE, PROGRESSIVE = "decode/jpeg/threads=1", "decode/jpeg-progressive/threads=1"


class JpegTest(unittest.TestCase):
    def setUp(self):
        from PIL import Image

        folder = tempfile.TemporaryDirectory(prefix="sluice-jpeg-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for number in range(3):
            Image.fromarray(peer.picture(number, 61, 83)).save(self.folder / f"{number}.jpg", quality=90)

    def worker(self, library):
        worker = peer.Peer(peer.ADAPTERS / "jpeg_worker.py", library, "jpeg")
        self.addCleanup(worker.close)
        worker.start("micro-single")
        worker.must("load", data_dir=str(self.folder))
        return worker

    def test_each_is_checked_and_timed(self):
        for library in LIBRARIES:
            digests = set()
            for _ in range(2):
                worker = self.worker(library)
                prepared = worker.must("prepare", case=CASE, spec={"mode": "jpeg"})
                self.assertEqual((prepared["items_per_pass"], prepared["bytes_per_item"]), (3, 61 * 83 * 3))
                self.assertEqual(worker.ask("measure", case=CASE, passes=1)["code"], "failed")  # not before the check
                digests.add(worker.must("check")["digest"])
                worker.must("preflight", slow_item_s=1)
                measured = worker.must("measure", case=CASE, passes=2, warmup_ms=1, warmup_limit_ms=1)
                self.assertEqual(measured["items_per_sample"], 6)
            self.assertEqual(len(digests), 1, library)

    def test_progressive_files_are_taken_or_made(self):
        from PIL import Image

        for library in LIBRARIES:
            worker = self.worker(library)
            self.assertEqual(worker.must("prepare", case=PROGRESSIVE, spec={"mode": "jpeg"})["items_per_pass"], 3)
            worker.must("check")
        Image.fromarray(peer.picture(7, 40, 50)).save(self.folder / "p.jpg", quality=90, progressive=True)
        for library in LIBRARIES:
            worker = self.worker(library)
            prepared = worker.must("prepare", case=PROGRESSIVE, spec={"mode": "jpeg"})
            self.assertEqual((prepared["items_per_pass"], prepared["bytes_per_item"]), (1, 40 * 50 * 3))
            worker.must("check")

    def test_other_cases_are_unsupported(self):
        for library in LIBRARIES:
            reply = self.worker(library).ask("prepare", case="resize/bilinear", spec={"mode": "jpeg"})
            self.assertEqual((reply["code"], reply["reason"]),
                             ("unsupported", f"{library} has no 'resize/bilinear' here, only decode/jpeg and decode/jpeg-progressive"))

    def test_a_damaged_file_is_named(self):
        (self.folder / "1.jpg").write_bytes(b"\xff\xd8 no picture")
        for library in LIBRARIES:
            reply = self.worker(library).ask("prepare", case=CASE, spec={"mode": "jpeg"})
            self.assertEqual(reply["code"], "failed")
            self.assertTrue(reply["reason"].startswith("1.jpg: "), reply["reason"])

    def test_decoders_that_do_not_agree_are_not_compared(self):
        sys.path.insert(0, str(peer.ADAPTERS))
        import numpy
        from jpeg_worker import DECODERS
        from sluice_worker import Unsupported
        from sluice_worker.modes.jpeg import Jpeg

        decoder = DECODERS[LIBRARIES[0]]()
        decoder.open()
        decoder.reference = lambda data: numpy.zeros((61, 83, 3), numpy.uint8)
        mode = Jpeg(decoder)
        mode.load({"data_dir": str(self.folder)})
        mode.prepare({"case": CASE})
        with self.assertRaisesRegex(Unsupported, "0.jpg: the two decoders are [0-9.]+ grey values apart"):
            mode.check(None)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
