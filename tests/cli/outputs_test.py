#!/usr/bin/env python3
# tests/cli/outputs_test.py - what a command prints or writes arrives, or the command fails; foreign files stay.
# SPDX-License-Identifier: Apache-2.0
"""usage: outputs_test.py PROGRAM"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = None
ROOT = Path(__file__).resolve().parents[2]
KINDS = ROOT / "tests" / "results" / "kinds"
TINY = ["--images", "2", "--samples", "1", "--sample-ms", "1", "--warmup-ms", "0", "--runs", "1"]


class Outputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="sluice-outputs-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in ("transforms", "loader"):
            shutil.copy(KINDS / f"{name}.json", cls.folder)
        (cls.folder / "steps.yaml").write_text("- Solarize\n")
        cls.must("data", "make", "--count", 3, "--width", 64, "--height", 48, "--out", "photos")

    @classmethod
    def sluice(cls, *words, **options):
        if words[0] not in ("--help", "--version"):
            words = (*words, "--quiet")
        options = {"stdout": subprocess.PIPE, **options}
        return subprocess.run([PROGRAM, *map(str, words)], stderr=subprocess.PIPE, text=True, cwd=cls.folder, timeout=300,
                              check=False, **options)

    @classmethod
    def must(cls, *words):
        done = cls.sluice(*words)
        assert done.returncode == 0, done.stderr
        return done


class Stdout(Outputs):
    def printing(self):
        """Command lines of every command that prints without measuring for long."""
        file = "transforms.json"
        yield from (["--help"], ["--version"], ["report", "--help"], ["quick", "--help-all"])
        for form in ("text", "md", "csv", "html", "junit", "openmetrics", "google-benchmark", "bencher",
                     "github-action-benchmark", "github-summary"):
            yield ["report", file, "--format", form]
        for words in (["compare", file, file], ["validate", file], ["coverage", file, "--profile", "ram-reduced"], ["env"], ["doctor"], ["flops"],
                      ["data", "info", "photos"], ["peers", "list"], ["baseline", "list"],
                      ["plan", "--config", self.config()],
                      ["augment", "photos/rgb-000000.jpg", "--pipeline", "steps.yaml", "--out", "augmented"],
                      ["data", "make", "--count", 1, "--out", "made"],
                      ["bench", "harness", *TINY, "--out", "R{}"],
                      ["selftest", "--simulate", "--trials", 1, "--pairs", 4]):
            yield words
            yield [*words, "--json"]
        yield from (["report", file, "--json"], ["report", file, "--out", "D"], ["completion", "bash"], ["completion", "zsh"],
                    ["ci", "--print"], ["ci", "--out", "ci"], ["bench", "dataloader", "--explain"])

    @staticmethod
    def config():
        folder = ROOT / "configs" / "examples"
        return next(iter(sorted(folder.glob("*.yaml"))))

    def all_fail(self, reason, **options):
        for number, words in enumerate(self.printing()):
            words = [str(word).replace("{}", f"-{reason[:3]}-{number}") for word in words]
            with self.subTest(command=" ".join(words)):
                done = self.sluice(*words, **options)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.strip().splitlines()[-1],
                                 f"sluice: stdout: the output could not be written: {reason}")

    def test_a_full_device_is_said(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.all_fail("No space left on device", stdout=full)

    def test_a_closed_stdout_is_said_and_no_file_takes_its_place(self):
        done = self.sluice("compare", "transforms.json", "transforms.json", "--json", "--out", "closed", stdout=None,
                           preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("stdout: the output could not be written: Bad file descriptor", done.stderr)
        self.assertTrue((self.folder / "closed/verdict.json").read_text().startswith("{"))


class Source(unittest.TestCase):
    def files_with(self, folder, pattern):
        return {path.name for path in (ROOT / "src/sluice" / folder).rglob("*.cpp") if re.search(pattern, path.read_text(encoding="utf-8"))}

    def test_one_file_writes_to_stdout(self):
        self.assertEqual(self.files_with(".", r"fmt::print\(\s*(?!stderr|\s)|std::cout|\bstdout\b\)"), {"print.cpp"})

    def test_one_file_of_cli_writes_files(self):
        # local_run, cluster: in their run folders; reference: the pages of this repository
        self.assertEqual(self.files_with("cli", "write_file_atomic|ofstream"), {"output_files.cpp", "local_run.cpp", "cluster.cpp", "reference.cpp"})


class Files(Outputs):
    def writing(self):
        """Command lines and what they write."""
        file = "transforms.json"
        yield ["report", file, "--out", "O"], ["report.md", "report.html", "results.csv"]
        yield ["report", file, "--format", "junit", "--out", "O"], ["junit.xml"]
        yield ["compare", file, file, "--out", "O"], ["verdict.json"]
        yield ["validate", file, "--out", "O"], ["validation.json"]
        yield ["coverage", file, "--profile", "ram-reduced", "--out", "O"], ["coverage.json"]
        yield ["flops", "--out", "O"], ["flops.json"]
        yield ["flops", "--scaling", "--out", "O"], ["flop_scaling.csv", "flop_scaling.svg"]
        yield ["env", "--out", "O"], ["env.json"]
        yield ["completion", "bash", "--out", "O"], ["sluice"]
        yield ["completion", "zsh", "--out", "O"], ["_sluice"]
        yield ["selftest", "--simulate", "--trials", 1, "--pairs", 4, "--out", "O"], ["selftest.json"]
        yield ["ab", "--a", "true", "--b", "true", "--pairs", 2, "--out", "O"], ["verdict.json"]
        yield ["data", "make", "--kind", "arrays", "--bytes", 1000, "--count", 2, "--out", "O"], ["array-000001.npy"]
        yield ["data", "make", "--kind", "text", "--tokens", 100, "--out", "O"], ["tokens.json", "tokens-00000.bin"]

    def test_foreign_files_stay_unless_forced_and_ours_are_replaced(self):
        for words, names in self.writing():
            for name in names:
                with self.subTest(command=" ".join(map(str, words)), name=name):
                    out = self.folder / "O"
                    shutil.rmtree(out, ignore_errors=True)
                    out.mkdir()
                    (out / name).write_text("mine")
                    done = self.sluice(*words)
                    self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                    self.assertIn(name, done.stderr)
                    self.assertIn("--force", done.stderr)
                    self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                    self.assertEqual((out / name).read_text(), "mine")
                    self.assertIn(self.sluice(*words, "--force").returncode, (0, 1), words)
                    self.assertNotEqual((out / name).read_bytes(), b"mine")
                    self.assertIn(self.sluice(*words).returncode, (0, 1), "its own file is replaced")
                    self.assertEqual([path.name for path in out.iterdir() if path.suffix in (".lock", ".tmp")], [])

    def test_what_was_edited_since_is_foreign(self):
        self.must("report", "transforms.json", "--out", "edited")
        page = self.folder / "edited/report.md"
        page.write_text(page.read_text() + "\nMy conclusions.\n")
        done = self.sluice("report", "loader.json", "--out", "edited")
        self.assertEqual(done.returncode, 2)
        self.assertIn("edited/report.md: exists, and sluice did not write it or it was changed since", done.stderr)
        self.assertIn("My conclusions.", page.read_text())

    def test_a_run_folder_is_ours(self):
        run = self.folder / "run"
        done = self.sluice("bench", "harness", *TINY, "--out", run)
        self.assertIn(done.returncode, (0, 5), done.stderr)
        before = (run / "report.html").read_text()
        (run / "report.html").write_text("old")
        self.must("report", run)
        self.assertEqual((run / "report.html").read_text(), before)
        self.assertFalse((run / ".sluice-files.json").exists())


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
