#!/usr/bin/env python3
# tools/otava_values.py - writes tests/stats/otava_values.json: series with known levels, and the change points that Apache Otava finds in them.
# SPDX-License-Identifier: Apache-2.0
# Needs `pip install apache-otava==0.8.0`; run it again only to change the series.
import json
import random
from pathlib import Path

from otava.analysis import compute_change_points

# name: length, scatter (share of the level), then (first visit, factor) of each level
SERIES = {
    "quiet": (120, 0.01, []),
    "noisy and flat": (200, 0.05, []),
    "one step down by 8 %": (100, 0.01, [(60, 0.92)]),
    "one step up by 3 %": (160, 0.01, [(90, 1.03)]),
    "there and back": (150, 0.01, [(50, 1.10), (100, 1.0)]),
    "a stair": (200, 0.008, [(40, 0.95), (90, 0.90), (150, 0.85)]),
    "late": (80, 0.01, [(72, 0.85)]),
    "early": (80, 0.01, [(8, 1.2)]),
    "long": (600, 0.012, [(130, 0.95), (333, 1.01), (480, 0.93)]),
    "scatter as large as the step": (120, 0.05, [(60, 1.05)]),
    "two visits only": (100, 0.01, [(50, 0.8), (52, 1.0)]),
    "one outlier": (100, 0.01, [(50, 0.5), (51, 1.0)]),
}


def values_of(name):
    length, scatter, levels = SERIES[name]
    rng = random.Random(name)
    values = []
    for i in range(length):
        level = 1000.0
        for first, factor in levels:
            if i >= first:
                level = 1000.0 * factor
        values.append(round(level * (1 + scatter * rng.gauss(0, 1)), 3))
    return values


if __name__ == "__main__":
    table = []
    for name, (_, _, levels) in SERIES.items():
        values = values_of(name)
        points, _ = compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
        table.append({"name": name, "levels_begin": [first for first, _ in levels],
                      "otava": [{"index": int(one.index), "p": float(one.stats.pvalue)} for one in points], "values": values})
    lines = ",\n".join(json.dumps(one) for one in table)
    (Path(__file__).resolve().parents[1] / "tests/stats/otava_values.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
