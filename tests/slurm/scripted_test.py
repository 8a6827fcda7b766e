#!/usr/bin/env python3
# tests/slurm/scripted_test.py - `sluice run --backend slurm` with scripted programs of Slurm: what is submitted, resumed, collected.
# SPDX-License-Identifier: Apache-2.0
"""usage: scripted_test.py PROGRAM"""
import json
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import scripted_case

PROGRAM = Path(sys.argv.pop(1)).resolve()
QUICK = ["--sample-ms", "1", "--warmup-ms", "0"]  # the numbers mean nothing
TRANSFORMS = ["HorizontalFlip", "VerticalFlip", "Transpose", "Resize", "Invert"]


class SlurmTest(scripted_case.ScriptedSlurm):
    PROGRAM = PROGRAM

    def setUp(self):
        super().setUp()
        self.config = self.folder / "run.yaml"
        self.write_config()

    def write_config(self, cluster="cases_per_task: 2", data="num_items: 2", more=""):
        self.config.write_text(f"""version: 1
selection:
  scenario: image-rgb
  mode: micro
  libraries: [sluice]
  transforms: [{', '.join(TRANSFORMS)}]
  peers: {{twin: [{PROGRAM}, worker]}}
data: {{{data}}}
execution: {{num_runs: 1}}
cluster: {{{cluster}}}
{more}""")

    def submit(self, *arguments, **named):
        return self.program("run", "--config", self.config, "--backend", "slurm", "--out", self.out, *QUICK, *arguments, **named)

    def submitted(self, *arguments, **named):
        return json.loads(self.submit(*arguments, "--json", **named).stdout)["types"]

    def rows(self, folder=None, library="sluice"):
        file = (folder or self.out) / "results/image-rgb/micro" / f"{library}_micro_results.json"
        return {row["params"]["transform"]: row for row in json.loads(file.read_text())["rows"]}

    def test_a_dry_run_needs_no_slurm_and_writes_nothing(self):
        self.write_config("node_types: [small, large], cases_per_task: 2, parallel: 8, cpus: 16, gpus: 1, memory: 2GiB, minutes: 90",
                          more="slurm: {partition: p, account: a, qos: q, setup: [module load cuda], options: ['--reservation=night']}")
        done = self.submit("--dry-run", PATH="/usr/bin:/bin")
        self.assertFalse(self.out.exists())
        self.assertEqual(self.calls(), [])
        for line in ("#SBATCH --array=0-2%8", "#SBATCH --constraint=small", "#SBATCH --constraint=large", "#SBATCH --requeue",
                     "#SBATCH --exclusive", "#SBATCH --partition=p", "#SBATCH --account=a", "#SBATCH --qos=q",
                     "#SBATCH --cpus-per-task=16", "#SBATCH --gpus-per-node=1", "#SBATCH --mem=2048M", "#SBATCH --time=90",
                     "#SBATCH --reservation=night", "module load cuda", "# task 0: HorizontalFlip VerticalFlip", "# task 2: Invert",
                     f'#SBATCH --output="{self.out}/logs/%x-%A_%a.out"', f'#SBATCH --chdir="{self.folder}"'):
            self.assertIn(f"\n{line}\n", done.stdout)
        self.assertRegex(done.stdout, r"# submitted with: sbatch --parsable --dependency=afterany:JOBID \S+collect\.1\.sbatch\n")
        for script in done.stdout.split("#!/bin/bash")[1:]:
            subprocess.run(["bash", "-n"], input=script.partition("# submitted with")[0], text=True, check=True)

    def test_without_slurm_one_line_names_what_is_missing(self):
        done = self.submit(check=2, PATH="/nowhere")
        self.assertRegex(done.stderr, r"^[^\n]*sbatch: not in PATH[^\n]*\n$")
        self.assertFalse(self.out.exists())

    def test_an_array_then_a_job_that_collects(self):
        [one] = self.submitted()
        self.assertEqual((one["tasks"], one["array_job"], one["collect_job"]), ([0, 1, 2], "101", "102"))
        array, collect = self.calls("sbatch")
        self.assertEqual(array[:2], ["sbatch", "--parsable"])
        self.assertIn("--dependency=afterany:101", collect)
        planned = json.loads(self.program("plan", "--config", self.config, "--json").stdout)["plan"]
        found = sorted(str(path.relative_to(self.out)) for path in (self.out / "results").rglob("*.json"))
        self.assertEqual(found, sorted(planned["expected_outputs"]))
        for library in ("sluice", "twin"):
            self.assertEqual(list(self.rows(library=library)), TRANSFORMS)
            self.assertEqual({row["status"] for row in self.rows(library=library).values()}, {"ok"})
        for name in ("report.md", "report.html", "env.json", "resolved_config.yaml", "done/0002.json", "done/collect.json"):
            self.assertTrue((self.out / name).is_file(), name)
        self.assertEqual(len(list((self.out / "logs").glob("*.sbatch"))), 2)
        self.program("validate", self.out)
        self.program("coverage", self.out)
        cluster = json.loads((self.out / "env.json").read_text())["cluster"]
        self.assertEqual([task["array_task_id"] for task in cluster["tasks"]], ["0", "1", "2"])
        self.assertEqual({task["node"] for task in cluster["tasks"]}, {"node7"})
        self.program("publish", "--from", self.out, "--to", self.folder / "public", "--purpose", "test", "--machine", "m")
        self.assertNotIn("node7", "".join(path.read_text() for path in (self.folder / "public").rglob("*.json")))

    def test_resume_submits_exactly_what_is_missing(self):
        self.skip(1)
        self.submit()
        self.assertFalse((self.out / "report.md").exists(), "a table with holes is no table")
        before = json.loads((self.out / "done/0000.json").read_text())
        self.skip()
        shown = self.submitted("--resume", "--dry-run")
        [one] = self.submitted("--resume")
        self.assertEqual((one["tasks"], [two["tasks"] for two in shown]), ([1], [[1]]))
        self.assertEqual(list(self.rows()), TRANSFORMS)
        self.assertEqual(json.loads((self.out / "done/0000.json").read_text()), before)
        calls = len(self.calls("sbatch"))
        [one] = self.submitted("--resume")
        self.assertTrue(one["complete"])
        self.assertEqual(len(self.calls("sbatch")), calls, "nothing is left to be submitted")

    def test_what_waits_or_runs_is_not_submitted_again(self):
        (self.slurm / "hold").touch()
        self.submit()
        token = json.loads((self.out / "submission.json").read_text())["token"]
        (self.slurm / "queue").write_text(f"sluice-job 101 1 RUNNING sluice-{token}\nsluice-job 101 2 COMPLETING sluice-{token}\n"
                                          f"sluice-job 102 N/A PENDING sluice-{token}-collect\n")
        [one] = self.submitted("--resume")
        self.assertEqual((one["tasks"], one["in_queue"]), ([0, 2], [1]))
        self.assertEqual(self.calls("scancel"), [["scancel", "102"]], "it would collect too early")
        self.assertIn("--dependency=afterany:101:103", self.calls("sbatch")[-1])

    def test_a_collecting_job_that_was_lost_is_submitted_alone(self):
        self.submit()
        (self.out / "done/collect.json").unlink()
        [one] = self.submitted("--resume")
        self.assertEqual((one["tasks"], one["array_job"]), ([], None))
        self.assertNotIn("--dependency", " ".join(self.calls("sbatch")[-1]))
        self.assertTrue((self.out / "done/collect.json").exists())

    def test_a_task_without_its_files_or_with_failed_rows_is_missing(self):
        self.submit()
        shutil.rmtree(self.out / "tasks/0002")
        marker = self.out / "done/0000.json"
        marker.write_text(marker.read_text().replace('"failed_rows": 0', '"failed_rows": 1'))
        (self.out / "done/0001.json").write_text("cut off {")
        [one] = self.submitted("--resume")
        self.assertEqual(one["tasks"], [0, 1, 2])

    def test_node_types_are_never_mixed(self):
        self.write_config("node_types: [small, large], cases_per_task: 3")
        types = self.submitted()
        self.assertEqual([one["node_type"] for one in types], ["small", "large"])
        self.assertFalse((self.out / "results").is_dir() and any((self.out / "results").iterdir()))
        for name in ("small", "large"):
            self.assertEqual(list(self.rows(self.out / name)), TRANSFORMS)
        file = self.out / "small/tasks/0001/results/image-rgb/micro/sluice_micro_results.json"
        profile = json.loads(file.read_text())["machine_profile"]
        file.write_text(file.read_text().replace(f'"machine_profile": "{profile}"', '"machine_profile": "cpu-other"'))
        done = self.program("slice", self.out, "--type", "small", "--collect", check=2)
        self.assertRegex(done.stderr, r"^[^\n]*task 1 ran on node7 \(cpu-other\), task 0 on node7[^\n]*never put in one table[^\n]*\n$")
        done = self.program("slice", self.out, "--type", "huge", "--collect", check=2)
        self.assertIn("accepted: small, large", done.stderr)

    def test_a_node_without_the_data_is_named(self):
        self.write_config(data="data_dir: photos")
        (self.slurm / "hold").touch()
        self.submit()
        done = self.program("slice", self.out, "--index", "1", check=2, SLURMD_NODENAME="node9")
        self.assertRegex(done.stderr, r"^[^\n]*node node9: task 1: [^\n]*photos[^\n]*\n$")
        done = self.program("slice", self.out, "--collect", check=5)
        self.assertRegex(done.stderr, r"^[^\n]*3 of 3 tasks are not done \(0-2\); task 1: node node9[^\n]*\n$")

    def test_a_task_that_is_started_again_goes_on(self):
        (self.slurm / "hold").touch()
        self.submit()
        self.program("slice", self.out, SLURM_ARRAY_TASK_ID="0", SLURM_RESTART_COUNT="0")
        before = self.rows(self.out / "tasks/0000")
        (self.out / "done/0000.json").unlink()  # as when it is preempted after its last row
        self.program("slice", self.out, SLURM_ARRAY_TASK_ID="0", SLURM_RESTART_COUNT="1")
        self.assertEqual(self.rows(self.out / "tasks/0000"), before)
        self.assertEqual(json.loads((self.out / "done/0000.json").read_text())["place"]["restart_count"], "1")
        attempts = (self.out / "tasks/0000.jsonl").read_text().splitlines()
        self.assertEqual(sum("began" in json.loads(line) for line in attempts), 2)
        self.assertIn("was done before", self.program("slice", self.out, "--index", "0").stdout)

    def test_more_runs_later(self):
        self.submit()
        [one] = self.submitted("--resume", "--num-runs", "2")
        self.assertEqual(one["tasks"], [0, 1, 2])
        self.assertEqual({len(row["runs"]) for row in self.rows().values()}, {2})

    def test_inside_an_allocation_tasks_are_steps(self):
        done = self.submit(SLURM_JOB_ID="7", SLURM_JOB_NODELIST="node[7-8]")
        self.assertIn("report:", done.stdout)
        self.assertEqual(self.calls("sbatch"), [])
        steps = self.calls("srun")
        self.assertEqual(sorted(step[-1] for step in steps), ["0", "1", "2"])
        self.assertEqual({step[3] for step in steps}, {"--nodelist=node7", "--nodelist=node8"})
        self.assertEqual(list(self.rows()), TRANSFORMS)
        (self.out / "done/0001.json").unlink()
        self.submit("--resume", SLURM_JOB_ID="8")
        self.assertEqual([step[-1] for step in self.calls("srun")[3:]], ["1"])

    def test_what_does_not_fit_is_refused_in_one_line(self):
        self.submit()
        for arguments, words in ((["--resume", "--num-items", "1"], "data.num_items"), ([], "--resume")):
            done = self.submit(*arguments, check=2)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        done = self.program("run", "--config", self.config, "--out", self.out, "--resume", *QUICK, check=2)
        self.assertIn("was begun on a cluster", done.stderr)
        (self.slurm / "refuse").write_text("sbatch: error: invalid partition specified: p\n")
        self.out = self.folder / "other"
        done = self.submit(check=2)
        self.assertRegex(done.stderr, r"^[^\n]*sbatch: ended with code 1: sbatch: error: invalid partition specified: p\n$")
        (self.slurm / "refuse").unlink()
        [one] = self.submitted("--resume")
        self.assertEqual(one["tasks"], [0, 1, 2])
        self.out = self.folder / 'a"b'
        self.assertIn("cannot be written into a script", self.submit(check=2).stderr)
        for key, words in (("cluster.node_types=[logs]", "logs"), ("slurm.options=[reservation]", "no option of sbatch"),
                           ("slurm.partition='a b'", "no single word")):
            done = self.submit("--dry-run", "--set", key, check=2)
            self.assertIn(words, done.stderr)

    def test_a_manifest_of_kubernetes(self):
        done = self.program("run", "--config", self.config, "--backend", "k8s", check=2)
        self.assertIn("--dry-run", done.stderr)
        done = self.program("run", "--config", self.config, "--backend", "k8s", "--dry-run", check=2)
        self.assertRegex(done.stderr, r"^[^\n]*k8s\.image[^\n]*\n$")
        done = self.program("run", "--config", self.config, "--backend", "k8s", "--dry-run", "--json", "--set", "k8s.image=sluice:1",
                            "--set", "k8s.claim=work", "--set", "cluster.node_types=[c4]")
        config_map, job = json.loads(done.stdout)["objects"]
        # The tasks of the manifest, as pods would run them: two tasks, the last of which collects.
        mounted = self.folder / "etc"
        mounted.mkdir()
        for name, text in config_map["data"].items():
            (mounted / name).write_text(text)
        [container] = job["spec"]["template"]["spec"]["containers"]
        words = [str(mounted) if word == "/etc/sluice" else str(self.out) if word == "/sluice/image-rgb-micro" else word
                 for word in container["args"]]
        for index in range(job["spec"]["completions"]):
            self.assertFalse((self.out / "c4/report.md").exists())
            self.program(*words, JOB_COMPLETION_INDEX=str(index), SLUICE_NODE="node5")
        self.assertEqual(list(self.rows(self.out / "c4")), TRANSFORMS)


if __name__ == "__main__":
    unittest.main()
