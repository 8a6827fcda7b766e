# adapters/python/vit5_torch.py - ViT-5 and the GPT decoder in PyTorch: the reference of our engine, and its peer.
# SPDX-License-Identifier: Apache-2.0
"""The same models as src/sluice/train/model/model_spec.h, with the same parameter names and shapes. Tokens of a ViT-5 stand in the
order patches, class token, registers. Written for speed where PyTorch has a fused call (scaled_dot_product_attention,
rms_norm); mixed precision is torch.autocast around it, with a residual stream in float32, or `.to(torch.bfloat16)`, tables and all.
"""
import math
from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class ModelSpec:
    """Field by field that of model_spec.h; `read` takes its JSON form."""

    name: str = ""
    family: str = "vit5"  # or gpt
    dim: int = 384
    layers: int = 12
    heads: int = 6
    mlp_ratio: int = 4
    norm_epsilon: float = 1e-6
    drop_path: float = 0.0
    image: int = 224
    patch: int = 16
    registers: int = 4
    classes: int = 1000
    readout: str = "cls"  # or gap
    vocabulary: int = 0
    sequence: int = 0
    tied_head: bool = True

    @staticmethod
    def read(raw):
        """Unknown fields and values are a ValueError that names them."""
        known = {field.name: field.type for field in fields(ModelSpec)}
        for key, value in raw.items():
            if key not in known:
                raise ValueError(f"model has no field '{key}': {', '.join(known)}")
            kind = known[key]
            if not (type(value) is kind or (kind is float and type(value) is int)):
                raise ValueError(f"model.{key} is {value!r}, {kind.__name__} is meant")
        spec = ModelSpec(**raw)
        for key, accepted in (("family", ("vit5", "gpt")), ("readout", ("cls", "gap"))):
            if getattr(spec, key) not in accepted:
                raise ValueError(f"model.{key} is '{getattr(spec, key)}': {' or '.join(accepted)}")
        return spec

    @property
    def head_dim(self):
        return self.dim // self.heads

    @property
    def patches(self):
        return (self.image // self.patch) ** 2

    @property
    def tokens(self):
        return self.patches + 1 + self.registers if self.family == "vit5" else self.sequence


class RMSNorm(nn.Module):
    """float32 arithmetic; the output has the type of the input."""

    def __init__(self, dim, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.epsilon = epsilon

    def forward(self, x):
        if x.dtype == self.weight.dtype:  # the fused kernel, which sums in float32
            return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)
        return F.rms_norm(x.float(), self.weight.shape, self.weight, self.epsilon).to(x.dtype)


class LayerScale(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((dim,), 1e-4))

    def forward(self, x):
        return x * self.gamma


class DropPath(nn.Module):
    """Per sample: the branch is dropped, or kept and scaled by 1 / (1 - rate). In training only."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if self.rate == 0 or not self.training:
            return x
        keep = 1 - self.rate
        return x * torch.empty(x.shape[0], 1, 1, device=x.device, dtype=x.dtype).bernoulli_(keep).div_(keep)


def axis_angles(positions, dim, base):
    """[len(positions), dim]: position times frequency i // 2. Neighbours share a frequency although the rotation pairs
    channels half a span apart: the map of the published model, which is no true rotation."""
    frequency = base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    return positions.double().unsqueeze(1) * frequency.repeat_interleave(2)


def grid_angles(side, head_dim, base):
    """Row-major grid; the first half of the channels turns by the row, the second by the column."""
    axis = torch.arange(side)
    rows = axis_angles(axis.repeat_interleave(side), head_dim // 2, base)
    columns = axis_angles(axis.repeat(side), head_dim // 2, base)
    return torch.cat((rows, columns), dim=1)


def rope_tables(spec):
    """(cosine, sine) [tokens, head_dim], float32. The class token is not turned."""
    dim = spec.head_dim
    if spec.family == "gpt":
        frequency = 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        angles = (torch.arange(spec.sequence).double().unsqueeze(1) * frequency).repeat(1, 2)
    else:
        parts = [grid_angles(spec.image // spec.patch, dim, 10000.0), torch.zeros(1, dim, dtype=torch.float64)]
        if spec.registers:
            parts.append(grid_angles(math.isqrt(spec.registers), dim, 100.0))
        angles = torch.cat(parts)
    return angles.cos().float(), angles.sin().float()


def turn(x, cosine, sine, spans):
    """x * cosine + rotated(x) * sine, where each of the `spans` parts of the channels [a, b] is rotated to [-b, a]."""
    a, b = x.unflatten(-1, (spans, 2, -1)).unbind(-2)
    return x * cosine + torch.stack((-b, a), dim=-2).flatten(-3) * sine


class Attention(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.heads = spec.heads
        self.causal = spec.family == "gpt"
        self.spans = 1 if self.causal else 2
        self.qkv = nn.Linear(spec.dim, 3 * spec.dim, bias=False)
        self.q_norm = RMSNorm(spec.head_dim, spec.norm_epsilon)
        self.k_norm = RMSNorm(spec.head_dim, spec.norm_epsilon)
        self.proj = nn.Linear(spec.dim, spec.dim, bias=False)

    def attend(self, x, cosine, sine):
        """Of all tokens, before the projection."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(2)  # batch, tokens, heads, head_dim
        q = turn(self.q_norm(q), cosine, sine, self.spans).transpose(1, 2)
        k = turn(self.k_norm(k), cosine, sine, self.spans).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v.transpose(1, 2), is_causal=self.causal)
        return y.transpose(1, 2).flatten(2)

    def forward(self, x, cosine, sine):
        return self.proj(self.attend(x, cosine, sine))


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden, bias=False)
        self.fc2 = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, spec):
        super().__init__()
        scaled = spec.family == "vit5"
        self.norm1 = RMSNorm(spec.dim, spec.norm_epsilon)
        self.attn = Attention(spec)
        self.ls1 = LayerScale(spec.dim) if scaled else nn.Identity()
        self.norm2 = RMSNorm(spec.dim, spec.norm_epsilon)
        self.mlp = Mlp(spec.dim, spec.dim * spec.mlp_ratio)
        self.ls2 = LayerScale(spec.dim) if scaled else nn.Identity()
        self.drop_path = DropPath(spec.drop_path)

    def forward(self, x, cosine, sine):
        x = x + self.drop_path(self.ls1(self.attn(self.norm1(x), cosine, sine)))
        return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))

    def one_token(self, x, cosine, sine, at):
        """[batch, dim]: the token `at` of what forward() gives. All tokens are attended; projection and MLP are computed for
        that one alone."""
        attended = self.attn.attend(self.norm1(x), cosine, sine)[:, at:at + 1]
        x = x[:, at:at + 1] + self.drop_path(self.ls1(self.attn.proj(attended)))
        return (x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))).squeeze(1)


