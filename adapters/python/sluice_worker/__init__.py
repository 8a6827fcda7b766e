# adapters/python/sluice_worker/__init__.py - the runtime of Python workers: protocol, inputs, checks, timing.
# SPDX-License-Identifier: Apache-2.0
"""A library's worker supplies an Adapter and calls serve(); the runtime does the rest.

Import only the standard library here: the peer libraries are imported by Adapter.open().
"""
from .adapter import Adapter, Failed, Params, Session, Spec, Unsupported
from .loop import serve

__all__ = ["Adapter", "Failed", "Params", "Session", "Spec", "Unsupported", "serve"]
