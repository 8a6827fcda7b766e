# examples/python/train_lightning.py - Lightning over sluice.Loader: its checkpoints hold the place in the epoch by themselves.
# SPDX-License-Identifier: Apache-2.0
"""usage: train_lightning.py FOLDER STEPS CHECKPOINT     trains up to step STEPS, from the checkpoint if it is there, and writes it"""
import os
import sys

import lightning
import sluice
import torch


class Classifier(lightning.LightningModule):
    def __init__(self, loader):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 7, stride=4), torch.nn.ReLU(), torch.nn.Flatten(),
                                          torch.nn.Linear(8 * 15 * 15, 10))
        self.loader = loader

    def training_step(self, batch, batch_idx):
        images, labels = batch
        print(f"batch {labels.tolist()} {images.double().sum().item():.6f}")
        return torch.nn.functional.cross_entropy(self.layers(images), labels)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


def main(folder, steps, checkpoint):
    lightning.seed_everything(0, verbose=False)
    loader = sluice.Loader(folder, sluice.Recipe("imagenet-train", size=64), batch_size=8, tensors="torch")
    trainer = lightning.Trainer(max_steps=steps, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, accelerator="cpu")
    trainer.fit(Classifier(loader), loader, ckpt_path=checkpoint if os.path.exists(checkpoint) else None)
    trainer.save_checkpoint(checkpoint)
    print("trained", trainer.global_step, "steps")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
