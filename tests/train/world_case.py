# tests/train/world_case.py - what tests of real ranks of the engine share: what one rank gives, several must give; nobody is left behind.
# SPDX-License-Identifier: Apache-2.0
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from ranks_case import RanksCase  # noqa: E402


class WorldCase(RanksCase):
    def tearDown(self):
        shutil.rmtree(self.folder)
        self.assertEqual(self.processes(), [])

    def assert_same(self, found, expected, losses=2e-5, tensors=1e-3):
        """Losses within `losses` of themselves, tensors within `tensors` of their largest value."""
        for a, b in zip(found["losses"], expected["losses"]):
            self.assertAlmostEqual(a, b, delta=losses * abs(b))
        self.assertEqual(set(found["tensors"]), set(expected["tensors"]))
        for name, values in expected["tensors"].items():
            scale = max(map(abs, values)) or 1
            worst = max(abs(a - b) for a, b in zip(found["tensors"][name], values))
            self.assertLess(worst / scale, tensors, name)
