"""Values of phrases and other features, from the values of words around them or of their occurrences."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.sets import LONG_RUN, first_from, leading_bits, longest_run, make_slots

U64 = np.uint64


@jit
def sum_around(values, offsets, half, sums):
    """Fills sums[i] with the sum of the values of the `half` tokens before token i and of as many from it on."""
    for d in range(len(offsets) - 1):
        start, stop = offsets[d], offsets[d + 1]
        total = np.int64(0)
        for i in range(start, min(start + half, stop)):
            total += values[i]
        for i in range(start, stop):
            sums[i] = total
            if i + half < stop:
                total += values[i + half]
            if i - half >= start:
                total -= values[i - half]


@inline
def sort_by_insertion(hashes, weights, start, stop):
    """Sorts a short run in place, each weight with its hash."""
    for i in range(start + 1, stop):
        h, w = hashes[i], weights[i]
        j = i - 1
        while j >= start and hashes[j] > h:
            hashes[j + 1], weights[j + 1] = hashes[j], weights[j]
            j -= 1
        hashes[j + 1], weights[j + 1] = h, w


@jit
def sort_weighted(hashes, weights, out, out_weights, counts):
    """Sorts hashes into `out`, each with its weight: by leading bits, as `spread_sort` does."""
    size = len(hashes)
    bits = leading_bits(size)
    shift = U64(64 - bits)
    slots = counts[: (1 << bits) + 1]
    slots[:] = 0
    for i in range(size):
        slots[(hashes[i] >> shift) + U64(1)] += 1
    for k in range(1, len(slots)):
        slots[k] += slots[k - 1]
    for i in range(size):
        k = hashes[i] >> shift
        out[slots[k]], out_weights[slots[k]] = hashes[i], weights[i]
        slots[k] += 1
    start = 0
    for k in range(1 << bits):  # slots[k] is now where run k ends
        stop = slots[k]
        if stop - start > LONG_RUN:
            order = np.argsort(out[start:stop])
            out[start:stop], out_weights[start:stop] = out[start:stop][order], out_weights[start:stop][order]
        elif stop - start > 1:
            sort_by_insertion(out, out_weights, start, stop)
        start = stop


@jit
def heaviest(hashes, weights, offsets, out, heaviest_weights):
    """Offsets of each document's distinct hashes, written to `out` in order, each with its largest weight."""
    longest = longest_run(offsets)
    counts, own, carried = make_slots(longest), np.empty(longest, np.uint64), np.empty(longest, weights.dtype)
    ends = np.zeros(len(offsets), np.int64)
    for d in range(len(offsets) - 1):
        size, total = offsets[d + 1] - offsets[d], ends[d]
        some = slice(offsets[d], offsets[d + 1])
        sort_weighted(hashes[some], weights[some], own[:size], carried[:size], counts)
        for i in range(size):
            if i > 0 and own[i] == own[i - 1]:
                heaviest_weights[total - 1] = max(heaviest_weights[total - 1], carried[i])
            else:
                out[total], heaviest_weights[total] = own[i], carried[i]
                total += 1
        ends[d + 1] = total
    return ends


@jit
def largest_of_occurrences(hashes, offsets, occurrences, occurrence_offsets, values, out):
    """Raises out[i] to the largest value among the occurrences of feature i in its document.

    Features are sorted by hash within a document; occurrences of other hashes are skipped.
    """
    for d in range(len(offsets) - 1):
        for i in range(occurrence_offsets[d], occurrence_offsets[d + 1]):
            place = first_from(hashes, offsets[d], offsets[d + 1], occurrences[i])
            if place < offsets[d + 1] and hashes[place] == occurrences[i]:
                out[place] = max(out[place], values[i])


@jit
def keep_rare(hashes, weights, rare, offsets, least, out, out_weights):
    """Offsets of each document's rare features, written to `out` with their weights.

    A document of which they are less than this share of the weight keeps all that it has.
    """
    ends = np.zeros(len(offsets), np.int64)
    for d in range(len(offsets) - 1):
        whole, part, total = 0.0, 0.0, ends[d]
        for i in range(offsets[d], offsets[d + 1]):
            w = np.float64(weights[i])
            whole += w
            part += w if rare[i] else 0.0
        alone = part < least * whole
        for i in range(offsets[d], offsets[d + 1]):
            out[total], out_weights[total] = hashes[i], weights[i]
            total += np.int64(rare[i] | alone)
        ends[d + 1] = total
    return ends
