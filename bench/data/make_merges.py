#!/usr/bin/env python3
# bench/data/make_merges.py - learns the merges of the byte-level BPE tokenizer from the training part.
# SPDX-License-Identifier: Apache-2.0
"""usage: make_merges.py    writes merges.txt beside itself

The file is checked in and fixed: with other merges no perplexity could be compared. A line is a pair of token ids;
line k (from 0, comments not counted) makes token 256 + k. The split into words is that of eval/tokenizer.cpp.
"""
import collections
import re
from pathlib import Path

HERE = Path(__file__).parent
VOCABULARY = 1024  # 256 bytes, the merges, and the end of a document
WORD = re.compile(rb" ?[A-Za-z\x80-\xff]+| ?[0-9]| ?[^\sA-Za-z0-9\x80-\xff]|\s")


def main():
    text = b"".join((HERE / name).read_bytes() for name in ("training_prose.txt", "training_examples.txt"))
    words = collections.Counter(WORD.findall(text))
    words = {tuple(word): count for word, count in sorted(words.items())}
    merges = []
    while 256 + len(merges) + 1 < VOCABULARY:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        made = 256 + len(merges)
        merges.append(best)
        joined = {}
        for word, count in words.items():
            out, i = [], 0
            while i < len(word):
                if word[i:i + 2] == best:
                    out.append(made)
                    i += 2
                else:
                    out.append(word[i])
                    i += 1
            joined[tuple(out)] = joined.get(tuple(out), 0) + count
        words = joined
    lines = [f"{a} {b}" for a, b in merges]
    (HERE / "merges.txt").write_text("\n".join(lines) + "\n")
    print(f"{len(merges)} merges; {sum(len(w) * c for w, c in words.items())} tokens in {len(text)} bytes")


main()
