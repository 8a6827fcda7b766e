# examples/python/train_accelerate.py - Accelerate over sluice.Loader: what is registered is in its checkpoints, and resumes in mid-epoch.
# SPDX-License-Identifier: Apache-2.0
"""usage: train_accelerate.py FOLDER STEPS CHECKPOINT     trains STEPS more steps, from the folder CHECKPOINT if it is there, and writes it"""
import os
import sys

import accelerate
import sluice
import torch


def main(folder, steps, checkpoint):
    accelerate.utils.set_seed(0)
    accelerator = accelerate.Accelerator(cpu=True)
    loader = sluice.Loader(folder, sluice.Recipe("imagenet-train", size=64), batch_size=8, tensors="torch")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 7, stride=4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 15 * 15, 10))
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))  # the loader shares epochs between ranks by itself
    accelerator.register_for_checkpointing(loader)
    if os.path.exists(checkpoint):
        accelerator.load_state(checkpoint)
    done = 0
    while done < steps:
        for images, labels in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(images.to(accelerator.device)), labels.to(accelerator.device))
                optimizer.zero_grad()
                accelerator.backward(loss)
                optimizer.step()
            done += 1
            print(f"{loader.indices.tolist()} {loss.item():.6f}")
            if done == steps:
                break
    accelerator.save_state(checkpoint)
    loader.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
