"""What is fuzzed of files that we keep: models, plans, frequencies, work folders, indexes, stores.

Files of SQLite are stored with pages of 512 bytes and packed, so that the corpus stays small.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from fuzzing.files import file_with, room

from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import open_workspace
from neardup.errors import NeardupError
from neardup.plan import Plan
from neardup.plans import make_plan

IDS = [f"d{number}" for number in range(6)]
TEXT = "the harbour council voted on tuesday to widen the northern berth for container ships"


def model(data: bytes) -> None:
    """A learned model."""
    from neardup.learn.model.file import read_model

    read_model(file_with(data, ".json"))


def plan(data: bytes) -> None:
    """A plan; what is read is written the same."""
    found = Plan.from_json(data.decode("utf-8", "replace"))
    assert Plan.from_json(found.to_json()) == found


def statistics(data: bytes) -> None:
    """Document frequencies."""
    from neardup.statistics.file import load_statistics

    load_statistics(file_with(data, ".parquet"))


def journal(data: bytes) -> None:
    """The journal of a work folder: resumed, or refused."""
    identity = {"neardup": "0"}
    work = room() / "run" / ".neardup-work"
    work.mkdir(parents=True, exist_ok=True, mode=0o700)
    (work / "manifest.json").write_text('{"neardup": "0"}')
    (work / "journal.json").write_bytes(data)
    open_workspace(work.parent, identity, resume=True).close(keep=True)


def config(data: bytes) -> None:
    """A file of options, as far as the command line is read."""
    import click

    from neardup.cli.dedup import command

    path = file_with(data, ".toml")
    with suppress(click.ClickException):
        command.make_context("dedup", ["corpus.jsonl", "--config", path])


def labels(data: bytes) -> None:
    """A table of labels."""
    from neardup.evaluate.label_files import read_labels

    suffix = ".jsonl" if data.startswith(b"{") else ".parquet" if data.startswith(b"PAR1") else ".csv"
    read_labels(file_with(data, suffix), pa.array(IDS))


def report(data: bytes) -> None:
    """The report of a finished run."""
    from neardup.review.checked_report import read_report

    folder = room() / "finished"
    folder.mkdir(exist_ok=True)
    (folder / "report.json").write_bytes(data)
    read_report(folder)


def request(data: bytes) -> None:
    """The body of a request to the service."""
    from neardup.service.bodies import parsed
    from neardup.service.models import BatchQuery, DocumentBatch, SingleQuery
    from neardup.service.problems import Problem

    for kind in (SingleQuery, BatchQuery, DocumentBatch):
        with suppress(Problem):
            parsed(kind, data).model_dump_json()


def _database(data: bytes, name: str) -> Path:
    """A file of SQLite, without what a process before left beside it."""
    path = room() / name
    path.parent.mkdir(exist_ok=True)
    for end in ("-wal", "-shm", "-journal"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return path


@cache
def _pages() -> Any:
    from neardup.documents import open_inputs
    from neardup.index.fingerprints import fingerprint

    rows = [{"id": name, "text": f"{TEXT} {name}"} for name in IDS]
    return fingerprint(make_plan("simhash", weights="tf"), open_inputs([rows]))


def tracked(data: bytes) -> None:
    """The store of pages over time: a visit is added, and the history read."""
    from neardup.index.track import Tracker

    with Tracker(_database(data, "pages.db"), make_plan("simhash", weights="tf")) as tracker:
        list(tracker.visit(_pages(), 1e9))
        tracker.history(IDS[0])


def tracked_pages(path: Path) -> None:
    """Makes a store of pages with two visits."""
    from neardup.index.track import Tracker

    with Tracker(path, make_plan("simhash", weights="tf")) as tracker:
        for now in (1e9, 1.1e9):
            list(tracker.visit(_pages(), now))


def index(data: bytes) -> None:
    """The documents of an index: asked, checked, and saved as far as they are readable."""
    from neardup.index.damaged import salvage_path, verify_path
    from neardup.index.index import Index

    path = _database(data, "index/truth.db").parent
    (path / "writer.lock").unlink(missing_ok=True)
    with suppress(NeardupError), Index(path, threads=1) as opened:
        opened.query(TEXT)
        opened.get(IDS[0])
        opened.add([{"id": "new", "text": TEXT}])
    verify_path(path, Progress())
    salvage_path(path, room() / "salvaged.jsonl", Progress(), force=True)


def segment(data: bytes) -> None:
    """A segment of an index: every posting read, or refused."""
    from neardup.index.segments.segment import Segment, SegmentDamaged

    with suppress(SegmentDamaged):
        opened = Segment.open(file_with(data, ".segment"), "fuzz")
        opened.verify()
        opened.look_up(np.arange(1, 40, dtype=np.uint64) << np.uint64(57))
        opened.close()


STATE: tuple[Callable[[bytes], None], ...] = (
    model, plan, statistics, journal, config, labels, report, request, tracked, index, segment,
)  # fmt: skip
