# adapters/python/sluice_worker/modes/__init__.py - one module per mode; a mode owns a case from prepare to release.
# SPDX-License-Identifier: Apache-2.0
"""A mode is a class with: __init__(adapter), load(request), support(raw_spec), prepare(raw_spec), check(sample),
preflight(slow_item_s, items), measure(passes, warmup_ms, warmup_limit_ms), release().

The first six answer the fields of the protocol's answer (support answers nothing); all raise Unsupported or Failed. The
loop guarantees the order: load before prepare, prepare before check, check before preflight and measure.
"""
import importlib

from ..adapter import Unsupported

MODES = {"micro": "Micro", "jpeg": "Jpeg", "pipeline": "Pipeline", "decode": "Decode", "loader": "Loader",
         "training": "Training", "mixture": "Mixture"}


def mode_named(name):
    """The class of a mode; its module is imported only when asked for."""
    if name not in MODES:
        raise Unsupported(f"unknown mode '{name}': {', '.join(MODES)}")
    try:
        module = importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as problem:
        raise Unsupported(f"mode '{name}': {problem}") from None
    return getattr(module, MODES[name])
