"""Review: clusters in order of risk, decided by people; every decision is stored before the next page is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import click
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.decisions.rules import ACTIONS, after
from neardup.decisions.store import Conflict, Decision, DecisionStore
from neardup.errors import InputError
from neardup.plans import comparison_plan
from neardup.studio import review_apply
from neardup.studio.app_gate import Refusal
from neardup.studio.app_page import go, message, show
from neardup.studio.app_sections import Section
from neardup.studio.review_build import index_file
from neardup.studio.review_cluster import ShownCluster, load_cluster
from neardup.studio.review_index import ClusterRow, Filters, ReviewIndex
from neardup.studio.review_page import address, cluster_view, conflict_notice, did, empty_view

if TYPE_CHECKING:
    from neardup.plan import Plan
    from neardup.studio.app import Studio

DECISIONS = "decisions.db"
router = APIRouter()


@dataclass(frozen=True)
class Review:
    """What the pages of the review read and write."""

    index: ReviewIndex
    store: DecisionStore
    plan: Plan


def review_of(request: Request) -> Review:
    """The review of a studio."""
    request.app.state.studio.target.run.check_unchanged()
    found: Review = request.app.state.studio.kept["review"]
    return found


@router.get("/review")
def cluster(request: Request) -> Response:
    """A cluster; without a name the riskiest one under the filters."""
    review, values = review_of(request), dict(request.query_params)
    filters = Filters.of(values)
    name = values.get("cluster", "")
    row = review.index.named(name) if name else review.index.next_after(filters, 0)
    if row is None and name:
        raise Refusal(404, "The result has no cluster of this name.")
    notice = _done(review, request, values.get("done", ""))
    if row is None:
        return show(request, "Review", notice + empty_view(review.index, filters))
    return _shown(request, row, filters, asked=values.get("doc", ""), notice=notice)


def _shown(
    request: Request,
    row: ClusterRow,
    filters: Filters,
    *,
    asked: str = "",
    notice: str = "",
    status: int = 200,
) -> Response:
    review = review_of(request)
    found = load_cluster(review.index, review.store, row)
    body = cluster_view(request, review.index, review.plan, found, filters, asked=asked, notice=notice)
    return show(request, f"Cluster {row.name}", body, status=status)


def _done(review: Review, request: Request, number: str) -> str:
    """The sentence about the decision that led to this page."""
    found = review.store.find(int(number)) if number.isdecimal() and len(number) < 16 else None
    if found is None or found.person != request.state.session.name:
        return ""
    return message(f"Stored: {did(found)}, in cluster {found.cluster}. Undo takes it back.", "done")


@router.post("/review/decide")
def decide(request: Request) -> Response:
    """Stores a decision, and shows the next cluster."""
    review, form, person = review_of(request), request.state.form, request.state.session.name
    filters = Filters.of(dict(parse_qsl(form.one("filters"))))
    row = review.index.named(form.id("cluster"))
    action = form.one("action")
    if row is None:
        raise Refusal(404, "The result has no cluster of this name.")
    try:
        if action == "undo":
            return _undone(review, person, filters)
        if action not in ACTIONS:
            raise Refusal(422, "The form has an action that this page does not know.")
        found = load_cluster(review.index, review.store, row)
        chosen = form.ids("marked") if action == "split" else _chosen(action, form.id("doc"))
        states = after(action, found.states, chosen)
        made = review.store.record(row.name, form.number("version"), action, chosen, states, person)
    except Conflict as conflict:
        notice = conflict_notice(str(conflict), conflict.since)
        return _shown(request, row, filters, asked=form.id("doc"), notice=notice, status=409)
    except InputError as error:
        return _shown(
            request, row, filters, asked=form.id("doc"), notice=message(str(error), "error"), status=422
        )
    return go(_next(review, found, filters, made))


def _chosen(action: str, selected: str) -> list[str]:
    return [] if action in ("confirm", "skip") else [selected]


def _undone(review: Review, person: str, filters: Filters) -> Response:
    """Takes the person's last decision back, and shows its cluster."""
    last = review.store.last_of(person)
    if last is None:
        raise InputError("You have no decision to undo.")
    made = review.store.undo(last.number, person)
    known = review.index.named(made.cluster)  # None: of a result that was in this folder before
    return go(address(filters, cluster=known.name if known else "", done=made.number))


def _next(review: Review, found: ShownCluster, filters: Filters, made: Decision) -> str:
    """Where to go after a decision: a pair is done with one, a larger cluster with a confirmation."""
    if made.action in ("confirm", "skip") or len(found.documents) == 2:
        following = review.index.next_after(filters, found.row.risk)
        return address(filters, cluster=following.name if following else "", done=made.number)
    return address(filters, cluster=found.row.name, done=made.number)


def routes(studio: Studio) -> APIRouter:
    """The pages; the index of the run is made first, if it is not there."""
    target = studio.target
    assert target.run is not None
    store = DecisionStore(target.folder / DECISIONS)
    path = index_file(
        target.run, target.by, target.date, lambda words: click.echo(f"neardup: {words}", err=True)
    )
    studio.kept["review"] = Review(ReviewIndex(path, store.path), store, comparison_plan(target.run.plan))
    made = APIRouter()
    made.include_router(router)
    made.include_router(review_apply.router)
    return made


SECTION = Section(
    "review",
    "Review",
    0,
    routes,
    serves=lambda target: target.run is not None,
    styles=("review.css",),
    scripts=("review.js",),
)
