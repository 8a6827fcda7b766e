#!/usr/bin/env python3
# tests/slurm/k8s_test.py - manifests of `--backend k8s --dry-run`, of plans and commands, against the schemas of Kubernetes themselves.
# SPDX-License-Identifier: Apache-2.0
"""usage: k8s_test.py PROGRAM"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters"))
import peer  # noqa: E402

CONFIG = "configs/examples/local_rgb_micro_cpu.yaml"
VERSIONS = ("1.31.0", "1.34.0", "1.37.0")  # backoffLimitPerIndex is of 1.28 and later


TYPES = ["--set", "cluster.node_types=[n2-standard-8, c4]", "--set", "cluster.cpus=8", "--set", "cluster.gpus=1",
         "--set", "cluster.memory=4GiB", "--set", "cluster.minutes=30", "--set", "cluster.parallel=3"]
COMMANDS = {"gate": ["gate", "--quick"], "loader": ["bench", "dataloader", "--input", "a 'b' \"c\": {d}"], "training": ["bench", "training", "--model", "vit5-tiny", "--mode", "synthetic"],
            "study": ["bench", "mixture", "--study", "configs/studies/samples_per_episode.yaml", "--root", "robots"]}


class ManifestTest(unittest.TestCase):
    def manifest(self, *arguments, command=("run", "--config", CONFIG)):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, *command, "--backend", "k8s", "--dry-run", "--out", folder,
                                   "--set", "k8s.image=registry.example/sluice:1", "--set", "k8s.claim=results", *arguments],
                                  capture_output=True, text=True, timeout=60, check=False, cwd=peer.ROOT)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((Path(folder) / "k8s.yaml").read_text(), done.stdout)
        return list(yaml.safe_load_all(done.stdout))

    def test_every_object_is_valid(self):
        for arguments in ([], TYPES):
            self.check(self.manifest(*arguments))

    def check(self, objects):
        self.assertEqual(objects[0]["kind"], "ConfigMap")
        for version in VERSIONS:
            for one in objects:
                kubernetes_validate.validate(one, version, strict=True)

    def test_every_object_of_a_command_is_valid(self):
        for name, command in COMMANDS.items():
            for arguments in ([], TYPES):
                with self.subTest(name=name, arguments=arguments):
                    objects = self.manifest(*arguments, command=command)
                    self.check(objects)
                    self.assertEqual(len(objects), 1 + (2 if arguments else 1))
                    commands = json.loads(objects[0]["data"]["submission.json"])["commands"]
                    self.assertEqual(objects[1]["spec"]["completions"], len(commands))
                    for number, words in enumerate(commands, 1):
                        self.assertEqual(words, [*command, "--only-repeat", str(number)] if name == "study" else command)

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
