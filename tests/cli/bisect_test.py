#!/usr/bin/env python3
# tests/cli/bisect_test.py - `sluice bisect` as a user meets it: a history of 16 commits, bad input, interruption.
# SPDX-License-Identifier: Apache-2.0
"""usage: bisect_test.py PROGRAM"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "T"), ("EMAIL", "t@example.org"))}
COMMITS = 16


class BisectTest(unittest.TestCase):
    """The command prints a number that the commit holds: verdicts without a clock."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.base = pathlib.Path(cls.folder.name)
        cls.repo = cls.make_history("repo", guilty=11, broken=())
        cls.shas = cls.git("rev-list", "--reverse", "HEAD").split("\n")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def git(cls, *arguments, repo=None):
        return subprocess.run(["git", *arguments], cwd=repo or cls.repo, check=True, capture_output=True, text=True,
                              env={**os.environ, **IDENTITY}).stdout.strip()

    @classmethod
    def make_history(cls, name, guilty, broken=(), hanging=(), failing=()):
        repo = cls.base / name
        repo.mkdir()
        cls.git("init", "-q", ".", repo=repo)
        for i in range(COMMITS + 1):
            (repo / "number").write_text(f"{1.05 if i >= guilty else 1.0} change {i}\n")
            (repo / "build.sh").write_text("exit 3\n" if i in broken else "sleep 100\n" if i in hanging else
                                           "cut -d' ' -f1 number > built && echo x >> ../log\n")
            (repo / "run.sh").write_text("exit 4\n" if i in failing else "cat built\n")
            cls.git("add", ".", repo=repo)
            cls.git("commit", "-qm", f"change {i}", repo=repo)
        return repo

    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.out = pathlib.Path(self.place.name) / "out"
        self.cache = pathlib.Path(self.place.name) / "cache"

    def arguments(self, *more, good="HEAD~16", bad="HEAD"):
        return [PROGRAM, "bisect", good, bad, "--build", "sh build.sh", "--run", "sh run.sh", "--metric", "stdout",
                *map(str, more)]

    def environment(self):
        return {**os.environ, "SLUICE_CACHE_DIR": str(self.cache)}

    def bisect(self, *more, repo=None, good="HEAD~16", bad="HEAD"):
        return subprocess.run(self.arguments("--out", self.out, *more, good=good, bad=bad), cwd=repo or self.repo,
                              capture_output=True, text=True, timeout=100, env=self.environment())

    def assert_error(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        errors = [line for line in done.stderr.splitlines() if line.startswith("sluice: ")]
        self.assertEqual(len(errors), 1, done.stderr)
        for word in words:
            self.assertIn(word, errors[0])

    def assert_no_work_trees(self, repo=None):
        self.assertEqual(len(self.git("worktree", "list", repo=repo).splitlines()), 1)
        self.assertEqual(self.git("worktree", "prune", "--dry-run", "--verbose", repo=repo), "")
        self.assertEqual(list((repo or self.repo).parent.glob("sluice-bisect-*")), [])

    def builds(self):
        return len(list(self.cache.glob("trees/*/*.built")))

    def test_names_the_guilty_commit(self):
        done = self.bisect("--json", "--seed", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document, json.loads((self.out / "bisect.json").read_text()))
        result = document["result"]
        self.assertEqual(result["end"], "found")
        self.assertEqual(result["commit"], {"sha": self.shas[11], "subject": "change 11"})
        self.assertAlmostEqual(result["speed_change"]["point"], 1 / 1.05 - 1)
        self.assertGreaterEqual(result["confidence"], 0.95)
        self.assertEqual([probe["revision"] for probe in document["probes"]], [16, 8, 12, 10, 11])
        self.assertEqual([probe["verdict"] for probe in document["probes"]], ["bad", "good", "bad", "good", "bad"])
        self.assertEqual(document["probes"][0]["pairs"]["b"], [1.05] * 12)
        self.assertEqual(self.builds(), 6, "each revision once, GOOD among them")
        self.assertIn(f"sluice bisect {self.shas[10][:12]} {self.shas[11][:12]} --build 'sh build.sh'", result["reproduce"])
        self.assert_no_work_trees()

    def test_text_and_a_second_search_builds_nothing_again(self):
        self.assertEqual(self.bisect("--quiet").returncode, 0)
        marks = {path: path.read_text() for path in self.cache.glob("trees/*/*.built")}
        self.out = self.out.with_name("second")
        done = self.bisect("--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{self.shas[11][:12]} change 11: 4.8 % slower", done.stdout)
        self.assertIn("confidence at least 95.0 %", done.stdout)
        self.assertIn("again: sluice bisect ", done.stdout)
        self.assertEqual(done.stderr, "")
        self.assertEqual(marks, {path: path.read_text() for path in self.cache.glob("trees/*/*.built")})

    def test_what_does_not_build_hangs_or_fails_is_passed_over(self):
        repo = self.make_history("mixed", guilty=5, broken=(8,), hanging=(7,), failing=(4,))
        done = self.bisect("--json", "--build-timeout", "1s", repo=repo)
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = [tuple(map(int, found)) for found in re.findall(r"^search: .*?(\d+)/(\d+) steps", done.stderr, re.MULTILINE)]
        self.assertTrue(steps and all(count <= whole == 5 for count, whole in steps), done.stderr)
        document = json.loads(done.stdout)
        reasons = {probe["revision"]: probe["reason"] for probe in document["probes"] if probe["verdict"] == "skipped"}
        self.assertIn("does not build", reasons[8])
        self.assertIn("not finished within 1 s", reasons[7])
        self.assertIn("exit code 4", reasons[4])
        self.assertEqual(document["result"]["end"], "range")
        self.assertEqual([one["subject"] for one in document["result"]["suspects"]], ["change 4", "change 5"])
        strict = self.bisect("--strict", "--resume", "--build-timeout", "1s", repo=repo)
        self.assertEqual(strict.returncode, 3, "a range is no answer there; read again, not measured again")
        self.assertIn("one of 2 commits", strict.stdout)
        self.assert_no_work_trees(repo)

    def test_bad_that_is_not_slower_and_one_that_is_not_shown(self):
        done = self.bisect(good="HEAD~16", bad="HEAD~8")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("nothing to find: BAD is unchanged", done.stdout)
        done = self.bisect("--tau", "10%", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(json.loads(done.stdout)["result"]["end"], "not slower")

    def test_bad_input_is_one_line(self):
        self.assert_error(self.bisect(good="no-such"), 2, "GOOD no-such: unknown revision")
        self.assert_error(self.bisect(bad="no-such"), 2, "BAD no-such: unknown revision")
        self.assert_error(self.bisect(good="HEAD", bad="HEAD"), 2, "the same commit")
        self.assert_error(self.bisect(good="HEAD", bad="HEAD~3"), 2, "other way round")
        self.git("branch", "-f", "side", self.git("commit-tree", "-m", "apart", "HEAD^{tree}"))
        self.assert_error(self.bisect(bad="side"), 2, "GOOD HEAD~16 is no ancestor of BAD side")
        self.assert_error(self.bisect("--alpha", "0.5"), 2, "alpha")
        self.assert_error(self.bisect("--max-pairs", 2), 2, "--max-pairs")
        self.assert_error(self.bisect("--build-timeout", "soon"), 2, "--build-timeout soon")
        self.assert_error(self.bisect("--run", " "), 2, "--run")
        self.assertFalse(self.cache.exists(), "nothing was built")
        done = subprocess.run(self.arguments("--resume"), cwd=self.repo, capture_output=True, text=True,
                              env=self.environment())
        self.assert_error(done, 2, "--resume: add --out DIR")
        self.assert_error(self.bisect(repo=self.base), 2, "in no git work tree")

    def test_good_and_bad_must_build_and_run(self):
        for name, where in (("broken", {"broken": (0,)}), ("hung", {"hanging": (16,)}), ("failed", {"failing": (16,)})):
            repo = self.make_history(name, guilty=5, **where)
            done = self.bisect("--build-timeout", "1s", "--force", repo=repo)
            code = {"broken": 2, "hung": 124, "failed": 5}[name]
            self.assert_error(done, code, {"broken": "does not build", "hung": "not finished within 1 s",
                                           "failed": "exit code 4"}[name])
            self.assert_no_work_trees(repo)

    def test_work_trees_of_others_stay_and_what_a_kill_left_goes(self):
        repo = self.base / "others"
        shutil.copytree(self.repo, repo)
        self.git("worktree", "add", "-q", "--detach", str(self.base / "away"), repo=repo)
        (self.base / "away").rename(self.base / "unmounted")  # as a disk that is not there
        self.assertEqual(self.bisect(repo=repo).returncode, 0)
        left = next(self.cache.glob("trees/*/*.built"))
        left.unlink()  # a build that was killed: checked out, and not whole
        shutil.rmtree(left.with_suffix(""))
        self.git("worktree", "add", "-q", "--detach", str(left.with_suffix("")), repo=repo)
        self.out = self.out.with_name("second")
        self.assertEqual(self.bisect(repo=repo).returncode, 0)
        self.assertTrue(left.exists(), "built again")
        listed = self.git("worktree", "list", repo=repo).splitlines()
        self.assertEqual([line.split()[0].rsplit("/", 1)[1] for line in listed], ["others", "away"])

    def test_a_dirty_tree_is_said_and_not_measured(self):
        repo = self.base / "dirty"
        shutil.copytree(self.repo, repo)
        (repo / "number").write_text("99\n")
        done = self.bisect(repo=repo)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("uncommitted changes ( M number) belong to no commit", done.stderr)
        self.assertIn("change 11", done.stdout)

    def interrupted(self):
        """Ended by Ctrl-C while the third revision is measured: its command waits to be killed."""
        wait = self.out.with_name("wait")
        slow = f"cat built; if grep -q 'change 12' number && [ -e {wait} ]; then echo here >&2; sleep 100; fi"
        wait.write_text("")
        arguments = self.arguments("--out", self.out)
        arguments[arguments.index("--run") + 1] = f"{slow}"
        with subprocess.Popen(arguments, cwd=self.repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment()) as process:
            for line in process.stderr:
                if "is good" in line:  # revision 8; 12 is next
                    break
            while not any(self.cache.glob(f"trees/*/{self.shas[12][:12]}.built")):
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
            code = process.returncode
        wait.unlink()
        return code, output, errors, arguments

    def test_an_interrupted_search_goes_on(self):
        code, output, errors, arguments = self.interrupted()
        self.assertEqual(code, 130, errors)
        self.assertIn("go on with --resume", errors.splitlines()[-1])
        self.assertIn("searching: ", output)
        self.assert_no_work_trees()
        stored = json.loads((self.out / "bisect.json").read_text())
        self.assertIsNone(stored["result"])
        self.assertEqual([probe["verdict"] for probe in stored["probes"]], ["bad", "good", "open"])
        again = subprocess.run(arguments, cwd=self.repo, capture_output=True, text=True, env=self.environment())
        self.assert_error(again, 2, "has not ended", "--resume")
        built = {path: path.stat().st_ino for path in self.cache.glob("trees/*/*.built")}
        done = subprocess.run([*arguments, "--resume", "--json"], cwd=self.repo, capture_output=True, text=True,
                              env=self.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["result"]["commit"]["sha"], self.shas[11])
        self.assertEqual(document["probes"][:2], stored["probes"][:2], "what was measured stays")
        self.assertEqual(document["order_seed"], stored["order_seed"])
        for path, inode in built.items():
            self.assertEqual(path.stat().st_ino, inode, "built once")
        other = subprocess.run([*arguments, "--resume", "--tau", "2%"], cwd=self.repo, capture_output=True, text=True,
                               env=self.environment())
        self.assert_error(other, 2, "another search (its tau differs)")

    def test_two_searches_in_one_folder(self):
        # The lock is held by the first one, which measures a command that waits to be killed.
        arguments = self.arguments("--out", self.out)
        arguments[arguments.index("--run") + 1] = "echo started >&2; sleep 100"
        with subprocess.Popen(arguments, cwd=self.repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment()) as process:
            while not (self.out / "bisect.json").exists():
                self.assertIsNone(process.poll())
            second = self.bisect("--force")
            self.assert_error(second, 2, "process", "bisect")
            elsewhere = subprocess.run(self.arguments("--out", self.out.with_name("other")), cwd=self.repo,
                                       capture_output=True, text=True, env=self.environment())
            self.assert_error(elsewhere, 2, "trees", "process")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assert_no_work_trees()

    def test_a_damaged_record_is_refused_and_a_foreign_file_kept(self):
        self.assertEqual(self.bisect().returncode, 0)
        file = self.out / "bisect.json"
        file.write_text(file.read_text()[:500])
        self.assert_error(self.bisect("--resume"), 2, "bisect.json")
        file.write_text("mine")
        self.assert_error(self.bisect(), 2, "sluice did not write it")
        self.assertEqual(file.read_text(), "mine")

    def test_simulated_searches(self):
        done = subprocess.run([PROGRAM, "selftest", "--bisect", "--trials", "10", "--slowdowns", "5%", "--json"],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual([row["slowdown"] for row in document["slowdowns"]], [0, 0.05])
        self.assertEqual(document["slowdowns"][0]["most_probes"], 1)
        self.assertLessEqual(document["slowdowns"][1]["most_probes"], 7)
        both = subprocess.run([PROGRAM, "selftest", "--bisect", "--simulate"], capture_output=True, text=True, timeout=100)
        self.assertEqual(both.returncode, 2)
        self.assertIn("give only one", both.stderr)


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
