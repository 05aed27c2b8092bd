"""Learn: a better detector from the labels so far, scored on held-out labels before and after, and a run with it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.errors import InputError
from neardup.labelling.corpus import documents_of, input_of
from neardup.labelling.detector import OTHERS, labelled_pairs, learn_from_labels, missing_labels, pool_scores
from neardup.labelling.suggestion import pool_size, score_pool, suggest
from neardup.pages.escaping import safe
from neardup.pages.parts import figure_text, note, table
from neardup.plurals import counted
from neardup.studio.app_page import button, form, link, message, show
from neardup.studio.app_sections import Section
from neardup.studio.label_shared import (
    LearnJob,
    has_store,
    interval_text,
    job_message,
    run_of,
    start_job,
    store_of,
    texts_of,
)
from neardup.workers import checked_threads

if TYPE_CHECKING:
    from neardup.studio.app import Studio

router = APIRouter()
FOLDER = "learned"  # of models, in the folder of the result
NEXT = 20
SEE = "The workbench shows what it changes, pair by pair."


@router.get("/learn")
def learned(request: Request) -> Response:
    """The labels so far, and what was learned from them."""
    if not has_store(request):
        body = "<h1>Learn from labels</h1>\n" + message("No labels yet.")
        return show(
            request, "Learn", body + f"<p>{link('/label', 'Begin to label', class_='button primary')}</p>"
        )
    store = store_of(request)
    labels = labelled_pairs(store)
    missing = missing_labels(labels)
    yes = sum(labels.values())
    body = (
        f"<h1>Learn from labels</h1>\n{job_message(request)}<p>{counted(len(labels), 'labelled pair')}: "
        f"{yes:,} near-duplicates, {len(labels) - yes:,} different.</p>\n"
    )
    if missing:
        body += (
            message(missing)
            + f"<p>{link('/label/pairs', 'Judge pairs', key='p', class_='button primary')}</p>"
        )
    else:
        body += (
            f'<div class="row">{form(request, "/learn", button("Learn", key="l", class_="primary"))}</div>'
        )
    last = store.rows("SELECT value FROM meta WHERE name = 'learned'")
    if last:
        body += _result(request, json.loads(last[0][0]), len(labels))
    return show(request, "Learn", body)


def _result(request: Request, found: dict[str, Any], labels: int) -> str:
    """The detectors beside each other, and what can be done with them."""
    rows = [
        (
            one["name"], figure_text(one["threshold"]), one["f1"], _interval(one["interval"]), one["precision"],
            one["recall"],
            "–" if not k else f"{one['difference']:+.3f}", "–" if not k else _interval(one["difference_interval"]),
            "–" if not k else one["changed"],
        )
        for k, one in enumerate(found["scored"])
    ]  # fmt: skip
    head = (
        "detector",
        "threshold",
        "F1",
        "95 %",
        "precision",
        "recall",
        "F1, change",
        "95 %",
        "labelled pairs decided otherwise",
    )
    held = f"On held-out labels: {counted(found['pairs'], 'pair')} in {counted(found['units'], 'group')} of documents"
    new = labels - found["pairs"]
    parts = [
        '<section aria-labelledby="found-h"><h2 id="found-h">Before and after</h2>',
        note(f"{new:,} labels came since: learn again.") if new > 0 else "",
        table(held, head, rows),
        "".join(note(one) for one in found["notes"]),
    ]
    if len(found["scored"]) > 1:
        run, best = found["scored"][0], found["scored"][1]
        parts.append(_advice(run, best))
    parts.append("</section>")
    if found.get("model"):
        parts.append(_model(request, found))
    if pool_size(store_of(request)):
        again = form(request, "/learn/next", button(f"Label the next {NEXT}", key="n"))
        parts.append(
            f'<section aria-labelledby="next-h"><h2 id="next-h">Next labels</h2><p>{_next(found)}</p>{again}</section>'
        )
    return "".join(parts)


def _interval(value: dict[str, float | None]) -> str:
    low, high = (float("nan") if value[name] is None else float(value[name] or 0) for name in ("low", "high"))
    return interval_text(low, high)


def _advice(run: dict[str, Any], best: dict[str, Any]) -> str:
    if best["threshold"] == run["threshold"]:
        return note(f"On these labels no threshold is better than {run['threshold']:g}.")
    if not best["changed"]:
        return note(
            f"The threshold {best['threshold']:g} decides all labelled pairs as the run does: label more."
        )
    sure = (best["difference_interval"]["low"] or 0) > 0
    how = "is better" if sure else "may be better, and is not surely so: label more"
    return note(f"The threshold {best['threshold']:g} {how}. {SEE}")


def _model(request: Request, found: dict[str, Any]) -> str:
    command = shlex.join(_command(request, found["model"], "OUT"))
    run = form(request, "/learn/run", button("Run with the model", key="r", class_="primary"))
    return (
        '<section aria-labelledby="model-h"><h2 id="model-h">The learned similarity</h2>'
        f"<p>The model is stored in <code>{safe(found['model'])}</code>. Run it here, or by hand:</p>"
        f"<p><code>{safe(command)}</code></p>{run}</section>"
    )


def _next(found: dict[str, Any]) -> str:
    changed = found.get("pool_changed")
    said = (
        "The pairs whose labels help most: the model is unsure about them, and they differ from each other."
    )
    if changed is not None:
        said += f" Of {found['pool']:,} sampled pairs the model decides {changed:,} otherwise than the run."
    return safe(said)


@router.post("/learn")
def learn(request: Request) -> Response:
    """Learns, as a job."""
    store, run, threads = store_of(request), run_of(request), checked_threads(None)
    labels = labelled_pairs(store)
    if said := missing_labels(labels):
        raise InputError(said)
    pool = [(a, b) for a, b in store.rows("SELECT a, b FROM pool ORDER BY a, b LIMIT 5000")]

    def work(job: LearnJob) -> str:
        job.at = "read texts"
        ends = {end for pair in (*labels, *pool) for end in pair}
        found = texts_of(request, ends, OTHERS)
        absent = [pair for pair in labels if not set(pair) <= found.texts.keys()]
        known = {pair: label for pair, label in labels.items() if pair not in set(absent)}
        if absent:
            job.note(
                f"{counted(len(absent), 'pair')} left out: the input does not have their documents any more."
            )
        documents = documents_of({**found.others, **found.texts})
        learned = learn_from_labels(documents, known, run.plan, threads=threads, progress=job)
        result = learned.as_dict()
        if learned.model is not None:
            path = _write_model(run.path, learned.model)
            result["model"] = str(path)
            job.at = "score the pool"
            scores = pool_scores(documents, run.plan, learned.model, path, pool, threads)
            score_pool(store, scores)
            result["pool"] = len(scores)
            result["pool_changed"] = sum(
                (one.score >= learned.model.threshold) != (one.similarity >= run.plan.threshold)
                for one in scores
            )
        with store.writing() as db:
            db.execute("REPLACE INTO meta VALUES ('learned', ?)", (json.dumps(result),))
        return f"Learned from {counted(len(known), 'pair')}."

    return start_job(request, "Learn", "/learn", work)


def _write_model(folder: Path, model: Any) -> Path:
    """Stores the model beside the result, under a name of its own."""
    target = folder / FOLDER
    target.mkdir(exist_ok=True)
    path = target / f"model-{time.strftime('%Y%m%d-%H%M%S')}.json"
    model.write(path)
    return path


def _command(request: Request, model: str, output: str) -> list[str]:
    """The command that runs the model over the same input."""
    words = list(run_of(request).report.get("compare") or [])
    inputs = [words[k + 1] for k, word in enumerate(words[:-1]) if word == "--in"]
    place = input_of(run_of(request))
    options: list[str] = []
    if place.columns.text:
        options += ["--text-column", place.columns.text]
    if place.columns.id:
        options += ["--id-column", place.columns.id]
    if place.format:
        options += ["--format", place.format]
    if place.columns.html is not None:
        options.append("--html" if place.columns.html else "--no-html")
    if place.columns.html_text != "article":
        options += ["--html-text", place.columns.html_text]
    return ["neardup", "dedup", *inputs, "-o", output, "--method", "andd", "--model", model, *options]


@router.post("/learn/run")
def run_again(request: Request) -> Response:
    """Runs the model over the same input, into a folder beside the result."""
    last = store_of(request).rows("SELECT value FROM meta WHERE name = 'learned'")
    model = json.loads(last[0][0]).get("model") if last else None
    if model is None or not Path(model).exists():
        raise InputError("No model is stored: learn one first.")
    run = run_of(request)
    home = run.path.resolve()
    output = next(
        path for k in range(1, 10_000) if not (path := home.with_name(f"{home.name}-learned-{k}")).exists()
    )
    command = _command(request, model, str(output))

    def work(job: LearnJob) -> str:
        job.at = "run"
        done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            raise InputError(f"The run ended with an error: {lines[-1] if lines else 'no message'}")
        report, before = json.loads((output / "report.json").read_text()), run.report
        compare = shlex.join(["neardup", "studio", str(run.path), "--compare", str(output)])
        return (
            f"Removed {_removed(report):,} of {_read(report):,} documents; the run before removed "
            f"{_removed(before):,}. Compare them: {compare}"
        )

    return start_job(request, "Run with the model", "/learn", work)


def _removed(report: dict[str, Any]) -> int:
    return int(report["removed"])


def _read(report: dict[str, Any]) -> int:
    return int(report["documents"])


@router.post("/learn/next")
def next_pairs(request: Request) -> Response:
    """Adds the pairs whose labels help most, as a job."""
    store, threshold = store_of(request), run_of(request).plan.threshold

    def work(job: LearnJob) -> str:
        pairs = suggest(store, NEXT, threshold)
        job.at = "read texts"
        found = texts_of(request, {end for one in pairs for end in (one.a, one.b)})
        known = [one for one in pairs if one.a in found.texts and one.b in found.texts]
        return f"{store.add(known, found.texts, found.raw):,} pairs added."

    return start_job(request, "Choose pairs", "/label/pairs", work)


def routes(studio: Studio) -> APIRouter:
    """The pages of this section."""
    return router


SECTION = Section(
    "learn", "Learn", 30, routes, serves=lambda target: target.run is not None, styles=("label.css",)
)
