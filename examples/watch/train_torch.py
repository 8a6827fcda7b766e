# examples/watch/train_torch.py - a PyTorch training loop with marks: sluice watch -- python3 train_torch.py
# SPDX-License-Identifier: Apache-2.0
import sys

import sluice_marks as marks  # found by itself under `sluice watch`; see docs/watch.md for other ways
import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
torch.set_num_threads(1)
data = torch.utils.data.TensorDataset(torch.randn(steps * 32, 64), torch.randint(0, 10, (steps * 32,)))
loader = torch.utils.data.DataLoader(data, batch_size=32)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 10)).to(device)
optimizer = torch.optim.AdamW(model.parameters())
flop_per_sample = 6 * sum(weight.numel() for weight in model.parameters() if weight.dim() == 2)  # forward and backward

marks.device(torch.cuda)  # steps by the clock of the GPU; nothing without one
for x, y in marks.wrap(loader):  # waiting for a batch: the phase "data"
    marks.step()
    with marks.phase("forward"):
        loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
    with marks.phase("backward"):
        optimizer.zero_grad()
        loss.backward()
    with marks.phase("optimizer"):
        optimizer.step()
    marks.log(loss=loss, samples=len(x), flop=flop_per_sample * len(x))  # the tensor itself: nothing waits for the GPU
marks.pause()  # the last step ends here
print(f"loss {loss.item():.3f}")
