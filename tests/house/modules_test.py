# tests/house/modules_test.py - what the program links: light libraries only; the heavy ones live in modules.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["SLUICE_BUILD_DIR"])
VIDEO = BUILD / "libsluice_video.so"
HEAVY = re.compile(r"libav|libsw|libx264|libcuda|libcudart|libcublas|libcupti|libdnnl|libopencv|libpython")


def needed(file):
    """The libraries that the dynamic loader is told to find for `file`."""
    done = subprocess.run(["readelf", "--dynamic", file], capture_output=True, text=True, check=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)


class ModulesTest(unittest.TestCase):
    def test_the_program_links_no_heavy_library(self):
        libraries = needed(BUILD / "sluice")
        self.assertTrue(libraries, "readelf names no library at all: the test cannot see anything")
        self.assertEqual([name for name in libraries if HEAVY.match(name)], [])

    @unittest.skipUnless(VIDEO.exists(), "built without libav")
    def test_the_video_module_holds_libav_and_shows_one_symbol(self):
        self.assertTrue(any(name.startswith("libavcodec") for name in needed(VIDEO)))
        done = subprocess.run(["nm", "--dynamic", "--defined-only", VIDEO], capture_output=True, text=True, check=True)
        ours = [line.split()[-1] for line in done.stdout.splitlines() if "sluice" in line]
        self.assertEqual(ours, ["sluice_video_table"])

    def test_without_its_module_the_program_says_which_library_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([BUILD / "sluice", "data", "make", "--kind", "video", "--count", "1",
                                   "--out", Path(folder) / "clips"], capture_output=True, text=True,
                                  env=os.environ | {"SLUICE_MODULE_DIR": folder})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("libsluice_video.so is not installed", done.stderr)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
