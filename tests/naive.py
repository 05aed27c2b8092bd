"""A plain-Python twin of every kernel: integers, lists, sets and `unicodedata`, nothing fast or clever.

Each is written from what its kernel must do, for one document; the tests in kernels/ hold the two together.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations
from typing import Literal, NamedTuple

Edge = tuple[int, int]

MASK = (1 << 64) - 1  # 64-bit arithmetic wraps
GOLDEN = 0x9E3779B97F4A7C15
STIR = 0xD6E8FEB86659FD93
SECOND = 0xA0761D6478BD642F
LAST = 0xC2B2AE3D27D4EB4F


# Tokens


class Token(NamedTuple):
    hash: int
    position: int  # of its first byte
    marks: int


# Scripts written without spaces between words, by the names of their characters.
UNSPACED = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC CLOSING MARK",
    "IDEOGRAPHIC NUMBER ZERO",
    "VERTICAL IDEOGRAPHIC ITERATION MARK",
    "HANGZHOU NUMERAL",
    "HIRAGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "HENTAIGANA",
    "VERTICAL KANA",
    "MASU MARK",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
    "TAI LE",
    "NEW TAI LUE",
    "TAI THAM",
)


@cache
def kind(char: str) -> Literal["word", "single", "mark", "ignored", "outside"]:
    """What a character does to the tokens around it."""
    category, point = unicodedata.category(char), ord(char)
    if category == "Cf" or 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF:
        return "ignored"  # format characters and variation selectors
    if category[0] == "M":
        return "mark"
    if category[0] in "LN":
        return "single" if unicodedata.name(char, "").startswith(UNSPACED) else "word"
    if category[0] == "S" or category == "Co" or (category == "Cn" and 0x1F000 <= point <= 0x1FFFF):
        return "single"  # symbols, private characters, and emoji that are still to come
    return "outside"


@cache
def fold(char: str) -> str:
    """Simple case folding: one character for one character."""
    candidates = (char.casefold(), char.lower(), char)
    return next(candidate for candidate in candidates if len(candidate) == 1)


@cache
def marks(char: str) -> int:
    """What a token that begins with this character is marked with: 1 a capital, 2 a digit."""
    category = unicodedata.category(char)
    return 1 if category in ("Lu", "Lt") else 2 if category == "Nd" else 0


def tokenize(text: str, tokens: Literal["words", "whitespace", "characters"] = "words") -> list[Token]:
    """The tokens of a text in NFC."""
    found: list[tuple[list[str], int, int]] = []  # folded characters, position, marks
    inside = None  # whether the character before belongs to a "word", a "single", or to nothing
    position = 0
    for char in text:
        role = kind(char)
        if tokens != "words" and role != "ignored":
            role = "outside" if char.isspace() else "word" if tokens == "whitespace" else "single"
        joins = inside is not None if role == "mark" else role == "word" == inside
        if role == "outside":
            inside = None
        elif role != "ignored" and joins:
            found[-1][0].append(fold(char))
        elif role != "ignored":  # a mark that stands on nothing begins a word
            found.append(([fold(char)], position, marks(char)))
            inside = "single" if role == "single" else "word"
        position += len(char.encode())
    return [Token(hash_token("".join(folded).encode()), *rest) for folded, *rest in found]


@lru_cache(1 << 16)
def hash_token(folded: bytes) -> int:
    """Eight bytes at a time, the last one to eight shifted to the top of a word."""
    last = (len(folded) - 1) // 8 * 8
    h = len(folded) * GOLDEN & MASK
    for i in range(0, last, 8):
        h = (h ^ int.from_bytes(folded[i : i + 8], "little")) * STIR & MASK
        h ^= h >> 32
    h = (h ^ int.from_bytes(folded[last:].rjust(8, b"\0"), "little")) * STIR & MASK
    h ^= h >> 32
    h = h * LAST & MASK
    return h ^ h >> 29


def longest_segment(text: bytes, size: int) -> int:
    """The largest piece, if each is cut behind its last blank within `size` bytes or the first one after."""
    longest = 0
    while len(text) > size:
        blanks = [place for place, byte in enumerate(text) if byte in b" \n" and place > 0]
        within = [place for place in blanks if place < size]
        after = [place for place in blanks if place >= size]
        cut = 1 + (within[-1] if within else after[0] if after else len(text) - 1)
        longest, text = max(longest, cut), text[cut:]
    return max(longest, len(text))


# Shingles, slots and keys


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


def minhash(hashes: Iterable[int], a: Sequence[int], b: Sequence[int]) -> list[int]:
    """The least value of each permutation x → a·x + b mod 2³² over the upper halves of the hashes."""
    upper = {h >> 32 for h in hashes}
    return [min(((m * x + s) % 2**32 for x in upper), default=2**32 - 1) for m, s in zip(a, b, strict=True)]


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


# Texts and sets


def digest(text: bytes, seed: int) -> tuple[int, int]:
    """Two 64-bit hashes of a text and its length; the second sees each word with its halves swapped."""
    a = seed ^ (len(text) * GOLDEN & MASK)
    b = (~seed & MASK) ^ (len(text) * LAST & MASK)
    whole = len(text) & ~7
    words = [int.from_bytes(text[i : i + 8], "little") for i in range(0, whole, 8)]
    for word in [*words, int.from_bytes(text[whole:], "big")]:
        a = stir(a, word, STIR)
        b = stir(b, word >> 32 | (word << 32 & MASK), SECOND)
    return stir(a, a >> 32, GOLDEN), stir(b, b >> 32, GOLDEN)


def stir(h: int, x: int, factor: int) -> int:
    """The state after one more word."""
    h = (h ^ x) * factor & MASK
    return h ^ h >> 31


def gather(block: bytes, begins: Sequence[int], ends: Sequence[int]) -> bytes:
    """The pieces of a block, one behind the other."""
    return b"".join(block[begin:end] for begin, end in zip(begins, ends, strict=True))


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


def sum_weights(counts: Mapping[int, int]) -> int:
    """The size of a multi-set."""
    return sum(counts.values())


def intersect_weighted(a: Mapping[int, int], b: Mapping[int, int]) -> int:
    """The size of what two multi-sets have in common."""
    return (Counter(a) & Counter(b)).total()


# Exact matching; a document is a multi-set {hash: frequency}


def summarise(document: Mapping[int, int]) -> tuple[int, int, int]:
    """The size, the parity of the features in each of 128 slots (by the first seven bits), and their sum."""
    parities = 0
    for h in document:
        parities ^= 1 << ((h >> 58) + 64 * (h >> 57 & 1))
    return sum(document.values()), parities, sum(document) & MASK


def collapse_equal(documents: Sequence[Mapping[int, int]]) -> list[int]:
    """For each document the first that is equal to it."""
    return [next(i for i, other in enumerate(documents) if other == document) for document in documents]


def order_by_size(sizes: Sequence[int], chosen: Iterable[int]) -> list[int]:
    """The chosen documents, the smallest first."""
    return sorted(chosen, key=lambda d: (sizes[d], d))


def overlap(a: Mapping[int, int], b: Mapping[int, int], needed: int) -> int:
    """What two documents share, or -1 if that is less than needed."""
    shared = intersect_weighted(a, b)
    return shared if shared >= needed else -1


def exact_pairs(documents: Sequence[Mapping[int, int]], threshold: Fraction) -> list[tuple[int, int, int]]:
    """(left, right, shared) of every pair whose similarity reaches the threshold."""
    found = []
    for (i, a), (j, b) in combinations(enumerate(documents), 2):
        shared, total = intersect_weighted(a, b), (Counter(a) | Counter(b)).total()
        if shared and Fraction(shared, total) >= threshold:
            found.append((i, j, shared))
    return found


def build_lists(documents: Sequence[Mapping[int, int]]) -> dict[int, list[int]]:
    """Of each feature the documents that have it."""
    return {h: [i for i, d in enumerate(documents) if h in d] for h in set().union(*documents)}


def select_prefixes(
    document: Mapping[int, int], classes: Sequence[int], threshold: Fraction
) -> list[tuple[int, int]]:
    """The first features by (class, hash) until less than τL is behind them, each with what is behind it."""
    rest, size = sum(document.values()), sum(document.values())
    found: list[tuple[int, int]] = []
    for h in sorted(document, key=lambda h: (classes[h % len(classes)], h)):
        if rest >= threshold * size:
            rest -= document[h]
            found.append((h, rest))
    return found


# Buckets and graphs


def fill_pairs(bucket: Sequence[int], rank: Sequence[int], limit: int, pivots: int) -> set[Edge]:
    """All pairs of a bucket of up to `limit`; of a larger one those with one of its first members by rank."""
    firsts = sorted(bucket, key=lambda member: rank[member])
    if len(bucket) > limit:
        firsts = firsts[:pivots]
    return {(min(a, b), max(a, b)) for a, b in combinations(bucket, 2) if a in firsts or b in firsts}


def components(n: int, edges: Iterable[Edge]) -> list[int]:
    """For each node the smallest that can be reached from it."""
    labels = list(range(n))
    for a, b in edges:
        low, high = sorted((labels[a], labels[b]))
        labels = [low if label == high else label for label in labels]
    return labels


def leaders(order: Sequence[int], edges: Iterable[Edge]) -> list[int]:
    """In the given order, a free node leads and takes its free neighbours."""
    edges = [*edges]
    leader: dict[int, int] = {}
    for x in order:
        if x not in leader:
            leader[x] = x
            around = {b for a, b in edges if a == x} | {a for a, b in edges if b == x}
            leader |= {y: x for y in around if y not in leader}
    return [leader[x] for x in range(len(order))]


def spanning_links(n: int, edges: Sequence[Edge]) -> list[bool]:
    """Which edges connect what the edges before them do not."""
    joins = []
    for place, (a, b) in enumerate(edges):
        labels = components(n, edges[:place])
        joins.append(labels[a] != labels[b])
    return joins


def bridges(n: int, edges: Sequence[Edge]) -> list[bool]:
    """Which edges leave their ends apart when they are taken away."""
    found = []
    for place, (a, b) in enumerate(edges):
        labels = components(n, [*edges[:place], *edges[place + 1 :]])
        found.append(labels[a] != labels[b])
    return found
