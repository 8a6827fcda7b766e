# examples/watch/train_lightning.py - marks as a callback of Lightning: sluice watch -- python3 train_lightning.py
# SPDX-License-Identifier: Apache-2.0
import sys

import lightning
import sluice_marks as marks
import torch


class SluiceMarks(lightning.Callback):
    """Every optimizer step of fit() is a step; validation between them counts nowhere. `samples`: of a batch."""

    def __init__(self, samples=lambda batch: len(batch[0])):
        self.samples = samples

    def on_train_start(self, trainer, module):
        marks.device(torch.cuda)

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        if batch_idx % trainer.accumulate_grad_batches == 0:
            marks.step()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        marks.log(loss=outputs["loss"] if isinstance(outputs, dict) else outputs, samples=self.samples(batch))

    def on_validation_start(self, trainer, module):
        marks.pause()

    def on_train_end(self, trainer, module):
        marks.pause()


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 10))

    def training_step(self, batch, batch_idx):
        return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


if __name__ == "__main__":
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    lightning.seed_everything(0)
    data = torch.utils.data.TensorDataset(torch.randn(steps * 32, 64), torch.randint(0, 10, (steps * 32,)))
    trainer = lightning.Trainer(max_epochs=1, callbacks=[SluiceMarks()], logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Classifier(), torch.utils.data.DataLoader(data, batch_size=32))
    print("trained", trainer.global_step, "steps")
