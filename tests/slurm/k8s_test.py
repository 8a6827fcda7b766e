#!/usr/bin/env python3
# tests/slurm/k8s_test.py - the manifest of `run --backend k8s --dry-run` against the schemas of Kubernetes themselves.
# SPDX-License-Identifier: Apache-2.0
"""usage: k8s_test.py PROGRAM"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))
import peer  # noqa: E402

CONFIG = "configs/examples/local_rgb_micro_cpu.yaml"
VERSIONS = ("1.31.0", "1.34.0", "1.37.0")  # backoffLimitPerIndex is of 1.28 and later


class ManifestTest(unittest.TestCase):
    def manifest(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, "run", "--config", peer.ROOT / CONFIG, "--backend", "k8s", "--dry-run", "--out", folder,
                                   "--set", "k8s.image=registry.example/sluice:1", "--set", "k8s.claim=results", *arguments],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((Path(folder) / "k8s.yaml").read_text(), done.stdout)
        return list(yaml.safe_load_all(done.stdout))

    def test_every_object_is_valid(self):
        for arguments in ([], ["--set", "cluster.node_types=[n2-standard-8, c4]", "--set", "cluster.cpus=8", "--set", "cluster.gpus=1",
                               "--set", "cluster.memory=4GiB", "--set", "cluster.minutes=30", "--set", "cluster.parallel=3"]):
            objects = self.manifest(*arguments)
            self.assertEqual(objects[0]["kind"], "ConfigMap")
            for version in VERSIONS:
                for one in objects:
                    kubernetes_validate.validate(one, version, strict=True)

    def test_a_wrong_object_is_found(self):
        job = self.manifest()[1]
        job["spec"]["backoffLimitPerIndex"] = "three"
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(job, VERSIONS[-1], strict=True)

    def test_the_job_is_indexed_and_forgives_evictions(self):
        job = self.manifest("--set", "cluster.parallel=3", "--set", "cluster.node_types=[c4]")[1]
        spec = job["spec"]
        self.assertEqual((spec["completionMode"], spec["completions"], spec["parallelism"]), ("Indexed", 12, 3))
        self.assertEqual(spec["template"]["spec"]["restartPolicy"], "Never")
        self.assertEqual(spec["podFailurePolicy"]["rules"][0]["action"], "Ignore")
        self.assertEqual(spec["template"]["spec"]["nodeSelector"], {"node.kubernetes.io/instance-type": "c4"})


if __name__ == "__main__":
    peer.enter("kubernetes")
    import kubernetes_validate
    import yaml
    PROGRAM = Path(sys.argv.pop(1)).resolve()
    unittest.main()
