# examples/watch/train_hf.py - marks as a callback of Hugging Face's Trainer: sluice watch -- python3 train_hf.py
# SPDX-License-Identifier: Apache-2.0
import sys
import tempfile

import sluice_marks as marks
import torch
import transformers


class SluiceMarks(transformers.TrainerCallback):
    """Every optimizer step is a step; evaluation and checkpoints between them count nowhere. The loss is the one that
    Trainer logs, so every `logging_steps`. `tokens`: of a step, where all have as many."""

    def __init__(self, tokens=None):
        self.tokens = tokens

    def on_train_begin(self, args, state, control, **kwargs):
        marks.device(torch.cuda)

    def on_step_begin(self, args, state, control, **kwargs):
        marks.step()
        marks.log(samples=args.per_device_train_batch_size * args.gradient_accumulation_steps, tokens=self.tokens)

    def on_step_end(self, args, state, control, **kwargs):
        if control.should_evaluate or control.should_save:
            marks.pause()

    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs and "loss" in logs:
            marks.log(loss=float(logs["loss"]))

    def on_train_end(self, args, state, control, **kwargs):
        marks.pause()


class RandomText(torch.utils.data.Dataset):
    def __init__(self, sequences):
        self.tokens = torch.randint(0, 128, (sequences, 32))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


if __name__ == "__main__":
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    transformers.set_seed(0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=128, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder, max_steps=steps, per_device_train_batch_size=8, logging_steps=1, save_strategy="no",
            report_to="none", disable_tqdm=True)
        transformers.Trainer(model=model, args=arguments, train_dataset=RandomText(8 * steps),
                             callbacks=[SluiceMarks(tokens=8 * 32)]).train()
    print("trained", steps, "steps")
