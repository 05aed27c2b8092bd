"""Label files: a table of clusters, a table of judged pairs, or a folder for each cluster."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.columns import Numbers
from neardup.documents import Problems, open_inputs
from neardup.documents.document_columns import ID_NAMES
from neardup.documents.input_files import files_below, format_of
from neardup.errors import InputError
from neardup.evaluate.agreement import agree
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
YES = {"yes", "true", "y", "t", "duplicate", "positive", "same"}
NO = {"no", "false", "n", "f", "different", "negative"}
UNCLEAR = {"", "unclear", "?", "unknown", "maybe", "unsure"}
IRRELEVANT = {"", "irrelevant"}


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
) -> Truth:
    """The labels of documents with these ids, from a table of clusters or pairs, or from a folder."""
    source = os.fspath(path)
    if Path(path).is_dir():
        truth = _from_folder(source, ids)
    else:
        table = _read_table(source)
        truth = _from_pairs(table, ids, positive_from) if _pair_columns(table) else _from_clusters(table, ids)
    if undecided is not None:
        truth = _exclude(truth, _read_table(os.fspath(undecided)))
    return truth.require(source)


def read_scores(
    path: str | os.PathLike[str], ids: pa.Array, column: str | None = None
) -> tuple[Numbers, Numbers, Any]:
    """Another tool's scores of pairs: left, right and score, higher for more similar."""
    table = _read_table(os.fspath(path))
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


def _read_table(source: str) -> LabelTable:
    """All cells of a csv, tsv, jsonl or parquet file, as texts; a record that cannot be read is an error."""
    problems = Problems()
    inputs = open_inputs([source])
    if len(inputs) != 1 or inputs[0].format in ("text", "mail", "lines"):
        raise InputError(f"{source} is not a table of labels: use csv, tsv, jsonl or parquet")
    names, records, parts = inputs[0].names(), [], []
    for batch in inputs[0].read(names, problems):
        records += batch.numbers.tolist()
        parts.append([batch.columns.column(name) for name in names])
    if problems.first:
        raise InputError(str(problems.first[0]).rpartition(" (")[0])
    columns = {name: [cell for part in parts for cell in _cells(part[k])] for k, name in enumerate(names)}
    return LabelTable(source, names, columns, records)


def _cells(column: pa.Array) -> Iterator[str]:
    """Values as printed; null is an empty text."""
    for value in column.to_pylist():
        yield "" if value is None else str(value)


def _places(table: LabelTable, cells: list[str], ids: pa.Array) -> Numbers:
    """The number of the document that each cell names; an unknown id is an error."""
    known = ids.cast(pa.large_string())
    found = pc.index_in(pa.array(cells, pa.large_string()), value_set=known)
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
    if word not in YES | NO | {"", "0", "1"}:
        raise table.refuse(row, f"'irrelevant' must be yes or no, not {cell!r}")
    return word in YES | {"1"}


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


def _from_pairs(table: LabelTable, ids: pa.Array, positive_from: float) -> Truth:
    left, right = _read_pairs(table, ids)
    cells = table.column("verdict", VERDICT_NAMES)
    verdicts = [_verdict(table, row, cell, positive_from) for row, cell in enumerate(cells)]
    column = table.find(RATER_NAMES)
    raters = table.columns[column] if column is not None else [""] * len(cells)
    judged: dict[tuple[int, int], dict[str, int]] = {}  # for each pair, the row of each rater's verdict
    for row, pair in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        before = judged.setdefault(pair, {}).setdefault(raters[row], row)
        if verdicts[before] != verdicts[row]:
            raise table.refuse(
                row, f"the pair is labelled {cells[row]!r}, but {cells[before]!r} in record "
                f"{table.records[before]}"
            )  # fmt: skip
    votes = [[verdicts[row] for row in rows.values()] for rows in judged.values()]
    settled = [majority(each) for each in votes]
    pairs = np.array(list(judged), np.int64).reshape(-1, 2)
    known = np.array([verdict is not None for verdict in settled], np.bool_)
    yes = np.array([bool(verdict) for verdict in settled], np.bool_)
    truth = Truth.of_pairs(pairs[known, 0], pairs[known, 1], yes[known], unclear=int((~known).sum()))
    if column is None or len(set(raters)) < 2:
        return truth
    by_pair = [{raters[row]: verdicts[row] for row in rows.values()} for rows in judged.values()]
    return replace(truth, agreement=agree(by_pair))


def majority(votes: Sequence[bool | None]) -> bool | None:
    """The majority of the clear votes; None for a tie."""
    yes, no = votes.count(True), votes.count(False)
    return None if yes == no else yes > no


def _verdict(table: LabelTable, row: int, cell: str, positive_from: float) -> bool | None:
    word = cell.strip().lower()
    if word in UNCLEAR:
        return None
    if word in YES | NO:
        return word in YES
    try:
        grade = float(word)
    except ValueError:
        grade = math.nan
    if math.isnan(grade):
        raise table.refuse(row, f"a label must be 0, 1, yes, no, unclear or a grade, not {cell!r}")
    return grade >= positive_from
