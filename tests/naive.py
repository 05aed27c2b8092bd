"""A plain-Python twin of every kernel: integers, lists, sets and `unicodedata`, nothing fast or clever.

Each is written from what its kernel must do, for one document; the tests in kernels/ hold the two together.
"""

from __future__ import annotations

import math
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


# Texts and sets


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
    whole = (a * b) ** 0.5 if cosine else a + b - shared
    return shared / whole if whole > 0 else 0.0


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


def star_rounds(pairs: Sequence[Edge], rank: Sequence[int], most: int) -> list[int]:
    """For each pair, how many of the documents that its later one, by rank, meets come before its earlier one."""
    ordered = [sorted(pair, key=lambda one: rank[one]) for pair in pairs]
    return [
        min(most, sum(rank[other] < rank[low] for other, later in ordered if later == high))
        for low, high in ordered
    ]


def components(n: int, edges: Iterable[Edge]) -> list[int]:
    """For each node the smallest that can be reached from it."""
    labels = list(range(n))
    for a, b in edges:
        low, high = sorted((labels[a], labels[b]))
        labels = [low if label == high else label for label in labels]
    return labels


def join_coded(n: int, codes: Iterable[int]) -> tuple[list[int], list[bool]]:
    """The same for edges a · n + b, and which nodes have any."""
    edges = [divmod(code, n) for code in codes]
    return components(n, edges), [any(node in edge for edge in edges) for node in range(n)]


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


def look_up(table: Mapping[int, int], wanted: Sequence[int]) -> list[int]:
    """The value of each key, 0 where there is none."""
    return [table.get(key, 0) for key in wanted]


def number_occurrences(hashes: Sequence[int], weights: Sequence[int]) -> list[int]:
    """A hash for each occurrence of each feature, the first one the feature itself."""
    found = []
    for h, weight in zip(hashes, weights, strict=True):
        for _ in range(weight):
            found.append(h)
            h = (h ^ h >> 29) * STIR & MASK
            h ^= h >> 32
    return found


# Bits and hashes of sets


def mixed(h: int, number: int, seed: int, last: int) -> int:
    """A hash of a feature for a lexicon or a block of projections, but for the last shift."""
    h ^= (number * GOLDEN + seed) & MASK
    h = (h ^ h >> 32) * STIR & MASK
    return (h ^ h >> last) * LAST & MASK


