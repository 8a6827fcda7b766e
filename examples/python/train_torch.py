# examples/python/train_torch.py - plain PyTorch over sluice.Loader, with a checkpoint that resumes in mid-epoch.
# SPDX-License-Identifier: Apache-2.0
"""usage: train_torch.py FOLDER STEPS [CHECKPOINT]     trains STEPS more steps, from the checkpoint if it is there, and writes it"""
import os
import sys

import sluice
import torch


def main(folder, steps, checkpoint=None):
    torch.manual_seed(0)
    loader = sluice.Loader(folder, sluice.Recipe("imagenet-train", size=64), batch_size=8, tensors="torch")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 7, stride=4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(10))
    model(torch.zeros(1, 3, 64, 64))
    optimizer = torch.optim.AdamW(model.parameters())
    if checkpoint and os.path.exists(checkpoint):
        state = torch.load(checkpoint)
        loader.load_state_dict(state["loader"])
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    done = 0
    while done < steps:
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
            print(f"{loader.indices.tolist()} {loss.item():.6f}")
            if done == steps:
                break
    if checkpoint:  # the state is that after the last batch, wherever in the epoch that is
        torch.save({"loader": loader.state_dict(), "model": model.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint)
    loader.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:4])
