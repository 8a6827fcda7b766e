# tests/adapters/hf_eval_test.py - the worker for transformers against the library itself, on a random model made here.
# SPDX-License-Identifier: Apache-2.0
"""usage: hf_eval_test.py     exit 77: this Python has no torch or no transformers"""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

WORKER = Path(__file__).resolve().parents[2] / "adapters/python/hf_eval_worker.py"
TEXT = "The keeper of the bridge counted 27 boats, and then he counted them again."


def make_model(folder):
    """Two layers, random weights, a token per byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(alphabet)}
    vocabulary["<end>"] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", bos_token="<end>")
    fast.save_pretrained(folder)
    torch.manual_seed(3)
    config = transformers.GPT2Config(vocab_size=len(vocabulary), n_positions=128, n_embd=32, n_layer=2, n_head=2,
                                     bos_token_id=vocabulary["<end>"], eos_token_id=vocabulary["<end>"])
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)


class Worker:
    def __init__(self, *arguments):
        request, request_end = os.pipe()
        answer_end, answer = os.pipe()
        environment = {**os.environ, "SLUICE_PEER_IN": str(request), "SLUICE_PEER_OUT": str(answer)}
        self.process = subprocess.Popen([sys.executable, WORKER, *arguments], pass_fds=(request, answer), env=environment)
        os.close(request)
        os.close(answer)
        self.requests, self.answers, self.count = os.fdopen(request_end, "w"), os.fdopen(answer_end), 0

    def ask(self, kind, **fields):
        self.count += 1
        self.requests.write(json.dumps({"type": kind, "id": self.count, **fields}) + "\n")
        self.requests.flush()
        answer = json.loads(self.answers.readline())
        assert answer["id"] == self.count, answer
        return answer

    def end(self):
        self.requests.close()
        self.answers.close()
        return self.process.wait(timeout=60)


class HfEvalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        make_model(cls.folder.name)
        cls.worker = Worker(cls.folder.name)
        cls.hello = cls.worker.ask("hello", protocol=1)
        cls.configured = cls.worker.ask("configure", threads=1, device="cpu", seed=42)
        cls.model = transformers.AutoModelForCausalLM.from_pretrained(cls.folder.name).eval()
        cls.tokenizer = transformers.AutoTokenizer.from_pretrained(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.worker.ask("bye")
        cls.ended = cls.worker.end()
        cls.folder.cleanup()

    def expected(self, max_length):
        """Every token by itself, with the context that its window gives: stride 1."""
        ids = [self.tokenizer.bos_token_id] + self.tokenizer(TEXT)["input_ids"]
        out = []
        for place in range(1, len(ids)):
            with torch.no_grad():
                logits = self.model(torch.tensor([ids[max(0, place - max_length):place]])).logits[0, -1].double()
            out.append(float(torch.log_softmax(logits, -1)[ids[place]]))
        return out

    def generate(self, **fields):
        return self.worker.ask("generate", **{"prompt": "Q: who?\nA:", "max_prompt_tokens": 512, "max_new_tokens": 5,
                                              "stop": "", "temperature": 0, "seed": 42, **fields})

    def test_it_says_who_it_is(self):
        self.assertEqual((self.hello["protocol"], self.hello["name"]), (1, "transformers"))
        self.assertEqual((self.configured["threads"], self.configured["context"]), (1, 128))

    def test_logprobs_are_those_of_the_library(self):
        got = self.worker.ask("logprobs", text=TEXT, max_length=32, stride=1)["logprobs"]
        want = self.expected(32)
        self.assertEqual(len(got), len(want))
        for one, other in zip(got, want):
            self.assertTrue(math.isclose(one, other, abs_tol=2e-4), (one, other))

    def test_every_token_is_scored_once_and_repeats(self):
        count = len(self.tokenizer(TEXT)["input_ids"])
        for stride in (7, 32):
            first = self.worker.ask("logprobs", text=TEXT, max_length=32, stride=stride)["logprobs"]
            self.assertEqual(len(first), count)
            self.assertEqual(self.worker.ask("logprobs", text=TEXT, max_length=32, stride=stride)["logprobs"], first)

    def test_answers_are_greedy(self):
        ids = self.tokenizer("Q: who?\nA:")["input_ids"]
        with torch.no_grad():
            made = self.model.generate(torch.tensor([ids]), max_new_tokens=5, do_sample=False,
                                       pad_token_id=self.tokenizer.eos_token_id)[0][len(ids):]
        want = self.tokenizer.decode(made, skip_special_tokens=True)
        self.assertEqual(self.generate()["text"], want)
        self.assertEqual(self.generate(stop=want[0])["text"], "")

    def test_a_bad_question_is_one_wrong_answer(self):
        self.assertIn("temperature", self.generate(temperature=0.5)["error"])
        self.assertEqual(self.worker.ask("logprobs", text="", max_length=64, stride=1)["type"], "error")
        self.assertEqual(self.worker.ask("dance")["code"], "unsupported")
        self.assertIn("text", self.generate())


if __name__ == "__main__":
    unittest.main()
