"""Label files: a table of clusters, a table of judged pairs, or a folder for each cluster."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.columns import Numbers
from neardup.documents import Limits, Problems, Source, open_inputs
from neardup.documents.document_columns import ID_NAMES
from neardup.documents.formulas import unescaped
from neardup.documents.input_files import files_below, format_of
from neardup.documents.values import known_times
from neardup.errors import InputError
from neardup.evaluate.agreement import agree
from neardup.evaluate.label_words import (
    DUPLICATES,
    LEFT_OUT,
    UNCLEAR,
    checked_duplicates,
    document_label,
    label_counts,
    pair_label,
)
from neardup.evaluate.labels import Truth, pack_pairs
from neardup.plurals import counted

CLUSTER_NAMES = ("cluster", "label", "group", "story", "class")
PAIR_NAMES = (
    ("id_a", "id_b"), ("left", "right"), ("id1", "id2"), ("id_1", "id_2"), ("a", "b"),
    ("left_id", "right_id"), ("doc1", "doc2"), ("doc_a", "doc_b"), ("document_a", "document_b"),
)  # fmt: skip
VERDICT_NAMES = ("label", "judged", "judgement", "judgment", "verdict", "duplicate", "is_duplicate", "match")
RATER_NAMES = ("rater", "annotator", "judge", "who")
SCORE_NAMES = ("score", "similarity")
YES = {"yes", "true", "y", "t", "1"}
NO = {"no", "false", "n", "f", "0", ""}
IRRELEVANT = {"", "irrelevant"}
LIMITS = Limits(record=16 << 20, decompressed=1 << 30)  # of a table of labels, which is kept in memory


@dataclass(frozen=True)
class LabelTable:
    """The columns of a label file as texts, and the number of each record."""

    source: str
    names: list[str]
    columns: dict[str, list[str]]
    records: list[int]

    def find(self, names: Sequence[str]) -> str | None:
        """The first of these names that is a column, ignoring case."""
        lower = {name.lower(): name for name in reversed(self.names)}
        return next((lower[name] for name in names if name in lower), None)

    def column(self, role: str, names: Sequence[str]) -> list[str]:
        """The cells of the column with one of these names."""
        found = self.find(names)
        if found is None:
            raise InputError(
                f"{self.source} has no column for the {role} ({', '.join(names)}); "
                f"its columns are {', '.join(self.names) or 'none'}"
            )
        return self.columns[found]

    def refuse(self, row: int, what: str) -> InputError:
        """An error that names the record."""
        return InputError(f"{self.source}, record {self.records[row]}: {what}")


def read_labels(
    path: str | os.PathLike[str],
    ids: pa.Array,
    *,
    positive_from: float = 1.0,
    undecided: str | os.PathLike[str] | None = None,
    duplicates: str | Sequence[str] = DUPLICATES,
    documents: str | os.PathLike[str] | None = None,
) -> Truth:
    """The labels of documents with these ids, from a table of clusters or pairs, or from a folder.

    Only documents that the table `documents` labels relevant count, if it is given.
    """
    source = os.fspath(path)
    if Path(path).is_dir():
        truth = _from_folder(source, ids)
    else:
        table = read_label_table(source)
        if _pair_columns(table):
            truth = _from_pairs(table, ids, positive_from, checked_duplicates(duplicates))
        else:
            truth = _from_clusters(table, ids)
    if undecided is not None:
        truth = _exclude(truth, read_label_table(os.fspath(undecided)))
    if documents is not None:
        truth = only_relevant(truth, read_label_table(os.fspath(documents)), ids)
    return truth.require(source)


def read_scores(
    path: str | os.PathLike[str], ids: pa.Array, column: str | None = None
) -> tuple[Numbers, Numbers, Any]:
    """Another tool's scores of pairs: left, right and score, higher for more similar."""
    table = read_label_table(os.fspath(path))
    left, right = _read_pairs(table, ids)
    cells = table.column("score", (column.lower(),) if column is not None else SCORE_NAMES)
    scores = np.array([_number(table, row, cell) for row, cell in enumerate(cells)])
    packed = pack_pairs(left, right)
    order = np.argsort(packed, kind="stable")
    again = np.flatnonzero(np.diff(packed[order]) == 0)
    if len(again):
        first, second = int(order[again[0]]), int(order[again[0] + 1])
        raise table.refuse(second, f"the pair already has a score in record {table.records[first]}")
    return left, right, scores


