# tests/backend/gcp/script_test.py - the start-up script, really run: by a fake machine with a real program, and with everything failing.
# SPDX-License-Identifier: Apache-2.0
"""usage: script_test.py PROGRAM SOURCE_DIR"""
import json
import re
import shutil
import subprocess
import tarfile

import cloud_case

TOOLS = ("bash env tar xz cat mkdir sleep cp rm date timeout uname sha256sum cut head grep chmod touch mktemp").split()
RESULT = "results/image-rgb/micro/sluice_micro_results.json"


class ScriptTest(cloud_case.CloudCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.vm_bin = cls.base / "vm_bin"  # all that a machine has
        cls.vm_bin.mkdir()
        for tool in TOOLS:
            (cls.vm_bin / tool).symlink_to(shutil.which(tool))
        (cls.vm_bin / "gcloud").symlink_to(cls.bin / "gcloud")
        cls.script(cls.vm_bin / "curl", "echo projects/1/zones/us-central1-a")
        cls.script(cls.vm_bin / "systemd-run", 'echo "$@" >>"$FAKE_CLOUD/systemd-run.txt"')
        cls.script(cls.vm_bin / "shutdown", 'echo "$@" >>"$FAKE_CLOUD/shutdown.txt"')
        cls.real_bundle = cls.base / "real.tar.xz"
        cloud_case.make_bundle(cls.real_bundle, cls.PROGRAM)
        with tarfile.open(cls.base / "val.tar", "w") as archive:
            archive.add(cls.data, "val")

    def put_data(self):
        (self.cloud / "buckets/bucket").mkdir(parents=True)
        shutil.copy(self.base / "val.tar", self.cloud / "buckets/bucket/val.tar")

    def with_script(self, *more, check):
        self.put_data()
        self.machine(when="script", path=str(self.vm_bin))
        self.bundle = self.real_bundle
        return self.attached("--sample-ms", "1", "--warmup-ms", "0", *more, check=check)

    def test_a_machine_measures_reports_and_deletes_itself(self):
        self.with_script(check=0)
        log = (self.out / "vm.log").read_text()
        self.assertEqual(json.loads((self.out / RESULT).read_text())["rows"][0]["status"], "ok", log)
        self.assertEqual(self.left(), {})
        prefix = next(path for path in (self.cloud / "buckets/bucket/results").iterdir() if path.name != "bundles")
        self.assertEqual((prefix / "exit_code.txt").read_text(), "0\n")
        self.assertEqual(json.loads((prefix / "run_meta.json").read_text())["status"], "done")
        self.assertTrue((prefix / "DONE").is_file())
        timer = (self.cloud / "systemd-run.txt").read_text()
        self.assertIn("--on-active=36000s", timer)  # 8 h, and 2 around them
        self.assertIn("delete_self.sh", timer)
        deletes = [call for call in self.calls() if call[2] == "delete"]
        self.assertEqual(len(deletes), 1)  # ours, which found nothing: the machine was faster

    def test_data_that_is_not_there_is_a_failure_with_a_marker(self):
        self.machine(when="script", path=str(self.vm_bin))
        self.bundle = self.real_bundle
        done = self.attached(check=5)
        self.assertIn("exit code 70", done.stdout)
        self.assertIn("failed: try 3 gcloud storage cp", (self.out / "vm.log").read_text())
        prefix = next(path for path in (self.cloud / "buckets/bucket/results").iterdir() if path.name != "bundles")
        self.assertTrue((prefix / "FAILED").is_file())
        self.assertFalse((prefix / "DONE").exists())
        self.assertEqual(self.left(), {})

    def test_a_run_that_takes_too_long_is_ended(self):
        self.config.write_text(self.config.read_text().replace("disk_size_gb", "timeout_hours: 0.0003, disk_size_gb"))
        hanging = self.base / "hanging.tar.xz"
        folder = self.folder / "hanging"
        (folder / "sluice-0/bin").mkdir(parents=True)
        self.script(folder / "sluice-0/bin/sluice", f'[ "$1" != run ] || exec sleep 100\nexec {self.PROGRAM} "$@"')
        with tarfile.open(hanging, "w:xz") as archive:
            archive.add(folder / "sluice-0", "sluice-0")
        self.put_data()
        self.machine(when="script", path=str(self.vm_bin))
        self.bundle = hanging
        self.attached(check=124)
        self.assertEqual(self.left(), {})

    def test_the_dead_man_ends_a_machine_without_systemd(self):
        """The timer alone: the script proper is cut off after it."""
        document = json.loads(self.sluice("--dry-run", "--json", "--config", self.config, check=0).stdout)
        machine = document["waves"][0][0]
        script = machine["startup_script"].partition("# 2. ")[0] + "\nwait\n"
        script = re.sub(r"^work=.*$", f"work={self.folder}/vm", script, flags=re.M)
        script = re.sub(r"^deadline_s=.*$", "deadline_s=0", script, flags=re.M)
        bin_folder = self.folder / "bin"
        shutil.copytree(self.vm_bin, bin_folder, symlinks=True)
        (bin_folder / "systemd-run").unlink()
        self.script(bin_folder / "systemd-run", "exit 1")
        for broken in (False, True):
            for kind in ("instances", "disks"):
                (self.cloud / kind).mkdir(exist_ok=True)
                (self.cloud / kind / machine["instance"]).write_text("{}")
            if broken:  # no permission: it is shut down at least
                self.fault(1, "outage")
                shutil.rmtree(self.folder / "vm")
            subprocess.run(["/bin/bash", "-c", script], check=True, timeout=60,
                           env={"PATH": str(bin_folder), "FAKE_CLOUD": str(self.cloud), "pause_s": "0"})
            self.assertEqual(self.names("instances"), [machine["instance"]] if broken else [])
            self.assertEqual((self.cloud / "shutdown.txt").exists(), broken)

    def test_a_second_boot_does_nothing(self):
        document = json.loads(self.sluice("--dry-run", "--json", "--config", self.config, check=0).stdout)
        script = re.sub(r"^work=.*$", f"work={self.folder}/vm", document["waves"][0][0]["startup_script"], flags=re.M)
        (self.folder / "vm").mkdir()
        (self.folder / "vm/begun").touch()
        subprocess.run(["/bin/bash", "-c", script], check=True, timeout=60,
                       env={"PATH": str(self.vm_bin), "FAKE_CLOUD": str(self.cloud)})
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    cloud_case.main(ScriptTest)
