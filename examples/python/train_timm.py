# examples/python/train_timm.py - timm's models, optimizers, schedules and mixup in the loop of its train.py, over sluice.Loader.
# SPDX-License-Identifier: Apache-2.0
"""usage: train_timm.py FOLDER STEPS [timm]     trains STEPS steps; with the word `timm` over timm's own loader, for comparison"""
import sys

import sluice
import timm
import timm.data
import timm.loss
import timm.optim
import timm.scheduler
import timm.utils
import torch

SIDE, BATCH, CLASSES = 64, 8, 10


def loader_of_timm(folder, mean, std):
    dataset = timm.data.create_dataset("", root=folder, is_training=True)
    return timm.data.create_loader(dataset, input_size=(3, SIDE, SIDE), batch_size=BATCH, is_training=True, mean=mean,
                                   std=std, color_jitter=0, num_workers=0, use_prefetcher=False)


def loader_of_sluice(folder, mean, std):
    """What stands in train.py instead: these lines, and --no-prefetcher, since normalising and moving are not its loader's any more."""
    loader = sluice.Loader(folder, sluice.Recipe("imagenet-train", size=SIDE, mean=mean, std=std), batch_size=BATCH, tensors="torch")
    loader.dataset = loader.batch_sampler = loader  # train.py tells these which epoch it is
    return loader


def set_loader_epoch(loader, epoch):
    for part in (loader.dataset, loader.batch_sampler):
        if hasattr(part, "set_epoch"):
            part.set_epoch(epoch)


def train_one_epoch(epoch, steps, model, loader, optimizer, scheduler, mixup, ema):
    losses, updates = timm.utils.AverageMeter(), epoch * len(loader)
    criterion = timm.loss.SoftTargetCrossEntropy()
    for images, labels in loader:
        images, targets = mixup(images, labels)
        loss = criterion(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        timm.utils.dispatch_clip_grad(model.parameters(), value=1.0)
        optimizer.step()
        ema.update(model)
        updates += 1
        losses.update(loss.item(), images.size(0))
        scheduler.step_update(num_updates=updates, metric=losses.avg)
        print(f"step {updates} images {tuple(images.shape)} labels {labels.tolist()} loss {losses.val:.4f}")
        if updates == steps:
            break
    return updates


def main(folder, steps, whose="sluice"):
    timm.utils.random_seed(0)
    model = timm.create_model("resnet10t", num_classes=CLASSES)
    data = timm.data.resolve_model_data_config(model)
    loader = (loader_of_timm if whose == "timm" else loader_of_sluice)(folder, data["mean"], data["std"])
    optimizer = timm.optim.create_optimizer_v2(model, opt="lamb", lr=5e-3)
    scheduler, epochs = timm.scheduler.create_scheduler_v2(optimizer, num_epochs=1 + steps // len(loader), updates_per_epoch=len(loader),
                                                           step_on_epochs=False, warmup_epochs=0)
    mixup, ema = timm.data.Mixup(mixup_alpha=0.2, num_classes=CLASSES), timm.utils.ModelEmaV3(model)
    updates, epoch = 0, 0
    while updates < steps:
        set_loader_epoch(loader, epoch)
        updates = train_one_epoch(epoch, steps, model, loader, optimizer, scheduler, mixup, ema)
        epoch += 1
    print(f"trained {updates} steps in {epoch} epochs with the loader of {whose}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:4])
