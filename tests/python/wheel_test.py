# tests/python/wheel_test.py - the wheel is packed, installs in an empty environment and works there; so do the ten lines of the manual.
# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import sys
import unittest
import venv
import zipfile
from pathlib import Path

from support import BUILD, ROOT, Bucket, PhotoTest
import numpy
sys.path.insert(0, str(ROOT / "tests" / "adapters"))
import peer  # noqa: E402

SCRIPT = """
import sys
import sluice
assert "numpy" not in sys.modules
loader = sluice.Loader(sys.argv[1], batch_size=8, workers=2)
print(sum(images.shape[0] for images, _ in loader), sluice.__file__)
bucket = sluice.Loader("s3://bucket", batch_size=8, workers=2, endpoint=sys.argv[2], anonymous=True)
print(sum(images.shape[0] for images, _ in bucket))
"""
AFTER = """
assert loader.state_dict()["epoch"] == 2
assert all(torch.isfinite(value).all() for value in model.parameters())
print(sluice.__file__)
"""


class WheelTest(PhotoTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not (BUILD / "CMakeCache.txt").exists():
            raise unittest.SkipTest("there is no build tree")
        packed = subprocess.run([ROOT / "tools" / "wheel", "--dir", BUILD, "--env", Path(sys.executable).parents[1], "--out", cls.folder],
                                check=True, capture_output=True, text=True)
        cls.said = packed.stdout
        [cls.wheel] = cls.folder.glob("*.whl")
        cls.clean = {"PATH": "/usr/bin:/bin", "HOME": str(cls.folder)}  # nothing that names the build tree

    def environment(self, name, *, beside=None):
        """An empty one with the wheel, and the packages of the folder `beside` on its path; its Python and where packages lie."""
        venv.create(self.folder / name, with_pip=True)
        python = self.folder / name / "bin" / "python"
        [site] = (self.folder / name / "lib").glob("python*/site-packages")
        if beside is not None:
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", self.wheel], check=True)
            (site / "beside.pth").write_text(f"{beside}\n")
        return python, site

    def run_in(self, python, text, *arguments, cwd="/"):
        done = subprocess.run([python, "-c", text, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, env=self.clean)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def bucket(self):
        bucket = Bucket({str(path.relative_to(self.photos)): path.read_bytes() for path in self.photos.glob("*/*.jpg")})
        self.addCleanup(bucket.close)
        bucket.gate.set()
        return bucket

    def test_what_is_in_it(self):
        self.assertIn("manylinux_2_36_", self.wheel.name)
        self.assertTrue(self.wheel.name.startswith("sluice_bench-"))
        names = zipfile.ZipFile(self.wheel).namelist()
        self.assertFalse([name for name in names if "__pycache__" in name or name.endswith(".cpp")])
        for part in ("py.typed", "_native.pyi", "bin/sluice", "lib/sluice/libsluice_net.so"):
            self.assertIn(f"sluice/{part}", names)
        self.assertTrue([name for name in names if "/licenses/licences/" in name])
        self.assertFalse([name for name in names if "gnutls" in name])  # of protocols that we do not speak
        self.assertLessEqual(self.wheel.stat().st_size, 15_000_000)
        self.assertEqual("no wheel for Python 3.12 and later" in self.said, "-abi3-" not in self.wheel.name, self.said)

    def test_the_wheel_in_an_empty_environment(self):
        python, site = self.environment("env", beside=Path(numpy.__file__).parents[1])  # its one dependency, without a network
        self.assertEqual(self.run_in(python, SCRIPT, self.photos, self.bucket().endpoint), ["40", str(site / "sluice" / "__init__.py"), "40"])
        program = python.parent / "sluice"
        for words in ([program], [python, "-m", "sluice"]):
            said = subprocess.run([*words, "--version"], check=True, capture_output=True, text=True, cwd="/", env=self.clean).stdout
            self.assertRegex(said, r"^sluice \d")
        subprocess.run([program, "bench", "decode", "--help"], check=True, capture_output=True, cwd="/", env=self.clean)

    def test_pip_finds_what_the_wheel_needs_in_the_index(self):
        python, site = self.environment("index")
        found = subprocess.run([python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", self.folder / "found", "numpy"], capture_output=True,
                               text=True)
        if found.returncode != 0:
            self.skipTest("no index of packages can be reached: " + found.stderr.strip().splitlines()[-1])
        subprocess.run([python, "-m", "pip", "install", "--quiet", self.wheel], check=True)
        self.assertEqual(self.run_in(python, SCRIPT, self.photos, self.bucket().endpoint), ["40", str(site / "sluice" / "__init__.py"), "40"])
        self.assertEqual(subprocess.run([python, "-m", "pip", "check"], capture_output=True).returncode, 0)

    def test_the_ten_lines_of_the_manual_beside_torch(self):
        torch = peer.python_of("torch")
        if torch is None:
            self.skipTest("no environment 'torch'; make one with: sluice peers install torch")
        beside = next(Path(torch).parents[1].glob("lib/python3*/site-packages"))
        if beside.parent.name != "python%d.%d" % sys.version_info[:2]:
            self.skipTest(f"the package is built for python{sys.version_info[0]}.{sys.version_info[1]}, the environment 'torch' has {beside.parent.name}")
        page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        text = re.search(r"```python\n(import sluice\nimport torch\n.*?)```", page, flags=re.DOTALL).group(1)
        python, site = self.environment("torch", beside=beside)
        self.assertEqual(self.run_in(python, text + AFTER, cwd=self.folder), [str(site / "sluice" / "__init__.py")])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
