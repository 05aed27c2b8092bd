"""Tables of labels, as `evaluate`, `tune` and `learn` read them: written from a store, and read into one."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from neardup.documents.document_columns import ID_NAMES
from neardup.engines.local.write_tables import write_table
from neardup.errors import InputError
from neardup.evaluate.label_files import PAIR_NAMES, RATER_NAMES, VERDICT_NAMES, LabelTable, read_label_table
from neardup.labelling.answers import SKIP, Answer, answer_of, answers_of
from neardup.labelling.states import LABELLED
from neardup.labelling.store import LabelStore, NewPair
from neardup.labelling.tags import tagged_clusters

__all__ = ["EXPORTS", "Imported", "export", "export_csv", "import_labels"]

EXPORTS = {
    "pairs": "Labels of pairs, one row each",
    "judgements": "Every judgement of a pair, with its judge",
    "documents": "Every judgement of a document, with its judge",
    "clusters": "Tagged clusters",
}


def export(store: LabelStore, name: str) -> pa.Table:
    """A table of labels: pairs, judgements, documents or clusters."""
    makers: dict[str, Callable[[LabelStore], pa.Table]] = {
        "pairs": _pairs,
        "judgements": lambda one: _judgements(one, "pair"),
        "documents": lambda one: _judgements(one, "document"),
        "clusters": _clusters,
    }
    if name not in makers:
        raise InputError(f"{name!r} is no table of labels: choose one of {', '.join(makers)}")
    return makers[name](store)


def export_csv(store: LabelStore, name: str) -> bytes:
    """The same as csv; cells that a spreadsheet would run are escaped, which `evaluate` undoes."""
    target = io.BytesIO()
    write_table(target, export(store, name), "csv")
    return target.getvalue()


def _pairs(store: LabelStore) -> pa.Table:
    items = [one for one in store.items("kind = 'pair'") if one.state in LABELLED and one.answer]
    answers = _answers(store, "pair")
    return pa.table(
        {
            "id_a": pa.array([one.a for one in items], pa.string()),
            "id_b": pa.array([one.b for one in items], pa.string()),
            "label": pa.array([answers[one.answer or ""].label for one in items], pa.string()),
            "has_more": pa.array([answers[one.answer or ""].more for one in items], pa.string()),
            "settled": pa.array([one.state for one in items], pa.string()),
            "judgements": pa.array([one.judged for one in items], pa.int64()),
            "sample_similarity": pa.array([one.similarity for one in items], pa.float64()),
            "sample": pa.array([one.source for one in items], pa.string()),
        }
    )


def _judgements(store: LabelStore, kind: str) -> pa.Table:
    rows = store.rows(
        "SELECT a, b, s.answer, judge, at, seconds FROM standing s JOIN items USING (item) "
        "WHERE kind = ? AND role = 'judge' AND s.answer <> ? ORDER BY seq",
        (kind, SKIP),
    )
    out, answers = store.left_out, _answers(store, kind)
    rows = [row for row in rows if row[3] not in out]
    ids: dict[str, Any] = {"id": [row[0] for row in rows]}
    if kind == "pair":
        ids = {"id_a": [row[0] for row in rows], "id_b": [row[1] for row in rows]}
    columns = {name: pa.array(values, pa.string()) for name, values in ids.items()}
    columns["label"] = pa.array([answers[row[2]].label for row in rows], pa.string())
    if kind == "pair":
        columns["has_more"] = pa.array([answers[row[2]].more for row in rows], pa.string())
    columns["rater"] = pa.array([row[3] for row in rows], pa.string())
    columns["time"] = pa.array([_time(row[4]) for row in rows], pa.string())
    columns["seconds"] = pa.array(
        [None if row[5] is None else round(row[5], 2) for row in rows], pa.float64()
    )
    return pa.table(columns)


def _clusters(store: LabelStore) -> pa.Table:
    rows = []
    for cluster, tags in tagged_clusters(store).items():
        names = {"same": cluster, "irrelevant": "irrelevant"}
        rows += [(id, names.get(tag, f"{cluster}: {id}")) for id, tag in tags.items()]
    columns = {"id": [id for id, _ in rows], "cluster": [name for _, name in rows]}
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _answers(store: LabelStore, kind: str) -> dict[str, Answer]:
    return {one.name: one for one in answers_of(kind, store.settings.scheme)}


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


# Import -----------------------------------------------------------------------------------------


@dataclass
class Imported:
    """What an import did, and one line for each record that was left out."""

    labels: int = 0
    judgements: int = 0
    honey: int = 0
    unlabelled: int = 0  # pairs without a label: they are to be judged
    problems: list[str] = field(default_factory=list)


Finder = Callable[[Collection[str]], tuple[Mapping[str, str], Mapping[str, str]]]


def import_labels(
    store: LabelStore,
    path: str | os.PathLike[str],
    find_texts: Finder,
    *,
    honey: bool = False,
    name: str = "",
    who: str = "imported",
) -> Imported:
    """Reads a table of pairs, or of documents, into the store.

    A row with a rater is a judgement; one without is a label, or with `honey` a honey pot; a pair without a label is
    to be judged. `find_texts` gives the texts of documents, as compared and as read.
    """
    table = read_label_table(os.fspath(path), name)
    ends = _ends(table)
    kind = "pair" if len(ends) == 2 else "document"
    labels = table.columns[found] if (found := table.find(("label", "answer", *VERDICT_NAMES))) else []
    if not labels and kind == "document":
        raise InputError(
            f"{table.source} has no column for the label; its columns are {', '.join(table.names)}"
        )
    more = table.columns[found] if (found := table.find(("has_more", "more"))) else [""] * len(table.records)
    raters = table.columns[found] if (found := table.find(RATER_NAMES)) else [""] * len(table.records)
    known = store.texts({id for row in zip(*ends, strict=True) for id in row})
    missing = {id for row in zip(*ends, strict=True) for id in row} - known.keys()
    texts, raw = find_texts(missing) if missing else ({}, {})
    report, rows = Imported(), []
    for row, ids in enumerate(zip(*ends, strict=True)):
        try:
            absent = next((id for id in ids if id not in texts and id not in known), None)
            if absent is not None:
                raise InputError(f"no document has the id {absent!r}")
            if len(set(ids)) < len(ids):
                raise InputError(f"{ids[0]!r} is paired with itself")
            label = labels[row] if labels else ""
            side = more[row] if min(ids) == ids[0] else {"a": "b", "b": "a"}.get(more[row], "")
            answer = answer_of(kind, store.settings.scheme, label, side) if label.strip() else ""
            rows.append((tuple(sorted(ids)), answer, raters[row].strip()))
        except InputError as error:
            report.problems.append(
                f"{table.source}, record {table.records[row]}: {error}; the record was left out"
            )
    if kind == "pair":
        all_texts = {**{id: text for id, (text, _) in known.items()}, **texts}
        store.add([NewPair(ids[0], ids[1], None, "import") for ids, _, _ in rows], all_texts, raw)
    _store(store, kind, rows, honey, who, report, texts, raw)
    return report


def _ends(table: LabelTable) -> list[list[str]]:
    """The columns of ids: two for pairs, one for documents."""
    for names in PAIR_NAMES:
        found = [table.find((name,)) for name in names]
        if all(found):
            return [table.columns[name or ""] for name in found]
    return [table.column("document", (*ID_NAMES, "document"))]


def _store(
    store: LabelStore, kind: str, rows: list[tuple[tuple[str, ...], str, str]], honey: bool, who: str,
    report: Imported, texts: Mapping[str, str], raw: Mapping[str, str],
) -> None:  # fmt: skip
    if kind == "document":
        store.add_documents([ids[0] for ids, _, _ in rows], texts, raw)
    for ids, answer, rater in rows:
        item = store.find(kind, *ids)
        if not answer:
            report.unlabelled += 1
        elif rater:
            store.record(item, rater, answer)
            report.judgements += 1
        elif honey:
            store.set_gold(item, answer)
            report.honey += 1
        else:
            store.record(item, who, answer, "adjudicator")
            report.labels += 1
