"""Windows of N tokens that occur more than once: hash them, find the repeated ones, join them to runs.

A position is the number of a token in the corpus; a gap of one separates two documents, so that nothing runs across.
Records are rows of two integers: the hash and the position of a window, or the position of a window and its first
occurrence. A run is a row (position, first, length, count): windows position … position + length − 1 are those at
first … first + length − 1, and that so often in succession.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.tokens import find_boundaries, fold_text, make_buffers

I64, U64 = np.int64, np.uint64
BASE = U64(0x9E3779B97F4A7C15)  # of the rolling hash; odd
POSITION, FIRST, LENGTH, COUNT = 0, 1, 2, 3  # columns of a run


@inline
def mixed(h):
    """The rolling hash with its low bits, which are few tokens' low bits, spread over all."""
    h = U64((h ^ h >> U64(32)) * U64(0xD6E8FEB86659FD93))
    h = U64((h ^ h >> U64(29)) * U64(0xC2B2AE3D27D4EB4F))
    return U64(h ^ h >> U64(32))


@jit
def hash_windows(tokens, offsets, positions, width, records):
    """The number of windows; fills records with the hash and the position of each.

    `positions` has the position of each document's first token.
    """
    leaving = U64(1)  # BASE to the power of width
    for _ in range(width):
        leaving = U64(leaving * BASE)
    total = 0
    for d in range(len(offsets) - 1):
        document = tokens[offsets[d] : offsets[d + 1]]
        if len(document) < width:
            continue
        h = U64(0)
        for i in range(width):
            h = U64(h * BASE + document[i])
        records[total, 0], records[total, 1] = mixed(h), U64(positions[d])
        total += 1
        for i in range(width, len(document)):
            h = U64(h * BASE + document[i] - leaving * document[i - width])
            records[total, 0], records[total, 1] = mixed(h), U64(positions[d] + i - width + 1)
            total += 1
    return total


@jit
def divide(records, bits, out):
    """Where the records of each part begin in `out`, by the highest bits of the first column; their order stays."""
    parts = 1 << bits
    shift = U64(64 - bits)
    bounds = np.zeros(parts + 1, np.int64)
    for i in range(len(records)):
        bounds[I64(records[i, 0] >> shift) + 1] += 1
    for part in range(parts):
        bounds[part + 1] += bounds[part]
    places = bounds[:-1].copy()
    for i in range(len(records)):
        part = I64(records[i, 0] >> shift)
        out[places[part], 0] = records[i, 0]
        out[places[part], 1] = records[i, 1]
        places[part] += 1
    return bounds


@jit
def enter_windows(records, selected, table, entered):
    """The number of distinct hashes in the table; −1 once it is more than half full.

    A row of the table is (hash, first position + 1, whether it came again). Only records whose hash has the low bits
    selected[0] under the mask selected[1] are entered.
    """
    mask = U64(len(table) - 1)
    for i in range(len(records)):
        h = records[i, 0]
        if h & selected[1] != selected[0]:
            continue
        place = (h >> U64(8)) & mask
        while table[place, 1] != U64(0) and table[place, 0] != h:
            place = (place + U64(1)) & mask
        if table[place, 1] != U64(0):
            table[place, 2] = U64(1)
            continue
        if 2 * entered >= len(table):
            return -1
        table[place, 0], table[place, 1] = h, records[i, 1] + U64(1)
        entered += 1
    return entered


@jit
def repeated_windows(records, selected, table, out):
    """How many records have a hash that came again; `out` gets the position of each and its first occurrence."""
    mask = U64(len(table) - 1)
    count = 0
    for i in range(len(records)):
        h = records[i, 0]
        if h & selected[1] != selected[0]:
            continue
        place = (h >> U64(8)) & mask
        while table[place, 0] != h or table[place, 1] == U64(0):
            place = (place + U64(1)) & mask
        if table[place, 2] != U64(0):
            out[count, 0], out[count, 1] = I64(records[i, 1]), I64(table[place, 1]) - 1
            count += 1
    return count


