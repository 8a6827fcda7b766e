#!/usr/bin/env python3
# bench/fp8_block.py - the matrix products of one block of vit5-small in bf16 and in e4m3, with what the casts cost.
# SPDX-License-Identifier: Apache-2.0
"""usage: bench/fp8_block.py OUT.json [--batch N] [--rounds N] [--program SLUICE]

Needs a GPU of compute capability 8.9 or later and PyTorch (2.11 with CUDA 13 is what it was written for). The block has 201 tokens an image and
dim 384: qkv, proj, fc1 and fc2, forward (y = x W^T) and dX (dy W) in both forms, dW (dy^T x) in bf16 in both. Norms, attention, GELU and the
residual stream are in neither. e4m3 is torch._scaled_mm with one scale a tensor and its fast sums. PyTorch chooses the algorithms of both forms.
  casts apart   activations, gradients and weights become e4m3 in kernels of their own: amax, scale and cast, made by torch.compile
  producers     an estimate: whoever makes a tensor writes it as e4m3 beside bf16, which dW reads. Its price is the bytes of that copy (weights
                twice: the two layouts) over the rate of a copy on this device, bytes read and written. The scale is then of an earlier step, as
                the largest value is not known before the end
Every e4m3 product is compared with the bf16 one first; exit code 1, and no file, when one is off by 8 % (norm of the difference over the norm).
Each time is the median of N rounds; a round replays one graph of every kind, in random order, and a graph holds 12 calls on three sets of buffers
by turns, which do not fit into the L2 cache together."""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys

import torch

from measured_by import git

TOKENS, DIM, HIDDEN = 201, 384, 1536
LAYERS = {"qkv": (DIM, 3 * DIM), "proj": (DIM, DIM), "fc1": (DIM, HIDDEN), "fc2": (HIDDEN, DIM)}  # values in, values out
SETS, CALLS = 3, 12
MOST_ERROR = 0.08
E4M3, LARGEST = torch.float8_e4m3fn, 448.0
COPY_BYTES = 1 << 29


def scaled(x):
    scale = x.abs().amax().float().clamp(min=1e-12) / LARGEST
    return (x.float() / scale).to(E4M3), scale


@torch.compile(dynamic=False)
def cast(x):
    return scaled(x)


@torch.compile(dynamic=False)
def cast_weight(w):
    """In both layouts: forward and dX each want its second operand column-major."""
    w8, scale = scaled(w)
    return w8, w8.t().contiguous(), scale


class Buffers:
    """One set of operands and results of a layer."""

    def __init__(self, rows, width_in, width_out):
        bf16 = {"device": "cuda", "dtype": torch.bfloat16}
        self.x, self.dy = torch.randn(rows, width_in, **bf16), torch.randn(rows, width_out, **bf16)
        self.w = torch.randn(width_out, width_in, **bf16) / width_in ** 0.5
        self.y, self.dx = torch.empty(rows, width_out, **bf16), torch.empty(rows, width_in, **bf16)
        self.dw = torch.empty(width_out, width_in, **bf16)
        (self.x8, self.x_scale), (self.dy8, self.dy_scale) = cast(self.x), cast(self.dy)
        self.w8, self.w8_turned, self.w_scale = cast_weight(self.w)
        self.kept = {}

    def forward_bf16(self):
        torch.mm(self.x, self.w.t(), out=self.y)

    def dx_bf16(self):
        torch.mm(self.dy, self.w, out=self.dx)

    def dw_bf16(self):
        torch.mm(self.dy.t(), self.x, out=self.dw)

    def forward_e4m3(self):
        torch._scaled_mm(self.x8, self.w8.t(), scale_a=self.x_scale, scale_b=self.w_scale, out_dtype=torch.bfloat16, use_fast_accum=True,
                         out=self.y)

    def dx_e4m3(self):
        torch._scaled_mm(self.dy8, self.w8_turned.t(), scale_a=self.dy_scale, scale_b=self.w_scale, out_dtype=torch.bfloat16,
                         use_fast_accum=True, out=self.dx)

    # Results are kept until the set has its next turn: its memory is not the one just written.
    def cast_x(self):
        self.kept["x"] = cast(self.x)

    def cast_dy(self):
        self.kept["dy"] = cast(self.dy)

    def cast_w(self):
        self.kept["w"] = cast_weight(self.w)

    def errors(self):
        """Of both e4m3 products, beside bf16."""
        found = {}
        for name, to in (("forward", self.y), ("dx", self.dx)):
            getattr(self, f"{name}_bf16")()
            exact = to.float()
            to.fill_(float("nan"))
            getattr(self, f"{name}_e4m3")()
            found[name] = ((to.float() - exact).norm() / exact.norm()).item()
        return found


