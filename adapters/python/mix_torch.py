# adapters/python/mix_torch.py - Mixup and CutMix of a batch in PyTorch, where the images are: part of the step.
# SPDX-License-Identifier: Apache-2.0
"""As timm's batch mode: the partner of an image is the one at the same place counted from the end, and a batch is of one kind or
the other. Both are one interpolation with the share of the image that stays, a number (Mixup) or a plane of ones and zeros
(CutMix), which compiles once."""
import numpy
import torch
from torch.nn import functional as F


class Mixer:
    def __init__(self, mixup, cutmix, seed, spec, device):
        self.alphas, self.classes, self.side = {"mixup": mixup, "cutmix": cutmix}, spec.classes, spec.image
        self.kinds = [kind for kind, alpha in self.alphas.items() if alpha > 0]
        self.random = numpy.random.default_rng(seed)
        self.keep = torch.ones(1, 1, self.side, self.side, device=device)  # until the first draw every image stays as it is
        self.share = torch.ones((), device=device)

    def draw(self):
        """For the next batch."""
        kind = self.kinds[self.random.integers(len(self.kinds))]
        share = self.random.beta(self.alphas[kind], self.alphas[kind])
        plane = torch.full((1, 1, self.side, self.side), share)
        if kind == "cutmix":
            half = int(self.side * (1 - share) ** 0.5) // 2
            (top, bottom), (left, right) = (self.range_around(self.random.integers(self.side), half) for _ in range(2))
            plane.fill_(1)[..., top:bottom, left:right] = 0
            share = 1 - (bottom - top) * (right - left) / self.side**2
        self.keep.copy_(plane, non_blocking=True)
        self.share.fill_(share)

    def range_around(self, centre, half):
        return max(centre - half, 0), min(centre + half, self.side)

    def images(self, images):
        return torch.lerp(images.flip(0), images, self.keep.to(images.dtype))

    def targets(self, labels):
        one_hot = F.one_hot(labels, self.classes).float()
        return torch.lerp(one_hot.flip(0), one_hot, self.share)
