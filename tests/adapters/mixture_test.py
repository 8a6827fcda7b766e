#!/usr/bin/env python3
# tests/adapters/mixture_test.py - episode mixtures by tf.data: the same samples as ours, and the worker around it.
# SPDX-License-Identifier: Apache-2.0
"""usage: mixture_test.py MIXTURE_PROBE     exit 77, which is a visible skip, when `tensorflow` is not installed"""
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import peer

WORKER = peer.ADAPTERS / "mixture_tfdata_worker.py"
THREADS = peer.ADAPTERS / "mixture_threads_worker.py"
SIZE = 256
JPEG = ("arm", "rover")
# Of the preset small4 (src/sluice/loader/episodes/presets.cpp): name, image, action, state, language, offset, weight.
STEP, OBSERVED = "steps/language_instruction", "steps/observation/natural_language_instruction"
SOURCES = (("arm", "image", "steps/action", "steps/observation/state", STEP, 2, 0.4),
           ("gripper", "image", "steps/action/world_vector", "", OBSERVED, 3, 0.3),
           ("rover", "rgb", "", "steps/observation/pose", STEP, 1, 0.2),
           ("table", "image", "steps/action", "steps/observation/state", OBSERVED, 5, 0.1))


def sources(root, split="train"):
    return [{"name": name, "folder": f"{root}/small_{name}/0.1.0", "split": split, "weight": weight, "offset": offset,
             "image": f"steps/observation/{image}", "action": action, "state": state, "language": language,
             "robot": "episode_metadata/robot"} for name, image, action, state, language, offset, weight in SOURCES]


