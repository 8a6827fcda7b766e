# adapters/python/jpeg_worker.py - decoders of image files in memory: Pillow and OpenCV's wheel, each the other's reference.
# SPDX-License-Identifier: Apache-2.0
"""usage: jpeg_worker.py pillow|opencv-wheel      (a supervisor adds the mode)"""
import io
import sys

from sluice_worker import Adapter, serve


class ImageDecoder(Adapter):
    default_mode = "jpeg"
    transforms = ("decode/jpeg",)

    def open(self):
        import cv2
        import numpy
        from PIL import Image

        self.cv2, self.numpy, self.image = cv2, numpy, Image
        self.decode, self.reference = self.in_order(self.by_pillow, self.by_opencv)

    def in_order(self, pillow, opencv):
        """(what is measured, what it is compared with)"""
        raise NotImplementedError

    def size(self, data):
        return self.image.open(io.BytesIO(data)).size

    def by_pillow(self, data):
        return self.numpy.asarray(self.image.open(io.BytesIO(data)).convert("RGB"))

    def by_opencv(self, data):
        cv2 = self.cv2
        flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION  # straight to RGB, turned by nobody
        return cv2.imdecode(self.numpy.frombuffer(data, self.numpy.uint8), flags)


class PillowDecoder(ImageDecoder):
    name, packages = "pillow", ("pillow", "numpy")

    def in_order(self, pillow, opencv):
        return pillow, opencv


class OpencvDecoder(ImageDecoder):
    name, packages = "opencv-wheel", ("opencv-python-headless", "numpy")

    def in_order(self, pillow, opencv):
        return opencv, pillow


DECODERS = {one.name: one for one in (PillowDecoder, OpencvDecoder)}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in DECODERS:
        sys.exit(f"usage: jpeg_worker.py {'|'.join(DECODERS)}")
    sys.exit(serve(DECODERS[sys.argv[1]]()))
