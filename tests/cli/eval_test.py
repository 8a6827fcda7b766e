# tests/cli/eval_test.py - `sluice eval` as a user meets it: a checkpoint, a worker, an endpoint, and what is refused.
# SPDX-License-Identifier: Apache-2.0
import array
import hashlib
import http.server
import json
import random
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv.pop(1)).resolve()
SETS = {"basic_reasoning_25": 25, "format_following_30": 30, "code_sanity_20": 20, "engine_answers_40": 40}
DIM, HIDDEN, VOCABULARY = 8, 32, 1024
DATA = Path(__file__).resolve().parents[2] / "bench/data"

WORKER = """
import json, os, sys
answers = os.fdopen(int(os.environ["SLUICE_PEER_OUT"]), "w")
replies = {"hello": {"protocol": 1, "version": "1"}, "configure": {"threads": 1, "context": 64},
           "logprobs": {"logprobs": [-1.0] * 50}, "generate": {"text": " def\\nmore"}, "bye": {}}
for line in os.fdopen(int(os.environ["SLUICE_PEER_IN"])):
    request = json.loads(line)
    if request["type"] == sys.argv[1]:
        sys.exit("no more")
    print(json.dumps({**replies[request["type"]], "type": request["type"], "id": request["id"]}), file=answers, flush=True)
    if request["type"] == "bye":
        break
"""


def write_checkpoint(path, family="gpt", vocabulary=VOCABULARY):
    """A random GPT of one layer, as PyTorch would write it, with the description that ours carry."""
    draw = random.Random(1)
    shapes = {"embed.weight": [vocabulary, DIM], "blocks.0.norm1.weight": [DIM], "blocks.0.attn.qkv.weight": [3 * DIM, DIM],
              "blocks.0.attn.q_norm.weight": [DIM], "blocks.0.attn.k_norm.weight": [DIM],
              "blocks.0.attn.proj.weight": [DIM, DIM], "blocks.0.norm2.weight": [DIM],
              "blocks.0.mlp.fc1.weight": [HIDDEN, DIM], "blocks.0.mlp.fc2.weight": [DIM, HIDDEN], "norm.weight": [DIM]}
    model = {"name": "gpt-test", "family": family, "dim": DIM, "layers": 1, "heads": 1, "mlp_ratio": 4,
             "norm_epsilon": 2.0 ** -20, "vocabulary": vocabulary, "tied_head": True}
    header, body = {"__metadata__": {"model": json.dumps(model), "extra": json.dumps({"context": 64})}}, b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        data = array.array("f", (draw.gauss(0, 1) if len(shape) > 1 else 1.0 for _ in range(count))).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


class Endpoint(http.server.BaseHTTPRequestHandler):
    def reply(self, document):
        text = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.reply({"data": [{"id": "served"}]})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(request)
        self.reply({"choices": [{"text": " yes"}]})

    def log_message(self, *_):
        pass


class EvalTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.model = self.folder / "gpt.safetensors"
        write_checkpoint(self.model)
        self.shard = self.folder / "shard.txt"
        self.shard.write_text("The keeper of the bridge counted 27 boats.\n" * 20)

    def tearDown(self):
        self.temporary.cleanup()

    def eval(self, *arguments):
        # From another folder: nothing may depend on where the program is started.
        return subprocess.run([PROGRAM, "eval", "--quiet", *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.folder, timeout=300)

    def document(self, *arguments):
        done = self.eval(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, code, named, *arguments):
        done = self.eval(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(named, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_checkpoint_gives_every_field_and_the_same_bytes_twice(self):
        arguments = ("--model", self.model, "--shard", self.shard, "--max-new-tokens", 4)
        first = self.document(*arguments, "--out", self.folder / "out")
        second = self.document(*arguments)
        self.assertEqual(json.loads((self.folder / "out/eval.json").read_text()), first)
        first.pop("timestamp")
        second.pop("timestamp")
        self.assertEqual(json.dumps(first), json.dumps(second))
        self.assertEqual(first["schema_version"], "1.0")
        self.assertGreater(first["ppl_fixed_shard"], 1)
        self.assertEqual({name: part["items"] for name, part in first["probes"].items()}, SETS)
        self.assertEqual(list(first["task_probe_accuracy"]), list(SETS))
        self.assertEqual(first["eval_config"]["fixed_shard_path"], str(self.shard))
        self.assertEqual((first["eval_config"]["max_length"], first["eval_config"]["stride"]), (64, 16))
        self.assertEqual(first["eval_config"]["seed"], 42)
        self.assertIn("git_sha", first["env"])
        self.assertEqual(first["model"]["tokenizer_sha256"], hashlib.sha256((DATA / "merges.txt").read_bytes()).hexdigest())
        self.assertEqual(first["task_probe_accuracy"]["engine_answers_40"], 1)  # whatever the weights: it asks the engine

    def test_the_built_in_shard_is_found_from_anywhere(self):
        got = self.document("--model", self.model, "--probes", "code_sanity_20", "--max-new-tokens", 1, "--stride", 64)
        self.assertEqual(got["eval_config"]["fixed_shard_path"], "bench/data/fixed_shard.txt")
        self.assertEqual(len(got["eval_config"]["fixed_shard_sha256"]), 64)
        self.assertGreater(got["shard_tokens"], 15000)

    def test_the_examples_are_what_their_script_writes(self):
        subprocess.run([sys.executable, "-B", DATA / "make_examples.py", self.folder / "examples.txt"], check=True, capture_output=True)
        self.assertEqual((self.folder / "examples.txt").read_bytes(), (DATA / "training_examples_2.txt").read_bytes())

    def test_a_worker_is_a_model(self):
        script = self.folder / "worker.py"
        script.write_text(WORKER)
        got = self.document("--worker", f"{sys.executable} {script} none", "--probes", "code_sanity_20")
        self.assertAlmostEqual(got["ppl_fixed_shard"], 2.718281828459045)
        self.assertEqual(got["probes"]["code_sanity_20"]["correct"], 1)
        self.refused(2, "asks our engine", "--worker", f"{sys.executable} {script} none", "--probes", "engine_answers_40")
        self.refused(5, "no more", "--worker", f"{sys.executable} {script} generate", "--out", self.folder / "w")
        self.assertFalse((self.folder / "w/eval.json").exists())
        self.refused(5, "hello", "--worker", "false")

    def test_an_endpoint_answers_probes_only(self):
        server = http.server.HTTPServer(("127.0.0.1", 0), Endpoint)
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/v1"
        try:
            self.refused(2, "--allow-network", "--endpoint", address)
            self.assertEqual(server.asked, [])
            got = self.document("--endpoint", address, "--allow-network", "--probes", "basic_reasoning_25")
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
        self.assertIsNone(got["ppl_fixed_shard"])
        self.assertIn("no probabilities", got["ppl_fixed_shard_reason"])
        self.assertEqual(got["probes"]["basic_reasoning_25"]["correct"], 3)
        self.assertEqual(len(server.asked), 25)
        self.assertEqual(server.asked[0]["model"], "served")

    def test_what_is_refused(self):
        other = self.folder / "other.safetensors"
        write_checkpoint(other, vocabulary=500)
        vit = self.folder / "vit.safetensors"
        write_checkpoint(vit, family="vit5")
        cut = self.folder / "cut.safetensors"
        cut.write_bytes(self.model.read_bytes()[:-5])
        empty = self.folder / "empty.txt"
        empty.write_text("")
        for named, arguments in {
            "vocabulary": ("--model", other),
            "no GPT": ("--model", vit),
            "cut.safetensors": ("--model", cut),
            "missing.safetensors": ("--model", "missing.safetensors"),
            "code_sanity_20": ("--probes", "code_sanity_21"),
            "probe set ''": ("--probes", ","),
            "temperature": ("--temperature", "0.5"),
            "max_new_tokens": ("--max-new-tokens", "0"),
            "max_length": ("--max-length", "63"),
            "stride": ("--max-length", "64", "--stride", "65"),
            "SHA-256": ("--model", self.model, "--shard", self.shard, "--shard-sha256", "0" * 64),
            "is empty": ("--shard", empty),
            "no_such.txt": ("--shard", "no_such.txt"),
            "three models": ("--model", self.model, "--worker", "true"),
        }.items():
            with self.subTest(named):
                self.refused(2, named, *arguments)


if __name__ == "__main__":
    unittest.main()
