"""Apply: the run again with the decisions of people, into a folder of its own beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.decisions.store import DecisionStore
from neardup.errors import InputError
from neardup.pages.escaping import safe
from neardup.pages.parts import note, table, tiles
from neardup.plurals import counted
from neardup.review.folder import RunFolder
from neardup.studio.app_page import button, form, go, link, message, show
from neardup.studio.workbench_runs import BackgroundRun, RunTable, repeated

__all__ = ["REVIEWED", "command_of", "router", "runs_of"]

REVIEWED = "reviewed"  # the folder in the result
router = APIRouter()


def command_of(run: RunFolder, decisions: Path) -> list[str]:
    """The words of `neardup` that follow the decisions; an InputError says why the run cannot be repeated."""
    words = repeated(run, f"give --decisions {decisions} to neardup dedup, or decisions= to neardup.dedup")
    own = ["-o", str(run.path / REVIEWED), "--force", "--decisions", str(decisions)]
    return [words[0], *own, *words[1:]]


@router.get("/review/apply")
def page(request: Request) -> Response:
    """What people decided, and the button that applies it."""
    studio = request.app.state.studio
    run, store = studio.target.run, studio.kept["review"].store
    applying: BackgroundRun | None = runs_of(request).known.get(REVIEWED)
    return show(request, "Apply decisions", _body(request, run, store, applying))


def _body(request: Request, run: RunFolder, store: DecisionStore, applying: BackgroundRun | None) -> str:
    rows = [(name, count) for name, count in store.people().items()]
    standing = len(store.standing())
    head = (
        f"<h1>Apply decisions</h1>\n<p>The run is repeated with the decisions of people into "
        f"<code>{safe(run.path / REVIEWED)}</code>. The result that you review stays as it is.</p>\n"
    )
    head += (
        table("Decisions that stand", ("Person", "Decisions"), rows)
        if rows
        else note("Nobody has decided yet.")
    )
    head += note(f"They are about {counted(standing, 'document')}.") if standing else ""
    try:
        words = command_of(run, store.path)
    except InputError as error:
        return head + message(str(error), "error")
    shown = " ".join(["neardup", *words])
    head += f'<p class="note"><code>{safe(shown)}</code></p>'
    under_way = applying is not None and applying.code is None
    press = "" if under_way else form(request, "/review/apply", button("Apply", key="a", class_="primary"))
    back = link("/review", "Back to the review", class_="button")
    return f'{head}<div class="actions">{press}{back}</div>{_state(run, applying)}'


def _state(run: RunFolder, applying: BackgroundRun | None) -> str:
    if applying is None:
        return ""
    if applying.code is None:
        return (
            '<div data-reload="1500">'
            + message("The run is under way. This page shows the result when it ends.")
            + "</div>"
        )
    if applying.code:
        return message(f"The run ended with exit code {applying.code}.", "error") + _output(applying)
    try:
        report = json.loads((run.path / REVIEWED / "report.json").read_text(encoding="utf-8"))
        return _result(run.report, report) + _output(applying)
    except (OSError, ValueError, KeyError):
        return message("The result cannot be read.", "error") + _output(applying)


def _output(applying: BackgroundRun) -> str:
    return f'<details><summary>Output of the command</summary><pre class="text">{safe(applying.output)}</pre></details>'


def _result(before: dict[str, Any], after: dict[str, Any]) -> str:
    """The counts with and without people, and the decisions that could not be followed."""
    found = after["decisions"]
    lost = found["absent"] + found["changed"]
    figures = tiles([
        ("Kept", f"{after['kept']:,}", f"{after['kept'] - before['kept']:+,} with decisions"),
        ("Removed", f"{after['removed']:,}", f"{after['removed'] - before['removed']:+,} with decisions"),
        ("Followed", f"{found['applied']:,}", f"{found['restored']:,} restored, {found['removed']:,} removed"),
        ("Not followed", f"{lost:,}", f"{found['absent']:,} absent, {found['changed']:,} changed"),
    ])  # fmt: skip
    missed = [(one["id"], one["why"], one["action"], one["person"]) for one in found["not_applied"]]
    words = "Decisions that were not followed: the document, or the one that it duplicates, is absent or has changed"
    rows = table(words, ("Document", "Why", "Action", "Person"), missed) if missed else ""
    return message("The run has ended.", "done") + figures + rows


@router.post("/review/apply")
def apply(request: Request) -> Response:
    """Starts the run, unless one is under way."""
    studio = request.app.state.studio
    words = command_of(studio.target.run, studio.kept["review"].store.path)
    runs_of(request).start(REVIEWED, words)
    return go("/review/apply")


def runs_of(request: Request) -> RunTable:
    """The commands that the studio has started."""
    found: RunTable = request.app.state.studio.kept.setdefault("runs", RunTable())
    return found
