#!/usr/bin/env python3
# tests/report/browser_test.py - opens report pages in headless Chromium: what is on them, and a silent console.
# SPDX-License-Identifier: Apache-2.0
import argparse
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ARGS = None
KINDS = pathlib.Path(__file__).resolve().parents[1] / "results" / "kinds"
SKIPPED = 77  # what ctest calls skipped
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(html.parser.HTMLParser):
    """Counts elements by (tag, first class) and keeps the visible text of the DOM that the browser built."""

    def __init__(self, text):
        super().__init__()
        self.counts = {}
        self.tags = []
        self.text = ""
        self.loads = []
        self.in_style = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        name = (attributes.get("class") or "").split(" ")[0]
        for key in ((tag, None), (tag, name)):
            self.counts[key] = self.counts.get(key, 0) + 1
        self.loads += [value for key, value in attrs if key in ("src", "href", "data", "poster", "action", "srcset")]
        self.loads += [f"{key}={value}" for key, value in attrs if key.startswith("on")]
        self.in_style = tag == "style"

    def handle_endtag(self, tag):
        self.in_style = False

    def handle_data(self, data):
        if not self.in_style:
            self.text += data

    def count(self, tag, name=None):
        return self.counts.get((tag, name), 0)


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        subprocess.run([ARGS.writer, cls.folder, KINDS], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def open(self, name):
        """The DOM after loading, once the console has been found silent and nothing refers to another file."""
        done, console = self.load(name)
        self.assertEqual(console, [], name)
        page = Page(done.stdout)
        for load in page.loads:
            self.assertTrue(load == "data:," or load.startswith("#"), f"{name} would load {load}")
        self.assertNotIn("script", page.tags)
        self.assertNotIn("img", page.tags)
        return page

    def load(self, name, *extra):
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             f"--user-data-dir={self.folder / 'profile'}", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--v=0",
             "--virtual-time-budget=1000", *extra, "--dump-dom",
             (self.folder / f"{name}.html").as_uri()],
            capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return done, console

    def test_a_complaint_would_be_heard(self):
        (self.folder / "broken.html").write_text(
            "<!doctype html><meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
            "<img src='https://example.invalid/x.png'>", encoding="utf-8")
        _, console = self.load("broken")
        self.assertEqual(len(console), 1)

    def test_quick(self):
        page = self.open("quick")
        self.assertEqual(page.count("th", None) - 2 * 6, 8 + 3)  # rows and canary, less the two table heads
        self.assertEqual(page.count("svg", "interval"), 11)
        self.assertEqual(page.count("svg", "distribution"), 8)
        self.assertEqual(page.count("li", "card"), 6)
        self.assertGreaterEqual(page.count("circle", "dot"), 8 * 15)
        for text in ("sluice quick", "decode/jpeg/threads=1", "848.3 to 882.6", "unstable", "Canary",
                     "Give the run whole cores", "sluice quick --out 'runs/my run'", "CLOCK_MONOTONIC"):
            self.assertIn(text, page.text)

    def test_peers(self):
        page = self.open("peers")
        for status in ("ok", "early", "unsupported", "failed", "skipped"):
            self.assertRegex(page.text, status)
        self.assertEqual(page.count("svg", "bars"), 6)
        self.assertEqual(page.count("tr", "best"), 2)

    def test_hostile_strings_stay_text(self):
        page = self.open("hostile")
        self.assertIn("<script>alert(1)</script>", page.text)
        self.assertIn("onerror=alert(2)", page.text)

    def test_matrix(self):
        page = self.open("matrix")
        self.assertEqual(page.count("table", "matrix"), 5)
        self.assertEqual(page.count("td", "failed"), 2)
        self.assertGreater(page.text.index("Profiler: image-rgb on the CPU"), page.text.index("DataLoader: image-rgb"))
        for text in ("≤20 img/s", "≤0.5 clips/s", "8/9", "1.05×", "opencv-wheel for HorizontalFlip"):
            self.assertIn(text, page.text)

    def kinds(self):
        return sorted(path.stem for path in self.folder.glob("kind-*.html"))

    def test_every_kind_opens_with_its_answer(self):
        self.assertGreaterEqual(len(self.kinds()), 12)
        for name in self.kinds():
            page = self.open(name)
            self.assertGreaterEqual(page.count("div", "answer"), 1, name)
            self.assertIn("What to do next", page.text, name)

    def test_what_is_drawn_has_the_numbers_of_the_file(self):
        drawn = 0
        for name in self.kinds():
            page = self.open(name)
            text = " ".join(page.text.split())
            self.assertEqual(page.count("pre"), page.count("pre", ""), f"{name}: commands alone are preformatted")
            file = json.loads((KINDS / f"{name.removeprefix('kind-')}.json").read_text(encoding="utf-8"))
            metrics, summary = file.get("metrics") or {}, file.get("summary") or {}
            phases = metrics.get("phases") or {}
            for phase, seconds in (phases.get("per_step") or {}).items():
                if seconds / phases["natural_step_s"] > 0.001:
                    self.assertIn(f"{phase.removesuffix('_s')}{seconds * 1e3:.3f} ms", text.replace("> ", ""), name)
                    drawn += 1
            for work in ((summary.get("top_kernels") or summary.get("top_ops")) or [])[:12]:
                self.assertIn(f"{work['ms_per_step']:.3f} ms, {work['share'] * 100:.1f} %, {work['category']}", text, name)
                self.assertIn(work["name"][:16], text, name)  # long ones are clipped in the middle
                drawn += 1
            lines = [details["memory_by_step"] for row in file.get("rows") or [] for run in row["runs"]
                     for details in (run.get("details") or [])[-1:] if details.get("memory_by_step")]
            if lines:
                self.assertEqual(page.count("svg", "memory-line"), 1, name)
                self.assertIn(f"step {lines[0][0][0]}step {lines[0][-1][0]}", text, name)
                drawn += 1
            for stage in summary.get("stages") or []:
                if stage.get("ceiling_samples_per_sec"):
                    self.assertIn(f"{stage['share_of_worker_time'] * 100:.1f} %max {stage['ceiling_samples_per_sec']:,.0f} samples/s", text, name)
                    drawn += 1
            for check in (summary.get("targets") or []) + (summary.get("indicators") or []):
                self.assertIn(check["found"][:60], text, name)
                self.assertIn(check["target"], text, name)
                drawn += 1
        self.assertGreater(drawn, 40)

    def test_a_run_beside_its_baseline(self):
        page = self.open("gain")
        text = " ".join(page.text.split())
        files = {name: json.loads((KINDS / f"{name}.json").read_text(encoding="utf-8"))["metrics"]
                 for name in ("loader", "loader-peers", "training", "training-amp")}
        for was, run, keys, scale, shown in (
                ("loader", "loader-peers", ("load_time_per_batch_ms",), 1, "{:.2f} ms"),
                ("loader", "loader-peers", ("first_epoch_samples_per_sec",), 1, "{:.0f} samples/s"),
                ("training", "training-amp", ("timing", "step_time_p50_s"), 1e3, "{:.2f} ms"),
                ("training", "training-amp", ("memory", "peak_allocated_bytes"), 2**-20, "{:.3g} MiB")):
            cells = []
            for name in (was, run):
                value = files[name]
                for key in keys:
                    value = value[key]
                cells.append(shown.format(value * scale))
            self.assertIn("".join(cells), text, "a figure of the baseline and the same of the run, in cells of a row")
        self.assertEqual(page.count("svg", "memory-line"), 2 + 4)  # CPU and RAM; with a GPU two more
        self.assertEqual(page.count("line", "edge"), (2 + 4) * 2, "three moments are two lines")
        for said in ("mean 50 %, highest 75 % of 2 cores", "mean 90 %, highest 100 %", "GPU: n/a (no GPU was <asked> for)",
                     "the sides did not do the same work", "Performance Benchmark Report"):
            self.assertIn(said, text)

    def test_large(self):
        self.assertEqual(self.open("large").count("svg", "distribution"), 200)

    def test_nothing_sticks_out_at_any_width(self):
        # A window cannot be narrower than 500 px; a frame can. What overflows it goes into the title.
        names = ["quick", "peers", "hostile", "matrix", "gain", *self.kinds()]
        widths = (320, 390, 800, 980, 1200)
        frames = "".join(f"<iframe width={width} height=800 style='border:0' src='{name}.html'></iframe>"
                         for name in names for width in widths)
        (self.folder / "frames.html").write_text(
            frames + "<script>onload = () => document.title = 'widths ' + [...document.querySelectorAll('iframe')]"
            ".map(f => f.contentDocument.documentElement).map(e => e.scrollWidth - e.clientWidth).join(' ')</script>", encoding="utf-8")
        done, _ = self.load("frames", "--allow-file-access-from-files")
        overflow = re.search(r"<title>widths ([\d ]+)", done.stdout)
        self.assertIsNotNone(overflow, done.stdout[:2000] + done.stderr)
        self.assertEqual(overflow.group(1).split(), ["0"] * len(names) * len(widths))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--writer", required=True)
    ARGS = parser.parse_args()
    if BROWSER is None:
        print("SKIPPED: no chromium on this machine; tools/setup installs it")
        sys.exit(SKIPPED)
    sys.exit(not unittest.main(argv=[sys.argv[0]], exit=False).result.wasSuccessful())
