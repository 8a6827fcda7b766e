# tests/backend/gcp/cloud_case.py - a cloud of our own for the tests of `sluice run --backend gcp`.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

import fake_cloud

WAIT = {"SLUICE_GCP_WAIT_S": "0"}


class CloudCase(unittest.TestCase):
    """PROGRAM and SOURCE are set by the file's main. Results are measured once, by the program itself."""
    PROGRAM = None
    SOURCE = None

    @classmethod
    def setUpClass(cls):
        cls.base = pathlib.Path(tempfile.mkdtemp(prefix="sluice-gcp-test-"))
        cls.bin = cls.base / "bin"  # all of PATH: no other gcloud is ever found
        cls.bin.mkdir()
        cls.server = fake_cloud.Server()
        (cls.bin / "gcloud").write_text(cls.server.client())
        (cls.bin / "gcloud").chmod(0o755)
        cls.data = cls.base / "data"
        cls.quiet([cls.PROGRAM, "data", "make", "--count", "2", "--out", cls.data, "--quiet"])
        cls.measured = cls.base / "measured"
        local = cls.base / "local.yaml"
        local.write_text(cls.selection() + f"data: {{data_dir: {cls.data}, num_items: 2}}\nexecution: {{num_runs: 1}}\n")
        cls.quiet([cls.PROGRAM, "run", "--config", local, "--out", cls.measured, "--sample-ms", "1", "--warmup-ms", "0", "--quiet"])
        cls.bundle = cls.base / "sluice.tar.xz"
        cls.bundle.write_bytes(b"a program")

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        shutil.rmtree(cls.base)

    @staticmethod
    def quiet(command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr + done.stdout

    @staticmethod
    def script(path, text):
        path.write_text("#!/bin/bash\n" + text + "\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    @staticmethod
    def selection(mode="micro", scenario="image-rgb"):
        return (f"version: 1\nselection: {{scenario: {scenario}, mode: {mode}, libraries: [sluice], "
                "transforms: [HorizontalFlip]}\n")

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.base))
        self.cloud = self.folder / "cloud"
        self.cloud.mkdir()
        self.out = self.folder / "out"
        self.cache = self.folder / "cache"
        self.machine(results=str(self.measured))
        self.config = self.write_config("one")

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def machine(self, **what):
        (self.cloud / "vm.json").write_text(json.dumps(what))

    def write_config(self, name, machine="c4-standard-16", disk=100, extra="", selection=None):
        path = self.folder / f"{name}.yaml"
        path.write_text((selection or self.selection()) + f"""data: {{gcs_uri: gs://bucket/val.tar, num_items: 2}}
execution: {{num_runs: 1}}
output: {{gcs_results_uri: gs://bucket/results}}
cloud: {{provider: gcp, project: a-project, machine_type: {machine}, disk_size_gb: {disk}{extra}}}
""")
        return path

    def sluice(self, *arguments, variables=None, check=None):
        environment = {"PATH": str(self.bin), "HOME": str(self.folder), "FAKE_CLOUD": str(self.cloud),
                       "SLUICE_CACHE_DIR": str(self.cache), **WAIT, **(variables or {})}
        done = subprocess.run([self.PROGRAM, "run", *map(str, arguments)], capture_output=True, text=True, timeout=100,
                              env=environment, cwd=self.folder)
        if check is not None:
            self.assertEqual(done.returncode, check, done.stderr + done.stdout)
        return done

    def attached(self, *more, **options):
        return self.sluice("--config", self.config, "--attached", "--bundle", self.bundle, "--out", self.out, *more, **options)

    def names(self, kind):
        folder = self.cloud / kind
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def left(self):
        return {kind: self.names(kind) for kind in ("instances", "disks", "operations") if self.names(kind)}

    def calls(self):
        file = self.cloud / "calls.txt"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def fault(self, at, kind):
        (self.cloud / "calls.txt").unlink(missing_ok=True)
        if kind is None:
            (self.cloud / "fault.json").unlink(missing_ok=True)
        else:
            (self.cloud / "fault.json").write_text(json.dumps({"at": at, "kind": kind}))

    def reset(self):
        """Another cloud, another cache, another folder."""
        for path in (self.cloud, self.out, self.cache):
            shutil.rmtree(path, ignore_errors=True)
        self.cloud.mkdir()
        self.machine(results=str(self.measured))

    def count_calls(self, *more):
        self.attached(*more, check=0)
        number = len(self.calls())
        self.assertEqual(self.left(), {})
        return number

    def leaves_nothing(self, at, kind, *more):
        """One run with this fault; where it was killed, or the cloud stayed out of order, a second one. Returns the exit code of the first."""
        self.reset()
        self.fault(at, kind)
        limit = {"SLUICE_GCP_CALL_S": "1"} if kind.startswith("hang") else {}
        done = self.attached(*more, variables=limit)
        self.assertNotIn("Traceback", done.stderr)
        first = done.returncode
        if first < 0 or kind == "outage":
            self.fault(0, None)
            shutil.rmtree(self.out, ignore_errors=True)
            again = self.attached(check=0)
            self.assertEqual(self.left(), {}, f"call {at}, {kind}: {again.stderr}")
        self.assertEqual(self.left(), {}, f"call {at}, {kind}: {done.stderr}{done.stdout}")
        registry = self.cache / "gcp"
        self.assertEqual(sorted(p.name for p in registry.iterdir()) if registry.is_dir() else [], [], f"call {at}, {kind}")
        return first


def make_bundle(path, program):
    """An archive in the shape of `make dist` around the program that was built."""
    folder = path.parent / "bundle"
    (folder / "sluice-0/bin").mkdir(parents=True)
    CloudCase.script(folder / "sluice-0/bin/sluice", f'exec {program} "$@"')
    with tarfile.open(path, "w:xz") as archive:
        archive.add(folder / "sluice-0", "sluice-0")


def main(test_case):
    test_case.PROGRAM = sys.argv.pop(1)
    test_case.SOURCE = pathlib.Path(sys.argv.pop(1))
    os.environ.pop("SLUICE_GCP_WAIT_S", None)
    unittest.main()
