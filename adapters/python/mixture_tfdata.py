# adapters/python/mixture_tfdata.py - frame pairs of many data sets of episodes, by TensorFlow Datasets and tf.data.
# SPDX-License-Identifier: Apache-2.0
"""One pipeline, all of it in TensorFlow's own threads, as its guide on input performance has it:

  per data set: records -> steps, images still encoded (SkipDecoding) -> pairs -> blocks -> prefetch
  all:          blocks drawn by weight -> samples -> decode and resize (parallel map) -> batches -> prefetch
"""
import os
import time
from dataclasses import dataclass, field, replace

AUTOTUNE = -1  # tf.data's own
RECORDS_TIMED = 16  # of each data set, where stages are timed by themselves


@dataclass
class DataSet:
    """One of the mix. `image`, `action`, `state`, `language` and `robot` are paths of features; empty: none."""

    name: str = ""
    folder: str = ""  # with dataset_info.json
    split: str = "train"
    weight: float = 1.0
    offset: int = 1  # steps between the frames of a pair
    image: str = ""
    action: str = ""
    state: str = ""
    language: str = ""
    robot: str = ""


@dataclass
class Recipe:
    """As the fields of the C++ MixtureOptions are called."""

    sources: list = field(default_factory=list)
    batch_size: int = 64
    samples_per_episode: int = 1  # 0: all pairs
    shuffle_episodes: bool = True
    shuffle_pairs: bool = True
    image_size: int = 256
    full: bool = True  # metadata; False: the number of the data set only
    mix_block: int = 4
    queue: int = 4
    interleave: int = 1
    decode_threads: int = AUTOTUNE
    prefetch: int = 2
    seed: int = 0
    step_ms: float = 0


def open_library():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow  # noqa: F401
    import tensorflow_datasets  # noqa: F401


def keys_of(features, path):
    """["steps", "action", "future/xyz_residual"] of a path: names may hold a '/'."""
    parts, keys = path.split("/"), []
    while parts:
        if not hasattr(features, "keys"):
            raise KeyError(path)
        for count in range(len(parts), 0, -1):
            key = "/".join(parts[:count])
            if key in features.keys():
                break
        else:
            raise KeyError(f"feature {path}: nothing is called {parts[0]}")
        keys.append(key)
        features, parts = features[key], parts[count:]
    return keys


def pick(tree, keys):
    for key in keys:
        tree = tree[key]
    return tree


