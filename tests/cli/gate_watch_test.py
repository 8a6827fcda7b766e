# tests/cli/gate_watch_test.py - `sluice gate --watch -- CMD`: a user's program judged like ours, and in pairs of revisions.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()
ENV = {key: value for key, value in os.environ.items()
       if key not in {"SLUICE_MARKS", "PYTHONPATH"} and not key.startswith("GIT_")}
TRAIN = """import sys
import sluice_marks as marks
for i in range(30):
    marks.step()
    sum(range(20000))
    marks.log(loss={loss}, samples={samples}, tokens=128)
marks.pause()
"""
# How fast it is on a busy machine is not asked; a stored baseline that is a million times as fast fails it all the same.
LENIENT = ["--throughput-drop-pct", "99.9", "--step-time-increase-pct", "100000", "--fence", "off"]


class GateWatchTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.train()

    def train(self, loss="3 - i / 50", samples=4):
        (self.folder / "train.py").write_text(TRAIN.format(loss=loss, samples=samples), encoding="utf-8")

    def sluice(self, *words):
        return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, cwd=self.folder, timeout=300, env=ENV,
                              check=False)

    def gate(self, *flags, out, command=("train.py",), code):
        done = self.sluice("gate", "--watch", "--baseline-dir", "B", "--out", out, "--repeat", 2, *LENIENT, *flags, "--",
                           sys.executable, "-B", *command)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def promote(self, run):
        done = self.sluice("baseline", "promote", run, "--without-eval", "--maintainer", "--reason", "first", "--baseline-dir", "B")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def verdict(self, out):
        return json.loads((self.folder / out / "verdict.json").read_text(encoding="utf-8"))

    def test_the_same_program_passes_and_others_are_named(self):
        done = self.gate(out="G1", code=4)
        self.assertIn("no baseline", done.stdout)
        self.promote("G1")
        self.gate("--rule", "seed", out="G2", code=0)
        lines = {line["metric"]: line for line in self.verdict("G2")["lines"]}
        self.assertEqual(lines["tokens_per_sec_p50"]["status"], "PASS")
        self.assertEqual(lines["loss_slope"]["status"], "PASS")
        self.assertEqual(self.sluice("validate", "G2").returncode, 0)
        again = self.sluice("gate", "--compare", "--current", "G2", "--baseline-dir", "B", "--rule", "seed", *LENIENT)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)  # the files prove what was said

        done = self.gate(out="G3", command=("train.py", "--wide"), code=4)
        self.assertIn("program (baseline 'python", done.stdout)
        self.assertIn("--wide", done.stdout)
        self.train(samples=8)
        done = self.gate(out="G4", code=4)
        self.assertIn("per_device_batch_size (baseline '4', run '8')", done.stdout)

    def test_slow_rising_and_failing_programs(self):
        self.gate(out="G1", code=4)
        self.promote("G1")
        stored = next(path for path in (self.folder / "B").iterdir() if path.name.endswith(".metrics.json"))
        as_promoted = stored.read_text(encoding="utf-8")
        faster = json.loads(as_promoted)
        faster["timing"]["step_time_p50_s"] /= 1e6
        stored.write_text(json.dumps(faster), encoding="utf-8")
        self.gate("--rule", "seed", out="G2", code=1)
        self.assertEqual({line["metric"]: line["status"] for line in self.verdict("G2")["lines"]}["step_time_p50_s"], "FAIL")
        stored.write_text(as_promoted, encoding="utf-8")
        self.train(loss="1 + i / 10")
        self.gate("--rule", "seed", out="G3", code=1)
        self.assertIn("the loss rises", (self.folder / "G3" / "gate_report.txt").read_text(encoding="utf-8"))
        self.train(loss="1 + (i * 7919 % 13) / 10")  # scatters, and rises by chance
        self.gate("--rule", "seed", out="G4", code=0)
        self.train(loss="float('inf')")
        done = self.gate(out="G5", code=5)
        self.assertIn("reported a loss that is not finite (inf) in step 1", done.stderr)

    def test_pairs_with_another_revision(self):
        def git(*words):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.folder, env=ENV, check=True,
                           capture_output=True)
        git("init", "--quiet", "-b", "main")
        git("add", "train.py")
        git("commit", "--quiet", "-m", "one")
        self.train(samples=10 ** 9)  # so that the rates tell which tree ran
        git("commit", "--quiet", "-am", "larger batches")
        done = self.sluice("gate", "--watch", "--against", "HEAD~1", "--pairs", 2, "--out", "P", "--", sys.executable,
                           "-B", "train.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        verdict = self.verdict("P")
        self.assertIn(verdict["status"], ("IMPROVED", "INCONCLUSIVE"))  # two pairs: as wide as the machine is busy
        self.assertEqual((verdict["lines"][0]["metric"], verdict["lines"][0]["unit"]), ("watch/step", "samples/s"))
        self.assertEqual(verdict["against"]["build"], "")
        values = verdict["pairs"]["watch/step"]
        self.assertEqual(len(values["a"]), 2)
        for a, b in zip(values["a"], values["b"]):
            self.assertGreater(b / a, 1e4)
        program, own = verdict["reproduce"].split(" -- ")
        self.assertIn("--seed ", program)
        self.assertTrue(own.endswith("-B train.py"), own)

    def test_bad_usage(self):
        for words, expected in [(["--watch"], "no program; give it after --"),
                                (["--", "true"], "a program needs --watch"),
                                (["--watch", "--quick", "--", "true"], "--quick: not with --watch"),
                                (["--watch", "--model", "gpt-tiny", "--", "true"], "--model: not with --watch"),
                                (["--watch", "--", "no-such-program"], "no-such-program"),
                                (["--watch", "--against", "HEAD", "--", "no-such-program"], "no-such-program"),
                                (["--watch", "--name", "a/b", "--", "true"], "a/b")]:
            done = self.sluice("gate", "--out", "R", *words)
            self.assertEqual(done.returncode, 2, f"{words}: {done.stdout}{done.stderr}")
            self.assertIn(expected, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertFalse((self.folder / "R").exists())


if __name__ == "__main__":
    unittest.main()
