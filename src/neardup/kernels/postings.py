"""Postings of an index, pairs of a key and a document's sequence number, in sorted blocks of packed bits.

A block has 256 postings (the last may have fewer) in the order of (key, seq). Its fence is its first key. A posting
is the key's distance from the fence, in a number of bits of that block, and behind it the distance of the sequence
number from the segment's lowest, in a number of bits of the segment: any posting is read without its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels import inline, jit

U8, U64 = np.uint8, np.uint64
BLOCK = 256  # postings of a block
PADDING = 2  # words behind the last block: reading a posting loads two words wherever it ends
NEAR = 4  # postings of a key that are compared one by one before the end of the key is searched for
FEW = 32  # postings that are sorted by insertion
ALL = U64(0xFFFFFFFFFFFFFFFF)


class Blocks(NamedTuple):
    """The arrays of a segment."""

    words: np.ndarray  # packed postings, and PADDING words
    fences: np.ndarray  # the first key of each block, and the last key of all
    checksums: np.ndarray  # of the words of each block
    widths: np.ndarray  # bits of a key, for each block
    starts: np.ndarray  # where the words of each block begin, and where the last one ends
    checked: np.ndarray  # 1 once a block agrees with its checksum; threads that write it write the same
    postings: int
    low: int  # the lowest sequence number
    seq_width: int  # bits of a sequence number


@inline
def ones(width):
    """The lowest bits set, 0 to 64 of them; no machine shifts by 64."""
    half = U64(width) >> U64(1)
    return U64(U64(U64(U64(1) << half) << U64(U64(width) - half)) - U64(1))


@inline
def load_bits(words, bit, mask):
    """The bits from `bit` on that the mask has."""
    at, shift = U64(bit) >> U64(6), U64(bit) & U64(63)
    upper = U64(U64(words[at + U64(1)] << U64(1)) << U64(U64(63) - shift))
    return U64(U64(U64(words[at] >> shift) | upper) & mask)


@inline
def store_bits(words, bit, value):
    """Sets bits from `bit` on, where all are 0."""
    at, shift = U64(bit) >> U64(6), U64(bit) & U64(63)
    words[at] |= U64(value << shift)
    words[at + U64(1)] |= U64(U64(value >> U64(1)) >> U64(U64(63) - shift))


@inline
def stir(h, x):
    """The state of a checksum after one more word: one-to-one in both, so no change of one word goes unnoticed."""
    h = U64(U64(h ^ x) * U64(0x9E3779B97F4A7C15))
    return U64(U64(h << U64(29)) | U64(h >> U64(35)))


@jit
def checksum(words):
    """A hash of words and their number, in four lanes that do not wait for each other."""
    a, b, c, d = U64(1), U64(2), U64(3), U64(4)
    whole = len(words) & ~3
    for i in range(0, whole, 4):
        a, b = stir(a, words[i]), stir(b, words[i + 1])
        c, d = stir(c, words[i + 2]), stir(d, words[i + 3])
    for i in range(whole, len(words)):
        a = stir(a, words[i])
    return stir(stir(stir(stir(U64(len(words)), a), b), c), d)


@jit
def pack(keys, seqs, low, seq_width, words, tables):
    """Fills words and tables = (fences, checksums, widths) with blocks of sorted postings; returns the words used.

    The words need room for PADDING more, which is left at 0.
    """
    fences, checksums, widths = tables
    used = 0
    for block in range(len(fences)):
        begin, end = block * BLOCK, min(block * BLOCK + BLOCK, len(keys))
        fence, span = keys[begin], U64(keys[end - 1] - keys[begin])
        width = 0
        while width < 64 and U64(span >> U64(width)) != U64(0):
            width += 1
        size = ((end - begin) * (width + seq_width) + 63) >> 6
        words[used : used + size + PADDING] = U64(0)
        bit = used << 6
        for i in range(begin, end):
            store_bits(words, bit, U64(keys[i] - fence))
            store_bits(words, bit + width, U64(seqs[i] - low))
            bit += width + seq_width
        fences[block], widths[block] = fence, width
        checksums[block] = checksum(words[used : used + size])
        used += size
    return used


@jit
def sort_postings(keys, seqs, starts, out):
    """Fills out = (keys, seqs) with the postings in the order of (key, seq).

    Keys are spread evenly: they go to buckets by their leading bits, a power of two of buckets, one more than which
    `starts` has room for. The few of a bucket are then put in order, or sorted if they are not few.
    """
    out_keys, out_seqs = out
    shift, size = U64(63), len(starts) >> 2
    while size > 0:
        shift, size = U64(shift - U64(1)), size >> 1
    starts[:] = 0
    for i in range(len(keys)):
        starts[U64(keys[i] >> shift) + U64(1)] += 1
    for bucket in range(1, len(starts)):
        starts[bucket] += starts[bucket - 1]
    for i in range(len(keys)):
        bucket = U64(keys[i] >> shift)
        out_keys[starts[bucket]], out_seqs[starts[bucket]] = keys[i], seqs[i]
        starts[bucket] += 1  # ends as the end of its bucket, where the next one begins
    begin = 0
    for bucket in range(len(starts) - 1):
        if starts[bucket] - begin > FEW:
            sort_many(out_keys[begin : starts[bucket]], out_seqs[begin : starts[bucket]])
        else:
            sort_few(out_keys, out_seqs, begin, starts[bucket])
        begin = starts[bucket]


@inline
def sort_few(keys, seqs, begin, end):
    """Sorts postings begin … end in place, by insertion."""
    for i in range(begin + 1, end):
        key, seq, at = keys[i], seqs[i], i
        while at > begin and (keys[at - 1] > key or (keys[at - 1] == key and seqs[at - 1] > seq)):
            keys[at], seqs[at] = keys[at - 1], seqs[at - 1]
            at -= 1
        keys[at], seqs[at] = key, seq


@jit
def sort_many(keys, seqs):
    """Sorts postings in place: by sequence number, then by key, which leaves equal keys in that order."""
    order = np.argsort(seqs, kind="mergesort")
    order = order[np.argsort(keys[order], kind="mergesort")]
    keys[:], seqs[:] = keys[order], seqs[order]


@jit
def find_starts(fences, widths, postings, seq_width, starts):
    """Fills starts with the place of each block's words; whether fences and widths can be those of a segment."""
    starts[0] = 0
    for block in range(len(widths)):
        size = min(BLOCK, postings - block * BLOCK)
        if size < 1 or widths[block] > 64 or fences[block] > fences[block + 1]:
            return False
        starts[block + 1] = starts[block] + ((size * (np.int64(widths[block]) + seq_width) + 63) >> 6)
    return postings <= len(widths) * BLOCK


