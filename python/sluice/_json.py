# python/sluice/_json.py - texts for the extension; `json` comes with the first use, it would be half of `import sluice`.
# SPDX-License-Identifier: Apache-2.0


def _plain(value):
    """numpy's numbers and arrays as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a parameter is {value!r}; accepted: numbers, texts, True, False, None, and lists of them")


def dumps(value):
    import json
    return json.dumps(value, default=_plain)


def loads(text):
    import json
    return json.loads(text)
