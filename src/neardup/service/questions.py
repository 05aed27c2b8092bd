"""Questions about documents, answered together: every match that a caller may see, and nothing about the others.

Hidden documents are dropped before anything is counted, cut or answered: an answer is that of an index without them.
Whether a document is new is decided by the matches that everybody with access to it may see (simhash thesis, 7.1.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers
from neardup.columns import Texts as TextColumn
from neardup.engines.core.documents import plan_fields, with_fields
from neardup.errors import ParameterError
from neardup.explain.passages import Comparison, shared_passages
from neardup.index.answers import selected
from neardup.index.documents import covers
from neardup.index.export import split_text
from neardup.index.index import Index
from neardup.index.lookup import candidates, matches_of
from neardup.index.matches import FoundMatches, Match
from neardup.index.search import CapturedSearch
from neardup.index.signed import SignedDocuments, stored_text
from neardup.index.truth import Attributes, Columns, Id, Snapshot, StoredRows
from neardup.plan import Plan
from neardup.service.models import MOST_EXPLAINED, Document
from neardup.service.problems import Problem
from neardup.service.tokens import Caller, effective_access

MOST_PASSAGES = 50
LONGEST_PASSAGE = 2000  # characters that are repeated of a passage
LONGEST_COMPARED = 4_000_000  # characters that are compared for the passages of one document
WITH_ACCESS = Columns(attributes=True)


@dataclass(frozen=True)
class Question:
    """Documents to look up, and for whom."""

    kind: Literal["query", "check"]
    documents: Sequence[Document]
    caller: Caller
    threshold: float | None = None
    limit: int = 100
    explain: bool = False


Answers = list[dict[str, Any]]


def texts_of(plan: Plan, documents: Sequence[Document]) -> TextColumn:
    """The texts of documents as the plan compares them."""
    names, texts = plan_fields(plan), [document.text for document in documents]
    if not names:
        return TextColumn.from_strings(texts)
    columns = [
        pa.array([document.fields.get(name, "") for document in documents], pa.string()) for name in names
    ]
    return TextColumn.from_arrow(with_fields(pa.array(texts, pa.large_string()), columns))


def check_fields(plan: Plan, documents: Sequence[Document]) -> None:
    """Refuse fields that the index does not compare."""
    known = set(plan_fields(plan))
    if any(document.fields and not document.fields.keys() <= known for document in documents):
        listed = ", ".join(sorted(known)) or "none"
        raise Problem("invalid-request", f"The index compares other fields; it has: {listed}.")


def check_question(index: Index, question: Question) -> None:
    """Refuse a question that the index cannot answer."""
    check_fields(index.plan, question.documents)
    try:
        index.check_threshold(question.threshold)
    except ParameterError as error:
        raise Problem("invalid-request", str(error)) from None
    if question.explain and index.store != "text":
        raise Problem("texts-not-stored", "Shared passages need texts, and the index does not store them.")


def check_statistics(plan: Plan, search: CapturedSearch) -> None:
    """Refuse to sign without the document frequencies that the method weighs by."""
    if plan.counts and search.signer.statistics is None:
        raise Problem(
            "statistics-missing",
            "Add the first documents with neardup index add: it counts document frequencies.",
        )


def answered(index: Index, questions: Sequence[Question]) -> list[Answers | Exception]:
    """The answers of each question, all from one committed state; callers with other groups are looked up apart."""
    groups: dict[frozenset[str] | None, list[int]] = {}
    for place, question in enumerate(questions):
        groups.setdefault(question.caller.groups, []).append(place)
    answers: list[Answers | Exception] = [[] for _ in questions]
    with index.reading() as (snapshot, search):
        check_statistics(index.plan, search)
        for places in groups.values():
            some = [questions[place] for place in places]
            for place, answer in zip(places, _together(index.plan, snapshot, search, some), strict=True):
                answers[place] = answer
    return answers


def _together(
    plan: Plan, snapshot: Snapshot, search: CapturedSearch, questions: Sequence[Question]
) -> Iterator[Answers]:
    """The answers of questions whose callers see the same documents."""
    signed = search.signer.sign(texts_of(plan, [one for question in questions for one in question.documents]))
    visible = visible_candidates(snapshot, search, signed, [questions[0].caller])
    found, rows = matches_of(search, snapshot, signed, visible)
    access = _access(snapshot, questions, found, rows)
    first = 0
    for question in questions:
        some = found.take(_between(found.asked, first, first + len(question.documents)))
        some = selected(plan, some, question.threshold)
        looked = _Looked(search, snapshot, question, some, rows, access, first)
        yield [looked.answer(n) for n in range(len(question.documents))]
        first += len(question.documents)


def visible_candidates(
    snapshot: Snapshot, search: CapturedSearch, signed: SignedDocuments, callers: Sequence[Caller]
) -> Numbers | None:
    """The numbers of candidates that a caller sees: hidden ones are not compared, which would take time."""
    if any(caller.groups is None for caller in callers):
        return None
    _, seqs = candidates(search, snapshot, signed)
    rows = snapshot.fetch(seqs, WITH_ACCESS)
    visible = [any(caller.sees(known) for caller in callers) for known in rows.attributes]
    return rows.seqs[np.array(visible, np.bool_)]


def _between(asked: Numbers, low: int, high: int) -> slice:
    """The places of the documents from `low` to `high` − 1."""
    begin, end = asked.searchsorted((low, high)).tolist()
    return slice(begin, end)


def _access(
    snapshot: Snapshot, questions: Sequence[Question], found: FoundMatches, rows: StoredRows
) -> dict[int, Attributes | None] | None:
    """The attributes of matched documents by number; None if every caller sees everything."""
    if all(question.caller.groups is None and question.kind == "query" for question in questions):
        return None
    stored = snapshot.fetch(rows.seqs[found.rows], WITH_ACCESS)
    return dict(zip(stored.seqs.tolist(), stored.attributes, strict=True))


@dataclass(frozen=True)
class _Looked:
    """The matches of one question."""

    search: CapturedSearch
    snapshot: Snapshot
    question: Question
    found: FoundMatches
    rows: StoredRows
    access: dict[int, Attributes | None] | None
    first: int  # the place of its first document in the batch

    def answer(self, number: int) -> dict[str, Any]:
        """The answer about one of the documents."""
        document, question = self.question.documents[number], self.question
        some = _between(self.found.asked, self.first + number, self.first + number + 1)
        places = [place for place in range(some.start, some.stop) if self._counts(document, place)]
        shown = [self.found.match(place, self.rows) for place in places[: question.limit]]
        matches = [match_dict(match) for match in shown]
        if question.explain:
            self._explain(document, matches)
        more = len(places) > question.limit
        if question.kind == "query":
            return {"id": document.id, "matches": matches, "more": more}
        status = "new" if not shown else "copy" if shown[0].relation == "copy" else "near-duplicate"
        first = shown[0].id if shown else None
        return {"id": document.id, "status": status, "duplicate_of": first, "matches": matches, "more": more}

    def _counts(self, document: Document, place: int) -> bool:
        """Whether a match exists for the caller, and for a check whether it makes the document a duplicate."""
        if self.access is None:
            return True
        row = int(self.found.rows[place])
        attributes, caller = self.access.get(int(self.rows.seqs[row])), self.question.caller
        if not caller.sees(attributes):
            return False
        if self.question.kind == "query":
            return True
        own = document.id is not None and str(document.id) == str(self.rows.ids[row])
        return not own and covers(access_of(attributes), effective_access(caller, document.access))

    def _explain(self, document: Document, matches: Answers) -> None:
        """Add the shared passages of the best matches."""
        signer, compared = self.search.signer, 0
        for match in matches[:MOST_EXPLAINED]:
            rows = self.snapshot.fetch(self.snapshot.find([match["id"]]), Columns(body=True))
            body = rows.bodies[0] if len(rows) else None
            if body is not None:
                text = split_text(signer.plan, stored_text(body))["text"] or ""
                compared += len(text) + len(document.text)
                if compared > LONGEST_COMPARED:
                    return
                match["passages"] = passages(
                    shared_passages(signer.plan, document.text, text, signer.statistics)
                )


def access_of(attributes: Attributes | None) -> frozenset[str] | None:
    """The groups with access to a document with these attributes; None: everybody."""
    return None if attributes is None or attributes.access is None else frozenset(attributes.access)


def match_dict(match: Match) -> dict[str, Any]:
    """A match as plain values; a probability only where the method has one."""
    known: dict[str, Any] = {"id": match.id, "similarity": match.similarity, "containment": match.containment}
    known["relation"] = match.relation
    return known if match.probability is None else {**known, "probability": match.probability}


def passages(comparison: Comparison) -> Answers:
    """The shared passages of the left text."""
    text = comparison.left.text
    shared = [passage for passage in comparison.left.passages if passage.shared][:MOST_PASSAGES]
    return [
        {
            "start": passage.start,
            "end": passage.end,
            "tokens": passage.tokens,
            "text": text[passage.start : min(passage.end, passage.start + LONGEST_PASSAGE)],
        }
        for passage in shared
    ]


# single documents ----------------------------------------------------------------------------------


def stored_document(index: Index, name: Id, caller: Caller) -> dict[str, Any]:
    """A document that the caller may see."""
    with index.reading() as (snapshot, _):
        rows = _visible(snapshot, name, caller, Columns(body=True, attributes=True))
    body, known = rows.bodies[0], rows.attributes[0] or Attributes()
    texts: dict[str, Any] = {"text": None}
    if index.store == "text" and body is not None:
        texts = split_text(index.plan, stored_text(body))
    return {
        "id": rows.ids[0],
        "text": texts.pop("text"),
        "fields": {field: value for field, value in texts.items() if value is not None},
        "characters": int(rows.characters[0]),
        "tokens": int(rows.tokens[0]),
        "access": None if known.access is None else list(known.access),
        "quality": known.quality,
        "time": known.time,
        "url": known.url,
    }


def _visible(snapshot: Snapshot, name: Id, caller: Caller, columns: Columns) -> StoredRows:
    rows = snapshot.fetch(snapshot.find([name]), columns)
    if not len(rows) or not caller.sees(rows.attributes[0]):
        raise Problem("document-not-found", "The index has no document with this id.")
    return rows


def cluster(
    index: Index,
    name: Id,
    caller: Caller,
    threshold: float | None,
    after: tuple[float, str] | None,
    limit: int,
) -> tuple[Id, Answers, bool]:
    """The id of a document, a page of its near-duplicates, best first, and whether more follow."""
    with index.reading() as (snapshot, search):
        columns = Columns(body=True, signature=search.signer.keeps_signatures, attributes=True)
        own = _visible(snapshot, name, caller, columns)
        signed = search.signer.restore(own)
        found, rows = matches_of(
            search, snapshot, signed, visible_candidates(snapshot, search, signed, [caller])
        )
        found = selected(index.plan, found, threshold)
        seqs = rows.seqs[found.rows]
        stored = snapshot.fetch(seqs, WITH_ACCESS)
        visible = {
            seq: caller.sees(known)
            for seq, known in zip(stored.seqs.tolist(), stored.attributes, strict=True)
        }
        visible[int(own.seqs[0])] = False  # a document is no near-duplicate of itself
        kept = [found.match(place, rows) for place, seq in enumerate(seqs.tolist()) if visible.get(seq)]
    start = 0 if after is None else _after(kept, *after)
    page = kept[start : start + limit]
    return own.ids[0], [match_dict(match) for match in page], start + limit < len(kept)


def _after(matches: Sequence[Match], similarity: float, name: str) -> int:
    """Where a page begins: behind the last match of the page before, or, if that is gone, at lower similarities."""
    for place, match in enumerate(matches):
        if str(match.id) == name:
            return place + 1
    lower = (n for n, match in enumerate(matches) if (match.similarity or 0.0) < similarity)
    return next(lower, len(matches))
