# adapters/python/jpeg_worker.py - decoders of image files in memory, each checked by another library's.
# SPDX-License-Identifier: Apache-2.0
"""usage: jpeg_worker.py pillow|pillow-simd|opencv-wheel|kornia-rs|pyvips|simplejpeg|imagecodecs      (a supervisor adds the mode)"""
import io
import sys

from sluice_worker import Adapter, serve


class ImageDecoder(Adapter):
    """Subclasses have `load()`, which imports, and `decode(bytes)`; the reference is Pillow's unless they say otherwise."""

    default_mode = "jpeg"
    transforms = ("decode/jpeg", "decode/jpeg-progressive")

    def open(self):
        import numpy
        from PIL import Image

        self.numpy, self.image = numpy, Image
        self.load()

    def load(self):
        raise NotImplementedError

    def size(self, data):
        return self.image.open(io.BytesIO(data)).size

    def is_progressive(self, data):
        image = self.image.open(io.BytesIO(data))
        return image.format == "JPEG" and bool(image.info.get("progressive"))

    def progressive(self, data):
        """The same picture as a progressive file: quality 90, 4:2:0."""
        stream = io.BytesIO()
        self.image.open(io.BytesIO(data)).convert("RGB").save(stream, "JPEG", quality=90, progressive=True)
        return stream.getvalue()

    def by_pillow(self, data):
        return self.numpy.asarray(self.image.open(io.BytesIO(data)).convert("RGB"))

    def reference(self, data):
        return self.by_pillow(data)


class ByOpencv(ImageDecoder):
    """What the two of the group `light` share: OpenCV."""

    def load(self):
        import cv2

        self.cv2 = cv2
        self.flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION  # straight to RGB, turned by nobody

    def by_opencv(self, data):
        return self.cv2.imdecode(self.numpy.frombuffer(data, self.numpy.uint8), self.flags)


class PillowDecoder(ByOpencv):
    name, packages = "pillow", ("pillow", "numpy")

    def decode(self, data):
        return self.by_pillow(data)

    def reference(self, data):
        return self.by_opencv(data)


class PillowSimdDecoder(PillowDecoder):
    name, packages = "pillow-simd", ("pillow-simd", "numpy")


class OpencvDecoder(ByOpencv):
    name, packages = "opencv-wheel", ("opencv-python-headless", "numpy")

    def decode(self, data):
        return self.by_opencv(data)


class KorniaRsDecoder(ImageDecoder):
    name, packages = "kornia-rs", ("kornia_rs", "numpy")

    def load(self):
        from kornia_rs import io as files

        self.decode_jpeg = files.decode_image_jpegturbo

    def decode(self, data):
        return self.decode_jpeg(data, "rgb")


class PyvipsDecoder(ImageDecoder):
    name, packages = "pyvips", ("pyvips", "pyvips-binary", "numpy")

    def load(self):
        import pyvips

        pyvips.cache_set_max(0)  # every call decodes
        self.open_buffer = pyvips.Image.new_from_buffer

    def decode(self, data):
        image = self.open_buffer(data, "", access="sequential")
        if image.bands != 3:
            image = image.flatten() if image.hasalpha() else image
            image = image.colourspace("srgb")
        return image.numpy()


class SimplejpegDecoder(ImageDecoder):
    """As it comes: the accurate transform and smooth upsampling, as the others have them."""

    name, packages = "simplejpeg", ("simplejpeg", "numpy")

    def load(self):
        import simplejpeg

        self.decode_jpeg = simplejpeg.decode_jpeg

    def decode(self, data):
        return self.decode_jpeg(data, "RGB")


class ImagecodecsDecoder(ImageDecoder):
    name, packages = "imagecodecs", ("imagecodecs", "numpy")

    def load(self):
        import imagecodecs

        self.decode_jpeg = imagecodecs.jpeg8_decode

    def decode(self, data):
        return self.decode_jpeg(data, outcolorspace="RGB")


DECODERS = {
    one.name: one
    for one in (
        PillowDecoder, PillowSimdDecoder, OpencvDecoder, KorniaRsDecoder, PyvipsDecoder, SimplejpegDecoder,
        ImagecodecsDecoder,
    )
}  # fmt: skip

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in DECODERS:
        sys.exit(f"usage: jpeg_worker.py {'|'.join(DECODERS)}")
    sys.exit(serve(DECODERS[sys.argv[1]]()))
