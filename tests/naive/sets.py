"""Digests of texts, and sets of hashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import sqrt

from naive.common import GOLDEN, LAST, MASK, SECOND, STIR, Edge


def digest(text: bytes, seed: int) -> tuple[int, int]:
    """Two 64-bit hashes of a text and its length; the second sees each word with its halves swapped."""
    a = seed ^ (len(text) * GOLDEN & MASK)
    b = (~seed & MASK) ^ (len(text) * LAST & MASK)
    return digest_half(text, a, STIR, swap=False), digest_half(text, b, SECOND, swap=True)


def digest_half(text: bytes, even: int, factor: int, swap: bool) -> int:
    """One hash: even and odd words of pairs apart, then together with what is left."""

    def seen(word: int) -> int:
        return word >> 32 | (word << 32 & MASK) if swap else word

    odd, whole = ~even & MASK, len(text) & ~7
    words = [int.from_bytes(text[i : i + 8], "little") for i in range(0, whole, 8)]
    paired = len(words) & ~1
    for first, second in zip(words[:paired:2], words[1:paired:2], strict=True):
        even, odd = stir(even, seen(first), factor), stir(odd, seen(second), factor)
    if paired:
        even = stir(even, odd >> 32 | (odd << 32 & MASK), factor)
    for word in [*words[paired:], int.from_bytes(text[whole:], "big")]:
        even = stir(even, seen(word), factor)
    return stir(even, even >> 32, GOLDEN)


def stir(h: int, x: int, factor: int) -> int:
    """The state after one more word."""
    h = (h ^ x) * factor & MASK
    return h ^ h >> 31


def gather(block: bytes, begins: Sequence[int], ends: Sequence[int]) -> bytes:
    """The pieces of a block, one behind the other."""
    return b"".join(block[begin:end] for begin, end in zip(begins, ends, strict=True))


def checksum(file: bytes) -> int:
    """The sum of a file's words of eight bytes, each times an odd factor of its number, and of their upper halves."""
    total = 0
    for k in range(0, len(file), 8):
        word, factor = int.from_bytes(file[k : k + 8], "little"), k // 8 * GOLDEN & MASK
        factor = (factor ^ factor >> 29) | 1
        total += word * factor + (word >> 32) * ((factor >> 32 | factor << 32) & MASK | 1)
    return total & MASK


def count_characters(text: bytes) -> int:
    """The number of code points."""
    return len(text.decode())


def distinct(hashes: Iterable[int]) -> list[int]:
    """The different hashes in order."""
    return sorted(set(hashes))


def intersect(a: Iterable[int], b: Iterable[int]) -> int:
    """How many hashes two documents have in common."""
    return len(set(a) & set(b))


def count_equal(hashes: Iterable[int]) -> list[tuple[int, int]]:
    """The different hashes in order, with how often each occurs."""
    return sorted(Counter(hashes).items())


def intersect_weighted(a: Mapping[int, int], b: Mapping[int, int]) -> int:
    """The size of what two multi-sets have in common."""
    return (Counter(a) & Counter(b)).total()


def sum_weights(weights: Iterable[float], squared: bool) -> float:
    """The weights, or their squares, added one after the other."""
    total = 0.0
    for weight in weights:
        total += weight * weight if squared else weight
    return total


def count_overlaps(rows: Sequence[Iterable[int]]) -> dict[Edge, int]:
    """How many features any two documents share, for those that share one."""
    shared = {(a, b): intersect(rows[a], rows[b]) for a, b in combinations(range(len(rows)), 2)}
    return {pair: count for pair, count in shared.items() if count}


def add_overlaps(rows: Sequence[dict[int, float]], cosine: bool) -> dict[Edge, float]:
    """The least weights of shared features, or their products, added in the order of the features."""
    found = {}
    for a, b in combinations(range(len(rows)), 2):
        common = sorted(rows[a].keys() & rows[b].keys())
        both = [(rows[a][feature], rows[b][feature]) for feature in common]
        if common:
            found[a, b] = sum_weights([v * w if cosine else min(v, w) for v, w in both], squared=False)
    return found


def similar(shared: float, a: float, b: float, cosine: bool) -> float:
    """Cosine from a dot product and squared norms, or Jaccard from sums of weights; 0 where there are none."""
    whole = sqrt(a * b) if cosine else a + b - shared
    return shared / whole if whole > 0 else 0.0


def close_pairs(rows: Sequence[dict[int, float]], least: float) -> dict[Edge, float]:
    """What every two documents share whose cosine reaches the least one."""
    sizes = [sum_weights([w for _, w in sorted(row.items())], squared=True) for row in rows]
    found = add_overlaps(rows, cosine=True)
    return {(a, b): s for (a, b), s in found.items() if similar(s, sizes[a], sizes[b], cosine=True) >= least}


def count_rows(rows: Sequence[Sequence[int]]) -> dict[int, int]:
    """Each distinct hash in the order of first occurrence, with the number of rows that have it."""
    found: dict[int, int] = {}
    for row in rows:
        for h in dict.fromkeys(row):
            found[h] = found.get(h, 0) + 1
    return found


def cut(keys: Sequence[int], bits: int) -> list[list[int]]:
    """The keys of each part, by their leading bits."""
    return [[key for key in keys if key >> (64 - bits) == part] for part in range(1 << bits)]


def cut_keys(keys: Sequence[int], bits: int) -> list[list[int]]:
    """The same."""
    return cut(keys, bits)


def sum_parts(keys: Sequence[int], counts: Sequence[int], least: int = 1) -> dict[int, int]:
    """Each distinct key in ascending order with the sum of its counts, if that is not below the least one."""
    found = dict.fromkeys(sorted(set(keys)), 0)
    for key, count in zip(keys, counts, strict=True):
        found[key] += count
    return {key: count for key, count in found.items() if count >= least}


def make_filter(keys: Sequence[int], bits: int) -> set[int]:
    """The numbers of the bits that are set."""
    return {(key * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> (64 - bits) for key in keys}


def among(keys: Sequence[int], queries: Sequence[int]) -> list[bool]:
    """Whether each query is one of the keys."""
    return [query in keys for query in queries]


def keep_rare(weights: Mapping[int, float], rare: Mapping[int, bool], least: float) -> dict[int, float]:
    """The rare features of a document, or all of them if the rare ones are less than this share of the weight."""
    part = sum(weight for h, weight in weights.items() if rare[h])
    alone = part < least * sum(weights.values())
    return {h: weight for h, weight in weights.items() if rare[h] or alone}
