#!/usr/bin/env python3
# bench/real_photographs.py - a folder of JPEGs of the size and quality of ImageNet's, cut out of real photographs.
# SPDX-License-Identifier: Apache-2.0
"""usage: real_photographs.py OUT --from DIR [--from DIR...] [--count 512] [--width 500] [--height 375] [--quality 90] [--seed 0]

Needs Pillow (`sluice peers install light`). A free set is Debian's package mate-backgrounds: twelve photographs of nature,
GPL-2+ (its file `copyright` names who took each). Nothing is installed:

  apt-get download mate-backgrounds && dpkg-deb -x mate-backgrounds_*.deb mate
  bench/real_photographs.py photos --from mate/usr/share/backgrounds/mate/nature

Every JPEG is a window of a photograph, at a place and of a size that the seed draws, scaled down with antialiasing, never up,
and encoded with 4:2:0 chroma: what decoding and cropping cost depends on such detail, which generated pictures only imitate. The
photographs take turns. The same arguments and the same Pillow give the same bytes; the pictures stay under the licence of
the photographs."""
import argparse
import random
import sys
from pathlib import Path

from PIL import Image

SUFFIXES = (".jpg", ".jpeg")


class Refused(Exception):
    """What is wrong, in one line."""


def photographs(folders, width, height):
    """Paths by name, those only that hold a window of the wanted size."""
    found = []
    for folder in folders:
        if not folder.is_dir():
            raise Refused(f"{folder}: is not a folder")
        found += [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in SUFFIXES]
    large = []
    for path in found:
        with Image.open(path) as image:
            if image.width >= width and image.height >= height:
                large.append(path)
    if not large:
        raise Refused(f"{', '.join(map(str, folders))}: none of {len(found)} JPEGs is {width} x {height} or larger")
    return large


def window(size, width, height, draw):
    """Left, top, right, bottom, in the wanted ratio; between the wanted size and the largest that fits."""
    most = min(size[0] / width, size[1] / height)
    factor = draw.uniform(1, most)
    w, h = int(width * factor), int(height * factor)
    left, top = draw.randint(0, size[0] - w), draw.randint(0, size[1] - h)
    return left, top, left + w, top + h


def make(out, folders, count, width, height, quality, seed):
    paths = photographs(folders, width, height)
    if out.exists() and any(out.iterdir()):
        raise Refused(f"{out}: is not empty; name another folder")
    out.mkdir(parents=True, exist_ok=True)
    draw = random.Random(seed)
    opened = {}
    for number in range(count):
        path = paths[number % len(paths)]
        if path not in opened:
            with Image.open(path) as image:
                opened[path] = image.convert("RGB")
        box = window(opened[path].size, width, height, draw)
        small = opened[path].resize((width, height), Image.Resampling.LANCZOS, box=box)
        small.save(out / f"{number:05d}.jpg", quality=quality, subsampling="4:2:0")
    return len(paths)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--from", dest="folders", type=Path, action="append", required=True)
    for name, value in (("count", 512), ("width", 500), ("height", 375), ("quality", 90), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    try:
        used = make(args.out, args.folders, args.count, args.width, args.height, args.quality, args.seed)
    except (Refused, OSError) as problem:
        print(f"real_photographs.py: {problem}", file=sys.stderr)
        return 2
    print(f"{args.count} JPEGs of {args.width} x {args.height} out of {used} photographs in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
