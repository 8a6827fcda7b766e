# adapters/python/hf_eval_worker.py - a causal language model of Hugging Face's transformers, for `sluice eval --worker`.
# SPDX-License-Identifier: Apache-2.0
"""usage: hf_eval_worker.py MODEL [--context N]     started by `sluice eval --worker 'python3 hf_eval_worker.py MODEL'`

MODEL is a folder that holds a model and its tokenizer; nothing is downloaded (transformers runs offline). Greedy only,
float32, deterministic algorithms. Messages: docs/peer-protocol.md, "For sluice eval".
"""
import argparse
import json
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


class Model:
    def __init__(self, name, context):
        self.name, self.context = name, context
        self.torch = self.model = self.tokenizer = None

    def configure(self, request):
        import torch
        import transformers

        torch.manual_seed(request["seed"] % 2**63)
        torch.use_deterministic_algorithms(True)
        torch.set_num_threads(request["threads"])
        self.torch = torch
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(self.name)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(self.name).float().eval()
        if self.context is None:
            self.context = int(getattr(self.model.config, "max_position_embeddings", None) or 2048)
        return {"threads": torch.get_num_threads(), "model": os.path.basename(os.path.normpath(self.name)),
                "context": self.context}

    def logprobs(self, request):
        """Windows as in docs/eval-harness.md; the first token has nothing before it unless the tokenizer has a start."""
        torch = self.torch
        ids = self.tokenizer(request["text"], add_special_tokens=False)["input_ids"]
        start = self.tokenizer.bos_token_id
        if start is None:
            start = self.tokenizer.eos_token_id
        stream = ([start] if start is not None else []) + ids
        inputs, targets = stream[:-1], stream[1:]
        if not targets:
            raise ValueError("the text has no token to score")
        out, scored = [], 0
        for begin in range(0, len(targets), request["stride"]):
            end = min(begin + request["max_length"], len(targets))
            with torch.no_grad():
                logits = self.model(torch.tensor([inputs[begin:end]])).logits[0].double()
            chosen = torch.log_softmax(logits, -1).gather(1, torch.tensor(targets[begin:end]).unsqueeze(1))[:, 0]
            out += chosen[scored - begin:].tolist()
            scored = end
            if end == len(targets):
                break
        return {"logprobs": [min(value, 0.0) for value in out]}

    def generate(self, request):
        torch = self.torch
        if request["temperature"] != 0:
            raise ValueError(f"temperature {request['temperature']}; only 0 is accepted")
        ids = self.tokenizer(request["prompt"])["input_ids"][-request["max_prompt_tokens"]:]
        made, stop = [], request["stop"]
        ends = self.model.generation_config.eos_token_id
        ends = set(ends if isinstance(ends, list) else [ends])
        while len(made) < request["max_new_tokens"]:
            with torch.no_grad():
                logits = self.model(torch.tensor([(ids + made)[-self.context:]])).logits[0, -1]
            best = int(torch.argmax(logits))
            if best in ends:
                break
            made.append(best)
            text = self.tokenizer.decode(made)
            if stop and stop in text:
                return {"text": text.partition(stop)[0]}
        return {"text": self.tokenizer.decode(made)}


def serve(model, requests, answers):
    def send(message):
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    for line in requests:
        request = json.loads(line)
        kind, number = request.get("type"), request.get("id")
        try:
            if kind == "hello":
                from importlib.metadata import version

                answer = {"protocol": 1, "name": "transformers", "version": version("transformers")}
            elif kind in ("configure", "logprobs"):
                answer = getattr(model, kind)(request)
            elif kind == "generate":
                try:
                    answer = model.generate(request)
                except (RuntimeError, ValueError, IndexError) as error:  # this answer is wrong, the next may be right
                    answer = {"error": str(error).partition("\n")[0] or type(error).__name__}
            elif kind == "bye":
                send({"type": "bye", "id": number})
                return
            else:
                send({"type": "error", "id": number, "code": "unsupported", "reason": f"no request '{kind}'"})
                continue
        except Exception as error:  # noqa: BLE001  whatever a library throws ends this request, with its words
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            send({"type": "error", "id": number, "code": "failed", "reason": reason})
            continue
        send({"type": kind, "id": number, **answer})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--context", type=int, help="tokens that the model takes (default: what its config says)")
    arguments = parser.parse_args()
    if "SLUICE_PEER_IN" not in os.environ:
        sys.exit("hf_eval_worker.py: is started by `sluice eval --worker`, not by hand")
    requests = os.fdopen(int(os.environ["SLUICE_PEER_IN"]), encoding="utf-8")
    answers = os.fdopen(int(os.environ["SLUICE_PEER_OUT"]), "w", encoding="utf-8")
    serve(Model(arguments.model, arguments.context), requests, answers)


if __name__ == "__main__":
    main()
