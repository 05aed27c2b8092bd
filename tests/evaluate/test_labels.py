"""Labels as files and folders, and what is said about bad ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import InputError, ParameterError
from neardup.evaluate.label_files import majority, read_labels, read_scores
from neardup.evaluate.labels import Truth

IDS = pa.array(["a", "b", "c", "d", "e"])
CLUSTERS = "id,cluster\na,x\nb,x\nc,y\nd,y\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str, name: str = "labels.csv", ids: pa.Array = IDS, **options: object) -> Truth:
    Path(name).write_text(text, encoding="utf-8")
    return read_labels(name, ids, **options)  # type: ignore[arg-type]


def refused(text: str, name: str = "labels.csv", **options: object) -> str:
    with pytest.raises(InputError) as error:
        read(text, name, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def numbers(truth: Truth) -> list[int]:
    assert truth.clusters is not None
    return truth.clusters.tolist()


def pairs(truth: Truth) -> dict[tuple[int, int], bool]:
    assert truth.left is not None and truth.right is not None and truth.judged is not None
    keys = zip(truth.left.tolist(), truth.right.tolist(), strict=True)
    return dict(zip(keys, truth.judged.tolist(), strict=True))


# --- clusters ----------------------------------------------------------------------------------------------------


def test_clusters_of_every_format() -> None:
    rows = [{"doc_id": i, "Cluster": c} for i, c in zip("abcd", "xxyy", strict=True)]
    pq.write_table(pa.Table.from_pylist(rows), "labels.parquet")
    found = [
        read(CLUSTERS),
        read(CLUSTERS.replace(",", "\t"), "labels.tsv"),
        read("".join(json.dumps(row) + "\n" for row in rows), "labels.jsonl"),
        read_labels("labels.parquet", IDS),
    ]
    for truth in found:
        assert numbers(truth) == [0, 0, 1, 1, -1]
        assert (truth.names, truth.positives, truth.total) == (("x", "y"), 2, 6)


def test_ids_that_are_numbers() -> None:
    truth = read("id,cluster\n7,1\n8,1\n9,2\n", ids=pa.array([9, 8, 7]))
    assert numbers(truth) == [1, 0, 0]


def test_irrelevant_documents_are_left_out() -> None:
    assert numbers(read("id,cluster\na,x\nb,x\nc,\nd,Irrelevant\ne,y\n")) == [0, 0, -1, -1, 1]
    assert numbers(read("id,cluster,irrelevant\na,x,no\nb,x,0\nc,y,\nd,y,yes\n")) == [0, 0, 1, -1, -1]
    assert "record 1" in refused("id,cluster,irrelevant\na,x,perhaps\nb,x,no\nc,y,no\n")


def test_a_row_that_is_there_twice_does_no_harm() -> None:
    assert numbers(read(CLUSTERS + "a,x\n")) == [0, 0, 1, 1, -1]


def test_undecided_clusters() -> None:
    Path("apart.csv").write_text("cluster_a,cluster_b\ny,x\n")
    truth = read("id,cluster\na,x\nb,x\nc,y\nd,y\ne,z\n", undecided="apart.csv")
    assert truth.total == 10 - 4
    assert truth.labelled(np.array([0, 0, 0]), np.array([1, 2, 4])).tolist() == [True, False, True]
    for bad, said in (("y,w", "no cluster 'w'"), ("x,x", "with itself")):
        Path("apart.csv").write_text(f"cluster_a,cluster_b\nx,y\n{bad}\n")
        assert said in (message := refused(CLUSTERS, undecided="apart.csv")) and "record 2" in message


def test_bad_clusters() -> None:
    assert refused(CLUSTERS + "nobody,x\nnor he,x\n") == (
        "labels.csv, record 5: no document has the id 'nobody' (and 1 more unknown id below); ids are like 'a', 'b'. "
        "Correct the labels, or choose another --id-column"
    )
    assert (
        refused(CLUSTERS + "a,y\n")
        == "labels.csv, record 5: the document 'a' is in 'y', but in 'x' in record 1"
    )
    assert "in no cluster, but in" in refused(CLUSTERS + "a,\n")
    assert "all labelled documents into one cluster" in refused("id,cluster\na,x\nb,x\n")
    assert "no cluster of two" in refused("id,cluster\na,x\nb,y\n")
    assert refused("id,colour\na,x\n").startswith("labels.csv has no column for the cluster (cluster, ")
    assert refused("name,cluster\na,x\n").endswith("its columns are name, cluster")
    assert "record 2" in refused('{"id": "a", "cluster": "x"}\n{"id": \n', "labels.jsonl")
    assert "not a table of labels" in refused("a x\n", "labels.txt")


# --- pairs -------------------------------------------------------------------------------------------------------


def test_judged_pairs() -> None:
    truth = read("id_a,id_b,label\na,b,1\nd,c,no\ne,a,YES\nb,c,unclear\nb,d,\n")
    assert pairs(truth) == {(0, 1): True, (2, 3): False, (0, 4): True}
    assert (truth.positives, truth.total, truth.unclear) == (2, 3, 2)
    assert truth.positive(np.array([1, 3, 0]), np.array([0, 2, 2])).tolist() == [True, False, False]
    assert truth.labelled(np.array([1, 3, 0]), np.array([0, 2, 2])).tolist() == [True, True, False]
    half = truth.only(np.array([True, True, True, False, True]))
    assert pairs(half) == {(0, 1): True, (0, 4): True}


def test_grades_and_other_names() -> None:
    text = "left,right,verdict\na,b,0\na,c,1\na,d,2.5\n"
    assert list(pairs(read(text)).values()) == [False, True, True]
    assert list(pairs(read(text, positive_from=2)).values()) == [False, False, True]


def test_the_majority_of_several_people_and_their_agreement() -> None:
    text = (
        "id_a,id_b,label,rater\na,b,1,ann\nb,a,1,bob\na,b,0,eva\na,c,1,ann\na,c,0,bob\na,d,0,ann\na,d,0,bob\n"
    )
    truth = read(text)
    assert pairs(truth) == {(0, 1): True, (0, 3): False} and truth.unclear == 1
    assert truth.agreement is not None
    assert truth.agreement["by_pair"]["ann and bob"] == {"pairs": 3, "cohen_kappa": pytest.approx(0.4)}
    assert majority([True, None, False]) is None and majority([None, True]) is True


def test_labels_of_the_papers() -> None:
    text = (
        "id_a,id_b,label\na,b,Containment\na,c,Duplicate\na,d,Non-duplicate\na,e,near but not the same\n"
        "b,c,Duplicate Irrelevant\nb,d,one or both broken\nb,e,not my language\nc,d,I don't know\nc,e,a_contains_b\n"
    )
    truth = read(text)
    assert pairs(truth) == {(0, 1): True, (0, 2): True, (0, 3): False, (0, 4): False, (2, 4): True}
    assert (truth.unclear, truth.excluded) == (1, 3)
    assert truth.notes == (
        "labels of pairs: 1 duplicate, 2 containment count as near-duplicates; 1 different, 1 near count as different; "
        "1 irrelevant, 1 broken, 1 language, 1 unclear left out",
    )
    assert pairs(read(text, duplicates="duplicate,near")) == {
        (0, 1): False, (0, 2): True, (0, 3): False, (0, 4): True, (2, 4): False,
    }  # fmt: skip
    for bad in ("", "different", "duplicate,often"):
        with pytest.raises(ParameterError, match="duplicate, containment, near"):
            read(text, duplicates=bad)


def test_irrelevant_pairs_are_left_out() -> None:
    truth = read("id_a,id_b,label,irrelevant\na,b,1,no\na,c,1,yes\na,d,0,\n")
    assert pairs(truth) == {(0, 1): True, (0, 3): False} and truth.excluded == 1
    assert "record 1: 'irrelevant' must be yes or no" in refused(
        "id_a,id_b,label,irrelevant\na,b,1,perhaps\n"
    )


def test_a_crowd_in_which_nobody_judges_everything() -> None:
    rows = [
        ("a,b", "duplicate", "ann"),
        ("a,b", "duplicate", "bob"),
        ("a,c", "near", "bob"),
        ("a,c", "different", "eva"),
    ]
    rows += [("b,c", "different", "ann"), ("b,c", "different", "eva"), ("b,d", "broken", "ann")]
    truth = read("id_a,id_b,label,rater\n" + "".join(f"{pair},{label},{who}\n" for pair, label, who in rows))
    assert truth.agreement is not None and truth.excluded == 1
    assert (truth.agreement["judged_by_all"], truth.agreement["fleiss_items"]) == (0, 3)
    assert truth.agreement["fleiss_kappa"] == 1  # near and different both say no
    assert truth.agreement["labels"]["raw_agreement"] == pytest.approx(2 / 3)


def test_labels_of_documents() -> None:
    Path("documents.csv").write_text(
        "id,label,rater\na,Yes,ann\na,yes,bob\nb,yes,ann\nb,No,bob\nc,yes,ann\nc,Yes,bob\nd,Not my language,ann\n"
    )
    text = "id_a,id_b,label\na,b,1\na,c,1\na,d,0\na,e,0\n"
    truth = read(text, documents="documents.csv")
    assert pairs(truth) == {(0, 2): True, (0, 4): False}
    assert truth.notes == ("2 documents of 4 in documents.csv left out: not every label is yes",)
    assert truth.document_agreement is not None
    assert truth.document_agreement["by_pair"]["ann and bob"] == {"documents": 3, "cohen_kappa": 0.0}
    said = refused("id,label\na,Yes\nb,No\n")
    assert "relevant or not" in said and "--document-labels" in said
    Path("documents.csv").write_text("id,label\na,often\n")
    assert "documents.csv, record 1: a document's label must be" in refused(text, documents="documents.csv")
    Path("documents.csv").write_text("id,label,rater\na,yes,ann\na,no,ann\n")
    assert "record 2: ann gave the document another label" in refused(text, documents="documents.csv")


def test_bad_pairs() -> None:
    head = "id_a,id_b,label\na,b,1\n"
    assert refused(head + "b,a,0\n") == "labels.csv, record 2: the pair is labelled '0', but '1' in record 1"
    assert refused(head + "c,c,0\n") == "labels.csv, record 2: 'c' is paired with itself"
    assert refused(head + "c,d,often\n").endswith("unclear, yes, no or a grade, not 'often'")
    assert "record 2: no document has the id 'q'" in refused(head + "c,q,1\n")
    assert refused("id_a,id_b,colour\na,b,1\n").startswith("labels.csv has no column for the verdict")
    assert "labels no pair" in refused("id_a,id_b,label\na,b,unclear\n")
    assert "the pair is labelled" in refused("id_a,id_b,label,rater\na,b,1,ann\na,b,0,ann\n")


# --- folders -----------------------------------------------------------------------------------------------------


def test_a_folder_for_each_cluster() -> None:
    names = ["news/a.txt", "news/b.txt", "sport/c.txt", "d.txt"]
    for name in names:
        path = Path("corpus", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    Path("corpus/notes.xyz").write_text("no document")
    truth = read_labels("corpus", pa.array([*names, "elsewhere"]))
    assert numbers(truth) == [0, 0, 1, -1, -1] and truth.names == ("news", "sport")
    with pytest.raises(InputError, match=r"no document has the id 'news/b\.txt'"):
        read_labels("corpus", pa.array(["news/a.txt", "d.txt"]))
    with pytest.raises(InputError, match="no sub-folders"):
        read_labels("corpus/news", pa.array(["a.txt"]))


# --- scores ------------------------------------------------------------------------------------------------------


def test_scores_of_another_tool() -> None:
    Path("scores.csv").write_text("left,right,similarity,cosine\nb,a,0.5,0.9\nc,d,0.25,0\n")
    left, right, score = read_scores("scores.csv", IDS)
    assert (left.tolist(), right.tolist(), score.tolist()) == ([0, 2], [1, 3], [0.5, 0.25])
    assert read_scores("scores.csv", IDS, "Cosine")[2].tolist() == [0.9, 0.0]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("c,d,high", "record 2: a score must be a number ≥ 0, not 'high'"),
        ("c,d,nan", "record 2: a score must be a number"),
        ("c,d,-1", "not '-1'"),
        ("b,a,0.4", "record 2: the pair already has a score in record 1"),
        ("c,q,0.4", "record 2: no document has the id 'q'"),
    ],
)
def test_bad_scores(row: str, said: str) -> None:
    Path("scores.csv").write_text(f"id_a,id_b,score\na,b,0.5\n{row}\n")
    with pytest.raises(InputError) as error:
        read_scores("scores.csv", IDS)
    assert said in str(error.value)


def test_scores_without_the_column() -> None:
    Path("scores.csv").write_text("id_a,id_b,colour\na,b,0.5\n")
    with pytest.raises(InputError, match=r"no column for the score \(score, similarity\)"):
        read_scores("scores.csv", IDS)
    Path("scores.csv").write_text("id,score\na,0.5\n")
    with pytest.raises(InputError, match="no two columns of ids"):
        read_scores("scores.csv", IDS)
