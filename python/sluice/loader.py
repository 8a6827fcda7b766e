# python/sluice/loader.py - batches of a data set, epoch by epoch, with exact resume.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

from . import _check, _ending, _json, _native
from .recipe import Recipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

LARGEST = (1 << 63) - 1


def _place(rank, world):
    """Rank and number of ranks: as given, else as torchrun, Accelerate and Lightning set RANK and WORLD_SIZE."""
    if (rank is None) != (world is None):
        raise ValueError(f"rank is {rank!r} and world is {world!r}; accepted: both, or neither")
    if rank is None:
        rank, world = os.environ.get("RANK", "0"), os.environ.get("WORLD_SIZE", "1")
        if not (rank.isdecimal() and world.isdecimal()):
            raise ValueError(f"RANK is {rank!r} and WORLD_SIZE is {world!r}; accepted: whole numbers")
        rank, world = int(rank), int(world)
    world = _check.integer("world", world, 1, 1 << 20)
    return _check.integer("rank", rank, 0, world - 1), world


def _tensors(tensors, device):
    """Whose arrays are given out on `device`."""
    if tensors is None:
        return "numpy" if device == "cpu" else "dlpack"
    if device != "cpu" and tensors == "numpy":
        raise ValueError(f"tensors is 'numpy', which has no memory of device {device!r}; accepted: torch, jax, dlpack, or device='cpu'")
    _check.tensors(tensors, ("numpy", "torch", "jax", "dlpack"))
    if device != "cpu" and tensors == "torch":
        import torch
        if not torch.backends.cuda.is_built():
            raise ValueError(f"device is {device!r}, and torch in this environment is built without CUDA; accepted: cpu, or another environment")
    return tensors


