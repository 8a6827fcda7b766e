# adapters/python/mixture_threads_worker.py - episode mixtures: records by TensorFlow Datasets, mixed by Python threads.
# SPDX-License-Identifier: Apache-2.0
"""A thread per data set puts blocks of encoded pairs into a queue of its own. Who takes a batch draws queues by weight and
passes over those that are empty, so a slow data set delays nobody; then it decodes and resizes the mixed batch, in
TensorFlow's threads. All else is of mixture_tfdata.py; the mode is sluice_worker/modes/mixture.py."""
import queue
import random
import sys
import threading
import time

import mixture_tfdata
from mixture_tfdata_worker import TfdataAdapter
from sluice_worker import serve

MIN_READY = 8  # data sets with a block before the first batch; at most all
DRAWS = 256  # by weight, before only queues that hold something are drawn from
POLL_S = 0.001
TIMEOUT_S = 600  # without a block
JOIN_S = 1  # for a thread to end


class Feeder(threading.Thread):
    """Blocks of one data set, on and on; a problem ends it and is kept for who takes."""

    def __init__(self, episodes, room, stopped):
        super().__init__(daemon=True)
        self.episodes, self.blocks, self.stopped, self.problem = episodes, queue.Queue(room), stopped, None

    def dataset(self):
        recipe = self.episodes.recipe
        return self.episodes.taken(True).unbatch().batch(recipe.mix_block, drop_remainder=True).prefetch(1)

    def run(self):
        try:
            for block in self.dataset().as_numpy_iterator():
                while not self.put(block):
                    if self.stopped.is_set():
                        return
        except Exception as problem:
            self.problem = problem

    def put(self, block):
        try:
            self.blocks.put(block, timeout=0.05)
            return True
        except queue.Full:
            return False


class ThreadedPipeline(mixture_tfdata.Pipeline):
    """An endless mixture. Nothing works before the first next()."""

    def make(self):
        self.feeders, self.stopped, self.draws = [], None, None
        return None

    def start(self):
        import tensorflow as tf
        self.stopped, self.draws = threading.Event(), random.Random(self.recipe.seed)
        self.feeders = [Feeder(one, self.recipe.queue, self.stopped) for one in self.episodes]
        for feeder in self.feeders:
            feeder.start()
        size = self.recipe.image_size
        texts = tf.TensorSpec([self.recipe.batch_size], tf.string)

        @tf.function(input_signature=[texts, texts])
        def decode(first, second):
            pair = tf.TensorSpec([3, 2, size, size], tf.uint8)
            return tf.map_fn(lambda of: self.resized(self.frames({"first": of[0], "second": of[1]})), (first, second),
                             fn_output_signature=pair, parallel_iterations=self.recipe.batch_size)

        self.decode = decode
        least = min(MIN_READY, len(self.feeders))
        self.wait(lambda: sum(not feeder.blocks.empty() for feeder in self.feeders) >= least)

    def wait(self, ready):
        """Until `ready` answers something that is true, which is returned. What stopped a thread is raised here."""
        end = time.monotonic() + TIMEOUT_S
        while not (found := ready()):
            for feeder in self.feeders:
                if feeder.problem is not None:
                    raise feeder.problem
            if time.monotonic() > end:
                raise TimeoutError(f"no block within {TIMEOUT_S} s")
            time.sleep(POLL_S)
        return found

    def draw(self, feeders):
        return self.draws.choices(feeders, [feeder.episodes.dataset.weight for feeder in feeders])[0]

    def ready_block(self):
        """Of the queues that hold something; None where none does."""
        feeders = [feeder for feeder in self.feeders if not feeder.blocks.empty()]
        return self.draw(feeders).blocks.get_nowait() if feeders else None

    def block(self):
        for _ in range(DRAWS):
            try:
                return self.draw(self.feeders).blocks.get_nowait()
            except queue.Empty:
                pass
        return self.wait(self.ready_block)

    def next(self):
        import numpy
        if not self.feeders:
            self.start()
        blocks = [self.block() for _ in range(self.recipe.batch_size // self.recipe.mix_block)]
        batch = {key: numpy.concatenate([block[key] for block in blocks]) for key in blocks[0]}
        batch["images"] = self.decode(batch.pop("first"), batch.pop("second")).numpy()
        return batch

    def close(self):
        if self.stopped is not None:
            self.stopped.set()
        for feeder in self.feeders:
            feeder.join(JOIN_S)
        self.feeders = []

    def stages(self, samples):
        """Not known: the threads of Python take their turns inside all of them."""
        return {}


class ThreadsAdapter(TfdataAdapter):
    name = "tfdata-threads"

    def make_source(self, recipe):
        return ThreadedPipeline(recipe)


if __name__ == "__main__":
    sys.exit(serve(ThreadsAdapter()))
