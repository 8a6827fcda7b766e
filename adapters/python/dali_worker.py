# adapters/python/dali_worker.py - NVIDIA DALI: read, decode and augment in one graph on the GPU.
# SPDX-License-Identifier: Apache-2.0
"""usage: dali_worker.py dali      (a supervisor adds the mode)

Scope decode_dataloader_augment only: the graph owns reading and decoding. A test runs every graph on DALI's CPU backend
(tests/adapters/dali_test.py), which takes the same arguments; on an H200 all ran too (docs/results/h200-matrix).

DALI does not tell what memory of the GPU it took: that is the driver's count (NVML) after the last sample, less the count before
DALI was imported. Its pools grow and do not shrink while a graph stands, so this is the peak, the context included.
"""
import ctypes
import hashlib
import importlib.metadata
import math
import sys
import time

from sluice_worker import Adapter, Failed, Spec, Unsupported, serve
from sluice_worker.gpu_memory import used_bytes
from sluice_worker.media import media_files
from sluice_worker.timing import Sample

SCOPE = "decode_dataloader_augment"
SHORTER_SIDE = 256  # before the crop, as published: an extra step that the other libraries do not have
CROP_SIDE = 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
DEGREES = 360  # of a whole turn of hue: other libraries count turns


class Graph:
    """DALI's modules and the backend, in one place for the builders."""

    def __init__(self, device):
        import nvidia.dali.fn as fn
        import nvidia.dali.math as dali_math
        import nvidia.dali.types as types

        self.fn, self.math, self.types, self.device = fn, dali_math, types, device

    def between(self, span):
        return self.fn.random.uniform(range=[float(span[0]), float(span[1])])

    def interpolation(self, name):
        return {"nearest": self.types.INTERP_NN, "bilinear": self.types.INTERP_LINEAR}[name]


def affine(g, x, p):
    centre, transforms = [CROP_SIDE / 2, CROP_SIDE / 2], g.fn.transforms
    matrix = transforms.shear(angles=[float(angle) for angle in p["shear"]], center=centre)
    matrix = transforms.rotation(matrix, angle=g.between((-p["angle"], p["angle"])), center=centre)
    matrix = transforms.scale(matrix, scale=[float(p["scale"])] * 2, center=centre)
    matrix = transforms.translation(matrix, offset=[float(shift) for shift in p["shift"]])
    return g.fn.warp_affine(x, matrix=matrix, inverse_map=False, fill_value=p["fill"],
                            interp_type=g.interpolation(p["interpolation"]))


def shear(g, x, p):
    matrix = g.fn.transforms.shear(angles=[float(p["shear"]), 0.0], center=[CROP_SIDE / 2, CROP_SIDE / 2])
    return g.fn.warp_affine(x, matrix=matrix, inverse_map=False, fill_value=0, interp_type=g.types.INTERP_LINEAR)


def erasing(g, x, p):
    """One box: its share of the area and, log-uniform, its ratio of sides, anywhere inside."""
    area, ratio = g.between(p["scale"]), g.math.exp(g.between([math.log(side) for side in p["ratio"]]))
    height = g.math.min(g.math.sqrt(area * ratio), 1.0)
    width = g.math.min(g.math.sqrt(area / ratio), 1.0)
    top, left = g.between((0, 1)) * (1.0 - height), g.between((0, 1)) * (1.0 - width)
    return g.fn.erase(x, anchor=g.fn.stack(top, left), shape=g.fn.stack(height, width), axis_names="HW",
                      normalized_anchor=True, normalized_shape=True, fill_value=p["fill"])


def colour(g, x, p):
    """Scalars are fixed factors, lists ranges."""
    value = lambda key: g.between(p[key]) if isinstance(p[key], list) else float(p[key])
    return g.fn.color_twist(x, brightness=value("brightness"), contrast=value("contrast"),
                            saturation=value("saturation"), hue=value("hue") * DEGREES)


def pad(g, x, p):
    side = CROP_SIDE + 2 * p["padding"]
    return g.fn.pad(x, axis_names="HW", shape=[side, side], fill_value=p["fill"])


