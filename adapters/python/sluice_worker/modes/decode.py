# adapters/python/sluice_worker/modes/decode.py - decode rows: so many frames of each clip of a folder, per decoder.
# SPDX-License-Identifier: Apache-2.0
"""An adapter of this mode has `open_decoder(threads)` -> callable(path, frames) -> T x H x W x 3 uint8, materialised.

threads 0: as the decoder likes.
"""
import hashlib
from pathlib import Path

from ..adapter import Failed, Spec
from ..media import frame_indices, media_files
from ..timing import Sample, estimate_pass_ns, run_passes, warm_up

CHECKED_CLIPS = 3
# Mean distance, in grey values, from the reference decode of the same frame. Decoders upsample chroma and round in
# their own ways (1.2 seen); a neighbouring frame of a moving picture is further away.
TOLERANCE = 3.0


def reference_clip(path, wanted):
    """All frames in order through PyAV, then those wanted: slow, and without any seeking to get wrong."""
    import av
    import numpy

    with av.open(path) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    if not frames:
        raise Failed("the reference decode gives no frame")
    return numpy.stack([frames[index] for index in frame_indices(len(frames), wanted)])


class Decode:
    def __init__(self, adapter):
        self.adapter = adapter
        self.files = []
        self.call = None
        self.frames = 0

    def load(self, request):
        limit = request.get("num_items")
        limit = limit if type(limit) is int and limit > 0 else None
        self.files = media_files(request.get("data_dir", ""), True, limit, request.get("skip") or ())
        return {"items": len(self.files), "bytes": 0}

    def threads(self):
        session = self.adapter.session
        return 0 if session.thread_policy == "pipeline-default" else session.threads

    def support(self, raw):
        Spec.read(raw)
        self.adapter.open_decoder(self.threads())

    def prepare(self, raw):
        self.frames = Spec.read(raw).clip_length
        decode, frames = self.adapter.open_decoder(self.threads()), self.frames
        self.call = lambda path: decode(path, frames)
        return {"items_per_pass": len(self.files), "bytes_per_item": int(self.decoded(self.files[0]).nbytes)}

    def decoded(self, path):
        """A clip. When the reference cannot read the file either, the file is to blame, not the library."""
        try:
            return self.call(path)
        except Failed:
            raise
        except Exception:
            try:
                reference_clip(path, 1)
            except Exception as problem:
                raise Failed(f"{Path(path).name}: {type(problem).__name__}: {problem}") from None
            raise

    def check(self, sample):
        import numpy

        digest, shape = hashlib.sha256(), None
        for path in self.files[:CHECKED_CLIPS]:
            clip = self.decoded(path)
            self.check_clip(path, clip, numpy)
            shape = shape or list(clip.shape)
            digest.update(f"{clip.shape} {clip.dtype}".encode())
            digest.update(clip.tobytes())
        return {"digest": digest.hexdigest(), "shape": shape, "dtype": "uint8"}

    def check_clip(self, path, clip, numpy):
        name = Path(path).name
        if clip.dtype != numpy.uint8 or not clip.flags.c_contiguous:
            raise Failed(f"{name}: {clip.dtype} where contiguous uint8 is meant")
        reference = reference_clip(path, self.frames)
        if clip.shape != reference.shape:
            raise Failed(f"{name}: frames of shape {clip.shape}, the reference has {reference.shape}")
        for index, (ours, expected) in enumerate(zip(clip, reference)):
            distance = float(numpy.abs(ours.astype(numpy.int16) - expected).mean())
            if distance > TOLERANCE:
                raise Failed(f"{name}: frame {index} is {distance:.1f} grey values from the reference on average, "
                             f"{TOLERANCE:g} are allowed")

    def preflight(self, slow_item_s, items):
        estimate = estimate_pass_ns(self.call, keep, self.files, items, slow_item_s, self.adapter.synchronise)
        return {"pass_ns": estimate}

    def measure(self, passes, warmup_ms, warmup_limit_ms):
        warmed = warm_up(self.call, keep, self.files, warmup_ms, warmup_limit_ms)
        sample = Sample()
        sample.start()
        run_passes(self.call, keep, self.files, passes)
        sample.stop()
        return sample.reply(passes * len(self.files), warmed)

    def release(self):
        self.call = None


def keep(clip):
    """Decoders answer one piece of memory; there is nothing to materialise."""
    return clip
