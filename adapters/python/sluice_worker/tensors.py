# adapters/python/sluice_worker/tensors.py - what the libraries on torch have in common: CHW tensors, devices, memory.
# SPDX-License-Identifier: Apache-2.0
import operator
import sys

from .adapter import Adapter


def give_back_device_memory():
    """Between cases: what torch keeps for later, else the peaks of a case depend on the cases before it."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return
    clear_workspaces = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)  # 32 MiB on recent devices, never freed
    if clear_workspaces is not None:
        clear_workspaces()
    torch.cuda.empty_cache()


class TensorAdapter(Adapter):
    """Items are contiguous tensors, CHW or TCHW, on the device of the session."""

    devices = ("cpu", "cuda")

    def open(self):
        import torch

        self.torch = torch

    def tensor(self, array):
        """uint8 HWC or THWC array -> uint8 CHW or TCHW tensor of its own memory, on the host."""
        tensor = self.torch.from_numpy(array)
        return tensor.movedim(-1, -3).contiguous().clone()

    def place(self, tensor):
        return tensor.to("cuda") if self.session.device == "cuda" else tensor

    materialise = staticmethod(operator.methodcaller("contiguous"))  # no frame of Python around it in the timed loop

    def to_array(self, output):
        return output.movedim(-3, -1).contiguous().cpu().numpy()

    def nbytes(self, item):
        return item.numel() * item.element_size()

    def synchronise(self):
        if self.session.device == "cuda":
            self.torch.cuda.synchronize()

    def memory_probe(self):
        if self.session.device != "cuda":
            return None
        cuda = self.torch.cuda
        cuda.reset_peak_memory_stats()
        return lambda: {
            "peak_allocated_bytes": int(cuda.max_memory_allocated()),
            "peak_reserved_bytes": int(cuda.max_memory_reserved()),
        }

    def forget(self):
        give_back_device_memory()

    def in_chunks(self, call, channels=3):
        """`call` on each group of three channels, joined again: for operations that know red, green and blue only."""
        cat = self.torch.cat
        return lambda item: cat([call(part) for part in item.split(channels, dim=-3)], dim=-3)
