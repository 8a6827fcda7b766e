# tests/cli/history_site_test.py - `sluice history --site`: the page holds what the files hold, and nothing on it runs but its own script.
# SPDX-License-Identifier: Apache-2.0
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from piped_browser import PipedBrowser  # noqa: E402
from site_case import BROWSER, HOSTILE, PROFILE, document_of, result, row, series_of, write_run  # noqa: E402

PROGRAM = Path(sys.argv.pop(1)).resolve()
VISITS = 50


def value_of(i):
    return 1000 * (1 if i < 30 else 0.9) * (1 + 0.002 * (i % 5 - 2))


class HistorySiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        for i in range(VISITS):
            rows = [row("decode/jpeg", value_of(i), 3.5), row(HOSTILE, 5.25 + i % 3), row("flat", 7.0, 0.5, unit="clips/s")]
            write_run(cls.folder / f"runs/r{i:03} <b>", result(rows, f"2026-01-{1 + i // 24:02}T{i % 24:02}:00:00Z", f"{i:040x}", i == 3))
        cls.page = cls.make("site")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def run_in(cls, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=cls.folder, timeout=300, check=False)

    @classmethod
    def make(cls, site, *flags):
        done = cls.run_in("history", "--site", site, "--baseline-dir", "none", *flags)
        assert done.returncode == 0, done.stdout + done.stderr
        return (cls.folder / site / "index.html").read_text()

    def look(self, site, script):
        """What a script returns in the page of a site that has drawn its charts, with nothing said on the console."""
        with PipedBrowser() as browser:
            said = browser.look_once_drawn((self.folder / site / "index.html").as_uri(), script)
            self.assertEqual(browser.complaints, [])
        return said

    def test_numbers_read_back_are_those_of_the_files(self):
        document = document_of(self.page)
        self.assertEqual(len(document["groups"]), 1)
        group = document["groups"][0]
        self.assertEqual((group["profile"], group["work"], len(group["times"])), (PROFILE, "quick", VISITS))
        found = series_of(document)
        self.assertEqual(set(found), {"decode/jpeg", HOSTILE, "flat"})
        values, whiskers, changes = found["decode/jpeg"]
        for i, (value, (low, high)) in enumerate(zip(values, whiskers)):
            self.assertAlmostEqual(value, value_of(i), delta=1e-4)
            self.assertAlmostEqual(low, value_of(i) - 3.5, delta=1e-4)
            self.assertAlmostEqual(high, value_of(i) + 3.5, delta=1e-4)
        change, = changes
        self.assertEqual(change[0], 30)
        self.assertAlmostEqual(change[3], -10, delta=0.3)
        self.assertEqual(found["flat"][2], [])
        commits = [group["commits"]["of"][k] for k in group["commits"]["at"]]
        self.assertEqual(commits[7], f"{7:040x}")
        self.assertEqual([k for k, flags in enumerate(group["flags"]) if flags & 2], [3])

    def test_links_lead_to_the_files_and_never_to_a_scheme(self):
        from urllib.parse import unquote  # noqa: PLC0415
        for link in document_of(self.page)["groups"][0]["files"]:
            self.assertTrue(link.startswith("../runs/"), link)
            self.assertNotRegex(link, r"[<>\"' :]")
            self.assertTrue((self.folder / "site" / unquote(link)).is_file(), link)

    def test_names_with_markup_are_text(self):
        self.assertEqual(self.page.count("<script"), 2)
        self.assertNotIn("<img", self.page)
        self.assertIn("script-src 'sha256-", self.page)
        self.assertNotRegex(self.page, r"(src|href)=\"(?!data:,)[^\"]*//")

    def test_markup_anywhere_in_a_file_is_text(self):
        document = result([row(HOSTILE, 4.5, unit=HOSTILE, library=HOSTILE)], "2026-01-01T00:00:00Z", HOSTILE, profile=HOSTILE)
        document["argv"] = ["sluice", HOSTILE]
        document["tool"] = {"version": HOSTILE, "git": HOSTILE}
        folder = HOSTILE.replace("/", "")
        write_run(self.folder / "marked" / folder, document)
        write_run(self.folder / "marked" / (folder + "2"), document)
        (self.folder / "marked" / (folder + "2") / "results/quick.json").write_text("{")
        page = self.make("S7", "--runs", "marked")
        self.assertEqual(page.count("<script"), 2)
        self.assertNotIn("<img", page)
        found = document_of(page)
        self.assertEqual((found["groups"][0]["profile"], found["groups"][0]["commits"]["of"]), (HOSTILE, [HOSTILE]))
        self.assertEqual(len(found["problems"]), 1)
        if BROWSER is None:
            return
        script = """
          const page = document;
          page.querySelector('#charts button').click(); page.getElementById('values').open = true; await wait();
          return [page.querySelectorAll('img, svg [onload], b').length, page.getElementById('readout').textContent];"""
        elements, readout = self.look("S7", script)
        self.assertEqual(elements, 0)
        self.assertIn("<img src=x onerror=alert(1)>", readout)

    def test_damaged_files_are_named_and_the_rest_is_shown(self):
        folder = self.folder / "damaged"
        write_run(folder / "good", result([row("a", 1.5)], "2026-01-01T00:00:00Z", "c0"))
        write_run(folder / "cut", result([row("a", 2.5)], "2026-01-02T00:00:00Z", "c1"))
        cut = folder / "cut/results/quick.json"
        cut.write_text(cut.read_text()[:200])
        (folder / "broken").mkdir()
        (folder / "broken/metrics.json").write_text("{")
        stored = self.folder / "stored"
        stored.mkdir()
        line = {"timestamp": "2025-12-01T00:00:00Z", "commit": "b0", "figures": {"tokens_per_sec_p50": 12.5}, "ranges": {"tokens_per_sec_p50": [12, 13]}}
        (stored / "cpu-test.0123abcd.history.jsonl").write_text(json.dumps(line) + "\n{\"cut\n" + json.dumps({**line, "timestamp": "2025-12-02T00:00:00Z"}) + "\n")
        done = self.run_in("history", "--site", "S2", "--runs", "damaged", "--baseline-dir", "stored")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.folder / "S2/index.html").read_text()
        document = document_of(page)
        for name in ("cut/results/quick.json", "broken/metrics.json", "cpu-test.0123abcd.history.jsonl:2"):
            self.assertEqual(len([line for line in done.stderr.splitlines() if name in line]), 1, done.stderr)
            self.assertIn(name, page)
            self.assertEqual(len([one for one in document["problems"] if name in one]), 1)
        shown = {(group["profile"], group["workload"]): group for group in document["groups"]}
        promoted = shown["cpu-test", "0123abcd"]
        self.assertEqual((promoted["times"], promoted["flags"]), (["2025-12-01T00:00:00Z", "2025-12-02T00:00:00Z"], [1, 1]))
        self.assertEqual(len(document["groups"]), 2)
        values, whiskers, _ = series_of(document, document["groups"].index(promoted))["tokens_per_sec_p50"]
        self.assertEqual((values, whiskers), ((12.5, 12.5), [(12, 13), (12, 13)]))

    def test_ten_thousand_visits(self):
        visits, moved = 10_000, 6_000
        for i in range(500):  # as run folders, the newest
            write_run(self.folder / f"many/{i:03}", result([row("a", 3.0 + i)], f"2027-01-{1 + i // 24:02}T{i % 24:02}:00:00Z", f"{i:040x}"))
        stored = self.folder / "many-stored"
        stored.mkdir()
        lines = [json.dumps({"timestamp": f"20{i // 400:02}-{1 + i % 400 // 34:02}-{1 + i % 34 % 28:02}T00:00:0{i % 34 // 28}Z", "commit": f"{i:040x}",
                             "figures": {"tokens_per_sec_p50": (100 if i < moved else 80) * (1 + 0.002 * (i % 5 - 2))}}) for i in range(visits)]
        (stored / "cpu-test.0123abcd.history.jsonl").write_text("\n".join(sorted(lines)) + "\n")
        done = self.run_in("history", "--site", "S6", "--runs", "many", "--baseline-dir", "many-stored")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"{visits + 500} visits", done.stdout)
        document = document_of((self.folder / "S6/index.html").read_text())
        promoted, = (k for k, group in enumerate(document["groups"]) if group["profile"] == "cpu-test")
        values, _, changes = series_of(document, promoted)["tokens_per_sec_p50"]
        self.assertEqual(len(values), visits, "nothing is lost")
        self.assertEqual([change[0] for change in changes], [moved])

    def test_changes_are_those_of_otava(self):
        # Written by tools/otava_values.py with Apache Otava 0.8.0, window 50, p 0.001; docs/history-site.md says in what the two differ.
        table = json.loads((Path(__file__).resolve().parents[1] / "stats/otava_values.json").read_text())
        for i in range(max(len(one["values"]) for one in table)):
            rows = [row(one["name"], one["values"][i]) for one in table if i < len(one["values"])]
            write_run(self.folder / f"otava/{i:03}", result(rows, f"2026-01-01T{i // 60:02}:{i % 60:02}:00Z", f"{i:040x}"))
        found = series_of(document_of(self.make("S5", "--runs", "otava")))
        for one in table:
            ours = [change[0] for change in found[one["name"]][2]]
            if one["name"] == "scatter as large as the step":  # the stricter first pass does not split there
                self.assertEqual((ours, len(one["otava"])), ([], 1))
            else:
                self.assertEqual(ours, [point["index"] for point in one["otava"]], one["name"])

    def test_refusals(self):
        done = self.run_in("history", "--site", "S3", "--runs", "nothing", "--baseline-dir", "none")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "nothing and none: no runs")
        done = self.run_in("history", "--baseline-dir", "none")
        self.assertEqual(done.returncode, 2)
        self.assertIn("runs and none: no runs of training or eval; history --site DIR shows every kind", done.stderr)
        (self.folder / "S4").mkdir()
        (self.folder / "S4/index.html").write_text("mine")
        done = self.run_in("history", "--site", "S4", "--baseline-dir", "none")
        self.assertEqual(done.returncode, 2)
        self.assertEqual((self.folder / "S4/index.html").read_text(), "mine")
        self.make("site")  # our own page is written again
        told = json.loads(self.run_in("history", "--site", "site", "--baseline-dir", "none", "--json").stdout)
        self.assertEqual((told["visits"], told["series"], told["changes"]), (VISITS, 3, 1))

    @unittest.skipIf(BROWSER is None, "no chromium on this machine; tools/setup installs it")
    def test_a_browser_draws_it_and_shows_the_numbers(self):
        dom = self.look("site", "return document.documentElement.outerHTML;")
        self.assertRegex(dom, r'<html lang="en" data-drawn="\d+"')
        self.assertEqual(len(re.findall(r"<canvas data-card", dom)), 3)
        self.assertNotIn("<img", dom)
        self.assertIn("3 of 3 metrics, 50 visits", dom)
        self.assertIn("−10.0 %", dom)
        script = """
          const page = document, find = id => page.getElementById(id), said = {};
          said.cards = [...page.querySelectorAll('#charts button')].map(one => one.textContent);
          said.ink = [...page.querySelectorAll('#charts canvas')].map(one => [...one.getContext('2d').getImageData(0, 0, one.width, one.height).data].some(v => v));
          [...page.querySelectorAll('#charts button')].find(one => one.textContent === 'decode/jpeg').click();
          said.open = find('large').open;
          find('values').open = true; await wait();
          said.rows = [...find('value-rows').children].map(one => [...one.children].map(cell => cell.textContent));
          const key = (name, more) => find('large-chart').dispatchEvent(new KeyboardEvent('keydown', {key: name, ...more}));
          key('Home'); said.first = find('readout').textContent; said.raw = find('raw').getAttribute('href');
          key('ArrowRight', {shiftKey: true}); said.eleventh = find('readout').textContent;
          key('+'); key('l'); await wait(); said.zoomed = !find('reset').disabled; said.log = find('log').checked;
          key('0'); said.whole = find('reset').disabled;
          find('large').close(); await wait();
          find('filter').value = 'FLAT'; find('filter').dispatchEvent(new Event('input'));
          said.filtered = [...page.querySelectorAll('#charts button')].map(one => one.textContent);
          find('filter').value = ''; find('changed').checked = true; find('changed').dispatchEvent(new Event('change'));
          said.changed = [...page.querySelectorAll('#charts button')].map(one => one.textContent);
          said.address = location.hash;
          return said;"""
        said = self.look("site", script)
        self.assertEqual(said["cards"], sorted(["decode/jpeg", "flat", HOSTILE]))
        self.assertEqual(said["ink"], [True] * 3)
        self.assertTrue(said["open"])
        self.assertEqual(len(said["rows"]), VISITS)
        for i, cells in enumerate(reversed(said["rows"])):
            self.assertEqual(cells[1], f"{i:040x}")
            for cell, wanted in zip(cells[2:5], (value_of(i), value_of(i) - 3.5, value_of(i) + 3.5)):
                self.assertAlmostEqual(float(cell), wanted, delta=1e-3)
        self.assertIn("commit 0000000000 · 2026-01-01T00:00:00Z", said["first"])
        self.assertTrue(said["raw"].startswith("../runs/r000"))
        self.assertIn("2026-01-01T10:00:00Z", said["eleventh"])
        self.assertTrue(said["zoomed"] and said["log"] and said["whole"])
        self.assertEqual((said["filtered"], said["changed"]), (["flat"], ["decode/jpeg"]))
        self.assertIn("changed=1", said["address"])


if __name__ == "__main__":
    unittest.main()
