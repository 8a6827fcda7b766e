# adapters/python/sluice_worker/gpu_memory.py - memory of a GPU as its driver counts it, for libraries that do not tell theirs.
# SPDX-License-Identifier: Apache-2.0
"""Through NVML, which makes no context on the device."""
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
