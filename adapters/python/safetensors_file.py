# adapters/python/safetensors_file.py - reads and writes safetensors: a length, a JSON header, the bytes.
# SPDX-License-Identifier: Apache-2.0
import json
import struct

import torch

TYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16, "I32": torch.int32, "I64": torch.int64}


def read_safetensors(path):
    """({name: tensor}, metadata). A file that is cut off or malformed is a ValueError."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else len(data)
    if 8 + length > len(data):
        raise ValueError(f"{path}: is no safetensors file, or cut off")
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    body, tensors = memoryview(bytearray(data[8 + length :])), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] not in TYPES or not 0 <= begin <= end <= len(body):
            raise ValueError(f"{path}: tensor '{name}' has type {entry['dtype']} at {begin} to {end} of {len(body)}")
        flat = torch.frombuffer(body[begin:end], dtype=TYPES[entry["dtype"]]) if end > begin else torch.empty(0)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors, metadata


def write_safetensors(path, tensors, metadata=None):
    names = {kind: name for name, kind in TYPES.items()}
    header, offset = {"__metadata__": metadata or {}}, 0
    for name, tensor in tensors.items():
        end = offset + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.detach().contiguous().view(torch.uint8).numpy().tobytes())


def load_weights(model, tensors):
    """Copies every parameter by its name; state of an optimizer in the same file is passed over."""
    for name, parameter in model.named_parameters():
        if name not in tensors:
            raise ValueError(f"the weights have no '{name}'")
        if tensors[name].shape != parameter.shape:
            raise ValueError(f"'{name}' has shape {list(tensors[name].shape)}, {list(parameter.shape)} is meant")
        with torch.no_grad():
            parameter.copy_(tensors[name])
