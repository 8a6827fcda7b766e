# tests/cli/tune_worker.py - plays torch's DataLoader for `tune`: two workers are twice as fast as one or none, more do not help.
# SPDX-License-Identifier: Apache-2.0
"""usage: loader_worker.py LIBRARY MODE     (started by the supervisor)"""
import json
import os
import random
import sys
import time

requests = os.fdopen(int(os.environ["SLUICE_PEER_IN"]))
answers = os.fdopen(int(os.environ["SLUICE_PEER_OUT"]), "w")
items, item_ns, checked = 0, 0, False
for line in requests:
    request = json.loads(line)
    kind = request["type"]
    answer = {"type": kind, "id": request["id"]}
    if kind == "hello":
        answer |= {"protocol": 1, "version": "2.0"}
    elif kind == "configure":
        answer |= {"threads": request["threads"]}
    elif kind == "load":
        assert os.path.isdir(request["data_dir"]) and sys.argv[1:] == ["torch-pil", "loader"], sys.argv
    elif kind == "prepare":
        checked = False
        workers = request["spec"]["workers"]
        items = request["spec"]["batch_size"] * max(1, workers)
        item_ns = 400 / max(1, min(2, workers)) * random.uniform(0.99, 1.01)
        answer |= {"items_per_pass": items, "bytes_per_item": 3}
    elif kind == "check":
        checked = True
        answer |= {"digest": "the same in every process"}
    elif kind == "preflight":
        answer |= {"pass_ns": round(items * item_ns)}
    elif kind == "measure":
        assert checked, "timed before it was checked"
        count = items * request["passes"]
        answer |= {"start_ns": time.monotonic_ns(), "samples_ns": [round(count * item_ns)], "items_per_sample": count,
                   "cpu_ns": 4_000}
    print(json.dumps(answer), file=answers, flush=True)
    if kind == "bye":
        break
