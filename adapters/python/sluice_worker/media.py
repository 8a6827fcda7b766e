# adapters/python/sluice_worker/media.py - media files of a folder, the frames of a clip, and every library's own image reader.
# SPDX-License-Identifier: Apache-2.0
"""What the decode scopes of the DataLoader rows and the decode rows read."""
from pathlib import Path

from .adapter import Failed

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp"}
JPEG_SUFFIXES = {".jpg", ".jpeg"}
VIDEO_SUFFIXES = {".mp4", ".avi", ".mov", ".mkv", ".webm"}
# A gap between wanted frames beyond which seeking to the key frame before it beats decoding on. x264's
# default distance between key frames is 250.
SEEK_GAP = 250


class BadFile(Failed):
    """A file that cannot be read; the text names it. One text argument, so that it survives a process border."""


def media_files(data_dir, video=False, num_items=None, skip=(), suffixes=None):
    """Paths under `data_dir`, sorted, recursive, without those whose relative path or name is in `skip`."""
    root = Path(data_dir)
    suffixes = suffixes or (VIDEO_SUFFIXES if video else IMAGE_SUFFIXES)
    unwanted = set(skip)
    files = [path for path in sorted(root.rglob("*"))
             if path.suffix.lower() in suffixes and not path.name.startswith("._") and path.is_file()
             and path.name not in unwanted and path.relative_to(root).as_posix() not in unwanted]
    if not files:
        raise BadFile(f"no {'video' if video else 'image'} files in the data folder; accepted: "
                      + " ".join(sorted(suffixes)))
    return [str(path) for path in files[: num_items or None]]


def frame_indices(frames, wanted):
    """`wanted` indices spread over `frames` frames, rounded down; a short clip repeats its last frame."""
    import numpy as np

    if frames < wanted:
        return np.minimum(np.arange(wanted), max(0, frames - 1))
    return np.linspace(0, frames - 1, wanted).astype(np.int64)


def read_clip(path, wanted, threads=0):
    """uint8 T x H x W x 3 in RGB order through OpenCV. threads 0: as OpenCV likes."""
    import cv2
    import numpy as np

    capture = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, threads] if threads else [])
    try:
        indices = frame_indices(int(capture.get(cv2.CAP_PROP_FRAME_COUNT)), wanted).tolist()
        seek = indices[-1] > SEEK_GAP * wanted
        frames, position = {}, 0
        for index in sorted(set(indices)):
            if seek:
                capture.set(cv2.CAP_PROP_POS_FRAMES, index)
            else:
                while position < index and capture.grab():
                    position += 1
            done, frame = capture.read()
            position += 1
            if not done:
                break
            frames[index] = cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)
    finally:
        capture.release()
    if not frames:
        raise BadFile(f"{Path(path).name}: OpenCV decodes no frame")
    last = frames[max(frames)]
    return np.stack([frames.get(index, last) for index in indices])


def stacked(image, channels):
    """The RGB image repeated along the last axis until it has `channels`."""
    import numpy as np

    return image if channels == image.shape[-1] else np.concatenate([image] * (channels // image.shape[-1]), axis=-1)


def read_array(path, channels=3):
    """albumentationsx's guide: cv2.imread, then BGR to RGB. uint8 H x W x C."""
    import cv2
    image = cv2.imread(path, cv2.IMREAD_COLOR)
    if image is None:
        raise BadFile(f"{Path(path).name}: OpenCV decodes nothing")
    return stacked(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), channels)


def read_tensor(path, channels=3):
    """torchvision's reader. uint8 C x H x W."""
    import torch
    from torchvision.io import ImageReadMode, read_image
    image = read_image(path, mode=ImageReadMode.RGB)
    return image if channels == 3 else torch.cat([image] * (channels // 3), dim=0)


def read_float_tensor(path, channels=3):
    """torchvision's reader scaled to 0..1, the range kornia wants. float32 C x H x W."""
    return read_tensor(path, channels) / 255.0


def read_pil(path, channels=3):
    """Pillow's own reader, decoded."""
    from PIL import Image
    if channels != 3:
        raise ValueError("pillow images have at most 4 channels")
    with Image.open(path) as image:
        return image.convert("RGB")