@inline
def key_at(blocks, block, i):
    """The key of a posting of a block."""
    width = np.int64(blocks.widths[block])
    bit = (blocks.starts[block] << 6) + i * (width + blocks.seq_width)
    return U64(blocks.fences[block] + load_bits(blocks.words, bit, ones(width)))


@inline
def seq_at(blocks, block, i):
    """The sequence number of a posting of a block."""
    width = np.int64(blocks.widths[block])
    bit = (blocks.starts[block] << 6) + i * (width + blocks.seq_width) + width
    return blocks.low + np.int64(load_bits(blocks.words, bit, ones(blocks.seq_width)))


@jit
def intact(blocks, block):
    """Whether a block agrees with its checksum, which is computed the first time."""
    if blocks.checked[block] == U8(0):
        found = checksum(blocks.words[blocks.starts[block] : blocks.starts[block + 1]])
        if found != blocks.checksums[block]:
            return False
        blocks.checked[block] = U8(1)
    return True


@jit
def first_damaged(blocks):
    """The first block that does not agree with its checksum, as the file has it now, or −1."""
    for block in range(len(blocks.widths)):
        words = blocks.words[blocks.starts[block] : blocks.starts[block + 1]]
        if checksum(words) != blocks.checksums[block]:
            blocks.checked[block] = U8(0)
            return block
    return -1


