# tests/cli/tour_worker.py - plays Pillow and OpenCV's wheel for the tour: every case is checked and takes the same time.
# SPDX-License-Identifier: Apache-2.0
"""usage: tour_worker.py LIBRARY MODE     (started by the supervisor)"""
import json
import os
import sys
import time

requests = os.fdopen(int(os.environ["SLUICE_PEER_IN"]))
answers = os.fdopen(int(os.environ["SLUICE_PEER_OUT"]), "w")
loaded, checked = {}, False
for line in requests:
    request = json.loads(line)
    kind = request["type"]
    answer = {"type": kind, "id": request["id"]}
    if kind == "hello":
        answer |= {"protocol": 1, "version": "0." + sys.argv[2]}
    elif kind == "configure":
        answer |= {"threads": request["threads"]}
    elif kind == "load":
        loaded = request
    elif kind == "prepare":
        checked = False
        wanted = "inputs" in loaded if sys.argv[2] == "micro" else os.path.isdir(loaded["data_dir"])
        assert wanted and request["spec"]["mode"] == sys.argv[2], request
        answer |= {"items_per_pass": 2, "bytes_per_item": 3}
    elif kind == "check":
        checked = True
        answer |= {"digest": request.get("case", "the same in every process")}
    elif kind == "preflight":
        answer |= {"pass_ns": 1_000_000}
    elif kind == "measure":
        assert checked, "timed before it was checked"
        answer |= {"start_ns": time.monotonic_ns(), "samples_ns": [min(5_000 * request["passes"], 500_000)],
                   "items_per_sample": 2 * request["passes"], "cpu_ns": 4_000}
    print(json.dumps(answer), file=answers, flush=True)
    if kind == "bye":
        break
