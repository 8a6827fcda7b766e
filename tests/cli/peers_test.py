#!/usr/bin/env python3
# tests/cli/peers_test.py - `sluice peers` and `sluice doctor` as a user meets them; Python, venv and pip are played.
# SPDX-License-Identifier: Apache-2.0
"""usage: peers_test.py PROGRAM"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

PROGRAM = None
SOURCE = pathlib.Path(__file__).resolve().parents[2]

# A worker that does all that a check asks for. It tells what it sees of the environment as "versions".
GOOD = """
    import json, os, sys
    requests = os.fdopen(int(os.environ["SLUICE_PEER_IN"]))
    answers = os.fdopen(int(os.environ["SLUICE_PEER_OUT"]), "w")
    seen = ("PYTHONPATH", "MY_TOKEN", "OMP_NUM_THREADS", "ALBUMENTATIONS_NO_TELEMETRY", "PYTHONNOUSERSITE")
    for line in requests:
        request = json.loads(line)
        answer = {"type": request["type"], "id": request["id"]}
        if request["type"] == "hello":
            answer |= {"protocol": 1, "version": "11.0", "versions": {n: os.environ.get(n, "") for n in seen}}
        if request["type"] == "configure":
            answer |= {"threads": 1, "in_force": {"policy": request["thread_policy"]}}
        if request["type"] == "support":
            names = [c["case"] for c in request["cases"]]
            answer |= {"supported": names[1:], "unsupported": {names[0]: "TypeError: no"}}
        print(json.dumps(answer), file=answers, flush=True)
        if request["type"] == "bye":
            break
"""
GARBAGE = """
    import os, sys
    requests = os.fdopen(int(os.environ["SLUICE_PEER_IN"]))
    answers = os.fdopen(int(os.environ["SLUICE_PEER_OUT"]), "w")
    for line in requests:
        print("hello, I am no protocol", file=answers, flush=True)
"""
EXITING = """
    import sys
    print("ImportError: the library is broken", file=sys.stderr)
    sys.exit(3)
