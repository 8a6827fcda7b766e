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
    """`named`: (name, parameter) pairs; `decayed`: a predicate on them. Nothing here waits for the device: clip and trust
    ratios stay tensors. Compiled, on the CPU, one fused kernel serves tensors of any size: compiling all of them as one
    graph takes minutes. On a GPU the lists are what is fast, compiled or not."""

    def __init__(self, named, decayed, config, compiled=False):
        self.config = config
        named = list(named)
        self.groups = [[p for name, p in named if decayed(name, p) is flag] for flag in (True, False)]
        self.first = [[torch.zeros_like(p) for p in group] for group in self.groups]
        self.second = [[torch.zeros_like(p) for p in group] for group in self.groups]
        self.steps = 0
        compiled = compiled and all(p.device.type == "cpu" for _, p in named)
        self.fused = [torch.compile(part, dynamic=True) for part in (_update_of, _move)] if compiled else None

    @torch.no_grad()
    def step(self):
        """Answers the gradients' norm before the clip, as a tensor. The gradients are used up."""
        config = self.config
        rate = config.rate_at(self.steps)
        self.steps += 1
        gradients = [[p.grad for p in group] for group in self.groups]
        every = [g for group in gradients for g in group]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(every)))
        if config.max_gradient_norm > 0:
            torch._foreach_mul_(every, (config.max_gradient_norm / norm).clamp(max=1.0))
        # m' / (sqrt(v') + eps) is scale * m / (sqrt(v) + epsilon)
        second = math.sqrt(1 - config.beta2**self.steps)
        scale, epsilon = second / (1 - config.beta1**self.steps), config.epsilon * second
        for decay, *tensors in zip((config.weight_decay, 0.0), self.groups, gradients, self.first, self.second):
            if not tensors[0]:
                continue
            if config.kind == "adamw" and decay:
                torch._foreach_mul_(tensors[0], 1 - rate * decay)
                decay = 0.0
            move = self.move_lists if self.fused is None else self.move_each
            move(decay, rate, scale, epsilon, *tensors)
        return norm

    def move_lists(self, decay, rate, scale, epsilon, params, grads, m, v):
        torch._foreach_lerp_(m, grads, 1 - self.config.beta1)
        torch._foreach_mul_(v, self.config.beta2)
        torch._foreach_addcmul_(v, grads, grads, 1 - self.config.beta2)
        below = torch._foreach_sqrt(v)
        torch._foreach_add_(below, epsilon)
        if not decay:
            torch._foreach_addcdiv_(params, m, below, -rate * scale)
            return
        u = torch._foreach_mul(params, decay)
        torch._foreach_addcdiv_(u, m, below, scale)
        size, length = (torch.stack(torch._foreach_norm(tensors)) for tensors in (params, u))
        rates = trust(size, length) * -rate
        torch._foreach_addcmul_(params, u, rates.unbind())  # each tensor by its own number

    def move_each(self, decay, rate, scale, epsilon, params, grads, m, v):
        update_of, move = self.fused
        numbers = [torch.tensor(x) for x in (self.config.beta1, self.config.beta2, scale, epsilon, decay)]
        for tensors in zip(params, grads, m, v):
            p = tensors[0].view(-1)
            u, size, length = update_of(p, *(tensor.reshape(-1) for tensor in tensors[1:]), *numbers)
            move(p, u, rate * trust(size, length) if decay else torch.tensor(rate))

    def zero_grad(self):
        for group in self.groups:
            for p in group:
                p.grad = None


def trust(size, length):
    """LAMB's ratio of the norms of a tensor and its update; 1 where one of them is 0."""
    return torch.where((size > 0) & (length > 0), size / length, 1.0)


def _update_of(p, g, m, v, beta1, beta2, scale, epsilon, decay):
    """The update of one flat tensor and both norms, in one pass. Numbers are tensors: else every step would be compiled."""
    m.lerp_(g, 1 - beta1)
    v.mul_(beta2).add_(g * g * (1 - beta2))
    u = m * scale / (v.sqrt() + epsilon) + p * decay
    return u, torch.linalg.vector_norm(p), torch.linalg.vector_norm(u)


def _move(p, u, rate):
    p.sub_(u * rate)
