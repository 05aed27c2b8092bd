"""Documents as rows that a collection holds: what is read of them beside their text, and how it is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neardup.clusters.keep import moment
from neardup.documents import Problems, Source, open_inputs, plain_column
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.identity import distinct_texts
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.frequencies import count
from neardup.engines.local.read import Job
from neardup.engines.local.run import read_corpus
from neardup.errors import InputError
from neardup.index.documents import Document, Readers
from neardup.plan import Plan
from neardup.statistics import Statistics


@dataclass(frozen=True)
class Extra:
    """Columns that decisions look at; None: there is none."""

    readers: str | None = None
    quality: str | None = None
    time: str | None = None
    url: str | None = None

    def read(self, sources: Sequence[Source]) -> tuple[list[list[Any]], list[int]]:
        """The values of each column, None for each document where there is none; and how many each source has."""
        names = [self.readers, self.time, self.quality, self.url]
        wanted = list(dict.fromkeys(name for name in names if name is not None))
        found: dict[str, list[Any]] = {name: [] for name in wanted}
        totals = []
        for source in sources:
            known = source.names()
            _check_columns(source, wanted, known)
            totals.append(0)
            for batch in source.read(wanted or known[:1], Problems()):
                totals[-1] += len(batch)
                for name in found:
                    found[name] += plain_column(batch, name).to_pylist()
        return [[None] * sum(totals) if name is None else found[name] for name in names], totals


def _check_columns(source: Source, wanted: list[str], names: list[str]) -> None:
    for name in wanted:
        if names and name not in names:
            raise InputError(f"{source.name} has no column {name!r}; its columns are {', '.join(names)}")


def read_readers(value: Any) -> Readers:
    """Groups from a list (or one in JSON), or from a text with commas. Nothing given means everybody, an empty list
    nobody."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    parts = (
        value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
    )
    return frozenset(str(part).strip() for part in parts if part is not None and str(part).strip())


def read_quality(value: Any, owner: object) -> float | None:
    """A number, or None where there is none; anything else is refused."""
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if number != number:
        raise InputError(f"The quality of document {owner!r} is {value!r}, which is no number.")
    return number


@dataclass(frozen=True)
class Batch:
    """Documents that were read, and what their new contents add to the statistics."""

    ids: list[str]
    digests: list[bytes]
    fingerprints: list[bytes | None]
    lengths: list[int]
    extra: list[list[Any]]
    sources: list[str]  # the description of each
    sizes: list[int]  # how many documents each gave
    counted: Statistics | None

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One for each document, in the order of the table's columns."""
        readers, time, quality, url = self.extra
        for n, name in enumerate(self.ids):
            who = read_readers(readers[n])
            yield (
                name, self.digests[n], self.fingerprints[n], self.lengths[n],
                None if who is None else json.dumps(sorted(who), ensure_ascii=False),
                None if time[n] is None else moment(time[n]), read_quality(quality[n], name),
                None if url[n] is None else str(url[n]),
            )  # fmt: skip

    def documents(self) -> list[Document]:
        """As documents, without being held."""
        order = (0, 2, 4, 5, 3, 6, 7)  # of a row's columns
        return [to_document(tuple(row[place] for place in order)) for row in self.rows()]


def to_document(row: tuple[Any, ...]) -> Document:
    """A document from what the table keeps of it."""
    name, fingerprint, readers, time, length, quality, url = row
    value = None if fingerprint is None else int.from_bytes(fingerprint, "little")
    who = None if readers is None else frozenset(json.loads(readers))
    return Document(name, value, who, time or 0.0, length, quality, url)


def read_batch(
    plan: Plan,
    sources: Sequence[Source],
    columns: InputColumns,
    extra: Extra,
    statistics: Statistics | None,
    known: Callable[[bytes], bool] | None,
    threads: int,
    progress: Progress,
    problems: Problems | None = None,
) -> Batch:
    """Fingerprints with frozen statistics (or with those of the documents themselves, where there are none yet).

    Contents that are not `known` are counted; without such a question, none are.
    """
    plan = plan.with_(statistics="" if statistics is None else statistics.digest)
    with Workspace() as work:
        job = Job(plan, sources, work, columns, problems or Problems(), progress, threads)
        corpus = read_corpus(job, statistics)
        assert corpus.signatures is not None
        digests = [row.tobytes() for row in corpus.digests]
        counted = None
        if plan.counts and known is not None:
            owners, _ = distinct_texts(corpus.digests, corpus.id_hashes)
            fresh = np.array([n for n in owners.tolist() if not known(digests[n])], np.int64)
            if len(fresh):
                counted = count(
                    plan.text, plan.counts, work.spool, fresh, least=1, progress=progress, threads=threads
                )
    slots, present = corpus.signatures.slots, corpus.signatures.present
    ids = [str(value) for value in corpus.ids.to_pylist()]
    values, sizes = extra.read(sources)
    described = [describe_source(source, columns) for source in sources]
    return Batch(
        ids, digests, [slots[n].astype("<u4").tobytes() if present[n] else None for n in range(len(ids))],
        corpus.lengths.tolist(), values, described, sizes, counted,
    )  # fmt: skip


def describe_source(source: Source, columns: InputColumns) -> str:
    """The files of a source and how they were read, so that they can be read again."""
    path = getattr(source, "path", None)
    paths = [path] if path is not None else [name for name, _ in getattr(source, "files", ())]
    about = {
        "paths": [str(Path(one).resolve()) for one in paths],
        "format": source.format,
        "columns": asdict(columns),
    }
    return json.dumps(about, ensure_ascii=False)


def reopened(description: str) -> tuple[Sequence[Source], InputColumns]:
    """The source that was described, and its columns."""
    about = json.loads(description)
    if not about["paths"]:
        raise InputError("These documents came from memory, not from a file.")
    return open_inputs(about["paths"], format=about["format"]), InputColumns(**about["columns"])
