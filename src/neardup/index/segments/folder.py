"""The segments of an index: which files are in use (the manifest), and which to merge.

One process writes, any number read. The writer changes the manifest as a whole, then unlinks files that it no longer
names: readers continue with what they have mapped, and load the manifest again when it has changed. Everything here is
derived: a manifest or a segment that cannot be used is left out, and its documents are a gap that the caller rebuilds.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import Any

from neardup.columns import Hashes, Numbers
from neardup.index.segments.merge import merge_segments
from neardup.index.segments.segment import Segment, SegmentDamaged, Stamp, stamp_of
from neardup.index.segments.writer import write_segment
from neardup.output import sync

FORMAT = 1
MANIFEST = "manifest.json"
NAME = re.compile(r"(\d+)-(\d+)-(\d+)\.segment", re.ASCII)
FACTOR = 8  # segments of a tier that are merged, and the ratio of documents between tiers
MOST = 64  # neighbours that are tolerated, whatever their tiers
TRIES = 10  # to load a manifest whose files a writer unlinks meanwhile


class SegmentFolder:
    """The segments in a folder that serve a plan, in order of their ranges, which do not overlap."""

    def __init__(self, folder: Path, plan_digest: str, *, may_write: bool = False) -> None:
        self.folder, self.plan_digest = Path(folder), plan_digest
        self._manifest = str(self.folder / MANIFEST)
        self.may_write = (
            may_write  # whether `discard` changes the manifest; `add` and `merge` are the writer's
        )
        self.segments: tuple[Segment, ...] = ()
        self.version = 0  # of the truth that they were made from: a truth of a lower one is an older copy
        self.damaged: list[str] = []  # names of files that were discarded, with the reason
        self._stamp: Stamp | None = None  # of the manifest
        self._refused: dict[Stamp, str] = {}  # files that were discarded; the manifest may still name them
        self._loaded = False
        self._number = 0
        self._lock = RLock()  # a thread may merge while another one adds

    def load(self) -> None:
        """Take the segments that the manifest names and that can be used; others are added to `damaged`."""
        with self._lock:
            for _ in range(TRIES):
                entries, problems = self._read_manifest()
                segments, missing = self._open_all(entries, problems)
                if not (missing and self.changed()):
                    break
            self.segments, self._loaded = tuple(segments), True
            self.damaged += [problem for problem in problems if problem not in self.damaged]

    def forget(self, reason: str) -> None:
        """Use none of the segments; the writer then names none in the manifest."""
        with self._lock:
            self.damaged += [f"{segment.path.name}: {reason}" for segment in self.segments]
            self.version = 0
            self._switch([])

    def _read_manifest(self) -> tuple[list[dict[str, Any]], list[str]]:
        """What the manifest names, in order, and what is wrong with it."""
        self._stamp = None
        try:
            with (self.folder / MANIFEST).open("rb") as file:
                self._stamp = stamp_of(os.fstat(file.fileno()))
                found = json.loads(file.read())
            if (found["format"], found["plan"]) != (FORMAT, self.plan_digest):
                return [], [f"{MANIFEST}: it belongs to another plan or version"]
            entries = [_checked(entry) for entry in found["segments"]]
            self.version = int(found["version"])
            return sorted(entries, key=lambda entry: (entry["low"], entry["high"])), []
        except FileNotFoundError:
            return [], []
        except OSError as error:
            return [], [f"{MANIFEST}: it cannot be read: {error.strerror or error}"]
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return [], [f"{MANIFEST}: it is not what was written"]

    def _open_all(self, entries: list[dict[str, Any]], problems: list[str]) -> tuple[list[Segment], bool]:
        """The segments that can be used, and whether a file is missing."""
        known = {segment.stamp: segment for segment in self.segments}
        segments: list[Segment] = []
        missing = False
        for entry in entries:
            path = self.folder / entry["file"]
            try:
                segment = self._open(path, known)
                _compare(segment, entry, segments)
                segments.append(segment)
            except SegmentDamaged as error:
                missing |= not path.exists()
                problems.append(str(error))
        return segments, missing

    def _open(self, path: Path, known: dict[Stamp, Segment]) -> Segment:
        """The segment of a file; one that is open stays open, with the blocks that it has checked."""
        with suppress(OSError):
            stamp = stamp_of(path.stat())
            if stamp in self._refused:
                raise SegmentDamaged(path, self._refused[stamp])
            if stamp in known and known[stamp].path == path:
                return known[stamp]
        return Segment.open(path, self.plan_digest)

    @property
    def last(self) -> int:
        """The highest sequence number that a segment covers."""
        return max((segment.high - 1 for segment in self.segments), default=0)

    def changed(self) -> bool:
        """Whether the manifest on disk is not the one that was loaded or written."""
        try:
            return stamp_of(os.stat(self._manifest)) != self._stamp  # noqa: PTH116 - ten times faster, at every look-up
        except OSError:
            return self._stamp is not None

    def add(self, low: int, high: int, documents: int, seqs: Numbers, keys: Hashes) -> Segment:
        """Write the postings of documents low … high − 1 as a segment, and name it in the manifest."""
        self._refuse_overlap(low, high, self.segments)
        path = self._new_path(low, high)
        write_segment(
            path, plan_digest=self.plan_digest, low=low, high=high, documents=documents, seqs=seqs, keys=keys
        )
        segment = Segment.open(path, self.plan_digest)
        with self._lock:
            self._put(segment, [])
        return segment

    def _put(self, segment: Segment, instead_of: Sequence[Segment]) -> None:
        """Name a new segment in the manifest, instead of others; if that fails, its file is removed."""
        try:
            left = [other for other in self.segments if other not in instead_of]
            if len(left) + len(instead_of) != len(self.segments):
                raise SegmentDamaged(segment.path, "one of its parts was discarded while they were merged")
            self._refuse_overlap(segment.low, segment.high, left)
            self._switch([*left, segment])
        except BaseException:
            if segment not in self.segments:
                with suppress(OSError):
                    segment.path.unlink()
            raise

    def _refuse_overlap(self, low: int, high: int, others: Sequence[Segment]) -> None:
        if low >= high:
            raise ValueError(f"a segment has at least one sequence number, not {low} to {high}")
        for other in others:
            if low < other.high and other.low < high:
                raise ValueError(f"documents {low} to {high - 1} are in part in {other.path.name}")

    def discard(self, segment: Segment, reason: str) -> None:
        """Forget a damaged segment; a process that may write also takes it out of the manifest and the folder."""
        with self._lock:
            if segment not in self.segments:
                return
            left = [other for other in self.segments if other is not segment]
            reason = reason.removeprefix(f"{segment.path.name}: ")
            self.damaged.append(f"{segment.path.name}: {reason}")
            self._refused[segment.stamp] = reason
            self.segments = tuple(left)
            if self.may_write:
                with suppress(OSError):  # it is forgotten all the same
                    self._switch(left)
                    segment.path.unlink(missing_ok=True)

    def merge_due(self) -> list[Segment] | None:
        """Neighbours that are worth merging: a tier's segments once there are 8, the lowest tier first.

        Smaller ones between them are merged too. Where deletions left very many small ones between large ones, the 8
        neighbours with the fewest documents are due.
        """
        groups = [group for group in self.neighbours() if len(group) >= FACTOR]
        for tier in sorted({_tier(segment) for group in groups for segment in group}):
            for group in groups:
                for run in _runs(group, tier):
                    places = [place for place, segment in enumerate(run) if _tier(segment) == tier]
                    if len(places) >= FACTOR:
                        return run[places[0] : places[-1] + 1]
        windows = [
            group[at : at + FACTOR]
            for group in groups
            if len(group) > MOST
            for at in range(len(group) - FACTOR + 1)
        ]
        return min(windows, key=lambda run: sum(segment.documents for segment in run), default=None)

    def neighbours(self) -> list[list[Segment]]:
        """The segments in groups that have no gap inside."""
        groups: list[list[Segment]] = []
        for segment in self.segments:
            if groups and groups[-1][-1].high == segment.low:
                groups[-1].append(segment)
            else:
                groups.append([segment])
        return groups

    def merge(self, some: Sequence[Segment], alive: Callable[[int, int], Numbers], room: int) -> Segment:
        """Write one segment for these neighbours, name it in the manifest instead of them, and unlink their files.

        SegmentDamaged if a block of one is damaged: discard that segment and continue without the merge.
        """
        path = self._new_path(some[0].low, some[-1].high)
        merge_segments(some, path, alive, room)
        segment = Segment.open(path, self.plan_digest)
        with self._lock:
            self._put(segment, some)
        for old in some:
            with suppress(OSError):  # a stray
                old.path.unlink()
        return segment

    def gaps(self, last: int) -> list[tuple[int, int]]:
        """The ranges of sequence numbers from 1 to `last` that no segment covers, as (low, high), high excluded."""
        edges = [1, *(edge for segment in self.segments for edge in (segment.low, segment.high)), last + 1]
        found = [(low, min(high, last + 1)) for low, high in zip(edges[::2], edges[1::2], strict=True)]
        return [(low, high) for low, high in found if low < high]

    def remove_strays(self) -> None:
        """Unlink files that were not finished, and segments that the manifest does not name or that are damaged."""
        with self._lock:
            if not self._loaded:
                self.load()
            if self._manifest_differs():
                self._switch(self.segments)
            names = {segment.path.name for segment in self.segments}
            for path in self._files():
                if path.name not in names:
                    path.unlink(missing_ok=True)

    def _manifest_differs(self) -> bool:
        """Whether the manifest on disk names other files than are in use."""
        entries, problems = self._read_manifest()
        return bool(problems) or [entry["file"] for entry in entries] != [s.path.name for s in self.segments]

    def _files(self) -> Iterator[Path]:
        """Files of ours other than the manifest."""
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                if path.name.endswith(".tmp") or NAME.fullmatch(path.name):
                    yield path

    def _new_path(self, low: int, high: int) -> Path:
        """A name that no file has had since this folder was opened, nor has now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock:
            matches = (NAME.fullmatch(path.name.removesuffix(".tmp")) for path in self._files())
            self._number = 1 + max([self._number, *(int(match[3]) for match in matches if match)])
            return self.folder / f"{low}-{high}-{self._number}.segment"

    def _switch(self, segments: Sequence[Segment]) -> None:
        """Write a manifest that names these, and use them."""
        segments = sorted(segments, key=lambda segment: segment.low)
        found = {"format": FORMAT, "plan": self.plan_digest, "version": self.version}
        found["segments"] = [_entry(segment) for segment in segments]
        aside = self.folder / f"{MANIFEST}.tmp"
        with aside.open("w") as file:
            json.dump(found, file, indent=1)
            file.flush()
            # Clocks of file systems tick every few milliseconds, too slowly to distinguish two manifests.
            now = max(time.time_ns(), self._stamp[1] + 1 if self._stamp else 0)
            os.utime(file.fileno(), ns=(now, now))
            os.fsync(file.fileno())
            stamp = stamp_of(os.fstat(file.fileno()))
        aside.replace(self.folder / MANIFEST)
        self.segments, self._stamp, self._loaded = tuple(segments), stamp, True
        sync(self.folder)


