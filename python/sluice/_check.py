# python/sluice/_check.py - arguments of the wrong type or out of range: one line that says what is accepted.
# SPDX-License-Identifier: Apache-2.0
import math
import operator


def _wrong(name, value, accepted, kind):
    return kind(f"{name} is {value!r}; accepted: {accepted}")


def integer(name, value, low, high):
    """A whole number, also numpy's; True is none."""
    accepted = f"a whole number from {low} to {high}"
    try:
        number = operator.index(value)
    except TypeError:
        raise _wrong(name, value, accepted, TypeError) from None
    if isinstance(value, bool):
        raise _wrong(name, value, accepted, TypeError)
    if not low <= number <= high:
        raise _wrong(name, value, accepted, ValueError)
    return number


def number(name, value, low, high):
    accepted = f"a number from {low:g} to {high:g}"
    try:
        real = float(value)
    except (TypeError, ValueError):
        raise _wrong(name, value, accepted, TypeError) from None
    if not low <= real <= high or math.isnan(real):
        raise _wrong(name, value, accepted, ValueError)
    return real


def numbers(name, values, count):
    """`count` finite numbers as a list."""
    accepted = f"{count} numbers"
    try:
        reals = [float(one) for one in values]
    except (TypeError, ValueError):
        raise _wrong(name, values, accepted, TypeError) from None
    if len(reals) != count or not all(map(math.isfinite, reals)):
        raise _wrong(name, values, accepted, ValueError)
    return reals


def choice(name, value, accepted):
    if value not in accepted:
        raise _wrong(name, value, ", ".join(accepted), ValueError)
    return value


def tensors(value, accepted=("numpy", "torch", "jax")):
    """Whose arrays are given out: what is not installed is refused now, not at the first batch."""
    choice("tensors", value, accepted)
    import importlib.util
    import sys
    if value == "dlpack":  # an interface, no package
        return value
    if value not in sys.modules and importlib.util.find_spec(value) is None:
        raise ValueError(f"tensors is {value!r}, and {value} is not installed in this environment; accepted: numpy, or another environment")
    return value


def device(value):
    """"cpu", "cuda" or "cuda:N", also as a torch.device; the text, and the number of the GPU: None without one, -1 for the one in use."""
    import re
    name = str(value)
    match = re.fullmatch(r"cpu|cuda(?::(0|[1-9][0-9]{0,3}))?", name)
    if match is None:
        raise _wrong("device", value, "cpu, cuda, cuda:0 and so on", ValueError)
    if name == "cpu":
        return name, None
    return name, int(match[1] or -1)


def flag(name, value):
    if not isinstance(value, bool):
        raise _wrong(name, value, "True or False", TypeError)
    return value


def text(name, value):
    if not isinstance(value, str):
        raise _wrong(name, value, "a text", TypeError)
    return value
