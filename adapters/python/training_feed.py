# adapters/python/training_feed.py - photographs for a PyTorch training step: a DataLoader, its batches copied ahead.
# SPDX-License-Identifier: Apache-2.0
"""As PyTorch's performance guide has it: worker processes that stay, uint8 tensors, pinned memory, copies that do not
wait on a stream of their own, one batch ahead. Normalising is left to the step, which compiles it with the model.
Processes are forked and never touch the device."""
import torch
from torch.utils.data import DataLoader, Dataset

from loader_torch import DataLoaderSource, EndlessSampler, crop_of, read_tensor, shut_down
from sluice_worker.sources import FLIP, MEAN, STD


class Labelled(Dataset):
    """uint8 CHW and a label that stands in: index modulo classes, as our own rows without labels have it."""

    def __init__(self, files, classes, side, erasing):
        from torchvision.transforms import v2
        self.files, self.classes = files, classes
        steps = [v2.RandomResizedCrop((side, side), antialias=True, **crop_of(False)), v2.RandomHorizontalFlip(FLIP)]
        if erasing:  # to the mean colour, as bytes have it
            steps.append(v2.RandomErasing(erasing, value=[round(255 * level) for level in MEAN]))
        self.transform = v2.Compose(steps)

    def __getitem__(self, index):
        return self.transform(read_tensor(self.files[index])), index % self.classes


class TrainingFeed:
    def __init__(self, settings, device, classes, side, erasing=0):
        self.device, self.ahead = device, None
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        source = DataLoaderSource(settings)
        generator = torch.Generator().manual_seed(settings.seed % 2**63)
        self.batches = iter(DataLoader(Labelled(settings.files, classes, side, erasing), batch_sampler=EndlessSampler(settings),
                                       pin_memory=device.type == "cuda", generator=generator,
                                       **source.process_arguments(settings.workers)))
        self.mean, self.std = (torch.tensor(values, device=device).mul(255).view(1, 3, 1, 1) for values in (MEAN, STD))

    def normalised(self, pixels):
        """Part of the step."""
        return (pixels.to(torch.float32) - self.mean) / self.std

    def fetch(self):
        pixels, labels = next(self.batches)
        if self.stream is None:
            return pixels, labels
        with torch.cuda.stream(self.stream):
            return pixels.to(self.device, non_blocking=True), labels.to(self.device, non_blocking=True)

    def next(self):
        """uint8 images and labels on the device; the batch after them is on its way."""
        taken = self.ahead or self.fetch()
        if self.stream is not None:
            current = torch.cuda.current_stream(self.device)
            current.wait_stream(self.stream)
            for tensor in taken:
                tensor.record_stream(current)
        self.ahead = None
        return taken

    def prefetch(self):
        """To be called while the device computes."""
        if self.ahead is None:
            self.ahead = self.fetch()

    def close(self):
        self.ahead = None
        shut_down(self.batches)
