# tests/cli/checkpoints.py - what tests of `sluice train` look at in its safetensors files.
# SPDX-License-Identifier: Apache-2.0
import json


def tensors(path):
    """The bytes of all tensors, by name."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__")
    return {name: content[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]
            for name, entry in header.items()}