"""


class Peers(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "adapters/python/requirements").mkdir(parents=True)
        for group in ("light", "albumentationsx", "torch"):
            (self.root / f"adapters/python/requirements/{group}.txt").write_text("numpy==2.1.0\n")
        (self.root / "version").write_text("3.11.2")
        self.python = self.root / "python3"
        body = (SOURCE / "tests/peers/fake_python.sh").read_text()
        self.python.write_text(f"#!/bin/sh\nroot='{self.root}'\n{body}")
        self.python.chmod(0o755)
        self.environment = {
            **os.environ,
            "SLUICE_CACHE_DIR": str(self.root / "cache"),
            "SLUICE_ADAPTERS": str(self.root / "adapters"),
            "SLUICE_PYTHON": str(self.python),
        }

    def start(self, *arguments, **more):
        return subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**self.environment, **more})

    def run_program(self, *arguments, code=0, **more):
        process = self.start(*arguments, **more)
        out, err = process.communicate(timeout=400)  # under sanitizers a check of all our modes takes 80 s
        self.assertEqual(process.returncode, code, err + out)
        return out, err

    def calls(self, words):
        file = self.root / "calls"
        return sum(line.startswith(words) for line in file.read_text().splitlines()) if file.exists() else 0

    def adapter(self, name, text):
        (self.root / f"adapters/python/{name}_worker.py").write_text(textwrap.dedent(text))

    def check(self, *names, code=0, **more):
        out, _ = self.run_program("peers", "check", *names, "--json", code=code, **more)
        document = json.loads(out)
        self.assertEqual(document["healthy"], code == 0)
        return {(row["library"], row["mode"]): row for row in document["workers"]}


class List(Peers):
    def test_names_what_is_there(self):
        out, _ = self.run_program("peers", "list")
        self.assertIn("AGPL", out)
        self.run_program("peers", "install", "pillow")
        libraries = {one["name"]: one for one in json.loads(self.run_program("peers", "list", "--json")[0])["libraries"]}
        installed = {way["mode"]: way["installed"] for way in libraries["pillow"]["ways"]}
        self.assertEqual(installed, {"micro": True, "jpeg": True, "pipeline": False})
        self.assertTrue(libraries["dali"]["needs_gpu"])


class Install(Peers):
    def test_installs_once(self):
        out, err = self.run_program("peers", "install")
        self.assertIn("light: installed in", out)
        self.assertIn("install light", err)
        out, _ = self.run_program("peers", "install", "pillow", "opencv", "light")
        self.assertIn("light: already installed", out)
        self.assertEqual(self.calls("-m pip install"), 1)
        report = json.loads(self.run_program("peers", "install", "--json")[0])["environments"]
        self.assertEqual([(one["group"], one["fresh"]) for one in report], [("light", False)])

    def test_libraries_mean_their_groups(self):
        out, _ = self.run_program("peers", "install", "torchvision", "albumentationsx", "pillow")
        self.assertEqual([line.partition(":")[0] for line in out.splitlines()], ["light", "albumentationsx", "torch"])
        out, _ = self.run_program("peers", "install", "sluice")
        self.assertIn("nothing to install", out)

    def test_two_at_once(self):
        os.mkfifo(self.root / "gate")
        both = [self.start("peers", "install", "--json") for _ in range(2)]
        with open(self.root / "gate", "w") as gate:  # opens when one of them has reached pip
            gate.write("\n")
        fresh = []
        for process in both:
            out, err = process.communicate(timeout=100)
            self.assertEqual(process.returncode, 0, err)
            fresh.append(json.loads(out)["environments"][0]["fresh"])
        self.assertEqual(sorted(fresh), [False, True])
        self.assertEqual(self.calls("-m pip install"), 1)

    def test_an_interrupt_is_repaired(self):
        os.mkfifo(self.root / "gate")
        process = self.start("peers", "install")
        gate = open(self.root / "gate", "w")  # pip is waiting
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=100)
        gate.close()
        self.assertEqual(process.returncode, 130, err)
        (self.root / "gate").unlink()
        out, err = self.run_program("peers", "install")
        self.assertIn("light: installed in", out)
        self.assertIn("is only half installed: it is removed and made again", err)

    def test_errors_say_what_to_do(self):
        for more, words in (
            ({"SLUICE_PYTHON": "/no/python"}, "SLUICE_PYTHON /no/python: is no program"),
            ({"SLUICE_ADAPTERS": "/nowhere"}, "SLUICE_ADAPTERS /nowhere: has no folder 'python'"),
        ):
            out, err = self.run_program("peers", "install", "--quiet", code=2, **more)
            self.assertEqual(out, "")
            self.assertIn(words, err)
        (self.root / "broken").write_text("ERROR: the wheel is cursed\n")
        _, err = self.run_program("peers", "install", "--quiet", code=2)
        self.assertIn("ERROR: the wheel is cursed; log: ", err)
        self.assertEqual(len(err.splitlines()), 1, err)
        _, err = self.run_program("peers", "install", "pilow", code=2)
        self.assertIn("did you mean 'pillow'?", err)


class Check(Peers):
    def test_a_good_worker(self):
        self.run_program("peers", "install")
        self.adapter("pillow", GOOD)
        rows = self.check("pillow", PYTHONPATH="/elsewhere", MY_TOKEN="secret", OMP_NUM_THREADS="7")
        row = rows["pillow", "micro"]
        self.assertEqual((row["status"], row["version"], row["threads"]), ("ok", "11.0", 1))
        self.assertEqual(row["versions"], {"PYTHONPATH": "", "MY_TOKEN": "", "OMP_NUM_THREADS": "1",
                                           "ALBUMENTATIONS_NO_TELEMETRY": "1", "PYTHONNOUSERSITE": "1"})
        self.assertEqual(row["in_force"], {"policy": "micro-single"})
        counts = {one["scenario"]: (one["supported"], one["asked"]) for one in row["support"]}
        self.assertEqual(counts, {"image-rgb": (56, 57), "image-9ch": (40, 41), "video-16f": (50, 51)})
        self.assertEqual(row["support"][0]["unsupported"], {"image-rgb/micro/Resize": "TypeError: no"})
        # The torch group was not asked for: said, and no failure.
        self.assertEqual(rows["pillow", "pipeline"]["status"], "not installed")
        self.assertIn("run: sluice peers install torch", rows["pillow", "pipeline"]["reason"])
        out, _ = self.run_program("peers", "check", "pillow")
        self.assertIn("56/57", out)
        self.assertIn("image-rgb: TypeError: no: Resize", out)

    def test_bad_workers_are_failures_with_a_reason(self):
        self.run_program("peers", "install", "light", "albumentationsx")
        self.adapter("albumentationsx", GARBAGE)
        self.adapter("pillow", EXITING)
        rows = self.check("albumentationsx", "pillow", code=1)
        garbage, exiting = rows["albumentationsx", "micro"], rows["pillow", "micro"]
        self.assertEqual((garbage["status"], exiting["status"]), ("failed", "failed"))
        self.assertIn("hello: the worker answered with something that is", garbage["reason"])
        self.assertIn("exited with code 3; last line of its log: ImportError: the library is broken", exiting["reason"])

    def test_what_is_not_installed_is_no_failure(self):
        self.adapter("pillow", GOOD)
        row = self.check("pillow")["pillow", "micro"]
        self.assertEqual(row["status"], "not installed")
        self.assertEqual(row["reason"], "environment 'light' is not installed; run: sluice peers install pillow")
        out, _ = self.run_program("peers", "check", "pillow")
        self.assertIn("not installed: pillow (micro), pillow (jpeg): sluice peers install light", out)
        self.assertIn("all that is installed works", out)
        self.assertLessEqual(max(map(len, out.splitlines()[:-1])), 120)
        rows = self.check()
        self.assertEqual(rows["kornia", "micro"]["status"], "not installed")
        self.assertEqual(rows["sluice", "micro"]["status"], "ok")


class Doctor(Peers):
    def test_says_what_is_missing(self):
        document = json.loads(self.run_program("doctor", "--json")[0])
        checks = {one["check"]: one for one in document["checks"]}
        self.assertEqual(checks["peers: light"]["status"], "warning")
        self.assertEqual(checks["peers: light"]["fix"], "sluice peers install light")
        self.assertEqual(checks["peers: torch"]["status"], "missing")
        self.assertEqual(checks["python"]["status"], "ok")
        self.assertIn("free", checks["disk of environments"]["value"])
        self.run_program("doctor", "--fail-on-warning", code=1)
        self.run_program("peers", "install")
        document = json.loads(self.run_program("doctor", "--json")[0])
        checks = {one["check"]: one for one in document["checks"]}
        self.assertEqual(checks["peers: light"]["status"], "ok")
        self.assertIn("opencv-python-headless 4.10", checks["peers: light"]["value"])

    def test_a_python_without_venv(self):
        (self.root / "missing").write_text("ensurepip")
        checks = {one["check"]: one for one in json.loads(self.run_program("doctor", "--json")[0])["checks"]}
        self.assertEqual(checks["python"]["status"], "warning")
        self.assertEqual(checks["python"]["fix"], "apt-get install python3-venv")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
