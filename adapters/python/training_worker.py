# adapters/python/training_worker.py - PyTorch as a peer of `sluice bench training`: eager, compiled, max-autotune, fed by DALI.
# SPDX-License-Identifier: Apache-2.0
"""usage: training_worker.py torch-eager|torch-compile|torch-max-autotune|torch-ddp|dali-gpu   (and the mode)

A case is `training/<model>`, axes may follow. Its `spec`, sent with `prepare`:
{"mode": "training",               may be left out
 "model": {...},                   fields of ModelSpec (vit5_torch.py)
 "batch": 8,                       samples of a micro-step
 "grad_accum": 1,                  micro-steps of a step
 "device": "cpu"|"cuda:N",         model and batch stay there; on a GPU a step ends when the device is idle
 "dtype": "fp32"|"bf16"|"bf16-weights",   bf16: torch.autocast; weights, gradients, optimizer and residual stream stay
                                   float32. bf16-weights: all of them bfloat16, tables of positions and images too
 "optimizer": "lamb"|"adamw"|"none",   none with bf16-weights
 "update": {...},                  other fields of OptimizerConfig (lamb_torch.py), where they are not the defaults
 "mixup": 0.0, "cutmix": 0.0,      alphas; with both each batch is of one kind or the other (mix_torch.py). Draws are PyTorch's
                                   own; what is checked is not mixed
 "label_smoothing": 0.0, "warmup_steps": 1,   untimed, before the first sample
 "last_block": "full"|"class-token",   class-token: after its attention the last block is computed for the class token alone,
                                   which is all that a model with readout cls reads; loss and gradients are the same
 "seq_len": 128,                   GPT: instead of model.sequence
 "weights": PATH.safetensors|null, null: PyTorch's own start from `seed`
 "inputs": {"images"|"ids": PATH, "labels": PATH}|null,   flat little-endian files: float32 [batch, 3, h, w], int32; null:
                                   drawn from `seed`. Every step takes the same batch
 "expected_loss": 6.91|null,       of the first step, before its update; `check` fails beyond `tolerance` (relative; 1e-4
                                   in fp32, 2e-2 in bf16 of either kind, unless given)
 "seed": 42,
 "world_size": 1,                  of torch-ddp: ranks, processes of this machine over gloo or NCCL (ddp_ranks.py), each with as many threads and
                                   a batch of its own; items are of all of them. 1: PyTorch as in torch-eager
 "rank_timeout_s": 120,            for the slowest rank
 "data": "loader", "loader": {...}, images from files (training_feed.py): input, workers, prefetch, seed, epoch_items,
                                   random_erasing of LoaderSpec. The fixed batch is checked all the same}
`average` and `checkpointing` are unsupported. A pass is one step: forward, loss, backward, optimizer,
gradients set to None; its items are samples. `check` answers `loss`, `parameters` and `versions` too. `details` of a sample:
`loss` (last step), `steps`, `peak_rss_bytes` (since the warm-up began), `rss_before_model_bytes`, `engine` (device, versions,
compile mode) and on a GPU `peak_bytes`, `reserved_bytes` (of PyTorch's allocator since the warm-up began; where CUDA graphs are replayed, `peak_bytes`
is the reserved memory: replays are not counted as allocated) and
`queued_step_ns`: a step of the warm-up's last 20, queued without a wait between them; `driver_peak_bytes`: what the driver's
free memory fell by; on any device `flop_executed`: of the matrix products
of a step, by PyTorch's own counter, left out where that does not know the attention in use.
torch.compile works during `check`: up to minutes, so give it time. torch-max-autotune is unsupported on the CPU, where
torch-compile stands for it; with `grad_accum` above 1 it goes without CUDA graphs.
`engine` also tells `first_step_s` (from `prepare` to the end of the first step), `compile_s` (that step alone, with the start of
its feed) and `settle_s` (the steps of `check` after it). A fed row is compiled once, for what its feed gives: the fixed batch is
looked at without compiling, and the first batch from files must have the same loss compiled and not.
dali-gpu is torch-compile fed by DALI's pipeline on the same GPU (training_feed_dali.py): with "data": "loader" only.
Threads are those of `configure`; the thread policy is micro-threads. Attention is scaled_dot_product_attention with
PyTorch's own choice of kernel; float32 products are float32, not TF32.
"""
import sys

from sluice_worker import Adapter, serve

LIBRARIES = {"torch-eager": None, "torch-compile": "default", "torch-max-autotune": "max-autotune",
             "torch-ddp": None, "dali-gpu": "default"}  # torch.compile's mode


class TrainingAdapter(Adapter):
    default_mode = "training"
    packages = ("torch", "numpy")
    memory_decides = True
    devices = ("cpu", "cuda")  # `configure` is asked for the CPU: the case names its device

    def __init__(self, library):
        super().__init__()
        self.name = library
        self.compile_mode = LIBRARIES[library]
        self.loader = "dali" if library == "dali-gpu" else "torch"
        if self.loader == "dali":
            self.packages += ("nvidia-dali-cuda130", "nvidia-dali-cuda120")
        self.transforms = ("training",)

    def open(self):
        import torch  # noqa: F401


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in LIBRARIES:
        sys.exit(f"usage: training_worker.py {'|'.join(LIBRARIES)}")
    sys.exit(serve(TrainingAdapter(sys.argv[1])))
