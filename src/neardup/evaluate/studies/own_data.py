"""The methods on a folder of one's own: `neardup study run own_data --data my-folder`."""

from __future__ import annotations

from pathlib import Path

from neardup.documents import open_inputs
from neardup.engines.core.documents import InputColumns
from neardup.errors import InputError
from neardup.evaluate.corpus import read_documents
from neardup.evaluate.label_files import read_labels
from neardup.evaluate.results import MethodResult
from neardup.evaluate.run import Bench
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.registry import Cell, StudyTable, study
from neardup.evaluate.studies.spotsigs import BETTER, CURVE, shingles, spots
from neardup.evaluate.studies.views import best
from neardup.features.shingles import Shingles
from neardup.plan import View
from neardup.weights.frequency import TfIdf

LABELS = ("clusters", "pairs")
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
MOST = 5_000  # documents of which all pairs are compared


@study("none: your own labelled documents")
def own_data(data: DataFolder) -> list[StudyTable]:
    """The papers' baselines and methods on the documents and labels of --data: best F1, and F1 by threshold."""
    bench = _bench(data)
    results = _results(bench)
    rows: list[list[Cell]] = [[name, *best(result)] for name, result in results.items()]
    columns = ["features", "best threshold", "precision", "recall", "F1"]
    truth = bench.truth
    pairs = f"{truth.positives:,} of {truth.total:,} labelled pairs are near-duplicates"
    note = f"{len(bench.documents):,} documents; {pairs}"
    curve: list[list[Cell]] = [
        [threshold, *(result.curve.at(threshold).f1 for result in results.values())] for threshold in CURVE
    ]
    return [
        StudyTable(f"{data.path.name}: all pairs", columns, rows, [note]),
        StudyTable(
            f"{data.path.name}: F1 by threshold", ["threshold", *results], curve, plot=True, measure="F1"
        ),
    ]


def _results(bench: Bench) -> dict[str, MethodResult]:
    from neardup.evaluate.studies.rare_phrases import Scorer, weighting

    scorer = Scorer(bench)
    views = scorer.view_scorer
    found = {f"{n}-shingles": views.score("", shingles(n)) for n in (1, 3, 5)}
    found["tf-idf, cosine"] = views.score("", View(Shingles(1), (TfIdf(Shingles(1), "log"),)), "cosine")
    found["idf, cosine"] = views.score("", View(Shingles(1), (TfIdf(Shingles(1), "once"),)), "cosine")
    found["SpotSigs, paper"] = views.score("", spots())
    found["SpotSigs, is … there"] = views.score("", spots(**BETTER))
    found["rare phrases"] = scorer.score(weighting())
    return found


def _bench(data: DataFolder) -> Bench:
    """The documents (a file or folder called documents…) and labels (clusters… or pairs…) of the folder."""
    folder = data.path
    documents = sorted(folder.glob("documents*")) if folder.is_dir() else []
    labels = [folder / f"{name}{ending}" for name in LABELS for ending in ENDINGS]
    known = [path for path in labels if path.exists()]
    if not documents or not known:
        raise InputError(
            f"{folder} needs documents (documents.jsonl, .csv, .parquet or a folder 'documents') and labels "
            "(clusters.csv with id and cluster, or pairs.csv with id_a, id_b and label). Set the folder with --data."
        )
    read = read_documents(open_inputs([documents[0]]), InputColumns(), data.progress)
    if len(read) > MOST:
        raise InputError(
            f"{documents[0]} has {len(read):,} documents; this study compares all pairs of up to {MOST:,}. Sample some "
            "first, with their labels, or use `neardup evaluate`, which takes more."
        )
    bench = data.bench_of(read, read_labels(Path(known[0]), read.ids))
    bench.truth.require(str(known[0]))
    return bench
