#!/usr/bin/env python3
# bench/planned_memory.py - what number formats save of the memory of a training step: the engine's own plans, summed by what tensors are for.
# SPDX-License-Identifier: Apache-2.0
"""usage: planned_memory.py PROGRAM OUT.json [MODEL] [BATCH,BATCH...]     vit5-tiny and 8,32,64 unless told

Plans follow from model, batch and format; nothing is timed. `kept` are the activations and, with them, what is used again
by every block; `state` is what does not grow with the batch: parameters, gradients, both moments, bf16 copies, tables."""
import json
import subprocess
import sys
from pathlib import Path

DTYPES = ("fp32", "bf16", "bf16-residual")
STATE = ("parameters", "gradients", "first moment", "second moment", "average", "weights", "tables")


def plan(program, model, dtype, batch):
    done = subprocess.run([program, "bench", "training", "--model", model, "--mode", "synthetic", "--dtype", dtype, "--batch-size", str(batch),
                           "--print-memory", "--json"], capture_output=True, text=True, check=True, timeout=100)
    found = json.loads(done.stdout)
    arenas, places = {}, set()
    for tensor in found["tensors"]:
        if tensor["offset"] in places:  # another name of memory that is counted
            continue
        places.add(tensor["offset"])
        by_type = arenas.setdefault(tensor["arena"], {})
        by_type[tensor["dtype"]] = by_type.get(tensor["dtype"], 0) + tensor["bytes"]
    state = sum(sum(arenas.get(name, {}).values()) for name in STATE)
    total = found["bytes"]
    return {"bytes": total, "mib": total / 2**20, "state_mib": state / 2**20, "kept_mib": (total - state) / 2**20, "arenas": arenas}


def main():
    program, out = sys.argv[1], Path(sys.argv[2])
    model = sys.argv[3] if len(sys.argv) > 3 else "vit5-tiny"
    batches = [int(word) for word in (sys.argv[4] if len(sys.argv) > 4 else "8,32,64").split(",")]
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=100).stdout.strip()
    result = {"program": version, "model": model, "device": "cpu", "batches": {}}
    for batch in batches:
        plans = {dtype: plan(program, model, dtype, batch) for dtype in DTYPES}
        for dtype in DTYPES[1:]:
            for key in ("mib", "state_mib", "kept_mib"):
                plans[dtype]["saved" if key == "mib" else f"{key.removesuffix('_mib')}_saved"] = 1 - plans[dtype][key] / plans["fp32"][key]
        result["batches"][str(batch)] = plans
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
