"""Tables of labels: downloaded for `evaluate`, `tune` and `learn`, and read into the store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.errors import InputError
from neardup.labelling.transfer import EXPORTS, Imported, export, export_csv, import_labels
from neardup.pages.escaping import safe
from neardup.plurals import counted
from neardup.studio.app_gate import Refusal
from neardup.studio.app_page import button, form, go
from neardup.studio.label_shared import LearnJob, has_store, label_page, start_job, store_of, texts_of

router = APIRouter()
MOST_PROBLEMS = 20  # that are shown
ENDINGS = (".csv", ".tsv", ".jsonl")


@router.get("/label/tables")
def tables(request: Request) -> Response:
    """Links to the tables, and the form of the import."""
    if not has_store(request):
        return go("/label")
    store = store_of(request)
    rows = "".join(
        f'<li><a href="/label/tables/{name}.csv" download="{name}.csv">{name}.csv</a> {safe(about)}: '
        f"{counted(len(export(store, name)), 'row')}</li>"
        for name, about in EXPORTS.items()
    )
    fields = (
        '<label class="wide">A table (csv, tsv or jsonl): choose a file, or paste it'
        '<input type="file" data-into="content" accept=".csv,.tsv,.jsonl,text/*" hidden></label>'
        '<textarea name="content" id="content" rows="6" aria-label="The table" required '
        'placeholder="id_a,id_b,label"></textarea><input type="hidden" name="name" value="labels.csv">'
        '<label class="check"><input type="checkbox" name="honey" value="yes"> The labels are honey pots</label>'
        + button("Import", class_="primary")
    )
    body = (
        '<h1>Export and import</h1>\n<section aria-labelledby="out-h"><h2 id="out-h">Export</h2>'
        f'<ul class="exports">{rows}</ul><p class="note">Use: <code>neardup evaluate INPUT --labels pairs.csv</code>, '
        "and the same with tune and learn.</p></section>\n"
        '<section aria-labelledby="in-h"><h2 id="in-h">Import</h2><p>Columns: id_a, id_b, label for pairs, or id, '
        "label for documents. A row with a rater is a judgement of that person; one without is a label; a pair without "
        f"a label is to be judged.</p>{form(request, '/label/import', fields, class_='stacked import')}</section>"
    )
    return label_page(request, "Export and import", body)


@router.get("/label/tables/{name}.csv")
def download(request: Request, name: str) -> Response:
    """A table as csv."""
    if name not in EXPORTS or not has_store(request):
        raise Refusal(404, "No table has this name.")
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return Response(
        export_csv(store_of(request), name), media_type="text/csv; charset=utf-8", headers=headers
    )


@router.post("/label/import")
def read_in(request: Request) -> Response:
    """Reads a table into the store, as a job: texts may have to be found in the input."""
    given, store = request.state.form, store_of(request)
    content, name = given.one("content"), Path(given.one("name", "labels.csv")).name
    ending = Path(name).suffix.lower()
    if not content.strip():
        raise Refusal(422, "The table is empty.")
    if ending not in ENDINGS:
        raise Refusal(422, f"The table {name} must be one of {', '.join(ENDINGS)}.")
    honey, who = given.one("honey") == "yes", request.state.session.name

    def find(ids: Collection[str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
        found = texts_of(request, ids)
        return found.texts, found.raw

    def work(job: LearnJob) -> str:
        job.at = "read the table"
        handle, path = tempfile.mkstemp(suffix=ending)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(content)
            done = import_labels(store, path, find, honey=honey, name=name, who=who)
        except InputError as error:
            raise InputError(str(error).replace(path, name)) from None
        finally:
            Path(path).unlink()
        job.notes += done.problems[:MOST_PROBLEMS]
        return _words(done)

    return start_job(request, "Import labels", "/label/tables", work)


def _words(done: Imported) -> str:
    parts = [
        counted(count, word)
        for count, word in ((done.labels, "label"), (done.judgements, "judgement"), (done.honey, "honey pot"))
        if count
    ]
    parts += [f"{counted(done.unlabelled, 'item')} to be judged"] if done.unlabelled else []
    left = f" {counted(len(done.problems), 'record')} left out." if done.problems else ""
    return f"Imported: {', '.join(parts) or 'nothing'}.{left}"
