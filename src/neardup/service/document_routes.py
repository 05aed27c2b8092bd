"""Documents added, replaced, read and deleted over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from neardup.service import models
from neardup.service.admission import admitted, check_batch, check_id, check_repeats, check_texts
from neardup.service.bodies import NDJSON, media_type, parse, whole
from neardup.service.changes import Change, Results
from neardup.service.core import Service
from neardup.service.described import BATCH, ERRORS, body
from neardup.service.handlers import in_time, json_answer, json_response, visitor
from neardup.service.models import Document
from neardup.service.problems import Problem
from neardup.service.questions import stored_document
from neardup.service.replays import ReplayKey, replay_key
from neardup.service.streams import Read, answer_lines, chunk_size
from neardup.service.tokens import Caller

router = APIRouter(responses=ERRORS)
LONGEST_KEY = 255


@router.post(
    "/v1/documents",
    summary="Add or replace documents; answered when they are durable.",
    responses={200: {"model": models.StoredAnswer}},
    openapi_extra=body(BATCH, models.Document, models.DocumentBatch),
)
async def add_documents(
    request: Request,
    if_new: Annotated[bool, Query(description="Add each document only if it is no duplicate.")] = False,
) -> Response:
    """One document, a batch (stored as a whole or not at all), or NDJSON (stored chunk by chunk)."""
    service, caller = visitor(request, "write", *(["read"] if if_new else []))
    given = request.headers.get("idempotency-key")
    if given is not None and not (0 < len(given) <= LONGEST_KEY):
        raise Problem("invalid-request", f"An idempotency key has 1 to {LONGEST_KEY} characters.")
    limits = service.settings.limits
    if media_type(request) in NDJSON:
        return await _add_lines(request, service, caller, if_new, given)
    with service.buffered.share() as share:
        data = await whole(request, limits, share)
        found = await parse_documents(data)
        check_batch(found, limits)
        check_texts(found, service.index.plan, limits)
        documents = admitted(found, caller)
        check_repeats(documents)
        key = None
        if given is not None:
            key = await asyncio.to_thread(replay_key, given, caller.name, bytes([if_new]) + data)
        rows = await in_time(service, _store(service, Change(caller, documents, if_new, key)))
    request.scope["state"]["documents"] = len(rows)
    return json_response({"results": rows, "counts": _counts(rows)})


async def parse_documents(data: bytes) -> Sequence[Document]:
    """One document, or those of a batch."""
    if b'"documents"' in data[:64]:
        return (await parse(models.DocumentBatch, data)).documents
    try:
        return [await parse(models.Document, data)]
    except Problem as problem:
        if b'"documents"' not in data:
            raise
        try:
            return (await parse(models.DocumentBatch, data)).documents
        except Problem:
            raise problem from None


async def _store(service: Service, change: Change, *, patient: bool = False) -> Results:
    rows = await service.changes.ask(change, len(change.documents) + len(change.delete), patient=patient)
    for row in rows:
        if "status" in row:
            service.metrics.documents.labels(row["status"]).inc()
    return rows


def _counts(rows: Results) -> dict[str, int]:
    counts = dict.fromkeys(models.StoredCounts.model_fields, 0)
    for row in rows:
        counts[row["status"]] += 1
    return counts


async def _add_lines(
    request: Request, service: Service, caller: Caller, if_new: bool, given: str | None
) -> Response:
    limits, plan = service.settings.limits, service.index.plan

    def check(document: Document) -> Document:
        check_texts([document], plan, limits)
        return admitted([document], caller)[0]

    def key(read: Read, part: int) -> ReplayKey | None:
        number = 2 + read.number * chunk_size(True, False) + part
        return None if given is None else replay_key(given, caller.name, bytes([if_new]) + read.raw, number)

    async def answer(read: Read) -> Results:
        rows: Results = []
        for part, some in enumerate(_without_repeats(read.documents)):
            change = Change(caller, some, if_new, await asyncio.to_thread(key, read, part) if given else None)
            rows += await _store(service, change, patient=True)
        return rows

    results = await answer_lines(request, service, chunk_size(True, if_new), check, answer)
    request.scope["state"]["documents"] = results.counts.total()
    return StreamingResponse(results.body(), media_type=NDJSON[0])


def _without_repeats(documents: Sequence[Document]) -> list[list[Document]]:
    """The documents in parts of which each has an id once: of equal ids the last one stays."""
    parts: list[list[Document]] = [[]]
    names: set[str] = set()
    for document in documents:
        if str(document.id) in names:
            parts.append([])
            names = set()
        names.add(str(document.id))
        parts[-1].append(document)
    return parts


@router.get(
    "/v1/documents/{id:id}",
    summary="A stored document.",
    responses={200: {"model": models.IndexedDocument}},
)
async def get_document(request: Request, id: str) -> Response:
    """A document that the token may see."""
    service, caller = visitor(request, "read")
    found = await in_time(service, service.single(stored_document, service.index, id, caller))
    return await json_answer(found, found["characters"])


@router.delete(
    "/v1/documents/{id:id}",
    summary="Delete a document; answered when that is durable.",
    responses={200: {"model": models.Deleted}},
)
async def delete_document(request: Request, id: str) -> Response:
    """Delete a document that the token may see and write."""
    service, caller = visitor(request, "write")
    check_id(id, caller)
    rows = await in_time(service, _store(service, Change(caller, delete=[id])))
    if not rows[0]["deleted"]:
        raise Problem("document-not-found", "The index has no document with this id.")
    return json_response(rows[0])
