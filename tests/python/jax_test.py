# tests/python/jax_test.py - batches as arrays of jax: images in the loader's memory, labels in the type that jax has for them.
# SPDX-License-Identifier: Apache-2.0
import os
import sys
import unittest

from support import ROOT, SKIPPED, PhotoTest, run_python, sluice as command
sys.path.insert(0, str(ROOT / "tests" / "adapters"))
import peer  # noqa: E402

BUILT_FOR = os.environ.setdefault("SLUICE_TEST_BUILT_FOR", "%d.%d" % sys.version_info[:2])
peer.enter("jax")
if BUILT_FOR != "%d.%d" % sys.version_info[:2]:
    print(f"skipped: the package is built for Python {BUILT_FOR}, the environment 'jax' has another")
    sys.exit(SKIPPED)
os.environ["JAX_PLATFORMS"] = "cpu"
import jax.dlpack  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import sluice  # noqa: E402

TAKEN = []  # (address of our memory, array of jax) of what jax was given
take = jax.dlpack.from_dlpack


def watched(memory):
    array = take(memory)
    if array.dtype != jnp.bfloat16:  # which numpy does not have
        TAKEN.append((np.from_dlpack(memory).ctypes.data, array))
    return array


jax.dlpack.from_dlpack = watched  # before the package looks for it, which it does once


class JaxTest(PhotoTest):
    def test_images_are_the_loaders_memory(self):
        for dtype in ("float32", "uint8"):
            recipe = sluice.Recipe(size=32, dtype=dtype)
            with sluice.Loader(self.photos, recipe, batch_size=8, tensors="jax") as a, sluice.Loader(self.photos, recipe, batch_size=8) as b:
                for (images, labels), (same, same_labels) in zip(a, b, strict=True):
                    [ours] = [address for address, array in TAKEN if array is images]
                    self.assertEqual(images.unsafe_buffer_pointer(), ours)
                    self.assertEqual((images.dtype, images.shape), (dtype, (8, 3, 32, 32)))
                    np.testing.assert_array_equal(images, same)
                    np.testing.assert_array_equal(labels, same_labels)
                    np.testing.assert_array_equal(a.indices, b.indices)
                    self.assertEqual((type(a.indices), a.indices.dtype), (np.ndarray, np.uint64))
                    TAKEN.clear()

    def test_labels_have_the_integers_of_jax(self):
        text = """
import sys, sluice
with sluice.Loader(sys.argv[1], sluice.Recipe(size=16), batch_size=8, tensors="jax") as loader:
    print(next(iter(loader))[1].dtype)
"""
        for wide, dtype in (("0", "int32"), ("1", "int64")):
            done = run_python(text, self.photos, env={**os.environ, "JAX_ENABLE_X64": wide})
            self.assertEqual((done.stdout.strip(), done.stderr), (dtype, ""))

    def test_an_array_outlives_the_loader(self):
        loader = sluice.Loader(self.photos, sluice.Recipe(size=32), batch_size=8, tensors="jax")
        images, _ = next(iter(loader))
        copy = np.array(images)
        TAKEN.clear()
        loader.close()
        del loader
        np.testing.assert_array_equal(images, copy)
        self.assertEqual(float(jnp.sum(images * 0)), 0.0)

    def test_bfloat16_is_float32_rounded(self):
        made = {}
        for dtype in ("float32", "bfloat16"):
            with sluice.Loader(self.photos, sluice.Recipe(size=32, dtype=dtype), batch_size=8, tensors="jax") as loader:
                made[dtype] = jnp.array(next(iter(loader))[0])
        self.assertEqual(made["bfloat16"].dtype, jnp.bfloat16)
        np.testing.assert_array_equal(made["float32"].astype(jnp.bfloat16), made["bfloat16"])

    def test_a_mixture(self):
        root = self.folder / "episodes"
        command("data", "make", "--kind", "episodes", "--preset", "small4", "--episodes", 6, "--out", root, "--quiet")
        options = {"preset": "small4", "batch_size": 8, "image_size": 32, "deterministic": True}
        with sluice.Mixture(root, tensors="jax", **options) as a, sluice.Mixture(root, **options) as b:
            batch, same = next(a), next(b)
            for name in ("images", "action", "state", "frame", "offset", "source"):
                self.assertIsInstance(batch[name], jax.Array)
                np.testing.assert_array_equal(batch[name], same[name])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
