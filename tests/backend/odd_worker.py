#!/usr/bin/env python3
# tests/backend/odd_worker.py - a peer with one bad habit per transform; notes what it was asked to measure.
# SPDX-License-Identifier: Apache-2.0
"""Behaves by the transform of the case: Pad has no such operation, Blur crashes in `measure`, Invert answers garbage, Rotate exits
without a word, Solarize gives another output in every process, MedianBlur is slow; all others are fine.
ODD_WORKER_NOTES names a file that gets one line per measured sample."""
import json
import os
import signal
import time

STATE = {"case": "", "transform": "", "items": 0}


class Unsupported(Exception):
    pass


def load(message):
    with open(message["inputs"]["index"], encoding="utf-8") as file:
        STATE["items"] = len(json.load(file)["items"])
    return {"items": STATE["items"]}


def prepare(message):
    STATE.update(case=message["case"], transform=message["spec"]["transform"])
    if STATE["transform"] == "Pad":
        raise Unsupported("odd has no padding")
    return {"items_per_pass": STATE["items"], "bytes_per_item": 3}


def check(_):
    return {"digest": str(os.getpid()) if STATE["transform"] == "Solarize" else "d"}


def preflight(_):
    return {"pass_ns": STATE["items"] * (50_000_000 if STATE["transform"] == "MedianBlur" else 1_000_000)}


def measure(message):
    if STATE["transform"] == "Blur":
        os.kill(os.getpid(), signal.SIGSEGV)
    if STATE["transform"] == "Invert":
        os.write(int(os.environ["SLUICE_PEER_OUT"]), b"\x00\xff not json at all\n")
    if STATE["transform"] == "Rotate":
        os._exit(3)
    with open(os.environ["ODD_WORKER_NOTES"], "a", encoding="utf-8") as notes:
        notes.write(STATE["case"] + "\n")
    ns = min(1_000_000 * message["passes"] * STATE["items"], 500_000)  # no more than is believed of a quick answer
    return {"start_ns": time.monotonic_ns(), "samples_ns": [ns], "items_per_sample": message["passes"] * STATE["items"],
            "cpu_ns": ns}


ANSWERS = {"hello": lambda _: {"protocol": 1, "version": "1.0"}, "configure": lambda _: {"threads": 1}, "load": load,
           "prepare": prepare, "check": check, "preflight": preflight, "measure": measure, "bye": lambda _: {}}


def main():
    requests = os.fdopen(int(os.environ["SLUICE_PEER_IN"]), encoding="utf-8")
    replies = os.fdopen(int(os.environ["SLUICE_PEER_OUT"]), "w", encoding="utf-8")
    for line in requests:
        message = json.loads(line)
        try:
            reply = {"type": message["type"], **ANSWERS[message["type"]](message)}
        except Unsupported as problem:
            reply = {"type": "error", "code": "unsupported", "reason": str(problem)}
        print(json.dumps({**reply, "id": message["id"]}), file=replies, flush=True)
        if message["type"] == "bye":
            break


if __name__ == "__main__":
    main()
