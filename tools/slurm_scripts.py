#!/usr/bin/env python3
# tools/slurm_scripts.py - writes examples/slurm/*.sbatch, one per command that measures, from the table below.
# SPDX-License-Identifier: Apache-2.0
"""usage: slurm_scripts.py [--check]    --check: write nothing, name what is stale and exit 1

house.slurm_scripts_test fails when a script is stale, when a command of the program that measures has none, or when a flag
in one is not of its command.
"""
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "slurm"

# name: (command, arguments for the example, what it tells, time limit, can be continued)
SCRIPTS = {
    "quick": ("quick", "", "the tour of a node: decode, transforms, loader, training", "00:30:00", True),
    "bench-transforms": ("bench transforms", "--libraries sluice,pillow,opencv", "which library augments fastest", "02:00:00", True),
    "bench-decode": ("bench decode", "--data-dir photos", "how fast images are decoded", "00:30:00", True),
    "bench-harness": ("bench harness", "", "what measuring itself costs", "00:30:00", True),
    "bench-dataloader": ("bench dataloader", "--input photos --batch-size 64", "how fast a loader gives batches, stage by stage",
                         "02:00:00", False),
    "bench-storage": ("bench storage", "--input photos", "what a disk or bucket delivers to this node", "01:00:00", False),
    "bench-training": ("bench training", "--model vit5-small --mode synthetic", "a training step, its phases, other engines beside it",
                       "02:00:00", True),
    "bench-allreduce": ("bench allreduce", "--max-bytes 256m", "how fast ranks add numbers up, in a node and between nodes", "00:30:00", False),
    "bench-mixture": ("bench mixture", "--root robots", "data sets of episodes, mixed by weight", "02:00:00", False),
    "bench-mixture-study": ("bench mixture", "--study configs/studies/samples_per_episode.yaml --root robots",
                            "a study: which settings of a mixture to use", "12:00:00", False),
    "diagnose": ("diagnose", "--input photos --batch-size 64", "whether the loader, the model or both limit training", "01:00:00", False),
    "tune": ("tune", "--input photos --batch-size 64", "workers and prefetch for this kind of node", "02:00:00", False),
    "watch": ("watch", "-- python3 train.py", "your own training program, through the marks in its loop", "12:00:00", False),
    "run": ("run", "--config configs/examples/local_rgb_micro_cpu.yaml",
            "a whole configuration on one node; `sluice run --backend slurm` spreads it over many", "12:00:00", True),
    "train": ("train", "--model vit5-small --input photos --epochs 1", "epochs over real data, with checkpoints", "24:00:00", True),
    "profile": ("profile", "--model vit5-small", "where the time of a step goes, op by op", "01:00:00", False),
    "eval": ("eval", "", "the quality of a model on a fixed text and four probe sets", "01:00:00", False),
    "gate": ("gate", "", "this kind of node against its stored baseline", "02:00:00", True),
    "ab": ("ab", "--pairs 20 --a './old/train' --b './new/train'", "whether one command is slower than another", "04:00:00", False),
    "bisect": ("bisect", "v1.0 main --run './build.sh && ./bench'", "which commit made a command slower", "12:00:00", True),
    "selftest": ("selftest", "", "how often the paired gate errs on this kind of node", "04:00:00", False),
}

RANKS = {"bench-allreduce", "bench-training", "train"}  # several tasks are the ranks of one command

CHECKPOINTED = {"train"}  # goes on from a checkpoint, not from its folder


def text_of(name: str) -> str:
    command, example, purpose, limit, continues = SCRIPTS[name]
    path = f"examples/slurm/{name}.sbatch"
    lines = [
        "#!/bin/bash",
        f"# {path} - {purpose}.",
        "# SPDX-License-Identifier: Apache-2.0",
        "# Written by tools/slurm_scripts.py. From the root of the checkout, flags of the command at the end:",
        f"#   sbatch {path} {example}".rstrip(),
        "# What a cluster wants comes before the script: sbatch --partition=P --gpus-per-node=1 --cpus-per-task=16 ...",
        f"#SBATCH --job-name=sluice-{name}",
        "#SBATCH --output=logs/%x-%j.out",
        "#SBATCH --open-mode=append",
        "#SBATCH --nodes=1",
        "#SBATCH --ntasks=1",
        "#SBATCH --exclusive",
        f"#SBATCH --time={limit}",
        "#SBATCH --requeue" if continues else "#SBATCH --no-requeue",
        "set -euo pipefail",
        'out=logs/$SLURM_JOB_NAME-$SLURM_JOB_ID',
    ]
    if name in CHECKPOINTED:
        lines += ['set -- --checkpoint-dir "$out/checkpoints" "$@"',
                  '# Put back in the queue: goes on from the last checkpoint. Without one it begins again, in a new folder.',
                  'if [ -e "$out/checkpoints/last.safetensors" ]; then set -- --resume "$@"',
                  'elif [ -d "$out" ]; then mv "$out" "$out-ended-${SLURM_RESTART_COUNT:-0}"; fi']
    elif continues:
        lines.append('if [ -d "$out" ]; then set -- --resume "$@"; fi  # put back in the queue: goes on where it was')
    launch = ""
    if name in RANKS:
        lines.append('launch=()')
        lines.append('if [ "${SLURM_NTASKS:-1}" -gt 1 ]; then launch=(srun --mpi="${SLUICE_MPI:-pmix}"); fi  # one rank a task')
        launch = '"${launch[@]}" '
    lines.append(f'exec {launch}"${{SLUICE:-./sluice}}" {command} --out "$out" "$@"')
    return "\n".join(lines) + "\n"


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        print(f"slurm_scripts.py: unknown argument '{sys.argv[1]}'; accepted: --check", file=sys.stderr)
        return 2
    wanted = {FOLDER / f"{name}.sbatch": text_of(name) for name in SCRIPTS}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    stale += [path for path in FOLDER.glob("*.sbatch") if path not in wanted]
    if check:
        for path in stale:
            print(f"{path.name}: stale, run tools/slurm_scripts.py", file=sys.stderr)
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in stale:
        if path in wanted:
            path.write_text(wanted[path], encoding="utf-8")
            path.chmod(0o755)
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