class Episodes:
    """The records of one data set, and the pairs in them."""

    def __init__(self, dataset, recipe, sizes):
        import tensorflow_datasets as tfds
        self.dataset, self.recipe, self.sizes = dataset, recipe, sizes
        self.builder = tfds.builder_from_directory(dataset.folder)
        features = self.builder.info.features
        wanted = {"image": dataset.image}
        if recipe.full:
            wanted.update(action=dataset.action, state=dataset.state, language=dataset.language)
        self.keys = {what: keys_of(features, path) for what, path in wanted.items() if path}
        if recipe.full and dataset.robot:
            try:
                self.keys["robot"] = keys_of(features, dataset.robot)
            except KeyError:
                pass  # many have none

    def read_config(self, shuffle):
        """Parallel calls of reading are left at one: data sets are read side by side anyway (29 of them on two cores),
        and more only cost processor time (bench/kernels/mixture.md)."""
        import tensorflow as tf
        import tensorflow_datasets as tfds
        options = tf.data.Options()
        options.deterministic = not shuffle
        return tfds.ReadConfig(options=options, try_autocache=False, skip_prefetch=True, add_tfds_id=self.recipe.full,
                               shuffle_seed=self.recipe.seed % 2**31 if shuffle else None,
                               interleave_cycle_length=self.recipe.interleave if shuffle else 1,
                               interleave_block_length=1, num_parallel_calls_for_interleave_files=1,
                               num_parallel_calls_for_decode=1)

    def records(self, shuffle):
        """TFDS cannot leave out features of steps (PartialDecoding does not reach into them): all are parsed."""
        import tensorflow_datasets as tfds
        return self.builder.as_dataset(split=self.dataset.split, shuffle_files=shuffle,
                                       decoders={"steps": tfds.decode.SkipDecoding()},
                                       read_config=self.read_config(shuffle))

    def frames_of(self, count, shuffle):
        """First frames of the pairs that are taken of `count`."""
        import tensorflow as tf
        taken = self.recipe.samples_per_episode
        if not shuffle:
            return tf.range(tf.minimum(count, taken) if taken else count)
        if taken == 1:
            return tf.random.uniform([tf.minimum(count, 1)], 0, tf.maximum(count, 1), tf.int32)
        order = tf.random.shuffle(tf.range(count))
        return order[:taken] if taken else order

    def pairs(self, episode, shuffle):
        """Everything of the taken pairs, images encoded: tensors with the pair in front."""
        import tensorflow as tf
        images = pick(episode, self.keys["image"])
        offset = self.dataset.offset
        frames = self.frames_of(tf.maximum(tf.shape(images)[0] - offset, 0), shuffle)
        pairs = tf.shape(frames)[0]
        number = self.recipe.sources.index(self.dataset)
        out = {"first": tf.gather(images, frames), "second": tf.gather(images, frames + offset),
               "source": tf.fill([pairs], number)}
        if not self.recipe.full:
            return out
        window = frames[:, None] + tf.range(offset)[None, :]
        out["action"] = self.padded(episode, "action", lambda values: tf.reduce_sum(tf.gather(values, window), 1), pairs)
        out["state"] = self.padded(episode, "state", lambda values: tf.gather(values, frames), pairs)
        out["language"] = self.text(episode, frames, pairs)
        robot = pick(episode, self.keys["robot"]) if "robot" in self.keys else tf.constant("")
        out["robot"] = tf.fill([pairs], robot)
        out["episode_id"] = tf.fill([pairs], episode["tfds_id"])
        out["frame"] = tf.cast(frames, tf.int64)
        out["offset"] = tf.fill([pairs], offset)
        return out

    def padded(self, episode, what, of, pairs):
        """[pairs, size]: numbers per step, as float32, and zeros up to the largest of all data sets."""
        import tensorflow as tf
        size = self.sizes[what]
        if what not in self.keys:
            return tf.zeros([pairs, size], tf.float32)
        values = tf.cast(pick(episode, self.keys[what]), tf.float32)
        values = of(tf.reshape(values, [tf.shape(values)[0], -1]))
        padded = tf.pad(values, [[0, 0], [0, size - tf.shape(values)[1]]])
        return tf.ensure_shape(padded, [None, size])

    def text(self, episode, frames, pairs):
        import tensorflow as tf
        if "language" not in self.keys:
            return tf.fill([pairs], "")
        values = tf.gather(pick(episode, self.keys["language"]), frames)
        if values.dtype == tf.string:
            return values
        coded = tf.cast(values, tf.int32)  # characters as numbers, zeros after them
        return tf.strings.unicode_encode(tf.ragged.boolean_mask(coded, coded != 0), "UTF-8")

    def size_of(self, what):
        """Numbers per step."""
        if what not in self.keys:
            return 0
        size = 1
        for side in pick(self.builder.info.features, self.keys[what]).shape:
            size *= side
        return size

    def taken(self, endless, most=-1):
        """The taken pairs of one episode after the other; unless `endless` of `most` episodes (-1: all), as they lie."""
        episodes = self.records(endless and self.recipe.shuffle_episodes)
        shuffle = endless and self.recipe.shuffle_pairs
        episodes = episodes.repeat() if endless else episodes.take(most)
        return episodes.map(lambda episode: self.pairs(episode, shuffle), num_parallel_calls=1)

    def blocks(self):
        """Each a batch of its own, `queue` of them ready."""
        return self.taken(True).unbatch().batch(self.recipe.mix_block, drop_remainder=True).prefetch(self.recipe.queue)

    def costs(self):
        """Processor seconds per sample to read records, and to read and take pairs of them."""
        import tensorflow as tf
        part = self.builder.info.splits[self.dataset.split].file_instructions[0]
        records = tf.data.TFRecordDataset([part.filename], buffer_size=8 << 20).skip(part.skip).take(RECORDS_TIMED)
        read, count = cpu_per_element(records)
        parsed, pairs = cpu_per_element(self.taken(False, count + 1), lambda episode: int(episode["source"].shape[0]))
        return read * count / max(1, pairs), parsed