def resize(g, x, p):
    side = p["target_size"]
    return g.fn.resize(x, resize_x=side, resize_y=side, interp_type=g.interpolation(p["interpolation"]))


def equalize(g, x, p):
    operator = getattr(g.fn, "equalize", None) or g.fn.experimental.equalize
    return operator(x)


def clahe(g, x, p):
    columns, rows = p["tile_grid"]
    return g.fn.clahe(x, tiles_x=columns, tiles_y=rows, clip_limit=float(p["clip_limit"][0]))


def rotate(g, x, p):
    return g.fn.rotate(x, angle=g.between(p["angle_range"]), keep_size=True, fill_value=p["fill"],
                       interp_type=g.interpolation(p["interpolation"]))


def random_crop(g, x, p):
    x = g.fn.resize(x, resize_shorter=SHORTER_SIDE, interp_type=g.types.INTERP_LINEAR)
    return g.fn.crop(x, crop_h=p["height"], crop_w=p["width"], crop_pos_x=g.between((0, 1)), crop_pos_y=g.between((0, 1)))


def random_resized_crop(g, x, p):
    return g.fn.random_resized_crop(x, size=p["size"], random_area=p["scale"], random_aspect_ratio=p["ratio"],
                                    interp_type=g.interpolation(p["interpolation"]))


OPERATORS = {
    "Resize": resize,
    "RandomCrop224": random_crop,
    "RandomResizedCrop": random_resized_crop,
    "HorizontalFlip": lambda g, x, p: g.fn.flip(x, horizontal=1, vertical=0),
    "VerticalFlip": lambda g, x, p: g.fn.flip(x, horizontal=0, vertical=1),
    "Pad": pad,
    "Rotate": rotate,
    "Affine": affine,
    "ColorJitter": colour,
    "GaussianBlur": lambda g, x, p: g.fn.gaussian_blur(x, sigma=p["sigma"], window_size=p["kernel_size"][0]),
    "GaussianNoise": lambda g, x, p: g.fn.noise.gaussian(x, mean=p["mean"] * 255.0, stddev=p["std"] * 255.0),
    "Equalize": equalize,
    "Erasing": erasing,
    "JpegCompression": lambda g, x, p: g.fn.jpeg_compression_distortion(x, quality=p["quality"]),
    "CLAHE": clahe,
    "Brightness": lambda g, x, p: g.fn.brightness_contrast(x, brightness=1 + p["brightness_limit"][0]),
    "Contrast": lambda g, x, p: g.fn.brightness_contrast(x, contrast=1 + p["contrast_limit"][0]),
    "Hue": lambda g, x, p: g.fn.hue(x, hue=g.between((-p["hue"], p["hue"]))),
    "SaltAndPepper": lambda g, x, p: g.fn.noise.salt_and_pepper(
        x, prob=g.between(p["amount"]), salt_vs_pepper=g.between(p["salt_vs_pepper"])),
    "Saturation": lambda g, x, p: g.fn.saturation(x, saturation=1 + p["saturation_factor"]),
    "Shear": shear,
    "ColorJiggle": colour,
}
CROPS = ("RandomCrop224", "RandomResizedCrop")


def decoded(g, spec, files):
    """uint8 HWC images, or FHWC clips of frames spread over the whole file; one sample per file."""
    if spec.is_clip:
        return g.fn.experimental.readers.video(device=g.device, filenames=files, sequence_length=spec.clip_length,
                                               uniform_sample=True, image_type=g.types.RGB, pad_last_batch=True,
                                               name="reader")
    encoded, _ = g.fn.readers.file(files=files, pad_last_batch=True, name="reader")
    return g.fn.decoders.image(encoded, device="mixed" if g.device == "gpu" else "cpu", output_type=g.types.RGB)


