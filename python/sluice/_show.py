# python/sluice/_show.py - medians with their intervals, seconds in words, and tables for notebooks.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any


def _escape(word):
    import html  # with the first table, not with the package
    return html.escape(str(word))


def median(values: Sequence[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Order statistics between which the median lies with at least 95 % (binomial, no assumption but independence)."""
    ordered, count = sorted(values), len(values)
    below, tail = 0, 0.5 ** count
    while below + 1 < count // 2 and tail + math.comb(count, below + 1) * 0.5 ** count <= 0.025:
        below += 1
        tail += math.comb(count, below) * 0.5 ** count
    return ordered[below], ordered[-1 - below]


def paragraph(words: str) -> str:
    return f"<p>{_escape(words)}</p>"


def table(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> str:
    cell = lambda word, kind: f"<{kind}>{_escape(word)}</{kind}>"  # noqa: E731
    lines = ["<tr>" + "".join(cell(name, "th") for name in columns) + "</tr>"]
    lines += ["<tr>" + "".join(cell(row.get(name, ""), "td") for name in columns) + "</tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>"


def seconds(value: float) -> str:
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
