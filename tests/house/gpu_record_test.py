# tests/house/gpu_record_test.py - records of GPU tests: what they hold, and that a change of the sources makes them old.
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import gpu_record  # noqa: E402


class GpuRecordTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", self.folder], check=True))

    def git(self, *words):
        done = subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false", *words], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, text):
        source = self.folder / "src/sluice/train/cuda_module/a.cu"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", text)
        return self.git("rev-parse", "--short=12", "HEAD")

    def publish(self, commit):
        record = gpu_record.record_of(["ok\ttrain.a_test\t-\t3\t4 tests passed\n", "TIMEOUT\ttrain.a_test\tracecheck\t600\t1 tests passed\n"],
                                      [commit, gpu_record.sources_digest(self.folder), "GPU, 1, 2"])
        (self.folder / "records").mkdir(exist_ok=True)
        (self.folder / "records" / f"{commit}.json").write_text(json.dumps(record))
        return record

    def test_a_record_says_what_ran(self):
        self.git("init", "-q")
        record = self.publish(self.commit("one"))
        self.assertEqual((record["ok"], record["of"], record["signed"]), (1, 2, "no: 1 of 2 did not pass"))
        self.assertEqual(gpu_record.record_of(["ok\ta\t-\t1\t\n"], ["c", "s", "d"])["signed"], "all passed")
        self.assertEqual(gpu_record.record_of([], ["c", "s", "d"])["signed"], "no: nothing ran")
        self.assertEqual({(t["test"], t["sanitizer"], t["verdict"]) for t in record["tests"]}, {("train.a_test", None, "ok"), ("train.a_test", "racecheck", "TIMEOUT")})
        with self.assertRaisesRegex(ValueError, "verdict 'fine'"):
            gpu_record.record_of(["fine\ta\t-\t1\t\n"], ["c", "s", "d"])

    def test_the_newest_counts_and_grows_old(self):
        self.git("init", "-q")
        self.assertIsNone(gpu_record.newest(self.folder / "records", self.folder))
        self.publish(self.commit("one"))
        second = self.commit("two")
        self.publish(second)
        (self.folder / "records/foreign.json").write_text(json.dumps({"commit": "0" * 40, "tests": []}))  # of another history
        found, path = gpu_record.newest(self.folder / "records", self.folder)
        self.assertEqual((found["commit"], path.stem), (second, second))
        words = gpu_record.words_of(found, gpu_record.sources_digest(self.folder))
        self.assertEqual(words, f"GPU tests at {second} on GPU, 1, 2: tests 1 of 1 ok, racecheck 0 of 1 ok; signed off: no: 1 of 2 did not pass")
        self.commit("three")
        self.assertIn("the CUDA sources have changed since", gpu_record.words_of(found, gpu_record.sources_digest(self.folder)))

    def test_a_record_is_published_with_its_row(self):
        page = self.folder / "docs/results/README.md"
        page.parent.mkdir(parents=True)
        page.write_text("# Results\n\n| file | command | shows |\n|---|---|---|\n| a | b | c |\n\nMore.\n")
        self.git("init", "-q")
        commit = self.commit("one")
        record = gpu_record.record_of(["ok\ta\t-\t1\t\n"], [commit, "s", "d"])
        (self.folder / "record.json").write_text(json.dumps(record))
        for _ in range(2):
            path = gpu_record.publish(self.folder / "record.json", self.folder)
            self.assertEqual((path, json.loads(path.read_text())), (page.parent / f"gpu-tests/{commit}.json", record))
            self.assertEqual(page.read_text(), f"# Results\n\n| file | command | shows |\n|---|---|---|\n| a | b | c |\n{gpu_record.ROW}\n\nMore.\n")
        for wrong, accepted in (("0123456789ab-dirty", "that of a clean checkout"), ("0123456789ab", "one in the history of HEAD")):
            (self.folder / "record.json").write_text(json.dumps({**record, "commit": wrong}))
            with self.assertRaisesRegex(ValueError, f"commit '{wrong}'; accepted: {accepted}"):
                gpu_record.publish(self.folder / "record.json", self.folder)
            self.assertFalse((path.parent / f"{wrong}.json").exists())

    def test_two_records_of_a_commit_become_one(self):
        page = self.folder / "docs/results/README.md"
        page.parent.mkdir(parents=True)
        page.write_text(f"|---|---|---|\n{gpu_record.ROW}\n\n")
        self.git("init", "-q")
        commit = self.commit("one")

        def publish(day, lines, sources="s", device="d"):
            record = {**gpu_record.record_of([line + "\t1\t" + day for line in lines], [commit, sources, device]), "date": day}
            (self.folder / "record.json").write_text(json.dumps(record))
            record = json.loads(gpu_record.publish(self.folder / "record.json", self.folder).read_text())
            return record, {(t["test"], t["sanitizer"]): (t["verdict"], t["said"], t.get("device")) for t in record["tests"]}

        publish("2026-01-02", ["ok\ta\t-", "FAILED\tb\t-"])
        record, tests = publish("2026-01-02", ["ok\ta\tmemcheck"])
        self.assertEqual(list(tests), [("a", None), ("b", None), ("a", "memcheck")])
        self.assertEqual((record["ok"], record["of"], record["signed"]), (2, 3, "no: 1 of 3 did not pass"))
        record, tests = publish("2026-01-03", ["ok\tb\t-"], device="e")
        self.assertEqual(tests, {("a", None): ("ok", "2026-01-02", "d"), ("b", None): ("ok", "2026-01-03", None), ("a", "memcheck"): ("ok", "2026-01-02", "d")})
        self.assertEqual((record["device"], record["date"], record["signed"]), ("e", "2026-01-03", "all passed"))
        record, tests = publish("2026-01-01", ["FAILED\tb\t-", "ok\tc\t-"], device="d")  # an older one comes late
        self.assertEqual((tests["b", None][0], tests["c", None], record["device"], record["date"]), ("ok", ("ok", "2026-01-01", "d"), "e", "2026-01-03"))
        with self.assertRaisesRegex(ValueError, "sources 'other' of commit .*; accepted: those of its published record, s"):
            publish("2026-01-04", ["ok\ta\t-"], sources="other")

    def test_ours(self):
        """Warns: only a GPU can mend it."""
        done = subprocess.run([sys.executable, "-B", ROOT / "tools/gpu_record.py", "newest"], capture_output=True, text=True, check=True)
        if "have changed since" in done.stdout or done.stdout.startswith("no record"):
            self.skipTest(done.stdout.strip())