def sign_bits(hashes: Sequence[int], weights: Sequence[int], bits: int, seed: int) -> list[int]:
    """The sign of each random projection of a weighted document: 1 where it is positive."""
    found = []
    for block in range(bits // 64):
        words = [h ^ h >> 29 for h in (mixed(h, block, seed, 32) for h in hashes)]
        for bit in range(64):
            total = sum(w if word >> bit & 1 else -w for word, w in zip(words, weights, strict=True))
            found.append(int(total > 0))
    return found


def table_signs(
    hashes: Sequence[int], weights: Sequence[int], bits: int, seed: int, table: Sequence[int]
) -> list[int]:
    """The signs of projections whose coefficients are entries of a table, by the bytes of random words."""
    found = []
    for place in range(bits):
        words = [h ^ h >> 29 for h in (mixed(h, place // 8, seed, 32) for h in hashes)]
        total = sum(w * table[word >> 8 * (place % 8) & 255] for word, w in zip(words, weights, strict=True))
        found.append(int(total > 0))
    return found


def hamming(left: Sequence[int], right: Sequence[int]) -> int:
    """The number of bits in which two rows of words differ."""
    return sum((a ^ b).bit_count() for a, b in zip(left, right, strict=True))


def set_hash(hashes: Sequence[int], lexicons: int, limit: int, seed: int) -> list[int]:
    """A hash of the features in each lexicon, in order; the first lexicon has them all."""
    found = []
    for k in range(lexicons):
        h = GOLDEN
        for x in hashes:
            if k == 0 or mixed(x, k, seed, 29) >> 32 >= limit:
                h = (h ^ x) * STIR & MASK
                h ^= h >> 31
        h = (h ^ k) * LAST & MASK
        found.append(h ^ h >> 29)
    return found


def dot(left: Mapping[int, float], right: Mapping[int, float]) -> float:
    """The sum of products over shared features, in order of their hashes."""
    return sum(left[h] * right[h] for h in sorted(left.keys() & right.keys()))


# Hamming search


def count_columns(fingerprints: Sequence[int]) -> list[int]:
    """The number of ones of each fingerprint."""
    return [x.bit_count() for x in fingerprints]


def block_keys(fingerprints: Sequence[int], bits: Sequence[int]) -> list[int]:
    """The chosen bits of each fingerprint, the first of them lowest."""
    return [sum((x >> bit & 1) << place for place, bit in enumerate(bits)) for x in fingerprints]


def order_by_digit(keys: Sequence[int], shift: int, mask: int, order: Sequence[int]) -> list[int]:
    """Places in order of a digit of their keys, otherwise as they were."""
    return sorted(order, key=lambda place: keys[place] >> shift & mask)


def gather_columns(fingerprints: Sequence[int], order: Sequence[int]) -> list[int]:
    """Fingerprints in an order."""
    return [fingerprints[place] for place in order]


def run_ends(keys: Sequence[int], limit: int) -> tuple[list[int], list[Edge]]:
    """The end of each place's run of equal keys; runs that are too long end at once and are listed."""
    begins = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    runs = list(zip(begins, [*begins[1:], len(keys)], strict=False))
    ends = [j + 1 if b - a > limit else b for a, b in runs for j in range(a, b)]
    return ends, [(a, b) for a, b in runs if b - a > limit]


def window_ends(ones: Sequence[int], distance: int) -> list[int]:
    """The first place with more than `distance` ones more than each place."""
    return [sum(other <= one + distance for other in ones) for one in ones]


def met_before(a: int, b: int, earlier: Iterable[int]) -> bool:
    """Whether two fingerprints agree under one of the masks."""
    return any((a ^ b) & mask == 0 for mask in earlier)


def join_spans(
    fingerprints: Sequence[int], ends: Sequence[int], distance: int, earlier: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Pairs i < j < ends[i] within the distance that agree under none of the masks."""
    return [
        (i, j, (fingerprints[i] ^ fingerprints[j]).bit_count())
        for i in range(len(fingerprints))
        for j in range(i + 1, ends[i])
        if (fingerprints[i] ^ fingerprints[j]).bit_count() <= distance
        and not met_before(fingerprints[i], fingerprints[j], earlier)
    ]


def probe(
    fingerprints: Sequence[int], keys: Sequence[int], wanted: Sequence[tuple[int, int]], distance: int,
    earlier: Sequence[int],
) -> set[tuple[int, int, int]]:  # fmt: skip
    """(query, document, distance) of documents with a query's key that are near it."""
    return {
        (q, d, (x ^ y).bit_count())
        for q, (x, key) in enumerate(wanted)
        for d, y in enumerate(fingerprints)
        if keys[d] == key and (x ^ y).bit_count() <= distance and not met_before(x, y, earlier)
    }


def stirred(h: int) -> int:
    """A hash of a hash, whose remainder selects one feature in p."""
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD % 2**64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
    return h ^ h >> 33


# Learned weights


class Gram(NamedTuple):
    hash: int
    count: int
    first: int
    capitals: int
    digits: int
    places: int


def tabulate(hashes: Sequence[int], marks: Sequence[int], places: Sequence[int]) -> list[Gram]:
    """The distinct k-grams of a document by hash; marks and places are those of the tokens that they begin with."""
    found = []
    for h in sorted(set(hashes)):
        where = [i for i, x in enumerate(hashes) if x == h]
        inside = 0
        for i in where:
            inside |= places[i] if places else 1
        capitals = sum(marks[i] & 1 for i in where)
        digits = sum(marks[i] >> 1 & 1 for i in where)
        found.append(Gram(h, len(where), where[0], capitals, digits, inside))
    return found


def multiply_pairs(
    left: Mapping[int, Sequence[float]], right: Mapping[int, Sequence[float]], count: int
) -> list[float]:
    """The upper triangle of A + Aᵀ (its diagonal once), A the sum of φ(left)·φ(right)ᵀ over shared k-grams."""
    total = [[0.0] * count for _ in range(count)]
    for h in sorted(left.keys() & right.keys()):
        for r in range(count):
            for c in range(count):
                total[r][c] += left[h][r] * right[h][c]
    return [
        total[r][r] if r == c else total[r][c] + total[c][r] for r in range(count) for c in range(r, count)
    ]


def minhash_levels(levels: Mapping[int, int], mix: Sequence[int], steps: Sequence[int]) -> list[int]:
    """Min-hashes of the set of all (k-gram, level) up to the level of each."""
    a, b, c, d = mix
    halves = []
    for gram, most in levels.items():
        for level in range(1, most + 1):
            h = (gram ^ level * GOLDEN & MASK) * STIR & MASK
            h = (h ^ h >> 32) * LAST & MASK
            h ^= h >> 29
            halves.append((a * (h >> 32) + b, c * (h % 2**32) + d))
    return [min(((u + k * v) % 2**32 for u, v in halves), default=2**32 - 1) for k in steps]


def sampled_keys(bits: Sequence[int], chosen: Sequence[Sequence[int]], seed: int) -> list[int]:
    """A hash of the chosen bits of each band, 32 at a time."""
    keys = []
    for band, places in enumerate(chosen):
        h = (seed + band + 1) * GOLDEN & MASK
        whole = len(places) // 32 * 32
        groups = [places[start : start + 32] for start in range(0, whole, 32)] + [places[whole:]]
        for group in groups:
            word = 0
            for place in group:
                word = word << 1 | bits[place]
            h = (h ^ word) * STIR & MASK
            h ^= h >> 32
        keys.append(h)
    return keys


def weigh(numbers: Sequence[int], table: Sequence[float], factors: Sequence[float]) -> list[float]:
    """The table's entry for each number, its last one where there is none, times a factor if given."""
    return [
        table[min(number, len(table) - 1)] * (factors[i] if factors else 1)
        for i, number in enumerate(numbers)
    ]


def to_fixed_point(weights: Sequence[float], one: int) -> list[int]:
    """Weights as whole numbers, `one` being the largest of them by absolute value."""
    largest = max(map(abs, weights), default=0)
    return [math.floor(weight * (one / largest) + 0.5) if largest else 0 for weight in weights]


def largest_of_occurrences(
    features: Sequence[int], seen: Sequence[int], values: Sequence[float], least: float
) -> list[float]:
    """For each feature the largest value among its occurrences, `least` where it has none."""
    return [
        max([least, *(value for other, value in zip(seen, values, strict=True) if other == feature)])
        for feature in features
    ]


def projections(hashes: Sequence[int], weights: Sequence[int], bits: int, seed: int) -> list[int]:
    """The sums whose signs are the bits of a fingerprint."""
    found = []
    for block in range(bits // 64):
        words = [h ^ h >> 29 for h in (mixed(h, block, seed, 32) for h in hashes)]
        for bit in range(64):
            found.append(sum(w if word >> bit & 1 else -w for word, w in zip(words, weights, strict=True)))
    return found


# Weighted phrases and samples

HALF = (1 << 32) - 1  # 32-bit arithmetic wraps


def stir_half(x: int) -> int:
    """Murmur's finisher of 32 bits."""
    x = (x ^ x >> 16) * 0x85EBCA6B & HALF
    x = (x ^ x >> 13) * 0xC2B2AE35 & HALF
    return x ^ x >> 16


def fraction(x: int) -> float:
    return ((x >> 8) + 0.5) / 2**24


class Sampled(NamedTuple):
    slot: int
    margin: (
        float  # how far the winner is from losing, or from another step: rounding decides where it is tiny
    )


def sample(hashes: Sequence[int], log_weights: Sequence[float], seed: int, number: int) -> Sampled:
    """One consistent weighted sample, in double precision."""
    found = []
    for h, log_weight in zip(hashes, log_weights, strict=True):
        low, high = h & HALF, h >> 32
        w = stir_half((low + number * (high | 1) & HALF) ^ seed)
        x = stir_half(w + (high ^ 0x9E3779B9) & HALF)
        y = stir_half(x + 0xDAA66D2B & HALF)
        z = stir_half(y + 0x78DDE6E4 & HALF)
        beta = fraction((w & 255) << 24 | (x & 255) << 16 | (y & 255) << 8)
        span = -math.log(fraction(w) * fraction(x))
        clock = -math.log(fraction(y) * fraction(z))
        exact = log_weight / span + beta
        step = math.floor(exact)
        slot = stir_half(((h & HALF) ^ stir_half(h >> 32)) + step * 0x9E3779B9 & HALF)
        margin = min(exact - step, step + 1 - exact) / max(1.0, abs(exact))
        found.append((math.log(clock) - (step - beta + 1) * span, slot, margin))
    if not found:
        return Sampled(0, 1.0)
    first, *others = sorted(found)
    scale = max(1.0, abs(first[0]))
    return Sampled(first[1], min([first[2], *((other[0] - first[0]) / scale for other in others)]))


def race(hashes: Sequence[int], weights: Sequence[float], seed: int, count: int) -> list[int]:
    """For each slot the phrase that rings first in it, every phrase ringing often enough to reach all slots."""
    times, slots = [math.inf] * count, [0] * count
    for h, weight in zip(hashes, weights, strict=True):
        state, time, reached = (h ^ seed * GOLDEN & MASK) * STIR & MASK, 0.0, set()
        while len(reached) < count:
            state = state + GOLDEN & MASK
            x = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
            x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
            x ^= x >> 31
            time -= math.log(((x >> 12) + 0.5) / 2**52) / weight
            k = (x & HALF) * count >> 32
            reached.add(k)
            if time < times[k]:
                times[k], slots[k] = time, stir_half((h & HALF) ^ stir_half(h >> 32))
    return slots


def sum_around(values: Sequence[int], half: int) -> list[int]:
    """The sum of `half` values before each place and as many from it on."""
    return [sum(values[max(0, i - half) : i + half]) for i in range(len(values))]


def heaviest(hashes: Sequence[int], weights: Sequence[float]) -> dict[int, float]:
    """Each hash with its largest weight, in order."""
    return {h: max(w for g, w in zip(hashes, weights, strict=True) if g == h) for h in sorted(set(hashes))}


def darts(
    hashes: Sequence[int], weights: Sequence[float], seed: int, count: int, strips: int = 28
) -> list[int]:
    """For each slot the first dart that hits; enough darts of every octave are drawn for all slots to be hit."""
    total = sum(weights)
    bound = (math.log(count) + 4.5) * count / total if total else 0.0
    times, slots = [math.inf] * count, [0] * count
    while total and max(times) == math.inf:
        for h, weight in zip(hashes, weights, strict=True):
            key = (h ^ seed * GOLDEN & MASK) * STIR & MASK
            top = math.frexp(weight)[1] - 1
            for e in range(top, top - strips - 4, -1):  # a few more than needed: they change nothing
                for time, x in octave_darts(key, e, bound):
                    k = (x & HALF) * count >> 32
                    if (e < top or 2.0**e * (1 + (x >> 32) / 2**32) < weight) and time < times[k]:
                        times[k], slots[k] = time, stir_half((x & HALF) ^ stir_half(x >> 32))
        bound *= 2
    return slots


def octave_darts(key: int, e: int, bound: float) -> Iterable[tuple[float, int]]:
    """Time and bits of the darts of an octave of a phrase, up to a time."""
    field = splitmix(key + (e >> 2) * GOLDEN) >> 16 * (e & 3) & 0xFFFF
    state = splitmix(key ^ e * STIR & MASK)
    time = -math.log1p(-(field + ((state >> 12) + 0.5) / 2**52) / 2**16) / 2.0**e
    while time < bound:
        yield time, splitmix(state + GOLDEN)
        state += 2 * GOLDEN
        time -= math.log(((splitmix(state) >> 12) + 0.5) / 2**52) / 2.0**e


def splitmix(x: int) -> int:
    x &= MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31