def recipe(g, spec, files):
    """The whole graph of a case: read, decode, crop, transform, normalise."""
    if spec.transform not in OPERATORS:
        raise Unsupported(f"DALI {'video' if spec.is_clip else 'image'} pipeline does not implement transform "
                          f"'{spec.transform}'")
    x = decoded(g, spec, files)
    if spec.transform not in CROPS:
        x = random_crop(g, x, {"height": CROP_SIDE, "width": CROP_SIDE})
    x = OPERATORS[spec.transform](g, x, spec.params)
    return g.fn.crop_mirror_normalize(x, dtype=g.types.FLOAT, output_layout="FCHW" if spec.is_clip else "CHW",
                                      mean=[255 * value for value in MEAN], std=[255 * value for value in STD])


def build_pipeline(spec, files, batch_size, threads, seed, device):
    """device "gpu", or "cpu" for tests without one."""
    from nvidia.dali import Pipeline

    pipeline = Pipeline(batch_size=batch_size, num_threads=threads, device_id=0 if device == "gpu" else None,
                        seed=seed % 2**31)
    with pipeline:
        pipeline.set_outputs(recipe(Graph(device), spec, files))
    pipeline.build()
    return pipeline


def dali_reason(problem):
    """Type and message, out of the traceback of the graph's definition that DALI puts around it."""
    text = str(problem)
    text = text.split("encountered:", 1)[-1].split("Current pipeline object")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip() and "Critical error" not in line]
    return f"{type(problem).__name__}: {' '.join(lines[:3])}"


