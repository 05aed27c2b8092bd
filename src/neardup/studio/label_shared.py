"""What all labelling pages share: the store of labels, the job that runs, tabs and small parts."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from neardup.engines.core.progress import Progress
from neardup.errors import InputError, NeardupError, StorageError
from neardup.labelling.corpus import CorpusTexts, input_of, read_texts
from neardup.labelling.store import LabelStore
from neardup.pages.escaping import safe
from neardup.pages.parts import figure_text
from neardup.review.folder import RunFolder
from neardup.studio.app_page import go, message, show

if TYPE_CHECKING:
    from neardup.studio.app import Studio

__all__ = [
    "LearnJob",
    "close_store",
    "interval_text",
    "job_of",
    "label_page",
    "run_of",
    "said",
    "start_job",
    "store_of",
    "tabs",
]

FILE = "labels.db"
SAYINGS = {
    "stored": "Stored.",
    "undone": "Your last answer is withdrawn: answer again.",
    "nothing": "You have no answer to undo.",
    "late": "Others have judged this item meanwhile: your answer is not needed and was not stored.",
    "saved": "The protocol is stored.",
    "tagged": "The cluster is stored.",
    "untagged": "Your last cluster is withdrawn: tag it again.",
    "skipped": "Skipped: you will not get it again.",
}
_lock = threading.Lock()


def studio_of(request: Request) -> Studio:
    """The studio of a request."""
    found: Studio = request.app.state.studio
    return found


def run_of(request: Request) -> RunFolder:
    """The run that the studio shows."""
    run = studio_of(request).target.run
    assert run is not None  # the section serves runs only
    return run


def store_path(request: Request) -> Path:
    """Where the labels are, or would be."""
    return studio_of(request).target.folder / FILE


def has_store(request: Request) -> bool:
    """Whether labelling has begun."""
    return store_path(request).exists()


def store_of(request: Request) -> LabelStore:
    """The store of labels beside the result; it is made on first use."""
    kept, path = studio_of(request).kept, store_path(request)
    with _lock:
        if "labels" in kept and not path.exists():
            raise StorageError(f"{path} has vanished: put it back, and start the studio again.")
        if "labels" not in kept:
            kept["labels"] = LabelStore(path)
        found: LabelStore = kept["labels"]
    return found


def close_store(studio: Studio) -> None:
    """Closes the store at the end."""
    if "labels" in studio.kept:
        studio.kept.pop("labels").close()


def texts_of(request: Request, ids: Any, others: int = 0) -> CorpusTexts:
    """The texts of documents from the input of the run."""
    return read_texts(input_of(run_of(request)), ids, others)


# jobs -----------------------------------------------------------------------------------------------


@dataclass
class LearnJob(Progress):
    """Work in a thread of its own: one at a time; pages show how far it is."""

    name: str = ""
    back: str = "/label"  # the page that has the result
    started: float = field(default_factory=time.monotonic)
    at: str = ""  # the stage
    done: bool = False
    result: str = ""
    error: str = ""
    notes: list[str] = field(default_factory=list)

    def begin(self, name: str, total: int | None) -> None:
        """A stage begins."""
        self.at = name

    def note(self, message: str) -> None:
        """A message for the user."""
        self.notes.append(message)


def job_of(request: Request) -> LearnJob | None:
    """The last job."""
    found: LearnJob | None = studio_of(request).kept.get("job")
    return found


def start_job(request: Request, name: str, back: str, work: Callable[[LearnJob], str]) -> Response:
    """Starts a job and shows the page about it; an InputError if another one runs."""
    kept = studio_of(request).kept
    with _lock:
        before: LearnJob | None = kept.get("job")
        if before is not None and not before.done:
            raise InputError(f"{before.name} is still running: wait until it ends.")
        job = kept["job"] = LearnJob(name=name, back=back)

    def body() -> None:
        try:
            job.result = work(job)
        except NeardupError as error:
            job.error = str(error)
        except Exception:
            traceback.print_exc()
            job.error = "An error inside neardup; the terminal has more about it: please report it."
        job.done = True

    threading.Thread(target=body, daemon=True, name=name).start()
    return go("/label/job")


def job_page(request: Request) -> Response:
    """How far the job is; the page loads itself again until it ends."""
    job = job_of(request)
    if job is None:
        return go("/label")
    if job.done:
        return go(job.back + ("?job=1" if "?" not in job.back else "&job=1"))
    seconds = time.monotonic() - job.started
    stage = f" Now: {job.at}." if job.at else ""
    body = f"<h1>{safe(job.name)}</h1>\n" + message(
        f"Running for {seconds:.0f} s.{stage} This page follows by itself."
    )
    answer = show(request, job.name, body)
    answer.headers["refresh"] = "1"
    return answer


def job_message(request: Request) -> str:
    """What the last job did, on the page it leads back to."""
    job = job_of(request)
    if job is None or "job" not in request.query_params:
        return ""
    notes = "".join(message(one) for one in job.notes[:5])
    return (message(job.error, "error") if job.error else message(job.result, "done")) + notes


# parts ----------------------------------------------------------------------------------------------

TABS = (
    ("/label", "Overview"),
    ("/label/documents", "Documents"),
    ("/label/pairs", "Pairs"),
    ("/label/disputed", "Disagreements"),
    ("/label/clusters", "Clusters"),
    ("/label/sample", "Sample"),
    ("/label/tables", "Export, import"),
    ("/label/protocol", "Protocol"),
)


def tabs(request: Request) -> str:
    """The pages of this section."""
    two = store_of(request).settings.scheme == "two phases"
    entries = "".join(
        f'<li><a href="{where}"{" aria-current=page" if where == request.url.path else ""}>{label}</a></li>'
        for where, label in TABS
        if two or where != "/label/documents"
    )
    return f'<nav class="tabs" aria-label="Labelling"><ul>{entries}</ul></nav>\n'


def said(request: Request) -> str:
    """What the last form did."""
    word = SAYINGS.get(request.query_params.get("said", ""), "")
    return message(word, "done") if word else ""


def label_page(request: Request, title: str, body: str) -> Response:
    """A page of this section with its tabs; to the start where labelling has not begun."""
    return show(request, title, tabs(request) + said(request) + job_message(request) + body)


def link_to(where: str, **values: str) -> str:
    """An address with a query."""
    return where + "?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in values.items())


def interval_text(low: float, high: float) -> str:
    """An interval in words."""
    return "–" if low != low else f"{figure_text(low)} to {figure_text(high)}"
