# tests/cli/scale_test.py - `sluice scale`: what it predicts from a stored run, and what it refuses.
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, ROOT = (Path(one).resolve() for one in sys.argv[1:3])
del sys.argv[1:3]
TRAINED = ROOT / "docs/results/world/vit5-tiny-2-ranks.json"
SUMS = ROOT / "docs/results/world/allreduce-2-ranks.json"


class ScaleTest(unittest.TestCase):
    def scale(self, *flags):
        return subprocess.run([PROGRAM, "scale", *map(str, flags)], capture_output=True, text=True, timeout=60, check=False)

    def predicted(self, *flags):
        done = self.scale(*flags, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_stored_step_is_spread_over_ranks(self):
        found = self.predicted("--result", TRAINED, "--ranks", "1,2,64", "--link", "100Gb/s", "--latency", "10us", "--contention", "0")
        stored = json.loads(TRAINED.read_text())["summary"]
        one = next(line for line in stored["sweep"] if line["world_size"] == 1)
        self.assertTrue(found["measured"])
        self.assertAlmostEqual(found["step_ms"], one["step_ms"])
        self.assertAlmostEqual(found["backward_ms"], one["backward_ms"])
        size = sum(piece["bytes"] for piece in found["pieces"])
        self.assertEqual(size, stored["scaling"]["gradient_bytes"], "the pieces are those that were added up")
        alone, two, many = found["predictions"]
        self.assertAlmostEqual(alone["step_ms"], one["step_ms"])
        self.assertAlmostEqual(two["sent_between_nodes_bytes"], size)
        self.assertAlmostEqual(two["sums_ms"], size / 12.5e9 * 1e3 + len(found["pieces"]) * 2 * 0.01)
        self.assertAlmostEqual(many["step_ms"], one["step_ms"] + many["exposed_ms"])
        self.assertAlmostEqual(many["scaling_efficiency"], one["step_ms"] / many["step_ms"])
        self.assertAlmostEqual(many["samples_per_s"], 64 * 8 / many["step_ms"] * 1e3)
        self.assertGreater(many["exposed_ms"], 0)
        self.assertLess(many["exposed_ms"], many["sums_ms"])

    def test_pieces_are_those_of_the_device(self):
        on_gpu = ROOT / "docs/results/world/h200-sync-alone.json"
        for source, own, other in ((["--result", TRAINED], 4 << 20, 25 << 20), (["--result", on_gpu], 25 << 20, 4 << 20),
                                   (["--model", "vit5-small", "--batch-size", "256", "--step-ms", "25"], 25 << 20, 4 << 20)):
            usual = self.predicted(*source, "--link", "400Gb/s")["pieces"]
            self.assertGreater(len(usual), 2)
            self.assertEqual(usual, self.predicted(*source, "--link", "400Gb/s", "--bucket", own)["pieces"])
            self.assertNotEqual(usual, self.predicted(*source, "--link", "400Gb/s", "--bucket", other)["pieces"])

    def test_cores_of_a_cpu_add_up_and_do_nothing_else(self):
        found = self.predicted("--result", TRAINED, "--ranks", "2", "--link", "8Gb/s")["predictions"][0]
        self.assertAlmostEqual(found["exposed_ms"], found["sums_ms"])

    def test_nodes_send_less_to_each_other(self):
        flags = ["--model", "vit5-small", "--batch-size", "256", "--step-ms", "25", "--link", "400Gb/s", "--latency", "0", "--ranks", "8,64,800"]
        flat = self.predicted(*flags)["predictions"]
        nodes = self.predicted(*flags, "--per-node", "8", "--node-link", "450GB/s")["predictions"]
        self.assertEqual(nodes[0]["sent_between_nodes_bytes"], 0)
        size = flat[0]["sent_between_nodes_bytes"] / 1.75  # a ring of 8
        for one, other in zip(flat[1:], nodes[1:]):
            self.assertEqual((one["algorithm"], other["algorithm"]), ("ring", "ring"))
            self.assertAlmostEqual(other["sent_between_nodes_bytes"] * 8, 2 * (1 - 8 / other["ranks"]) * size, delta=1)
            self.assertAlmostEqual(other["sent_within_node_bytes"], 1.75 * size, delta=1)
            self.assertGreater(other["scaling_efficiency"], one["scaling_efficiency"])

    def test_sums_of_gpus_give_a_link_as_those_of_cpus(self):
        document = json.loads(SUMS.read_text())
        document["summary"]["allreduce"]["library"] = "NCCL 2.30.3"
        for row in document["rows"]:
            row["params"]["device"] = "cuda"
            row["case"] = row["case"].replace("/world_size", "/device=cuda/world_size")
        with tempfile.TemporaryDirectory() as folder:
            on_gpus = Path(folder) / "gpus.json"
            on_gpus.write_text(json.dumps(document))
            links = [self.predicted("--result", TRAINED, "--ranks", "2", "--allreduce", source)["link"] for source in (SUMS, on_gpus)]
        self.assertGreater(links[0]["bytes_per_s"], 0)
        self.assertEqual(*links)

    def test_bits_and_bytes_differ_by_their_letter(self):
        flags = ["--model", "vit5-tiny", "--batch-size", "8", "--step-ms", "5", "--ranks", "4"]
        self.assertEqual(self.predicted(*flags, "--link", "400Gb/s"), self.predicted(*flags, "--link", "50GB/s"))
        self.assertEqual(self.predicted(*flags, "--link", "1.5MB/s")["link"]["bytes_per_s"], 1.5e6)

    def test_text_says_what_it_is(self):
        done = self.scale("--result", TRAINED, "--ranks", "8", "--link", "10Gb/s")
        self.assertIn("vit5-tiny, 8 samples a rank: one rank takes", done.stdout)
        self.assertIn("(measured)", done.stdout)
        self.assertIn("A model, not a measurement", done.stdout)

    def refused(self, text, *flags, code=2):
        done = self.scale(*flags)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_refusals(self):
        run = ["--result", TRAINED]
        self.refused("--result: give it", "--link", "1Gb/s")
        self.refused("--result: give it", *run, "--model", "vit5-tiny", "--link", "1Gb/s")
        self.refused("--link: give it", *run)
        self.refused("--link: give it", *run, "--link", "1Gb/s", "--allreduce", "x")
        for bad in ("400", "fast", "0Gb/s", "-1GB/s", "400Gb", "GB/s"):
            self.refused(f"--link {bad}: expected a bandwidth such as 400Gb/s", *run, f"--link={bad}")
        self.refused("--ranks 8,x: 'x' is not a number from 1 to 1048576", *run, "--link", "1Gb/s", "--ranks", "8,x")
        self.refused("--ranks 12: is no multiple of --per-node 8", *run, "--link", "1Gb/s", "--ranks", "8,12", "--per-node", "8", "--node-link", "9GB/s")
        self.refused("--per-node 8: needs --node-link", *run, "--link", "1Gb/s", "--per-node", "8")
        self.refused("--node-link 9GB/s: needs --per-node", *run, "--link", "1Gb/s", "--node-link", "9GB/s")
        self.refused("--model vit5-tiny: give --batch-size N and --step-ms T", "--model", "vit5-tiny", "--link", "1Gb/s")
        self.refused("vit5-tinny", "--model", "vit5-tinny", "--batch-size", "1", "--step-ms", "1", "--link", "1Gb/s")
        self.refused("--latency: 'soon'", *run, "--link", "1Gb/s", "--latency", "soon")
        self.refused("holds no result of `bench allreduce`", *run, "--allreduce", TRAINED)
        with tempfile.TemporaryDirectory() as folder:
            self.refused("", "--result", folder, "--link", "1Gb/s")


if __name__ == "__main__":
    unittest.main()
