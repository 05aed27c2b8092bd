"""Parquet of every text type, bounded batches, damage."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import batches, put, rows

import neardup
from neardup.documents import BATCH_BYTES, BATCH_ROWS, Problems, document_texts, open_inputs
from neardup.documents.footers import column_chunks
from neardup.errors import InputError


def written(path, columns, **options):
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
    return path


def test_rows_and_numbers_over_row_groups(tmp_path):
    path = written(
        tmp_path / "a.parquet", {"id": list(range(10)), "text": list("abcdefghij")}, row_group_size=4
    )
    found, problems = batches(path, ["text", "id"])
    assert [text for batch in found for text in batch.columns["text"].to_pylist()] == list("abcdefghij")
    assert [number for batch in found for number in batch.numbers.tolist()] == list(range(1, 11))
    source = open_inputs([path])[0]
    assert (source.rows, source.names(), source.size) == (10, ["id", "text"], path.stat().st_size)
    assert not problems.total


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "é"]),
        pa.array(["a", None, "é"], pa.large_string()),
        pa.array(["a", None, "é"]).dictionary_encode(),
        pa.array([b"a", None, "é".encode()]),
        pa.array([b"a", None, "é".encode()], pa.large_binary()),
        pa.array([b"a", None, "é".encode()]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type)[:20],
)
def test_text_of_every_type_is_given_as_strings(tmp_path, column):
    """Bytes are given as they are: only whoever asks for texts, or ids, knows how to read them."""
    (batch,), problems = batches(written(tmp_path / "a.parquet", {"text": column}), ["text"])
    if not pa.types.is_binary(column.type) and not pa.types.is_large_binary(column.type):
        assert batch.columns["text"].to_pylist() == ["a", None, "é"]
        assert batch.columns["text"].type in (pa.string(), pa.large_string())
    assert document_texts(batch, "text", problems).to_pylist() == ["a", "", "é"]


def test_bytes_that_are_not_utf8_are_replaced_and_counted(tmp_path):
    (batch,), problems = batches(written(tmp_path / "a.parquet", {"text": [b"a", b"b\xff"]}), ["text"])
    assert document_texts(batch, "text", problems).to_pylist() == ["a", "b\ufffd"]
    assert problems.counts == {"invalid UTF-8": 1}
    assert problems.first[0].record == 2


def test_stored_strings_that_are_not_utf8_are_replaced_too(tmp_path):
    bad = pa.array([b"a", b"b\xff"]).view(pa.string())
    found, problems = rows(written(tmp_path / "a.parquet", {"text": bad}), ["text"])
    assert [row["text"] for row in found] == ["a", "b\ufffd"]
    assert problems.counts == {"invalid UTF-8": 1}


def test_all_columns_come_as_they_are_stored(tmp_path):
    table = pa.table(
        {
            "image": pa.array([b"\xff\0", None]),
            "kind": pa.array(["x", "y"]).dictionary_encode(),
            "nested": pa.array([{"a": [1]}, None]),
            "when": pa.array([1, 2], pa.timestamp("ms")),
        }
    )
    (batch,), _ = batches(written(tmp_path / "a.parquet", table))
    assert pa.Table.from_batches([batch.columns]).equals(table)
    assert rows(tmp_path / "a.parquet", ["nested"])[0][0] == {"nested": '{"a": [1]}'}


def test_batches_are_bounded_and_do_not_depend_on_the_columns(tmp_path):
    texts = ["x" * 3000] * 5000
    path = written(tmp_path / "a.parquet", {"id": np.arange(5000), "text": texts}, use_dictionary=False)
    found, _ = batches(path, ["text"])
    assert max(batch.columns.nbytes for batch in found) < 1.5 * BATCH_BYTES
    for columns in ([], ["id"], None):
        assert [len(batch) for batch in batches(path, columns)[0]] == [len(batch) for batch in found]
    short = written(tmp_path / "b.parquet", {"text": ["x"] * 20_000})
    assert max(len(batch) for batch in batches(short, ["text"])[0]) == BATCH_ROWS


def test_a_repeated_text_is_measured_as_it_is_in_memory(tmp_path):
    path = written(tmp_path / "a.parquet", {"text": ["x" * 100_000] * 2000})
    assert path.stat().st_size < 100_000
    assert max(batch.columns.nbytes for batch in batches(path, ["text"])[0]) < 1.5 * BATCH_BYTES


def test_keys_of_fixed_size_stay_different(tmp_path):
    keys = pa.array([b"\xff\xfe", b"\xfe\xff", None], pa.binary(2))
    found, problems = rows(written(tmp_path / "a.parquet", {"id": keys}), ["id"])
    assert [row["id"] for row in found] == ["fffe", "feff", None]
    assert not problems.total


def test_duplicate_and_missing_columns(tmp_path):
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    path = written(tmp_path / "a.parquet", table)
    assert rows(path, ["text", "other"])[0] == [{"text": "a", "other": None}]
    (batch,), _ = batches(path)
    assert batch.columns.num_columns == 2


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1nonsensePAR1", b"x" * 100])
def test_what_is_not_parquet_is_reported_or_refused(tmp_path, data):
    path = put(tmp_path / "a.parquet", data)
    with pytest.raises(InputError, match=r"a\.parquet: no documents found|empty"):
        neardup.dedup(path)


def test_a_damaged_row_group_is_reported_and_the_next_goes_on(tmp_path):
    texts = [f"document number {n} " * 5 for n in range(300)]
    path = written(
        tmp_path / "a.parquet",
        {"text": texts, "id": list(range(300))},
        row_group_size=100,
        use_dictionary=False,
    )
    group = pq.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    at = group.data_page_offset + group.total_compressed_size // 2
    data[at : at + 40] = b"\xff" * 40
    path.write_bytes(data)
    found, problems = batches(path, ["text"])
    assert [number for batch in found for number in batch.numbers.tolist()] == [
        *range(1, 101),
        *range(201, 301),
    ]
    assert problems.counts == {"damaged parquet": 1}
    assert problems.first[0].record == 101
    source = open_inputs([path])[0]
    for columns in (["text"], [], ["id"]):  # what the first reading could not read stays out of the others
        assert sum(len(batch) for batch in source.read(columns, Problems())) == 200
    assert [batch.columns.schema.names for batch in source.read_rest("text", Problems())] == [["id"]] * 2


def test_the_rest_of_a_table_comes_in_the_same_batches(tmp_path):
    table = pa.table({"a": pa.array(["x", "y"]).dictionary_encode(), "text": ["t", "u"], "n": [1, None]})
    source = open_inputs([written(tmp_path / "a.parquet", table, row_group_size=1)])[0]
    rest = pa.Table.from_batches([batch.columns for batch in source.read_rest("text", Problems())])
    assert rest.equals(table.drop_columns(["text"]))
    assert [batch.numbers.tolist() for batch in source.read_rest("text", Problems())] == [[1], [2]]


def test_an_empty_table_has_names_and_no_batches(tmp_path):
    path = written(tmp_path / "a.parquet", pa.table({"text": pa.array([], pa.string())}))
    assert rows(path, ["text"])[0] == []
    assert open_inputs([path])[0].names() == ["text"]
    assert list(open_inputs([path])[0].read([], Problems())) == []


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "none"])
def test_column_chunks_are_those_that_pyarrow_reads(tmp_path, codec):
    columns = {
        "id": range(90),
        "text": [f"text {k}" for k in range(90)],
        "n": [{"x": 1.5}, None, {"x": 2.0}] * 30,
    }
    path = written(tmp_path / "a.parquet", columns, row_group_size=40, compression=codec)
    with pa.OSFile(str(path)) as file:
        found = column_chunks(file)
    metadata = pq.read_metadata(path)
    for number, chunks in enumerate(found):
        group = metadata.row_group(number)
        stored = [group.column(k) for k in range(group.num_columns)]
        assert [(c.path, c.values, c.uncompressed, c.compressed) for c in chunks] == [
            (s.path_in_schema, s.num_values, s.total_uncompressed_size, s.total_compressed_size)
            for s in stored
        ]
        assert [c.codec for c in chunks] == [s.compression.lower() for s in stored]
    assert len(found) == metadata.num_row_groups == 3