def graph_of(calls):
    """CALLS calls by turns; each has run before, so that nothing is compiled or chosen in the capture."""
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        for call in calls:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(CALLS):
            calls[i % SETS]()
    return graph


def measured(graphs, rounds):
    """{name: microseconds of one call}; the first two rounds are not counted."""
    times, draw = {name: [] for name in graphs}, random.Random(1)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for turn in range(rounds + 2):
        for name in draw.sample(list(graphs), len(graphs)):
            begin.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            if turn >= 2:
                times[name].append(1e3 * begin.elapsed_time(end) / CALLS)
    return {name: statistics.median(of) for name, of in times.items()}


def driver():
    try:
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--program", help="a sluice whose commit is written, where there is no checkout")
    arguments = parser.parse_args()
    if arguments.batch < 16 or arguments.batch % 16 or arguments.rounds < 1:
        parser.error("--batch wants a multiple of 16, which the operands of e4m3 need, --rounds 1 or more")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 9):
        sys.exit("bench/fp8_block.py: torch finds no GPU of compute capability 8.9 or later, which has e4m3 products")
    torch.manual_seed(1)
    rows = arguments.batch * TOKENS
    layers = {name: [Buffers(rows, *widths) for _ in range(SETS)] for name, widths in LAYERS.items()}
    errors = {f"{name}.{product}": error for name, sets in layers.items() for product, error in sets[0].errors().items()}
    for name, error in errors.items():
        if not error < MOST_ERROR:  # so is nan
            sys.exit(f"bench/fp8_block.py: {name} in e4m3 is off by {error:.3g} of its norm; less than {MOST_ERROR} is accepted")
    kinds = [name for name in vars(Buffers) if name.partition("_")[0] in ("forward", "dx", "dw", "cast")]
    graphs = {f"{layer}.{kind}": graph_of([getattr(one, kind) for one in sets]) for layer, sets in layers.items() for kind in kinds}
    copies = [(torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda"), torch.zeros(COPY_BYTES, dtype=torch.uint8, device="cuda"))
              for _ in range(SETS)]
    graphs["copy"] = graph_of([lambda to=to, source=source: to.copy_(source) for to, source in copies])
    times = measured(graphs, arguments.rounds)

    def total(*kinds):
        return sum(times[f"{layer}.{kind}"] for layer in LAYERS for kind in kinds)

    bytes_per_us = 2 * COPY_BYTES / times["copy"]
    extra = sum(rows * (width_in + width_out) + 2 * width_in * width_out for width_in, width_out in LAYERS.values())
    weights = total("dw_bf16")
    e4m3 = total("forward_e4m3", "dx_e4m3") + weights
    sums = {"bf16": total("forward_bf16", "dx_bf16") + weights, "e4m3_casts_apart": e4m3 + total("cast_x", "cast_dy", "cast_w"),
            "e4m3_producers": e4m3 + extra / bytes_per_us, "e4m3_without_casts": e4m3}
    document = {"git": git(arguments.program), "gpu": torch.cuda.get_device_name(0), "driver": driver(), "torch": torch.__version__,
                "cuda": torch.version.cuda, "python": sys.version.split()[0], "batch": arguments.batch, "tokens": rows, "rounds": arguments.rounds,
                "calls_of_a_graph": CALLS, "sets_of_buffers": SETS, "error_of_norm": errors, "copy_bytes_per_s": 1e6 * bytes_per_us,
                "extra_bytes_of_producers": extra, "us": times, "sums_us": sums,
                "bf16_over": {name: sums["bf16"] / us for name, us in sums.items() if name != "bf16"}}
    pathlib.Path(arguments.out).write_text(json.dumps(document, indent=1) + "\n")
    for name, us in {**times, **{f"block {name}": us for name, us in sums.items()}}.items():
        print(f"{name:26} {us:9.1f} us")


if __name__ == "__main__":
    main()
