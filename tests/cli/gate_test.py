# tests/cli/gate_test.py - `sluice gate`, `baseline` and `history` as a user meets them, on a model of milliseconds.
# SPDX-License-Identifier: Apache-2.0
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()
# Nothing here asserts on real speed: tolerances are either enormous, or the files are made by hand.
TINY = ["--quick", "--dim", 32, "--heads", 2, "--layers", 1, "--seq-len", 16, "--batch-size", 2, "--warmup-steps", 1,
        "--measure-steps", 4, "--repeat", 1, "--seed", 3, "--quiet"]
WIDE = ["--throughput-drop-pct", 99, "--step-time-increase-pct", 100000, "--memory-increase-pct", 1000]
MAINTAINER = ["--maintainer", "--reason", "first"]


def sluice(*arguments, folder, **variables):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=300,
                          env={**os.environ, "SLUICE_CACHE_DIR": str(folder / "cache"), **variables})


class GateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.first = sluice("gate", "--bench", "--compare", *TINY, "--baseline-dir", "B0", "--out", "runs/R1", folder=cls.folder)
        path = cls.folder / "runs/R1/metrics.json"
        cls.metrics = json.loads(path.read_text())
        cls.measured = json.loads(path.read_text())
        # As on a quiet machine: what a busy one does to a promotion is tested apart.
        cls.metrics["timing"].update(waited_share=0.0, run_p50_s=[cls.metrics["timing"]["step_time_p50_s"]] * 2)
        cls.metrics["noise"] = {"verdict": "quiet", "score": 100, "steal": 0.0, "findings": []}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_in(self, *arguments, **variables):
        return sluice(*arguments, folder=self.folder, **variables)

    def expect(self, code, *arguments, **variables):
        done = self.run_in(*arguments, **variables)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def make_run(self, name, change=lambda metrics: None):
        """A run folder with the metrics of the first run, changed."""
        metrics = json.loads(json.dumps(self.metrics))
        change(metrics)
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        (path / "metrics.json").write_text(json.dumps(metrics))
        return name

    def make_baseline(self, name):
        run = self.make_run(f"{name}-run")
        self.expect(0, "baseline", "promote", run, "--baseline-dir", name, "--without-eval", *MAINTAINER)
        return name

    @staticmethod
    def scaled(factor):
        def change(metrics):
            metrics["throughput"]["tokens_per_sec_p50"] *= factor
            metrics["timing"]["step_time_p50_s"] /= factor
        return change

    def test_no_baseline_ends_with_4_and_leaves_the_run(self):
        self.assertEqual(self.first.returncode, 4, self.first.stdout + self.first.stderr)
        self.assertIn("no baseline for machine profile", self.first.stdout)
        run = self.folder / "runs/R1"
        for name in ("env.json", "metrics.json", "gate_report.txt", "verdict.json", "run_summary.json"):
            self.assertTrue((run / name).exists(), name)
        summary = json.loads((run / "run_summary.json").read_text())
        self.assertEqual(summary["modes_run"], ["env", "bench", "compare"])
        self.assertEqual(summary["compare"]["status"], "SKIP")
        self.assertEqual(summary["bench"]["tokens_per_sec_p50"], self.metrics["throughput"]["tokens_per_sec_p50"])
        self.assertEqual(self.metrics["run_config"]["model"], "gpt-tiny")
        self.assertEqual(self.metrics["run_config"]["mode"], "synthetic")
        self.assertEqual(set(self.metrics["canary"]["passes_per_s"]), {"idct_resize", "gemm", "memory_read"})

    def test_promote_then_pass_then_a_baseline_out_of_reach_fails(self):
        self.expect(0, "baseline", "promote", self.make_run("quiet"), "--baseline-dir", "B1", "--without-eval", *MAINTAINER)
        self.expect(0, "gate", "--bench", "--compare", *TINY, *WIDE, "--no-pairs", "--baseline-dir", "B1", "--out", "R2")
        shutil.rmtree(self.folder / "B1")  # next: a baseline so fast that no load of this machine explains the difference
        self.expect(0, "baseline", "promote", self.make_run("fast", self.scaled(10000)), "--baseline-dir", "B1", "--without-eval",
                    *MAINTAINER)
        done = self.expect(1, "gate", "--bench", "--compare", *TINY, "--throughput-drop-pct", 99.999, "--step-time-increase-pct", 50,
                           "--no-pairs", "--no-confirm", "--baseline-dir", "B1", "--out", "R3")
        self.assertIn("FAIL details:", done.stdout)
        for word in ("step_time_p50_s", "Baseline: ", "Current: ", "Delta: +", "threshold: at most 50 % more"):
            self.assertIn(word, done.stdout)
        self.assertEqual((self.folder / "R3/gate_report.txt").read_text(), done.stdout.rsplit("run: ", 1)[0])
        verdict = json.loads((self.folder / "R3/verdict.json").read_text())
        self.assertEqual(verdict["status"], "FAIL")
        refused = self.expect(2, "baseline", "promote", "R3", "--baseline-dir", "B1", "--without-eval", *MAINTAINER)
        self.assertIn("its verdict is FAIL", refused.stderr)

    def test_the_program_of_the_baseline_runs_beside_this_one(self):
        # Stored numbers that no machine reaches; the program that made them is this one, ten times slower.
        base = ["--baseline-dir", "B9"]
        self.expect(0, "baseline", "promote", self.make_run("dream", self.scaled(10000)), *base, "--without-eval", *MAINTAINER)
        kept, = (self.folder / "cache/programs").iterdir()
        self.assertTrue((kept / "sluice").exists())
        self.assertEqual(kept.name, self.metrics["program"])
        gate = ["gate", "--bench", "--compare", *TINY, *base, "--throughput-drop-pct", 99.999, "--step-time-increase-pct", 40]
        # The same command twice: only what is injected differs.
        self.run_in(*gate, "--out", "equal-pairs")
        line, = json.loads((self.folder / "equal-pairs/metrics.json").read_text())["pairs"]["lines"]
        self.assertNotEqual(line["status"], "FAIL", line)
        slow = self.expect(1, *gate, "--out", "slow-pairs", SLUICE_INJECT_SLOWDOWN="900%")
        self.assertRegex(slow.stdout, r"step_time_pairs_s: \d+\.\d % slower .* confirmed by 8 fresh pairs")
        pairs = json.loads((self.folder / "slow-pairs/metrics.json").read_text())["pairs"]
        self.assertEqual(pairs["program"], kept.name)
        self.assertGreaterEqual(len(pairs["pairs"]["step_time_pairs_s"]["a"]), 8)  # more where the machine is busy
        raw = json.loads((self.folder / "slow-pairs/pairs.json").read_text())["rows"]
        self.assertEqual([row["library"] for row in raw], ["baseline", "sluice"])
        for row in raw:  # a run per pair, those that confirmed the alarm included
            self.assertGreaterEqual(len(row["runs"]), 16)
            self.assertTrue(all(run["samples_ns"] for run in row["runs"]))
        again = self.expect(1, "gate", "--compare", *base, "--current", "slow-pairs", "--throughput-drop-pct", 99.999)
        self.assertIn("step_time_pairs_s", again.stdout)
        # The values of pairs are computed again from the steps, by the turns that were taken.
        metrics = self.folder / "slow-pairs/metrics.json"
        told = json.loads(metrics.read_text())
        self.assertGreaterEqual(told["pairs"]["steps_per_turn"], 1)
        for forged in (told["pairs"]["steps_per_turn"] + 1, 0, "one"):
            told["pairs"]["steps_per_turn"] = forged
            metrics.write_text(json.dumps(told))
            refused = self.expect(2, "gate", "--compare", *base, "--current", "slow-pairs")
            self.assertIn("pairs", refused.stderr)

    def test_compare_alone_judges_a_stored_run(self):
        base = self.make_baseline("B2")
        compare = ["gate", "--compare", "--baseline-dir", base, "--current"]
        self.expect(0, *compare, self.make_run("same"))
        done = self.expect(1, *compare, self.make_run("slow", self.scaled(0.9)), "--out", "judged")
        self.assertIn("-10.00%", done.stdout)
        self.assertIn("tokens_per_sec_p50", json.loads((self.folder / "judged/verdict.json").read_text())["lines"][0]["metric"])
        self.expect(0, *compare, "slow", "--tolerances", "lenient", "--step-time-increase-pct", 12)
        self.expect(1, *compare, self.make_run("slower", self.scaled(0.97)), "--tolerances", "strict")
        self.expect(0, *compare, "slower")

    def test_bad_runs(self):
        base = self.make_baseline("B3")
        compare = ["gate", "--compare", "--baseline-dir", base, "--current"]

        def nan(metrics):
            metrics["throughput"]["tokens_per_sec_p50"] = float("nan")

        def null(metrics):
            metrics["throughput"]["tokens_per_sec_p50"] = None

        def elsewhere(metrics):
            metrics["machine_profile"] = "another_machine"

        self.assertIn("NaN", self.expect(5, *compare, self.make_run("nan", nan)).stderr)
        self.assertIn("INVALID", self.expect(5, *compare, self.make_run("null", null)).stdout)
        self.expect(4, *compare, self.make_run("elsewhere", elsewhere))
        (self.folder / "empty").mkdir()
        self.assertIn("no metrics.json", self.expect(1, *compare, "empty").stdout)
        self.assertIn("no such run folder", self.expect(2, *compare, "nowhere").stderr)
        self.make_run("cut")
        (self.folder / "cut/metrics.json").write_text('{"schema_version": "1.0", "thr')
        self.assertIn("metrics.json", self.expect(2, *compare, "cut").stderr)

    def test_bad_baselines(self):
        base = self.make_baseline("B4")
        stored, = (self.folder / base).glob("*.metrics.json")
        good = stored.read_text()
        compare = ["gate", "--compare", "--baseline-dir", base, "--current", self.make_run("again")]
        stored.write_text(good.replace('"schema_version": "1.0"', '"schema_version": "0.9"'))
        self.assertIn("schema '0.9'", self.expect(4, *compare).stdout)
        stored.write_text(good[:100])
        self.assertIn(stored.name, self.expect(2, *compare).stderr)
        stored.write_text(good.replace(self.metrics["machine_profile"], "another_machine"))
        self.assertIn("another_machine", self.expect(4, *compare).stdout)

    def test_usage(self):
        for words, said in ((["--compare"], "--current"), (["--env", "--compare"], "--bench or --eval"),
                            (["--bench", "--current", "x"], "--current"), (["--throughput-drop-pct", 0], "above 0"),
                            (["--tolerances", "soft"], "soft"), (["--fence", "maybe"], "fence")):
            self.assertIn(said, self.expect(2, "gate", *words).stderr)
        self.assertFalse((self.folder / "bench").exists())

    def test_promotion_needs_authority(self):
        run = self.make_run("fresh")
        for words in ([], ["--maintainer"], ["--reason", "why"]):
            self.expect(2, "baseline", "promote", run, "--baseline-dir", "B5", "--without-eval", *words)
        self.assertFalse((self.folder / "B5").exists())
        self.expect(2, "baseline", "promote", run, "--baseline-dir", "B5", *MAINTAINER)  # no eval.json
        self.assertFalse((self.folder / "B5").exists())

    def test_a_run_says_what_the_machine_was_like(self):
        self.assertIn(self.measured["noise"]["verdict"], ("quiet", "usable", "noisy"))
        self.assertIn(len(self.measured["timing"]["run_p50_s"]), range(2, 4))  # more where they scatter
        waited = self.measured["timing"]["waited_share"]
        self.assertTrue(waited is None or 0 <= waited < 1, waited)

    def test_a_run_in_doubt_is_promoted_by_a_maintainer_only(self):
        def noisy(metrics):
            metrics["noise"] = {"verdict": "noisy", "score": 9, "steal": 0.04,
                                "findings": [{"check": "steal", "severity": "critical", "value": "the hypervisor kept 4.0 %"}]}

        def starved(metrics):
            metrics["timing"]["waited_share"] = 0.4

        promote = ["baseline", "promote", "--baseline-dir", "B8", "--without-eval"]
        run = self.make_run("noisy", noisy)
        refused = self.expect(2, *promote, run, "--main-branch", "none")
        self.assertFalse((self.folder / "B8").exists(), refused.stderr)
        subprocess.run(["git", "init", "-q", "-b", "trunk", self.folder], check=True)
        refused = self.expect(2, *promote, run, "--main-branch", "trunk")
        self.assertIn("noise check says noisy (the hypervisor kept 4.0 %); usable or quiet is accepted", refused.stderr)
        self.assertFalse((self.folder / "B8").exists())
        self.assertIn("the hypervisor kept", self.expect(0, *promote, run, *MAINTAINER).stderr)
        never = self.expect(2, *promote, self.make_run("starved", starved), *MAINTAINER)
        self.assertIn("waited for a core 40.0 % of the time; at most 5 % is accepted", never.stderr)

    def test_list_show_prune(self):
        self.assertIn("no baselines", self.expect(0, "baseline", "list", "--baseline-dir", "none").stdout)
        base = self.make_baseline("B6")
        profile = self.metrics["machine_profile"]
        listed = json.loads(self.expect(0, "baseline", "list", "--baseline-dir", base, "--json").stdout)
        self.assertEqual([one["machine_profile"] for one in listed["baselines"]], [profile])
        shown = json.loads(self.expect(0, "baseline", "show", "--baseline-dir", base, "--json").stdout)
        self.assertEqual(len(shown["history"]), 1)
        self.assertIn("tokens_per_sec_p50", self.expect(0, "baseline", "show", profile, "--baseline-dir", base).stdout)
        self.expect(2, "baseline", "prune", "--baseline-dir", base, *MAINTAINER)
        self.expect(0, "baseline", "prune", "--keep", 0, "--baseline-dir", base, *MAINTAINER)
        self.expect(0, "baseline", "prune", "--all", "--baseline-dir", base, *MAINTAINER)
        self.expect(2, "baseline", "show", profile, "--baseline-dir", base)

    def test_other_work_is_skipped_and_named(self):  # R002-19
        base = self.make_baseline("B11")

        def other(metrics):
            metrics["run_config"].update(model="vit5-tiny", per_device_batch_size=64)
        ended = self.expect(4, "gate", "--compare", "--current", self.make_run("vit", other), "--baseline-dir", base)
        model = self.metrics["run_config"]["model"]
        self.assertIn(f"model (baseline '{model}', run 'vit5-tiny')", ended.stdout)
        self.assertIn("per_device_batch_size", ended.stdout)
        self.expect(0, "baseline", "promote", "vit", "--baseline-dir", base, "--without-eval", *MAINTAINER)
        self.expect(2, "baseline", "show", self.metrics["machine_profile"], "--baseline-dir", base)
        self.assertIn("vit5-tiny, batch 64", self.expect(0, "baseline", "list", "--baseline-dir", base).stdout)
        self.expect(0, "gate", "--compare", "--current", "vit", "--baseline-dir", base)

    def test_what_the_model_is_asked_can_be_chosen(self):  # R002-26
        """By what is refused: an answer takes a model, which takes minutes under a sanitizer."""
        for flag, value, said in [("--probes", "nonsense", "probe set 'nonsense'"), ("--max-length", 1, "max_length 1"),
                                  ("--max-new-tokens", 0, "max_new_tokens 0"), ("--stride", 0, "stride 0"),
                                  ("--shard", "none.txt", "none.txt: cannot open")]:
            self.assertIn(said, self.expect(2, "gate", "--eval", flag, value, "--out", f"runs/asked{flag}").stderr)

    def test_the_rule_of_the_seed(self):  # R002-18
        base = self.make_baseline("B12")
        words = ["gate", "--compare", "--baseline-dir", base, "--rule", "seed", "--current"]
        ended = self.expect(1, *words, self.make_run("slower", self.scaled(0.94)))
        self.assertIn("Rule: stored numbers alone", ended.stdout)
        self.expect(0, *words, self.make_run("same", self.scaled(1)))

    def test_a_change_does_not_bring_the_numbers_it_is_judged_by(self):  # R002-29
        """A branch makes its own baseline twice as slow; the base's numbers judge, and the file is named."""
        repository = self.folder / "repository"
        repository.mkdir()
        slow = json.loads(json.dumps(self.metrics))
        self.scaled(0.8)(slow)
        for name, metrics in (("fast", self.metrics), ("slow", slow)):
            (repository / name).mkdir()
            (repository / name / "metrics.json").write_text(json.dumps(metrics))

        def git(*words):
            subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=repository, check=True,
                           capture_output=True)

        def ends(code, *words):
            done = sluice(*words, folder=repository)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            return done
        ends(0, "baseline", "promote", "fast", "--baseline-dir", "base", "--without-eval", *MAINTAINER)
        git("init", "--quiet", "--initial-branch", "main")
        git("add", "base")
        git("commit", "--quiet", "--message", "baseline")
        stored, = (repository / "base").glob("*.metrics.json")
        judge = ["gate", "--compare", "--current", "slow", "--baseline-dir", "base"]
        same = ends(1, *judge, "--baseline-ref", "main")
        self.assertNotIn("whose baselines count", same.stderr)
        git("checkout", "--quiet", "-b", "change")
        edited = json.loads(stored.read_text())
        self.scaled(0.5)(edited)
        stored.write_text(json.dumps(edited))
        git("commit", "--quiet", "--all", "--message", "a slower baseline")
        ends(0, *judge)  # by its own numbers it would pass
        done = ends(1, *judge, "--baseline-ref", "main", "--out", "judged")
        self.assertIn(f"base/{stored.name}: differs from main, whose baselines count", done.stderr)
        self.assertIn("-20.00%", done.stdout)
        verdict = json.loads((repository / "judged/verdict.json").read_text())
        line = verdict["lines"][0]
        self.assertEqual((verdict["status"], line["metric"], line["status"]), ("FAIL", "tokens_per_sec_p50", "FAIL"))
        self.assertEqual(line["baseline"], self.metrics["throughput"]["tokens_per_sec_p50"])

    def test_history_finds_the_change_and_its_commits(self):
        for i in range(24):
            def change(metrics, i=i):
                self.scaled((1 if i < 12 else 0.8) * (1 + 0.001 * (i % 3)))(metrics)
                metrics["timestamp"] = f"2026-01-{i + 1:02}T00:00:00Z"
                metrics["env"]["git_sha"] = f"{i:040x}"
            self.make_run(f"many/{i:02}", change)
        words = ["history", "--runs", "many", "--baseline-dir", "none"]
        found = json.loads(self.expect(0, *words, "--json", "--out", "H").stdout)
        change, = found["changes"]
        self.assertEqual(change["index"], 12)
        self.assertAlmostEqual(change["change_pct"], -20, delta=0.5)
        self.assertEqual((change["last_commit_before"], change["first_commit_after"]), (f"{11:040x}", f"{12:040x}"))
        self.assertEqual(len(found["visits"]), 24)

        def other(metrics):
            metrics["run_config"]["per_device_batch_size"] = 64
            metrics["timestamp"] = "2026-01-01T01:00:00Z"
        self.make_run("many/other", other)
        again = json.loads(self.expect(0, *words, "--json").stdout)
        self.assertEqual((len(again["visits"]), again["workload"]), (24, found["workload"]), "other work is another history")
        self.assertTrue((self.folder / "H/history.svg").read_text().startswith("<svg"))
        self.assertIn("-20.0 %", self.expect(0, *words).stdout)
        self.assertIn("no run", self.expect(2, *words, "--metric", "speed").stderr)
        self.assertIn("no runs", self.expect(2, "history", "--runs", "none", "--baseline-dir", "none").stderr)

    def test_promotions_at_once_lose_nothing(self):
        runs = [self.make_run(f"at-once-{i}", self.scaled(1 + i / 1000)) for i in range(6)]
        processes = [subprocess.Popen([PROGRAM, "baseline", "promote", run, "--baseline-dir", "B10", "--without-eval", *MAINTAINER],
                                      cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env={**os.environ, "SLUICE_CACHE_DIR": str(self.folder / "cache")}) for run in runs]
        for process in processes:
            out, errors = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, out + errors)
        history, = (self.folder / "B10").glob("*.history.jsonl")
        self.assertEqual(len(history.read_text().splitlines()), len(runs))
        self.assertEqual([path.name for path in (self.folder / "B10").iterdir() if path.name.startswith(".")], [])
        self.assertEqual(len(list((self.folder / "cache/programs").iterdir())), 1, "one program, kept whole")

    def test_a_promotion_that_waits_names_the_holder_and_ends_with_ctrl_c(self):
        store = self.folder / "B11"
        store.mkdir()
        with open(store / ".lock", "w", encoding="utf-8") as lock:
            lock.write("process 4711 (sluice baseline promote)\n")
            lock.flush()
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = subprocess.Popen([PROGRAM, "baseline", "promote", self.make_run("waits"), "--baseline-dir", "B11",
                                        "--without-eval", *MAINTAINER], cwd=self.folder, stderr=subprocess.PIPE, text=True)
            self.assertIn("process 4711 (sluice baseline promote)", process.stderr.readline())
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, errors)
            self.assertIn("interrupted while waiting for process 4711", errors)
        self.assertEqual([path.name for path in store.iterdir()], [".lock"])

    def test_the_fence_works_on_stored_visits(self):
        base = "B7"
        for i in range(21):
            def change(metrics, i=i):
                self.scaled(1 + 0.002 * (i % 5))(metrics)
                metrics["timestamp"] = f"2026-01-{i + 1:02}T00:00:00Z"
            self.expect(0, "baseline", "promote", self.make_run(f"visit-{i}", change), "--baseline-dir", base,
                        "--without-eval", *MAINTAINER)
        compare = ["gate", "--compare", "--baseline-dir", base, "--current", self.make_run("bit-slower", self.scaled(0.97))]
        done = self.expect(1, *compare)
        self.assertIn("fence/tokens_per_sec_p50", done.stdout)
        self.assertIn("over 21 runs", done.stdout)
        self.expect(0, *compare, "--fence", "warn")
        self.expect(0, *compare, "--fence", "off")


if __name__ == "__main__":
    unittest.main()
