"""Windows to those whose hash came again, each with its first occurrence; and these, in order, to runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.passages.records import READ, DividedRecords, Records
from neardup.engines.local.passages.windows import AHEAD, BITS
from neardup.workers import ordered_map

PARTS = 1 << BITS
SMALL = 1 << 21  # records of a part that is worked on as a whole
LEAST = 1 << 20  # positions of a bucket, the range that is put in order at a time
BUCKETS = 256  # at the most
ENTRY = 24  # bytes in a table of hashes
Runs = NDArray[np.int64]  # n × 4: position, first, length, count


def find_repeats(
    windows: DividedRecords, positions: int, work: Workspace, progress: Progress, threads: int
) -> DividedRecords:
    """The position of each window whose hash came again, with the first position of that hash, divided by position."""
    size = bucket_size(positions)
    path = None if work.path is None else work.path / "repeats.part"
    found, blocks = DividedRecords(path, work.folder, np.int64), work.rows("repeats")
    buckets = -(-positions // size)
    done = 0
    if "repeats" in work.state:
        kept: Any = blocks.numbers("bound").reshape(-1, buckets + 1) if len(blocks) else []
        found.restore(list(kept), work.state["repeats"])
        done = work.state["parts"]
    bounds = np.arange(buckets + 1) * size
    most = max(1 << 16, work.memory.budget // (8 * ENTRY))  # entries of a table

    def small(part: int) -> list[Records]:
        return list(_repeated(windows, part, most)) if windows.size(part) <= SMALL else []

    def state() -> dict[str, Any]:
        return {"repeats": found.sync(), "parts": done}

    with progress.stage("repeats", PARTS):
        progress.advance(done)
        for records in ordered_map(small, range(done, PARTS), threads, ahead=AHEAD):
            large = windows.size(done) > SMALL
            for some in _repeated(windows, done, most) if large else records:
                found.add(some, np.searchsorted(some[:, 0], bounds))
                blocks.add(pa.record_batch({"bound": pa.array(found.bounds[-1])}))
            done += 1
            progress.advance(1)
            work.checkpoint(state)
        work.checkpoint(state, ended=True)
    return found


def bucket_size(positions: int) -> int:
    """The positions of a bucket."""
    return max(LEAST, -(-positions // BUCKETS))


def _repeated(windows: DividedRecords, part: int, most: int) -> Iterator[Records]:
    """The repeated windows of a part, in blocks in ascending order; a part of too many hashes is gone through again."""
    rounds = 1
    while rounds:
        for number in range(rounds):
            selected = np.array([number, rounds - 1], np.uint64)
            table = _table(windows, part, selected, most)
            if table is None:
                rounds *= 2
                break
            for records in windows.part(part):
                out = np.empty((len(records), 2), np.int64)
                count = kernels.repeats.repeated_windows(records, selected, table, out)
                if count:
                    yield out[:count]
        else:
            return


def _table(
    windows: DividedRecords, part: int, selected: NDArray[np.uint64], most: int
) -> NDArray[np.uint64] | None:
    """The hashes of a part with their first positions; None if they are more than a table may have."""
    rows = windows.size(part)
    size = 1 << min(max(4, (2 * rows).bit_length()), max(4, most.bit_length() - 1))
    table, entered = np.zeros((size, 3), np.uint64), 0
    for records in windows.part(part):
        entered = kernels.repeats.enter_windows(records, selected, table, entered)
        if entered < 0:
            return None
    return table


def find_runs(repeats: DividedRecords, positions: int, width: int, progress: Progress) -> Runs:
    """The repeated windows in order, as runs."""
    size, kernel = bucket_size(positions), kernels.repeats
    parts: list[Runs] = []
    runs, done = np.zeros((2, 4), np.int64), 0
    with progress.stage("runs"):
        for bucket in range(-(-positions // size)):
            first = np.full(size, -1)
            for records in repeats.part(bucket, READ):
                first[records[:, 0] - bucket * size] = records[:, 1]
            found = np.flatnonzero(first >= 0)
            last = runs[max(0, done - 2) : done]
            parts.append(runs[: max(0, done - 2)])
            runs = np.empty((len(found) + 2, 4), np.int64)
            runs[: len(last)] = last
            done = kernel.join_windows(found + bucket * size, first[found], width, runs, len(last))
            runs = runs[: done + 2].copy()
        done = kernel.fold_last(runs, done, width)
        return np.concatenate([*parts, runs[:done]])


def join_pairs(positions: Numbers, firsts: Numbers, width: int) -> Runs:
    """Runs of windows in ascending order of position."""
    runs = np.empty((len(positions) + 1, 4), np.int64)
    done = kernels.repeats.join_windows(positions, firsts, width, runs, 0)
    return runs[: kernels.repeats.fold_last(runs, done, width)]
