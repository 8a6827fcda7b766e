# examples/python/train_hf.py - Hugging Face's Trainer over sluice.Loader: three lines in a subclass.
# SPDX-License-Identifier: Apache-2.0
"""usage: train_hf.py FOLDER STEPS"""
import sys
import tempfile

import sluice
import torch
import transformers


class Batches:
    """As Trainer wants them: dicts, by the names of the arguments of the model."""

    def __init__(self, loader):
        self.loader, self.batch_size, self.dataset = loader, loader.batch_size, range(loader.dataset_size)

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        for images, labels in self.loader:
            yield {"pixel_values": images, "labels": labels}


class SluiceTrainer(transformers.Trainer):
    def get_train_dataloader(self):
        return self.train_dataset


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 7, stride=4), torch.nn.ReLU(), torch.nn.Flatten(),
                                          torch.nn.Linear(8 * 15 * 15, 10))

    def forward(self, pixel_values, labels):
        return {"loss": torch.nn.functional.cross_entropy(self.layers(pixel_values), labels)}


def main(folder, steps):
    transformers.set_seed(0)
    loader = sluice.Loader(folder, sluice.Recipe("imagenet-train", size=64), batch_size=8, tensors="torch")
    with tempfile.TemporaryDirectory() as out:
        arguments = transformers.TrainingArguments(output_dir=out, max_steps=steps, logging_steps=1, save_strategy="no",
                                                   report_to="none", disable_tqdm=True, use_cpu=True)
        result = SluiceTrainer(model=Classifier(), args=arguments, train_dataset=Batches(loader)).train()
    print(f"trained {result.global_step} steps, loss {result.training_loss:.4f}; {loader.stats()['samples']} samples")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