@jit
def first_fence(fences, n, key):
    """The first of n fences that is not below the key, or n.

    Keys are spread evenly, which gives its approximate place; steps that double from there find it in any case.
    """
    if n == 0:
        return 0
    high = np.int64(U64(U64(key >> U64(32)) * U64(n)) >> U64(32))
    low, step = high - 1, 1
    while high < n and fences[high] < key:
        low, high, step = high, high + step, step * 2
    high = min(high, n)
    while low >= 0 and fences[low] >= key:
        low, high, step = low - step, low, step * 2
    low = max(low, -1)
    while high - low > 1:
        middle = (low + high) >> 1
        if fences[middle] < key:
            low = middle
        else:
            high = middle
    return high


@jit
def first_posting(blocks, block, key):
    """The first posting of a block whose key is not below `key`, which is above the fence; else its size.

    Searches as `first_fence` does.
    """
    n = min(BLOCK, blocks.postings - block * BLOCK)
    fence, width = blocks.fences[block], np.int64(blocks.widths[block])
    sought, mask, stride = U64(key - fence), ones(width), width + blocks.seq_width
    if sought > mask:
        return n
    span = max(np.float64(U64(blocks.fences[block + 1] - fence)), 1.0)
    high = min(np.int64(np.float64(sought) / span * n), n - 1)
    low, step, base = high - 1, 1, blocks.starts[block] << 6
    while high < n and load_bits(blocks.words, base + high * stride, mask) < sought:
        low, high, step = high, high + step, step * 2
    high = min(high, n)
    while low >= 0 and load_bits(blocks.words, base + low * stride, mask) >= sought:
        low, high, step = low - step, low, step * 2
    low = max(low, -1)
    while high - low > 1:
        middle = (low + high) >> 1
        if load_bits(blocks.words, base + middle * stride, mask) < sought:
            low = middle
        else:
            high = middle
    return high


@jit
def lower_bound(blocks, key):
    """The number of postings with smaller keys; −1 − block if that block is damaged."""
    block = first_fence(blocks.fences, len(blocks.widths), key) - 1
    if block < 0:
        return 0
    if not intact(blocks, block):
        return -1 - block
    return block * BLOCK + first_posting(blocks, block, key)


@jit
def find_run(blocks, key):
    """The begin and end of the postings with a key; −1 − block twice if that block is damaged."""
    begin = lower_bound(blocks, key)
    if begin < 0:
        return begin, begin
    for end in range(begin, min(begin + NEAR, blocks.postings)):
        block = end // BLOCK
        if end % BLOCK == 0:  # the fence says it without a look at the block
            found = blocks.fences[block]
        elif not intact(blocks, block):
            return -1 - block, -1 - block
        else:
            found = key_at(blocks, block, end % BLOCK)
        if found != key:
            return begin, end
    if begin + NEAR >= blocks.postings or key == ALL:
        return begin, blocks.postings
    end = lower_bound(blocks, U64(key + U64(1)))
    return (begin, end) if end >= 0 else (end, end)


@jit
def find_runs(blocks, keys, begins, ends):
    """Fills begins and ends with the postings of each key; returns a damaged block that it met, or −1."""
    for k in range(len(keys)):
        begins[k], ends[k] = find_run(blocks, keys[k])
        if begins[k] < 0:
            return -1 - begins[k]
    return -1


@jit
def look_up(blocks, keys):
    """The postings with one of the keys: a damaged block or −1, the place of the key, and the sequence number."""
    begins, ends = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    damaged = find_runs(blocks, keys, begins, ends)
    total = 0 if damaged >= 0 else (ends - begins).sum()
    places, seqs = np.empty(total, np.int64), np.empty(total, np.int64)
    if damaged >= 0:
        return damaged, places, seqs
    filled = 0
    for k in range(len(keys)):
        at = begins[k]
        while at < ends[k]:
            block = at // BLOCK
            if not intact(blocks, block):
                return block, places[:0], seqs[:0]
            for i in range(at, min(ends[k], block * BLOCK + BLOCK)):
                places[filled], seqs[filled] = k, seq_at(blocks, block, i - block * BLOCK)
                filled += 1
            at = block * BLOCK + BLOCK
    return -1, places, seqs


