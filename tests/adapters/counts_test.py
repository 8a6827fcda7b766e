# tests/adapters/counts_test.py - real libraries: as many right outputs as are published, equal in two processes.
# SPDX-License-Identifier: Apache-2.0
"""usage: counts_test.py PROGRAM GROUP     PROGRAM (sluice) is asked for the transforms; GROUP is light, rivals, albumentationsx or torch"""
import json
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import peer

PROGRAM, GROUP = sys.argv[1:3]
peer.enter(GROUP)

import numpy  # noqa: E402

# What the published benchmark counts, and for the wheel its list of recipes: no version may lose one unseen.
LIBRARIES = {
    "albumentationsx": {
        "albumentationsx": ("albumentationsx_worker.py", {"image-rgb": 57, "image-9ch": 41, "video-16f": 51}),
    },
    "light": {
        "pillow": ("pillow_worker.py", {"image-rgb": 24}),
        "pillow-array": ("pillow_worker.py", {"image-rgb": 24}),
        "opencv-wheel": ("opencv_wheel_worker.py", {"image-rgb": 37}),
    },
    "rivals": {  # a crop of 224 that must be padded is not in kornia-rs
        "kornia-rs": ("kornia_rs_worker.py", {"image-rgb": 19}),
        "pyvips": ("pyvips_worker.py", {"image-rgb": 26}),
    },
    "torch": {
        "torchvision": ("torchvision_worker.py", {"image-rgb": 26, "image-9ch": 22, "video-16f": 26}),
        "kornia": ("kornia_worker.py", {"image-rgb": 51, "image-9ch": 40, "video-16f": 50}),
    },
}
REFUSALS = {("kornia-rs", "RandomCrop224"): "kornia-rs does not pad: an image of 97x131 has no crop of 224x224"}
SETS = {"image-rgb": "R", "image-9ch": "9", "video-16f": "V"}
CLIP_LENGTH = 16


def items_of(scenario):
    """Few and small: what matters is that every library sees odd sides, and one that a crop of 224 must pad."""
    if scenario == "video-16f":
        return [numpy.stack([peer.picture(n, 64, 80) for n in range(CLIP_LENGTH)])]
    images = [peer.picture(1, 97, 131), peer.picture(2, 240, 260)]
    return [numpy.concatenate([image] * 3, axis=2) for image in images[:1]] if scenario == "image-9ch" else images


def specs_of(transforms, scenario):
    return {
        one["name"]: {
            "scenario": scenario, "mode": "micro", "transform": one["name"], "params": one["params"],
            "channels": 9 if scenario == "image-9ch" else 3, "clip_length": CLIP_LENGTH,
        }
        for one in transforms if SETS[scenario] in one["sets"]
    }  # fmt: skip


class CountsTest(unittest.TestCase):
    def setUp(self):
        done = subprocess.run([PROGRAM, "docs", "transforms", "--json"], capture_output=True, text=True, check=True)
        self.transforms = json.loads(done.stdout)
        folder = tempfile.TemporaryDirectory(prefix="sluice-counts-")
        self.addCleanup(folder.cleanup)
        self.inputs = {}
        for scenario in SETS:
            place = Path(folder.name) / scenario
            place.mkdir()
            self.inputs[scenario] = peer.write_inputs(place, items_of(scenario))

    def answers(self, library):
        """{(scenario, transform): the answer to check, or the error of prepare} of one process."""
        program, counts = LIBRARIES[GROUP][library]
        worker = peer.Peer(peer.ADAPTERS / program, library, "micro")
        found = {}
        try:
            worker.start("micro-single")
            for scenario in counts:
                worker.must("load", scenario=scenario, mode="micro", inputs=self.inputs[scenario])
                for name, spec in specs_of(self.transforms, scenario).items():
                    reply = worker.ask("prepare", case=name, spec=spec)
                    found[scenario, name] = reply if reply["type"] == "error" else worker.ask("check")
        finally:
            worker.close()
        return found

    def test_each_library_does_what_is_published_the_same_way_in_two_processes(self):
        for library, (_, counts) in LIBRARIES[GROUP].items():
            with ThreadPoolExecutor(2) as pool:
                first, second = pool.map(self.answers, [library, library])
            for scenario, count in counts.items():
                with self.subTest(library=library, scenario=scenario):
                    self.judge(library, scenario, count, first, second)

    def judge(self, library, scenario, count, first, second):
        right = 0
        for (where, name), reply in first.items():
            if where != scenario:
                continue
            if reply["type"] == "error":
                self.assertEqual((name, reply["code"]), (name, "unsupported"), reply["reason"])
                words = REFUSALS.get((library, name), f"{name} is not available in {library}")
                self.assertEqual(reply["reason"], words)
                continue
            right += 1
            self.assertEqual((name, reply["digest"]), (name, second[where, name].get("digest")))
        self.assertEqual(right, count)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
