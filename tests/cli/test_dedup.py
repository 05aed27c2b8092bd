"""`neardup dedup`: files in, a result folder out, a summary."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import ELSE, FOX, lines, names, run, shown

import neardup
import neardup.cli


def test_a_clean_corpus_and_a_record_of_every_decision(here):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean")
    assert (outcome.code, outcome.err) == (0, "")
    assert [row["id"] for row in lines(here / "clean/kept.jsonl")] == ["d0", "d1"]
    assert [row["id"] for row in lines(here / "clean/removed.jsonl")] == ["d2", "d3"]
    pairs = pq.read_table(here / "clean/pairs.parquet").to_pylist()
    assert {(row["left"], row["right"], row["reason"]) for row in pairs} >= {("d0", "d3", "copy")}
    clusters = pq.read_table(here / "clean/clusters.parquet").to_pylist()
    assert [(row["id"], row["keep"], row["duplicate_of"]) for row in clusters] == [
        ("d0", True, None), ("d3", False, "d0"), ("d2", False, "d0"),
    ]  # fmt: skip
    report = json.loads((here / "clean/report.json").read_text())
    assert (report["documents"], report["kept"], report["inputs"]) == (4, 2, ["corpus.jsonl"])


def test_the_closing_summary_has_counts_and_the_largest_clusters(here):
    out = run("dedup", "corpus.jsonl", "-o", "clean").out
    assert "4 documents" in out and "2 kept, 2 removed (50.0%)" in out
    assert "1 cluster; 1 exact copy; 1 verified pair" in out
    assert "3 documents led by d0" in out and "weakest link 0.778" in out
    assert "a pair at the threshold of 0.7 is found with probability 0.99" in out
    assert "written to clean: kept.jsonl, removed.jsonl, pairs.parquet, clusters.parquet, report.json" in out


def test_a_summary_for_machines_is_json_and_nothing_else(here):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean", "--json")
    assert outcome.err == "" and outcome.out.count("\n") == 1
    assert json.loads(outcome.out) == json.loads((here / "clean/report.json").read_text())


def test_annotate(here):
    assert run("dedup", "corpus.jsonl", "-o", "marked", "--mode", "annotate").code == 0
    assert names(here / "marked") == ["annotated.jsonl", "clusters.parquet", "pairs.parquet", "report.json"]
    rows = lines(here / "marked/annotated.jsonl")
    assert [(row["id"], row["n"], row["keep"], row["duplicate_of"]) for row in rows] == [
        ("d0", 0, True, None), ("d1", 1, True, None), ("d2", 2, False, "d0"), ("d3", 3, False, "d0"),
    ]  # fmt: skip


def test_only_the_findings(here):
    assert run("dedup", "corpus.jsonl", "-o", "found", "--mode", "none").code == 0
    assert names(here / "found") == ["clusters.parquet", "pairs.parquet", "report.json"]


@pytest.mark.parametrize("format", ["parquet", "jsonl", "jsonl.gz", "jsonl.zst", "csv", "tsv"])
def test_another_output_format(here, format):
    assert run("dedup", "corpus.jsonl", "-o", "clean", "--output-format", format).code == 0
    assert {f"kept.{format}", f"removed.{format}"} <= set(names(here / "clean"))


def test_several_inputs_a_folder_and_a_glob(here):
    (here / "more").mkdir()
    (here / "more/x.txt").write_text(FOX)
    (here / "more/y.html").write_text(f"<p>{FOX}</p><script>no text</script>")
    for inputs in (["corpus.jsonl", "more"], ["corpus.jsonl", "more/*"]):
        outcome = run("dedup", *inputs, "-o", "clean", "--force", "--json")
        assert outcome.code == 0
        assert json.loads(outcome.out)["documents"] == 6 and json.loads(outcome.out)["kept"] == 2


def test_standard_input(here):
    corpus = (here / "corpus.jsonl").read_bytes()
    outcome = run("dedup", "-", "-o", "clean", "--json", stdin=corpus)
    assert outcome.code == 0 and json.loads(outcome.out)["inputs"] == ["stdin"]
    assert [row["id"] for row in lines(here / "clean/kept.jsonl")] == ["d0", "d1"]
    assert run("dedup", "-", "-o", "texts", "--format", "lines", stdin=f"{FOX}\n{FOX}\n{ELSE}\n").code == 0
    assert len(lines(here / "texts/kept.jsonl")) == 2


@pytest.mark.parametrize(
    "options, field, value",
    [
        (["--threshold", "0.5"], "threshold", 0.5),
        (["--jaccard-threshold", "0.5"], "threshold", 0.5),
        (["--similarity-threshold", "0.5"], "threshold", 0.5),
        (["--ngram", "3"], "view.features.width", 3),
        (["--ngram-size", "3"], "view.features.width", 3),
        (["--n-grams", "3"], "view.features.width", 3),
        (["--tokens", "whitespace"], "text.tokens", "whitespace"),
        (["--num-bands", "9", "--rows", "4"], "candidates.groups", 9),
        (["--num-buckets", "9", "--hashes-per-bucket", "4"], "candidates.width", 4),
        (["--seed", "42"], "candidates.seed", 42),
        (["--keep", "newest:n"], "keep.column", "n"),
        (["--keep-count", "2"], "keep.count", 2),
        ([], "clustering.kind", "leaders"),
        (["--clusters", "components"], "clustering.kind", "components"),
        (["--clusters", "average"], "clustering.kind", "average"),
        (["--direct-only"], "keep.direct_only", True),
        (["--pairs", "all"], "pairs", "all"),
        (["--preset", "fineweb"], "candidates.groups", 14),
        (["--preset", "fineweb", "--bands", "10"], "candidates.groups", 10),
    ],
    ids=shown,
)
def test_options_reach_the_plan(here, options, field, value):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean", "--mode", "none", "--json", *options)
    assert outcome.code == 0
    plan = json.loads(outcome.out)["plan"]
    for name in field.split("."):
        plan = plan[name]
    assert plan == value


@pytest.mark.parametrize("alias", ["--num-perm", "--num-permutations", "--permutations", "--num-hashes"])
def test_the_number_of_permutations_under_all_its_names(here, alias):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean", "--mode", "none", "--json", alias, "128")
    plan = neardup.Plan.from_json(json.dumps(json.loads(outcome.out)["plan"]))
    assert plan == neardup.make_plan(num_perm=128)


@pytest.mark.parametrize("preset", ["fineweb", "slimpajama", "datasketch", "text-dedup"])
def test_presets(here, preset):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean", "--mode", "none", "--json", "--preset", preset)
    plan = neardup.Plan.from_json(json.dumps(json.loads(outcome.out)["plan"]))
    assert plan == neardup.make_plan(preset=preset)


def test_a_preset_with_the_method_that_it_belongs_to(here):
    assert run("dedup", "corpus.jsonl", "-o", "clean", "--preset", "fineweb", "--method", "minhash").code == 0


def test_threads_do_not_change_the_result(here):
    for threads in (1, 2, 4):
        run("dedup", "corpus.jsonl", "-o", f"clean{threads}", "--threads", threads)
    assert len({(here / f"clean{k}/kept.jsonl").read_bytes() for k in (1, 2, 4)}) == 1
    assert len({(here / f"clean{k}/clusters.parquet").read_bytes() for k in (1, 2, 4)}) == 1


def test_skipped_pairs_are_mentioned(here):
    texts = [f"{FOX} {FOX[::-1]} and then number {k}" for k in range(100)]
    (here / "hot.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    out = run("dedup", "hot.jsonl", "-o", "clean", "--ngram", "1").out
    assert " pairs skipped" in out and "--pairs all" in out


def test_an_output_folder_inside_the_input_folder(here):
    """The same command twice gives the same result twice: what it wrote is not what it reads."""
    for _ in range(2):
        outcome = run("dedup", ".", "-o", "clean", "--force", "--json")
        assert outcome.code == 0 and json.loads(outcome.out)["documents"] == 4


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [
        ("remove", "1 kept, 3 removed (75.0%)"),
        ("annotate", "1 kept, 3 marked as near-duplicates (75.0%)"),
        ("none", "1 to keep, 3 that would be removed (75.0%)"),
    ],
)
def test_the_summary_says_what_the_mode_does(here, capsys, mode, outcome):
    copies = "".join(json.dumps({"id": f"d{k}", "text": "a text of some words"}) + "\n" for k in range(4))
    (here / "copies.jsonl").write_text(copies)
    neardup.cli.main(["dedup", "copies.jsonl", "-o", "clean", "--mode", mode])
    assert outcome in capsys.readouterr().out


def test_columns_and_detection_by_name(here):
    table = pa.table({"Url": ["u1", "u2", "u3"], "Body": [FOX, FOX, ELSE], "lang": ["en"] * 3})
    pq.write_table(table, here / "pages.parquet")
    assert run("dedup", "pages.parquet", "-o", "clean").code == 0
    assert pq.read_table(here / "clean/kept.parquet").to_pylist() == table.take([0, 2]).to_pylist()
    assert pq.read_table(here / "clean/clusters.parquet")["id"].to_pylist() == ["u1", "u2"]


@pytest.mark.parametrize("given", ["--text-column=lang", "--id-column=lang"])
def test_columns_named_by_hand(here, given):
    table = pa.table({"id": ["a", "b", "c"], "text": [FOX, FOX, ELSE], "lang": ["en", "de", "fr"]})
    pq.write_table(table, here / "pages.parquet")
    assert run("dedup", "pages.parquet", "-o", "clean", given).code == 0
    clusters = pq.read_table(here / "clean/clusters.parquet")["id"].to_pylist()
    assert clusters == ([] if given.startswith("--text") else ["de", "en"])


def test_empty_documents_that_are_marked_are_not_called_removed(here, capsys):
    rows = [{"id": "a", "text": "some words"}, {"id": "b", "text": ""}, {"id": "c", "text": "!"}]
    (here / "empty.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    neardup.cli.main(["dedup", "empty.jsonl", "-o", "marked", "--mode", "annotate", "--empty", "remove"])
    printed = capsys.readouterr().out
    assert "1 kept, 2 marked as near-duplicates or empty (66.7%)" in printed
    assert "2 documents have no tokens: marked (--empty remove)" in printed
    neardup.cli.main(["dedup", "empty.jsonl", "-o", "clean", "--empty", "one"])
    assert "2 documents have no tokens: 1 kept, 1 removed (--empty one)" in capsys.readouterr().out


def test_removals_without_a_measurement_are_called_unverified(here, capsys):
    (here / "two.jsonl").write_text(
        "".join(json.dumps({"id": k, "text": f"{'the same words ' * 20}{k}"}) + "\n" for k in range(3))
    )
    neardup.cli.main(["dedup", "two.jsonl", "-o", "clean", "--verify", "none"])
    assert "2 removals are unverified" in capsys.readouterr().out
    report = json.loads((here / "clean" / "report.json").read_text())
    assert report["removals"]["unverified"] == 2 and report["removals"]["direct"] == 0
    rows = [json.loads(line) for line in (here / "clean" / "removed.jsonl").read_text().splitlines()]
    assert {row["evidence"] for row in rows} == {"unverified"}