def ours(root, folder, taken, batches):
    """Samples of our mixture and their images, in the order of the files."""
    import numpy
    images = Path(folder) / "images"
    done = subprocess.run([PROBE, root, "small4", str(taken), str(batches), str(images)], capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    pixels = numpy.fromfile(images, numpy.uint8).reshape(-1, 3, 2, SIZE, SIZE)
    return [{**json.loads(line), "images": pixels[i]} for i, line in enumerate(done.stdout.splitlines())]


class MixtureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = f"{cls.folder.name}/small"
        ours(cls.root, cls.folder.name, 1, 0)  # makes it

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def pipeline(self, taken):
        import mixture_tfdata
        mixture_tfdata.open_library()
        datasets = [mixture_tfdata.DataSet(**fields) for fields in sources(self.root)]
        return mixture_tfdata.Pipeline(mixture_tfdata.Recipe(sources=datasets, samples_per_episode=taken, batch_size=8))

    def same(self, mine, theirs):
        import numpy
        for key in ("action", "state"):
            numpy.testing.assert_allclose(theirs[key], numpy.array(mine[key], numpy.float32), atol=1e-5, err_msg=key)
        for key in ("language", "robot"):
            self.assertEqual(theirs[key].decode(), mine[key])
        for key in ("frame", "offset"):
            self.assertEqual(int(theirs[key]), mine[key])
        name, file, record = mine["episode_id"].rsplit(":", 2)
        self.assertEqual((name, theirs["episode_id"].decode()), (mine["name"], f"{file}__{record}"))
        apart = numpy.abs(mine["images"].astype(int) - theirs["images"].astype(int))
        # They cut fractions off; and TensorFlow decodes JPEG with the fast transform, less exactly.
        self.assertLessEqual(int(apart.max()), 8 if mine["name"] in JPEG else 1)
        self.assertLess(float(apart.mean()), 2.0)

    def test_the_samples_are_ours(self):
        for taken, batches in ((1, 12), (0, 60)):
            with self.subTest(taken=taken):
                pipeline = self.pipeline(taken)
                self.assertEqual(pipeline.sizes, {"action": 7, "state": 3})
                theirs = [one.taken(False).unbatch().map(pipeline.decoded).as_numpy_iterator() for one in pipeline.episodes]
                names = [one[0] for one in SOURCES]
                seen = set()
                for mine in ours(self.root, self.folder.name, taken, batches):
                    try:
                        self.same(mine, next(theirs[names.index(mine["name"])]))
                    except StopIteration:  # its episodes are over; ours begins again
                        continue
                    seen.add(mine["name"])
                self.assertEqual(seen, set(names))

    def test_a_batch_holds_pairs_of_all_data_sets(self):
        import numpy
        pipeline = self.pipeline(1)
        offsets = {i: one[5] for i, one in enumerate(SOURCES)}
        seen = set()
        for _ in range(12):
            batch = pipeline.next()
            self.assertEqual(batch["images"].shape, (8, 3, 2, SIZE, SIZE))
            self.assertEqual([offsets[i] for i in batch["source"].tolist()], batch["offset"].tolist())
            blocks = numpy.sort(batch["source"]).reshape(2, 4)
            self.assertTrue((blocks == blocks[:, :1]).all() or (blocks == blocks[:1]).all())
            seen.update(batch["source"].tolist())
        self.assertGreaterEqual(len(seen), 3)

    def threads(self, **fields):
        import mixture_threads_worker
        mine = self.pipeline(1).recipe
        return mixture_threads_worker, mixture_threads_worker.ThreadedPipeline(
            dataclasses.replace(mine, mix_block=2, shuffle_episodes=False, shuffle_pairs=False, **fields))

    def test_threads_mix_the_same_samples_by_weight(self):
        _, pipeline = self.threads()
        counts = [0] * len(SOURCES)
        frames = {}
        for _ in range(60):
            batch = pipeline.next()
            self.assertEqual(batch["images"].shape, (8, 3, 2, SIZE, SIZE))
            blocks = batch["source"].reshape(4, 2)
            self.assertTrue((blocks[:, 0] == blocks[:, 1]).all(), "a block is of one data set")
            for i, source in enumerate(batch["source"].tolist()):
                counts[source] += 1
                frames.setdefault((source, batch["episode_id"][i]), batch["images"][i])
        pipeline.close()
        self.assertEqual(pipeline.feeders, [])
        for count, (_, _, _, _, _, _, weight) in zip(counts, SOURCES):  # 240 blocks: 5 standard deviations
            self.assertAlmostEqual(count / 480, weight, delta=5 * (weight * (1 - weight) / 240) ** 0.5)
        for number, (first, _) in enumerate(pipeline.first_pairs(len(SOURCES))):
            self.assertTrue((frames[number, first["episode_id"]] == first["images"]).all(), SOURCES[number][0])

    def test_an_empty_queue_delays_nobody_and_a_problem_ends_all(self):
        module, pipeline = self.threads()
        pipeline.next()
        idle = module.Feeder(pipeline.episodes[0], 1, pipeline.stopped)  # of most weight; never started
        rest, pipeline.feeders = pipeline.feeders, [idle, *pipeline.feeders[1:]]
        self.assertNotIn(0, pipeline.next()["source"].tolist())
        pipeline.feeders = [idle]
        idle.problem = ValueError("it broke")
        with self.assertRaisesRegex(ValueError, "it broke"):
            pipeline.next()
        pipeline.feeders = rest
        pipeline.close()

    def test_the_worker(self):
        for program, stages in ((WORKER, {"read", "parse", "mix", "decode", "resize", "collate"}), (THREADS, set())):
            with self.subTest(program=program.name):
                self.measured_by(program, stages)

    def measured_by(self, program, stages):
        worker = peer.Peer(program)
        try:
            worker.start("loader-all-cores")
            worker.must("load", data_dir="")
            spec = {"mode": "mixture", "sources": sources(self.root), "batch_size": 8, "warmup": 2, "steps": 5,
                    "batch_times": f"{self.folder.name}/times-{program.stem}", "stage_samples": 16}
            for wrong, text in (({"sources": []}, "'sources'"), ({"metadata": "some"}, "'metadata'"),
                                ({"mix_block": 3}, "multiple"),
                                ({"sources": [{**sources(self.root)[0], "image": "steps/observation/none"}]}, "none")):
                refused = worker.ask("prepare", case="mixture/pairs", spec={**spec, **wrong})
                self.assertEqual(refused["type"], "error")
                self.assertIn(text, refused["reason"])
            self.assertEqual(worker.must("prepare", case="mixture/pairs", spec=spec)["items_per_pass"], 40)
            samples = f"{self.folder.name}/samples"
            checked = worker.must("check", sample={"path": samples, "items": 9, "draws": 1})
            self.assertEqual(checked["samples"], [{"shape": [2 * SIZE, SIZE, 3]}] * 4)
            self.assertEqual(os.path.getsize(samples), 4 * 2 * SIZE * SIZE * 3 * 4)
            measured = worker.must("measure", case="mixture/pairs", passes=1, warmup_ms=0, warmup_limit_ms=0)
            details = measured["details"]
            self.assertEqual((measured["items_per_sample"], details["batches"], details["stats"]["samples"]), (40, 5, 56))
            self.assertEqual(set(details.get("stage_cpu_s", {})), stages)
            lines = [json.loads(line) for line in Path(details["batch_times"]).read_text().splitlines()]
            self.assertEqual([line["is_warmup"] for line in lines], [True] * 2 + [False] * 5)
            for line in lines:
                self.assertEqual(sum(line["dataset_counts"].values()), 8)
                self.assertEqual(max(line["dataset_counts"].values()), line["dataset_counts"][line["dominant_dataset"]])
        finally:
            worker.close()


if __name__ == "__main__":
    peer.enter("tensorflow")
    PROBE = sys.argv.pop(1)
    unittest.main()
