# adapters/python/sluice_worker/gpu_memory.py - memory of a GPU: by its driver, and what PyTorch's counts mean.
# SPDX-License-Identifier: Apache-2.0
"""The driver is asked through NVML, which makes no context on the device, for libraries that do not tell theirs."""
import ctypes


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def used_bytes(index=0):
    """Of all processes on device `index`; None where NVML does not say."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    if nvml.nvmlInit_v2() != 0:
        return None
    try:
        device, memory = ctypes.c_void_p(), _Memory()
        if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) != 0:
            return None
        return memory.used if nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) == 0 else None
    finally:
        nvml.nvmlShutdown()


def torch_peaks(cuda, device, graphs):
    """Peaks of PyTorch's allocator (`cuda` is torch.cuda) since they were reset. What a CUDA graph works in lies in a pool of
    its own and counts as allocated only while the graph is captured, not when it is replayed: of steps that replay graphs
    the memory that is reserved for them is told, which holds those pools and is never too little."""
    reserved = int(cuda.max_memory_reserved(device))
    return {"peak_bytes": reserved if graphs else int(cuda.max_memory_allocated(device)), "reserved_bytes": reserved}
