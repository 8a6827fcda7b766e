# tests/house/build_test.py - tools/build: one line of progress, failures in full, and one sentence for what is missing.
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "tools" / "build"
_loader = SourceFileLoader("sluice_build", str(BUILD))
build = importlib.util.module_from_spec(importlib.util.spec_from_loader("sluice_build", _loader))
_loader.exec_module(build)
NEW_CMAKE = 'if [ "$1" = --version ]; then echo "cmake version 3.25.1"; exit 0; fi'


class ProgramTest(unittest.TestCase):
    """tools/build with stubs of cmake and ninja."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.tree = self.folder / "a tree"
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "python3").symlink_to(sys.executable)
        for name in ("env", "sh"):
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        self.stub("cmake", NEW_CMAKE)
        self.stub("ninja", "echo 'ninja: no work to do.'")

    def stub(self, name, text):
        file = self.folder / "bin" / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def build(self, *arguments, **options):
        return subprocess.run([BUILD, "--dir", self.tree, *(arguments or ["release"])], capture_output=True, text=True,
                              env={"PATH": str(self.folder / "bin")}, **options)

    def refused(self, code, *words):
        done = self.build()
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        return done

    def test_tools_that_are_missing_or_old_are_named(self):
        self.stub("cmake", "echo 'cmake version 3.22.1'")
        self.refused(2, "cmake version 3.22.1 is too old: 3.25")
        (self.folder / "bin" / "ninja").unlink()
        self.refused(2, "ninja is not installed", "tools/setup")

    def test_arguments_that_are_not_understood_are_named(self):
        for arguments, word in ((["--fast", "release"], "--fast"), (["--jobs", "none", "release"], "'none'"), (["--jobs", "2"], "which preset")):
            done = self.build(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(word, done.stderr)

    def test_an_error_of_our_own_configuration_is_one_line(self):
        self.stub("cmake", NEW_CMAKE + "\nprintf 'CMake Error at cmake/SluiceDependencies.cmake:5 (message):\\n  not\\n  installed: fmt\\nCall Stack (most recent call first):\\n  CMakeLists.txt:30 (include)\\n' >&2; exit 1")
        done = self.refused(1, "tools/build: not installed: fmt\n")
        self.assertEqual(done.stdout, "")

    def test_another_error_of_the_configuration_is_shown_in_full(self):
        self.stub("cmake", NEW_CMAKE + "\nprintf 'CMake Error: one\\n  two\\n' >&2; exit 1")
        self.assertIn("CMake Error: one\n  two", self.refused(1, "cmake --preset release failed").stdout)

    def test_a_folder_that_cannot_be_made_is_named(self):
        self.tree.write_text("a file")
        self.refused(2, "a tree", "BUILD=FOLDER")

    def test_up_to_date_is_one_line(self):
        done = self.build()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "release: up to date\n", ""))

    def test_steps_are_counted_not_listed_and_warnings_are_shown(self):
        self.stub("ninja", 'for n in 1 2 3; do echo "[$n/3] Building CXX object x$n.cpp.o"; done; echo "x.cpp:1: warning: w"; '
                  'echo "ptxas info    : (C7519) moved"; echo "$@" >&2')
        done = self.build("release", "sluice", "--jobs", "7")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.splitlines(), ["x.cpp:1: warning: w", f"-C {self.tree} -j 7 sluice", "release: 3 steps in 0 s"])

    def test_a_failure_shows_what_the_compiler_said_and_keeps_ninjas_code(self):
        self.stub("ninja", 'printf "[1/9] Building CXX object a.o\\nFAILED: b.o\\ng++ -c b.cpp\\nb.cpp:3: error: no\\n[2/9] Linking c\\n"; exit 3')
        done = self.refused(3, "failed after 2 of 9 steps")
        self.assertEqual(done.stdout, "FAILED: b.o\ng++ -c b.cpp\nb.cpp:3: error: no\n")

    def test_a_full_disk_and_too_little_memory_come_with_advice(self):
        self.stub("ninja", 'echo "FAILED: a.o"; echo "fatal error: cannot write PCH file: No space left on device"; exit 1')
        self.refused(1, "the disk of", "is full", "it continues")
        self.stub("ninja", 'echo "FAILED: a.o"; echo "g++: fatal error: Killed signal terminated program cc1plus"; exit 1')
        self.refused(1, "out of memory", "JOBS=1")

    def test_a_ninja_that_is_killed_is_said(self):
        self.stub("ninja", 'echo "[1/9] Linking a"; kill -KILL $$')
        self.refused(137, "ninja was ended by SIGKILL after 1 of 9 steps")

    def test_an_interrupt_ends_ninja_and_is_one_line(self):
        for name in ("SIGINT", "SIGTERM"):
            with self.subTest(signal=name):
                self.interrupt(name)

    def interrupt(self, name):
        ended = self.folder / name
        (self.folder / "bin" / "ninja").write_text(f"""#!/usr/bin/env python3
