# tests/python/torch_test.py - batches as tensors of torch, and the ten lines of docs/python.md.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys
import unittest
from pathlib import Path

from support import ROOT, SKIPPED, PhotoTest
sys.path.insert(0, str(ROOT / "tests" / "adapters"))
import peer  # noqa: E402

BUILT_FOR = os.environ.setdefault("SLUICE_TEST_BUILT_FOR", "%d.%d" % sys.version_info[:2])
peer.enter("torch")
if BUILT_FOR != "%d.%d" % sys.version_info[:2]:
    print(f"skipped: the package is built for Python {BUILT_FOR}, the environment 'torch' has another")
    sys.exit(SKIPPED)
import sluice  # noqa: E402
import torch  # noqa: E402


class TorchTest(PhotoTest):
    def test_tensors_are_the_arrays_without_a_copy(self):
        recipe = sluice.Recipe(size=32)
        with sluice.Loader(self.photos, recipe, batch_size=8, tensors="torch") as a, sluice.Loader(self.photos, recipe, batch_size=8) as b:
            slots = set()
            for (images, labels), (same, same_labels) in zip(a, b, strict=True):
                self.assertEqual((images.dtype, labels.dtype, images.shape), (torch.float32, torch.int64, (8, 3, 32, 32)))
                self.assertTrue(torch.equal(images, torch.from_numpy(same)))
                self.assertTrue(torch.equal(labels, torch.from_numpy(same_labels)))
                slots.add(images.data_ptr())
            self.assertLessEqual(len(slots), 4)  # the ring's

    def test_a_tensor_outlives_the_loader(self):
        loader = sluice.Loader(self.photos, sluice.Recipe(size=32), batch_size=8, tensors="torch")
        images, _ = next(iter(loader))
        part, copy = images[2:4], images.clone()
        del images, loader
        self.assertTrue(torch.equal(part, copy[2:4]))

    def test_bfloat16_is_float32_rounded(self):
        made = {}
        for dtype in ("float32", "bfloat16"):
            with sluice.Loader(self.photos, sluice.Recipe(size=32, dtype=dtype), batch_size=8, tensors="torch") as loader:
                made[dtype] = next(iter(loader))[0].clone()
        self.assertTrue(torch.equal(made["float32"].to(torch.bfloat16), made["bfloat16"]))

    def test_the_ten_lines_of_the_manual_train(self):
        page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        text = re.search(r"```python\n(import sluice\nimport torch\n.*?)```", page, flags=re.DOTALL).group(1)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        torch.manual_seed(0)
        names = {}
        exec(compile(text, "docs/python.md", "exec"), names)
        self.assertEqual(names["loader"].state_dict()["epoch"], 2)
        self.assertTrue(all(torch.isfinite(value).all() for value in names["model"].parameters()))

    def test_resume_gives_the_same_losses(self):
        def losses(loader):
            return [float(images.mean() + labels.float().mean()) for images, labels in loader]

        def made(workers):
            loader = sluice.Loader(self.photos, sluice.Recipe(size=32), batch_size=4, workers=workers, tensors="torch")
            self.addCleanup(loader.close)
            return loader

        first = made(2)
        iteration = iter(first)
        next(iteration)
        path = Path(self.folder) / "checkpoint.pt"
        torch.save({"loader": first.state_dict()}, path)
        rest = losses(iteration)
        second = made(1)
        second.load_state_dict(torch.load(path)["loader"])
        self.assertEqual(losses(second), rest)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
