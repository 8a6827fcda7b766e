# adapters/python/loader_torch.py - loaders on torch's DataLoader: tensors, PIL, AlbumentationsX, and WebDataset's shards.
# SPDX-License-Identifier: Apache-2.0
"""Worker processes that stay, one intra-op thread in each (the DataLoader sets it), no pinned memory without a GPU."""
import functools
import io
import math
import os
import tarfile
import tempfile

from sluice_worker import Failed
from sluice_worker.media import BadFile
from sluice_worker.sources import FLIP, MEAN, RATIO, SCALE, SIDE, STD, Source, endless_batches

SHARD_IMAGES = 1000  # about 100 MB of photographs, as the WebDataset guide cuts them
SHUFFLED = 1000  # images in the buffer of each worker process


def crop_of(fixed):
    """Arguments of RandomResizedCrop. Whole area and ratio 1 leave only the fallback, in all of these libraries: the
    largest central square."""
    return {"scale": (1.0, 1.0), "ratio": (1.0, 1.0)} if fixed else {"scale": SCALE, "ratio": RATIO}


def tensor_transform(fixed):
    """uint8 CHW tensor -> normalised float32."""
    import torch
    from torchvision.transforms import v2
    return v2.Compose([v2.RandomResizedCrop((SIDE, SIDE), antialias=True, **crop_of(fixed)),
                       v2.RandomHorizontalFlip(0.0 if fixed else FLIP),
                       v2.ToDtype(torch.float32, scale=True),
                       v2.Normalize(mean=MEAN, std=STD)])


def decode_tensor(data):
    """JPEG bytes as uint8 tensor -> uint8 CHW tensor."""
    from torchvision.io import ImageReadMode, decode_jpeg
    return decode_jpeg(data, mode=ImageReadMode.RGB)


def read_tensor(path):
    from torchvision.io import read_file
    return decode_tensor(read_file(path))


def read_pil(path):
    from PIL import Image
    with Image.open(path) as image:
        return image.convert("RGB")


def read_array(path):
    import cv2
    image = cv2.imread(path, cv2.IMREAD_COLOR_RGB)
    if image is None:
        raise BadFile(f"{os.path.basename(path)}: OpenCV decodes nothing")
    return image


def pil_transform(fixed):
    """The resize is PIL's own, which always antialiases."""
    import torch
    from torchvision.transforms import v2
    return v2.Compose([v2.RandomResizedCrop((SIDE, SIDE), antialias=True, **crop_of(fixed)),
                       v2.RandomHorizontalFlip(0.0 if fixed else FLIP),
                       v2.PILToTensor(),
                       v2.ToDtype(torch.float32, scale=True),
                       v2.Normalize(mean=MEAN, std=STD)])


def albumentationsx_transform(fixed):
    """OpenCV's bilinear resize, which does not antialias."""
    import albumentations
    import cv2
    from albumentations.pytorch import ToTensorV2
    transform = albumentations.Compose([
        albumentations.RandomResizedCrop(size=(SIDE, SIDE), interpolation=cv2.INTER_LINEAR, p=1.0, **crop_of(fixed)),
        albumentations.HorizontalFlip(p=0.0 if fixed else FLIP),
        albumentations.Normalize(mean=MEAN, std=STD, p=1.0),
        ToTensorV2(p=1.0)])
    return lambda image: transform(image=image)["image"]


def start_process(worker_id):
    """In every loader process. The DataLoader has set one thread for torch; OpenCV is told here."""
    import sys
    if "cv2" in sys.modules:
        sys.modules["cv2"].setNumThreads(0)


def shut_down(iterator):
    if hasattr(iterator, "_shutdown_workers"):  # as its own end of the epoch calls it
        iterator._shutdown_workers()


class EndlessSampler:
    """Batches of indices. No length: the DataLoader asks for none."""

    def __init__(self, settings):
        self.settings = settings

    def __iter__(self):
        return endless_batches(len(self.settings.files), self.settings.batch_size, self.settings.seed)


class DataLoaderSource(Source):
    read = None  # callable(path) -> image
    transform = None  # callable(fixed) -> callable(image) -> tensor

    def __init__(self, settings):
        self.settings, self.batches = settings, None
        self.round = max(1, settings.workers)
        self.depth = settings.workers * settings.prefetch
        self.info = {"workers": settings.workers, "prefetch": settings.prefetch}

    def process_arguments(self, workers):
        """Of a DataLoader. Forked: what is imported stays so. Python 3.14 would start a server."""
        if workers == 0:
            return {"num_workers": 0}
        return {"num_workers": workers, "prefetch_factor": self.settings.prefetch, "persistent_workers": True,
                "multiprocessing_context": "fork", "worker_init_fn": start_process}

    def dataset(self, files, fixed):
        """Map-style; a file that cannot be read is named in the error."""
        from sluice_worker.epochs import Samples
        return Samples(files, type(self).transform(fixed), type(self).read)

    def loader(self):
        import torch
        from torch.utils.data import DataLoader
        generator = torch.Generator().manual_seed(self.settings.seed % 2**63)
        return DataLoader(self.dataset(self.settings.files, False),
                          batch_sampler=EndlessSampler(self.settings), pin_memory=False, generator=generator,
                          **self.process_arguments(self.settings.workers))

    def fixed_loader(self, count):
        """In a loader process, never in this one: thread pools are safe to fork only while they have not worked."""
        from torch.utils.data import DataLoader
        return DataLoader(self.dataset(self.settings.files[:count], True), batch_size=1,
                          **self.process_arguments(min(1, self.settings.workers)))

    def next(self):
        if self.batches is None:
            self.batches = iter(self.loader())
        return next(self.batches).numpy()

    def fixed(self, count):
        images = iter(self.fixed_loader(count))
        try:
            for _ in range(count):
                yield next(images)[0].numpy()
        finally:
            shut_down(images)

    def reason(self, problem):
        """Out of the traceback that a DataLoader puts around what its processes raise."""
        from sluice_worker.epochs import loader_reason
        return loader_reason(problem)

    def close(self):
        if self.batches is not None:
            shut_down(self.batches)
            self.batches = None


