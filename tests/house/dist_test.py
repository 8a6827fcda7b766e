# tests/house/dist_test.py - the archives of tools/dist: unpacked anywhere, run with an empty environment.
# SPDX-License-Identifier: Apache-2.0
import hashlib
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE = Path(os.environ["SLUICE_BUILD_DIR"])


class DistTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = Path(cls.temporary.name) / "a b"
        cls.folder.mkdir()
        cls.done = subprocess.run([ROOT / "tools" / "dist", "--dir", TREE, "--out", cls.folder], capture_output=True, text=True,
                                  env=os.environ | {"XZ_OPT": "-1"})
        cls.archives = sorted(file for file in cls.folder.glob("*.tar.xz"))

    def test_archives_with_checksums_are_written(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        names = [file.name for file in self.archives]
        self.assertTrue(any(re.fullmatch(r"sluice-\d+\.\d+\.\d+-\w+\.tar\.xz", name) for name in names), names)
        self.assertEqual((TREE / "libsluice_video.so").exists(), any(name.startswith("sluice-video-") for name in names))
        for name in names:
            subprocess.run(["sha256sum", "--check", "--strict", f"{name}.sha256"], cwd=self.folder, check=True, capture_output=True)
        self.assertEqual(len(list(self.folder.iterdir())), 2 * len(names))

    def check_list_of_contents(self, folder):
        listed = json.loads((folder / "share/doc/sluice/sbom.cdx.json").read_text())
        hashes = {one["bom-ref"]: one["hashes"][0]["content"] for one in listed["components"] if "hashes" in one}
        packed = [*(folder / "bin").iterdir(), *(folder / "lib/sluice").iterdir()]
        self.assertEqual(hashes, {f"file:{file.relative_to(folder)}": hashlib.sha256(file.read_bytes()).hexdigest() for file in packed})
        names = {one["name"] for one in listed["components"]}
        self.assertIn("libjpeg62-turbo", names)
        self.assertIn("libcli11-dev", names)

    def test_the_unpacked_program_needs_nothing_but_itself(self):
        plain, *video = sorted(self.archives, key=lambda file: "video" in file.name)
        subprocess.run(["tar", "xf", plain], cwd=self.folder, check=True)
        program = self.folder / plain.name.removesuffix(".tar.xz") / "bin" / "sluice"
        self.check_list_of_contents(program.parents[1])
        empty = self.folder / "empty"
        empty.mkdir()

        def sluice(*arguments):
            return subprocess.run([program, *arguments], cwd=empty, env={}, capture_output=True, text=True)

        self.assertEqual(sluice("env").returncode, 0)
        make_video = ["data", "make", "--kind", "video", "--count", "1", "--out", "clips"]
        refused = sluice(*make_video)
        self.assertNotEqual(refused.returncode, 0)
        self.assertRegex(refused.stderr, r"libsluice_video\.so is not installed; .*the archive sluice-video-")
        checks = sluice("doctor", "--json").stdout
        self.assertNotIn("no adapters", checks)
        for archive in video:
            subprocess.run(["tar", "xf", archive], cwd=self.folder, check=True)
            self.assertEqual(sluice(*make_video).returncode, 0)
        tour = sluice("quick", "--runs", "1", "--out", "tour")
        self.assertEqual(tour.returncode, 0, tour.stderr)
        self.assertTrue((empty / "tour" / "report.html").is_file())


if __name__ == "__main__":
    unittest.main()