class DaliPipeline:
    """The mode `pipeline`, see sluice_worker/modes."""

    device = "gpu"

    def __init__(self, adapter):
        self.adapter = adapter
        self.files, self.scenario = [], None
        self.spec = self.pipeline = None
        self.used_before = used_bytes() if self.device == "gpu" else None

    def load(self, request):
        self.scenario = str(request.get("scenario", "image-rgb"))
        if isinstance(request.get("inputs"), dict):
            raise Unsupported(f"dali reads and decodes in its graph: scope {SCOPE} only")
        limit = request.get("num_items")
        limit = limit if type(limit) is int and limit > 0 else None
        self.files = media_files(request.get("data_dir", ""), self.scenario.startswith("video"), limit,
                                 request.get("skip") or ())
        return {"items": len(self.files), "bytes": 0}

    def support(self, raw):
        """Whether there is such a graph. It is run by `check`: there are no files here."""
        spec = Spec.read(raw)
        if spec.transform not in OPERATORS or spec.channels != 3:
            raise Unsupported(f"DALI image pipeline does not implement transform '{spec.transform}'")

    def prepare(self, raw):
        self.release()
        self.spec = Spec.read(raw)
        if self.spec.raw.get("scope", SCOPE) != SCOPE:
            raise Unsupported(f"dali reads and decodes in its graph: scope {SCOPE} only")
        if self.spec.channels != 3:
            raise Unsupported("dali's decoders give RGB images, no 9-channel images")
        self.batch_size = int(self.spec.raw.get("batch_size", 32))
        threads = max(1, int(self.spec.raw.get("workers", 0)))
        self.pipeline = build_pipeline(self.spec, self.files, self.batch_size, threads, self.adapter.session.seed,
                                       self.device)
        return {"items_per_pass": len(self.files), "bytes_per_item": 4 * math.prod(self.shapes()[0])}

    def shapes(self):
        """What one item of the batch may have."""
        from sluice_worker.checks import expected_sizes

        frames = (self.spec.clip_length,) if self.spec.is_clip else ()
        return [(*frames, 3, *size) for size in sorted(expected_sizes(self.spec, CROP_SIDE, CROP_SIDE))]

    def run(self):
        """One batch, still on the device; complete once its last sample has been copied."""
        return self.pipeline.run()[0]

    @staticmethod
    def finished(batch):
        last = batch[len(batch) - 1]
        return last.as_cpu() if hasattr(last, "as_cpu") else last

    def check(self, sample):
        import numpy

        try:
            batch = self.run()
        except Exception as problem:
            raise Unsupported(dali_reason(problem)) from None
        batch = batch.as_cpu() if hasattr(batch, "as_cpu") else batch
        output = numpy.stack([numpy.array(batch[index]) for index in range(min(len(batch), len(self.files)))])
        meant = self.shapes()
        if output.shape[1:] not in meant or output.dtype != numpy.float32 or not numpy.isfinite(output).all():
            raise Failed(f"{self.spec.transform}: finite float32 of shape {meant[0]} is meant, not {output.dtype} "
                         f"{output.shape[1:]}")
        digest = hashlib.sha256(f"{output.shape} {output.dtype.str};".encode() + output.tobytes())
        return {"digest": digest.hexdigest(), "shape": list(output.shape), "dtype": str(output.dtype)}

    def epoch(self):
        batch = None
        for _ in range(math.ceil(len(self.files) / self.batch_size)):
            batch = self.run()
        return batch

    def preflight(self, slow_item_s, items):
        batches = max(1, math.ceil(min(items, len(self.files)) / self.batch_size))
        start = time.monotonic_ns()
        for _ in range(batches):
            batch = self.run()
        self.finished(batch)
        item_ns = (time.monotonic_ns() - start) / min(batches * self.batch_size, len(self.files))
        return {"pass_ns": max(1, round(item_ns * len(self.files)))}

    def measure(self, passes, warmup_ms, warmup_limit_ms):
        """Samples of `passes` epochs each. The graph works ahead by its queue, before the clock starts as after it."""
        self.finished(self.run())
        least_ns, least_batches = float(self.spec.raw.get("min_time_s", 0)) * 1e9, int(self.spec.raw.get("min_batches", 1))
        samples, cpu_ns, reply = [], 0, None
        while not samples or sum(samples) < least_ns or len(samples) * passes * self.batches() < least_batches:
            sample = Sample()
            sample.start()
            for _ in range(passes):
                batch = self.epoch()
            self.finished(batch)
            sample.stop()
            samples.append(sample.elapsed_ns)
            cpu_ns += sample.cpu_ns
            reply = reply or sample.reply(passes * len(self.files), 0)
        return {**reply, "samples_ns": samples, "cpu_ns": cpu_ns, **self.gpu_memory()}

    def gpu_memory(self):
        used = None if self.used_before is None else used_bytes()
        if used is None:
            return {}
        taken = max(0, used - self.used_before)
        return {"gpu_memory": {"peak_allocated_bytes": taken, "peak_reserved_bytes": taken}}

    def batches(self):
        return math.ceil(len(self.files) / self.batch_size)

    def release(self):
        """Also what DALI keeps for the next graph: its memory is counted by itself."""
        if self.pipeline is not None and self.used_before is not None:
            self.pipeline = None
            from nvidia.dali import backend
            backend.ReleaseUnusedMemory()
        self.spec = self.pipeline = None


def cuda_devices():
    """How many the driver counts; 0 without one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def installed_packages():
    """The wheel's name says which CUDA it is for."""
    names = {dist.metadata["Name"] for dist in importlib.metadata.distributions()}
    return tuple(sorted(name for name in names if name and name.lower().startswith("nvidia-dali-cuda")))


class Dali(Adapter):
    """The package is asked for only where there is a device."""

    name = "dali"
    devices = ("cuda",)
    transforms = tuple(OPERATORS)

    def __init__(self):
        super().__init__()
        self.packages = (*installed_packages(), "numpy")

    def configure(self, session):
        if cuda_devices() == 0:
            raise Unsupported("no CUDA device")
        if session.device != "cuda":
            raise Unsupported(f"dali rows run on device 'cuda', not '{session.device}'")
        try:
            import nvidia.dali  # noqa: F401
        except ImportError as problem:
            raise Unsupported(f"dali is not installed: {problem}") from None
        return super().configure(session)

    def has_cuda(self):
        return True


def mode_named(name):
    if name != "pipeline":
        raise Unsupported(f"dali has no mode '{name}': pipeline")
    return DaliPipeline


if __name__ == "__main__":
    sys.exit(serve(Dali(), mode_named))