def _number(table: LabelTable, row: int, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise table.refuse(row, f"a score must be a number ≥ 0, not {cell!r}")
    return value


# Tables -----------------------------------------------------------------------------------------


def read_label_table(source: str, name: str = "") -> LabelTable:
    """All cells of a csv, tsv, jsonl or parquet file, as texts; a record that cannot be read is an error.

    Messages call the file `name`.
    """
    problems = Problems()
    inputs = open_inputs([source], limits=LIMITS)
    if len(inputs) != 1 or inputs[0].format in ("text", "mail", "lines"):
        raise InputError(f"{source} is not a table of labels: use csv, tsv, jsonl or parquet")
    names = list(
        dict.fromkeys(inputs[0].names())
    )  # of two columns of one name the first counts, as in documents
    records, parts = [], []
    _refuse_nested(inputs[0])
    for batch in inputs[0].read(names, problems):
        records += batch.numbers.tolist()
        parts.append([batch.columns.column(batch.columns.schema.names.index(name)) for name in names])
    if problems.first:
        raise InputError(str(problems.first[0]).rpartition(" (")[0])
    columns = {name: [cell for part in parts for cell in _cells(part[k])] for k, name in enumerate(names)}
    return LabelTable(name or source, names, columns, records)


def _refuse_nested(source: Source) -> None:
    """Refuse a table with lists or objects as cells: as texts they would be names of clusters, or ids."""
    for column in source.schema():
        if pa.types.is_nested(column.type):
            raise InputError(
                f"{source.name} is not a table of labels: {column.name!r} holds lists or objects"
            )


def _cells(column: pa.Array) -> Iterator[str]:
    """Values as printed; null is an empty text."""
    for value in known_times(column).to_pylist():
        yield "" if value is None else str(value)


def _places(table: LabelTable, cells: list[str], ids: pa.Array) -> Numbers:
    """The number of the document that each cell names; an unknown id is an error."""
    known = ids.cast(pa.large_string())
    found = pc.index_in(pa.array(cells, pa.large_string()), value_set=known)
    if found.null_count:  # neardup escapes ids that a spreadsheet would run as formulas
        plain = unescaped(pa.array(cells, pa.large_string()))
        found = pc.coalesce(found, pc.index_in(plain, value_set=known))
    if found.null_count:
        missing = pc.indices_nonzero(found.is_null()).to_pylist()
        more = f" (and {counted(len(missing) - 1, 'more unknown id')} below)" if len(missing) > 1 else ""
        like = ", ".join(repr(value.as_py()) for value in known[:2])
        raise table.refuse(
            missing[0],
            f"no document has the id {cells[missing[0]]!r}{more}; ids are like {like}. Correct the labels, or choose "
            "another --id-column",
        )
    places: Numbers = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return places


# Clusters ---------------------------------------------------------------------------------------


def _from_clusters(table: LabelTable, ids: pa.Array) -> Truth:
    documents = table.column("document", (*ID_NAMES, "document"))
    clusters = [cell.strip() for cell in table.column("cluster", CLUSTER_NAMES)]
    if clusters and not table.find(("cluster",)) and all(map(document_label, clusters)):
        raise InputError(
            f"{table.source} labels documents as relevant or not ({clusters[0]!r}), and says nothing about "
            "near-duplicates. Give it as --document-labels, beside labels of pairs or clusters"
        )
    flag = table.find(("irrelevant",))
    irrelevant = table.columns[flag] if flag is not None else ["no"] * len(clusters)
    places = _places(table, documents, ids)
    first: dict[int, int] = {}
    names: dict[str, int] = {}
    labels = np.full(len(ids), -1, np.int64)
    for row, place in enumerate(places.tolist()):
        excluded = clusters[row].lower() in IRRELEVANT or _flag(table, row, irrelevant[row])
        label = -1 if excluded else names.setdefault(clusters[row], len(names))
        if place in first and labels[place] != label:
            raise table.refuse(row, _two_clusters(table, clusters, documents, first[place], row))
        first.setdefault(place, row)
        labels[place] = label
    return Truth(labels, names=tuple(names))


def _flag(table: LabelTable, row: int, cell: str) -> bool:
    """Whether a cell of the column `irrelevant` means yes."""
    word = cell.strip().lower()
    if word not in YES | NO:
        raise table.refuse(row, f"'irrelevant' must be yes or no, not {cell!r}")
    return word in YES


def _two_clusters(table: LabelTable, clusters: list[str], documents: list[str], first: int, row: int) -> str:
    was, now = (repr(clusters[k]) if clusters[k] else "no cluster" for k in (first, row))
    return f"the document {documents[row]!r} is in {now}, but in {was} in record {table.records[first]}"


def _from_folder(folder: str, ids: pa.Array) -> Truth:
    """Each sub-folder is a cluster; ids are paths below the folder."""
    files = [name for path, name in files_below(folder) if format_of(path) is not None]
    parents = [Path(name).parent.as_posix() for name in files]
    if set(parents) <= {"."}:
        raise InputError(f"{folder} has no sub-folders with documents; each sub-folder is a cluster")
    table = LabelTable(folder, ["path", "cluster"], {}, list(range(1, len(files) + 1)))
    places = _places(table, files, ids)
    names = {name: k for k, name in enumerate(sorted(set(parents) - {"."}))}
    labels = np.full(len(ids), -1, np.int64)
    labels[places] = [names.get(parent, -1) for parent in parents]
    return Truth(labels, names=tuple(names))


def _exclude(truth: Truth, table: LabelTable) -> Truth:
    """The labels without pairs of documents from two clusters that the table pairs."""
    if truth.clusters is None:
        raise InputError(
            f"{table.source} pairs clusters, but the labels are judged pairs: label such pairs unclear"
        )
    numbers = {name: k for k, name in enumerate(truth.names)}
    sides = [table.column(f"cluster {end}", (f"cluster_{end}",)) for end in "ab"]
    packed = []
    for row, pair in enumerate(zip(*sides, strict=True)):
        for name in pair:
            if name not in numbers:
                raise table.refuse(row, f"the labels have no cluster {name!r}")
        if pair[0] == pair[1]:
            raise table.refuse(row, f"the cluster {pair[0]!r} is paired with itself")
        low, high = sorted(numbers[name] for name in pair)
        packed.append((low << 32) | high)
    return replace(truth, undecided=np.unique(np.array(packed, np.int64)))


# Pairs ------------------------------------------------------------------------------------------


def _pair_columns(table: LabelTable) -> tuple[str, str] | None:
    for names in PAIR_NAMES:
        left, right = (table.find((name,)) for name in names)
        if left is not None and right is not None:
            return left, right
    return None


def _read_pairs(table: LabelTable, ids: pa.Array) -> tuple[Numbers, Numbers]:
    """The documents of each row, the smaller number left."""
    names = _pair_columns(table)
    if names is None:
        raise InputError(
            f"{table.source} has no two columns of ids ({' and '.join(PAIR_NAMES[0])}, or "
            f"{' and '.join(PAIR_NAMES[1])}); its columns are {', '.join(table.names) or 'none'}"
        )
    a, b = (_places(table, table.columns[name], ids) for name in names)
    if (a == b).any():
        row = int(np.flatnonzero(a == b)[0])
        raise table.refuse(row, f"{table.columns[names[0]][row]!r} is paired with itself")
    return np.minimum(a, b), np.maximum(a, b)


def _from_pairs(table: LabelTable, ids: pa.Array, positive_from: float, duplicates: Sequence[str]) -> Truth:
    left, right = _read_pairs(table, ids)
    cells = table.column("verdict", VERDICT_NAMES)
    flag = table.find(("irrelevant",))
    labels = [
        "irrelevant" if flag is not None and _flag(table, row, table.columns[flag][row])
        else _label(table, row, cell, positive_from)
        for row, cell in enumerate(cells)
    ]  # fmt: skip
    column = table.find(RATER_NAMES)
    raters = table.columns[column] if column is not None else [""] * len(cells)
    judged: dict[tuple[int, int], dict[str, int]] = {}  # for each pair, the row of each rater's verdict
    for row, pair in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        before = judged.setdefault(pair, {}).setdefault(raters[row], row)
        if labels[before] != labels[row]:
            raise table.refuse(
                row, f"the pair is labelled {cells[row]!r}, but {cells[before]!r} in record "
                f"{table.records[before]}"
            )  # fmt: skip
    named = [{raters[row]: labels[row] for row in rows.values()} for rows in judged.values()]
    return _settled(list(judged), named, duplicates)


def _settled(
    judged: Sequence[tuple[int, int]], named: Sequence[Mapping[str, str]], duplicates: Sequence[str]
) -> Truth:
    """The truth of pairs with each rater's label: the majority counts, ties and labels that say neither do not."""
    settled = [majority([_verdict(label, duplicates) for label in votes.values()]) for votes in named]
    excluded = sum(
        verdict is None and 2 * sum(label in LEFT_OUT for label in votes.values()) > len(votes)
        for verdict, votes in zip(settled, named, strict=True)
    )
    pairs = np.array(judged, np.int64).reshape(-1, 2)
    known = np.array([verdict is not None for verdict in settled], np.bool_)
    yes = np.array([bool(verdict) for verdict in settled], np.bool_)
    unclear = int((~known).sum()) - excluded
    truth = Truth.of_pairs(pairs[known, 0], pairs[known, 1], yes[known], unclear=unclear)
    counts = Counter(label for votes in named for label in votes.values())
    truth = replace(truth, excluded=excluded, notes=_notes(counts, duplicates))
    if len({who for votes in named for who in votes}) < 2:
        return truth
    words = {True: "yes", False: "no", None: UNCLEAR}
    verdicts = [{who: words[_verdict(label, duplicates)] for who, label in votes.items()} for votes in named]
    agreement = agree(verdicts)
    if set(counts) - {*DUPLICATES[:1], "different", UNCLEAR}:
        agreement["labels"] = agree(named)
    return replace(truth, agreement=agreement)


def _notes(counts: Counter[str], duplicates: Sequence[str]) -> tuple[str, ...]:
    """How the labels are used, if the table has other ones than yes, no and unclear."""
    plain = {"duplicate", "different", UNCLEAR}
    return () if set(counts) <= plain else (label_counts(counts, duplicates, "labels of pairs: "),)


def majority(votes: Sequence[bool | None]) -> bool | None:
    """The majority of the clear votes; None for a tie."""
    yes, no = votes.count(True), votes.count(False)
    return None if yes == no else yes > no


def _verdict(label: str, duplicates: Sequence[str]) -> bool | None:
    """Whether a label says that two documents are near-duplicates; None if it says neither."""
    return None if label == UNCLEAR or label in LEFT_OUT else label in duplicates


def _label(table: LabelTable, row: int, cell: str, positive_from: float) -> str:
    """The label of a cell: a word of PAIR_LABELS, or what a grade means."""
    try:
        grade = float(cell)
    except ValueError:
        grade = math.nan
    if math.isfinite(grade):
        return "duplicate" if grade >= positive_from else "different"
    label = pair_label(cell)
    if label is None:
        raise table.refuse(
            row, "a label must be duplicate, containment, near, different, irrelevant, broken, unclear, yes, no or a "
            f"grade, not {cell!r}"
        )  # fmt: skip
    return label


# Documents --------------------------------------------------------------------------------------


def only_relevant(truth: Truth, table: LabelTable, ids: pa.Array) -> Truth:
    """The labels between documents that all their raters label yes; documents that the table leaves out stay.

    Alonso, Fetterly and Manasse continue with unanimous documents alone (section 4.2).
    """
    if _pair_columns(table):
        raise InputError(f"{table.source} has pairs; --document-labels takes a table of id and label")
    places = _places(table, table.column("document", (*ID_NAMES, "document")), ids).tolist()
    cells = table.column("label", ("label", "answer", "relevant", *VERDICT_NAMES))
    column = table.find(RATER_NAMES)
    raters = table.columns[column] if column is not None else [""] * len(cells)
    votes: dict[int, dict[str, str]] = {}
    for row, place in enumerate(places):
        label = document_label(cells[row])
        if label is None:
            raise table.refuse(
                row,
                f"a document's label must be yes, no, don't know, other or not my language, not {cells[row]!r}",
            )
        if votes.setdefault(place, {}).setdefault(raters[row], label) != label:
            raise table.refuse(row, f"{raters[row] or 'the table'} gave the document another label before")
    chosen = np.ones(len(ids), np.bool_)
    dropped = [place for place, labels in votes.items() if set(labels.values()) != {"yes"}]
    chosen[dropped] = False
    note = f"{counted(len(dropped), 'document')} of {len(votes):,} in {table.source} left out: not every label is yes"
    found = replace(truth.only(chosen), notes=(*truth.notes, note))
    several = len({who for labels in votes.values() for who in labels}) > 1
    agreement = agree(list(votes.values()), "documents") if several else None
    return replace(found, document_agreement=agreement)
