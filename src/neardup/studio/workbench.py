"""Workbench: what another threshold or another result would merge and split, pair by pair."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.errors import InputError
from neardup.pages.escaping import safe
from neardup.pages.parts import note, share, table, tiles
from neardup.pages.thresholds import SimilarityCounts, threshold_section
from neardup.plans import comparison_plan
from neardup.review.evidence import decided_by, read_clusters, read_pairs
from neardup.review.folder import RunFolder
from neardup.studio.app_gate import Refusal
from neardup.studio.app_page import button, form, go, link, message, show
from neardup.studio.app_sections import Section
from neardup.studio.review_apply import runs_of
from neardup.studio.review_build import FOLDER, index_file
from neardup.studio.workbench_index import ComparedRuns, compare_indexes
from neardup.studio.workbench_lists import below_threshold, compared_list, count_below
from neardup.studio.workbench_pairs import PairList, pair_page
from neardup.studio.workbench_runs import at_threshold, finished_at

if TYPE_CHECKING:
    from neardup.studio.app import Studio

GIVEN = "compare"  # the name of the result of --compare
router = APIRouter()


def run_of(request: Request) -> RunFolder:
    """The result that the studio shows."""
    run: RunFolder | None = request.app.state.studio.target.run
    assert run is not None
    run.check_unchanged()
    return run


def index_of(request: Request, run: RunFolder) -> Path:
    """The index of a result; it is made on demand."""
    target = request.app.state.studio.target
    own = run is target.run
    by, date = (target.by, target.date) if own else (None, None)
    return index_file(run, by, date, lambda words: click.echo(f"neardup: {words}", err=True))


def number(text: str, otherwise: float) -> float:
    """A threshold of an address or a form."""
    try:
        value = float(text) if text else otherwise
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise Refusal(422, "A threshold is a number above 0 and up to 1.")
    return value


@router.get("/workbench")
def thresholds(request: Request) -> Response:
    """Counts at a threshold, the pairs that come apart, and results to compare."""
    run = run_of(request)
    threshold = number(request.query_params.get("threshold", ""), run.plan.threshold)
    similarities = _similarities(request, run)
    body = (
        f"<h1>Thresholds and results</h1>\n{_intro(run)}{_chosen(request, run, threshold, similarities)}"
        f'<section aria-labelledby="others-h"><h2 id="others-h">Compare with another result</h2>'
        f"{_others(request, run, threshold)}</section>"
        '<section aria-labelledby="all-h"><h2 id="all-h">All thresholds</h2>'
        f"{threshold_section(similarities)}</section>"
    )
    return show(request, "Workbench", body)


def _intro(run: RunFolder) -> str:
    report = run.report
    words = (
        f"{run.plan.method} at a threshold of {run.plan.threshold:g} removes {report['removed']:,} of "
        f"{report['documents']:,} documents ({share(report['removed'], report['documents'])}) in "
        f"{report['clusters']:,} clusters."
    )
    return f"<p>{safe(words)}</p>\n"


def _similarities(request: Request, run: RunFolder) -> SimilarityCounts:
    """Recorded pairs and removals by similarity, read once."""
    kept = request.app.state.studio.kept
    if "similarities" not in kept:
        clusters, pairs = read_clusters(run, ()), read_pairs(run, ())
        kept["similarities"] = SimilarityCounts(
            run.plan.threshold,
            decided_by(run.plan),
            pairs.bins.tolist(),
            clusters.bins.tolist(),
            clusters.unmeasured,
            verified=run.plan.check.level != "none",
        )
    found: SimilarityCounts = kept["similarities"]
    return found


def _chosen(request: Request, run: RunFolder, threshold: float, found: SimilarityCounts) -> str:
    """The form of the threshold, and what the recorded evidence says about it."""
    fields = (
        '<label for="at">Threshold</label>'
        f'<input id="at" name="threshold" type="number" min="0.01" max="1" step="0.01" value="{threshold:g}" '
        'data-key="t" data-help="Type a threshold">'
    )
    steps = "".join(
        link(f"/workbench?threshold={value:g}", label, key=key, class_="button", help=f"{label}: {value:g}")
        for value, label, key in (
            (round(threshold - 0.05, 4), "Lower", "-"),
            (round(threshold + 0.05, 4), "Higher", "+"),
        )
        if run.plan.threshold <= value <= 1
    )
    chosen = f'<form class="line" method="get" action="/workbench">{fields}{button("Show")}{steps}</form>'
    if threshold < run.plan.threshold:
        words = "Less similar pairs were not recorded: run at this threshold, and compare both results pair by pair."
        return chosen + message(words)
    total = run.report["removed"]
    below, near = count_below(index_of(request, run), threshold)
    figures = tiles([
        ("Removals", f"{total - below:,}", f"of {total:,} have the evidence"),
        ("Apart", f"{below:,}", "pairs below the threshold"),
        ("Still", f"{near:,}", "of these reach it with another"),
    ])  # fmt: skip
    look = f"/workbench/pairs?list=below&threshold={threshold:g}&at=1"
    press = (
        link(look, "Look at the pairs that come apart", key="Enter", class_="button primary") if below else ""
    )
    words = (
        "Recorded evidence: a removal stays if it reaches the threshold with the document that it duplicates. What "
        "comes apart may still duplicate another document; the run at this threshold decides exactly."
    )
    return f'{chosen}{figures}<div class="actions">{press}</div>{note(words)}'


def _others(request: Request, run: RunFolder, threshold: float) -> str:
    """The result of --compare, the run at this threshold, and those that were made before."""
    compared = request.app.state.studio.target.compared
    rows = []
    if compared is not None:
        rows.append((compared.name, f"/workbench/compare?with={GIVEN}", compared))
    for folder in sorted((run.path / FOLDER).glob("threshold-*")):
        text = folder.name.removeprefix("threshold-")
        with suppress(InputError, ValueError):  # one that is damaged is run again
            found = finished_at(run, float(text))
            if found is not None:
                rows.append((f"threshold {text}", f"/workbench/compare?with={text}", found))
    body = "".join(
        f'<tr><th scope="row">{link(where, name)}</th><td>{safe(other.plan.method)}</td>'
        f'<td class="n">{other.plan.threshold:g}</td><td class="n">{other.report["removed"]:,}</td></tr>'
        for name, where, other in rows
    )
    shown = ""
    if rows:
        head = (
            '<th scope="col">Result</th><th scope="col">Method</th><th scope="col" class="n">Threshold</th>'
        )
        head += '<th scope="col" class="n">Removed</th>'
        shown = (
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )
    return shown + _run_form(request, run, threshold)


def _run_form(request: Request, run: RunFolder, threshold: float) -> str:
    """The button that runs at the threshold, or how far that run is."""
    if threshold == run.plan.threshold:
        return note("Choose another threshold to run at it, or name another result with --compare.")
    started = runs_of(request).known.get(f"{threshold:g}")
    if started is not None and started.code is None:
        words = message("The run is under way. This page shows it when it has ended.")
        return f'<div data-reload="1500">{words}</div>'
    failed = ""
    if started is not None and started.code:
        output = (
            f'<details open><summary>Output</summary><pre class="text">{safe(started.output)}</pre></details>'
        )
        failed = message(f"The run ended with exit code {started.code}.", "error") + output
    try:
        words = " ".join(["neardup", *at_threshold(run, threshold)])
    except InputError as error:
        return message(str(error))
    press = button(f"Run at {threshold:g}", key="a", help="Run at this threshold")
    command = f'<p class="note"><code>{safe(words)}</code></p>'
    return failed + form(request, "/workbench/run", press, {"threshold": f"{threshold:g}"}) + command


@router.post("/workbench/run")
def run_again(request: Request) -> Response:
    """Starts the run at a threshold."""
    run, threshold = run_of(request), number(request.state.form.one("threshold"), 0.0)
    runs_of(request).start(f"{threshold:g}", at_threshold(run, threshold))
    return go(f"/workbench?threshold={threshold:g}")


def _other(request: Request, name: str) -> RunFolder:
    """The result to compare with: that of --compare, or the run at a threshold."""
    if name == GIVEN:
        found: RunFolder | None = request.app.state.studio.target.compared
    else:
        found = finished_at(run_of(request), number(name, 0.0))
    if found is None:
        raise Refusal(404, "This result is not here: run at the threshold first, or give --compare.")
    return found


def _compared(request: Request, other: RunFolder) -> tuple[ComparedRuns, list[Path]]:
    own, theirs = index_of(request, run_of(request)), index_of(request, other)
    return compare_indexes(own, theirs), [own, theirs]


@router.get("/workbench/compare")
def compare(request: Request) -> Response:
    """Two results beside each other: settings, counts, and the lists of pairs."""
    name = request.query_params.get("with", GIVEN)
    run, other = run_of(request), _other(request, name)
    counts = _compared(request, other)[0].counts
    figures = tiles([
        ("Merged", f"{counts['merged']:,}", "pairs that the other result adds"),
        ("Split", f"{counts['split']:,}", "pairs that the other result leaves out"),
        ("Both", f"{counts['removed_both']:,}", "documents that both remove"),
        ("Swapped", f"{counts['swapped']:,}", "kept here, removed there"),
    ])  # fmt: skip
    rows: list[tuple[str, str, str]] = [
        ("Method", run.plan.method, other.plan.method),
        ("Threshold", f"{run.plan.threshold:g}", f"{other.plan.threshold:g}"),
        ("Clusters of", run.plan.clustering.kind, other.plan.clustering.kind),
        ("Removed", f"{run.report['removed']:,}", f"{other.report['removed']:,}"),
        ("Clusters", f"{counts['clusters_a']:,}", f"{counts['clusters_b']:,}"),
    ]
    looks = "".join(
        link(f"/workbench/pairs?list={side}&with={name}&at=1", label, key=key, class_="button primary")
        for side, label, key in (
            ("merged", "Newly merged", "m"),
            ("split", "Newly split", "s"),
            ("swapped", "Swapped", "w"),
        )
        if counts[side]
    )
    body = (
        f"<h1>{safe(run.name)} and {safe(other.name)}</h1>{figures}"
        f'<div class="actions">{looks}{link("/workbench", "Back", key="b", class_="button")}</div>'
        f"{table('Settings and counts', ('Setting', run.name, other.name), rows)}"
    )
    return show(request, "Two results compared", body)


@router.get("/workbench/pairs")
def pairs(request: Request) -> Response:
    """A pair of a list."""
    values = request.query_params
    run, name = run_of(request), values.get("list", "")
    listed, indexes, back = _list(request, run, name)
    at = values.get("at", "1")
    place = int(at) if at.isdecimal() and len(at) < 12 else 0
    if not 1 <= place <= listed.count:
        raise Refusal(404, "The list has no pair at this place.")
    body = pair_page(listed, place, indexes, comparison_plan(run.plan), back)
    return show(request, listed.heading, body)


def _list(request: Request, run: RunFolder, name: str) -> tuple[PairList, list[Path], str]:
    """The list of a name, the indexes that have its texts, and the page that it belongs to."""
    values = request.query_params
    if name == "below":
        threshold = number(values.get("threshold", ""), run.plan.threshold)
        index = index_of(request, run)
        return below_threshold(index, threshold), [index], f"/workbench?threshold={threshold:g}"
    other = values.get("with", GIVEN)
    compared, indexes = _compared(request, _other(request, other))
    if name not in ("merged", "split", "swapped"):
        raise Refusal(404, "No list has this name.")
    return compared_list(compared, name, other), indexes, f"/workbench/compare?with={other}"


def routes(studio: Studio) -> APIRouter:
    """The pages."""
    return router


SECTION = Section(
    "workbench",
    "Workbench",
    1,
    routes,
    serves=lambda target: target.run is not None,
    styles=("review.css", "workbench.css"),
    scripts=("pages.js", "review.js"),
)
