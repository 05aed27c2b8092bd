"""Document frequencies for an index, counted by the local engine over documents to add or over stored ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import pyarrow as pa

from neardup.columns import Hashes, Numbers
from neardup.documents import Problems, Source
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.identity import hash_ids
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.frequencies import frequencies
from neardup.engines.local.read import Corpus, Job, read
from neardup.index.signed import stored_texts
from neardup.index.truth import Columns, Id, Snapshot
from neardup.plan import Plan
from neardup.statistics import Statistics

SCAN = 4096  # stored documents that are read together


def counted_statistics(
    plan: Plan,
    sources: Sequence[Source],
    columns: InputColumns,
    threads: int,
    progress: Progress,
    given: Workspace | None = None,
) -> Statistics:
    """The frequencies that a plan weighs by, over the documents of the sources."""
    with nullcontext(given) if given is not None else Workspace() as work:
        job = Job(plan, sources, work, columns, Problems(), progress, threads)
        found = frequencies(job, read(job, represent_now=False), None)
    assert found is not None
    return found


def stored_corpus(snapshot: Snapshot, work: Workspace) -> Corpus:
    """The stored documents as a corpus of the local engine, their texts spooled."""
    ids, digests, lengths = list[Id](), [np.zeros((0, 2), np.uint64)], [np.zeros(0, np.int64)]
    for rows in snapshot.scan(1, snapshot.last(), Columns(body=True), SCAN):
        work.spool.append(stored_texts(rows))
        ids += rows.ids
        digests.append(np.column_stack([rows.low, rows.high]))
        lengths.append(rows.characters)
    return corpus_of(ids, np.concatenate(digests), np.concatenate(lengths), work)


def corpus_of(ids: Sequence[Id], digests: Hashes, lengths: Numbers, work: Workspace) -> Corpus:
    """Documents whose texts are in the spool, as a corpus of the local engine; refuses ids that occur twice."""
    mixed = len({type(name) for name in ids}) > 1
    names, hashes = hash_ids(pa.array([str(name) for name in ids] if mixed else ids), "error")
    return Corpus(
        ids=names,
        id_hashes=hashes,
        lengths=lengths,
        values=None,
        sources=(),
        columns=InputColumns(),
        work=work,
        digests=digests,
        text_column=None,
    )
