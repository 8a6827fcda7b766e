# bench/serve.py - the least a worker must do of docs/peer-protocol.md: answer one message after the other.
# SPDX-License-Identifier: Apache-2.0
"""Of the workers in this folder, which share no line with adapters/python: they show what that costs."""
import json
import os
import sys


class Unsupported(Exception):
    """The case cannot be measured here; the text is the reason."""


def serve(answers):
    """Answers messages with answers[type](message) until `bye`."""
    if "SLUICE_PEER_IN" not in os.environ:
        sys.exit(f"usage: {os.path.basename(sys.argv[0])}, started by a supervisor (docs/peer-protocol.md)")
    answers = {"release": lambda m: {}, "bye": lambda m: {}, **answers}
    replies = os.fdopen(int(os.environ["SLUICE_PEER_OUT"]), "w", encoding="utf-8")
    for line in os.fdopen(int(os.environ["SLUICE_PEER_IN"]), encoding="utf-8"):
        m = json.loads(line)
        try:
            if m["type"] not in answers:
                raise Unsupported(f"unknown message '{m['type']}'")
            reply = {"type": m["type"], **answers[m["type"]](m)}
        except Exception as problem:  # every problem is an answer
            code = "unsupported" if isinstance(problem, Unsupported) else "failed"
            reply = {"type": "error", "code": code, "reason": f"{type(problem).__name__}: {problem}"}
        print(json.dumps({**reply, "id": m["id"]}), file=replies, flush=True)
        if m["type"] == "bye":
            break
