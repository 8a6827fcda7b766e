# tests/house/test_programs_test.py - a program of tests runs those of one file, all of them, and no file that has none.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import unittest
from pathlib import Path

BUILD = Path(os.environ["SLUICE_BUILD_DIR"])
PROGRAM = BUILD / "tests" / "core" / "core_tests"
FILES = [words[2] for line in (BUILD / "test_programs.txt").read_text().splitlines() if (words := line.split())[1] == PROGRAM.name]


def run(*arguments, **variables):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=os.environ | variables)


def listed(*arguments, **variables):
    """Full names of the tests that would run."""
    names, suite = [], ""
    for line in run("--gtest_list_tests", *arguments, **variables).stdout.splitlines():
        word = line.split("#")[0].strip()
        if line.startswith("  "):
            names.append(suite + word)
        else:
            suite = word
    return names


class TestProgramsTest(unittest.TestCase):
    def test_the_files_together_are_the_whole_program(self):
        parts = [listed(f"--file={file}") for file in FILES]
        self.assertGreater(len(FILES), 5)
        self.assertTrue(all(parts), dict(zip(FILES, parts)))
        self.assertEqual(sorted(sum(parts, [])), sorted(listed()))

    def test_a_filter_chooses_within_the_file(self):
        whole = listed("--file=rng_test")
        some = [name for name in whole if name.startswith("Philox.")]
        self.assertTrue(0 < len(some) < len(whole))
        self.assertEqual(listed("--file=rng_test", "--gtest_filter=Philox.*"), some)
        self.assertEqual(listed("--file=rng_test", GTEST_FILTER="Philox.*"), some)
        self.assertEqual(listed("--file=rng_test", GTEST_FILTER="-Philox.*"), [name for name in whole if name not in some])

    def test_what_is_not_there_is_an_error(self):
        for argument, words in (("--file=nothing", "--file=nothing: no test is from that file"), ("--fiel=rng_test", "unknown argument '--fiel=rng_test'")):
            done = run(argument)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
