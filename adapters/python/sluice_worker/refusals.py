# adapters/python/sluice_worker/refusals.py - a warning that an argument was ignored is a refusal.
# SPDX-License-Identifier: Apache-2.0
import contextlib
import re
import sys
import warnings

from .adapter import Unsupported

# What libraries say when they drop an argument instead of raising an error.
IGNORED = re.compile(r"(not|in)[ -]?valid|is ignored|are ignored|unexpected|unknown argument|unrecogni[sz]ed", re.IGNORECASE)

told = set()  # other warnings go to the log, once


@contextlib.contextmanager
def refusing_ignored_arguments():
    """Raises Unsupported, with the library's text, for a warning that an argument is not valid."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        text = str(warning.message)
        if issubclass(warning.category, UserWarning) and IGNORED.search(text):
            raise Unsupported(f"{warning.category.__name__}: {text}")
        if text not in told:
            told.add(text)
            print(f"{warning.category.__name__}: {text}", file=sys.stderr)
