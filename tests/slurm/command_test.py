#!/usr/bin/env python3
# tests/slurm/command_test.py - `bench`, `gate` and studies with --backend slurm, with scripted programs of Slurm, and with --backend k8s.
# SPDX-License-Identifier: Apache-2.0
"""usage: command_test.py PROGRAM"""
import json
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import scripted_case

PROGRAM = Path(sys.argv.pop(1)).resolve()
# The numbers mean nothing.
GATE = ["gate", "--bench", "--compare", "--quick", "--dim", 32, "--heads", 2, "--layers", 1, "--seq-len", 16, "--batch-size", 2,
        "--warmup-steps", 1, "--measure-steps", 4, "--repeat", 1, "--baseline-dir", "none", "--quiet"]
LOADER = ["bench", "dataloader", "--input", "photos", "--batch-size", 2, "--num-workers", 1, "--quiet"]
STUDY = """
name: small
preset: small4
batch_size: 8
repeats: 2
base: {cpus: 1, mix: 2/4, read: 1/1, warmup: 1, steps: 2}
groups:
  - {label: metadata A/B, metadata: [full, dataset_only]}
"""


class CommandTest(scripted_case.ScriptedSlurm):
    PROGRAM = PROGRAM

    def on_slurm(self, command, *arguments, **named):
        return self.program(*command, "--backend", "slurm", "--out", self.out, *arguments, **named)

    def submitted(self, command, *arguments, **named):
        return json.loads(self.on_slurm(command, *arguments, "--json", **named).stdout)["types"]

    def photos(self):
        self.program("data", "make", "--kind", "rgb", "--count", "4", "--out", "photos", "--quiet")

    def study(self):
        (self.folder / "study.yaml").write_text(STUDY)
        self.program("data", "make", "--quiet", "--kind", "episodes", "--preset", "small4", "--episodes", "8", "--out", "small")
        return ["bench", "mixture", "--study", "study.yaml", "--root", "small", "--image-size", "32", "--quiet"]

    def test_a_dry_run_of_every_command_needs_no_slurm_and_writes_nothing(self):
        said = self.program("bench", "--help").stdout
        benches = re.findall(r"^  ([a-z]+) {2,}", said, re.M)
        self.assertIn("dataloader", benches)
        for command in (["gate"], *(["bench", name] for name in benches)):
            with self.subTest(command=command):
                done = self.on_slurm(command, "--dry-run", "--set", "slurm.partition=p", "--set", "cluster.gpus=1", PATH="/usr/bin:/bin")
                self.assertFalse(self.out.exists())
                for line in ("#SBATCH --array=0", "#SBATCH --partition=p", "#SBATCH --gpus-per-node=1", "#SBATCH --exclusive", "#SBATCH --requeue",
                             f"# task 0: {' '.join(command)}"):
                    self.assertIn(f"\n{line}\n", done.stdout)
                self.assertEqual(done.stdout.count("# submitted with: sbatch"), 1, "there is nothing to collect")
                subprocess.run(["bash", "-n"], input=done.stdout.partition("# submitted with")[0], text=True, check=True)
        self.assertEqual(self.calls(), [])

    def test_what_is_of_the_job_is_not_of_its_command(self):
        done = self.on_slurm(["gate", "--watch", "--repeat=3"], "--dry-run", "--set=slurm.qos=q", "--", "python3", "train.py", "--backend", "a\nb")
        self.assertIn("\n# task 0: gate --watch --repeat=3 -- python3 train.py --backend a b\n", done.stdout)

    def test_an_exit_code_and_a_folder_come_back(self):
        done = self.on_slurm(GATE, "--wait", check=4)
        self.assertRegex(done.stdout, rf"(?s)job 101: 1 tasks: 0\n.*exit code 4: {self.out}/tasks/0000\n$")
        self.assertEqual(done.stdout.count("exit code"), 1)
        self.assertIn((self.out / "tasks/0000.out").read_text(), done.stdout)
        self.assertEqual(len(self.calls("sbatch")), 1)
        self.assertEqual(len(list((self.out / "logs").glob("*.sbatch"))), 1)
        self.assertTrue((self.out / "tasks/0000/metrics.json").exists())
        self.assertEqual(json.loads((self.out / "done/0000.json").read_text())["place"]["node"], "node7")
        again = self.on_slurm(GATE, "--resume", "--json", check=4)
        self.assertEqual(json.loads(again.stdout)["types"], [{"node_type": "", "exit_code": 4, "run": str(self.out / "tasks/0000")}])
        self.assertEqual(len(self.calls("sbatch")), 1, "nothing is left to be submitted")

    def test_node_types_have_a_job_and_a_folder_each(self):
        self.photos()
        done = self.on_slurm(LOADER, "--wait", "--json", "--set", "cluster.node_types=[small,large]")
        self.assertEqual([(one["node_type"], one["exit_code"]) for one in json.loads(done.stdout)["types"]], [("small", 0), ("large", 0)])
        for name in ("small", "large"):
            self.program("validate", self.out / name / "tasks/0000")
        self.assertEqual(len(self.calls("sbatch")), 2)

    def test_what_was_killed_goes_on_or_begins_anew(self):
        self.photos()
        (self.slurm / "hold").touch()
        for command, aside in ((LOADER, True), (GATE, False)):
            self.on_slurm(command)
            task = self.out / "tasks/0000"
            task.mkdir(parents=True)  # as an attempt leaves it that was killed at once
            self.program("slice", self.out, SLURM_ARRAY_TASK_ID="0", SLURM_RESTART_COUNT="1", check=0 if aside else 4)
            self.assertEqual((self.out / "tasks/0000.1").is_dir(), aside)
            marker = json.loads((self.out / "done/0000.json").read_text())
            self.assertEqual((marker["place"]["restart_count"], marker["exit_code"]), ("1", 0 if aside else 4))
            self.assertIn("was done before", self.program("slice", self.out, "--index", "0").stdout)
            shutil.rmtree(self.out)

    def test_bad_input_on_a_node_is_named_and_not_done(self):
        done = self.on_slurm(LOADER, "--wait", check=5)
        self.assertRegex(done.stderr.splitlines()[-1], r"^sluice: 1 of 1 tasks are not done \(0\); task 0: node node7: task 0: .*photos.*; continue with --resume$")
        self.photos()
        [one] = self.submitted(LOADER, "--resume")
        self.assertEqual(one["tasks"], [0])
        self.on_slurm(LOADER, "--resume")

    def test_what_waits_or_runs_is_not_submitted_again_and_a_wait_can_be_left(self):
        (self.slurm / "hold").touch()
        self.on_slurm(GATE)
        token = json.loads((self.out / "submission.json").read_text())["token"]
        (self.slurm / "queue").write_text(f"sluice-job 101 0 RUNNING sluice-{token}\n")
        [one] = self.submitted(GATE, "--resume")
        self.assertEqual((one["tasks"], one["in_queue"]), ([], [0]))
        looked = len(self.calls("squeue"))
        with subprocess.Popen([PROGRAM, *map(str, GATE), "--backend", "slurm", "--out", self.out, "--resume", "--wait"], cwd=self.folder,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waits:
            while len(self.calls("squeue")) < looked + 2:  # the second is of the wait
                self.assertIsNone(waits.poll())
            waits.send_signal(signal.SIGINT)
            said = waits.communicate()[1]
        self.assertEqual(waits.returncode, 130, said)
        self.assertRegex(said, r"its jobs go on, wait again with --out \S+ --resume --wait\n$")
        self.assertEqual(len(self.calls("sbatch")), 1)
        self.assertEqual(self.calls("scancel"), [])

    def test_a_study_is_a_task_for_each_repeat(self):
        study = self.study()
        self.skip(1)
        [one] = self.submitted(study)
        self.assertEqual((one["tasks"], one["array_job"], one["collect_job"]), ([0, 1], "101", "102"))
        self.assertFalse((self.out / "study.json").exists(), "a study with holes is none")
        first = (self.out / "tasks/0000/study.json").read_text()
        self.skip()
        self.assertEqual([two["tasks"] for two in self.submitted(study, "--resume", "--dry-run")], [[1]])
        done = self.on_slurm(study, "--resume", "--wait")
        self.assertRegex(done.stdout, r"job 103: 1 tasks: 1\njob 104: collects them\n")
        self.assertIn((self.out / "recommendation.md").read_text(), done.stdout)
        self.assertEqual((self.out / "tasks/0000/study.json").read_text(), first)
        whole = json.loads((self.out / "study.json").read_text())
        self.assertEqual(sorted(run["repeat"] for run in whole["runs"]), [1, 1, 2, 2])
        self.assertEqual(len({(run["machine"], run.get("host", "")) for run in whole["runs"]}), 1, "repeats on nodes alike are one table")
        self.assertEqual((self.out / "recommendation.md").read_text().count("## Machine "), 1)
        calls = len(self.calls("sbatch"))
        self.on_slurm(study, "--resume")
        self.assertEqual(len(self.calls("sbatch")), calls)
        # A repeat that began on one node and was put back on another counts as of the last.
        second = self.out / "tasks/0001/study.json"
        record = json.loads(second.read_text())
        moved = [{**run, "host": "0123456789ab"} for run in record["runs"][:1]]
        second.write_text(json.dumps({**record, "runs": moved + record["runs"]}))
        self.program("slice", self.out, "--collect")
        self.assertEqual(len(json.loads((self.out / "study.json").read_text())["runs"]), 4)
        second.write_text(re.sub(r'("machine": ")[^"]*', r"\1cpu-other", json.dumps(record)))
        done = self.program("slice", self.out, "--collect", check=2)
        self.assertRegex(done.stderr, r"0001: was measured on cpu-other, repeats before it on \S+: machines of two kinds are never put in one table")

    def manifest(self, command, *arguments):
        """ConfigMap and jobs; the volume is mounted at self.folder, where commands find what they read."""
        done = self.program(*command, "--backend", "k8s", "--dry-run", "--json", "--set", "k8s.image=sluice:1", "--set", "k8s.claim=work",
                            "--set", f"k8s.mount={self.folder}", *arguments, PATH="/usr/bin:/bin")
        config_map, *jobs = json.loads(done.stdout)["objects"]
        self.assertEqual((config_map["kind"], [job["kind"] for job in jobs]), ("ConfigMap", ["Job"] * len(jobs)))
        return config_map, jobs

    def pod(self, config_map, job, index, check=0):
        """What Kubernetes does with one index of the job, in this folder."""
        mounted = self.folder / "etc"
        mounted.mkdir(exist_ok=True)
        for name, text in config_map["data"].items():
            (mounted / name).write_text(text)
        [container] = job["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["workingDir"], str(self.folder))
        words = [str(mounted) if word == "/etc/sluice" else word for word in container["args"]]
        return self.program(*words, JOB_COMPLETION_INDEX=str(index), SLUICE_NODE="node5", check=check)

    def test_every_command_has_a_manifest(self):
        benches = re.findall(r"^  ([a-z]+) {2,}", self.program("bench", "--help").stdout, re.M)
        names = set()
        for command in (["gate"], *(["bench", name] for name in benches)):
            with self.subTest(command=command):
                config_map, [job] = self.manifest(command, "--set", "cluster.gpus=1", "--set", "k8s.namespace=team")
                submission = json.loads(config_map["data"]["submission.json"])
                self.assertEqual((submission["backend"], submission["commands"], list(config_map["data"])), ("k8s", [command], ["submission.json"]))
                self.assertEqual((job["spec"]["completions"], job["metadata"]["namespace"]), (1, "team"))
                [container] = job["spec"]["template"]["spec"]["containers"]
                self.assertEqual(container["args"][:2], ["slice", str(self.folder / "-".join(command))])
                self.assertEqual(container["resources"]["limits"], {"nvidia.com/gpu": "1"})
                names.add(job["metadata"]["name"])
        self.assertEqual(len(names), len(benches) + 1, "no job of one command takes the place of another")
        self.assertEqual(self.calls(), [])

    def test_a_pod_ends_as_its_command_and_is_not_tried_again_for_that(self):
        config_map, [small, large] = self.manifest(GATE, "--out", self.folder / "gated", "--set", "cluster.node_types=[small,large]")
        self.assertEqual(json.loads(config_map["data"]["submission.json"])["commands"], [list(map(str, GATE))])
        self.assertTrue((self.folder / "gated/k8s.yaml").exists())
        self.assertEqual(small["spec"]["podFailurePolicy"]["rules"][1]["onExitCodes"]["values"], [1, 2, 3, 4])
        self.assertEqual(large["spec"]["template"]["spec"]["nodeSelector"], {"node.kubernetes.io/instance-type": "large"})
        self.pod(config_map, small, 0, check=4)
        self.assertTrue((self.folder / "gated/small/tasks/0000/metrics.json").exists())
        self.assertFalse((self.folder / "gated/large").exists())
        self.assertIn("was done before", self.pod(config_map, small, 0).stdout)

    def test_the_pods_of_a_study_measure_its_repeats_and_the_last_collects(self):
        config_map, [job] = self.manifest(self.study())
        out = self.folder / "bench-mixture"
        self.assertEqual(job["spec"]["completions"], 2)
        for index in (1, 0):
            self.assertFalse((out / "study.json").exists())
            self.pod(config_map, job, index)
        self.assertEqual(sorted(run["repeat"] for run in json.loads((out / "study.json").read_text())["runs"]), [1, 1, 2, 2])

    def test_inside_an_allocation_the_command_is_a_step(self):
        done = self.on_slurm(GATE, SLURM_JOB_ID="7", SLURM_JOB_NODELIST="node[7-8]", check=4)
        self.assertIn("exit code 4", done.stdout)
        self.assertEqual((self.calls("sbatch"), len(self.calls("srun"))), ([], 1))
        self.out = self.folder / "study"
        self.on_slurm(self.study(), SLURM_JOB_ID="7", SLURM_JOB_NODELIST="node[7-8]")
        self.assertEqual(len(json.loads((self.out / "study.json").read_text())["runs"]), 4)

    def test_what_does_not_fit_is_refused_in_one_line(self):
        self.assertRegex(self.on_slurm(GATE, check=2, PATH="/nowhere").stderr, r"^[^\n]*sbatch: not in PATH[^\n]*\n$")
        self.assertFalse(self.out.exists())
        study = self.study()
        for arguments, words in (
                (["gate", "--wait"], "--wait: belongs to --backend slurm"), (["bench", "decode", "--dry-run"], "--dry-run: belongs to"),
                (["gate", "--set", "slurm.qos=q"], "--set: belongs to"), ([*LOADER, "--resume"], "--resume: belongs to --backend slurm"),
                (["gate", "--backend", "k8s"], "--backend k8s: needs --dry-run"), (["gate", "--backend", "k8s", "--dry-run"], "k8s.image: needed"),
                (["gate", "--backend", "k8s", "--dry-run", "--resume"], "--resume: not with --backend k8s"), (["gate", "--backend", "gke"], "k8s"),
                (["gate", "--backend", "k8s", "--dry-run", "--wait"], "--wait: belongs to --backend slurm"),
                (["gate", "--backend", "k8s", "--dry-run", "--set", "k8s.image='a b'"], "no single word"),
                (["gate", "--backend", "slurm", "--resume"], "--resume: needs --out DIR"),
                (["gate", "--backend", "slurm", "--dry-run", "--set", "data.num_items=2"], "data"),
                (["gate", "--backend", "slurm", "--dry-run", "--set", "slurm.partition='a b'"], "no single word"),
                ([*study, "--backend", "slurm", "--then-train", "1", "--out", "s"], "--then-train"),
                ([*study, "--backend", "k8s", "--dry-run", "--then-train", "1"], "not with --backend k8s"),
                (["bench", "mixture", "--study", "none.yaml", "--backend", "slurm", "--dry-run"], "none.yaml")):
            done = self.program(*arguments, check=2)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        (self.slurm / "hold").touch()
        self.on_slurm(GATE)
        done = self.on_slurm(["bench", "harness"], "--resume", check=2)
        self.assertRegex(done.stderr, r"^[^\n]*was begun as `[^\n]* gate [^\n]*; continue that, or name a new folder\n$")
        self.assertEqual(len(self.calls("sbatch")), 1)


if __name__ == "__main__":
    unittest.main()
