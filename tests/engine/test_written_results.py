"""The result folder: what is in it, in every format, and that it is written whole or not at all."""

from __future__ import annotations

import csv
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from corpora import corpus, rows, set_constants
from neardup.errors import InputError, OutputError, ParameterError

MARKS = ["keep", "cluster", "duplicate_of", "similarity", "containment", "relation", "evidence"]


@pytest.fixture(scope="module")
def table():
    """Documents with columns that are none of our business: they must come out as they went in."""
    texts = corpus(seed=2, families=15)
    texts = texts.filter(pa.array(["\x00" not in text for text in texts["text"].to_pylist()]))
    n = len(texts)
    texts = texts.append_column(
        "n", pa.array([None if k % 7 == 0 else k * 10**15 for k in range(n)], pa.int64())
    )
    return texts.append_column("note", pa.array([f'quote " comma , é {k}' for k in range(n)]))


def jsonl_bytes(table):
    """Lines as no writer of ours would write them: odd spacing, escapes, another order of keys in some."""
    lines = []
    for k, row in enumerate(table.to_pylist()):
        row = dict(reversed(row.items())) if k % 3 == 0 else row
        lines.append(
            json.dumps(row, ensure_ascii=k % 2 == 0, separators=(" , ", " :  ") if k % 5 == 0 else None)
        )
    return ("\n".join(lines) + "\n").encode()


def write_input(table, folder, format):
    path = folder / f"corpus.{format}"
    if format == "parquet":
        pq.write_table(table, path, row_group_size=20)
    elif format == "jsonl":
        path.write_bytes(jsonl_bytes(table))
    elif format == "jsonl.gz":
        path.write_bytes(gzip.compress(jsonl_bytes(table)))
    elif format == "jsonl.zst":
        path.write_bytes(pa.Codec("zstd").compress(jsonl_bytes(table), asbytes=True))
    else:
        with path.open("w", newline="") as file:
            writer = csv.writer(file, delimiter="," if format == "csv" else "\t")
            writer.writerow(table.column_names)
            writer.writerows(row.values() for row in table.to_pylist())
    return path


def read_output(path):
    """The rows of an output file, by other means than neardup's."""
    name = path.name
    if name.endswith(".parquet"):
        return pq.read_table(path).to_pylist()
    if ".jsonl" in name:
        data = path.read_bytes()
        data = gzip.decompress(data) if name.endswith(".gz") else data
        data = pa.input_stream(str(path)).read() if name.endswith(".zst") else data
        return [json.loads(line) for line in data.splitlines()]
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="," if name.endswith("csv") else "\t"))


FORMATS = ["parquet", "jsonl", "jsonl.gz", "jsonl.zst", "csv", "tsv"]


def plain(rows):
    """Rows as csv has them: everything a text, nothing an empty one."""
    return [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]


@pytest.fixture(scope="module")
def expected(table):
    """Which rows stay, which go, and what is said of each."""
    result = neardup.dedup(table)
    return result.kept.to_pylist(), result.removed.to_pylist(), result.annotations.to_pylist()


@pytest.mark.parametrize("format", FORMATS)
def test_kept_and_removed_documents_are_the_input_in_order(format, table, expected, tmp_path):
    source = write_input(table, tmp_path, format)
    report = neardup.dedup(source).write(tmp_path / "out")
    kept, removed = (
        read_output(tmp_path / f"out/kept.{format}"),
        read_output(tmp_path / f"out/removed.{format}"),
    )
    shown = plain if format in ("csv", "tsv") else list
    own = [{name: row[name] for name in table.column_names} for row in removed]
    assert (kept, own) == (shown(expected[0]), shown(expected[1]))
    gone = [marks for marks in expected[2] if not marks["keep"]]
    for row, marks in zip(removed, gone, strict=True):
        assert [*row][len(table.column_names) :] == ["duplicate_of", "similarity", "relation", "evidence"]
        assert (row["duplicate_of"], row["evidence"]) == (marks["duplicate_of"], marks["evidence"])
        assert float(row["similarity"]) == marks["similarity"] >= 0.7
    assert len(kept) + len(removed) == len(table) and len(removed) > 5
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        [f"kept.{format}", f"removed.{format}", "pairs.parquet", "clusters.parquet", "report.json"]
    )
    assert sorted(report["files"]) == sorted(path.name for path in (tmp_path / "out").iterdir())


