"""The S-curve of bands × rows, the recall and cost of a choice of bands, and the choice with the least work.

Slots agree with probability s, the Jaccard similarity; b bands of r slots make a pair a candidate when
all slots of at least one band agree: P(s) = 1 − (1 − s^r)^b (slides, "Collision probability in a band").
Every candidate is verified, so a false candidate costs only time, while a missed pair is lost.
The choice is therefore: reach the requested recall at the threshold, with the least expected work.

The work depends on how similar unrelated documents are. Measured with 5-word shingles after removal of exact
copies: partners of a document with 0.05 ≤ s < 0.5, the same divided by √n, partners with 0.3 ≤ s < 0.95, and
the share of documents that 17 × 4 bands give any false candidate at threshold 0.7:

  collection                            n   partners    / √n   0.3-0.95   concerned
  Reuters-21578, news of 1987      16,000        2.3    0.02       0.13        0.05
  Enron-Spam, mail                 16,000       17.6    0.14        7.2        0.24
  SpamAssassin campaigns            1,184        8.6    0.25        2.4        0.32
  GOV2 and ClueWeb pages              427        4.1    0.20        2.2        0.44
  news pages in labelled clusters   1,085         80     2.4         34        0.85
  recombined prose, 20 % planted   12,000        0.4   0.004        0.6        0.14
  all of these mixed               14,696        8.3    0.07        3.4        0.17

Growing Reuters in the order of its files through 1, 2, 4, 8 and 16 thousand gives 0.39, 0.69, 0.93, 1.50
and 2.28 partners (n^0.6), Enron 3.0 to 5.5 (n^0.2): a corpus grows by sources as well as within them, and √n
is a cautious middle. Of the partners beyond 0.05, exp(−(s − 0.05) / 0.08) lie beyond s: within a fifth, up to
0.25, both for Reuters and for spam.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import overload

import numpy as np
from numpy.typing import NDArray

from neardup.errors import ParameterError

FloatArray = NDArray[np.float64]

# Seconds on one core, rounded, from a trial on 275 MB of English prose.
SLOT_STEP = 0.08e-9  # one slot and one shingle
SHINGLES = 450
KEY = 60e-9  # one band key sorted and bucketed
PAIR = 2e-6  # one candidate merged and compared
FEATURES = 15e-6  # the features of one document, recomputed for verification

# The prior: partners of one document among n. Templates and phrases are shared with unrelated documents;
# versions of the same document do not grow with n.
TEMPLATES = 0.2  # × √n partners in all (0.1 of them beyond 0.05: the geometric mean of the column above),
TEMPLATE_SCALE = 0.08  # of which exp(−s / scale) lie beyond s
VERSIONS = 1.0  # partners in all, spread evenly over s
CLUSTERED = 1 / 3  # of the documents have such partners: partners come in groups, not one by one

# A sharper curve guards against corpora worse than the prior: it may cost this much more than the cheapest.
SLACK = 1.10

MOST_SLOTS = 65536  # a signature of 256 kB: more is a typing error

_EDGES: FloatArray = np.linspace(0.0, 1.0, 201)
_MIDDLES: FloatArray = (_EDGES[:-1] + _EDGES[1:]) / 2


@overload
def s_curve(similarity: float, bands: int, rows: int) -> float: ...
@overload
def s_curve(similarity: FloatArray | Sequence[float], bands: int, rows: int) -> FloatArray: ...
def s_curve(similarity: float | FloatArray | Sequence[float], bands: int, rows: int) -> float | FloatArray:
    """The probability that a pair of this similarity becomes a candidate: 1 − (1 − s^r)^b.

    Through log1p and expm1, so that 1e-30 is not 0: 5 × 10^11 pairs are multiplied with it.
    """
    with np.errstate(divide="ignore"):  # s = 1: log 0 = −∞, and the probability is 1
        missed = bands * np.log1p(-(np.asarray(similarity, dtype=np.float64) ** rows))
    found = 0.0 - np.expm1(missed)
    return found if isinstance(found, np.ndarray) and found.ndim else float(found)


@dataclass(frozen=True)
class Bands:
    """`bands` groups of `rows` slots; a pair is a candidate when all slots of one group agree."""

    bands: int
    rows: int

    def __post_init__(self) -> None:
        """Refuse counts below 1."""
        _check_count("bands", self.bands, "Bands")
        _check_count("rows", self.rows, "Bands")

    @property
    def slots(self) -> int:
        """The length of a signature: bands × rows."""
        return self.bands * self.rows

    @overload
    def probability(self, similarity: float) -> float: ...
    @overload
    def probability(self, similarity: FloatArray | Sequence[float]) -> FloatArray: ...
    def probability(self, similarity: float | FloatArray | Sequence[float]) -> float | FloatArray:
        """The probability that a pair of this similarity is found."""
        return s_curve(similarity, self.bands, self.rows)

    def reach(self, recall: float) -> float:
        """The smallest similarity still found with this probability: the inverse of `probability`."""
        if not 0 <= recall <= 1:
            raise ParameterError("recall", "Bands.reach", "between 0 and 1", recall)
        if recall == 1:
            return 1.0
        return float((0.0 - math.expm1(math.log1p(-recall) / self.bands)) ** (1 / self.rows))

    @property
    def midpoint(self) -> float:
        """The similarity that is found half of the time."""
        return self.reach(0.5)


@dataclass(frozen=True)
class Cost:
    """The cost of bands for a number of documents: bytes of memory, and seconds on one core."""

    documents: int
    signature_bytes: int  # 4 a slot, while a chunk is signed (or kept, for estimates)
    key_bytes: int  # 8 a band, for all bands together; with little memory, a run has one band at a time
    candidates: float  # pairs to verify, expected under the prior, true ones included
    concerned: float  # distinct documents among them
    signing: float
    sorting: float
    verifying: float

    @property
    def seconds(self) -> float:
        """The work in all."""
        return self.signing + self.sorting + self.verifying


def cost(bands: Bands, documents: int = 1_000_000, *, shingles: int = SHINGLES) -> Cost:
    """The memory and the expected work of these bands for `documents` of `shingles` shingles each."""
    _check_count("documents", documents, "cost")
    partners = float(_partners(documents) @ bands.probability(_MIDDLES))
    candidates = documents * partners / 2
    concerned = documents * CLUSTERED * -math.expm1(-partners / CLUSTERED)
    return Cost(
        documents=documents,
        signature_bytes=4 * bands.slots * documents,
        key_bytes=8 * bands.bands * documents,
        candidates=candidates,
        concerned=concerned,
        signing=SLOT_STEP * shingles * bands.slots * documents,
        sorting=KEY * bands.bands * documents,
        verifying=PAIR * candidates + FEATURES * concerned,
    )


def _partners(documents: int) -> FloatArray:
    """The expected partners of one document in each cell of similarity, under the prior."""
    beyond = TEMPLATES * math.sqrt(documents) * np.exp(-_EDGES / TEMPLATE_SCALE)
    partners: FloatArray = beyond[:-1] - beyond[1:] + VERSIONS / _MIDDLES.size
    return partners


def expected_recall_table(bands: Bands, similarities: Iterable[float]) -> list[tuple[float, float]]:
    """Rows of (similarity, probability that a pair of it is found)."""
    return [(s, bands.probability(s)) for s in similarities]


def choose_bands(
    threshold: float,
    recall: float = 0.99,
    *,
    num_perm: int | None = None,
    bands: int | None = None,
    rows: int | None = None,
    documents: int = 1_000_000,
    max_slots: int = 512,
) -> Bands:
    """The bands that find pairs at the threshold with at least this recall, for the least work.

    Given values are used, and `Bands.probability(threshold)` is the recall that they yield:

    - bands and rows: those; any two of the three fix the third (a remainder of num_perm is not used);
    - num_perm: the most rows that reach the recall with num_perm // rows bands, so that all slots are
      used; if none reach it, single rows, which find most;
    - rows: the fewest bands that reach the recall, or as many as max_slots allow;
    - bands: the rows with the least work that reach the recall, or single rows;
    - nothing: the least work in at most max_slots slots, or ParameterError if none reach the recall.

    `documents` is an assumed size, not a measured one: a plan means the same on any corpus.
    """
    _check(threshold, recall, num_perm, bands, rows)
    _check_count("documents", documents, "choose_bands")
    _check_count("max_slots", max_slots, "choose_bands")
    if bands is not None and rows is not None:
        if bands * rows > MOST_SLOTS:
            raise ParameterError(
                "bands", "choose_bands", f"at most {MOST_SLOTS // rows} with {rows} rows", bands
            )
        return Bands(bands, rows)
    if num_perm is not None:
        return _split(threshold, recall, num_perm, bands, rows)
    if rows is not None:
        limit = max(1, max_slots // rows)
        return Bands(_fewest_bands(threshold, recall, rows, limit) or limit, rows)
    if bands is not None:
        fixed = [Bands(bands, r) for r in range(1, max(1, max_slots // bands) + 1)]
        reaching = [choice for choice in fixed if choice.probability(threshold) >= recall]
        return _least_work(reaching, documents) if reaching else Bands(bands, 1)
    return _least_work(_reaching(threshold, recall, max_slots), documents)


def _split(threshold: float, recall: float, num_perm: int, bands: int | None, rows: int | None) -> Bands:
    """All of num_perm, cut by what else is given, or into the most rows that reach the recall."""
    if bands is not None:
        return Bands(bands, num_perm // bands)
    if rows is not None:
        return Bands(num_perm // rows, rows)
    splits = (Bands(num_perm // r, r) for r in range(num_perm, 0, -1))
    return next((split for split in splits if split.probability(threshold) >= recall), Bands(num_perm, 1))


def _reaching(threshold: float, recall: float, max_slots: int) -> list[Bands]:
    """For each number of rows the fewest bands that reach the recall, as far as max_slots go."""
    choices = []
    for rows in range(1, max_slots + 1):
        bands = _fewest_bands(threshold, recall, rows, max_slots // rows)
        if bands is None:  # more rows need more bands, and leave room for fewer
            break
        choices.append(Bands(bands, rows))
    if not choices:
        least = Bands(max_slots, 1).reach(recall)
        constraint = f"at least {least:.2g} for a recall of {recall:g} with {max_slots} slots"
        raise ParameterError("threshold", "choose_bands", constraint, threshold)
    return choices


def _fewest_bands(threshold: float, recall: float, rows: int, limit: int) -> int | None:
    """The fewest bands of so many rows that reach the recall, or None if `limit` do not."""
    if s_curve(threshold, limit, rows) < recall:
        return None
    if threshold == 1:
        return 1
    estimate = math.ceil(math.log1p(-recall) / math.log1p(-(threshold**rows)))
    bands = min(max(1, estimate - 1), limit)  # the quotient may round to either side
    while s_curve(threshold, bands, rows) < recall:
        bands += 1
    return bands


def _least_work(choices: list[Bands], documents: int) -> Bands:
    """The most rows among the choices whose work is within SLACK of the least."""
    work = [cost(choice, documents).seconds for choice in choices]
    within = [choice for choice, seconds in zip(choices, work, strict=True) if seconds <= SLACK * min(work)]
    return max(within, key=lambda choice: choice.rows)


def _check(
    threshold: float, recall: float, num_perm: int | None, bands: int | None, rows: int | None
) -> None:
    """Refuse invalid parameters."""
    if not 0 < threshold <= 1:
        raise ParameterError("threshold", "choose_bands", "above 0 and at most 1", threshold)
    if not 0 < recall < 1:
        raise ParameterError("recall", "choose_bands", "between 0 and 1, both excluded", recall)
    for name, value in (("num_perm", num_perm), ("bands", bands), ("rows", rows)):
        if value is not None:
            _check_count(name, value, "choose_bands")
    needed = (bands or 1) * (rows or 1)
    if num_perm is not None and needed > num_perm:
        raise ParameterError("num_perm", "choose_bands", f"at least bands × rows = {needed}", num_perm)


def _check_count(name: str, value: object, function: str) -> None:
    """Refuse anything but a whole number of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise ParameterError(name, function, "a whole number, at least 1", value)
