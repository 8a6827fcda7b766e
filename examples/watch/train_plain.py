# examples/watch/train_plain.py - logistic regression in plain Python with marks: sluice watch -- python3 train_plain.py
# SPDX-License-Identifier: Apache-2.0
import math
import random
import sys

import sluice_marks as marks

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 40
draw = random.Random(0)
weights = [0.0] * 8


def batch():
    points = [[draw.uniform(-1, 1) for _ in weights] for _ in range(16)]
    return points, [float(sum(point) > 0) for point in points]


for points, labels in marks.wrap(batch() for _ in range(steps)):
    marks.step()
    with marks.phase("forward"):
        outputs = [1 / (1 + math.exp(-sum(w * x for w, x in zip(weights, point)))) for point in points]
    with marks.phase("backward"):
        gradient = [sum((out - label) * point[i] for out, label, point in zip(outputs, labels, points)) for i in range(8)]
    with marks.phase("optimizer"):
        weights = [w - 0.1 * g for w, g in zip(weights, gradient)]
marks.pause()
print("weights", " ".join(f"{w:.3f}" for w in weights))
