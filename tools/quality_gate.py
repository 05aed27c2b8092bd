"""The quality gate: floors of F1 and candidate recall for every method, pinned with the hash of the labelled data.

A floor is a little below the measured score. It is raised when a method improves, and lowered only on request. Missing
data is skipped; changed data is an error, because its floors were measured on other data.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from neardup.documents import open_inputs
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.errors import InputError, NeardupError, ParameterError
from neardup.evaluate.corpus import read_documents
from neardup.evaluate.label_files import read_labels
from neardup.evaluate.run import Bench, Protocol
from neardup.evaluate.specs import parse_specs

MARGIN = 0.005  # how far below the measured score a floor is set
DATA_VARIABLE = "NEARDUP_DATA"


class LoweredFloor(NeardupError):
    """A method scores below its floor, and lowering the floor was not requested."""


@dataclass(frozen=True)
class Score:
    """The score of a method on a data set, or its floor."""

    f1: float  # the best over all thresholds above 0
    recall: float | None  # of candidates among pairs that reach the threshold; None: no pairs


@dataclass(frozen=True)
class DataSet:
    """Labelled documents: bundled files beside the floors, or files in the data folder."""

    documents: str
    labels: str
    text: str  # the text column
    bundled: bool
    sha256: str  # of both files

    def paths(self, floors: Path) -> tuple[Path, Path]:
        """The paths of both files."""
        folder = floors.parent if self.bundled else data_folder(floors)
        return folder / self.documents, folder / self.labels

    def absent(self, floors: Path) -> str | None:
        """Why the data is not available; None if it is."""
        missing = [path for path in self.paths(floors) if not path.is_file()]
        if not missing:
            return None
        if self.bundled:
            raise InputError(f"{missing[0]} is part of the repository and is missing: check it out again")
        return f"{missing[0]} does not exist; set {DATA_VARIABLE} to the folder of labelled data"


@dataclass(frozen=True)
class Floors:
    """The pinned data sets and, for each, the score that each method must reach."""

    data: dict[str, DataSet] = field(default_factory=dict)
    scores: dict[str, dict[str, Score]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Every data set and method that has a floor."""
        return ((name, method) for name, methods in self.scores.items() for method in methods)

    def with_score(self, name: str, method: str, score: Score) -> Floors:
        """These floors with one changed."""
        methods = {**self.scores.get(name, {}), method: score}
        return replace(self, scores={**self.scores, name: methods})

    def with_hash(self, name: str, sha256: str) -> Floors:
        """These floors with another hash of a data set."""
        return replace(self, data={**self.data, name: replace(self.data[name], sha256=sha256)})


def data_folder(floors: Path) -> Path:
    """The folder of labelled data: that of the environment variable, or ../shared/data beside the repository."""
    given = os.environ.get(DATA_VARIABLE)
    return Path(given) if given else floors.resolve().parents[2].parent / "shared" / "data"


def read_floors(path: Path) -> Floors:
    """The floors of a file."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        data = {name: DataSet(**members) for name, members in raw["data"].items()}
        scores = {
            name: {method: Score(**members) for method, members in methods.items()}
            for name, methods in raw["floors"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: cannot read the quality floors ({error})") from error
    unknown = sorted(set(scores) - set(data))
    if unknown:
        raise InputError(f"{path} has floors for {unknown[0]!r}, but does not define that data set")
    return Floors(data, scores)


def write_floors(floors: Floors, path: Path) -> None:
    """Write the file, sorted, so that equal floors give equal bytes."""
    raw: dict[str, Any] = {
        "data": {name: asdict(data) for name, data in sorted(floors.data.items())},
        "floors": {
            name: {method: asdict(score) for method, score in sorted(methods.items())}
            for name, methods in sorted(floors.scores.items())
        },
    }
    path.write_text(json.dumps(raw, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def fingerprint(paths: tuple[Path, Path]) -> str:
    """The hash of both files of a data set."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def open_bench(name: str, data: DataSet, floors: Path, *, same: bool = True, threads: int = 1) -> Bench:
    """The documents and labels of a data set; with `same`, their hash must be the pinned one."""
    paths = data.paths(floors)
    found = fingerprint(paths)
    if same and found != data.sha256:
        raise InputError(
            f"The data set {name!r} has changed: {paths[0].name} and {paths[1].name} have the hash {found[:12]}…, "
            f"the floors were measured with {data.sha256[:12]}…. Restore the files, or measure again with "
            "tools/set_floors.py"
        )
    documents = read_documents(open_inputs([paths[0]]), InputColumns(text=data.text, id="id"), Progress())
    truth = read_labels(paths[1], documents.ids)
    return Bench(documents, truth, Protocol(splits=0, bootstrap=0, threads=threads))


def measure(bench: Bench, method: str) -> Score:
    """The score of a method with its options (minhash:ngram=3,threshold=0.5)."""
    specs = parse_specs(method)
    if len(specs) != 1:
        raise ParameterError("method", "the floors", "one method, without alternatives", method)
    result = bench.evaluate(method, specs[0].plan)
    found = result.candidate_recall
    recall = found.recall if found is not None and found.pairs else None
    above = result.curve.f1[:-1]  # without the last threshold, 0, at which any method finds every pair
    return Score(float(above.max(initial=0.0)), recall)


def shortfalls(floor: Score, measured: Score) -> list[str]:
    """The scores of a method that are below its floor, as sentences."""
    found = []
    if measured.f1 < floor.f1:
        found.append(f"best F1 {measured.f1:.4f} is below the floor {floor.f1:.4f}")
    if floor.recall is not None and (measured.recall is None or measured.recall < floor.recall):
        now = "unknown" if measured.recall is None else f"{measured.recall:.4f}"
        found.append(f"candidate recall {now} is below the floor {floor.recall:.4f}")
    return found


def raised(floor: Score | None, measured: Score, *, lower: bool = False) -> Score:
    """The floor after a measurement: never lower than before, except with `lower`."""
    new = Score(_below(measured.f1), None if measured.recall is None else _below(measured.recall))
    if floor is None or lower:
        return new
    short = shortfalls(floor, measured)
    if short:
        raise LoweredFloor(f"{' and '.join(short)}: fix the method, or use --lower")
    recalls = [recall for recall in (floor.recall, new.recall) if recall is not None]
    return Score(max(floor.f1, new.f1), max(recalls, default=None))


def _below(value: float) -> float:
    """The value less the margin, rounded down to four digits."""
    return max(0.0, math.floor((value - MARGIN) * 10_000) / 10_000)