class TensorSource(DataLoaderSource):
    read, transform = staticmethod(read_tensor), staticmethod(tensor_transform)

    @staticmethod
    def open():
        import torch.utils.data  # noqa: F401
        import torchvision.io  # noqa: F401
        import torchvision.transforms.v2  # noqa: F401


class PilSource(DataLoaderSource):
    read, transform = staticmethod(read_pil), staticmethod(pil_transform)

    @staticmethod
    def open():
        import PIL.Image
        TensorSource.open()
        PIL.Image.preinit()


class AlbumentationsXSource(DataLoaderSource):
    read, transform = staticmethod(read_array), staticmethod(albumentationsx_transform)

    @staticmethod
    def open():
        import torch.utils.data  # noqa: F401
        import albumentations.pytorch  # noqa: F401
        import cv2  # noqa: F401


class Shards:
    """Tar files of the images in the order of their names. Made once, untimed, in files without a name: nothing is left
    behind however the process ends, and forked processes open them through their own descriptors."""

    def __init__(self, paths, count):
        self.files = []
        try:
            for number in range(count):
                part = paths[number * len(paths) // count : (number + 1) * len(paths) // count]
                self.files.append(self.written(part))
        except OSError as problem:
            self.close()
            raise Failed(f"shards cannot be written to {tempfile.gettempdir()}: {problem.strerror}") from None
        self.bytes = sum(os.fstat(file.fileno()).st_size for file in self.files)
        self.paths = [f"/proc/self/fd/{file.fileno()}" for file in self.files]

    @staticmethod
    def written(paths):
        file = tempfile.TemporaryFile(prefix="sluice-shard-")
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for number, path in enumerate(paths):
                with open(path, "rb") as source:
                    data = source.read()
                member = tarfile.TarInfo(f"{number:08d}.jpg")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        file.flush()
        return file

    def close(self):
        for file in self.files:
            file.close()


def shard_item(sample, transform):
    import numpy
    import torch
    from sluice_worker.epochs import first_line, marked
    try:
        image = decode_tensor(torch.from_numpy(numpy.frombuffer(sample["jpg"], numpy.uint8).copy()))
    except RuntimeError as problem:
        raise BadFile(marked(f"image {sample['__key__']} of a shard: {first_line(problem)}")) from None
    return transform(image)


class WebDatasetSource(DataLoaderSource):
    """Shards are shuffled and shared out over the processes, images go through a shuffle buffer and are batched in the
    process, as the guide does it. torchvision decodes, as in the row torch-tensor; decoding with PIL was not tried."""

    def __init__(self, settings):
        super().__init__(settings)
        per_process = math.ceil(len(settings.files) / SHARD_IMAGES / max(1, settings.workers))
        self.shards = Shards(settings.files, min(len(settings.files), max(1, per_process) * max(1, settings.workers)))
        self.info = {**self.info, "shards": len(self.shards.files), "shard_bytes": self.shards.bytes,
                     "preparation": "files written to tar shards before timing"}

    @staticmethod
    def open():
        import webdataset  # noqa: F401
        TensorSource.open()

    def loader(self):
        import webdataset
        from torch.utils.data import default_collate  # stacks into shared memory at once
        item = functools.partial(shard_item, transform=tensor_transform(False))
        dataset = (webdataset.WebDataset(self.shards.paths, resampled=False, shardshuffle=len(self.shards.files),
                                         seed=self.settings.seed % 2**31, empty_check=False, select_files=None)
                   .repeat().shuffle(SHUFFLED).map(item)
                   .batched(self.settings.batch_size, collation_fn=default_collate, partial=False))
        return webdataset.WebLoader(dataset, batch_size=None, pin_memory=False,
                                    **self.process_arguments(self.settings.workers))

    def fixed_loader(self, count):
        import webdataset
        from torch.utils.data import default_collate
        item = functools.partial(shard_item, transform=tensor_transform(True))
        dataset = (webdataset.WebDataset(self.shards.paths, shardshuffle=False)
                   .map(item).batched(1, collation_fn=default_collate))
        return webdataset.WebLoader(dataset, batch_size=None, **self.process_arguments(min(1, self.settings.workers)))

    def close(self):
        super().close()
        self.shards.close()
