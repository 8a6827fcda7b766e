# tests/loader/tfds_test.py - episodes that TensorFlow Datasets wrote, read by us; episodes that we wrote, read by it.
# SPDX-License-Identifier: Apache-2.0
import functools
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))
import peer  # noqa: E402

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""


def hexed(value):
    return value.encode().hex() if isinstance(value, str) else bytes(value).hex()


def flat(tree, prefix=""):
    """{"a": {"b": 1}} as {"a/b": 1}."""
    out = {}
    for key, value in tree.items():
        out.update(flat(value, f"{prefix}{key}/") if isinstance(value, dict) else {prefix + key: value})
    return out


def probe(root, name, split):
    done = subprocess.run([PROBE, str(root), name, split], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


@functools.cache  # TFDS takes a name once
def builder_class(np, tfds):
    """Every way in which TFDS encodes a feature of a step and reads it again (it does not read sequences of a fixed
    length, nor tensors with one unknown dimension and no encoding, inside steps)."""
    f = tfds.features

    class Tiny(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.2.0")

        def _info(self):
            return tfds.core.DatasetInfo(builder=self, features=f.FeaturesDict({
                "steps": f.Dataset({
                    "observation": f.FeaturesDict({
                        "image": f.Image(shape=(24, 32, 3), encoding_format="jpeg"),
                        "wrist": f.Image(shape=(16, 16, 3), encoding_format="png"),
                        "any": f.Image(),
                        "state": f.Tensor(shape=(3,), dtype=np.float32),
                        "depth": f.Tensor(shape=(4, 2), dtype=np.uint16, encoding="zlib"),
                        "raw": f.Tensor(shape=(2, 2), dtype=np.float64, encoding="bytes"),
                        "cloud": f.Tensor(shape=(None, None), dtype=np.float32, encoding="zlib"),
                        "coded": f.Tensor(shape=(8,), dtype=np.int32),
                        "natural_language_instruction": f.Text(),
                    }),
                    "action": f.FeaturesDict({"world_vector": f.Tensor(shape=(3,), dtype=np.float32),
                                              "open": f.Tensor(shape=(1,), dtype=np.float64)}),
                    "is_first": f.Scalar(dtype=np.bool_), "is_last": np.bool_, "reward": np.float32, "big": np.uint64,
                    "label": f.ClassLabel(num_classes=4),
                    "tags": f.Sequence(f.Text()), "points": f.Sequence(f.Tensor(shape=(2,), dtype=np.float32)),
                    "nest": f.Sequence(f.Sequence(np.int64)),
                }),
                "episode_metadata": f.FeaturesDict({"robot": f.Text(), "id": np.int64}),
            }))

        def _split_generators(self, dl_manager):
            del dl_manager
            return {"train": self._generate_examples(23), "val": self._generate_examples(4)}

        def _generate_examples(self, count):
            for e in range(count):
                r = np.random.default_rng(e)
                steps = [{
                    "observation": {
                        "image": r.integers(0, 255, (24, 32, 3), dtype=np.uint8),
                        "wrist": r.integers(0, 255, (16, 16, 3), dtype=np.uint8),
                        "any": r.integers(0, 255, (5, 7, 3), dtype=np.uint8),
                        "state": r.normal(size=3).astype(np.float32),
                        "depth": r.integers(0, 65535, (4, 2), dtype=np.uint16), "raw": r.normal(size=(2, 2)),
                        "cloud": r.normal(size=(1 + t % 2, 3)).astype(np.float32),
                        "coded": np.arange(8, dtype=np.int32) + t,
                        "natural_language_instruction": f"pick {e} {t} ü"},
                    "action": {"world_vector": r.normal(size=3).astype(np.float32), "open": np.array([t * 0.1])},
                    "is_first": t == 0, "is_last": t == e + 2, "reward": np.float32(t), "big": np.uint64(2**64 - 1 - t),
                    "label": t % 4, "tags": ["a", "bc"] * (t % 2), "points": r.normal(size=(t % 3, 2)).astype(np.float32),
                    "nest": [[1] * k for k in range(t % 3)],
                } for t in range(3 + e)]
                yield f"e{e}", {"steps": steps, "episode_metadata": {"robot": "panda", "id": e}}

    return Tiny


class TfdsTest(unittest.TestCase):
    def compare(self, folder, split, ours, tf, tfds, np):
        """What TFDS reads from `folder` against what our probe printed."""
        builder = tfds.builder_from_directory(folder)
        theirs = list(builder.as_dataset(split=split, shuffle_files=False,
                                         read_config=tfds.ReadConfig(interleave_cycle_length=1)))
        self.assertEqual(len(theirs), len(ours))
        for episode, mine in zip(theirs, ours):
            steps = [flat(step, "steps/") for step in episode.pop("steps")]
            self.assertEqual(len(steps), mine["steps"])
            for name, value in flat(episode).items():
                self.same(value, mine["features"][name][0], name, builder.info.features, tf, np)
            for t, step in enumerate(steps):
                self.assertEqual(set(step), {n for n in mine["features"] if n.startswith("steps/")})
                for name, value in step.items():
                    self.same(value, mine["features"][name][t], name, builder.info.features, tf, np)

    def same(self, value, mine, name, features, tf, np):
        for part in name.split("/"):
            features = features[part] if part in features.keys() else features  # names may hold a '/'
        kind = type(features).__name__
        if kind == "Image":
            np.testing.assert_array_equal(value.numpy(), tf.io.decode_image(bytes.fromhex(mine)).numpy(), name)
        elif isinstance(mine, str):
            raw = value.numpy()
            self.assertEqual(raw.hex() if isinstance(raw, bytes) else raw.tobytes().hex(), mine, name)
        else:
            values = value.flat_values if isinstance(value, tf.RaggedTensor) else value
            values = values.numpy()
            if values.dtype == np.uint64:
                values = values.view(np.int64)
            values = [v.hex() if isinstance(v, bytes) else np.float32(v).item() if values.dtype.kind == "f" else int(v)
                      for v in values.reshape(-1)]
            self.assertEqual(values, mine, name)

    def test_we_read_what_tfds_writes(self):
        import numpy as np  # noqa: PLC0415
        import tensorflow as tf  # noqa: PLC0415
        import tensorflow_datasets as tfds  # noqa: PLC0415
        with tempfile.TemporaryDirectory() as folder:
            tiny = builder_class(np, tfds)(data_dir=folder)
            tiny.download_and_prepare(file_format="tfrecord",
                                      download_config=tfds.download.DownloadConfig(num_shards=4))
            where = f"{folder}/tiny/1.2.0"
            # The same bytes as TensorFlow's own parser gives, image by image.
            images = []
            for shard in sorted(Path(where).glob("tiny-train*")):
                for record in tf.data.TFRecordDataset(str(shard)):
                    example = tf.train.Example.FromString(record.numpy())
                    images.append([v.hex() for v in example.features.feature["steps/observation/image"].bytes_list.value])
            ours = probe(folder, "tiny", "train")
            self.assertEqual(len(list(Path(where).glob("tiny-train*"))), 4)
            self.assertEqual([episode["features"]["steps/observation/image"] for episode in ours], images)
            for split in ("train", "val", "train[:90%]", "train[90%:]", "train[:50%]", "train[7%:93%]", "train[3:17]",
                          "train[-5:]", "train[12.5%:]"):
                self.compare(where, split, probe(folder, "tiny", split), tf, tfds, np)

    def test_other_formats_are_refused_by_name(self):
        import numpy as np  # noqa: PLC0415
        import tensorflow_datasets as tfds  # noqa: PLC0415
        with tempfile.TemporaryDirectory() as folder:
            builder_class(np, tfds)(data_dir=folder).download_and_prepare(file_format="array_record")
            done = subprocess.run([PROBE, folder, "tiny", "train"], capture_output=True, text=True, timeout=60,
                                  check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("its files are array_record; tfrecord is read", done.stderr)

    def test_tfds_reads_what_we_write(self):
        import numpy as np  # noqa: PLC0415
        import tensorflow as tf  # noqa: PLC0415
        import tensorflow_datasets as tfds  # noqa: PLC0415
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([PROGRAM, "data", "make", "--kind", "episodes", "--episodes", "1", "--out",
                                   f"{folder}/oxe", "--json", "--quiet"], capture_output=True, text=True, timeout=600,
                                  check=False)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(len(json.loads(made.stdout)["data_sets"]), 29)
            versions = sorted(Path(folder, "oxe").glob("*/0.1.0"))
            self.assertEqual(len(versions), 29)
            for where in versions:
                with self.subTest(where.parent.name):
                    self.compare(where, "train", probe(f"{folder}/oxe", where.parent.name, "train"), tf, tfds, np)


if __name__ == "__main__":
    peer.enter("tensorflow")
    PROBE = sys.argv.pop(1)
    PROGRAM = sys.argv.pop(1)
    unittest.main()
