# tests/adapters/recipe_counts_test.py - as many recipes of each library give right batches as are published.
# SPDX-License-Identifier: Apache-2.0
"""usage: recipe_counts_test.py PROGRAM     PROGRAM (sluice) is asked for the transforms"""
import json
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import peer

PROGRAM = sys.argv[1]
peer.enter("torch")

import numpy  # noqa: E402

# Normalize ends every recipe and is none of its own: one less than in the micro rows for clips.
COUNTS = {
    "albumentationsx": {"image-rgb": 57, "image-9ch": 41, "video-16f": 50},
    "torchvision": {"image-rgb": 26, "image-9ch": 22, "video-16f": 25},
    "kornia": {"image-rgb": 51, "image-9ch": 40, "video-16f": 49},
    "pillow": {"image-rgb": 26, "image-9ch": 0},
}
SETS = {"image-rgb": "R", "image-9ch": "9", "video-16f": "V"}
ITEMS = 2


def items_of(scenario):
    images = [peer.picture(n, 226, 230) for n in range(ITEMS)]
    if scenario == "video-16f":
        return [numpy.stack([image] * 16) for image in images]
    return [numpy.concatenate([image] * 3, axis=2) for image in images] if scenario == "image-9ch" else images


class RecipeCountsTest(unittest.TestCase):
    def setUp(self):
        done = subprocess.run([PROGRAM, "docs", "transforms", "--json"], capture_output=True, text=True, check=True)
        self.transforms = json.loads(done.stdout)
        folder = tempfile.TemporaryDirectory(prefix="sluice-recipes-")
        self.addCleanup(folder.cleanup)
        self.inputs = {}
        for scenario in SETS:
            inside = Path(folder.name) / scenario
            inside.mkdir()
            self.inputs[scenario] = peer.write_inputs(inside, items_of(scenario))

    def answers(self, library):
        """{scenario: (names that are right, {name: code and reason of the others})}"""
        worker = peer.Peer(peer.ADAPTERS / "pipeline_worker.py", library, "pipeline")
        self.addCleanup(worker.close)
        worker.start()
        found = {}
        for scenario in COUNTS[library]:
            worker.must("load", inputs=self.inputs[scenario], scenario=scenario, mode="pipeline", data_dir="")
            right, others = [], {}
            for one in self.transforms:
                name = one["name"]
                if SETS[scenario] not in one["sets"] or name == "Normalize":
                    continue
                case = {**peer.spec(name, scenario), "params": one["params"], "batch_size": ITEMS,
                        "scope": "memory_dataloader_augment"}
                reply = worker.ask("prepare", case=name, spec=case)
                if reply["type"] != "error":
                    reply = worker.ask("check")
                if reply["type"] == "error":
                    others[name] = f"{reply['code']}: {reply['reason']}"
                else:
                    right.append(name)
            found[scenario] = (right, others)
        return found

    def test_each_library_has_the_recipes_that_are_published(self):
        with ThreadPoolExecutor(2) as pool:
            found = dict(zip(COUNTS, pool.map(self.answers, COUNTS)))
        for library, scenarios in COUNTS.items():
            for scenario, count in scenarios.items():
                with self.subTest(library=library, scenario=scenario):
                    right, others = found[library][scenario]
                    self.assertEqual(len(right), count, others)
                    for name, reason in others.items():
                        self.assertRegex(reason, f"^unsupported: ({name} is not available in {library}|pillow has RGB images only)")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
