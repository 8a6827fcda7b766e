#!/usr/bin/env python3
# tools/pin_hashes.py - writes the SHA-256 of every wheel that may be installed behind its pin.
# SPDX-License-Identifier: Apache-2.0
"""usage: tools/pin_hashes.py [GROUP | FILE.txt]...     without arguments: all of adapters/python/requirements

Wheels for Linux, x86-64 and aarch64, CPython 3.11 to 3.14. `sluice peers install` takes no other file: pip --require-hashes.
The index is asked over HTTPS; run it after a pin has changed, and read what it changed."""
import re
import sys
import urllib.request
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "adapters" / "python" / "requirements"
PIN = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?==([\w.+!]+)(\s*;.*?)?\s*\\?$")
PYTHONS = r"(cp31[1-4]|py3|py2\.py3)"


def files_of(name):
    """(file, sha256) of all wheels and archives of a package."""
    page = re.sub(r"[-_.]+", "-", name).lower()
    with urllib.request.urlopen(f"https://pypi.org/simple/{page}/", timeout=60) as answer:
        text = answer.read().decode()
    return re.findall(r'/([^/"#]+\.(?:whl|tar\.gz))#sha256=([0-9a-f]{64})', text)


def fits(wheel, version, source):
    """Whether a file is of this version and may be installed on one of our hosts; `source`: a package without wheels."""
    if source or not wheel.endswith(".whl"):
        return source and wheel.endswith(f"-{version}.tar.gz")
    parts = wheel.removesuffix(".whl").replace("%2B", "+").split("-")
    found, python, abi, platform = parts[1], parts[-3], parts[-2], parts[-1]
    if found != version:
        return False
    if platform != "any" and not re.search(r"(manylinux|linux_).*(x86_64|aarch64)", platform):
        return False
    if abi == "abi3":
        return True
    return any(re.fullmatch(PYTHONS, tag) for tag in python.split(".")) and not re.fullmatch(r"cp31\dt", abi) or python == "py2.py3"


def pinned(text):
    lines = []
    sources = set(re.findall(r"^--no-binary ([\w.-]+)$", text, re.M))
    for line in text.splitlines():
        if line.lstrip().startswith("--hash="):
            continue
        if line.startswith("--no-binary "):
            lines.append(line)
            continue
        match = PIN.fullmatch(line)
        if match is None:
            if line and not line.startswith("#"):
                sys.exit(f"tools/pin_hashes.py: {line!r}: NAME==VERSION is accepted, with a marker or without")
            lines.append(line)
            continue
        name, version, marker = match.groups()
        hashes = sorted({digest for file, digest in files_of(name) if fits(file, version, name in sources)})
        if not hashes:
            sys.exit(f"tools/pin_hashes.py: {name}=={version}: the index has no file for our hosts")
        lines.append(line.removesuffix("\\").rstrip() + " \\")
        lines += [f"    --hash=sha256:{digest} \\" for digest in hashes]
        lines[-1] = lines[-1].removesuffix(" \\")
    return "\n".join(lines) + "\n"


def main():
    groups = sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.txt"))
    for group in groups:
        path = Path(group) if group.endswith(".txt") else FOLDER / f"{group}.txt"
        if not path.is_file():
            sys.exit(f"tools/pin_hashes.py: {group}: no such group; there are {', '.join(sorted(p.stem for p in FOLDER.glob('*.txt')))}")
        path.write_text(pinned(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"{path.name}: {path.read_text(encoding='utf-8').count('--hash=')} files")


if __name__ == "__main__":
    main()
