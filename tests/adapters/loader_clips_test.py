# tests/adapters/loader_clips_test.py - loaders of clips: the frames that are meant, one draw per clip, batches.
# SPDX-License-Identifier: Apache-2.0
import shutil
import tempfile
import unittest
from pathlib import Path

import peer

peer.enter("torch")



def usable():
    """TorchCodec needs FFmpeg's libraries of the system: without them it is left out, visibly."""
    from loader_clips import TorchcodecSource
    from sluice_worker import Unsupported
    try:
        TorchcodecSource.open()
    except Unsupported as problem:
        print(f"without torchcodec: {problem}")
        return ("pyav",)
    return ("torchcodec", "pyav")


LIBRARIES = usable()
CASE = "loader/clip16-antialias"
VIDEOS, FRAMES, WIDTH, HEIGHT, SIDE = 5, 40, 96, 64, 224
LIMIT = 2.4  # grey values on average: decoders round colours apart, and frames are 5 apart


def frame_of(video, number):
    """Every frame has a grey of its own, so that a wrong one is seen."""
    import numpy
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    grey = 20 + 5 * number + 2 * video + 8 * numpy.sin((x + y) / 15)
    return numpy.repeat(grey[:, :, None], 3, axis=2).clip(0, 255).astype(numpy.uint8)


def write_videos(folder):
    import av
    for video in range(VIDEOS):
        with av.open(str(folder / f"{video}.mp4"), "w") as container:
            stream = container.add_stream("libx264", rate=25, options={"crf": "1", "g": "12"})
            stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
            for number in range(FRAMES):
                for packet in stream.encode(av.VideoFrame.from_ndarray(frame_of(video, number), format="rgb24")):
                    container.mux(packet)
            for packet in stream.encode():
                container.mux(packet)


class LoaderClipsTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="sluice-clips-"))
        self.addCleanup(shutil.rmtree, self.folder)
        write_videos(self.folder)

    def worker(self, library):
        worker = peer.Peer(peer.ADAPTERS / "loader_worker.py", library, "loader")
        self.addCleanup(worker.close)
        worker.start("loader-all-cores")
        self.assertEqual(worker.must("load", data_dir=str(self.folder), mode="loader")["items"], VIDEOS)
        return worker

    def prepare(self, worker, **spec):
        return worker.must("prepare", case=CASE, spec={"mode": "loader", "case": CASE, "batch_size": 2, "workers": 1, **spec})

    def test_fixed_clips_are_the_frames_that_are_meant(self):
        import numpy
        meant = numpy.linspace(0, FRAMES - 1, 16).astype(int)
        for library in LIBRARIES:
            with self.subTest(library):
                worker = self.worker(library)
                prepared = self.prepare(worker)
                self.assertEqual(prepared["bytes_per_item"], 4 * 16 * 3 * SIDE * SIDE)
                path = self.folder / f"{library}.f32"
                checked = worker.must("check", sample={"path": str(path), "items": 3, "draws": 1})
                self.assertEqual(checked["shape"], [2, 16, 3, SIDE, SIDE])
                clips = numpy.fromfile(path, numpy.float32).reshape(3, 16, SIDE, SIDE, 3)
                for video, clip in enumerate(clips):
                    middle = (WIDTH - HEIGHT) // 2
                    wanted = [frame_of(video, n)[:, middle : middle + HEIGHT].mean() for n in meant]
                    self.assertLess(numpy.abs(clip.mean(axis=(1, 2, 3)) - wanted).max(), LIMIT)

    def test_drawn_frames_follow_one_another_by_two(self):
        import numpy
        import loader_clips
        for read in [getattr(loader_clips, f"read_{library}") for library in LIBRARIES]:
            for _ in range(8):
                clip = read(str(self.folder / "0.mp4"), False)
                self.assertEqual(tuple(clip.shape), (16, 3, HEIGHT, WIDTH))
                steps = numpy.diff(clip.float().mean(dim=(1, 2, 3)).numpy())
                self.assertLess(numpy.abs(steps - 10).max(), LIMIT)  # 5 a frame

    def test_one_draw_holds_for_all_frames_of_a_clip(self):
        import torch
        import loader_clips
        still = torch.randint(0, 255, (1, 3, HEIGHT, WIDTH), dtype=torch.uint8).repeat(16, 1, 1, 1)
        transform = loader_clips.clip_transform(False)
        for _ in range(8):
            clip = transform(still)
            self.assertTrue(torch.equal(clip, clip[:1].expand_as(clip)))

    def test_batches_are_timed(self):
        for library in LIBRARIES:
            worker = self.worker(library)
            self.prepare(worker)
            worker.must("check")
            measured = worker.must("measure", case=CASE, passes=1, warmup_ms=0, warmup_limit_ms=0)
            self.assertEqual(measured["items_per_sample"], 2)

    def test_a_damaged_video_is_named(self):
        (self.folder / "3.mp4").write_bytes(b"this is no video")
        for library in LIBRARIES:
            worker = self.worker(library)
            self.prepare(worker, batch_size=VIDEOS)
            reply = worker.ask("check")
            self.assertEqual((reply["type"], reply["code"]), ("error", "failed"))
            self.assertIn("3.mp4", reply["reason"])


if __name__ == "__main__":
    unittest.main()