class GpuCheckTest(unittest.TestCase):
    """`gpu_check run` of a packed folder, whose tests are scripts of the checkout around it."""

    SCRIPTS = {"good": "def test_a(self): print('seen', flush=True)\n    def test_b(self): pass", "bad": "def test_a(self): pass\n    def test_wrong(self): self.fail()"}

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", self.folder], check=True))
        pack = self.folder / "build/gpu"
        for folder in ("bin", "lib"):
            (pack / folder).mkdir(parents=True)
        for tool in ("gpu_check", "gpu_record.py"):
            (pack / tool).write_bytes((ROOT / "tools" / tool).read_bytes())
        (pack / "bin/libsluice_cuda.so").write_bytes(Path("/bin/true").read_bytes())  # all that it needs is here
        (pack / "commit.txt").write_text("c\ns\n")
        for name, text in self.SCRIPTS.items():
            (self.folder / f"{name}.py").write_text(
                f"import sys, unittest\nassert sys.argv.pop(1) == '{pack}/bin/prog' and sys.argv.pop(1) == '{pack}/bin', sys.argv\n"
                f"class T(unittest.TestCase):\n    {text}\nunittest.main()\n")
        (self.folder / "none.py").write_text("import sys\nprint('Skipped: no GPU')\nsys.exit(77)\n")
        (pack / "tests.txt").write_text("".join(f"x.{name} python {name}.py bin/prog bin\n" for name in ("good", "bad", "none")))

    def test_scripts_are_run_and_recorded(self):
        done = subprocess.run(["bash", "build/gpu/gpu_check", "run", "--jobs", "2", "out"], cwd=self.folder, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("1 of 3 ok", done.stdout)
        record = json.loads((self.folder / "out/record.json").read_text())
        self.assertEqual([(test["test"], test["verdict"], test["said"]) for test in record["tests"]],
                         [("x.bad", "FAILED", "1 tests passed, exit 1: test_wrong "), ("x.good", "ok", "2 tests passed"), ("x.none", "SKIPPED", "no GPU")])
        self.assertEqual(subprocess.run(["bash", "build/gpu/gpu_check", "run", "--only", "x.g*", "out"], cwd=self.folder, capture_output=True, check=False, timeout=120).returncode, 0)


if __name__ == "__main__":
    unittest.main()
