# python/sluice/augment.py - the transforms on arrays: one by itself, or a list of them as one.
# SPDX-License-Identifier: Apache-2.0
"""Every transform of docs/augment.md is a class here: `sluice.augment.Affine(rotate=[-10, 10])`.

Images are height x width x channels arrays of uint8 (0 to 255) or float32 (0 to 1); a fourth dimension in front is the frames
of a clip, which all get one draw. Results are new arrays. What is drawn depends on (seed, epoch, index) and the name of the step
alone, as in the command `sluice augment`, whose output they equal."""
from __future__ import annotations

import os

from . import _check, _json, _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import numpy

__all__ = ["Compose", "Transform", "names"]
LARGEST = (1 << 64) - 1


def _step(transform, params, p, name=""):
    if not isinstance(params, dict):
        raise TypeError(f"the parameters of {transform} are {params!r}; accepted: a dict")
    return {"transform": _check.text("transform", transform), "params": _json.loads(_json.dumps(params)),
            "p": _check.number("p", p, 0, 1), "name": _check.text("name", name)}


def steps_of(steps: Iterable[Any]) -> list[dict]:
    """Names, (name, parameters) and (name, parameters, p) tuples, transforms and whole lists of them, as one list."""
    made = []
    for one in steps:
        if isinstance(one, Compose):
            made += one._steps
        elif isinstance(one, str):
            made.append(_step(one, {}, 1))
        elif isinstance(one, (tuple, list)) and 2 <= len(one) <= 3:
            made.append(_step(one[0], one[1], one[2] if len(one) == 3 else 1))
        else:
            raise TypeError(f"a step is {one!r}; accepted: a transform, its name, or (name, parameters, p)")
    return made


class Compose(_native.Compose):
    """A list of transforms as one: `pipeline(image)`, or `pipeline(image, index=5, epoch=0)`.

    Calls without an index count by themselves: the first draws for index 0, the next for 1. One object serves any number of
    threads; the interpreter's lock is released while pixels are computed."""

    def __init__(self, steps: Sequence[Any], *, seed: int = 0):
        self._steps = steps_of(steps)
        super().__init__(_json.dumps(self._steps), _check.integer("seed", seed, 0, LARGEST))

    @classmethod
    def load(cls, path: str | os.PathLike, *, seed: int = 0) -> Compose:
        """From a YAML file, as `sluice augment --pipeline` reads it."""
        steps = _json.loads(_native.load_steps(os.fspath(path)))
        made = cls.__new__(cls)
        made._steps = [{key: one[key] for key in ("transform", "params", "p", "name")} for one in steps]
        _native.Compose.__init__(made, _json.dumps(made._steps), _check.integer("seed", seed, 0, LARGEST))
        return made

    def sample(self, image: numpy.ndarray, *, index: int, epoch: int = 0) -> list[dict]:
        """What a call would draw, step by step; nothing is computed."""
        return _json.loads(self._sample(image, index, epoch))

    def replay(self, image: numpy.ndarray, draws: list[dict]) -> numpy.ndarray:
        """Applies what sample() gave, or `items[i].steps` of a file that `sluice augment --draws` wrote."""
        return self._replay(image, _json.dumps(draws))

    def __repr__(self) -> str:
        return f"Compose([{', '.join(one['transform'] for one in self._steps)}])"


class Transform(Compose):
    """One transform with its parameters; `p` is how often it is applied."""

    transform = ""

    def __init__(self, *, p: float = 1.0, seed: int = 0, **parameters: Any):
        if not self.transform:
            raise TypeError("Transform has no name; accepted: one of sluice.augment.names(), as sluice.augment.Blur()")
        super().__init__([(self.transform, parameters, p)], seed=seed)

    def __repr__(self) -> str:
        params = self._steps[0]["params"]
        return f"{self.transform}({', '.join(f'{key}={value!r}' for key, value in params.items())})"


def _doc(record):
    lines = [record["doc"], ""]
    for one in record["parameters"]:
        default = _json.dumps(record["defaults"].get(one["name"]))
        lines.append(f"{one['name']}: {one['doc']} ({one['accepted']}; {default})")
    return "\n".join(lines)


def _records():
    if not _RECORDS:
        _RECORDS.update({record["name"]: record for record in _json.loads(_native.describe_transforms())})
    return _RECORDS


_RECORDS: dict[str, dict] = {}


def names() -> list[str]:
    """Every transform there is."""
    return sorted(_records())


def __getattr__(name: str) -> type[Transform]:
    if name.startswith("_") or name not in _records():
        raise AttributeError(f"module 'sluice.augment' has no transform '{name}'; names() lists them")
    made = type(name, (Transform,), {"transform": name, "__doc__": _doc(_records()[name]), "__module__": __name__})
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*__all__, *names()})
