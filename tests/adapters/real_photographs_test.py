# tests/adapters/real_photographs_test.py - bench/real_photographs.py: windows of photographs, the same every time, refusals.
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import peer

peer.enter("light")

from PIL import Image  # noqa: E402

PROGRAM = peer.ROOT / "bench" / "real_photographs.py"


class RealPhotographsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sluice-photos-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.source = self.folder / "source" / "below"
        self.source.mkdir(parents=True)
        for name, size in (("a", (160, 90)), ("b.small", (30, 30)), ("c", (80, 120))):
            Image.effect_noise(size, 60).convert("RGB").save(self.source / f"{name}.jpg", quality=95)
        (self.source / "notes.txt").write_text("no picture")

    def make(self, out, *more):
        return subprocess.run([sys.executable, "-B", PROGRAM, self.folder / out, "--from", self.source.parent, "--width", "40",
                               "--height", "30", "--count", "5", *more], capture_output=True, text=True, check=False)

    def pictures(self, out):
        return {path.name: path.read_bytes() for path in (self.folder / out).iterdir()}

    def test_windows_of_the_wanted_size_and_the_same_bytes_twice(self):
        for out in ("one", "two"):
            done = self.make(out)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("5 JPEGs of 40 x 30 out of 2 photographs", done.stdout)
        found = self.pictures("one")
        self.assertEqual(sorted(found), [f"{number:05d}.jpg" for number in range(5)])
        self.assertEqual(len(set(found.values())), 5)
        self.assertEqual(found, self.pictures("two"))
        for name in found:
            with Image.open(self.folder / "one" / name) as image:
                self.assertEqual((image.size, image.mode, image.format), ((40, 30), "RGB", "JPEG"))
        self.make("other", "--seed", "1")
        self.assertNotEqual(found, self.pictures("other"))

    def test_what_cannot_be_done_is_one_line(self):
        self.make("full")
        for more, words in ((("--width", "4000"), "none of 3 JPEGs is 4000 x 30 or larger"),
                            (("--from", str(self.folder / "nowhere")), "nowhere: is not a folder"),
                            ((), "full: is not empty")):
            done = self.make("full", *more)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