def _entry(segment: Segment) -> dict[str, Any]:
    """What the manifest says of a segment."""
    return {
        "file": segment.path.name,
        "low": segment.low,
        "high": segment.high,
        "documents": segment.documents,
    }


def _checked(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the manifest whose values have the right types; ValueError if not."""
    if not NAME.fullmatch(entry["file"]):
        raise ValueError(entry["file"])
    return {"file": entry["file"], **{name: int(entry[name]) for name in ("low", "high", "documents")}}


def _compare(segment: Segment, entry: dict[str, Any], before: list[Segment]) -> None:
    """SegmentDamaged if a segment is not the one that the manifest means."""
    if _entry(segment) != entry:
        raise SegmentDamaged(segment.path, "the file is not the one that the manifest names")
    if before and before[-1].high > segment.low:
        raise SegmentDamaged(segment.path, f"the range overlaps that of {before[-1].path.name}")


def _tier(segment: Segment) -> int:
    """0 for fewer than 8 documents, 1 for fewer than 64, …"""
    return (max(segment.documents, 1).bit_length() - 1) // 3


def _runs(group: list[Segment], tier: int) -> list[list[Segment]]:
    """The neighbours of a group between those of higher tiers."""
    breaks = [-1, *(place for place, segment in enumerate(group) if _tier(segment) > tier), len(group)]
    return [group[a + 1 : b] for a, b in pairwise(breaks)]
