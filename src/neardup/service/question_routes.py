"""Near-duplicates looked up, checked and compared over HTTP."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from neardup.explain.passages import shared_passages
from neardup.service import models
from neardup.service.admission import check_batch, check_texts
from neardup.service.bodies import NDJSON, media_type, parse, whole
from neardup.service.core import LOOKED_UP, Service
from neardup.service.described import COMPARE, ERRORS, QUERY, body
from neardup.service.handlers import in_time, json_answer, json_response, visitor
from neardup.service.models import MOST_MATCHES, Document
from neardup.service.problems import Problem
from neardup.service.questions import Answers, Question, check_question, cluster, passages
from neardup.service.streams import Read, answer_lines, chunk_size

router = APIRouter(responses=ERRORS)
# Options of NDJSON, whose lines are documents alone.
LinesThreshold = Annotated[models.Threshold | None, Query(description="For NDJSON.")]
LinesLimit = Annotated[int, Query(ge=1, le=MOST_MATCHES, description="For NDJSON.")]
LinesExplain = Annotated[bool, Query(description="For NDJSON.")]


@router.post(
    "/v1/query",
    summary="The near-duplicates of documents, best first, verified.",
    responses={200: {"model": models.QueryAnswer}},
    openapi_extra=body(QUERY, models.SingleQuery, models.BatchQuery),
)
async def query(
    request: Request,
    threshold: LinesThreshold = None,
    limit: LinesLimit = 100,
    explain: LinesExplain = False,
) -> Response:
    """One document, a batch, or NDJSON, whose options are in the query string."""
    return await _ask(request, "query", {"threshold": threshold, "limit": limit, "explain": explain})


@router.post(
    "/v1/check",
    summary="Whether documents are new, copies or near-duplicates. Nothing changes.",
    responses={200: {"model": models.CheckAnswer}},
    openapi_extra=body(QUERY, models.SingleQuery, models.BatchQuery),
)
async def check(
    request: Request,
    threshold: LinesThreshold = None,
    limit: LinesLimit = 100,
    explain: LinesExplain = False,
) -> Response:
    """A document is a duplicate only of documents that everybody with access to it may see."""
    return await _ask(request, "check", {"threshold": threshold, "limit": limit, "explain": explain})


async def _ask(request: Request, kind: Any, options: dict[str, Any]) -> Response:
    service, caller = visitor(request, "read")
    if media_type(request) in NDJSON:
        return await _ask_lines(request, service, Question(kind, [], caller, **options))
    limits, plan = service.settings.limits, service.index.plan
    with service.buffered.share() as share:
        documents, how = await parse_query(await whole(request, limits, share))
        check_batch(documents, limits)
        check_texts(documents, plan, limits)
        question = Question(kind, documents, caller, **how)
        check_question(service.index, question)
        answers = await in_time(service, _answers(service, question))
    request.scope["state"]["documents"] = len(documents)
    size = sum(2000 if how["explain"] else 150 for answer in answers for _ in answer["matches"])
    return await json_answer({"results": answers}, size)


async def _ask_lines(request: Request, service: Service, question: Question) -> Response:
    check_question(service.index, question)

    def checked(document: Document) -> Document:
        check_texts([document], service.index.plan, service.settings.limits)
        return document

    async def answer(read: Read) -> Answers:
        asked = replace(question, documents=read.documents)
        return await service.questions.ask(asked, len(read.documents), patient=True)

    results = await answer_lines(request, service, chunk_size(False, False), checked, answer)
    request.scope["state"]["documents"] = results.counts.total()
    return StreamingResponse(results.body(), media_type=NDJSON[0])


async def parse_query(data: bytes) -> tuple[Sequence[Document], dict[str, Any]]:
    """The documents of a question, and its options."""
    if b'"documents"' in data:
        try:
            batch = await parse(models.BatchQuery, data)
            return batch.documents, _options(batch)
        except Problem:
            if b'"documents"' in data[:64]:
                raise
    single = await parse(models.SingleQuery, data)
    return [single], _options(single)


def _options(asked: models.QueryOptions) -> dict[str, Any]:
    return {"threshold": asked.threshold, "limit": asked.limit, "explain": asked.explain}


async def _answers(service: Service, question: Question) -> Answers:
    """The answers, asked for in parts, so that small requests of others come in between."""
    if len(question.documents) <= LOOKED_UP:
        return await service.questions.ask(question, len(question.documents))
    found: Answers = []
    for start in range(0, len(question.documents), LOOKED_UP):
        part = replace(question, documents=question.documents[start : start + LOOKED_UP])
        found += await service.questions.ask(part, len(part.documents), patient=start > 0)
    return found


@router.get(
    "/v1/clusters/{id:id}",
    summary="The near-duplicates of an indexed document, verified.",
    responses={200: {"model": models.Cluster}},
)
async def get_cluster(
    request: Request,
    id: str,
    threshold: Annotated[models.Threshold | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_MATCHES)] = 100,
    cursor: Annotated[str | None, Query(max_length=2048)] = None,
) -> Response:
    """A page of matches, best first; `next` is the cursor of the page after it."""
    service, caller = visitor(request, "read")
    check_question(service.index, Question("query", [], caller, threshold))
    after = None if cursor is None else read_cursor(cursor)
    work = service.single(cluster, service.index, id, caller, threshold, after, limit)
    name, page, more = await in_time(service, work)
    following = make_cursor(page[-1]) if more else None
    return await json_answer({"id": name, "matches": page, "next": following}, 150 * len(page))


def make_cursor(match: dict[str, Any]) -> str:
    """Where a page ended."""
    value = json.dumps([match["similarity"] or 0.0, str(match["id"])])
    return base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[float, str]:
    """Where a page begins."""
    try:
        data = base64.b64decode(
            cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True
        )
        similarity, name = json.loads(data)
        if type(similarity) is not float or type(name) is not str:
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise Problem("invalid-request", "The cursor is not one of an earlier answer.") from None
    return similarity, name


@router.post(
    "/v1/compare",
    summary="How two texts relate, as the index measures it.",
    responses={200: {"model": models.Compared}},
    openapi_extra=body(COMPARE, models.TextPair),
)
async def compare(request: Request) -> Response:
    """Two texts; nothing is stored."""
    service, _ = visitor(request, "read")
    limits = service.settings.limits
    if media_type(request) in NDJSON:
        raise Problem("media-type-unknown", "Two texts are compared as application/json.")
    with service.buffered.share() as share:
        texts = await parse(models.TextPair, await whole(request, limits, share))
        for text in (texts.left, texts.right):
            check_texts([Document(text=text)], service.index.plan, limits)
        return json_response(await in_time(service, service.single(_compared, service, texts)))


def _compared(service: Service, texts: models.TextPair) -> dict[str, Any]:
    found = shared_passages(service.index.plan, texts.left, texts.right, service.index.statistics)
    names = ("similarity", "containment", "shared", "near_duplicates", "relation")
    answer = {name: getattr(found, name) for name in names}
    return {**answer, "passages": passages(found)} if texts.explain else answer
