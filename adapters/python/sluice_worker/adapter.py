# adapters/python/sluice_worker/adapter.py - what a library supplies, and the words both sides use.
# SPDX-License-Identifier: Apache-2.0
import importlib.metadata
import os
import random
import sys
from dataclasses import dataclass, field

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "VIPS_CONCURRENCY",
)


class Unsupported(Exception):
    """The library cannot do it; the text is the reason, in its own words where it has any."""


class Failed(Exception):
    """Something is wrong: a bad request, a wrong output."""


def is_device_problem(problem):
    """True for what torch raises when device memory is used up or the CUDA context is lost: no verdict on the library, and
    a process that must be replaced."""
    kinds = {kind.__name__ for kind in type(problem).__mro__}
    return bool(kinds & {"OutOfMemoryError", "AcceleratorError"}) or "CUDA error" in str(problem)


def is_out_of_memory(problem):
    """True for what torch raises when device memory is used up."""
    return "OutOfMemoryError" in {kind.__name__ for kind in type(problem).__mro__}


class Params(dict):
    """Canonical parameters of a transform; a missing one is a fault of the plan, not of the library."""

    def __missing__(self, key):
        raise Failed(f"spec.params has no '{key}'")


@dataclass
class Spec:
    """One case, as `prepare` gives it."""

    transform: str = ""
    scenario: str = "image-rgb"
    mode: str = "micro"
    params: Params = field(default_factory=Params)
    channels: int = 3
    clip_length: int = 16
    raw: dict = field(default_factory=dict)  # all fields, for modes that have more of them

    @property
    def is_clip(self):
        return self.scenario.startswith("video")

    @staticmethod
    def read(raw):
        if not isinstance(raw, dict):
            raise Failed("spec is missing, or no object")
        params = raw.get("params") or {}
        if not isinstance(params, dict):
            raise Failed("spec.params is no object")
        scenario = str(raw.get("scenario", "image-rgb"))
        channels = raw.get("channels", 9 if scenario == "image-9ch" else 3)
        clip_length = raw.get("clip_length", 16)
        if channels not in (3, 9) or not isinstance(clip_length, int) or clip_length < 1:
            raise Failed(f"spec has channels {channels!r} (3 or 9), clip_length {clip_length!r} (1 or more)")
        return Spec(
            transform=str(raw.get("transform", "")),
            scenario=scenario,
            mode=str(raw.get("mode", "micro")),
            params=Params(params),
            channels=channels,
            clip_length=clip_length,
            raw=raw,
        )


@dataclass
class Session:
    """What `configure` set; shared by the adapter and the modes."""

    threads: int = 1
    device: str = "cpu"
    seed: int = 0
    thread_policy: str = ""  # "": `threads` threads everywhere


class Adapter:
    """One library. Subclasses fill in the names and override what is not a NumPy array on the CPU."""

    name = ""  # row.library
    packages = ()  # distributions whose versions are told; the first is the library's own
    devices = ("cpu",)
    transforms = ()  # names it knows, for `hello`
    default_mode = "micro"  # of requests that name none
    memory_decides = False  # device memory that is used up is an answer (a batch that does not fit), not a failure
    unit_float = False  # floating-point outputs are in 0..1, not 0..255

    def __init__(self):
        self.session = Session()

    def open(self):
        """Imports the library. Thread variables are in the environment by now."""

    def versions(self):
        """{package: version}, without importing anything."""
        found = {}
        for package in self.packages:
            try:
                found[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                continue
        return found

    def build(self, spec):
        """The transform as callable(item) -> output. Unsupported when the library has no such thing."""
        raise Unsupported(f"{spec.transform} is not available in {self.name}")

    def convert(self, array, scenario):
        """uint8 HWC or THWC array (a mapped view) -> the item that the library's users would hold."""
        return array

    def materialise(self, output):
        """Contiguous in memory; runs inside the timer. Must return it. Fast libraries set a function of C here instead."""
        import numpy

        return numpy.ascontiguousarray(output)

    def to_array(self, output):
        """A materialised output as HWC or THWC array on the host, in its own type and scale."""
        return output

    def nbytes(self, item):
        """Bytes that a converted item holds."""
        return int(item.nbytes)

    def synchronise(self):
        """Waits for the device; called before both clock readings."""

    def memory_probe(self):
        """None, or a callable made before the sample that answers the peak GPU memory after it."""
        return None

    def references(self, spec):
        """None: the usual reference of checks.py; else another callable(source, output) -> problem or ''."""
        return None

    def forget(self):
        """The case is over: drop what build() kept."""

    def reseed(self, seed):
        """Every generator that the library may draw from. Overrides call this first."""
        seed %= 2**32
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(seed)

    def configure(self, session):
        """Applies the thread policy and answers what is in force, read back from the libraries."""
        if session.device not in ("cpu", "cuda"):
            raise Failed(f"unknown device '{session.device}': cpu or cuda")
        if session.device not in self.devices:
            raise Unsupported(f"{self.name} does not run on device '{session.device}'")
        if session.device == "cuda" and not self.has_cuda():
            raise Unsupported("no CUDA device")
        self.session = session
        if session.thread_policy not in ("pipeline-default", "loader-all-cores"):
            set_threads(session.threads if session.thread_policy in ("", "micro-threads") else 1)
        return in_force()

    def has_cuda(self):
        return "torch" in sys.modules and sys.modules["torch"].cuda.is_available()


def set_threads(count):
    """Of the libraries that are loaded. Variables of the environment are the supervisor's."""
    if "cv2" in sys.modules:
        cv2 = sys.modules["cv2"]
        cv2.setNumThreads(0 if count == 1 else count)  # 0: no pool at all
        cv2.ocl.setUseOpenCL(False)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.set_num_threads(count)
        try:
            torch.set_num_interop_threads(count)
        except RuntimeError:  # only once per process, and before the first parallel work
            pass


def in_force():
    """Thread counts as the loaded libraries answer them, and the variables they were started with."""
    found = {}
    if "cv2" in sys.modules:
        found["opencv"] = int(sys.modules["cv2"].getNumThreads())
    if "torch" in sys.modules:
        found["torch"] = int(sys.modules["torch"].get_num_threads())
        found["torch_interop"] = int(sys.modules["torch"].get_num_interop_threads())
    for variable in THREAD_VARIABLES:
        if variable in os.environ:
            found[variable] = os.environ[variable]
    return found
