# adapters/python/loader_clips.py - loaders of clips on torch's DataLoader: frames by TorchCodec or PyAV, crops by torchvision.
# SPDX-License-Identifier: Apache-2.0
"""A sample is 16 frames, every second one, from a drawn moment of a video; crop and flip are drawn once for all of them. Each
loader process decodes on one thread, as their guides advise where processes work side by side."""
import os

from loader_torch import DataLoaderSource, crop_of
from sluice_worker import Unsupported
from sluice_worker.media import BadFile, frame_indices
from sluice_worker.sources import CLIP_FRAMES, CLIP_STRIDE, FLIP, MEAN, SIDE, STD


def clip_transform(fixed):
    """uint8 T x 3 x H x W -> normalised float32; v2 transforms draw once for all leading dimensions."""
    import torch
    from torchvision.transforms import v2
    return v2.Compose([v2.RandomResizedCrop((SIDE, SIDE), antialias=True, **crop_of(fixed)),
                       v2.RandomHorizontalFlip(0.0 if fixed else FLIP),
                       v2.ToDtype(torch.float32, scale=True),
                       v2.Normalize(mean=MEAN, std=STD)])


def wanted_frames(total, fixed):
    """Numbers of the frames, which never fall; a video that is too short repeats its last one."""
    import torch
    if fixed:
        return frame_indices(total, CLIP_FRAMES).tolist()
    span = (CLIP_FRAMES - 1) * CLIP_STRIDE + 1
    start = int(torch.randint(0, total - span + 1, ())) if total > span else 0
    return [min(start + i * CLIP_STRIDE, total - 1) for i in range(CLIP_FRAMES)]


def read_torchcodec(path, fixed):
    """uint8 T x 3 x H x W. "approximate" trusts the container's index instead of scanning the file, as its guide advises for
    speed where frame rates are constant."""
    from torchcodec.decoders import VideoDecoder
    decoder = VideoDecoder(path, dimension_order="NCHW", num_ffmpeg_threads=1, seek_mode="approximate")
    return decoder.get_frames_at(indices=wanted_frames(decoder.metadata.num_frames, fixed)).data


def read_pyav(path, fixed):
    """uint8 T x 3 x H x W: a seek to the key frame before the first wanted one, then in order."""
    import av
    import numpy
    import torch
    with av.open(path) as container:
        stream = container.streams.video[0]
        stream.thread_type, stream.codec_context.thread_count = "NONE", 1
        indices = wanted_frames(stream.frames, fixed)
        tick = 1 / (stream.average_rate * stream.time_base)  # of time base, a frame
        begin = stream.start_time or 0
        if indices[0] > 0:
            container.seek(int(begin + indices[0] * tick), stream=stream, backward=True)
        wanted, found = set(indices), {}
        for frame in container.decode(stream):
            number = round((frame.pts - begin) / tick)
            if number in wanted:
                found[number] = frame.to_ndarray(format="rgb24")
            if number >= indices[-1]:
                break
    if not found:
        raise BadFile(f"{os.path.basename(path)}: PyAV decodes no frame that is wanted")
    last = found[max(found)]
    clip = numpy.stack([found.get(index, last) for index in indices])
    return torch.from_numpy(clip).permute(0, 3, 1, 2)


class Clips:
    """Map-style data set of clips; a file that cannot be read is named in the error."""

    def __init__(self, files, read, transform, fixed):
        self.files, self.read, self.transform, self.fixed = files, read, transform, fixed

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        from sluice_worker.epochs import first_line, marked
        path = self.files[index]
        try:
            clip = self.read(path, self.fixed)
        except BadFile as problem:
            raise BadFile(marked(str(problem))) from None
        except Exception as problem:
            raise BadFile(marked(f"{os.path.basename(path)}: {first_line(problem)}")) from None
        return self.transform(clip)


class ClipSource(DataLoaderSource):
    def dataset(self, files, fixed):
        return Clips(files, type(self).read, clip_transform(fixed), fixed)


class TorchcodecSource(ClipSource):
    read = staticmethod(read_torchcodec)

    @staticmethod
    def open():
        import torch.utils.data  # noqa: F401
        import torchcodec.decoders
        import torchvision.transforms.v2  # noqa: F401
        try:
            torchcodec.decoders.VideoDecoder(b"")  # loads FFmpeg, at the first use only
        except RuntimeError as problem:
            if "Could not load libtorchcodec" in str(problem):
                raise Unsupported("torchcodec finds no FFmpeg libraries on this system; run: tools/setup --with bench") from None
        except ValueError:  # no video, as it is meant
            pass


class PyavSource(ClipSource):
    read = staticmethod(read_pyav)

    @staticmethod
    def open():
        import av  # noqa: F401
        import torch.utils.data  # noqa: F401
        import torchvision.transforms.v2  # noqa: F401
