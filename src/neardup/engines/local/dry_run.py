"""An estimate of what a run costs and finds, from a sample of its input.

The sample goes through the whole pipeline, so that its stages are timed as they are. Time grows with the bytes of
text, but for verification, which grows with the candidates. A pair is in a sample of a share f of the documents with
probability f², so pairs are estimated by (pairs of the sample) / f², and the range is that of a Poisson count.
A sample of all documents is no sample: every figure is then as measured, without a range.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents import Batch, Problems, Source, choose_columns, join_tables, open_inputs
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.expected_share import ExpectedShare
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.budget import DOCUMENT, LEAST, SORTING
from neardup.engines.local.run import LocalRun, RunSettings, run
from neardup.engines.local.write import Mode, write_run
from neardup.errors import NoDocuments
from neardup.plan import Plan
from neardup.statistics import Statistics

SAMPLE_BYTES = 48 << 20  # of text, or …
SAMPLE_SHARE = 0.05  # … so much of the input, whichever is more, up to …
MOST_BYTES = 192 << 20
PLACES = 16  # from which a large parquet file is sampled
ID = "neardup:id"  # a column of the sample
CANDIDATE, EVIDENCE = 24, 120  # bytes of memory of a candidate and of a pair that is found, at the most
BY_CANDIDATES = ("verify", "verify clusters")
HOT_SHARE = 0.45  # of the documents in one bucket: pairs grow with their number, not its square
START = 1.0  # seconds until Python, kernels and Arrow are loaded
FEWER_REMOVED = 0.75  # documents removed for each pair: clusters of three have three pairs and lose two


@dataclass(frozen=True)
class Range:
    """An expected number, and where it lies in nineteen of twenty cases as far as the sample shows."""

    expected: float
    low: float
    high: float

    def times(self, factor: float) -> Range:
        """The same in another unit."""
        return Range(self.expected * factor, self.low * factor, self.high * factor)

    @staticmethod
    def exactly(value: float) -> Range:
        """A number that is known."""
        return Range(value, value, value)

    def at_most(self, other: Range) -> Range:
        """The same, where there is a limit."""
        return Range(min(self.expected, other.expected), min(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True)
class Estimate:
    """What to expect of a run."""

    documents: Range
    text_bytes: Range
    seconds: Range
    memory_bytes: Range
    disk_bytes: Range  # of the work folder and the results
    candidates: Range
    removed: Range
    sampled_documents: int

    @property
    def removed_share(self) -> ExpectedShare:
        """What --expect-removed may be given: the range of the removed share; around a known one, half to twice.

        A range up to 1 would never stop a run, so that half of what stays by the estimate must stay.
        """
        low, expected, high = (
            min(1.0, count / max(1.0, self.documents.expected))
            for count in (self.removed.low, self.removed.expected, self.removed.high)
        )
        around = ExpectedShare.around(expected)
        return ExpectedShare(min(low, around.low), min(max(high, around.high), ExpectedShare.most(expected)))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, fit for JSON."""
        return {**asdict(self), "expect_removed": self.removed_share.option}


@dataclass(frozen=True)
class Sample:
    """Some documents as a table with the columns that are compared, and how many there are in all."""

    table: pa.Table
    text: str  # the column of the texts
    documents: Range

    @property
    def is_whole(self) -> bool:
        """Whether every document is in the sample."""
        return self.documents.low == self.documents.high == len(self.table)


def estimate(
    plan: Plan,
    sources: Sequence[Source],
    columns: InputColumns,
    settings: RunSettings,
    mode: Mode,
    statistics: Statistics | None = None,
) -> Estimate:
    """The cost and the yield of a run, from a sample that is run as the whole would be."""
    sample = draw(plan, sources, columns)
    named = replace(columns, text=sample.text, id=ID, html=columns.is_html(sample.text))
    with tempfile.TemporaryDirectory(prefix="neardup-", dir=settings.work_dir) as folder:
        warm = sample.table.slice(0, 50)
        _trial(plan, warm, named, settings, mode, statistics, Path(folder) / "warm")
        done, size = _trial(plan, sample.table, named, settings, mode, statistics, Path(folder) / "out")
    return _extrapolated(plan, sample, done, size, settings.threads)


