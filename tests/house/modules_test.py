# tests/house/modules_test.py - what the program links: light libraries only; the heavy ones live in modules.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["SLUICE_BUILD_DIR"])
# Module: the library that it keeps out of the program.
MODULES = {"archive": "libarchive", "dnn": ("libdnnl", "libopenblas"), "mpi": "libmpi", "net": "libcurl", "video": "libavcodec"}
HEAVY = re.compile(r"libav|libsw|libx264|libarchive|libcurl|libicu|libxml2|libcuda|libcublas|libcupti|libdnnl|libopenblas|libopencv|libpython")


def needed(file):
    """The libraries that the dynamic loader is told to find for `file`."""
    done = subprocess.run(["readelf", "--dynamic", file], capture_output=True, text=True, check=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)


class ModulesTest(unittest.TestCase):
    def test_the_program_links_no_heavy_library(self):
        libraries = needed(BUILD / "sluice")
        self.assertTrue(libraries, "readelf names no library at all: the test cannot see anything")
        self.assertEqual([name for name in libraries if HEAVY.match(name)], [])

    def test_each_module_holds_its_library_and_shows_one_symbol(self):
        for name, library in MODULES.items():
            module = BUILD / f"libsluice_{name}.so"
            if not module.exists():
                continue  # built without the library
            with self.subTest(module=name):
                self.assertTrue(any(each.startswith(library) for each in needed(module)))
                done = subprocess.run(["nm", "--dynamic", "--defined-only", module], capture_output=True, text=True,
                                      check=True)
                ours = [line.split()[-1] for line in done.stdout.splitlines() if "sluice" in line]
                self.assertEqual(ours, [f"sluice_{name}_table"])

    def test_without_its_module_the_program_says_which_library_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            needs = {
                "video": ["data", "make", "--kind", "video", "--count", "1", "--out", Path(folder) / "clips"],
                "net": ["bench", "dataloader", "--input", "s3://bucket/x", "--endpoint", "http://127.0.0.1:1"],
            }
            for name, command in needs.items():
                with self.subTest(module=name):
                    done = subprocess.run([BUILD / "sluice", *command], capture_output=True, text=True,
                                          env=os.environ | {"SLUICE_MODULE_DIR": folder})
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(f"libsluice_{name}.so is not installed", done.stderr)
                    self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
