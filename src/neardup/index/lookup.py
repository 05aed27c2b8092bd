"""Documents to their matches in an index: keys are looked up, rows fetched, and candidates compared."""

from __future__ import annotations

import numpy as np

from neardup.columns import Numbers, Texts
from neardup.engines.core.compare import compares_kept_signatures
from neardup.index.matches import FoundMatches, find_matches
from neardup.index.postings import probe_keys
from neardup.index.search import CapturedSearch
from neardup.index.signed import SignedDocuments, Signer
from neardup.index.truth import Columns, Snapshot, StoredRows

CANDIDATES = 1 << 14  # stored documents that are compared together: their features are in memory


def matches_of(
    search: CapturedSearch, snapshot: Snapshot, documents: SignedDocuments, among: Numbers | None = None
) -> tuple[FoundMatches, StoredRows]:
    """All matches of a batch of documents, best first for each, and the rows that they are of.

    `among` are the sequence numbers, ascending, of the only stored documents to compare with.
    """
    asked, seqs = candidates(search, snapshot, documents)
    if among is not None:
        place = np.minimum(np.searchsorted(among, seqs), len(among) - 1)
        inside = among[place] == seqs if len(among) else np.zeros(len(seqs), np.bool_)
        asked, seqs = asked[inside], seqs[inside]
    needed = _needed(search.signer)
    distinct = seqs if len(documents) == 1 else np.unique(seqs)
    if len(distinct) <= CANDIDATES:
        return _compared(search.signer, documents, snapshot.fetch(distinct, needed), asked, seqs)
    parts = []
    for start in range(0, len(distinct), CANDIDATES):
        some = distinct[start : start + CANDIDATES]
        inside = (seqs >= some[0]) & (seqs <= some[-1])
        rows = snapshot.fetch(some, needed)
        parts.append(_compared(search.signer, documents, rows, asked[inside], seqs[inside]))
    return _joined(parts)


def matches_of_texts(
    search: CapturedSearch, snapshot: Snapshot, texts: Texts
) -> tuple[FoundMatches, StoredRows]:
    """All matches of texts, best first for each; none in an index that is empty and has nothing to weigh by."""
    if search.signer.plan.counts and search.signer.statistics is None:
        return _joined([])
    return matches_of(search, snapshot, search.signer.sign(texts))


def candidates(
    search: CapturedSearch, snapshot: Snapshot, documents: SignedDocuments
) -> tuple[Numbers, Numbers]:
    """Each candidate once: the place of the document that is asked about, and a sequence number."""
    probes = probe_keys(search.signer.plan, documents.made, documents.digests)
    place, seqs = search.look_up(snapshot, probes.keys)
    asked = probes.documents[place]
    order = np.lexsort((seqs, asked))
    asked, seqs = asked[order], seqs[order]
    fresh = np.ones(len(asked), np.bool_)
    fresh[1:] = (asked[1:] != asked[:-1]) | (seqs[1:] != seqs[:-1])
    return asked[fresh], seqs[fresh]


def _needed(signer: Signer) -> Columns:
    """The columns of a row that the check compares."""
    signatures = compares_kept_signatures(signer.plan)
    return Columns(
        body=signer.plan.check.level != "none" and not signatures,
        signature=signatures or signer.plan.candidates.distribution == "hamming",
    )


def _compared(
    signer: Signer, documents: SignedDocuments, rows: StoredRows, asked: Numbers, seqs: Numbers
) -> tuple[FoundMatches, StoredRows]:
    place = np.searchsorted(rows.seqs, seqs)
    there = place < len(rows)
    there[there] = rows.seqs[place[there]] == seqs[there]  # the others are deleted
    return find_matches(signer, documents, rows, asked[there], place[there]), rows


def _nothing() -> tuple[FoundMatches, StoredRows]:
    none, values = np.zeros(0, np.int64), np.zeros(0)
    digests = np.zeros(0, np.uint64)
    rows = StoredRows(none, [], digests, digests, none, none)
    return FoundMatches(none, none, values, values, np.zeros(0, np.int8), None), rows


def _joined(parts: list[tuple[FoundMatches, StoredRows]]) -> tuple[FoundMatches, StoredRows]:
    """Matches of several groups of rows as those of one; bodies are not needed any more."""
    parts = [_nothing(), *parts]
    starts = np.cumsum([0, *(len(rows) for _, rows in parts)])
    found = [matches for matches, _ in parts]
    likely = [matches.probability for matches in found if matches.probability is not None]
    whole = FoundMatches(
        np.concatenate([matches.asked for matches in found]),
        np.concatenate([matches.rows + start for matches, start in zip(found, starts, strict=False)]),
        np.concatenate([matches.similarity for matches in found]),
        np.concatenate([matches.containment for matches in found]),
        np.concatenate([matches.relation for matches in found]),
        np.concatenate(likely) if likely else None,
    )
    stored = [rows for _, rows in parts]
    rows = StoredRows(
        np.concatenate([one.seqs for one in stored]),
        [name for one in stored for name in one.ids],
        np.concatenate([one.low for one in stored]),
        np.concatenate([one.high for one in stored]),
        np.concatenate([one.characters for one in stored]),
        np.concatenate([one.tokens for one in stored]),
    )
    return whole.take(whole.best_first(rows.seqs)), rows
