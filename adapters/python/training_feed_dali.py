# adapters/python/training_feed_dali.py - photographs for a PyTorch training step: NVIDIA DALI's pipeline on the same GPU.
# SPDX-License-Identifier: Apache-2.0
"""The graph of DALI's ImageNet example: shuffled reader, decoder "mixed" that decodes the drawn crop only (with the memory hints
that the example gives it), triangular (antialiased) resize, crop_mirror_normalize to float CHW, handed over by
DALIClassificationIterator. DALI works ahead by itself, on streams and threads of its own."""
import torch

from loader_dali import ATTEMPTS
from sluice_worker import Failed, Unsupported
from sluice_worker.sources import FLIP, MEAN, RATIO, SCALE, STD

WIDTH_HINT, HEIGHT_HINT = 5980, 6430  # of the largest image of ImageNet: memory is taken once


def require_dali():
    try:
        import nvidia.dali.plugin.pytorch  # noqa: F401
    except ImportError as problem:
        raise Unsupported(f"DALI is not there for this Python ({problem}); install nvidia-dali-cuda130, or -cuda120, beside "
                          "PyTorch, or name a Python that has both in SLUICE_PYTHON_TORCH") from None


def graph(settings, classes, side):
    from nvidia.dali import fn, types
    encoded, labels = fn.readers.file(files=settings.files, labels=[i % classes for i in range(len(settings.files))],
                                      random_shuffle=True, pad_last_batch=False, name="Reader")
    images = fn.decoders.image_random_crop(encoded, device="mixed", output_type=types.RGB, random_area=list(SCALE),
                                           random_aspect_ratio=list(RATIO), num_attempts=ATTEMPTS,
                                           preallocate_width_hint=WIDTH_HINT, preallocate_height_hint=HEIGHT_HINT)
    images = fn.resize(images, device="gpu", resize_x=side, resize_y=side, interp_type=types.INTERP_TRIANGULAR)
    images = fn.crop_mirror_normalize(images.gpu(), dtype=types.FLOAT, output_layout="CHW",
                                      mirror=fn.random.coin_flip(probability=FLIP), mean=[255 * value for value in MEAN],
                                      std=[255 * value for value in STD])
    return images, labels.gpu()


class DaliFeed:
    """As TrainingFeed of training_feed.py. `workers` are threads of the pipeline, `prefetch` the depth of its queue."""

    def __init__(self, settings, device, classes, side, erasing=0):
        require_dali()
        if erasing:
            raise Unsupported("dali-gpu erases nothing here: compare without random erasing")
        from nvidia.dali import Pipeline
        from nvidia.dali.plugin.base_iterator import LastBatchPolicy
        from nvidia.dali.plugin.pytorch import DALIClassificationIterator
        pipeline = Pipeline(batch_size=settings.batch_size, num_threads=max(1, settings.workers), device_id=device.index,
                            seed=settings.seed % 2**31, prefetch_queue_depth=settings.prefetch)
        with pipeline:
            pipeline.set_outputs(*graph(settings, classes, side))
        pipeline.build()
        self.batches = DALIClassificationIterator(pipeline, reader_name="Reader", auto_reset=True,
                                                  last_batch_policy=LastBatchPolicy.DROP)

    def normalised(self, images):
        """They are already."""
        return images

    def next(self):
        """Normalised images and labels on the device."""
        for _ in range(2):  # the end of an epoch, then the next
            try:
                batch = next(self.batches)[0]
            except StopIteration:
                continue
            return batch["data"], batch["label"].squeeze(-1).to(torch.int64)
        raise Failed("DALI gave no batch at the start of an epoch")

    def prefetch(self):
        """DALI has begun long ago."""

    def close(self):
        self.batches = None