@jit
def join_windows(positions, firsts, width, runs, done):
    """The number of runs after these windows, in ascending order of position; `done` of them are in `runs` already.

    A run shorter than a window that follows itself is counted: a text that goes round in a circle stays one row.
    """
    for i in range(len(positions)):
        p, f = positions[i], firsts[i]
        if done > 0 and runs[done - 1, COUNT] == 1:
            last = runs[done - 1]
            if p == last[POSITION] + last[LENGTH] and f == last[FIRST] + last[LENGTH]:
                last[LENGTH] += 1
                continue
        done = folded(runs, done, width)
        runs[done, POSITION], runs[done, FIRST], runs[done, LENGTH], runs[done, COUNT] = p, f, 1, 1
        done += 1
    return done


@inline
def folded(runs, done, width):
    """The number of runs, the last of them added to the one before if it repeats it."""
    if done < 2:
        return done
    last, before = runs[done - 1], runs[done - 2]
    ends = before[POSITION] + before[LENGTH] * before[COUNT]
    same = last[FIRST] == before[FIRST] and last[LENGTH] == before[LENGTH] and last[COUNT] == 1
    if same and ends == last[POSITION] and last[LENGTH] < width and before[POSITION] != before[FIRST]:
        before[COUNT] += 1
        return done - 1
    return done


@jit
def fold_last(runs, done, width):
    """The number of runs once no window follows."""
    return folded(runs, done, width)


@jit
def token_bounds(data, offsets, tokens, starts, table, mode, out):
    """Fills `out` with the first and the last byte (exclusive) of some tokens.

    `tokens` are byte positions where tokens of document d begin, from starts[d] to starts[d + 1], ascending.
    """
    for d in range(len(offsets) - 1):
        text = data[offsets[d] : offsets[d + 1]]
        for k in range(starts[d], starts[d + 1]):
            begin = tokens[k]
            size = 64
            while True:
                stop = min(begin + size, len(text))
                while stop < len(text) and text[stop] & 0xC0 == 0x80:
                    stop += 1
                buffers = make_buffers(stop - begin, True)
                found, _ = fold_text(text[begin:stop], table, mode, buffers)
                count = find_boundaries(found, buffers)
                if count > 1 or stop == len(text):
                    break
                size *= 4
            out[k, 0] = begin
            out[k, 1] = begin + buffers.origin[buffers.bounds[1]] if count > 1 else stop


@jit
def fold_token(text, table, mode):
    """The case-folded bytes of a token."""
    buffers = make_buffers(len(text), False)
    size, _ = fold_text(text, table, mode, buffers)
    return buffers.folded[:size].copy()


@inline
def equal_bytes(one, two):
    """Whether two arrays of one length are equal."""
    for i in range(len(one)):  # noqa: SIM110 - Numba compiles no generators
        if one[i] != two[i]:
            return False
    return True


@jit
def first_difference(one, two, table, mode):
    """The number of the first token in which two texts differ; −1 if they have the same tokens."""
    if len(one) == len(two) and equal_bytes(one, two):
        return -1
    a, b = make_buffers(len(one), False), make_buffers(len(two), False)
    size_a, _ = fold_text(one, table, mode, a)
    size_b, _ = fold_text(two, table, mode, b)
    count_a, count_b = find_boundaries(size_a, a), find_boundaries(size_b, b)
    i = j = token = 0
    while True:
        while i < count_a and a.flags[a.bounds[i]] != 2:
            i += 1
        while j < count_b and b.flags[b.bounds[j]] != 2:
            j += 1
        if i >= count_a or j >= count_b:
            return -1 if i >= count_a and j >= count_b else token
        begin_a, end_a = a.bounds[i], a.bounds[i + 1]
        begin_b, end_b = b.bounds[j], b.bounds[j + 1]
        if end_a - begin_a != end_b - begin_b:
            return token
        if not equal_bytes(a.folded[begin_a:end_a], b.folded[begin_b:end_b]):
            return token
        i, j, token = i + 1, j + 1, token + 1


@jit
def differing_texts(left, left_offsets, right, right_offsets, table, mode, out):
    """Fills `out` with the first token in which each two texts differ, −1 where they do not."""
    for k in range(len(out)):
        one = left[left_offsets[k] : left_offsets[k + 1]]
        two = right[right_offsets[k] : right_offsets[k + 1]]
        out[k] = first_difference(one, two, table, mode)