@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv"])
def test_records_are_copied_byte_for_byte(format, table, tmp_path):
    """Kept ones wholly; the reasons follow the bytes of a removed one."""
    source = write_input(table, tmp_path, format)
    neardup.dedup(source).write(tmp_path / "out")
    kept, removed = (
        (tmp_path / f"out/{name}.{format}").read_bytes().splitlines() for name in ("kept", "removed")
    )
    lines = source.read_bytes().splitlines()
    if format != "jsonl":
        header, *lines = lines
        assert kept.pop(0) == header and removed.pop(0).startswith(header)
    rest = [line for line in lines if line not in set(kept)]
    assert kept + rest == sorted(kept + rest, key=lambda line: (line in rest, lines.index(line)))
    for line, record in zip(rest, removed, strict=True):
        assert record.startswith(line.removesuffix(b"}")) and len(record) > len(line)


@pytest.mark.parametrize("format", FORMATS)
def test_annotated_documents_are_the_input_with_columns_added(format, table, expected, tmp_path):
    source = write_input(table, tmp_path, format)
    neardup.dedup(source).write(tmp_path / "out", mode="annotate")
    found = read_output(tmp_path / f"out/annotated.{format}")
    wanted = [row | marks for row, marks in zip(table.to_pylist(), expected[2], strict=True)]
    if format in ("csv", "tsv"):
        for row, other in zip(found, wanted, strict=True):
            assert row.pop("keep") == str(other.pop("keep")).lower()
            for name in ("similarity", "containment"):
                assert (float(shown) if (shown := row.pop(name)) else None) == other.pop(name)
        assert found == plain(wanted)
    else:
        assert found == wanted
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        [f"annotated.{format}", "pairs.parquet", "clusters.parquet", "report.json"]
    )


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("format", ["parquet", "jsonl", "csv"])
def test_another_format(format, to, table, expected, tmp_path):
    source = write_input(table, tmp_path, format)
    neardup.dedup(source).write(tmp_path / "out", format=to, escape_formulas=False)
    kept = read_output(tmp_path / f"out/kept.{to}")
    assert plain(kept) == plain(expected[0])


def test_data_in_memory_becomes_parquet(tmp_path, table, expected):
    neardup.dedup(table).write(tmp_path / "out")
    assert pq.read_table(tmp_path / "out/kept.parquet").to_pylist() == expected[0]
    neardup.dedup(["one two", "one two"]).write(tmp_path / "texts")
    assert pq.read_table(tmp_path / "texts/kept.parquet").to_pylist() == [{"text": "one two"}]


def test_only_the_findings(tmp_path, table):
    report = neardup.dedup(table).write(tmp_path / "out", mode="none")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "clusters.parquet", "pairs.parquet", "report.json",
    ]  # fmt: skip
    assert report["files"] == ["pairs.parquet", "clusters.parquet", "report.json"]


