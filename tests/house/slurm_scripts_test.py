# tests/house/slurm_scripts_test.py - examples/slurm has a fresh script for every command that measures, and each would be accepted.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ["SLUICE_BUILD_DIR"]) / "sluice"
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import slurm_scripts  # noqa: E402

NOT_MEASURED = {"plan", "flops", "scale"}  # they compute, and take no time of a node


def commands_under(*headings):
    said = subprocess.run([PROGRAM, "--help"], check=True, capture_output=True, text=True).stdout
    for heading in headings:
        yield from re.findall(r"^  (\w[\w-]*) ", said.partition(f"\n{heading}:\n")[2].partition("\n\n")[0], re.M)


class SlurmScriptsTest(unittest.TestCase):
    def test_scripts_are_fresh(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "tools/slurm_scripts.py", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_command_that_measures_has_one(self):
        bench = subprocess.run([PROGRAM, "bench", "--help"], check=True, capture_output=True, text=True).stdout
        benches = {f"bench {name}" for name in re.findall(r"^  ([a-z]+) {2,}", bench, re.M)}
        self.assertIn("bench dataloader", benches)
        wanted = (benches | set(commands_under("Measure", "Train")) | {"quick", "gate", "ab", "bisect", "selftest"}) - NOT_MEASURED - {"bench"}
        self.assertEqual(sorted(wanted - {command for command, *_ in slurm_scripts.SCRIPTS.values()}), [])

    def test_a_script_calls_its_command_with_flags_that_it_has(self):
        for name, (command, _, _, _, continues) in slurm_scripts.SCRIPTS.items():
            with self.subTest(script=name), tempfile.TemporaryDirectory() as folder:
                teller = Path(folder) / "teller"
                teller.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
                teller.chmod(0o755)
                told = []
                for again in (False, True):
                    if again:
                        self.leave_behind(Path(folder) / "logs/name-7", name)
                    told.append(subprocess.run(["bash", slurm_scripts.FOLDER / f"{name}.sbatch", "more"], cwd=folder, check=True,
                                               capture_output=True, text=True,
                                               env={"PATH": os.environ["PATH"], "SLUICE": str(teller), "SLURM_JOB_NAME": "name",
                                                    "SLURM_JOB_ID": "7"}).stdout.split())
                first = [*command.split(), "--out", "logs/name-7"]
                more = ["--checkpoint-dir", "logs/name-7/checkpoints", "more"] if name in slurm_scripts.CHECKPOINTED else ["more"]
                self.assertEqual(told[0], [*first, *more])
                self.assertEqual(told[1], [*first, "--resume", *more] if continues else [*first, *more])
                flags = subprocess.run([PROGRAM, *command.split(), "--help-all"], check=True, capture_output=True, text=True).stdout
                example = slurm_scripts.SCRIPTS[name][1].partition("-- ")[0]
                for flag in {"--out", *re.findall(r"(?<!\S)--[a-z][\w-]*", example), *(["--resume"] if continues else [])}:
                    self.assertRegex(flags, rf"(?<![\w-]){flag}(?![\w-])", f"{command} has no {flag}")

    def leave_behind(self, out, name):
        """What a job leaves that is put back in the queue."""
        out.mkdir(parents=True)
        if name in slurm_scripts.CHECKPOINTED:
            (out / "checkpoints").mkdir()
            (out / "checkpoints/last.safetensors").touch()

    def test_a_training_that_is_put_back_in_the_queue(self):
        """Before its first checkpoint, and after it; the program takes what the script gives it."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "data", "make", "--kind", "rgb", "--count", "8", "--classes", "2", "--width", "40", "--height", "40", "--out", "photos", "--quiet"],
                           cwd=folder, check=True, stdout=subprocess.DEVNULL)
            flags = ["--model", "vit5-tiny", "--image-size", "32", "--patch-size", "8", "--dim", "32", "--layers", "1", "--heads", "2", "--input", "photos",
                     "--batch-size", "2", "--gpu", "cpu", "--threads", "1", "--num-workers", "1", "--val-split", "0", "--epochs", "2", "--quiet"]
            out = Path(folder) / "logs/name-7"
            again = False
            for before_checkpoint in (False, True, False):
                again = again or before_checkpoint
                if before_checkpoint:  # it was ended then
                    shutil.rmtree(out / "checkpoints")
                done = subprocess.run(["bash", slurm_scripts.FOLDER / "train.sbatch", *flags], cwd=folder, capture_output=True, text=True, check=False,
                                      env={**os.environ, "SLUICE": str(PROGRAM), "SLURM_JOB_NAME": "name", "SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "1"})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((out.parent / "name-7-ended-1").exists(), again)
                self.assertTrue((out / "checkpoints/last.safetensors").exists())
                self.assertEqual(len((out / "steps.jsonl").read_text().splitlines()), 8)

    def test_headers_are_those_of_every_script(self):
        for path in slurm_scripts.FOLDER.glob("*.sbatch"):
            text = path.read_text(encoding="utf-8")
            for line in ("--output=logs/%x-%j.out", "--exclusive", "--nodes=1", "--time="):
                self.assertIn(f"\n#SBATCH {line}", text, path.name)


if __name__ == "__main__":
    unittest.main()
