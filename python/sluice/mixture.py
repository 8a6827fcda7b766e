# python/sluice/mixture.py - batches of frame pairs from many data sets of robots, mixed by weight.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

from . import _check, _ending, _json, _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

LARGEST = (1 << 63) - 1


class Mixture:
    """Frame pairs (t, t + offset) of episodes as TFDS writes them (RLDS), mixed by the weights of a preset. Without an end, or with
    `one_pass` every episode once. docs/mixture.md has the rules, docs/presets.md the presets.

        for batch in sluice.Mixture("oxe", preset="oxe29", batch_size=64):
            batch["images"]      # uint8 N x 3 x 2 x side x side
            batch["action"], batch["state"], batch["language"], batch["source"]

    path                 folder that holds the data sets of the preset; s3://bucket/prefix, gs://bucket/prefix
    preset               name of a list of data sets with their weights, or a YAML file of one's own
    split                of every data set; None: the preset's training split
    skip                 names of data sets that are left out
    batch_size           samples; a multiple of `mix_block`, the samples of one data set that follow each other
    image_size           side of both frames
    samples_per_episode  pairs of an episode before another is read; 0: all
    shuffle              shards, records and pairs in an order of their own in every epoch
    workers              threads that read, and as many that decode; None: one per core that may be used
    deterministic        the order does not depend on time, and resume gives exactly the batches that would have followed.
                         Without it each data set goes on with exactly its next sample, but data sets may alternate otherwise
    on_error             "skip": damaged records are counted, see stats(). "stop": the first is an error
    timeout              seconds without a batch after which the data set that is waited for is named
    tensors              "numpy", "torch" or "jax"

    A batch is a dict of arrays of its own (one copy), with `language`, `episode`, `robot` and `dataset_type` as lists of texts. `sources[i]` is the
    name of the data set that `source` says."""

    def __init__(self, path: str | os.PathLike, preset: str = "oxe29", *, split: str | None = None, skip: Sequence[str] = (),
                 batch_size: int = 64, image_size: int = 256, samples_per_episode: int = 1, shuffle: bool = True, mix_block: int = 4,
                 workers: int | None = None, prefetch: int = 2, seed: int = 0, deterministic: bool = False, one_pass: bool = False,
                 on_error: str = "skip", timeout: float = 600.0, tensors: str = "numpy", endpoint: str = "", region: str = "",
                 anonymous: bool = False):
        if workers is None:
            workers = len(os.sched_getaffinity(0))
        self._tensors = _check.tensors(tensors)
        self._spec = _json.dumps({
            "path": os.fspath(path),
            "preset": _check.text("preset", preset),
            "split": "" if split is None else _check.text("split", split),
            "skip": [_check.text("skip", one) for one in skip],
            "batch_size": _check.integer("batch_size", batch_size, 1, 1 << 16),
            "image_size": _check.integer("image_size", image_size, 1, 4096),
            "samples_per_episode": _check.integer("samples_per_episode", samples_per_episode, 0, 1 << 20),
            "shuffle": _check.flag("shuffle", shuffle),
            "mix_block": _check.integer("mix_block", mix_block, 1, 1 << 16),
            "workers": _check.integer("workers", workers, 1, 64),
            "prefetch": _check.integer("prefetch", prefetch, 1, 64),
            "seed": _check.integer("seed", seed, 0, LARGEST),
            "deterministic": _check.flag("deterministic", deterministic),
            "one_pass": _check.flag("one_pass", one_pass),
            "on_error": _check.choice("on_error", on_error, ("skip", "stop")),
            "timeout": _check.number("timeout", timeout, 1e-3, 1e6),
            "endpoint": _check.text("endpoint", endpoint),
            "region": _check.text("region", region),
            "anonymous": _check.flag("anonymous", anonymous),
        })
        self._native = _native.Mixture(self._spec, "null", self._tensors)
        _ending.close_at_exit(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Goes on where the mixture is: there are no epochs."""
        return self

    def __next__(self) -> dict[str, Any]:
        batch = self._native.next()
        if batch is None:
            raise StopIteration
        return batch

    @property
    def sources(self) -> list[str]:
        """Names of the data sets, in the order of `source`."""
        return self._native.sources()

    def state_dict(self) -> dict[str, Any]:
        """Where the mixture is, after the last batch it gave out."""
        return _json.loads(self._native.state())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on after `state`; data sets, seed, block and samples_per_episode must be those of it."""
        if not isinstance(state, dict):
            raise TypeError(f"the state is {state!r}; accepted: what state_dict() gave")
        made = _native.Mixture(self._spec, _json.dumps(state), self._tensors)
        self._native.close()
        self._native = made

    def stats(self) -> dict[str, Any]:
        """Samples, waits and damaged records, by data set."""
        return _json.loads(self._native.stats())

    def close(self) -> None:
        """Ends the threads, and with an error a `next()` that waits in another thread. A read of a store that takes long is cancelled."""
        self._native.close()

    def __enter__(self) -> Mixture:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
