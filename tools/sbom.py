#!/usr/bin/env python3
# tools/sbom.py - the list of what an archive of tools/dist holds and was built from, as CycloneDX 1.5.
# SPDX-License-Identifier: Apache-2.0
"""usage: tools/sbom.py FOLDER VERSION     prints the list; FOLDER is what becomes the archive

Every packed binary with its SHA-256 and, where it came from a Debian package, that package and its version; the headers that
were compiled in, by their packages."""
import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def packages():
    """Name: (version, architecture) of all that is installed."""
    rows = (line.split("\t") for line in lines_of("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Architecture}\n"))
    return {name: (version, architecture) for name, version, architecture in rows}


def package_of(file):
    """The Debian package that a shared library came from; nothing: it is ours."""
    for line in lines_of("dpkg-query", "-S", f"*/{file.name}"):
        return line.split(":")[0].split(",")[0]
    return None


def of_package(name, installed, used):
    version, architecture = installed[name]
    return {"type": "library", "name": name, "version": version, "bom-ref": f"deb:{name}",
            "purl": f"pkg:deb/debian/{name}@{version}?arch={architecture}",
            "properties": [{"name": "sluice:used", "value": used}]}


def components(folder, version):
    installed = packages()
    found, from_packages = [], set()
    for file in sorted([*(folder / "bin").iterdir(), *(folder / "lib" / "sluice").iterdir()]):
        package = None if file.name.startswith(("sluice", "libsluice")) else package_of(file)
        found.append({"type": "application" if file.parent.name == "bin" else "library", "name": file.name,
                      "version": version if package is None else installed[package][0],
                      "bom-ref": f"file:{file.relative_to(folder)}",
                      "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}]})
        if package is not None:
            from_packages.add(package)
    wanted = lines_of(ROOT / "tools" / "setup", "--list")
    headers = sorted(name for name in wanted if name.endswith("-dev") and name in installed and not name.startswith(("libgtest", "libgmock")))
    found += [of_package(name, installed, "packed") for name in sorted(from_packages)]
    found += [of_package(name, installed, "when compiling") for name in headers]
    return found


def main():
    if len(sys.argv) != 3 or not Path(sys.argv[1]).is_dir():
        sys.exit(__doc__.splitlines()[0])
    folder, version = Path(sys.argv[1]), sys.argv[2]
    print(json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                      "metadata": {"component": {"type": "application", "name": "sluice", "version": version}},
                      "components": components(folder, version)}, indent=1))


if __name__ == "__main__":
    main()
