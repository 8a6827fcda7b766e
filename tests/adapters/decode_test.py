# tests/adapters/decode_test.py - decoders of clips agree with the reference, or say why they cannot.
# SPDX-License-Identifier: Apache-2.0
import shutil
import tempfile
import unittest
from pathlib import Path

import peer

peer.enter("torch")

import numpy as np  # noqa: E402
from decode_worker import DECODERS  # noqa: E402
from sluice_worker import Failed  # noqa: E402
from sluice_worker.media import read_clip  # noqa: E402
from sluice_worker.modes.decode import Decode, reference_clip  # noqa: E402

SPEC = peer.spec("clip", "video-decode-16f", "decode")


class DecodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="sluice-decode-"))
        for name, frames in (("long", 50), ("short", 7), ("exact", 16)):
            peer.write_clip(cls.folder / f"{name}.mp4", frames)
        (cls.folder / "notes.txt").write_text("no video")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def talk(self, name):
        """(checked, measured) of a fresh process, or the error that it answers."""
        worker = peer.Peer(peer.ADAPTERS / "decode_worker.py", name, "decode")
        self.addCleanup(worker.close)
        worker.start("micro-single")
        loaded = worker.must("load", scenario="video-decode-16f", mode="decode", data_dir=str(self.folder))
        self.assertEqual(loaded["items"], 3)
        prepared = worker.ask("prepare", case="clip", spec=SPEC)
        if prepared["type"] == "error":
            return prepared, None
        self.assertEqual((prepared["items_per_pass"], prepared["bytes_per_item"]), (3, 16 * 120 * 160 * 3))
        checked = worker.ask("check")
        if checked["type"] == "error":
            return checked, None
        worker.must("preflight", slow_item_s=2, items=3)
        return checked, worker.must("measure", case="clip", passes=2, warmup_ms=1, warmup_limit_ms=1)

    def test_every_decoder_agrees_with_the_reference_in_every_process(self):
        for name in DECODERS:
            with self.subTest(name):
                first, measured = self.talk(name)
                if first["type"] == "error":
                    self.assertEqual(first["code"], "unsupported")
                    self.assertIn(name, ("torchvision", "torchcodec"))  # no video API; no FFmpeg libraries
                    self.assertRegex(first["reason"], "read_video|libtorchcodec")
                    continue
                self.assertEqual((first["shape"], first["dtype"]), ([16, 120, 160, 3], "uint8"))
                self.assertEqual(measured["items_per_sample"], 6)
                self.assertEqual(self.talk(name)[0]["digest"], first["digest"])

    def test_a_decoder_that_is_one_frame_late_fails(self):
        class Late:
            session = type("Session", (), {"thread_policy": "micro-single", "threads": 1})()

            def open_decoder(self, threads):
                return lambda path, frames: np.roll(read_clip(path, frames, threads), 1, axis=0)

        mode = Decode(Late())
        mode.load({"data_dir": str(self.folder)})
        mode.prepare(SPEC)
        with self.assertRaisesRegex(Failed, "exact.mp4: frame 0 is .* from the reference"):
            mode.check(None)

    def test_seeking_finds_the_same_frames(self):
        import sluice_worker.media as media
        path, gap = str(self.folder / "long.mp4"), media.SEEK_GAP
        self.addCleanup(setattr, media, "SEEK_GAP", gap)
        in_order = read_clip(path, 16)
        media.SEEK_GAP = 0
        self.assertTrue(np.array_equal(read_clip(path, 16), in_order))
        self.assertLess(np.abs(in_order.astype(int) - reference_clip(path, 16)).mean(), 2)

    def test_a_file_that_is_no_video_is_named(self):
        made = tempfile.TemporaryDirectory(prefix="sluice-decode-bad-")
        self.addCleanup(made.cleanup)
        folder = Path(made.name)
        (folder / "broken.mp4").write_bytes(b"not a video")
        for name in ("opencv", "pyav"):
            worker = peer.Peer(peer.ADAPTERS / "decode_worker.py", name, "decode")
            self.addCleanup(worker.close)
            worker.start("micro-single")
            worker.must("load", scenario="video-decode-16f", mode="decode", data_dir=str(folder))
            reply = worker.ask("prepare", case="clip", spec=SPEC)
            self.assertEqual(reply["code"], "failed", name)
            self.assertIn("broken.mp4", reply["reason"])


if __name__ == "__main__":
    unittest.main()