@pytest.mark.parametrize("pairs", ["all", "clusters"])
def test_pairs_and_clusters_in_files_are_those_of_the_result(pairs, tmp_path, table):
    result = neardup.dedup(table, pairs=pairs)
    result.write(tmp_path / "out", mode="none")
    for name, mine in (("pairs", result.pairs), ("clusters", result.clusters)):
        stored = pq.read_table(tmp_path / f"out/{name}.parquet")
        assert rows(stored) == rows(mine) and stored.schema.equals(mine.schema)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_pairs_and_clusters_in_other_formats(format, tmp_path, table):
    result = neardup.dedup(table)
    report = result.write(tmp_path / "out", mode="none", table_format=format)
    assert report["files"] == [f"pairs.{format}", f"clusters.{format}", "report.json"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(report["files"])
    for name, mine in (("pairs", result.pairs), ("clusters", result.clusters)):
        found = read_output(tmp_path / f"out/{name}.{format}")
        if format == "jsonl":
            assert found == mine.to_pylist()
            continue
        assert [*found[0]] == mine.column_names and len(found) == len(mine)
        for row, other in zip(found, mine.to_pylist(), strict=True):
            for column, value in other.items():
                if isinstance(value, float):
                    assert float(row[column]) == value
                else:
                    text = str(value).lower() if isinstance(value, bool) else str(value)
                    assert row[column] == ("" if value is None else text)
    with pytest.raises(ParameterError, match="table_format"):
        result.write(tmp_path / "other", table_format="xml")


def test_a_result_in_another_format_takes_the_place_of_the_last(tmp_path, table):
    result = neardup.dedup(table)
    result.write(tmp_path / "out", mode="none")
    result.write(tmp_path / "out", mode="none", table_format="csv", force=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "clusters.csv", "pairs.csv", "report.json",
    ]  # fmt: skip


def test_files_name_the_plan_they_were_made_with(tmp_path, table):
    result = neardup.dedup(table, threshold=0.65, keep="shortest")
    result.write(tmp_path / "out")
    for name in ("pairs", "clusters"):
        metadata = pq.read_schema(tmp_path / f"out/{name}.parquet").metadata
        assert metadata[b"neardup.digest"].decode() == result.plan.digest
        assert neardup.Plan.from_json(metadata[b"neardup.plan"].decode()) == result.plan
    other = neardup.dedup(table, threshold=0.66, keep="shortest")
    assert other.plan.digest != result.plan.digest


def test_the_report_is_the_one_that_is_returned(tmp_path, table):
    result = neardup.dedup(table)
    report = result.write(tmp_path / "out")
    stored = json.loads((tmp_path / "out/report.json").read_text())
    assert stored == json.loads(json.dumps(report))
    assert stored["documents"] == len(table) and stored["kept"] == len(result.kept)
    assert neardup.Plan.from_json(json.dumps(stored["plan"])) == result.plan


def test_a_file_of_pairs_has_few_row_groups(tmp_path):
    texts = [f"{a} b c d e f {k}" for k, a in enumerate("p q r s t u v w".split())] + ["one", "one"]
    report = neardup.dedup(texts, ngram=1, threshold=0.5, pairs="all").write(tmp_path / "out", mode="none")
    stored = pq.ParquetFile(tmp_path / "out/pairs.parquet").metadata
    assert report["exact_copies"] == 1 and stored.num_rows == 8 * 7 // 2 + 1
    assert stored.num_row_groups <= 2


# --- columns that are there already ----------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("mode", ["annotate", "remove"])
def test_columns_of_our_names_stay_and_ours_get_another(format, mode, tmp_path):
    own = {
        "id": ["a", "b", "c"],
        "keep": ["mine"] * 3,
        "text": ["same text", "same text", "other"],
        "cluster": [7, 8, 9],
        "duplicate_of": ["x", "y", "z"],
        "similarity": [3, 2, 1],
    }
    source = write_input(pa.table(own), tmp_path, format)
    neardup.dedup(source).write(tmp_path / "out", mode=mode)
    found = read_output(tmp_path / f"out/{'annotated' if mode == 'annotate' else 'removed'}.{format}")
    rows = [dict(zip(own, values, strict=True)) for values in zip(*own.values(), strict=True)]
    rows = rows if mode == "annotate" else rows[1:2]
    assert plain([{name: row[name] for name in own} for row in found]) == plain(rows)
    copy = next(row for row in found if row["id"] == "b")
    assert (copy["neardup_duplicate_of"], float(copy["neardup_similarity"])) == ("a", 1.0)
    marks = {"relation", "evidence", "neardup_duplicate_of", "neardup_similarity"}
    if mode == "annotate":
        assert [str(row["neardup_keep"]).lower() for row in found] == ["true", "false", "true"]
        assert [row["neardup_cluster"] or None for row in found] == ["a", "a", None]
        marks |= {"neardup_keep", "neardup_cluster", "containment"}
    else:
        assert plain(read_output(tmp_path / f"out/kept.{format}")) == plain(
            [dict(zip(own, values, strict=True)) for values in zip(*own.values(), strict=True)][::2]
        )
    assert set(found[0]) == {*own, *marks}


def test_documents_without_an_id_get_one_when_they_are_annotated(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"text": "same text"}\n{"text": "same text"}\n')
    neardup.dedup(tmp_path / "corpus.jsonl").write(tmp_path / "out", mode="annotate")
    first, second = read_output(tmp_path / "out/annotated.jsonl")
    assert second["duplicate_of"] == first["id"] and first["id"] != second["id"]


def test_a_text_column_that_is_called_id_is_not_lost(tmp_path):
    neardup.dedup(pa.table({"id": ["same text"] * 2}), text_column="id").write(
        tmp_path / "out", mode="annotate"
    )
    found = read_output(tmp_path / "out/annotated.parquet")
    assert [row["id"] for row in found] == ["same text"] * 2


# --- whole or not at all ---------------------------------------------------------------------------------------


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else None


@pytest.mark.parametrize(
    "existing", ["kept.parquet", "removed.parquet", "pairs.parquet", "clusters.parquet", "report.json"]
)
def test_nothing_is_overwritten(existing, tmp_path, table):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / existing).write_text("precious")
    with pytest.raises(OutputError, match=f"{existing} exists already: .* --force"):
        neardup.dedup(table).write(folder)
    assert contents(folder) == {existing: b"precious"}
    neardup.dedup(table).write(folder, force=True)
    assert len(contents(folder)) == 5 and contents(folder)[existing] != b"precious"


