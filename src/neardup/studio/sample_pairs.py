"""The form that draws pairs to label: spread, from methods, around the threshold, found by the run, or suggested."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.evaluate.specs import make_specs
from neardup.labelling.corpus import columns_of, input_of
from neardup.labelling.pair_samples import (
    UNION,
    around_threshold,
    found_pairs,
    from_methods,
    has_threshold,
    in_words,
    spread_evenly,
)
from neardup.labelling.store import NewPair
from neardup.labelling.suggestion import add_to_pool, pool_size, suggest
from neardup.pages.escaping import safe
from neardup.review.evidence import decided_by
from neardup.studio.app_gate import Refusal
from neardup.studio.app_page import button, form, go
from neardup.studio.label_shared import LearnJob, has_store, label_page, run_of, start_job, store_of, texts_of
from neardup.workers import checked_threads

router = APIRouter()
MOST = 100_000
KINDS = {
    "spread": (
        "Spread over all similarities",
        "About equally many pairs of each similarity, from documents that share a phrase. For truth to evaluate, "
        "tune and learn with.",
    ),
    "threshold": (
        "Around the threshold",
        "The pairs nearest to the threshold of the run, on both sides of it.",
    ),
    "methods": (
        "From a union of methods",
        "Pairs that at least one of these methods finds, equally many of those that each set of methods finds:",
    ),
    "found": (
        "Found by the run",
        "A uniform sample of the pairs that the run found. 200 labels estimate its precision, with an interval.",
    ),
    "suggested": (
        "Suggested",
        "The pairs whose labels help most: uncertain under the current model, spread over similarity, of different "
        "documents.",
    ),
}


@router.get("/label/sample")
def sample(request: Request) -> Response:
    """The form."""
    if not has_store(request):
        return go("/label")
    store, plan = store_of(request), run_of(request).plan
    left_out = set() if has_threshold(plan) else {"threshold"}
    left_out |= set() if pool_size(store) else {"suggested"}
    radios = "".join(_kind(name, *words) for name, words in KINDS.items() if name not in left_out)
    field = (
        f"<fieldset><legend>Which pairs</legend>{radios}</fieldset><label>How many pairs"
        f'<input type="number" name="count" value="100" min="1" max="{MOST}" required></label>'
    )
    body = "<h1>Draw pairs to label</h1>\n" + form(
        request,
        "/label/sample",
        field + button("Draw", key="Enter", class_="primary"),
        class_="stacked sample",
    )
    return label_page(request, "Sample", body)


def _kind(name: str, title: str, about: str) -> str:
    checked = " checked" if name == "spread" else ""
    extra = (
        f'<input name="methods" value="{safe(" ".join(UNION))}" aria-label="Methods, with spaces between them">'
        if name == "methods"
        else ""
    )
    return (
        f'<div class="kind"><label><input type="radio" name="kind" value="{name}"{checked}> {safe(title)}</label>'
        f'<p class="note">{safe(about)}</p>{extra}</div>'
    )


@router.post("/label/sample")
def draw(request: Request) -> Response:
    """Draws the pairs, as a job, and stores them with the texts of their documents."""
    given = request.state.form
    kind, count = given.one("kind"), given.number("count")
    if kind not in KINDS or not 1 <= count <= MOST:
        raise Refusal(422, f"Choose which pairs, and from 1 to {MOST:,} of them.")
    specs = make_specs(given.one("methods").split()) if kind == "methods" else []
    store = store_of(request)

    def work(job: LearnJob) -> str:
        pairs = _drawn(request, kind, count, specs, job)
        job.at = "read texts"
        found = texts_of(request, {end for one in pairs for end in (one.a, one.b)})
        known = [one for one in pairs if one.a in found.texts and one.b in found.texts]
        added = store.add(known, found.texts, found.raw)
        if len(known) < len(pairs):
            job.note(
                f"{len(pairs) - len(known):,} pairs left out: the input does not have their documents any more."
            )
        old = f" {len(known) - added:,} of them were here before." if added < len(known) else ""
        less = f" The {count:,} that you asked for were not found." if len(pairs) < count else ""
        return f"{in_words(known)}.{old}{less}"

    return start_job(request, "Draw pairs", "/label", work)


def _drawn(request: Request, kind: str, count: int, specs: list, job: LearnJob) -> list[NewPair]:  # type: ignore[type-arg]
    run, store = run_of(request), store_of(request)
    if kind == "found":
        measure = decided_by(run.plan)
        return found_pairs(run.table("pairs", ("left", "right", measure)), count, measure)
    if kind == "suggested":
        return suggest(store, count, run.plan.threshold)
    place = input_of(run)
    columns, threads = columns_of(place), checked_threads(None)
    if kind == "spread":
        chosen, pool = spread_evenly(place.open, columns, count, threads=threads, progress=job)
        add_to_pool(store, pool)
        return chosen
    if kind == "threshold":
        found = around_threshold(place.open, columns, 4 * count, run.plan, threads=threads, progress=job)
    else:
        found = from_methods(place.open, columns, 4 * count, specs, threads=threads, progress=job)
    add_to_pool(store, found)
    return found[:count]
