# adapters/python/decode_worker.py - decoders of video files: OpenCV's wheel, PyAV, torchvision, TorchCodec.
# SPDX-License-Identifier: Apache-2.0
"""usage: decode_worker.py opencv|pyav|torchvision|torchcodec      (a supervisor adds the mode)"""
import sys

from sluice_worker import Adapter, Failed, Unsupported, serve
from sluice_worker.media import frame_indices, read_clip


class Decoder(Adapter):
    transforms = ("clip",)

    def open_decoder(self, threads):
        """callable(path, frames) -> T x H x W x 3 uint8; threads 0: as the library likes."""
        raise NotImplementedError


class OpencvDecoder(Decoder):
    name, packages = "opencv", ("opencv-python-headless", "numpy")

    def open(self):
        import cv2  # noqa: F401

    def open_decoder(self, threads):
        return lambda path, frames: read_clip(path, frames, threads)


class PyavDecoder(Decoder):
    name, packages = "pyav", ("av", "numpy")

    def open(self):
        import av  # noqa: F401

    def open_decoder(self, threads):
        import av
        import numpy

        def pixels(frame):  # colour conversion has threads of its own
            return frame.to_ndarray(format="rgb24", threads=threads)

        def decode(path, frames):
            with av.open(path) as container:
                stream = container.streams.video[0]
                # PyAV's cookbook: frame threads unless the number of threads is given.
                stream.thread_type = "NONE" if threads == 1 else "AUTO"
                if threads:
                    stream.codec_context.thread_count = threads
                if not stream.frames:  # the container does not say how many
                    found = [pixels(frame) for frame in container.decode(stream)]
                    return numpy.stack([found[index] for index in frame_indices(len(found), frames)])
                indices = frame_indices(stream.frames, frames).tolist()
                wanted, found = set(indices), {}
                for position, frame in enumerate(container.decode(stream)):
                    if position in wanted:
                        found[position] = pixels(frame)
                        if len(found) == len(wanted):
                            break
            if not found:
                raise Failed("PyAV decodes no frame")
            last = found[max(found)]
            return numpy.stack([found.get(index, last) for index in indices])

        return decode


class TorchvisionDecoder(Decoder):
    name, packages = "torchvision", ("torchvision", "torch")

    def open(self):
        import torchvision.io  # noqa: F401

    def open_decoder(self, threads):
        import torchvision.io

        try:
            read_video = torchvision.io.read_video  # gone since its video functions moved to TorchCodec
        except AttributeError as problem:
            raise Unsupported(f"AttributeError: {problem}") from None

        def decode(path, frames):
            clip = read_video(path, pts_unit="sec", output_format="THWC")[0]
            return clip[frame_indices(len(clip), frames)].contiguous().numpy()

        return decode


class TorchcodecDecoder(Decoder):
    name, packages = "torchcodec", ("torchcodec", "torch")

    def open(self):
        import torchcodec.decoders  # noqa: F401

    def open_decoder(self, threads):
        from torchcodec.decoders import VideoDecoder

        def decode(path, frames):
            decoder = VideoDecoder(path, dimension_order="NHWC", num_ffmpeg_threads=threads)
            indices = frame_indices(decoder.metadata.num_frames, frames).tolist()
            return decoder.get_frames_at(indices=indices).data.contiguous().numpy()

        return decode


DECODERS = {one.name: one for one in (OpencvDecoder, PyavDecoder, TorchvisionDecoder, TorchcodecDecoder)}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in DECODERS:
        sys.exit(f"usage: decode_worker.py {'|'.join(DECODERS)}")
    sys.exit(serve(DECODERS[sys.argv[1]]()))
