"""Upkeep of an index: its summary, and document frequencies that are counted again over the stored texts.

Frequencies are frozen, so that a document's weights do not change with every new one (simhash thesis, 3.3). A refresh
counts them over all stored texts, freezes the new table and signs every document again, in one transaction: a reader
sees the index before or after it, never between.
"""

from __future__ import annotations

from typing import Any

from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.frequencies import frequencies
from neardup.engines.local.read import Job
from neardup.errors import PlanError
from neardup.index.frequencies import stored_corpus
from neardup.index.opened import freeze_statistics
from neardup.index.search import Search
from neardup.index.signed import Signer, Store
from neardup.index.state import IndexState
from neardup.index.truth import Columns, NewRows, Snapshot, StoredRows, StoreWriter
from neardup.plan import Plan
from neardup.statistics import Statistics

REFRESH_AFTER = 1_000_000  # documents (thesis, 3.3: "say 1 million")
SCAN = 1024  # stored documents that are signed together


def no_refresh(plan: Plan, store: Store) -> str | None:
    """Why an index cannot count its document frequencies again, in a sentence; None if it can."""
    if not plan.counts:
        return f"The method {plan.method} with these options uses no document frequencies."
    if store != "text":
        return f"An index with --store {store} has no texts to count document frequencies in: store text."
    if plan.df_unit not in ("texts", "clusters"):
        return (
            f"The document frequencies of this index have the unit {plan.df_unit}, a column that an index does not "
            "store: count them with neardup stats build, and make another index."
        )
    return None


def set_refresh_after(index: IndexState, documents: int) -> None:
    """Store the number of new documents after which document frequencies are counted again; 0: never."""
    reason = no_refresh(index.plan, index.store)
    if documents and reason is not None:
        raise PlanError(f"{reason} Leave --refresh-after out.")
    with index.writing() as writer:
        writer.set_about(refresh_after=str(documents))


def refresh_limit(about: dict[str, str], plan: Plan, store: Store) -> int | None:
    """The number of new documents after which document frequencies are counted again; None: never."""
    limit = int(about.get("refresh_after", REFRESH_AFTER))
    return None if limit == 0 or no_refresh(plan, store) is not None else limit


def new_since(snapshot: Snapshot, about: dict[str, str]) -> int:
    """How many documents were added or replaced since document frequencies were counted."""
    return max(0, snapshot.last() - int(about.get("counted_up_to", 0)))


def refresh_due(index: IndexState) -> bool:
    """Whether document frequencies are to be counted again; the first documents, which were counted, do not count."""
    plan, store = index.plan, index.store
    if no_refresh(plan, store) is not None:
        return False
    with index.reading() as (snapshot, _):
        about, last = snapshot.about(), snapshot.last()
        limit = refresh_limit(about, plan, store)
        if "counted_up_to" in about:
            return limit is not None and new_since(snapshot, about) >= limit
    with index.writing() as writer:
        writer.set_about(counted_up_to=str(last))
    return False


def refresh(index: IndexState, progress: Progress) -> int:
    """The number of documents signed again, with document frequencies counted again; 0 if none differ."""
    reason = no_refresh(index.plan, index.store)
    if reason is not None:
        raise PlanError(reason)
    with index.reading() as (snapshot, _), index.workspace() as work:
        if not snapshot.count():
            return 0
        counted = _counted(index, snapshot, work, progress)
    signed = 0
    with index.writing() as writer:
        if writer.about()["statistics"] != counted.digest:
            freeze_statistics(writer, counted)
            signer = Signer(index.plan, counted, index.store)
            if signer.keeps_signatures:
                _sign_again(signer, writer, progress)
            signed = writer.count()
        writer.set_about(counted_up_to=str(writer.last()))
    if signed:
        with index.reading() as (snapshot, captured):
            rebuild(captured.search, snapshot, progress)
    return signed


def _counted(index: IndexState, snapshot: Snapshot, work: Workspace, progress: Progress) -> Statistics:
    with progress.stage("read stored texts"):
        corpus = stored_corpus(snapshot, work)
    job = Job(index.plan, (), work, progress=progress, threads=index.threads)
    found = frequencies(job, corpus, None)
    assert found is not None
    return found


def _sign_again(signer: Signer, writer: StoreWriter, progress: Progress) -> None:
    """Store every document again, under a new number, with a signature by the new document frequencies."""
    columns, last = Columns(body=True, attributes=True), writer.last()
    with progress.stage("sign again", writer.count()):
        for rows in writer.scan(1, last, columns, SCAN):
            writer.insert(_signed_rows(signer, rows))
            progress.advance(len(rows))


def _signed_rows(signer: Signer, rows: StoredRows) -> NewRows:
    signatures = signer.signatures(signer.restore(rows))
    return NewRows(
        rows.ids, rows.low, rows.high, rows.characters, rows.tokens, rows.bodies, signatures, rows.attributes
    )


def rebuild(search: Search, snapshot: Snapshot, progress: Progress) -> None:
    """Write segments for all documents that none has."""
    last = snapshot.last()
    with progress.stage("write segments", last):
        for upto in [*range(SCAN, last, SCAN), last]:
            search.cover(snapshot, upto)
            progress.advance(min(SCAN, last))
        search.flush(snapshot)


def summary(index: IndexState) -> dict[str, Any]:
    """A summary of an index, as plain values."""
    with index.reading() as (snapshot, captured):
        search = captured.search
        about, segments = snapshot.about(), search.folder.segments
        known = {
            "documents": snapshot.count(),
            "method": index.plan.method,
            "threshold": index.plan.threshold,
            "store": index.store,
            "statistics": about["statistics"],
            "last_sequence_number": snapshot.last(),
            "segments": len(segments),
            "postings": sum(segment.postings for segment in segments),
            "segment_bytes": sum(segment.bytes for segment in segments),
            "in_memory": search.in_memory[0],
            "damaged": list(search.folder.damaged),
            "plan": index.plan.digest,
            "format": about["format"],
        }
        if index.plan.counts:
            known["refresh_after"] = refresh_limit(about, index.plan, index.store)
            known["new_since_counted"] = new_since(snapshot, about)
    return known
