"""Consistent weighted samples: slots that agree as often as Σ min / Σ max of two documents' weights."""

from __future__ import annotations

import math

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
def no_zero(fields):
    """Whether none of the four fields of sixteen bits is 0."""
    low = U64(fields - U64(0x0001000100010001))
    return U64(low & ~fields & U64(0x8000800080008000)) == U64(0)


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


@jit
def darts(hashes, weights, offsets, seed, slots):
    """Fills slots[d, k] with a hash of the first dart in slot k that hits document d.

    Darts fall on every phrase at random: a Poisson process over weight and time, each dart in a slot of its own.
    A document is hit by those below its weight of the phrase. The first dart of a slot that hits either of two
    documents hits both with probability Σ min / Σ max, so that slots are unbiased for any weights, as Ioffe's are;
    but only darts that come early enough to matter are drawn (the idea of Christiani's DartMinHash, 2020).

    The darts of a phrase are drawn by octaves of weight, [2^e, 2^(e+1)), from (phrase, e) alone. The first STRIPS
    octaves downwards are drawn; what lies below is less than the rounding of a weight. Sixteen bits of one hash
    decide for each of four octaves whether its first dart comes too late, as nearly all do.
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
                key = seeded(hashes[i], seed)
                top = np.int64(math.frexp(weights[i])[1]) - 1
                rate = 2.0**top
                share = weights[i] / rate - 1.0  # of the topmost octave
                fields = spread(U64(key + U64(U64(top >> 2) * U64(GOLDEN))))
                e = top + 1
                while e > top - STRIPS:
                    e -= 1
                    if e & 3 == 3:
                        fields = spread(U64(key + U64(U64(e >> 2) * U64(GOLDEN))))
                        if rate * latest < 2.0**-16 and no_zero(fields):  # all four come too late
                            rate *= 0.0625
                            e -= 3
                            continue
                    field = np.float64(U64(fields >> U64(16 * (e & 3))) & U64(0xFFFF))
                    if field * 2.0**-16 < rate * latest:
                        state = spread(U64(key ^ U64(U64(e) * U64(0xD6E8FEB86659FD93))))
                        rest = (np.float64(state >> U64(12)) + 0.5) * 2.0**-52
                        time = -np.log1p(-(field + rest) * 2.0**-16) / rate
                        while time < latest:
                            state = U64(state + U64(GOLDEN))
                            x = spread(state)
                            k = np.int64(U64(U64(x & U64(0xFFFFFFFF)) * U64(count)) >> U64(32))
                            hit = e < top or np.float64(x >> U64(32)) * 2.0**-32 < share
                            if hit and time < times[k]:
                                slots[d, k] = stir(U32(x) ^ stir(U32(x >> U64(32))))
                                latest, last, empty = take_slot(times, k, time, bound, latest, last, empty)
                            state = U64(state + U64(GOLDEN))
                            time += wait(spread(state)) / rate
                    rate *= 0.5
            bound *= 2.0
