# python/sluice/_ending.py - what has threads is closed before the interpreter ends.
# SPDX-License-Identifier: Apache-2.0
import atexit
import weakref

from . import _native

_open = weakref.WeakSet()


def close_at_exit(one):
    """`one` has close(), which may be called twice; it is not kept alive."""
    _open.add(one)


@atexit.register
def _close_all():
    """Threads end before the interpreter takes away what they stand on."""
    for one in list(_open):
        one.close()
    _native.wait_for_calls()
