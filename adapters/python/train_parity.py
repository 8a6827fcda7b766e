# adapters/python/train_parity.py - what PyTorch computes from given weights and inputs: logits, loss, gradients, steps.
# SPDX-License-Identifier: Apache-2.0
"""usage: train_parity.py REQUEST.json...      (in the Python of the group `torch`)

{"model": {...},                  fields of ModelSpec (vit5_torch.py)
 "dtype": "fp32"|"bf16"|"bf16-weights",   bf16: torch.autocast, weights and gradients stay float32; bf16-weights: the whole
                                  model .to(torch.bfloat16), tables of positions, images and gradients too, as training_worker.py
 "steps": 10,                     optimizer steps on the same batch; 0: none, all that bf16-weights takes
 "optimizer": {...},              fields of OptimizerConfig (lamb_torch.py)
 "label_smoothing": 0.0, "threads": 1,
 "input": FOLDER,                 weights.safetensors; images.npy [batch, 3, h, w] or ids.npy [batch, sequence];
                                  labels.npy (int32); soft_targets.npy [batch, classes] where they are used
 "output": FOLDER}                made here: logits.npy, loss.npy, gradients/<name>.npy (of the start), and after the steps
                                  weights.safetensors, weights/<name>.npy, losses.npy, norms.npy (of the gradients, before
                                  the clip)
Everything written is float32. Prints one JSON object per request; an error is one line and exit 2.
"""
import json
import os
import sys
from pathlib import Path

import numpy
import torch

from lamb_torch import Optimizer, OptimizerConfig
from safetensors_file import load_weights, read_safetensors, write_safetensors
from vit5_torch import ModelSpec, is_decayed, loss_of, make_model


def read(path):
    return torch.from_numpy(numpy.load(path))


def write(path, tensor):
    os.makedirs(path.parent, exist_ok=True)
    numpy.save(path, tensor.detach().float().numpy())


class Run:
    def __init__(self, request):
        self.request = request
        self.folder, self.output = Path(request["input"]), Path(request["output"])
        self.spec = ModelSpec.read(request["model"])
        self.model = make_model(self.spec)
        load_weights(self.model, read_safetensors(self.folder / "weights.safetensors")[0])
        self.inputs = read(self.folder / ("images.npy" if self.spec.family == "vit5" else "ids.npy"))
        self.labels = read(self.folder / "labels.npy").long()
        soft = self.folder / "soft_targets.npy"
        self.soft = read(soft) if soft.exists() else None
        dtype = request.get("dtype", "fp32")
        if dtype not in ("fp32", "bf16", "bf16-weights"):
            raise ValueError(f"dtype is '{dtype}': fp32, bf16 or bf16-weights")
        self.mixed = dtype == "bf16"
        if dtype == "bf16-weights":
            if int(request.get("steps", 0)) > 0:
                raise ValueError(f"steps is {request['steps']}: bf16-weights has no optimizer, 0 is accepted")
            self.model.to(torch.bfloat16)
            if self.inputs.is_floating_point():
                self.inputs = self.inputs.to(torch.bfloat16)

    def forward_backward(self):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.mixed):
            logits = self.model(self.inputs)
            loss = loss_of(logits, self.labels, self.soft, self.request.get("label_smoothing", 0.0))
        loss.backward()
        return logits, loss

    def start(self):
        logits, loss = self.forward_backward()
        write(self.output / "logits.npy", logits)
        write(self.output / "loss.npy", loss)
        for name, parameter in self.model.named_parameters():
            write(self.output / "gradients" / f"{name}.npy", parameter.grad)
            parameter.grad = None

    def train(self, steps):
        config = OptimizerConfig.read(self.request.get("optimizer", {}))
        optimizer = Optimizer(self.model.named_parameters(), is_decayed, config)
        losses, norms = [], []
        for _ in range(steps):
            losses.append(self.forward_backward()[1].detach())
            norms.append(optimizer.step())
            optimizer.zero_grad()
        write(self.output / "losses.npy", torch.stack(losses))
        write(self.output / "norms.npy", torch.stack(norms))
        write_safetensors(self.output / "weights.safetensors", dict(self.model.named_parameters()))
        for name, parameter in self.model.named_parameters():
            write(self.output / "weights" / f"{name}.npy", parameter)


def main(path):
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    torch.set_num_threads(int(request.get("threads", 1)))
    run = Run(request)
    run.start()
    if int(request.get("steps", 0)) > 0:
        run.train(int(request["steps"]))
    count = sum(parameter.numel() for parameter in run.model.parameters())
    decayed = [name for name, parameter in run.model.named_parameters() if is_decayed(name, parameter)]
    print(json.dumps({"torch": torch.__version__, "parameters": count, "decayed": sorted(decayed)}))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: train_parity.py REQUEST.json...")
    try:
        for name in sys.argv[1:]:
            main(name)
    except (ValueError, KeyError, OSError) as problem:
        print(f"train_parity.py: {type(problem).__name__}: {problem}", file=sys.stderr)
        sys.exit(2)