import os, signal, sys
if "-n" in sys.argv:
    sys.exit(0)
def end(*_):
    open({str(ended)!r}, "w").close()
    sys.exit(2)
signal.signal(signal.SIGINT, end)
print("[4/9] Linking d", flush=True)
os.kill(os.getppid(), signal.{name})
while True:
    signal.pause()
""")
        done = self.build(timeout=60)
        self.assertEqual(done.returncode, 130)
        self.assertRegex(done.stderr, r"^tools/build: interrupted after \d of \d steps; the next build continues\n$")
        self.assertTrue(ended.exists())


class RealConfigurationTest(unittest.TestCase):
    def test_an_old_compiler_is_refused_in_one_sentence(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            compiler = folder / "g++-11"
            compiler.write_text('#!/bin/sh\nexec g++ -U__GNUC__ -D__GNUC__=11 "$@"\n')
            compiler.chmod(0o755)
            done = subprocess.run([BUILD, "--dir", folder / "tree", "release"], capture_output=True, text=True,
                                  env=os.environ | {"CXX": str(compiler)})
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"^tools/build: \S+/g\+\+-11 is GNU 11\S*: g\+\+ 12 or clang 14 or later is needed; [^\n]*\n$")


class EstimateTest(unittest.TestCase):
    def test_a_disk_that_is_too_small_is_refused_before_the_build(self):
        steps = ["Building CXX object x/cmake_pch.hxx.gch", "Building CXX object x.o", "Linking CXX executable x", "Writing a header"]
        space = mock.Mock(free=158_000_000)
        with mock.patch.object(build.shutil, "disk_usage", return_value=space):
            build.check_space(Path("tree"), steps)
            space.free -= 1_000_000
            with self.assertRaisesRegex(build.Stop, "^tree: 157 MB are free, this build needs about 158: free some"):
                build.check_space(Path("tree"), steps)

    def test_words_for_a_time(self):
        self.assertEqual([build.about(s) for s in (1, 42, 54, 55, 200)], ["about 5 s", "about 40 s", "about 55 s", "about 1 min", "about 3 min"])

    def test_the_expectation_counts_first_then_the_pace(self):
        with mock.patch.object(build.time, "monotonic", return_value=0.0) as clock:
            progress = build.Progress({f"Building CXX object {n}.o": 30.0 for n in range(10)}, jobs=2)
            self.assertEqual(progress.words(), "building 0 of 10, about 2 min left")  # 300 s on two cores
            clock.return_value = 280.0
            for n in range(5):
                progress.finish(n + 1, 10, f"Building CXX object {n}.o")
            self.assertEqual(progress.words(), "building 5 of 10, about 4 min left")  # half is done, at half the pace
            progress.finish(6, 7, "Building CXX object 5.o")  # the rest was found to be up to date
            self.assertEqual(progress.words(), "building 6 of 7, about 40 s left")

    def test_what_an_earlier_build_took_is_read_from_it_or_its_neighbours(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, seconds in (("dev", 9), ("release", 4)):
                (Path(folder) / name).mkdir()
                (Path(folder) / name / ".ninja_log").write_text(f"# ninja log v5\n1000\t{1000 + seconds * 1000}\t0\tx.o\tab\nbroken\n")
            self.assertEqual(build.known_seconds(Path(folder) / "release"), {"x.o": 4.0})
            self.assertEqual(build.known_seconds(Path(folder) / "dev"), {"x.o": 9.0})
            self.assertIn(build.known_seconds(Path(folder) / "asan"), ({"x.o": 9.0}, {"x.o": 4.0}))

    def test_a_unit_weighs_what_it_includes_and_vector_code_more(self):
        with tempfile.TemporaryDirectory() as name, mock.patch.object(build, "ROOT", Path(name) / "source"):
            room, units = Path(name) / "source" / "src" / "room", Path(name) / "tree" / "src" / "room" / "units"
            room.mkdir(parents=True)
            units.mkdir(parents=True)
            (room / "plain.cpp").write_text("x" * 1000)
            (room / "vector.cpp").write_text('#include "hwy/foreach_target.h"' + "x" * 1000)

            def weight(*sources):
                (units / "room_0.cpp").write_text("".join(f'#include "room/{source}"\n' for source in sources))
                return build.source_bytes("src/room/CMakeFiles/sluice_room.dir/units/room_0.cpp.o", Path(name) / "tree")

            self.assertGreater(weight("plain.cpp"), 1000)
            self.assertGreater(weight("plain.cpp", "plain.cpp"), 2000)
            self.assertGreater(weight("vector.cpp"), 3 * weight("plain.cpp"))
            self.assertEqual(build.source_bytes("src/room/CMakeFiles/sluice_room.dir/plain.cpp.o", Path(name) / "tree"), 1000)
            self.assertEqual(build.source_bytes("src/room/CMakeFiles/sluice_room.dir/absent.cpp.o", Path(name) / "tree"), 0)


if __name__ == "__main__":
    unittest.main()