def small(*shape):
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(shape), std=0.02))


class Trunk(nn.Module):
    """Tables, blocks and the last norm. Linear layers of the blocks keep PyTorch's own start, U(±1/sqrt(fan_in))."""

    def __init__(self, spec):
        super().__init__()
        self.spec = spec
        cosine, sine = rope_tables(spec)
        self.register_buffer("cosine", cosine.unsqueeze(1), persistent=False)  # one row for all heads
        self.register_buffer("sine", sine.unsqueeze(1), persistent=False)
        self.blocks = nn.ModuleList(Block(spec) for _ in range(spec.layers))
        self.norm = RMSNorm(spec.dim, spec.norm_epsilon)

    def run_blocks(self, x, but=0):
        """All but the last `but` of them."""
        for index in range(len(self.blocks) - but):
            x = self.blocks[index](x, self.cosine, self.sine)
        return x


class ViT5(Trunk):
    """Images [batch, 3, image, image] -> logits [batch, classes]. `last_block` "class-token": what nobody reads of the last
    block is not computed; logits and gradients are the same."""

    def __init__(self, spec, last_block="full"):
        super().__init__(spec)
        self.last_block = last_block
        self.patch_embed = nn.Conv2d(3, spec.dim, spec.patch, spec.patch, bias=False)
        self.patch_embed.weight = small(spec.dim, 3, spec.patch, spec.patch)
        self.pos_embed = small(1, spec.patches, spec.dim)
        self.cls_token = small(1, 1, spec.dim)
        self.reg_token = small(1, spec.registers, spec.dim) if spec.registers else None
        self.head = nn.Linear(spec.dim, spec.classes, bias=False)
        self.head.weight = small(spec.classes, spec.dim)

    def patches(self, images):
        """[batch, patches, dim]. Patches do not overlap, so the filter is a matrix product: faster than a convolution of this
        stride, whatever the layout (forward and backward of 8 images to 192 channels on one core: 8.7 ms, not 11.0)."""
        side, patch = self.spec.image // self.spec.patch, self.spec.patch
        rows = images.view(-1, 3, side, patch, side, patch).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
        return F.linear(rows, self.patch_embed.weight.flatten(1))

    def forward(self, images):
        x = self.patches(images) + self.pos_embed
        extra = [self.cls_token] if self.reg_token is None else [self.cls_token, self.reg_token]
        x = torch.cat([x, *(part.expand(len(x), -1, -1) for part in extra)], dim=1)
        count = self.spec.patches
        if self.last_block == "class-token":
            x = self.run_blocks(x, but=1)
            return self.head(self.norm(self.blocks[-1].one_token(x, self.cosine, self.sine, count)))
        x = self.run_blocks(x)
        row = x[:, count] if self.spec.readout == "cls" else x[:, :count].mean(dim=1)
        return self.head(self.norm(row))


class GPT(Trunk):
    """Ids [batch, sequence] -> logits [batch * sequence, vocabulary]."""

    def __init__(self, spec):
        super().__init__(spec)
        self.embed = nn.Embedding(spec.vocabulary, spec.dim, _weight=small(spec.vocabulary, spec.dim))
        if not spec.tied_head:
            self.head = nn.Linear(spec.dim, spec.vocabulary, bias=False)
            self.head.weight = small(spec.vocabulary, spec.dim)

    def forward(self, ids):
        x = self.norm(self.run_blocks(self.embed(ids))).flatten(0, 1)
        return F.linear(x, self.embed.weight) if self.spec.tied_head else self.head(x)


def check_last_block(spec, last_block):
    """A ValueError for one that is not known, or that leaves out what the model reads."""
    if last_block not in ("full", "class-token"):
        raise ValueError(f"last_block is '{last_block}': full or class-token")
    if last_block != "full" and (spec.family != "vit5" or spec.readout != "cls"):
        raise ValueError(f"last_block is '{last_block}', but {spec.family} with readout {spec.readout} reads every token: full")


def make_model(spec, last_block="full"):
    check_last_block(spec, last_block)
    return ViT5(spec, last_block) if spec.family == "vit5" else GPT(spec)


def is_decayed(name, parameter):
    """Matrices that multiply activations, the patch filter and the embedding; not norms, scales, tokens, positions."""
    return name.endswith(".weight") and parameter.dim() in (2, 4)


def loss_of(logits, labels, soft_targets=None, smoothing=0.0):
    """Mean cross entropy in float32; a label below 0 is not scored."""
    target = labels.flatten() if soft_targets is None else soft_targets
    return F.cross_entropy(logits.float(), target, ignore_index=-1, label_smoothing=smoothing)
