#!/usr/bin/env python3
# tests/env/command_test.py - `sluice env` as a user runs it.
# SPDX-License-Identifier: Apache-2.0
# usage: command_test.py <path of the program> <version of Highway, empty: built without>
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
HIGHWAY = sys.argv.pop(1) or None


def run(*args, cwd=None, **variables):
    environment = {**os.environ, "OMP_NUM_THREADS": "3", "SLUICE_TEST_TOKEN": "do-not-show-me", **variables}
    return subprocess.run([PROGRAM, "env", *args], capture_output=True, text=True, cwd=cwd, env=environment, timeout=60)


class EnvCommand(unittest.TestCase):
    def test_json_is_one_document(self):
        done = run("--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        document = json.loads(done.stdout)
        self.assertEqual(list(document), ["schema_version", "machine_profile", "environment", "kernel_forms", "noise"])
        self.assertRegex(document["machine_profile"], r"^[A-Za-z0-9._-]+_sluice\d+")
        self.assertEqual(document["environment"]["variables"]["OMP_NUM_THREADS"], "3")
        self.assertIn(document["noise"]["verdict"], ("quiet", "usable", "noisy"))
        self.assertEqual(document["environment"]["build"]["highway"], HIGHWAY)
        self.assertEqual(document["machine_profile"], json.loads(run("--json").stdout)["machine_profile"])

    def test_nothing_private_is_shown(self):
        home = tempfile.gettempdir() + "/people/somebody"
        text = run("--json", HOME=home, SLUICE_CACHE=home + "/cache").stdout + run(HOME=home).stdout
        self.assertNotIn("do-not-show-me", text)
        self.assertNotIn("SLUICE_TEST_TOKEN", text)
        self.assertNotIn("somebody", text)
        self.assertIn('"SLUICE_CACHE": "~/cache"', text)

    def test_summary_names_profile_and_noise(self):
        done = run()
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"(?m)^machine profile +\S+$")
        self.assertRegex(done.stdout, r"(?m)^noise +\d+ of 100: (quiet|usable|noisy)$")

    def test_out_writes_env_json(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("--out", folder + "/new/run", "--data-dir", folder + "/not/there")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(folder + "/new/run/env.json", encoding="utf-8") as file:
                document = json.load(file)
            self.assertEqual([name for name in os.listdir(folder + "/new/run") if not name.startswith(".")], ["env.json"])
            self.assertIn(document["machine_profile"], done.stdout)
            self.assertEqual(document["schema_version"], 1)

    def test_out_that_is_a_file_is_refused(self):
        with tempfile.NamedTemporaryFile() as file:
            done = run("--json", "--out", file.name)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(os.path.basename(file.name), done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_without_git_the_commit_is_unknown(self):
        with tempfile.TemporaryDirectory() as folder:
            git = json.loads(run("--json", cwd=folder, PATH=folder).stdout)["environment"]["git"]
            self.assertEqual(git, {"sha": "unknown", "dirty": None})


if __name__ == "__main__":
    unittest.main()
