"""Sorted postings in packed blocks: lists of (key, seq), and one long number for each block."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from naive.common import GOLDEN, MASK

BLOCK = 256
Posting = tuple[int, int]


def ones(width: int) -> int:
    return (1 << width) - 1


def load_bits(words: Sequence[int], bit: int, mask: int) -> int:
    return whole(words) >> bit & mask


def whole(words: Sequence[int]) -> int:
    """Words as one number, the first word lowest."""
    return sum(word << 64 * place for place, word in enumerate(words))


def stir_word(h: int, x: int) -> int:
    h = (h ^ x) * GOLDEN & MASK
    return (h << 29 | h >> 35) & MASK


def checksum(words: Sequence[int]) -> int:
    """Every fourth word goes to the same lane, but the last one to three words go to the first lane."""
    lanes, rest = [1, 2, 3, 4], len(words) % 4
    for place, word in enumerate(words[: len(words) - rest]):
        lanes[place % 4] = stir_word(lanes[place % 4], word)
    for word in words[len(words) - rest :]:
        lanes[0] = stir_word(lanes[0], word)
    h = len(words)
    for lane in lanes:
        h = stir_word(h, lane)
    return h


def pack(
    postings: Sequence[Posting], low: int, seq_width: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Words, fences, checksums and widths of sorted postings."""
    words, fences, checksums, widths = [], [], [], []
    for begin in range(0, len(postings), BLOCK):
        block = postings[begin : begin + BLOCK]
        fence, width = block[0][0], (block[-1][0] - block[0][0]).bit_length()
        number = 0
        for place, (key, seq) in enumerate(block):
            number |= (key - fence | seq - low << width) << place * (width + seq_width)
        size = -(-len(block) * (width + seq_width) // 64)
        packed = [number >> 64 * place & MASK for place in range(size)]
        words += packed
        fences.append(fence)
        checksums.append(checksum(packed))
        widths.append(width)
    return words, fences, checksums, widths


def sort_postings(postings: Sequence[Posting]) -> list[Posting]:
    return sorted(postings)


def find_starts(widths: Sequence[int], postings: int, seq_width: int) -> list[int]:
    starts = [0]
    for place, width in enumerate(widths):
        size = min(BLOCK, postings - place * BLOCK)
        starts.append(starts[-1] + -(-size * (width + seq_width) // 64))
    return starts


def first_fence(fences: Sequence[int], key: int) -> int:
    return sum(fence < key for fence in fences)


def lower_bound(postings: Sequence[Posting], key: int) -> int:
    return sum(other < key for other, _ in postings)


def find_run(postings: Sequence[Posting], key: int) -> tuple[int, int]:
    return lower_bound(postings, key), lower_bound(postings, key + 1)


def look_up(postings: Sequence[Posting], keys: Sequence[int]) -> list[tuple[int, int]]:
    """The place of the key and the seq, in order."""
    return [
        (place, seq)
        for place, wanted in enumerate(keys)
        for seq in sorted(seq for key, seq in postings if key == wanted)
    ]


def unpack_alive(
    postings: Sequence[Posting], begin: int, alive: Collection[int], room: int
) -> tuple[int, list[Posting]]:
    """Where it stopped, and the postings of living documents."""
    found: list[Posting] = []
    for at in range(begin, len(postings)):
        if len(found) == room:
            return at, found
        if postings[at][1] in alive:
            found.append(postings[at])
    return len(postings), found


def merge_runs(runs: Sequence[Sequence[Posting]], more: Sequence[bool], room: int) -> list[Posting]:
    """The sorted postings of all runs, until a run that has more is used up."""
    tagged = sorted((key, r, place) for r, run in enumerate(runs) for place, (key, _) in enumerate(run))
    if any(not run and again for run, again in zip(runs, more, strict=True)):
        return []
    merged = []
    for _, r, place in tagged[:room]:
        merged.append(runs[r][place])
        if more[r] and place == len(runs[r]) - 1:
            break
    return merged


def link(keys: Sequence[int]) -> list[int]:
    """For each posting the one of the same key before it, or −1."""
    newest: dict[int, int] = {}
    before = []
    for i, key in enumerate(keys):
        before.append(newest.get(key, -1))
        newest[key] = i
    return before
