# adapters/python/lamb_torch.py - LAMB and AdamW over lists of tensors (torch._foreach_*), with Apex FusedLAMB's semantics.
# SPDX-License-Identifier: Apache-2.0
"""One step: global norm of the gradients, clip, then
LAMB   m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; u = m' / (sqrt(v') + eps) + wd p; decayed tensors move by
       lr * |p| / |u| * u where both norms are above 0, the others by lr * u without decay;
AdamW  p -= lr * wd * p; p -= lr * m' / (sqrt(v') + eps);
where m' and v' are divided by 1 - b^t. Moments are float32 and start at 0.
"""
import math
from dataclasses import dataclass, fields

import torch


@dataclass
class OptimizerConfig:
    """Field by field that of src/sluice/train/optimizer.h."""

    kind: str = "lamb"  # or adamw
    learning_rate: float = 4e-3
    weight_decay: float = 0.05
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    max_gradient_norm: float = 1.0  # 0: no clip
    warmup_steps: int = 0
    total_steps: int = 0

    @staticmethod
    def read(raw):
        known = [field.name for field in fields(OptimizerConfig)]
        for key in raw:
            if key not in known:
                raise ValueError(f"optimizer has no field '{key}': {', '.join(known)}")
        config = OptimizerConfig(**raw)
        if config.kind not in ("lamb", "adamw"):
            raise ValueError(f"optimizer.kind is '{config.kind}': lamb or adamw")
        return config

    def rate_at(self, step):
        """Of step `step`, 0 is the first: linear warm-up from 1e-8 of the rate, then a cosine to 0."""
        if step < self.warmup_steps:
            return self.learning_rate * (1e-8 + (1 - 1e-8) * step / self.warmup_steps)
        if self.total_steps <= self.warmup_steps:
            return self.learning_rate
        done = min(1.0, (step - self.warmup_steps) / (self.total_steps - self.warmup_steps))
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


class Optimizer:
    """`named`: (name, parameter) pairs; `decayed`: a predicate on them."""

    def __init__(self, named, decayed, config):
        self.config = config
        named = list(named)
        self.groups = [[p for name, p in named if decayed(name, p) is flag] for flag in (True, False)]
        self.first = [[torch.zeros_like(p) for p in group] for group in self.groups]
        self.second = [[torch.zeros_like(p) for p in group] for group in self.groups]
        self.steps = 0
        self.update = _update  # torch.compile(_update) is an option

    @torch.no_grad()
    def step(self):
        """Answers the gradients' norm before the clip, as a tensor."""
        config = self.config
        rate = config.rate_at(self.steps)
        self.steps += 1
        # Tensors, not numbers: a compiled update would be compiled again for every step.
        scalars = [torch.tensor(value, dtype=torch.float32) for value in (
            rate, 1 - config.beta1**self.steps, 1 - config.beta2**self.steps)]
        gradients = [[p.grad for p in group] for group in self.groups]
        return self.update(self.groups, gradients, self.first, self.second, scalars, config)

    def zero_grad(self):
        for group in self.groups:
            for p in group:
                p.grad = None


def _update(groups, gradients, first, second, scalars, config):
    rate, correction1, correction2 = scalars
    everything = [g for group in gradients for g in group]
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(everything)))
    if config.max_gradient_norm > 0:
        torch._foreach_div_(everything, torch.clamp(norm / config.max_gradient_norm, min=1.0))
    for decayed, params, grads, m, v in zip((True, False), groups, gradients, first, second):
        if not params:
            continue
        torch._foreach_lerp_(m, grads, 1 - config.beta1)
        torch._foreach_mul_(v, config.beta2)
        torch._foreach_addcmul_(v, grads, grads, 1 - config.beta2)
        below = torch._foreach_div(v, correction2)
        torch._foreach_sqrt_(below)
        torch._foreach_add_(below, config.epsilon)
        u = torch._foreach_div(m, correction1)
        torch._foreach_div_(u, below)
        decay = config.weight_decay if decayed else 0.0
        if config.kind == "adamw":
            if decay:
                torch._foreach_mul_(params, 1 - rate * decay)
            torch._foreach_mul_(u, rate)
        elif decay:
            torch._foreach_add_(u, params, alpha=decay)
            sizes, lengths = torch.stack(torch._foreach_norm(params)), torch.stack(torch._foreach_norm(u))
            ratio = torch.where((sizes > 0) & (lengths > 0), sizes / lengths, torch.ones_like(sizes)) * rate
            torch._foreach_mul_(u, list(ratio.unbind()))
        else:
            torch._foreach_mul_(u, rate)
        torch._foreach_sub_(params, u)
    return norm
