# tests/backend/gcp/run_test.py - `sluice run --backend gcp` against a cloud of our own: modes, waves, refusals, some failures.
# SPDX-License-Identifier: Apache-2.0
"""usage: run_test.py PROGRAM SOURCE_DIR. every_failure_test.py tries all failures at all calls."""
import json
import shutil
import signal
import subprocess
import time

import cloud_case

RESULT = "results/image-rgb/micro/sluice_micro_results.json"


class RunTest(cloud_case.CloudCase):
    def test_attached_pulls_validates_and_deletes(self):
        done = self.attached("--json", check=0)
        document = json.loads(done.stdout)
        self.assertEqual([task["state"] for task in document["tasks"]], ["finished"])
        self.assertEqual(document["left"], [])
        self.assertTrue((self.out / RESULT).is_file())
        self.assertTrue((self.out / "vm.log").is_file())
        self.assertEqual(self.left(), {})
        record = json.loads((self.out / "gcp_last_run.json").read_text())["machines"][0]
        self.assertEqual((record["state"], record["outcome"]), ("gone", "finished"))
        prefix = self.cloud / "buckets/bucket/results" / record["run_id"]
        self.assertEqual(json.loads((prefix / "job/job.json").read_text())["run_id"], record["run_id"])
        self.assertTrue((prefix / "DONE").is_file())
        self.assertFalse((self.out / "stage").exists())
        self.assertFalse((self.out / "pulled").exists())
        create = next(call for call in self.calls() if call[2] == "create")
        self.assertIn("--max-run-duration", create)
        self.assertIn("DELETE", create)
        self.assertNotIn(str(self.folder), " ".join(create))  # paths of ours stand in no argument

    def test_finished_rows_are_not_run_again(self):
        self.attached(check=0)
        self.fault(0, None)
        done = self.attached("--resume", check=0)
        self.assertIn("already finished", done.stdout)
        self.assertEqual([call for call in self.calls() if call[2] == "create"], [])

    def test_some_rows_are_given_along(self):
        self.attached(check=0)
        file = json.loads((self.out / RESULT).read_text())
        file["rows"] = []
        (self.out / RESULT).write_text(json.dumps(file))
        self.attached("--resume", check=0)
        jobs = [folder / "job" for folder in (self.cloud / "buckets/bucket/results").iterdir() if (folder / "job").exists()]
        self.assertEqual(sorted((job / "earlier" / RESULT).is_file() for job in jobs), [False, True])
        self.assertEqual(self.left(), {})

    def test_a_machine_that_fails_is_deleted_and_its_log_kept(self):
        self.machine(results=str(self.measured), exit_code=70)
        done = self.attached(check=5)
        self.assertIn("exit code 70", done.stdout)
        self.assertTrue((self.out / "vm.log").is_file())
        self.assertEqual(self.left(), {})

    def test_a_machine_that_timed_out(self):
        self.machine(results=str(self.measured), exit_code=124)
        self.attached(check=124)
        self.assertEqual(self.left(), {})

    def test_results_that_are_not_sound_are_a_failure(self):
        bad = self.folder / "bad"
        shutil.copytree(self.measured, bad)
        file = json.loads((bad / RESULT).read_text())
        file["rows"][0]["median"] *= 2
        (bad / RESULT).write_text(json.dumps(file))
        self.machine(results=str(bad))
        done = self.attached(check=5)
        self.assertIn("sluice_micro_results.json", done.stdout)
        self.assertEqual(self.left(), {})

    def test_a_machine_that_goes_away_without_a_word(self):
        self.machine(results=str(self.measured), when="later")
        process = self.start("--attached")
        name = self.wait_for_instance(process)
        (self.cloud / "instances" / name).unlink()
        (self.cloud / "disks" / name).unlink()
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 5, out)
        self.assertIn("went away", out)
        self.assertEqual(self.left(), {})

    def test_detached_hands_over_and_resume_collects(self):
        self.machine(results=str(self.measured), when="later")
        arguments = ["--config", self.config, "--detached", "--bundle", self.bundle, "--out", self.out]
        done = self.sluice(*arguments, check=0)
        self.assertIn("running", done.stdout)
        self.assertEqual(len(self.names("instances")), 1)
        done = self.sluice(*arguments, "--resume", check=0)  # it still runs: left alone
        self.assertIn("running", done.stdout)
        self.assertEqual(len(self.names("instances")), 1)
        (self.cloud / "finish_now").touch()
        done = self.sluice(*arguments, "--resume", check=0)
        self.assertIn("finished", done.stdout)
        self.assertTrue((self.out / RESULT).is_file())
        self.assertEqual(self.left(), {})

    def test_a_detached_machine_survives_the_next_start_but_not_its_time(self):
        self.machine(results=str(self.measured), when="later")
        self.sluice("--config", self.config, "--detached", "--bundle", self.bundle, "--out", self.out, check=0)
        name = self.names("instances")[0]
        self.machine(results=str(self.measured))
        self.sluice("--config", self.config, "--attached", "--bundle", self.bundle, "--out", self.folder / "other", check=0)
        self.assertEqual(self.names("instances"), [name])
        instance = json.loads((self.cloud / "instances" / name).read_text())
        instance["labels"]["benchmark-expires"] = "1000000000"
        (self.cloud / "instances" / name).write_text(json.dumps(instance))
        self.sluice("--config", self.config, "--attached", "--bundle", self.bundle, "--out", self.folder / "third", check=0)
        self.assertEqual(self.left(), {})

    def test_a_machine_of_somebody_else_is_left_alone(self):
        other = {"name": "theirs", "zone": "z", "status": "RUNNING", "labels": {"benchmark": "augmentation", "benchmark-mode": "attached",
                 "benchmark-owner": "0123456789ab", "benchmark-process": "1-1", "benchmark-expires": "99999999999"}}
        (self.cloud / "instances").mkdir()
        (self.cloud / "instances/theirs").write_text(json.dumps(other))
        self.attached(check=0)
        self.assertEqual(self.names("instances"), ["theirs"])

    def test_the_label_alone_finds_what_a_killed_run_left(self):
        self.fault(self.create_call(), "kill_after")
        self.assertEqual(self.attached().returncode, -signal.SIGKILL)
        self.assertEqual(len(self.names("instances")), 1)
        shutil.rmtree(self.cache)  # and with it the ledger
        self.fault(0, None)
        done = self.sluice("--config", self.config, "--attached", "--bundle", self.bundle, "--out", self.folder / "other", check=0)
        self.assertIn("left by an earlier run", done.stderr)
        self.assertEqual(self.left(), {})

    def test_kept_on_request(self):
        self.config = self.write_config("kept", extra=", keep_instance: true")
        self.attached(check=0)
        self.assertEqual(len(self.names("instances")), 1)
        self.assertEqual(json.loads((self.out / "gcp_last_run.json").read_text())["machines"][0]["state"], "kept")

    def test_waves_follow_the_documented_order(self):
        configs = [self.write_config("a_video", selection=self.selection(scenario="video-16f")),
                   self.write_config("b_rgb_gpu", "g2-standard-16", 200, selection=self.selection().replace("sluice", "kornia")),
                   self.write_config("c_rgb"), self.write_config("d_9ch", selection=self.selection(scenario="image-9ch"))]
        text = configs[1].read_text().replace("num_runs: 1", "num_runs: 1, device: cuda")
        configs[1].write_text(text)
        arguments = [word for config in configs for word in ("--config", config)]
        document = json.loads(self.sluice("--dry-run", "--json", *arguments, check=0).stdout)
        waves = [[machine["config"] for machine in wave] for wave in document["waves"]]
        self.assertEqual(waves, [["b_rgb_gpu", "c_rgb"], ["d_9ch"], ["a_video"]])

    def test_two_configurations_have_a_folder_each_and_a_failure_stops_the_next_wave(self):
        two = [self.write_config("first"), self.write_config("second")]
        arguments = ["--config", two[0], "--config", two[1], "--attached", "--bundle", self.bundle, "--out", self.out]
        self.sluice(*arguments, check=0)
        for name in ("first", "second"):
            self.assertTrue((self.out / name / RESULT).is_file())
        self.assertEqual(self.left(), {})
        shutil.rmtree(self.out)
        self.machine(results=str(self.measured), exit_code=70)
        done = self.sluice(*arguments, "--quota", "c4_vcpus=16", check=5)  # two waves
        self.assertIn("second: not started", done.stdout)
        self.assertEqual(self.left(), {})

    def test_another_zone_is_asked_only_where_one_is_out_of_stock(self):
        (self.cloud / "stock_out.json").write_text('["us-central1-a"]')
        self.attached("--zones", "us-central1-b", check=0)
        zones = [call[call.index("--zone") + 1] for call in self.calls() if call[2] == "create"]
        self.assertEqual(zones, ["us-central1-a", "us-central1-b"])
        self.assertEqual(self.left(), {})
        self.reset()
        self.fault(self.create_call(), "fail_before")
        done = self.attached("--zones", "us-central1-b", check=5)
        self.assertEqual(len([call for call in self.calls() if call[2] == "create"]), 1)
        self.assertIn("out of order", done.stdout)

    def test_ctrl_c_while_it_waits_deletes_the_machine(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.reset()
            self.machine(results=str(self.measured), when="later")
            process = self.start("--attached", variables={"SLUICE_GCP_WAIT_S": "0.2"})
            self.wait_for_instance(process)
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, out)
            self.assertIn("the machines are deleted", out)
            self.assertEqual(self.left(), {})

    def test_some_failures(self):
        number = self.count_calls()
        create = self.create_call()
        delete = next(i for i, call in enumerate(self.calls(), 1) if call[2] == "delete")
        self.assertLess(create, delete)
        for at in (create, delete):
            for kind in ("fail_after", "half", "late", "kill_after", "interrupt_after"):
                with self.subTest(at=at, kind=kind):
                    self.leaves_nothing(at, kind)
        for at in range(1, number + 1):
            with self.subTest(at=at, kind="fail_before"):
                self.leaves_nothing(at, "fail_before")
        with self.subTest(kind="hang_after"):
            self.leaves_nothing(create, "hang_after")

    def test_all_paper_configurations_in_a_dry_run_without_gcloud(self):
        nowhere = {"PATH": str(self.folder / "nowhere")}
        configs = sorted((self.SOURCE / "configs/paper").glob("*.yaml"))
        self.assertEqual(len(configs), 26)
        for config in configs:
            with self.subTest(config=config.name):
                done = self.sluice("--backend", "gcp", "--dry-run", "--config", config, variables=nowhere, check=0)
                self.assertIn("wave 1 of 1", done.stdout)
                self.assertIn("$ gcloud compute instances create", done.stdout)
        document = json.loads(self.sluice("--backend", "gcp", "--dry-run", "--json", "--config", configs[0].parent,
                                          variables=nowhere, check=0).stdout)
        planned = [machine["config"] for wave in document["waves"] for machine in wave]
        self.assertEqual(sorted(planned), [config.stem for config in configs])
        for wave in document["waves"]:
            self.assertLessEqual(sum(machine["machine_type"].startswith("g2") for machine in wave), 1)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name not in ("cloud", "one.yaml")], [])
        self.assertEqual(self.calls(), [])

    def test_the_script_is_sound_bash(self):
        document = json.loads(self.sluice("--dry-run", "--json", "--config", self.config, check=0).stdout)
        script = self.folder / "startup.sh"
        script.write_text(document["waves"][0][0]["startup_script"])
        subprocess.run(["/bin/bash", "-n", script], check=True)
        if shellcheck := shutil.which("shellcheck"):
            checked = subprocess.run([shellcheck, script], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_bad_input_is_one_line(self):
        cases = [
            (["--config", self.config, "--bundle", self.bundle, "--attached"], {"PATH": str(self.folder / "nowhere")}, "gcloud: not found"),
            (["--config", self.config, "--dry-run", "--quota", "vcpus=8"], {}, "16 vCPU of 8: no wave holds it"),
            (["--config", self.config, "--bundle", self.bundle, "--quota", "disk_gb=50"], {}, "100 GB of Hyperdisk of 50"),
            (["--config", self.config, "--dry-run", "--quota", "cores=8"], {}, "--quota 'cores=8'"),
            (["--config", self.config, "--attached"], {}, "--bundle: needed"),
            (["--config", self.config, "--backend", "aws"], {}, "--backend 'aws'"),
            (["--config", self.config, "--backend", "gcp", "--local"], {}, "give only one"),
            (["--config", self.config, "--local", "--bundle", self.bundle], {}, "--bundle: goes with --backend gcp"),
            (["--config", self.config, "--dry-run", "--set", "cloud.machine_type=z9-standard-1"], {}, "'z9-standard-1': is not known"),
            (["--config", self.config, "--dry-run", "--set", "cloud.machine_type=g2-standard-16"], {}, "has a GPU"),
            (["--config", self.config, "--dry-run", "--set", "output.gcs_results_uri=gs://a/$(b)"], {}, "expected gs://BUCKET/NAME"),
            (["--config", self.config, "--dry-run", "--set", "cloud.project=a b"], {}, "cloud.project 'a b'"),
            (["--config", self.config, "--config", self.config, "--dry-run"], {}, "two configurations have this file name"),
        ]
        for arguments, variables, text in cases:
            with self.subTest(text=text):
                done = self.sluice(*arguments, variables=variables)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertEqual(self.calls(), [])

    def create_call(self):
        """Which call of a good run makes the machine."""
        if not self.calls():
            self.attached(check=0)
        number = next(i for i, call in enumerate(self.calls(), 1) if call[2] == "create")
        shutil.rmtree(self.out, ignore_errors=True)
        return number

    def start(self, *more, variables=None):
        environment = {"PATH": str(self.bin), "HOME": str(self.folder), "FAKE_CLOUD": str(self.cloud),
                       "SLUICE_CACHE_DIR": str(self.cache), **cloud_case.WAIT, **(variables or {})}
        return subprocess.Popen([self.PROGRAM, "run", "--config", self.config, "--bundle", self.bundle, "--out", self.out, *more],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=self.folder)

    def wait_for_instance(self, process):
        """And for the first look at its objects: then it is waited for."""
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            if any(call[:2] == ["storage", "ls"] for call in self.calls()):
                return self.names("instances")[0]
        self.fail(f"no instance: {process.communicate()}")


if __name__ == "__main__":
    cloud_case.main(RunTest)
