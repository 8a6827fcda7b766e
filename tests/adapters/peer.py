# tests/adapters/peer.py - what tests of real libraries share: their Python, a worker to talk to, inputs.
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "adapters" / "python"
SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def python_of(group):
    """The interpreter of a requirement group: SLUICE_TEST_<GROUP>_PYTHON, else the newest environment of
    `sluice peers install`; None when there is none."""
    named = os.environ.get(f"SLUICE_TEST_{group.upper()}_PYTHON")
    if named:
        return named
    cache = os.environ.get("SLUICE_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "sluice")
    found = sorted(glob.glob(f"{cache}/peers/{group}-*/bin/python"), key=os.path.getmtime)
    return found[-1] if found else None


def enter(group):
    """Goes on in the group's Python; without one the whole file is skipped, visibly."""
    sys.path.insert(0, str(ADAPTERS))
    sys.dont_write_bytecode = True
    python = python_of(group)
    if os.environ.get("SLUICE_TEST_ENTERED") == group:
        return
    if python is None:
        print(f"skipped: no environment '{group}'; make one with: sluice peers install {group}")
        sys.exit(SKIPPED)
    os.execve(python, [python, "-B", *sys.argv], {**os.environ, "SLUICE_TEST_ENTERED": group,
                                                  "NO_ALBUMENTATIONS_UPDATE": "1", "ALBUMENTATIONS_NO_TELEMETRY": "1"})


class Peer:
    """A worker process. `ask` answers its reply; `must` fails the test for an error."""

    def __init__(self, program, *arguments, python=sys.executable, process_group=None):
        request_end, requests = os.pipe()
        replies, reply_end = os.pipe()
        self.process = subprocess.Popen(
            self.words(python, program, arguments), pass_fds=(request_end, reply_end), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=process_group,
            env={**os.environ, "SLUICE_PEER_IN": str(request_end), "SLUICE_PEER_OUT": str(reply_end)})
        os.close(request_end)
        os.close(reply_end)
        self.requests, self.replies = os.fdopen(requests, "w"), os.fdopen(replies)
        self.last_id = 0

    @staticmethod
    def words(python, program, arguments):
        """argv of the worker."""
        return [python, "-B", str(program), *arguments]

    def ask(self, kind, **fields):
        self.last_id += 1
        self.requests.write(json.dumps({"type": kind, "id": self.last_id, **fields}) + "\n")
        self.requests.flush()
        line = self.replies.readline()
        if not line:
            raise AssertionError(f"{kind}: the worker is gone, exit {self.process.wait()}")
        reply = json.loads(line)
        if reply["id"] != self.last_id:
            raise AssertionError(f"{kind}: answer {reply['id']} to request {self.last_id}")
        return reply

    def must(self, kind, **fields):
        reply = self.ask(kind, **fields)
        if reply["type"] != kind:
            raise AssertionError(f"{kind}: {reply}")
        return reply

    def start(self, policy="pipeline-single-worker", seed=7):
        self.must("hello", protocol=1)
        return self.must("configure", threads=1, device="cpu", seed=seed, thread_policy=policy)

    def close(self):
        """Ends it, also when a test has failed half-way."""
        try:
            self.ask("bye")
        except (AssertionError, OSError, ValueError):
            self.process.kill()
        self.process.wait(timeout=20)
        self.requests.close()
        self.replies.close()


def write_inputs(folder, arrays):
    """Shared inputs of docs/peer-protocol.md from uint8 arrays; answers the `inputs` of a load request."""
    items, offset = [], 0
    with open(folder / "inputs.data", "wb") as file:
        for number, array in enumerate(arrays):
            file.seek(offset)
            file.write(array.tobytes())
            items.append({"name": f"{number}.png", "offset": offset, "shape": list(array.shape)})
            offset = (offset + array.nbytes + 63) // 64 * 64
        file.truncate(offset)
    layout = "THWC" if arrays[0].ndim == 4 else "HWC"
    index = {"version": 1, "layout": layout, "dtype": "uint8", "items": items}
    (folder / "inputs.json").write_text(json.dumps(index))
    return {"index": str(folder / "inputs.json"), "data": str(folder / "inputs.data")}


def picture(number, height=240, width=300):
    """A uint8 RGB image that is another for every number."""
    import numpy
    y, x = numpy.mgrid[0:height, 0:width]
    grain = numpy.random.default_rng(number).integers(0, 40, (height, width, 3))
    return ((numpy.stack([x + 9 * number, 2 * y, x + y], axis=-1) // 2 + grain) % 256).astype(numpy.uint8)


def write_clip(path, frames, codec="libx264", size=(160, 120)):
    """A video whose every frame differs from its neighbours by several grey values."""
    import av
    import numpy
    width, height = size
    y, x = numpy.mgrid[0:height, 0:width]
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for t in range(frames):
            image = numpy.stack([x + 6 * t, y + 9 * t, (x + y) // 2 + 12 * t], axis=-1) % 230
            for packet in stream.encode(av.VideoFrame.from_ndarray(image.astype(numpy.uint8), format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


# Canonical parameters of the transforms that these tests use (src/sluice/plan/transforms.cpp).
PARAMS = {
    "HorizontalFlip": {},
    "Pad": {"padding": 10, "fill": 0, "border_mode": "constant"},
    "Resize": {"target_size": 512, "interpolation": "bilinear"},
    "RandomCrop224": {"height": 224, "width": 224},
    "RandomResizedCrop": {"size": [224, 224], "scale": [0.08, 1.0], "ratio": [0.75, 1.3333], "interpolation": "bilinear"},
    "Rotate": {"angle_range": [-45, 45], "interpolation": "nearest", "border_mode": "constant", "fill": 0},
    "Affine": {"angle": 25, "shift": [20, 20], "scale": 2.0, "shear": [10, 15], "interpolation": "bilinear",
               "border_mode": "constant", "fill": 0, "reference_size": 512},
    "GaussianBlur": {"sigma": 2.0, "kernel_size": [5, 5]},
    "Posterize": {"bits": 4},
    "Brightness": {"brightness_limit": [0.2, 0.2]},
    "Grayscale": {"num_output_channels": 3},
    "LongestMaxSize": {"max_size": 512, "interpolation": "bilinear"},
    "SmallestMaxSize": {"max_size": 512, "interpolation": "bilinear"},
}


def spec(transform, scenario="image-rgb", mode="pipeline", **more):
    channels = 9 if scenario == "image-9ch" else 3
    return {"scenario": scenario, "mode": mode, "transform": transform, "params": PARAMS.get(transform, {}),
            "channels": channels, "clip_length": 16, **more}
