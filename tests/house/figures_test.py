# tests/house/figures_test.py - every measured figure of README.md, docs and bench/kernels is a mark, and stands as its file has it.
# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import figures  # noqa: E402


def row(library, rates):
    return {"case": "t/A", "library": library, "items_per_sample": 1000, "runs": [{"block": b, "samples_ns": [1000 / rate * 1e9]} for b, rate in enumerate(rates)]}


class FiguresTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        (self.root / "docs/results").mkdir(parents=True)
        (self.root / "docs/results/r.json").write_text(json.dumps({
            "rows": [row("sluice", [2000, 2020, 1980]), row("other", [1000, 1000, 1000])], "summary": {"share": 0.125, "list": [{"a/b": 7}], "name": "x"}}))
        (self.root / "docs/results/r.txt").write_text("kernel one   12.6 us  3 launches\nkernel two  1,250 us\n")
        (self.root / "limits.h").write_text("constexpr int kMost = 64 << 20;  // 99 were too many\nconstexpr double kShare = 0.03;\n// kMost was 50\n")
        self.page = self.root / "page.md"
        for name, value in (("ROOT", self.root), ("RESULTS", self.root / "docs/results")):
            patch = mock.patch.object(figures, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        figures.document_of.cache_clear()

    def run_tool(self, text, *options):
        self.page.write_text(text)
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = figures.main([*options, str(self.page)])
        return code, said.getvalue()

    def test_marks_are_filled(self):
        code, said = self.run_tool("at [1 samples/s](docs/results/r.json#t/A@sluice), **[9.99 ×](docs/results/r.json#t/A@sluice/other)** ([0.0](docs/results/r.json#t/A@sluice/other:low))\n"
                                   "[1 %](docs/results/r.json#/summary/share*100), [0](docs/results/r.json#/summary/list/0/a~1b), [0.0 ms](docs/results/r.json#t/A@other:ms) and [a link](docs/x.json)\n")
        self.assertEqual((code, said), (0, ""))
        text = self.page.read_text()
        for part in ("[2,000 samples/s]", "[2.00 ×]", "[2.0](", "[12 %]", "[7](", "[1,000.0 ms]", "[a link](docs/x.json)"):
            self.assertIn(part, text)

    def test_a_figure_changed_by_hand_is_named(self):
        code, said = self.run_tool("one\n[2,001 samples/s](docs/results/r.json#t/A@sluice)\n", "--check")
        self.assertEqual((code, said), (1, "page.md:2: 2,001 stands there, docs/results/r.json has 2,000\n"))
        self.assertIn("2,001", self.page.read_text())

    def test_marks_that_lead_nowhere_are_refused(self):
        for mark, words in (("[1](docs/results/none.json#t/A@sluice)", "none.json: no such file"), ("[1](docs/results/r.json#t/B@sluice)", "no row t/B of sluice; it has: t/A@other"),
                            ("[1](docs/results/r.json#t/A@sluice:best)", "field 'best'; accepted: ms"), ("[1](docs/results/r.json#/summary/none)", "'none' is not there"),
                            ("[1](docs/results/r.json#/summary/name)", "is no number"), ("[1 to 2](docs/results/r.json#t/A@sluice)", "a mark holds one number"),
                            ("[1](docs/results/none.txt#kernel)", "none.txt: no such file"), ("[1](docs/results/r.txt#kernel%20three)", "no line with 'kernel three' and a number"),
                            ("[1](limits.h#kLeast)", "no line with 'kLeast'"), ("[1](../limits.h#kMost)", "../limits.h: no such file")):
            for options in ((), ("--check",)):
                code, said = self.run_tool(mark, *options)
                self.assertEqual(code, 2, mark)
                self.assertIn(words, said)
                self.assertTrue(said.startswith("page.md:1: "), said)

    def test_a_number_of_a_text_is_the_one_that_the_mark_names(self):
        for mark, number in (("[0.0 us](docs/results/r.txt#kernel%20one;1)", "12.6"), ("[0](docs/results/r.txt#kernel%20one;2)", "3"), ("[0 us](docs/results/r.txt#kernel%20two)", "1,250"),
                             ("[0.00 ms](docs/results/r.txt#kernel%20two*0.001)", "1.25"), ("[0](docs/results/r.txt#kernel;1.2)", "3"), ("[0](docs/results/r.txt#kernel;2.1*2)", "2,500"),
                             ("[0 MiB](limits.h#kMost)", "64"), ("[0 %](limits.h#kShare*100)", "3")):
            self.assertEqual(self.run_tool(mark), (0, ""), mark)
            self.assertEqual(figures.NUMBER.findall(self.page.read_text())[0], number, mark)
        for mark in ("[12.6 us](docs/results/r.txt#kernel%20two)", "[20 MiB](limits.h#kMost)", "[50 MiB](limits.h#kMost)", "[99 MiB](limits.h#kMost)", "[4 %](limits.h#kShare*100)"):
            code, said = self.run_tool(mark, "--check")
            self.assertEqual(code, 1)
            self.assertIn(" stands there, ", said)

    def test_a_mark_that_leaves_open_which_number_is_refused(self):
        for select, words in (("kernel%20one", "holds 2 numbers; say which by ;N"), ("kernel", "2 lines with a number hold 'kernel'; say which by ;LINE.N"),
                              ("kernel;1", "2 lines with a number hold 'kernel'; say which by ;LINE.N"), ("kernel%20one;3", ";3: that line with 'kernel one' holds 2 numbers"),
                              ("kernel%20one;0", ";0: that line"), ("kernel;3.1", ";3.1: 2 lines with a number hold 'kernel'"), ("kernel;0.1", ";0.1: 2 lines")):
            code, said = self.run_tool(f"[12.6 us](docs/results/r.txt#{select})", "--check")
            self.assertEqual(code, 2, select)
            self.assertIn(words, said)
        code, said = self.run_tool("[1](docs/results/r.json#t/A@sluice;1)")
        self.assertEqual(code, 2)
        self.assertIn("asked of texts and sources only", said)

    def test_two_figures_that_change_places_fail(self):
        first, second = "docs/results/r.txt#kernel%20one;1", "docs/results/r.txt#kernel%20one;2"
        self.assertEqual(self.run_tool(f"[12.6]({first}) us, [3.0]({second}) launches", "--check"), (0, ""))
        code, said = self.run_tool(f"[3.0]({first}) us, [12.6]({second}) launches", "--check")
        self.assertEqual((code, said.splitlines()), (1, ["page.md:1: 3.0 stands there, docs/results/r.txt has 12.6", "page.md:1: 12.6 stands there, docs/results/r.txt has 3.0"]))

    def test_a_folder_is_compared_as_a_whole(self):
        folder = self.root / "docs/results/f"
        folder.mkdir()
        rows = [row("sluice", [2000, 2000]), row("other", [1000, 1000]), row("third", [1600, 1600])]
        rows += [{**one, "case": "t/B", "items_per_sample": one["items_per_sample"] * (2 if one["library"] == "sluice" else 1)} for one in rows]
        (folder / "manifest.json").write_text("{}")
        (folder / "one_results.json").write_text(json.dumps({"rows": [{**one, "status": "ok"} for one in rows]}))
        start = "](docs/results/f/manifest.json#ALL@sluice/"
        code, said = self.run_tool(f"[0.00 ×{start}other) [0.00{start}other:least) [0.00{start}other:most) [0.00{start}fastest)")
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(figures.NUMBER.findall(self.page.read_text()), ["2.83", "2.00", "4.00", "1.77"])
        for mark, words in (("[1" + start + "none)", "no case of both 'sluice' and 'none'"), ("[1" + start + "other:low)", "field 'low'; accepted: least, most")):
            code, said = self.run_tool(mark)
            self.assertEqual(code, 2)
            self.assertIn(words, said)

    def test_marks_that_disagree_are_both_named(self):
        code, said = self.run_tool("[2,000 img/s](docs/results/r.json#t/A@sluice)\n[2,100 img/s](docs/results/r.json#t/A@sluice) [2.0](docs/results/r.json#t/A@sluice*0.001)\n", "--check")
        self.assertEqual(code, 1)
        self.assertIn("page.md:1: 2,000 and page.md:2: 2,100 disagree about r.json#t/A@sluice", said)
        self.assertEqual(said.count("disagree"), 1)

    def test_figures_without_a_mark_are_found(self):
        for text, figures_of_it in (
                ("12 ms, **1.5 ×** and 20 %; 500 × 375 pixels; `--limit 3ms`; [4 ms](docs/results/r.json#t/A@other:ms)\n```\n5 ms\n```\n6 samples/s\n",
                 [(1, "12 ms"), (1, "1.5 ×"), (1, "20 %"), (5, "6 samples/s")]),
                ("`3 ms`, [4 ms](page.md), [5 ms](page.md#part), [6 ms](docs/results/r.json), [7 ms](https://example.org)", [(1, "3 ms"), (1, "4 ms"), (1, "5 ms"), (1, "6 ms")]),
                ("**Limit.** 3 MB at an assumed 4 GB/s.\n5 ms\n\n6 ms\n", [(4, "6 ms")]),
                ("**Limit.** A copy reaches 55 MB/s. 1 MB is 2 ms; from pageable memory it takes 8.4 ms. 3 ms at 22 GB/s, 170 GFLOP/s.", [(1, "55 MB/s"), (1, "8.4 ms"), (1, "22 GB/s"), (1, "170 GFLOP/s")]),
                ("**Limit.** Products through a library 10.8 ms; assumed 530 to 690 TFLOP/s, specified at 63 GB/s, computed 7 img/s.", [(1, "10.8 ms")]),
                ("**Prediction.** Reading falls from 0.76 to 0.1 ms. 4 ms is 5 %.", [(1, "falls from 0.76"), (1, "0.1 ms")]),
                ("the 0.66 of a trial, a ratio of 1.2, ratios 1.3; the 0.5-level set, PyTorch 2.11, 12 seconds, 3 steps/s", [(1, "the 0.66"), (1, "ratio of 1.2"), (1, "ratios 1.3"), (1, "12 seconds"), (1, "3 steps/s")]),
                ("a third of the CPU time, half of its time; a computed two thirds of the step; a third of a store", [(1, "a third of the CPU time"), (1, "half of its time")]),
                ("27 of 30 ended, **7 of 7** clean; [5](docs/results/r.txt#kernel) of 6, 3 of three, 12 heads of 64; as 1 of 8, 136 of 256 pieces, 8 of 2.5, 500 x 375 of 12",
                 [(1, "27 of 30"), (1, "7 of 7")]),
                ("7 out of the 9, 1,024 of all 2,048; goal: 38 of 40, v1.2 of 3, 2 x 3 of 4, `6 of 7`", [(1, "7 out of the 9"), (1, "1,024 of all 2,048")]),
                ("**Limit.** 3 ms, measured 4 ms.\n\n**Outcome.** 7 ms\n", [(1, "3 ms"), (1, "4 ms"), (3, "7 ms")]),
                ("predicted 3 ms, goal: 4 ms, 5 ms; 95 % intervals, 95 % of it", [(1, "5 ms"), (1, "95 %")]),
                ("| version | us | predicted us |\n|---|--:|--:|\n| one | 34 | 30 |\n| two | [12.6](docs/results/r.txt#kernel%20one;1) | 40 ms |\n", [(3, "34 us")])):
            self.assertEqual(figures.unmarked(text), figures_of_it, text)

    def test_a_figure_without_a_mark_fails_the_check(self):
        code, said = self.run_tool("one\n\nIt takes 12 ms.\n", "--check")
        self.assertEqual((code, said), (1, "page.md:3: 12 ms without a mark\n"))

    def test_pages_that_a_program_writes_are_left_out(self):
        self.assertTrue(figures.is_written("<!-- Written by tools/docs from src; edit that instead. -->\n# Page\n"))
        self.assertFalse(figures.is_written("# Page\nIt was not Written by tools/docs.\n"))


class TransformsTest(unittest.TestCase):
    def test_tables_come_from_the_results(self):
        page = ROOT / "bench/kernels/page.md"
        text = "<!-- transforms: Invert, Hue -->\nold\n<!-- /transforms -->\n"
        marks = figures.Marks()
        fresh = marks.filled(page, text)
        self.assertEqual(marks.unresolved, [])
        self.assertRegex(fresh, r"(?m)^\| Invert \| [\d.,]+ \| [\d.,]+ \| \w+ [\d.]+ × \([\d.]+ to [\d.]+\) \| ")
        self.assertNotIn("old", fresh)
        self.assertEqual(figures.unmarked(fresh), [])
        marks.filled(page, text.replace("Hue", "Huge"))
        self.assertEqual(marks.unresolved, ["bench/kernels/page.md:1: transforms-rgb has no row of Huge"])


class OursTest(unittest.TestCase):
    def test_every_figure_is_traced_and_stands_as_its_file_has_it(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = figures.main(["--check"])
        self.assertEqual((code, said.getvalue()), (0, ""), "run tools/figures.py")

    def test_every_kernel_page_names_its_results(self):
        pages = [page for page in sorted((ROOT / "bench/kernels").glob("*.md")) if page.name != "README.md"]
        self.assertGreater(len(pages), 20)
        for page in pages:
            links = re.findall(r"\]\(([^)#\s]*docs/results/[^)#\s]+)", page.read_text(encoding="utf-8"))
            self.assertTrue(links, page.name)
            for link in links:
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")

    def test_written_pages_are_those_of_tools_docs(self):
        listed = re.search(r"^pages=\((.*)\)$", (ROOT / "tools/docs").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
        written = {page.stem for page in (ROOT / "docs").glob("*.md") if figures.is_written(page.read_text(encoding="utf-8"))}
        self.assertEqual(written, {*listed, "parity"})


if __name__ == "__main__":
    unittest.main()
