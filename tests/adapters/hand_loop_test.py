# tests/adapters/hand_loop_test.py - the loop written by hand does what our workers do: same transforms, same outputs.
# SPDX-License-Identifier: Apache-2.0
"""usage: hand_loop_test.py GROUP     of one library: albumentationsx, or light for pillow"""
import hashlib
import sys
import tempfile
import unittest
from pathlib import Path

import peer

GROUP = sys.argv[1]
peer.enter(GROUP)

HAND = peer.ROOT / "bench" / "hand_loop_worker.py"
LIBRARY = {"light": "pillow"}.get(GROUP, GROUP)
NAMES = ("HorizontalFlip", "RandomCrop224", "Resize", "GaussianBlur", "Posterize", "Brightness")


class HandLoopTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sluice-hand-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.inputs = peer.write_inputs(self.folder, [peer.picture(n) for n in range(3)])

    def outputs(self, program, library, first_only=False):
        """{transform: (digest, shape)} and the items of a sample."""
        worker = peer.Peer(program, library, "micro")
        self.addCleanup(worker.close)
        worker.start("micro-single")
        worker.must("load", inputs=self.inputs, scenario="image-rgb", mode="micro", data_dir="",
                    **({"num_items": 1} if first_only else {}))
        found = {}
        for name in NAMES:
            reply = worker.ask("prepare", case=name, spec=peer.spec(name, mode="micro"))
            if reply["type"] == "error":
                self.assertEqual((library, name, reply["code"]), ("pillow", "RandomCrop224", "unsupported"))
                continue
            checked = worker.must("check")
            worker.must("preflight", slow_item_s=1, items=1)
            measured = worker.must("measure", case=name, passes=2, warmup_ms=1, warmup_limit_ms=1)
            self.assertEqual(measured["items_per_sample"], 2 * (1 if first_only else 3))
            found[name] = (checked["shape"], checked["digest"])
        return found

    def test_same_transforms_and_shapes(self):
        by_hand = self.outputs(HAND, LIBRARY)
        ours = self.outputs(peer.ADAPTERS / f"{LIBRARY}_worker.py", LIBRARY, first_only=True)
        self.assertEqual(len(by_hand), {"albumentationsx": 6, "pillow": 5}[LIBRARY])
        self.assertEqual({name: shape for name, (shape, _) in by_hand.items()},
                         {name: shape for name, (shape, _) in ours.items()})
        self.assertTrue(all(len(digest) == len(hashlib.sha256().hexdigest()) for _, digest in by_hand.values()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
