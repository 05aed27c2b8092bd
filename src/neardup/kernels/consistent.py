"""Consistent weighted samples: slots that agree as often as Σ min / Σ max of two documents' weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.sets import longest_run

F32, I32, U32, U64 = np.float32, np.int32, np.uint32, np.uint64
GOLDEN = 0x9E3779B97F4A7C15
STRIPS = 28  # octaves of weight that are drawn: a weight has 24 bits


@inline
def stir(x):
    """32 bits, each of which depends on all bits of x."""
    x = U32(U32(x ^ U32(x >> U32(16))) * U32(0x85EBCA6B))
    x = U32(U32(x ^ U32(x >> U32(13))) * U32(0xC2B2AE35))
    return U32(x ^ U32(x >> U32(16)))


@inline
def fraction(x):
    """A number above 0 and below 1 from the upper 24 bits."""
    return F32(F32(F32(I32(U32(x >> U32(8)))) + F32(0.5)) * F32(2.0**-24))


@inline
def logarithms(values, bits, exponents):
    """Replaces values, positive, by their natural logarithms; `bits` is the same memory viewed as integers.

    The polynomial of the Cephes library: nearly all 24 bits are right, also close to 1. It is written out so that
    the loops compile to vector instructions, and every machine computes the same result.
    """
    for i in range(len(values)):
        exponents[i] = F32(I32((bits[i] >> I32(23)) - I32(127)))
        bits[i] = I32(I32(bits[i] & I32(0x7FFFFF)) | I32(0x3F800000))
    for i in range(len(values)):
        m, e = values[i], exponents[i]
        large = F32(m > F32(1.41421356))
        x = F32(m - large * F32(0.5) * m) - F32(1)
        e = F32(e + large)
        p = F32(F32(7.0376836292e-2) * x + F32(-1.1514610310e-1))
        p = F32(p * x + F32(1.1676998740e-1))
        p = F32(p * x + F32(-1.2420140846e-1))
        p = F32(p * x + F32(1.4249322787e-1))
        p = F32(p * x + F32(-1.6668057665e-1))
        p = F32(p * x + F32(2.0000714765e-1))
        p = F32(p * x + F32(-2.4999993993e-1))
        p = F32(p * x + F32(3.3333331174e-1))
        z = F32(x * x)
        y = F32(F32(p * x) * z + e * F32(-2.12194440e-4)) - F32(0.5) * z
        values[i] = F32(F32(x + y) + e * F32(0.693359375))


@inline
def draw(low, high, sample, seed, spans, clocks, betas):
    """Uniform numbers of each feature for one sample: two products of two, and one from the remaining bits."""
    for i in range(len(low)):
        w = stir(U32(low[i] + U32(sample * U32(high[i] | U32(1)))) ^ seed)
        x = stir(U32(w + U32(high[i] ^ U32(0x9E3779B9))))
        y = stir(U32(x + U32(0xDAA66D2B)))
        z = stir(U32(y + U32(0x78DDE6E4)))
        spans[i] = F32(fraction(w) * fraction(x))
        clocks[i] = F32(fraction(y) * fraction(z))
        rest = U32(U32(w << U32(24)) | U32(U32(x & U32(255)) << U32(16)) | U32(U32(y & U32(255)) << U32(8)))
        betas[i] = fraction(rest)


@jit
def sample(hashes, log_weights, offsets, seed, slots):
    """Fills slots[d, k] with a hash of (phrase, t): the k-th consistent weighted sample of document d.

    Ioffe's sampler (Improved Consistent Sampling, ICDM 2010) in logarithms: with R, c ~ Gamma(2, 1) and β uniform,
    all three from (phrase, k), t = ⌊ln w / R + β⌋ and ln a = ln c − (t − β + 1) R; the phrase of the least a wins.
    Weights must be above 0. A document without features keeps 0 in every slot.
    """
    longest = longest_run(offsets)
    floats = np.empty((5, longest), F32)
    bits = floats.view(np.int32)
    halves = np.empty((2, longest), U32)
    for d in range(len(offsets) - 1):
        start, size = offsets[d], offsets[d + 1] - offsets[d]
        mine, logs = hashes[start : start + size], log_weights[start : start + size]
        spans, clocks, betas = floats[0, :size], floats[1, :size], floats[2, :size]
        steps, spare = floats[3, :size], floats[4, :size]
        low, high = halves[0, :size], halves[1, :size]
        for i in range(size):
            low[i], high[i] = U32(mine[i]), U32(mine[i] >> U64(32))
        for k in range(slots.shape[1]):
            draw(low, high, U32(k), U32(seed), spans, clocks, betas)
            logarithms(spans, bits[0, :size], spare)
            logarithms(clocks, bits[1, :size], spare)
            for i in range(size):
                spans[i] = F32(-spans[i])
                clocks[i] = F32(-clocks[i])
            logarithms(clocks, bits[1, :size], spare)
            for i in range(size):
                steps[i] = np.floor(F32(F32(logs[i] / spans[i]) + betas[i]))
                clocks[i] = F32(clocks[i] - F32(F32(steps[i] - betas[i]) + F32(1)) * spans[i])
            slots[d, k] = name_winner(mine, clocks, steps)


@inline
def name_winner(hashes, clocks, steps):
    """A hash of the phrase with the least clock and of its step; of equal ones the first."""
    best = 0
    for i in range(len(clocks)):
        if clocks[i] < clocks[best]:
            best = i
    if len(clocks) == 0:
        return U32(0)
    name = U32(hashes[best]) ^ stir(U32(hashes[best] >> U64(32)))
    return stir(U32(name + U32(np.int64(steps[best])) * U32(0x9E3779B9)))


@inline
def spread(state):
    """64 bits, each of which depends on all bits of the state (the finisher of splitmix64)."""
    x = U64((state ^ state >> U64(30)) * U64(0xBF58476D1CE4E5B9))
    x = U64((x ^ x >> U64(27)) * U64(0x94D049BB133111EB))
    return U64(x ^ x >> U64(31))


@inline
def wait(x):
    """A waiting time of mean 1 from 64 bits."""
    return -np.log((np.float64(x >> U64(12)) + 0.5) * 2.0**-52)


@inline
def seeded(phrase, seed):
    """The state that all randomness of a phrase comes from."""
    return U64((phrase ^ U64(U64(seed) * U64(GOLDEN))) * U64(0xD6E8FEB86659FD93))


@jit
def time_allowed(weights, count):
    """A time by which nearly always every slot has a sample, and the number of slots to fill.

    If a slot is still empty by then, the caller starts over with twice the time.
    """
    total = weights.sum()
    return (np.log(count) + 4.5) * count / total, count if total > 0 else 0


@jit
def take_slot(times, k, time, bound, latest, last, empty):
    """Gives slot k an earlier sample; returns the latest time of all slots, its slot, and the number of empty slots."""
    empty -= times[k] == bound
    times[k] = time
    if empty == 0 and (k == last or latest == bound):
        last = np.argmax(times)
        latest = times[last]
    return latest, last, empty


@jit
def race(hashes, weights, offsets, seed, slots):
    """Fills slots[d, k] with a hash of the phrase whose exponential clock rings first in slot k.

    For weights that depend on the phrase alone. A phrase of weight w rings at the times of a Poisson process of
    rate w, each time in a slot drawn at random, so that its clocks in the slots are independent (as in Ertl's
    ProbMinHash, 2020). A phrase is done when its time is past the latest of the slots, for most phrases at once: the
    cost is features + k ln k instead of features · k.
    """
    count = slots.shape[1]
    times = np.empty(count, np.float64)
    for d in range(len(offsets) - 1):
        slots[d, :] = 0
        bound, empty = time_allowed(weights[offsets[d] : offsets[d + 1]], count)
        while empty > 0:
            times[:] = bound
            latest, last, empty = bound, 0, count
            for i in range(offsets[d], offsets[d + 1]):
                state = seeded(hashes[i], seed)
                time = 0.0
                while True:
                    state = U64(state + U64(GOLDEN))
                    x = spread(state)
                    time += wait(x) / weights[i]
                    if not time < latest:
                        break
                    k = np.int64(U64(U64(x & U64(0xFFFFFFFF)) * U64(count)) >> U64(32))
                    if time < times[k]:
                        slots[d, k] = stir(U32(hashes[i]) ^ stir(U32(hashes[i] >> U64(32))))
                        latest, last, empty = take_slot(times, k, time, bound, latest, last, empty)
            bound *= 2.0


class DartRoom(NamedTuple):
    """Room for the phrases of one document, and for the darts that come first in an octave of one of them."""

    keys: np.ndarray
    tops: np.ndarray  # the topmost octave of each phrase
    shares: np.ndarray  # … and the part of it below the weight
    limits: np.ndarray  # 2^16 times the darts expected before the bound in the highest octave of a group
    fields: np.ndarray
    below: np.ndarray  # whether one of the four fields is below its limit
    phrases: np.ndarray  # of each dart: its phrase …
    octaves: np.ndarray
    states: np.ndarray  # … where its randomness stands
    times: np.ndarray
    logs: np.ndarray  # three rows for `waits`


@inline
def make_dart_room(longest):
    """Room for documents of so many phrases."""
    i64, f64, most = np.int64, np.float64, longest * STRIPS
    return DartRoom(
        np.empty(longest, np.uint64), np.empty(longest, i64), np.empty(longest, f64), np.empty(longest, f64),
        np.empty(longest, np.uint64), np.empty(longest, np.bool_), np.empty(most, i64), np.empty(most, i64),
        np.empty(most, np.uint64), np.empty(most, f64), np.empty((3, most), f64),
    )  # fmt: skip


@inline
def power(e):
    """The bits of 2^e as a double."""
    return np.int64(np.int64(e + 1023) << 52)


@inline
def prepare_darts(hashes, weights, seed, room):
    """Fills in the key and the topmost octave of each phrase, and the share of it below the weight."""
    bits, shares = weights.view(np.int64), room.shares.view(np.int64)
    for i in range(len(hashes)):
        room.keys[i] = seeded(hashes[i], seed)
        room.tops[i] = (bits[i] >> 52) - 1023
        shares[i] = (bits[i] & ((1 << 52) - 1)) | power(0)
    for i in range(len(hashes)):
        room.shares[i] -= 1.0


@inline
def mark_fields(size, group, room):
    """Draws the fields of a group of four octaves, marks phrases with one below its limit, and says whether any is."""
    keys, tops, limits, fields, below = room.keys, room.tops, room.limits, room.fields, room.below
    for i in range(size):
        fields[i] = spread(U64(keys[i] + U64(U64((tops[i] >> 2) - group) * U64(GOLDEN))))
    some = False
    for i in range(size):
        four, limit = fields[i], limits[i]
        found = (
            (np.float64(I32(four >> U64(48))) < limit)
            | (np.float64(I32((four >> U64(32)) & U64(0xFFFF))) < limit * 0.5)
            | (np.float64(I32((four >> U64(16)) & U64(0xFFFF))) < limit * 0.25)
            | (np.float64(I32(four & U64(0xFFFF))) < limit * 0.125)
        )
        below[i] = found
        some |= found
    return some


@inline
def first_darts(size, bound, room):
    """The number of octaves whose first dart may come before the bound; `times` gets the sixteen bits that say so.

    Group after group of four octaves, downwards: the bits of all phrases in loops that compile to vector
    instructions, then a look at the few that are below their limits.
    """
    tops, limits, times = room.tops, room.limits, room.times
    powers, found = limits.view(np.int64), 0
    for i in range(size):
        powers[i] = power((tops[i] | 3) + 16)
    for i in range(size):
        limits[i] *= bound
    for group in range(STRIPS // 4 + 1):
        if mark_fields(size, group, room):
            for i in range(size):
                if room.below[i]:
                    limit, e = limits[i] * 0.125, ((tops[i] >> 2) - group) * 4
                    for k in range(4):
                        field = np.float64(I32((room.fields[i] >> U64(16 * k)) & U64(0xFFFF)))
                        room.phrases[found], room.octaves[found], times[found] = i, e, field
                        found += (field < limit) & (e <= tops[i]) & (e > tops[i] - STRIPS)
                        limit *= 2.0
                        e += 1
        for i in range(size):
            limits[i] *= 0.0625
    return found


@inline
def waits(shares, rates, powers, bits, out):
    """Replaces each share of waiting times, above 0 and below 1, by its quantile, -log(1 - share), over the rate.

    fdlibm's logarithm, written out so that the loops compile to vector instructions and every machine computes the
    same; the last factor makes up for the rounding of 1 - share (Kahan).
    """
    rest = bits.view(np.float64)
    for n in range(len(shares)):
        rest[n] = 1.0 - shares[n]
    for n in range(len(shares)):
        exponent = ((bits[n] + 0x95F6400000000) >> 52) - 1023  # the mantissa is from √½ to √2
        powers[n] = np.float64(exponent)
        bits[n] -= exponent << 52
    for n in range(len(shares)):
        f, k, u, x = rest[n] - 1.0, powers[n], 1.0 - shares[n], shares[n]
        s, half = f / (2.0 + f), 0.5 * f * f
        z = s * s
        w = z * z
        odd = z * (
            0.6666666666666735 + w * (0.2857142874366239 + w * (0.1818357216161805 + w * 0.1479819860511659))
        )
        even = w * (0.3999999999940942 + w * (0.22222198432149792 + w * 0.15313837699209373))
        found = k * 0.6931471803691238 - ((half - (s * (half + odd + even) + k * 1.9082149292705877e-10)) - f)
        out[n] = (found / (u - 1.0) if u < 1.0 else 1.0) * x / rates[n]


@inline
def time_darts(found, room):
    """Fills in when the first darts come, and where their randomness stands."""
    states, times, logs = room.states, room.times, room.logs
    rates = logs[2].view(np.int64)
    for n in range(found):
        states[n] = spread(
            U64(room.keys[room.phrases[n]] ^ U64(U64(room.octaves[n]) * U64(0xD6E8FEB86659FD93)))
        )
        rates[n] = power(room.octaves[n])
    for n in range(found):
        rest = (np.float64(np.int64(states[n] >> U64(12))) + 0.5) * 2.0**-52
        times[n] = (times[n] + rest) * 2.0**-16
    waits(times[:found], logs[2, :found], logs[0, :found], logs[1, :found].view(np.int64), times[:found])


@jit
def throw(found, until, bound, empty, room, best, slots):
    """Throws the darts that come before a time, and returns how many slots are empty; others wait in `room`."""
    count = U64(len(slots))
    latest, last = until, 0
    for n in range(found):
        time = room.times[n]
        if not time < latest:
            continue
        i, e, state = room.phrases[n], room.octaves[n], room.states[n]
        rate, share = room.logs[2, n], room.shares[i] if e == room.tops[i] else 1.0
        while time < latest:
            state = U64(state + U64(GOLDEN))
            x = spread(state)
            k = np.int64(U64(U64(x & U64(0xFFFFFFFF)) * count) >> U64(32))
            if time < best[k] and np.float64(np.int64(x >> U64(32))) * 2.0**-32 < share:
                slots[k] = stir(U32(x) ^ stir(U32(x >> U64(32))))
                empty -= best[k] == bound
                best[k] = time
                if empty == 0 and (k == last or latest == until):
                    last = np.argmax(best)
                    latest = best[last]
            state = U64(state + U64(GOLDEN))
            x = spread(state)
            if 1.0 - np.float64(np.int64(x >> U64(12))) * 2.0**-52 > rate * (bound - time):  # -log x > 1 - x
                time = bound
            else:
                time += wait(x) / rate
        room.times[n], room.states[n] = time, state
    return empty


@jit
def darts(hashes, weights, offsets, seed, slots):
    """Fills slots[d, k] with a hash of the first dart in slot k that hits document d.

    Darts fall on every phrase at random: a Poisson process over weight and time, each dart in a slot of its own.
    A document is hit by those below its weight of the phrase. The first dart of a slot that hits either of two
    documents hits both with probability Σ min / Σ max, so that slots are unbiased for any weights, as Ioffe's are;
    but only darts that come early enough to matter are drawn (the idea of Christiani's DartMinHash, 2020).

    The darts of a phrase are drawn by octaves of weight, [2^e, 2^(e+1)), from (phrase, e) alone. The first STRIPS
    octaves downwards are drawn; what lies below is less than the rounding of a weight. Sixteen bits of one hash
    decide for each of four octaves whether its first dart comes too late, as nearly all do. Half of the documents
    have all their slots filled by three fifths of the bound: later darts are thrown for the others only.
    """
    best, room = np.empty(slots.shape[1], np.float64), make_dart_room(longest_run(offsets))
    for d in range(len(offsets) - 1):
        slots[d, :] = 0
        some = slice(offsets[d], offsets[d + 1])
        prepare_darts(hashes[some], weights[some], seed, room)
        bound, empty = time_allowed(weights[some], slots.shape[1])
        while empty > 0:
            best[:] = bound
            empty = slots.shape[1]
            found = first_darts(offsets[d + 1] - offsets[d], bound, room)
            time_darts(found, room)
            for part in range(3, 6):
                if empty > 0:
                    empty = throw(found, bound * (part / 5.0), bound, empty, room, best, slots[d])
            bound *= 2.0
