# tests/python/resume_test.py - resume at random positions, with other workers, ranks and batches: exactly what was left.
# SPDX-License-Identifier: Apache-2.0
import json
import random
import sys
import unittest
import zlib

from support import PhotoTest
import sluice

RECIPE = sluice.Recipe("three-augment", size=16, dtype="uint8")


class ResumeTest(PhotoTest):
    COUNT = 53

    def loader(self, **options):
        made = sluice.Loader(self.photos, RECIPE, **{"batch_size": 4, "seed": 9, "drop_last": False, **options})
        self.addCleanup(made.close)
        return made

    def samples(self, loader):
        """(index, digest of the pixels) of every sample of an iteration."""
        return [(int(index), zlib.crc32(image.tobytes())) for images, _ in loader for index, image in zip(loader.indices, images)]

    def test_any_position_with_any_workers_ranks_and_batches(self):
        draw = random.Random(7)
        whole = {}
        for epoch in range(3):
            loader = self.loader(workers=1)
            loader.set_epoch(epoch)
            whole[epoch] = self.samples(loader)
        for trial in range(30):
            epoch, batch, ranks = draw.randrange(2), draw.choice([1, 3, 4, 8]), draw.choice([1, 1, 2, 3])
            before = self.loader(batch_size=batch, workers=draw.randrange(4), world=ranks, rank=draw.randrange(ranks))
            before.set_epoch(epoch)
            iteration = iter(before)
            steps = draw.randrange(len(before) + 1)
            for _ in range(steps):
                next(iteration)
            state = json.loads(json.dumps(before.state_dict()))  # as a checkpoint keeps it
            before.close()
            after_ranks, after_batch = draw.choice([1, 2, 3]), draw.choice([2, 5, 7])
            found, following = [], []
            for rank in range(after_ranks):
                after = self.loader(batch_size=after_batch, workers=draw.randrange(4), world=after_ranks, rank=rank)
                after.load_state_dict(state)
                found += self.samples(after)
                following += self.samples(after)
            with self.subTest(trial=trial, state=state, ranks=after_ranks, batch=after_batch):
                self.assertEqual(state["epoch"], epoch)
                self.assertEqual(state["consumed"], min(steps * batch * ranks, self.COUNT))
                self.assertEqual(sorted(found), sorted(whole[epoch][state["consumed"]:]))
                self.assertEqual(sorted(following), sorted(whole[epoch + 1]))
                if after_ranks == 1:
                    self.assertEqual(found, whole[epoch][state["consumed"]:])

    def test_the_state_between_epochs_is_the_start_of_the_next(self):
        loader = self.loader(workers=2)
        self.assertEqual((loader.state_dict()["epoch"], loader.state_dict()["consumed"]), (0, 0))
        self.samples(loader)
        state = loader.state_dict()
        self.assertEqual((state["epoch"], state["consumed"]), (1, 0))
        other = self.loader(workers=0)
        other.load_state_dict(state)
        self.assertEqual(self.samples(other), self.samples(loader))

    def test_after_the_last_batch_nothing_is_left_of_the_epoch(self):
        for drop_last in (True, False):
            loader = self.loader(workers=1, drop_last=drop_last)
            iteration = iter(loader)
            for _ in range(len(loader)):
                next(iteration)
            state = loader.state_dict()  # inside the loop: its end has not been seen
            other = self.loader(workers=1, drop_last=drop_last)
            other.load_state_dict(state)
            self.assertEqual(self.samples(other), [])
            self.assertEqual(other.state_dict()["epoch"], 1)
            self.assertEqual(len(self.samples(other)), 52 if drop_last else 53)

    def test_set_epoch_of_the_resumed_epoch_keeps_the_place(self):
        loader = self.loader(workers=1)
        iteration = iter(loader)
        next(iteration)
        state = loader.state_dict()
        rest = self.samples(iteration_of(loader, iteration))
        for epoch, want in ((0, rest), (1, None)):
            other = self.loader(workers=1)
            other.load_state_dict(state)
            other.set_epoch(epoch)
            found = self.samples(other)
            if want is not None:
                self.assertEqual(found, want)
            else:
                self.assertEqual(len(found), self.COUNT)

    def test_a_state_of_something_else_is_refused(self):
        loader = self.loader(workers=1)
        state = loader.state_dict()
        for changed, words in (({"seed": 8}, "saved with seed 8, this loader has 9"), ({"dataset_size": 9}, "a dataset of 9"),
                               ({"shuffle": "none"}, "shuffle none"), ({"epoch": -1}, "epoch"), ({"version": 99}, "version"),
                               ({"consumed": "x"}, "consumed")):
            with self.subTest(changed=changed), self.assertRaisesRegex(ValueError, words):
                loader.load_state_dict({**state, **changed})
        with self.assertRaisesRegex(TypeError, "the state is 5; accepted: what state_dict"):
            loader.load_state_dict(5)
        self.assertEqual(len(self.samples(loader)), self.COUNT)  # as good as before


class iteration_of:
    """An iteration that has begun, with the indices of its loader."""

    def __init__(self, loader, iteration):
        self.loader, self.iteration = loader, iteration

    @property
    def indices(self):
        return self.loader.indices

    def __iter__(self):
        return self.iteration


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
