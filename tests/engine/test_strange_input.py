"""Input that nobody expects, through the whole path: no crash, and the answer that it deserves."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from neardup.errors import InputError

FOX = "the quick brown fox jumps over the lazy dog and runs away"
OFF = "the quick brown fox jumps over the lazy dog and runs off"
ELSE = "something else entirely, different from all of the others here"
TEXTS = [FOX, OFF, ELSE, FOX]


def groups(result):
    found = {}
    for row in result.clusters.to_pylist():
        found.setdefault(row["cluster"], set()).add(row["id"])
    return list(found.values())


# --- texts ---------------------------------------------------------------------------------------------------


def test_ten_thousand_documents_of_one_word():
    texts = [f"word{k % 5000}" for k in range(10_000)]
    result = neardup.dedup(texts)
    assert len(result.kept) == 5000 == result.report["clusters"]
    assert result.kept == texts[:5000]
    assert result.report["pairs"]["verified"] == 0, "equal words are copies, other words share nothing"


def test_words_that_differ_only_in_case_are_similar_not_copies():
    result = neardup.dedup(["Word", "word", "WORD"], pairs="all")
    assert [row["reason"] for row in result.pairs.to_pylist()] == ["similar"] * 3
    assert result.pairs["similarity"].to_pylist() == [1.0] * 3


def test_all_documents_identical():
    result = neardup.dedup([FOX] * 3000)
    assert (len(result.kept), result.report["clusters"], result.report["exact_copies"]) == (1, 1, 2999)
    assert result.report["pairs"]["candidates"] == 0
    assert len(result.pairs) == 2999


def test_all_documents_empty():
    result = neardup.dedup([""] * 1000)
    assert len(result.kept) == 1000 and result.report["without_tokens"] == 1000


def test_a_document_of_ten_megabytes_among_short_ones(tmp_path):
    words = np.random.default_rng(1).integers(0, 1 << 20, 1_450_000).astype("U7")
    long = " ".join(words.tolist())
    assert len(long) > 9_500_000
    versions = [long, FOX, long[: len(long) * 9 // 10], OFF]
    pq.write_table(pa.table({"id": list("abcd"), "text": versions}), tmp_path / "long.parquet")
    result = neardup.dedup(tmp_path / "long.parquet")
    assert groups(result) == [{"a", "c"}, {"b", "d"}]
    rows = {row["id"]: row for row in result.clusters.to_pylist()}
    assert rows["c"]["containment"] > 0.9999 and rows["c"]["similarity"] == pytest.approx(0.9, abs=0.001)
    result.write(tmp_path / "out")
    assert pq.read_table(tmp_path / "out/kept.parquet")["text"].to_pylist() == [long, FOX]


def test_a_document_of_one_word_repeated():
    result = neardup.dedup(["spam " * 100_000, "spam " * 50_000, "spam spam spam spam spam"], pairs="all")
    assert result.pairs["similarity"].to_pylist() == [1.0] * 3, "as sets of shingles they are all the same"


def test_a_word_of_a_megabyte():
    result = neardup.dedup(["a" * 1_000_000, "a" * 1_000_000, "a" * 999_999])
    assert groups(result) == [{0, 1}]


@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "\ud800",
        "\ufffe\uffff",
        "\U0010ffff",
        "e" + "\u0301" * 5000,
        "\u202e\u202d",
        "\u2028\u2029\u0085",
    ],
    ids=ascii,
)
def test_characters_that_break_things(text):
    texts = [f"{FOX} {text}", f"{FOX} {text}", ELSE]
    result = neardup.dedup(texts)
    assert result.kept == [texts[0], ELSE]
    assert result.removed == [texts[1]]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()],
    ids=str,
)
def test_text_of_every_string_type(kind, tmp_path):
    table = pa.table({"id": list("abcd"), "text": pa.array(TEXTS).cast(kind)})
    result = neardup.dedup(table)
    assert groups(result) == [{"a", "b", "d"}]
    assert result.write(tmp_path / "marked", mode="annotate")["kept"] == 2


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
        pa.dictionary(pa.int32(), pa.string()),
    ],
    ids=str,
)
def test_columns_of_every_string_type_are_divided(kind, tmp_path):
    table = pa.table({"id": list("abcd"), "text": TEXTS, "more": pa.array(TEXTS).cast(kind)})
    result = neardup.dedup(table)
    assert result.kept["more"].cast(pa.string()).to_pylist() == [FOX, ELSE]
    for format in ("parquet", "jsonl", "csv"):
        assert result.write(tmp_path / format, format=format)["kept"] == 2


def test_text_in_a_dictionary_over_several_chunks():
    chunks = [pa.array([FOX, OFF]).dictionary_encode(), pa.array([ELSE, FOX]).dictionary_encode()]
    table = pa.table({"id": list("abcd"), "text": pa.chunked_array(chunks)})
    result = neardup.dedup(table)
    assert groups(result) == [{"a", "b", "d"}]
    assert result.kept["text"].to_pylist() == [FOX, ELSE]


def test_bytes_that_are_no_utf8_are_replaced_and_counted():
    table = pa.table({"id": [1, 2], "text": pa.array([b"caf\xe9 au lait", b"caf\xe9 au lait"], pa.binary())})
    result = neardup.dedup(table)
    assert groups(result) == [{1, 2}]
    assert result.report["problems"]["counts"] == {"invalid UTF-8": 2}


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 1],
        [1.5, 2.5, 1.5],
        [True, False, True],
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)],
        [Decimal("1.10"), Decimal("2.20"), Decimal("1.10")],
        [["a", "b"], ["c"], ["a", "b"]],
        [{"x": 1}, {"x": 2}, {"x": 1}],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_a_text_column_of_something_else_is_compared_as_it_is_printed(values):
    result = neardup.dedup(pa.table({"text": values}))
    assert groups(result) == [{0, 2}]


def test_missing_texts_are_counted_kept_and_never_pair():
    table = pa.table({"id": [1, 2, 3, 4], "text": [None, FOX, None, FOX]})
    result = neardup.dedup(table)
    assert groups(result) == [{2, 4}]
    assert result.kept["text"].to_pylist() == [None, FOX, None]
    assert result.report["problems"]["counts"] == {"no text": 2} and result.report["without_tokens"] == 2


def test_a_column_of_nothing_but_missing_texts():
    result = neardup.dedup(pa.table({"text": pa.nulls(3)}))
    assert len(result.kept) == 3 and result.report["problems"]["counts"] == {"no text": 3}


def test_bytes_behind_a_missing_text_are_not_read():
    """Arrow allows any bytes behind a null."""
    data, offsets = b"same textsame text", np.array([0, 9, 18], np.int32)
    hidden = pa.Array.from_buffers(
        pa.string(), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(offsets.tobytes()), pa.py_buffer(data)]
    )
    assert hidden.to_pylist() == [None, "same text"]
    assert len(neardup.dedup(pa.table({"text": hidden})).pairs) == 0


def test_texts_that_are_a_slice_of_a_larger_array():
    table = pa.table({"id": list("xabcdy"), "text": [ELSE, *TEXTS, FOX]}).slice(1, 4)
    assert groups(neardup.dedup(table)) == [{"a", "b", "d"}]


# --- ids -----------------------------------------------------------------------------------------------------

IDS = {
    "small integers": pa.array([7, -1, 0, 3], pa.int8()),
    "unsigned integers": pa.array([2**64 - 1, 0, 2**63, 5], pa.uint64()),
    "floats": pa.array([1.5, 1.25, 1e300, -0.1]),
    "dates": pa.array([datetime.date(2020, 1, day) for day in (4, 2, 3, 1)]),
    "times": pa.array([datetime.datetime(2020, 1, day, tzinfo=datetime.UTC) for day in (4, 2, 3, 1)]),
    "nanoseconds": pa.array([4, 2, 3, 1], pa.timestamp("ns", tz="America/New_York")),
    "decimals": pa.array([Decimal("4.0"), Decimal("2.5"), Decimal("3.1"), Decimal("1.9")]),
    "Unicode": pa.array(["日本", "é", "e\u0301", "\U0001f642\u202e"]),
    "empty and blank": pa.array(["", " ", "\n", "\x00"]),
    "dictionary": pa.array(["d", "b", "c", "a"]).dictionary_encode(),
    "views": pa.array(["d", "b", "c", "a"], pa.string_view()),
    "lists": pa.array([[4], [2, 1], [3], []]),
    "objects": pa.array([{"a": 4}, {"a": 2}, {"a": None}, {"a": 1}]),
    "durations": pa.array([4, 2, 3, 1], pa.duration("s")),
    "long": pa.array(["x" * 100_000 + str(k) for k in range(4)]),
}


@pytest.mark.parametrize("kind", IDS)
def test_ids_of_every_type(kind, tmp_path):
    table = pa.table({"id": IDS[kind], "text": TEXTS})
    result = neardup.dedup(table)
    assert len(result.clusters) == 3 and len(set(result.clusters["id"].to_pylist())) == 3
    assert result.report["removed"] == 2
    marks = result.annotations.to_pylist()
    assert [row["cluster"] is None for row in marks] == [False, False, True, False]
    assert {row["cluster"] for row in marks if row["cluster"] is not None} <= set(
        result.clusters["id"].to_pylist()
    )
    for format in ("parquet", "jsonl", "csv"):
        result.write(tmp_path / format, mode="annotate", format=format)


RAW = [bytes([200 + k]) * 16 for k in range(4)]


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(pa.array(RAW, pa.binary(16)), id="fixed"),
        pytest.param(pa.ExtensionArray.from_storage(pa.uuid(), pa.array(RAW, pa.binary(16))), id="uuid"),
        pytest.param(
            pa.array(RAW, pa.binary()),
            id="binary",
        ),
    ],
)
def test_ids_of_bytes_stay_apart(ids):
    """Digests are common ids; bytes that are no text must not be made the same by decoding them."""
    result = neardup.dedup(pa.table({"id": ids, "text": TEXTS}))
    assert len(set(result.clusters["id"].to_pylist())) == 3


def test_missing_ids_are_numbered():
    result = neardup.dedup(pa.table({"id": [5, None, 6, None], "text": TEXTS}))
    assert groups(result) == [{"5", "input:2", "input:4"}]


def test_ids_that_occur_twice_are_an_error_that_names_them():
    table = pa.table({"id": ["a", "b", "a", "b"], "text": TEXTS})
    with pytest.raises(
        InputError, match=r"2 ids stand for more than one document, for example '[ab]', '[ab]'"
    ) as caught:
        neardup.dedup(table, duplicate_ids="error")
    assert "--id-column" in str(caught.value) and "--duplicate-ids rename" in str(caught.value)


def test_ids_that_occur_twice_can_be_renamed():
    table = pa.table({"id": ["a", "a", "a#2", "a"], "text": TEXTS})
    result = neardup.dedup(table, duplicate_ids="rename")
    assert groups(result) == [{"a", "a#3", "a#4"}]
    assert result.kept["id"].to_pylist() == ["a", "a#2"], "the documents keep the ids that they have"
    numbers = neardup.dedup(pa.table({"id": [1, 1, 2, 1], "text": TEXTS}), duplicate_ids="rename")
    assert groups(numbers) == [{"1", "1#2", "1#3"}]


def test_an_integer_and_the_same_digits_in_another_file_are_one_id(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "one"}\n')
    (tmp_path / "b.jsonl").write_text('{"id": "1", "text": "two"}\n')
    with pytest.raises(InputError, match="1 id stands for more than one document, for example '1'"):
        neardup.dedup([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], duplicate_ids="error")


def test_a_frame_with_integers_beyond_64_bits_is_read_or_refused_in_a_sentence():
    with pytest.raises(InputError):
        neardup.dedup(pd.DataFrame({"id": [2**70, 1, 2, 3], "text": TEXTS}))


def test_a_frame_with_ids_of_several_kinds_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="the pandas frame cannot be read as a table"):
        neardup.dedup(pd.DataFrame({"id": [1, "a", 2.5, None], "text": TEXTS}))


def test_frames_with_missing_and_odd_columns():
    frame = pd.DataFrame(
        {"id": list("abcd"), "text": [FOX, np.nan, None, FOX], "x": pd.Categorical(list("pqpq"))}
    )
    assert groups(neardup.dedup(frame)) == [{"a", "d"}]
    polars = pl.DataFrame(
        {
            "id": pl.Series(list("abcd"), dtype=pl.Categorical),
            "text": TEXTS,
            "when": [datetime.datetime(2020, 1, 1)] * 4,
            "nested": [[1], [2], [3], []],
        }
    )
    result = neardup.dedup(polars, keep="newest:when")
    assert groups(result) == [{"a", "b", "d"}] and result.kept.equals(polars[[0, 2]])


# --- columns and tables ----------------------------------------------------------------------------------------


def test_two_columns_of_one_name():
    """The first text column counts, and both come out again."""
    table = pa.Table.from_arrays([pa.array(TEXTS), pa.array(list("wxyz"))], names=["text", "text"])
    result = neardup.dedup(table)
    assert groups(result) == [{0, 1, 3}]
    assert result.kept.column_names == ["text", "text"] and result.kept.column(1).to_pylist() == ["w", "y"]


def test_a_text_column_that_is_the_id_column_too():
    result = neardup.dedup(pa.table({"text": [FOX, OFF, ELSE]}), id_column="text")
    assert groups(result) == [{FOX, OFF}]


@pytest.mark.parametrize("name", ["", " ", "é", "a.b", "text\n", "'"])
def test_a_column_of_an_odd_name(name, tmp_path):
    result = neardup.dedup(pa.table({name: TEXTS}), text_column=name)
    assert groups(result) == [{0, 1, 3}]
    for format in ("parquet", "jsonl", "csv"):
        result.write(tmp_path / format, format=format)


def test_empty_row_groups_and_empty_files_among_others(tmp_path):
    schema = pa.schema([("id", pa.string()), ("text", pa.string())])
    with pq.ParquetWriter(tmp_path / "a.parquet", schema) as writer:
        writer.write_table(schema.empty_table())
        writer.write_table(pa.table({"id": ["a", "b"], "text": [FOX, ELSE]}))
        writer.write_table(schema.empty_table())
    pq.write_table(schema.empty_table(), tmp_path / "b.parquet")
    pq.write_table(pa.table({"id": ["c"], "text": [OFF]}), tmp_path / "c.parquet")
    result = neardup.dedup(tmp_path)
    assert groups(result) == [{"a", "c"}]
    assert result.write(tmp_path / "out", mode="annotate")["kept"] == 2
    assert pq.read_table(tmp_path / "out/annotated.parquet")["id"].to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "empty",
    [[], pa.table({"text": pa.array([], pa.string())}), pd.DataFrame({"text": []})],
    ids=["list", "table", "frame"],
)
def test_no_document_at_all(empty):
    with pytest.raises(InputError, match=r"[Nn]o document"):
        neardup.dedup(empty)


def test_a_table_without_a_column():
    with pytest.raises(InputError):
        neardup.dedup(pa.table({}))


def test_html_is_compared_by_what_a_reader_sees():
    pages = [f"<html><head><script>x={k}</script></head><body><p>{FOX}</p></body></html>" for k in range(2)]
    assert len(neardup.dedup(pa.table({"html": pages})).pairs) == 1
    assert len(neardup.dedup(pa.table({"text": pages}), html=True).pairs) == 1
    plain = neardup.dedup(pa.table({"html": pages}), html=False, pairs="all", threshold=0.9)
    assert len(plain.pairs) == 0