@jit
def unpack_alive(blocks, begin, alive, lowest, keys, seqs):
    """Fills keys and seqs with postings from `begin` on whose document is alive, until they are full.

    Bit s − lowest of `alive` is set if document s is. Returns a damaged block or −1, where it stopped, and the count.
    """
    count, at = 0, begin
    while at < blocks.postings and count < len(keys):
        block = at // BLOCK
        if not intact(blocks, block):
            return block, at, count
        end = min(blocks.postings, block * BLOCK + BLOCK)
        while at < end and count < len(keys):
            seq = seq_at(blocks, block, at - block * BLOCK)
            bit = U64(seq - lowest)
            if (alive[bit >> U64(3)] >> U8(bit & U64(7))) & U8(1):
                keys[count], seqs[count] = key_at(blocks, block, at - block * BLOCK), seq
                count += 1
            at += 1
    return -1, at, count


@jit
def merge_runs(keys, seqs, runs, more, out):
    """Merges sorted runs, keys[begins[r]:ends[r]] of runs = (begins, ends), into out; returns the count.

    Moves `begins`. Stops when a run that has `more` is empty, or out is full. Of equal keys the earlier run comes
    first: its sequence numbers are smaller.
    """
    begins, ends = runs
    out_keys, out_seqs = out
    count = 0
    for r in range(len(begins)):
        if begins[r] == ends[r] and more[r]:
            return count
    while count < len(out_keys):
        best = -1
        for r in range(len(begins)):
            if begins[r] < ends[r] and (best < 0 or keys[begins[r]] < keys[begins[best]]):
                best = r
        if best < 0:
            return count
        out_keys[count], out_seqs[count] = keys[begins[best]], seqs[begins[best]]
        count += 1
        begins[best] += 1
        if begins[best] == ends[best] and more[best]:
            return count
    return count


@inline
def slot_of(slots, keys, key):
    """The slot of a key, or the empty one where it belongs. Slots are a power of two, not all full."""
    mask = U64(len(slots) - 1)
    slot = U64(key & mask)
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = U64(slot + U64(1)) & mask
    return slot


@jit
def link(keys, before, slots, begin, end):
    """Enters postings begin … end into a hash table: the slot of a key has its newest posting, −1 if none.

    before[i] is the posting of the same key that came before posting i, or −1.
    """
    for i in range(begin, end):
        slot = slot_of(slots, keys, keys[i])
        before[i] = slots[slot]
        slots[slot] = i


@jit
def look_up_linked(arrays, sought):
    """The postings with one of the keys sought, from the arrays of such a table: the place of the key, and the seq."""
    keys, seqs, before, slots = arrays
    counts = np.zeros(len(sought) + 1, np.int64)
    if len(slots) > 0:
        for k in range(len(sought)):
            i = slots[slot_of(slots, keys, sought[k])]
            while i >= 0:
                counts[k + 1] += 1
                i = before[i]
    ends = np.cumsum(counts)
    places, found = np.empty(ends[-1], np.int64), np.empty(ends[-1], np.int64)
    for k in range(len(sought)):
        if ends[k] == ends[k + 1]:
            continue
        at, i = ends[k + 1], slots[slot_of(slots, keys, sought[k])]
        while i >= 0:  # the newest first, so from the end
            at -= 1
            places[at], found[at] = k, seqs[i]
            i = before[i]
        for at in range(ends[k] + 1, ends[k + 1]):
            if found[at - 1] > found[at]:  # rare: documents come in the order of their numbers
                found[ends[k] : ends[k + 1]].sort()
                break
    return places, found