def test_other_files_of_the_folder_are_left_alone(tmp_path, table):
    (tmp_path / "mine.txt").write_text("mine")
    neardup.dedup(table).write(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine" and (tmp_path / "report.json").exists()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("stage", ["write_pairs", "write_clusters", "_divide", "run_report"])
def test_a_failure_leaves_nothing_behind(error, stage, tmp_path, table, monkeypatch):
    def fail(*arguments):
        raise error

    result = neardup.dedup(table)
    monkeypatch.setattr(f"neardup.engines.local.write.{stage}", fail)
    with pytest.raises(error):
        result.write(tmp_path / "deep/out")
    assert not (tmp_path / "deep").exists()


def test_a_failure_leaves_an_earlier_result_as_it_was(tmp_path, table, monkeypatch):
    result = neardup.dedup(table)
    result.write(tmp_path / "out")
    before = contents(tmp_path / "out")

    def fail(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("neardup.engines.local.write.run_report", fail)
    with pytest.raises(KeyboardInterrupt):
        result.write(tmp_path / "out", force=True)
    assert contents(tmp_path / "out") == before


def test_a_folder_that_cannot_be_made(tmp_path, table):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(OutputError, match="cannot be created as a folder"):
            neardup.dedup(table).write(folder)


def test_input_that_changed_in_between_is_noticed(tmp_path, table):
    source = write_input(table, tmp_path, "jsonl")
    result = neardup.dedup(source)
    with source.open("a") as file:
        file.write('{"id": "late", "text": "one more"}\n')
    with pytest.raises(InputError, match="input changed while it was read"):
        result.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_input_that_changed_without_growing_is_noticed(tmp_path, table):
    source = write_input(table, tmp_path, "jsonl")
    result = neardup.dedup(source)
    lines = source.read_bytes().splitlines(keepends=True)
    source.write_bytes(b"".join(reversed(lines)))
    with pytest.raises(InputError, match="input changed"):
        result.write(tmp_path / "out")


@pytest.mark.parametrize("mode", ["keep", "", None, "Remove"])
def test_a_mode_that_is_none(mode, tmp_path):
    with pytest.raises(
        ParameterError, match="'mode' parameter of write must be 'remove', 'annotate' or 'none'"
    ):
        neardup.dedup(["one"]).write(tmp_path / "out", mode=mode)


@pytest.mark.parametrize("format", ["docx", "parquet.gz", "jsonl.bz2", ""])
def test_a_format_that_is_none(format, tmp_path):
    with pytest.raises(OutputError, match="is not an output format: choose parquet, jsonl, csv, tsv"):
        neardup.dedup(["one"]).write(tmp_path / "out", format=format)
    assert not (tmp_path / "out").exists()


def test_batches_of_one_document_are_written_as_any_other(table, expected, tmp_path, monkeypatch):
    set_constants(monkeypatch, BATCH_ROWS=1)
    source = write_input(table, tmp_path, "parquet")
    for mode in ("remove", "annotate"):
        neardup.dedup(source).write(tmp_path / mode, mode=mode)
    assert read_output(tmp_path / "remove/kept.parquet") == expected[0]
    found = read_output(tmp_path / "annotate/annotated.parquet")
    assert [{name: row[name] for name in MARKS} for row in found] == expected[2]


# --- what --force must not do ----------------------------------------------------------------------------------


def test_force_leaves_no_documents_of_an_earlier_run(tmp_path, table):
    result = neardup.dedup(write_input(table, tmp_path, "jsonl"))
    result.write(tmp_path / "out")
    (tmp_path / "out/notes.txt").write_text("mine")
    result.write(tmp_path / "out", mode="annotate", force=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "annotated.jsonl", "clusters.parquet", "notes.txt", "pairs.parquet", "report.json"
    ]  # fmt: skip


def test_force_does_not_overwrite_the_input(tmp_path, table):
    source = write_input(table, tmp_path, "jsonl")
    kept = source.rename(tmp_path / "kept.jsonl")
    before = kept.read_bytes()
    with pytest.raises(OutputError, match="is an input of this run"):
        neardup.dedup(kept).write(tmp_path, force=True)
    assert kept.read_bytes() == before


def test_ids_that_are_words_after_thousands_of_numbers_are_kept(tmp_path):
    lines = [f'{{"id": {k}, "text": "{"word " * 300}{k}"}}' for k in range(4000)] + [
        '{"id": "late", "text": "one"}'
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    result = neardup.dedup(tmp_path / "a.jsonl", threshold=1.0)
    assert result.report["problems"]["total"] == 0
    assert "late" in result._run.corpus.ids.to_pylist()


def test_annotating_tells_the_id_that_a_document_was_given(tmp_path):
    texts = pa.table({"id": ["a", "a", None], "text": ["one two", "one two", "one two"]})
    neardup.dedup(texts, duplicate_ids="rename").write(tmp_path / "out", mode="annotate")
    rows = pq.read_table(tmp_path / "out/annotated.parquet").to_pylist()
    assert {row["duplicate_of"] for row in rows} - {None} <= {row["document_id"] for row in rows}
    assert [row["id"] for row in rows] == ["a", "a", None]


def test_the_pairs_of_many_copies_are_counted_and_said_before_they_are_written(tmp_path):
    from neardup.engines.core.progress import Progress

    said = []

    class Listening(Progress):
        def note(self, message):
            said.append(message)

    result = neardup.dedup(["the same text again"] * 40, pairs="all", progress=Listening())
    result.write(tmp_path / "out", mode="none")
    assert said == ["780 pairs of 40 documents will be written"]
    assert pq.read_metadata(tmp_path / "out/pairs.parquet").num_rows == 780


def test_containment_does_not_depend_on_the_input_order():
    """Of two that are equally large each contains the other: the reason goes by their ids alone."""
    words = [f"w{k}" for k in range(60)]
    texts = [" ".join(words), " ".join([*words[:-1], "x"]), " ".join([*words, "y", "z"])]
    options = {"decide": "containment", "threshold": 0.8, "pairs": "all"}
    found = []
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        table = pa.table({"id": [f"d{k}" for k in order], "text": [texts[k] for k in order]})
        rows = neardup.dedup(table, **options).pairs.select(["left", "right", "reason"]).to_pylist()
        found.append(rows)
    assert found[0] == found[1] == found[2] and len(found[0]) == 3
    assert [row["reason"] for row in found[0]] == [
        "left contains right",
        "right contains left",
        "right contains left",
    ]