def draw(plan: Plan, sources: Sequence[Source], columns: InputColumns) -> Sample:
    """A sample of all sources, in proportion to their sizes."""
    total = sum(source.size or 0 for source in sources) or 1
    tables, low, high, expected = [], 0.0, 0.0, 0.0
    fields, first = getattr(plan.text, "fields", ()), ""
    for number, source in enumerate(sources):
        share = (source.size or 0) / total
        room = min(max(SAMPLE_BYTES, SAMPLE_SHARE * total), MOST_BYTES) * share
        text, _ = choose_columns(source.names(), text=columns.text, id=columns.id, source=source.name)
        first = first or text
        taken, found = _of_source(number, source, [text, *fields], max(room, 1 << 16))
        if taken is not None:
            taken = taken.rename_columns([first, *fields, ID])
            tables.append((source.name, taken))
            expected, low, high = expected + found.expected, low + found.low, high + found.high
    if not tables:
        raise NoDocuments(source.name for source in sources[:3])
    whole = join_tables(tables)
    return Sample(whole, first, Range(expected, low, high))


def _of_source(number: int, source: Source, names: list[str], room: float) -> tuple[pa.Table | None, Range]:
    """Some documents of a source, and how many it has in all."""
    batches, size, cut = list[pa.RecordBatch](), 0, False
    for batch in _places(source, names, room):
        if size >= room:  # only now: the batch before may have been the last one
            cut = True
            break
        batches.append(batch.columns)
        size += batch.columns.nbytes
    if not batches:
        return None, Range.exactly(0)
    taken = pa.Table.from_batches(batches)
    ids = pa.array([f"{number}:{k}" for k in range(len(taken))])
    return taken.append_column(ID, ids), _documents(source, len(taken), size, cut)


def _places(source: Source, names: list[str], room: float) -> Iterator[Batch]:
    """Batches from all over a file that can be entered anywhere, else from its beginning."""
    rows, enter = source.rows or 0, getattr(source, "read_from", None)
    if enter is None or rows < 1000 or (source.size or 0) < 2 * room:
        yield from source.read(names, Problems())
        return
    each, last = room / PLACES, 0
    for start in np.linspace(0, rows, PLACES, endpoint=False).astype(int).tolist():
        size = 0
        for batch in enter(names, Problems(), start):
            if batch.numbers[0] <= max(start, last):  # a row group begins before the place that was asked for
                continue
            yield batch
            size, last = size + batch.columns.nbytes, int(batch.numbers[-1])
            if size >= each:
                break


def _documents(source: Source, taken: int, size: int, cut: bool) -> Range:
    """How many documents a source has: as it says, or as its size and the ratio of compression make it."""
    if source.rows is not None:
        return Range.exactly(source.rows)
    if not cut:  # it was read to its end
        return Range.exactly(taken)
    packed = source.compression is not None
    bytes_each = size / taken
    guess = (source.size or 0) * (3.0 if packed else 0.9) / bytes_each
    return Range(guess, guess / (2.5 if packed else 1.3), guess * (2.5 if packed else 1.3))


def _trial(
    plan: Plan,
    table: pa.Table,
    columns: InputColumns,
    settings: RunSettings,
    mode: Mode,
    statistics: Statistics | None,
    folder: Path,
) -> tuple[LocalRun, int]:
    """The pipeline over a sample, results written, and their size."""
    quiet = RunSettings(settings.threads, work_dir=settings.work_dir, memory=settings.memory)
    keep = plan.with_(keep=type(plan.keep)(), df_unit="texts")  # columns that a sample does not have
    done = run(keep, open_inputs([table]), columns, quiet, Progress(), statistics)
    write_run(done, folder, mode=mode)
    size = sum(entry.stat().st_size for entry in os.scandir(folder))
    done.corpus.work.close()
    return done, size


def _extrapolated(plan: Plan, sample: Sample, done: LocalRun, written: int, threads: int) -> Estimate:
    taken, documents = len(done.corpus), sample.documents
    times = documents.times(1 / max(1, taken))
    tables = 0 if plan.joins else plan.candidates.tables  # type: ignore[attr-defined]
    if sample.is_whole:
        times, documents = Range.exactly(1), Range.exactly(taken)
        candidates = Range.exactly(done.matches.candidates)
        removed = Range.exactly(int((~done.decisions.kept).sum()))
        seconds = Range.exactly(START + sum(done.progress.seconds.values()))
    else:
        pairs = _pairs(done, times)
        candidates = _candidates(plan, documents, done, pairs, tables)
        removed = _removed(done, documents, pairs)
        seconds = _seconds(done, times, candidates)
    fixed = LEAST + (150 << 20)
    each = DOCUMENT + SORTING * threads
    text = times.times(done.corpus.spool.size)
    return Estimate(
        documents=documents,
        text_bytes=text,
        seconds=seconds,
        memory_bytes=_plus(
            _sum(documents.times(each + _features(done, taken)), _pair_bytes(done, candidates)), fixed
        ),
        disk_bytes=_sum(text, _sum(times.times(written), documents.times(8 * tables + 100))),
        candidates=candidates,
        removed=removed,
        sampled_documents=taken,
    )


