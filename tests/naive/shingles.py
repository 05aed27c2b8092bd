"""Shingles, slots and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from naive.common import GOLDEN, MASK, STIR


def shingle(tokens: Sequence[int], factors: Sequence[int]) -> list[int]:
    """A hash of each run of len(factors) tokens; of all tokens, if they are fewer."""
    width = min(len(factors), len(tokens))
    runs = [tokens[i : i + width] for i in range(len(tokens) - width + 1)] if tokens else []
    return [finish(sum(t * f for t, f in zip(run, factors, strict=False)) & MASK) for run in runs]


def finish(h: int) -> int:
    """The low half mixed into the high half, and back."""
    h = (h ^ h >> 32) * STIR & MASK
    return h ^ h >> 32


def mark_words(tokens: Sequence[int], table: Mapping[int, int]) -> list[int]:
    """What a table of words says about each token."""
    return [table.get(token, 0) for token in tokens]


def chain_words(
    tokens: Sequence[int], marks: Sequence[int], rules: Sequence[tuple[int, int]], factors: Sequence[int]
) -> list[int]:
    """A hash of each antecedent and the content words at a distance behind it, by rules (distance, chain)."""
    found = []
    for i, mark in enumerate(marks):
        for r, (distance, chain) in enumerate(rules):
            words, place = [tokens[i]], i
            while mark >> (r + 1) & 1 and len(words) <= chain:
                place += distance
                while place < len(tokens) and marks[place] & 1:
                    place += 1
                if place >= len(tokens):
                    break
                words.append(tokens[place])
            if len(words) > 1:
                found.append(finish(sum(t * f for t, f in zip(words, factors, strict=False)) & MASK))
    return found


def minhash(hashes: Iterable[int], mix: Sequence[int], places: Sequence[int]) -> list[int]:
    """The least u + k·v mod 2³² in slot places[k], u and v being the halves of a hash, each permuted."""
    a, b, c, d = mix
    halves = {(a * (h >> 32) + b, c * (h % 2**32) + d) for h in hashes}
    slots = [0] * len(places)
    for k, place in enumerate(places):
        slots[place] = min(((u + k * v) % 2**32 for u, v in halves), default=2**32 - 1)
    return slots


def band_keys(slots: Sequence[int], bands: int, rows: int, seed: int) -> list[int]:
    """A 64-bit hash of each band's slots."""
    keys = []
    for band in range(bands):
        h = (seed + band + 1) * GOLDEN & MASK
        for slot in slots[band * rows : (band + 1) * rows]:
            h = (h ^ slot) * STIR & MASK
            h ^= h >> 32
        keys.append(h)
    return keys
