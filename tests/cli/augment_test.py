#!/usr/bin/env python3
# tests/cli/augment_test.py - `sluice augment`: outputs, printed draws, exact replay, mistakes.
# SPDX-License-Identifier: Apache-2.0
"""usage: augment_test.py PROGRAM"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = None
ROOT = Path(__file__).resolve().parents[2]
STEPS = "- {Solarize: {threshold: 0.25}, p: 0.5}\n- {Solarize: , p: 0.5}\n- {Solarize: {threshold: 0.75}, p: 0.5}\n"


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=100)


class AugmentTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory(prefix="sluice-augment-")
        cls.addClassCleanup(cls.held.cleanup)
        cls.folder = Path(cls.held.name)
        run("data", "make", "--count", 6, "--width", 64, "--height", 48, "--out", cls.folder / "photos", "--quiet")
        cls.photos = sorted((cls.folder / "photos").glob("*.jpg"))
        cls.pipeline = cls.folder / "steps.yaml"
        cls.pipeline.write_text(STEPS)

    def augment(self, *more, photos=None, pipeline=None):
        return run("augment", *(photos or self.photos), "--pipeline", pipeline or self.pipeline, *more)

    def must(self, *more, **options):
        done = self.augment(*more, "--json", **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_no_step_makes_more_pixels_than_a_file_may_hold(self):
        steps = self.folder / "huge.yaml"
        steps.write_text("- Resize: {target_size: 1048576}\n")
        done = self.augment("--out", self.folder / "huge", pipeline=steps)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("step 'Resize' makes 1048576 x 1048576 pixels; at most 178956970 are accepted", done.stderr)

    def outputs(self, folder):
        return {path.name: path.read_bytes() for path in sorted(folder.glob("[!.]*"))}

    def test_draws_are_printed_and_replayed_exactly(self):
        first, again, draws = self.folder / "first", self.folder / "again", self.folder / "draws.json"
        told = self.must("--seed", 5, "--epoch", 2, "--index", 40, "--draws", draws, "--out", first)
        self.assertEqual(json.loads(draws.read_text()), told)
        self.assertEqual([item["index"] for item in told["items"]], list(range(40, 46)))
        self.assertEqual(told["items"][0]["to"], [64, 48, 3])
        applied = [step["applied"] for item in told["items"] for step in item["steps"]]
        self.assertIn(True, applied)
        self.assertIn(False, applied)
        for item in told["items"]:
            self.assertEqual([step["name"] for step in item["steps"]], ["Solarize", "Solarize#2", "Solarize#3"])
            for step in item["steps"]:
                self.assertEqual(step["draw"] is not None, step["applied"])
        replayed = self.must("--replay", draws, "--out", again)
        self.assertEqual([item["steps"] for item in replayed["items"]], [item["steps"] for item in told["items"]])
        self.assertEqual(len(self.outputs(first)), 6)
        self.assertEqual(self.outputs(first), self.outputs(again))

    def test_the_draw_is_that_of_the_index(self):
        """One image alone at its index is the image among others; another seed or epoch is another draw."""
        among, alone = self.folder / "among", self.folder / "alone"
        told = self.must("--seed", 9, "--out", among)
        single = self.must("--seed", 9, "--index", 3, "--out", alone, photos=[self.photos[3]])
        self.assertEqual(single["items"][0]["steps"], told["items"][3]["steps"])
        name = self.photos[3].stem + ".png"
        self.assertEqual(self.outputs(alone)[name], self.outputs(among)[name])
        for more in (("--seed", 10), ("--seed", 9, "--epoch", 1)):
            other = self.must(*more, "--out", among)
            self.assertNotEqual([item["steps"] for item in other["items"]], [item["steps"] for item in told["items"]])

    def test_the_examples_work(self):
        pipelines = sorted((ROOT / "configs" / "pipelines").glob("*.yaml"))
        self.assertNotEqual(pipelines, [])
        for pipeline in pipelines:
            with self.subTest(pipeline=pipeline.name):
                told = self.must("--out", self.folder / pipeline.stem, pipeline=pipeline)
                self.assertEqual({tuple(item["to"]) for item in told["items"]}, {(224, 224, 3)})

    def test_nothing_of_others_is_written_over(self):
        for name in ("rgb-000004.npy", "rgb-000001.png"):  # the first has the name of what PNG cannot hold
            out = self.folder / f"kept-{name}"
            out.mkdir()
            (out / name).write_text("mine")
            self.mistake(f"{name}: exists, and sluice did not write it", "--out", out)
            self.assertEqual(self.outputs(out), {name: b"mine"}, "nothing was written before the refusal")
        told = self.must("--out", out, "--force")
        self.assertEqual(len(told["items"]), 6)
        self.must("--seed", 5, "--out", out)  # ours now
        picture = out / "rgb-000002.png"
        before = picture.read_bytes()
        self.mistake("rgb-000002.png: would be written over by its own output", "--out", out, photos=[picture])
        self.assertEqual(picture.read_bytes(), before)
        picture.write_bytes(before + b"edited")
        self.mistake("rgb-000002.png: exists, and sluice did not write it or it was changed since", "--out", out)
        draws = self.folder / "notes.json"
        draws.write_text("mine")
        self.mistake("notes.json: exists", "--draws", draws, "--out", self.folder / "fresh")
        self.assertEqual(draws.read_text(), "mine")
        self.assertFalse((self.folder / "fresh").exists() and self.outputs(self.folder / "fresh"))
        self.must("--draws", draws, "--out", self.folder / "fresh", "--force")
        self.must("--draws", draws, "--seed", 9, "--out", self.folder / "fresh")

    def test_people_read_what_was_applied(self):
        done = self.augment("--out", self.folder / "text")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(done.stdout.splitlines()), 6)
        self.assertRegex(done.stdout, r"rgb-000000\.png: (as it was|Solarize)")

    def mistake(self, expected, *more, **options):
        done = self.augment(*more, **options)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(expected, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)

    def test_mistakes_are_one_line(self):
        out = ("--out", self.folder / "none")
        wrong = self.folder / "wrong.yaml"
        wrong.write_text("- Solarize:\n    treshold: 1\n")
        self.mistake("wrong.yaml:2: Solarize: unknown parameter 'treshold'", *out, pipeline=wrong)
        self.mistake("--out DIR is missing")
        self.mistake("two images are called", *out, photos=[self.photos[0], self.photos[0]])
        self.mistake("No such file", *out, photos=[self.folder / "missing.jpg"])
        self.mistake("steps.yaml: ", *out, photos=[self.pipeline])
        draws = self.folder / "other.json"
        draws.write_text('{"items": []}')
        self.mistake("draws of 0 images, 6 were given", "--replay", draws, *out)
        draws.write_text('{"items": [{"steps": []}]}')
        self.mistake("a list of 3 steps is accepted", "--replay", draws, *out, photos=[self.photos[0]])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