def _candidates(plan: Plan, documents: Range, done: LocalRun, pairs: Range, tables: int) -> Range:
    """Candidates: as many for each pair as in the sample, up to the most that clusters need."""
    candidates = pairs.times(max(1, done.matches.candidates) / max(1, len(done.decisions.pairs)))
    if plan.pairs != "clusters" or not tables:
        return candidates
    most = documents.times(_most_each(done, tables))
    return candidates.at_most(Range(most.expected, most.low / 2, most.high * 1.5))


def _most_each(done: LocalRun, tables: int) -> float:
    """Candidates of a document at the most: in each table it meets the first one of its bucket.

    If most of the sample is in one hot bucket, each document meets about as many in it as it will in the whole.
    """
    taken = max(1, len(done.corpus))
    share = done.matches.counts.largest / taken
    met = min(tables, 1.25 * done.matches.candidates / taken)
    return met if share > HOT_SHARE else tables


def _features(done: LocalRun, taken: int) -> float:
    """Bytes for each document where candidates come from features, which are in memory with their index."""
    known = done.corpus.distinct_features
    return 0.0 if known is None else 4.0 * known.bytes / max(1, taken)


def _pair_bytes(done: LocalRun, candidates: Range) -> Range:
    """Bytes for packed pairs, with room for removing repeats, and for their evidence."""
    measured = max(1, done.matches.candidates)
    taken = CANDIDATE * (measured + done.matches.joined) + EVIDENCE * len(done.decisions.pairs)
    return candidates.times(taken / measured)


def _pairs(done: LocalRun, times: Range) -> Range:
    """All pairs: each is in the sample with the square of a document's probability."""
    count = len(done.decisions.pairs)
    low, high = poisson_range(count)
    grown = times.expected**2
    return Range(max(count, 0.5) * grown, low * times.low**2, high * times.high**2)


def poisson_range(count: int) -> tuple[float, float]:
    """A range for the mean of a Poisson variable that was observed once, at 95 % (Wilson and Hilferty)."""
    above = count + 1
    high = above * (1 - 1 / (9 * above) + 1.96 / (3 * above**0.5)) ** 3
    low = 0.0 if count == 0 else count * (1 - 1 / (9 * count) - 1.96 / (3 * count**0.5)) ** 3
    return max(0.0, low), high


def _removed(done: LocalRun, documents: Range, pairs: Range) -> Range:
    """Documents removed: by the number of pairs, but at least the share removed of the sample itself."""
    share = float((~done.decisions.kept).mean()) if len(done.corpus) else 0.0
    least, most = share * documents.low, documents.high
    return Range(
        min(max(FEWER_REMOVED * pairs.expected, share * documents.expected), documents.expected),
        min(max(FEWER_REMOVED * pairs.low / 2, least), most),
        min(max(pairs.high, least), most),
    )


def _seconds(done: LocalRun, times: Range, candidates: Range) -> Range:
    """Wall time: verification grows with the candidates, everything else with the text."""
    spent = done.progress.seconds
    slow = sum(spent.get(name, 0.0) for name in BY_CANDIDATES)
    rest = sum(value for name, value in spent.items() if name not in BY_CANDIDATES)
    grown = candidates.times(slow / max(1, done.matches.candidates))
    return Range(
        START + rest * times.expected + grown.expected,
        START + (0.7 * rest) * times.low + grown.low,
        START + (1.5 * rest) * times.high + grown.high,
    )


def _plus(some: Range, constant: float) -> Range:
    return Range(some.expected + constant, some.low + constant, some.high + constant)


def _sum(a: Range, b: Range) -> Range:
    return Range(a.expected + b.expected, a.low + b.low, a.high + b.high)