class Pipeline:
    """An endless mixture. Nothing works before the first next()."""

    round = 1

    def __init__(self, recipe):
        self.recipe, self.batches = recipe, None
        self.sizes = {"action": 0, "state": 0}
        self.episodes = [Episodes(dataset, recipe, self.sizes) for dataset in recipe.sources]
        for what in self.sizes:
            self.sizes[what] = max(one.size_of(what) for one in self.episodes)
        self.dataset = self.make()
        self.info = {"decode_calls": recipe.decode_threads, "queue": recipe.queue, "interleave": recipe.interleave}

    @staticmethod
    def frames(sample):
        """Both, uint8 [2, height, width, 3]."""
        import tensorflow as tf
        return tf.stack([tf.io.decode_image(sample[which], channels=3, expand_animations=False)
                         for which in ("first", "second")])

    def decoded(self, sample):
        """Both frames as uint8 [3, 2, size, size], and the rest as it is."""
        rest = {key: value for key, value in sample.items() if key not in ("first", "second")}
        return {**rest, "images": self.resized(self.frames(sample))}

    def resized(self, frames):
        """Bilinear, half-pixel centres, no antialiasing; fractions are cut off, as in the study that is repeated."""
        import tensorflow as tf
        frames = tf.ensure_shape(frames, [2, None, None, 3])
        size = self.recipe.image_size
        small = tf.image.resize(frames, [size, size], method="bilinear", antialias=False)
        return tf.transpose(tf.cast(small, tf.uint8), [3, 0, 1, 2])

    def mixed(self):
        """Samples, images encoded."""
        import tensorflow as tf
        weights = [source.weight for source in self.recipe.sources]
        total = sum(weights)
        blocks = tf.data.Dataset.sample_from_datasets([one.blocks() for one in self.episodes],
                                                      [weight / total for weight in weights],
                                                      seed=self.recipe.seed % 2**31)
        return blocks.unbatch()

    def options(self):
        import tensorflow as tf
        options = tf.data.Options()
        options.deterministic = False
        return options

    def make(self):
        batches = self.mixed().map(self.decoded, num_parallel_calls=self.recipe.decode_threads)
        batches = batches.batch(self.recipe.batch_size, drop_remainder=True)
        return batches.prefetch(self.recipe.prefetch).with_options(self.options())

    def next(self):
        if self.batches is None:
            self.batches = self.dataset.as_numpy_iterator()
        return next(self.batches)

    def first_pairs(self, count):
        """Yields the first pair, frames (0, offset), of the first episode in the files of the first `count` data sets:
        the sample, and its frames as they were decoded."""
        pairs = None
        for one in self.episodes[:count]:
            first = one.taken(False).unbatch().take(1)
            pairs = first if pairs is None else pairs.concatenate(first)
        yield from pairs.map(lambda sample: (self.decoded(sample), self.frames(sample))).as_numpy_iterator()

    def close(self):
        self.batches = None

    def reason(self, problem):
        lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
        return f"{type(problem).__name__}: {lines[0]}" if lines else type(problem).__name__

    def stages(self, samples):
        """Processor seconds per sample of each stage: of pipelines that end after it, less what the ones before take.
        Queues are one block long, and full before the clock starts."""
        calls, total = self.recipe.decode_threads, sum(source.weight for source in self.recipe.sources)
        short = Pipeline(replace(self.recipe, queue=1))
        waiting = 2 * self.recipe.mix_block * len(self.recipe.sources)
        found = {"read": 0.0, "parse": 0.0}
        for one in self.episodes:
            read, parsed = one.costs()
            found["read"] += one.dataset.weight / total * read
            found["parse"] += one.dataset.weight / total * max(0.0, parsed - read)
        mixed = short.mixed()
        cut = {"mix": (mixed, 1),
               "decode": (mixed.map(self.frames, num_parallel_calls=calls), 1),
               "resize": (mixed.map(self.decoded, num_parallel_calls=calls), 1),
               "collate": (short.dataset, self.recipe.batch_size)}
        for name, (dataset, size) in cut.items():
            untimed, count = -(-waiting // size), max(4, samples // size)
            spent, _ = cpu_per_element(dataset.with_options(self.options()).take(untimed + count), untimed=untimed)
            found[name] = max(0.0, spent / size - sum(found.values()))
        return found


def cpu_per_element(dataset, count=lambda element: 1, untimed=1):
    """Processor seconds per element and their number, the first ones (queues are empty, code is new) left out."""
    elements = iter(dataset)
    for _ in range(untimed):
        next(elements)
    start, found = time.process_time(), 0
    for element in elements:
        found += count(element)
    return (time.process_time() - start) / max(1, found), found