class Loader:
    """Batches of (images, labels), made ahead on threads.

        loader = sluice.Loader("photos/train", batch_size=256, workers=8)
        for epoch in range(90):
            for images, labels in loader:
                ...

    Every iteration is an epoch: 0, then 1, and so on; `set_epoch` chooses another. Content and order follow from seed, epoch and
    data alone, never from the number of workers. One consumer at a time: a new iteration ends the one before it.

    path        a folder of images by class, tar shards (WebDataset), bundles or .npy files; s3://bucket/prefix, gs://bucket/prefix
    recipe      a name or list of transforms, see `Recipe`; or a `Recipe` with more said
    batch_size  samples of this rank
    workers     threads, 0 to 1024; 0: samples are made in the loop; None: one per core that may be used
    prefetch    batches made ahead
    seed        of order and augmentation
    shuffle     "full", "none", "windowed" or "shards"; `window` is of the last two (docs/loader.md)
    rank, world of several processes that share an epoch; None: RANK and WORLD_SIZE of the environment, else 0 and 1
    drop_last   leave out a last batch that is not full
    persistent  threads live on between epochs, and begin the next one ahead
    on_error    "fail": a corrupt sample is an error that names it. "skip": the next sample stands in for it
    timeout     seconds that a batch may take
    tensors     "numpy", "torch" or "jax": whose arrays are given out. jax copies labels, to int32 unless jax_enable_x64 is set.
                "dlpack": `sluice.Array`, which torch, jax and cupy take. None: "numpy", on a GPU "dlpack"
    device      "cpu", "cuda:N", or "cuda": the GPU that this thread uses, else the first. Images and labels are copied there while you
                compute; numpy cannot have them
    pin_memory  batches on the CPU lie in pinned memory, from which a GPU copies without waiting
    labels      CSV file with a label for each sample; None: classes by folder. Samples without one have -1
    endpoint, region, anonymous, cache_dir   of s3:// and gs://, as the flags of `sluice bench dataloader`

    The arrays are memory of the loader itself, not copies, and stay valid as long as anything refers to them. Of batches that are
    held at the same time the third and later are copies, so that the threads never run out of memory to fill. On a GPU they are
    memory of their own. What was let go is filled again only after all that its GPU had to do when the next batch was asked for."""

    def __init__(self, path: str | os.PathLike, recipe: str | Sequence[Any] | Recipe = "imagenet-train", *,
                 batch_size: int = 256, workers: int | None = None, prefetch: int = 2, seed: int = 0, shuffle: str = "full",
                 window: int = 8192, rank: int | None = None, world: int | None = None, drop_last: bool = True,
                 persistent: bool = True, on_error: str = "fail", timeout: float = 300.0, tensors: str | None = None,
                 device: str = "cpu", pin_memory: bool = False, labels: str | os.PathLike | None = None, endpoint: str = "",
                 region: str = "", anonymous: bool = False, cache_dir: str | os.PathLike | None = None):
        device, gpu = _check.device(device)
        if workers is None:
            workers = len(os.sched_getaffinity(0))
        recipe = recipe if isinstance(recipe, Recipe) else Recipe(recipe)
        rank, world = _place(rank, world)
        tensors = _tensors(tensors, device)
        if recipe._description["dtype"] == "bfloat16" and tensors == "numpy":
            raise ValueError("dtype is 'bfloat16', which numpy does not have; accepted: tensors='torch' or 'jax'")
        spec = {
            "path": os.fspath(path),
            "recipe": recipe._description,
            "batch_size": _check.integer("batch_size", batch_size, 1, 1 << 20),
            "workers": _check.integer("workers", workers, 0, 1024),
            "prefetch": _check.integer("prefetch", prefetch, 1, 1000),
            "seed": _check.integer("seed", seed, 0, LARGEST),
            "shuffle": _check.choice("shuffle", shuffle, ("full", "none", "windowed", "shards")),
            "window": _check.integer("window", window, 1, LARGEST),
            "rank": rank,
            "world": world,
            "drop_last": _check.flag("drop_last", drop_last),
            "persistent": _check.flag("persistent", persistent),
            "on_error": _check.choice("on_error", on_error, ("fail", "skip")),
            "timeout": _check.number("timeout", timeout, 1e-3, 1e6),
            "device": device,
            "gpu": gpu,
            "pin": _check.flag("pin_memory", pin_memory),
            "labels": "" if labels is None else os.fspath(labels),
            "endpoint": _check.text("endpoint", endpoint),
            "region": _check.text("region", region),
            "anonymous": _check.flag("anonymous", anonymous),
            "cache_dir": "" if cache_dir is None else os.fspath(cache_dir),
        }
        self.batch_size, self.rank, self.world, self.drop_last = batch_size, rank, world, drop_last
        self.recipe = recipe
        self._native = _native.Loader(_json.dumps(spec), tensors, recipe.function and recipe.function.function)
        self._next_epoch = 0       # of an iteration that begins anew
        self._resumes = False      # the next iteration goes on where load_state_dict() put it
        self._running = None       # the iteration that may ask for batches
        _ending.close_at_exit(self)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        if not self._resumes:
            self._native.start_epoch(self._next_epoch)
            self._next_epoch += 1
        self._resumes = False
        self._running = _Iteration(self)
        return self._running

    def __len__(self) -> int:
        """Batches of a whole epoch, for this rank."""
        return self._native.steps()

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, from its start. After load_state_dict() the epoch that is resumed changes nothing."""
        epoch = _check.integer("epoch", epoch, 0, LARGEST)
        if self._resumes and epoch == self._next_epoch - 1:
            return
        self._resumes, self._running = False, None
        self._next_epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands after the last batch it gave out: plain numbers and texts. Every rank has the same one."""
        state = _json.loads(self._native.state())
        if self._running is None and not self._resumes:  # between two epochs
            state.update(epoch=self._next_epoch, consumed=0)
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration gives exactly what was left, with any number of workers and ranks and any batch size.

        Of a state that was saved after the last batch, but inside the loop, that is nothing: the epoch after it is whole.
        Seed, shuffle, window and data must be those of the state. Threads begin at once; nothing is read twice."""
        if not isinstance(state, dict):
            raise TypeError(f"the state is {state!r}; accepted: what state_dict() gave")
        self._native.restore(_json.dumps(state))
        self._running, self._resumes, self._next_epoch = None, True, state["epoch"] + 1

    @property
    def dataset_size(self) -> int:
        """Samples of the data set, of all ranks."""
        return self._native.dataset_size()

    @property
    def indices(self) -> Any:
        """Of the latest batch: the index of each sample in the data set; None before the first."""
        return None if self._running is None else self._running.indices

    def sample_name(self, index: int) -> str:
        """What a sample is called, for messages: "cats/7.jpg"."""
        return self._native.sample_name(_check.integer("index", index, 0, LARGEST))

    def stats(self) -> dict[str, Any]:
        """What the loader counted since it was made: batches, waits, time and bytes of every stage (docs/loader.md).

        On a GPU, "device_bytes" is the memory there. With a function in the recipe, "function" is its cost: `calls`, `busy_ns` in it and `mean_ns` of a call, `lock_wait_ns` of
        workers that waited for the interpreter's lock, and the `share` of both in the time that workers spent on samples."""
        return _json.loads(self._native.stats())

    def close(self) -> None:
        """Ends the threads within 0.2 s; arrays that were given out stay valid, other memory on a GPU is given back. Also done by `with`, when nothing refers to the
        loader any more, and at the end of the program."""
        self._native.close()

    def __del__(self) -> None:
        if hasattr(self, "_native"):  # else there was an error in __init__
            self._native.end()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ended(self):
        self._running = None


class _Iteration:
    """One epoch, or the rest of one."""

    def __init__(self, loader):
        self._loader = loader
        self.indices = None

    def __iter__(self):
        return self

    def __next__(self):
        loader = self._loader
        if loader is None:
            raise StopIteration
        if loader._running is not self:
            raise RuntimeError("another iteration of this loader has begun; accepted: one at a time")
        taken = loader._native.next()
        if taken is None:
            loader._ended()
            self._loader = None
            raise StopIteration
        images, labels, self.indices = taken
        return images, labels
