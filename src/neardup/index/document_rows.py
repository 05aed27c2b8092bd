"""Rows of the index's table of documents: read from sources, and turned into documents."""

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
from neardup.documents.document_columns import require_column
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.identity import distinct_texts
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.frequencies import count
from neardup.engines.local.read import Job
from neardup.engines.local.run import read_corpus
from neardup.errors import InputError
from neardup.index.documents import Access, Document
from neardup.plan import Plan
from neardup.statistics import Statistics


@dataclass(frozen=True)
class AttributeColumns:
    """The columns of the attributes that decisions use; None: no column."""

    access: str | None = None
    quality: str | None = None
    time: str | None = None
    url: str | None = None

    def read(self, sources: Sequence[Source]) -> tuple[list[list[Any]], list[int]]:
        """The values of each column (None without a column), and the number of documents of each source."""
        names = [self.access, self.time, self.quality, self.url]
        requested = list(dict.fromkeys(name for name in names if name is not None))
        found: dict[str, list[Any]] = {name: [] for name in requested}
        totals = []
        for source in sources:
            known = source.names()
            for name in requested:
                require_column(name, known, source.name)
            totals.append(0)
            for batch in source.read(requested or known[:1], Problems()):
                totals[-1] += len(batch)
                for name in found:
                    found[name] += plain_column(batch, name).to_pylist()
        return [[None] * sum(totals) if name is None else found[name] for name in names], totals


def read_access(value: Any) -> Access:
    """Groups with access, from a list (also as JSON) or from names separated by commas.

    No value means everybody, an empty list nobody.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    parts = (
        value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
    )
    return frozenset(str(part).strip() for part in parts if part is not None and str(part).strip())


def read_quality(value: Any, document: object) -> float | None:
    """A number, or None without a value; other values are refused."""
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if number != number:
        raise InputError(f"The quality of document {document!r} is {value!r}, which is not a number.")
    return number


@dataclass(frozen=True)
class IndexBatch:
    """Documents to add, and what their new texts add to the statistics."""

    ids: list[str]
    digests: list[bytes]
    fingerprints: list[bytes | None]
    lengths: list[int]
    attributes: list[list[Any]]  # groups with access, time, quality, URL
    sources: list[str]  # descriptions
    sizes: list[int]  # documents of each source
    counted: Statistics | None

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row for each document, in the order of the table's columns."""
        access, time, quality, url = self.attributes
        for n, name in enumerate(self.ids):
            groups = read_access(access[n])
            yield (
                name, self.digests[n], self.fingerprints[n], self.lengths[n],
                None if groups is None else json.dumps(sorted(groups), ensure_ascii=False),
                None if time[n] is None else moment(time[n]), read_quality(quality[n], name),
                None if url[n] is None else str(url[n]),
            )  # fmt: skip

    def documents(self) -> list[Document]:
        """As documents."""
        order = (0, 2, 4, 5, 3, 6, 7, 1)  # of to_document's columns in a row
        return [to_document(tuple(row[place] for place in order)) for row in self.rows()]


def to_document(row: tuple[Any, ...]) -> Document:
    """A document from its columns in the table."""
    name, fingerprint, access, time, length, quality, url, digest = row
    value = None if fingerprint is None else int.from_bytes(fingerprint, "little")
    groups = None if access is None else frozenset(json.loads(access))
    return Document(name, value, groups, time or 0.0, length, quality, url, digest)


def read_batch(
    plan: Plan,
    sources: Sequence[Source],
    columns: InputColumns,
    attributes: AttributeColumns,
    statistics: Statistics | None,
    known: Callable[[bytes], bool] | None,
    threads: int,
    progress: Progress,
    problems: Problems | None = None,
) -> IndexBatch:
    """Documents with their fingerprints, by frozen statistics or, without any, by those of the documents themselves.

    Distinct texts that are not `known` are counted; without `known`, no text is.
    """
    plan = plan.with_(statistics="" if statistics is None else statistics.digest)
    with Workspace() as work:
        job = Job(plan, sources, work, columns, problems or Problems(), progress, threads)
        corpus = read_corpus(job, statistics)
        assert corpus.signatures is not None
        digests = [row.tobytes() for row in corpus.digests]
        counted = None
        if plan.counts and known is not None:
            representatives, _ = distinct_texts(corpus.digests, corpus.id_hashes)
            fresh = np.array([n for n in representatives.tolist() if not known(digests[n])], np.int64)
            if len(fresh):
                counted = count(
                    plan.text, plan.counts, work.spool, fresh, least=1, progress=progress, threads=threads
                )
    slots, present = corpus.signatures.slots, corpus.signatures.present
    ids = [str(value) for value in corpus.ids.to_pylist()]
    values, sizes = attributes.read(sources)
    described = [describe_source(source, columns) for source in sources]
    return IndexBatch(
        ids, digests, [slots[n].astype("<u4").tobytes() if present[n] else None for n in range(len(ids))],
        corpus.lengths.tolist(), values, described, sizes, counted,
    )  # fmt: skip


def describe_source(source: Source, columns: InputColumns) -> str:
    """The files of a source and their columns as JSON, so that they can be read again."""
    path = getattr(source, "path", None)
    paths = [path] if path is not None else [name for name, _ in getattr(source, "files", ())]
    about = {
        "paths": [str(Path(one).resolve()) for one in paths],
        "format": source.format,
        "columns": asdict(columns),
    }
    return json.dumps(about, ensure_ascii=False)


def reopen_source(description: str) -> tuple[Sequence[Source], InputColumns]:
    """The source of a description, and its columns."""
    about = json.loads(description)
    if not about["paths"]:
        raise InputError("These documents came from memory, not from a file: they cannot be read again.")
    return open_inputs(about["paths"], format=about["format"]), InputColumns(**about["columns"])
