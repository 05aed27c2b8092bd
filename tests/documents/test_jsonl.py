"""JSON lines, well-formed and not."""

import gzip
import json
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import batches, numbers, put, rows

from neardup.documents import BATCH_ROWS, Problems, document_texts, open_inputs
from neardup.documents.jsonl import DEEPEST, JsonlSource, is_deep
from neardup.errors import RecordError


def test_lines_become_rows(tmp_path):
    path = put(
        tmp_path / "a.jsonl", '{"id": 1, "text": "one", "x": [1]}\n{"id": 2, "text": "two", "y": {"z": 1}}\n'
    )
    assert rows(path, ["text", "id"])[0] == [{"text": "one", "id": 1}, {"text": "two", "id": 2}]
    assert rows(path)[0] == [
        {"id": 1, "text": "one", "x": [1], "y": None},
        {"id": 2, "text": "two", "x": None, "y": {"z": 1}},
    ]
    assert open_inputs([path])[0].names() == ["id", "text", "x", "y"]


def test_bad_lines_are_reported_and_leave_gaps(tmp_path):
    lines = [b'{"text": "a"}', b"{broken", b"", b"[1]", b'{"text": "b"}', b'{"text": "c\xff"}', b'"x"']
    path = put(tmp_path / "a.jsonl", b"\n".join(lines))
    found, problems = batches(path, ["text"])
    assert [text for batch in found for text in batch.columns["text"].to_pylist()] == ["a", "b", "c\ufffd"]
    assert numbers(path, ["text"]) == [1, 5, 6]
    assert problems.counts == {"invalid JSON": 1, "not a JSON object": 2, "invalid UTF-8": 1}
    first = problems.first[0]
    assert (first.source, first.record, first.offset, first.action) == (str(path), 2, 14, "skipped")
    assert problems.first[2].action == "replaced"


def test_strict_stops_at_the_first_bad_line(tmp_path):
    path = put(tmp_path / "a.jsonl", '{"text": "a"}\nnonsense\n')
    with pytest.raises(RecordError, match="record 2: invalid JSON"):
        list(open_inputs([path])[0].read(["text"], Problems(strict=True)))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"text": "a\\ud800b"}', "a\ufffdb"),
        ('{"text": "a\\udc00"}', "a\ufffd"),
        ('{"text": "\\ud83d\\ude00"}', "\U0001f600"),
        ('{"text": "a\\u0000b"}', "a\0b"),
        ('{"text": "a\u2028b\u0085c"}', "a\u2028b\u0085c"),
        ('{"text": "raw\ttab"}', "raw\ttab"),
        ('{"text": 5}', "5"),
        ('{"text": 1.5}', "1.5"),
        ('{"text": true}', "true"),
        ('{"text": ["a", 1]}', '["a", 1]'),
        ('{"text": "a", "text": "b"}', "b"),
        ('{"text": "a", "n": 123456789012345678901234567890}', "a"),
        ('  {"text": "a"}  ', "a"),
        ('{"text": "a"}\r', "a"),
        ('{"text": null}', None),
        ("{}", None),
        ('\ufeff{"text": "a"}', "a"),
        ('{"text": "a", "deep": ' + "[" * 500 + "]" * 500 + "}", "a"),
    ],
)
@pytest.mark.parametrize("company", ["", '{"text": "company"}\n'])
def test_unusual_lines_are_kept(tmp_path, line, text, company):
    if company and line.startswith("\ufeff"):
        pytest.skip("a mark belongs at the beginning")
    path = put(tmp_path / "a.jsonl", company + line + "\n")
    assert rows(path, ["text"])[0][-1] == {"text": text}


def test_nesting_without_end_is_one_bad_line(tmp_path):
    deep = '{"text": "a", "deep": ' + "[" * 200_000 + "]" * 200_000 + "}\n"
    path = put(tmp_path / "a.jsonl", '{"text": 1}\n' + deep + '{"text": "c"}\n')
    found, problems = rows(path, ["text"])
    assert [row["text"] for row in found] == ["1", "c"]
    assert problems.counts == {"not text": 1, "invalid JSON": 1}


@pytest.mark.parametrize("levels", [31, 33, 200, DEEPEST - 1, DEEPEST, 900, 3000])
@pytest.mark.parametrize("brackets", ['{"a":{}', "[{}"], ids=["objects", "lists"])
def test_a_deep_record_is_good_or_bad_however_it_is_read(tmp_path, levels, brackets):
    """Arrow's parser takes any depth, Python's about 1,000, and readers of parquet fewer than a hundred."""
    deep, (opened, _, closed) = "1", brackets.partition("{}")
    for _ in range(levels):
        deep = f"{opened}{deep}{']' if opened == '[' else '}'}{closed}"
    lines = ['{"text": "a"}', f'{{"text": "b", "deep": {deep}}}', '{"text": "' + "[{" * 500 + '\\""}']
    path = put(tmp_path / "a.jsonl", "\n".join(lines) + "\n")
    good = [1, 2, 3] if levels < DEEPEST else [1, 3]
    assert numbers(path, ["text"]) == numbers(path, []) == numbers(path, None) == good
    found, problems = rows(path, None)
    assert len(found) == len(good) and problems.total == (levels > 32)  # skipped, or taken as its JSON text
    if levels > 32:
        assert all(row.get("deep") in (None, deep.replace(":", ": ")) for row in found)
    columns = [batch.columns for batch in batches(path, None)[0]]
    pq.write_table(pa.Table.from_batches(columns), tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").num_rows == len(good)


def test_brackets_are_counted_in_linear_time():
    start = time.process_time()
    for line in (
        b'{"a": "' + b'\\"' * 300_000,
        b"{" * 300_000,
        b'"[' * 300_000,
        b'{"a": "' + b"[" * 1_000_000 + b'"}',
    ):
        is_deep(line)
    assert time.process_time() - start < 5


def test_records_that_share_or_straddle_lines_are_not_aligned_wrongly(tmp_path):
    path = put(tmp_path / "a.jsonl", '{"text": "a"} {"text": "b"}\n{"text":\n"c"}\n{"text": "d"}\n')
    found, problems = rows(path, ["text"])
    assert [row["text"] for row in found] == ["d"]
    assert problems.total == 3
    assert numbers(path, ["text"]) == [4]


def test_a_document_without_text_is_counted_and_kept_as_empty(tmp_path):
    path = put(tmp_path / "a.jsonl", '{"text": null}\n{"text": "a"}\n{"other": 1}\n')
    (batch,), problems = batches(path, ["text"])
    assert document_texts(batch, "text", problems).to_pylist() == ["", "a", ""]
    assert problems.counts == {"no text": 2}
    assert [problem.record for problem in problems.first] == [1, 3]


def test_types_that_do_not_agree_become_text(tmp_path):
    lines = [
        {"a": 1, "b": 1, "c": [1], "d": 2**60 + 1, "e": {}},
        {"a": "x", "b": 2.5, "c": {"k": 1}, "d": 0.5},
    ]
    path = put(tmp_path / "a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    schema = open_inputs([path])[0].schema()
    assert [str(field.type) for field in schema] == ["string", "double", "string", "string", "string"]
    assert rows(path)[0][0] == {"a": "1", "b": 1.0, "c": "[1]", "d": str(2**60 + 1), "e": "{}"}


def test_a_value_that_does_not_fit_the_beginning_of_the_file_is_not_lost(tmp_path, monkeypatch):
    """Its batch gives strings: an id that is a word after thousands of numbers is still an id."""
    monkeypatch.setattr("neardup.documents.blocks.BATCH_BYTES", 64)
    lines = [{"id": n, "text": "t" * 20} for n in range(20)] + [{"id": "x", "text": 7}]
    path = put(tmp_path / "a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    found, problems = rows(path, ["id", "text"])
    assert found[0]["id"] == 0 and found[-1] == {"id": "x", "text": "7"}
    assert problems.counts == {"not text": 1} and problems.first[0].record == 21
    assert rows(path)[0][-1] == {"id": "x", "text": "7"}


def test_blocks_bound_batches_and_long_lines_pass(tmp_path, monkeypatch):
    monkeypatch.setattr("neardup.documents.blocks.BATCH_BYTES", 1000)
    texts = ["x" * (n % 50) for n in range(200)] + ["y" * 5000] + ["z"] * 100
    path = put(tmp_path / "a.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in texts))
    found, _ = batches(path, ["text"], raw=True)
    assert [text for batch in found for text in batch.columns["text"].to_pylist()] == texts
    assert sorted(len(batch.raw.buffers()[2]) for batch in found)[-2] < 2100
    again, _ = batches(path, ["text"])
    assert [len(batch) for batch in again] == [len(batch) for batch in found]


def test_batches_have_a_bounded_number_of_rows(tmp_path):
    path = put(tmp_path / "a.jsonl", '{"text": "a"}\n' * (2 * BATCH_ROWS + 5))
    assert [len(batch) for batch in batches(path, ["text"])[0]] == [BATCH_ROWS, BATCH_ROWS, 5]


def test_raw_records_are_the_bytes_of_the_lines(tmp_path):
    lines = [b'{"text": "a"}', b"bad", b'{ "text" :  "b" }\r', b"", b'{"text": "\xc3\xa9"}']
    path = put(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + b"\n".join(lines))
    source = open_inputs([path])[0]
    wanted = [lines[0], lines[2], lines[4]]
    for columns in ([], ["text"], []):  # the last time without parsing
        found = list(source.read(columns, Problems(), raw=True))
        assert [record for batch in found for record in batch.raw.to_pylist()] == wanted
        assert [number for batch in found for number in batch.numbers.tolist()] == [1, 3, 5]


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_compressed_lines(tmp_path, codec):
    text = "".join(json.dumps({"id": n, "text": f"document {n}"}) + "\n" for n in range(1000)).encode()
    path = tmp_path / f"a.jsonl.{'gz' if codec == 'gzip' else 'zst'}"
    path.write_bytes(pa.Codec(codec).compress(text, asbytes=True) if codec == "zstd" else gzip.compress(text))
    found, problems = rows(path, ["id"])
    assert [row["id"] for row in found] == list(range(1000))
    assert not problems.total


def test_concatenated_gzip_members(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n') + gzip.compress(b'{"text": "b"}\n'))
    assert [row["text"] for row in rows(path, ["text"])[0]] == ["a", "b"]


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("damage", ["truncated", "garbled"])
def test_damaged_compression_is_never_silent(tmp_path, codec, damage):
    rng = np.random.default_rng(1)
    words = ["".join(map(chr, rng.integers(97, 123, 2000))) for _ in range(200)]
    text = "".join(json.dumps({"text": word}) + "\n" for word in words).encode()
    data = gzip.compress(text) if codec == "gzip" else pa.Codec(codec).compress(text, asbytes=True)
    half = len(data) // 2
    data = data[:half] if damage == "truncated" else data[:half] + b"\0" * 500 + data[half + 500 :]
    path = put(tmp_path / f"a.jsonl.{'gz' if codec == 'gzip' else 'zst'}", data)
    found, problems = rows(path, ["text"])
    assert len(found) < len(words)
    # A zstd frame without a checksum may decode to garbage: then its lines are bad.
    assert problems.total
    if damage == "truncated":
        assert problems.counts[f"damaged {codec} data"] == 1


def test_not_compressed_at_all(tmp_path):
    found, problems = rows(put(tmp_path / "a.jsonl.gz", b'{"text": "a"}\n'), ["text"])
    assert not found
    assert problems.total == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_by_its_mark(tmp_path, encoding):
    text = '{"text": "Grüße \U0001f600"}\n{"text": "b"}\n'
    data = text.encode(encoding) if encoding == "utf-16" else b"\xfe\xff" + text.encode(encoding)
    assert [row["text"] for row in rows(put(tmp_path / "a.jsonl", data), ["text"])[0]] == [
        "Grüße \U0001f600",
        "b",
    ]


def test_a_file_that_vanishes_is_reported(tmp_path):
    path = put(tmp_path / "a.jsonl", '{"text": "a"}\n')
    source = open_inputs([path])[0]
    path.unlink()
    problems = Problems()
    assert source.names() == [] and list(source.read(["text"], problems)) == []
    assert problems.counts == {"unreadable file": 1}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["text", "id", "x"]), json_values), min_size=1, max_size=8))
def test_any_objects_are_read_without_loss_of_records(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("any") / "a.jsonl"
    put(path, "".join(json.dumps(record) + "\n" for record in records))
    found, problems = rows(path, ["text", "id"])
    assert len(found) == len(records)
    texts = [record.get("text") for record in records]
    assert [row["text"] for row in found if isinstance(row["text"], str)] == [
        text.encode("utf-8", "replace").decode()
        if isinstance(text, str)
        else json.dumps(text, ensure_ascii=False)
        for text in texts
        if text is not None
    ] or "lone surrogate" in problems.counts
    assert len(rows(path)[0]) == len(records)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=30) | st.sampled_from([b'{"text": "a"}', b"{}", b"\r", b" "]), max_size=8))
def test_any_bytes_are_read_or_reported(tmp_path_factory, lines):
    path = put(tmp_path_factory.mktemp("any") / "a.jsonl", b"\n".join(lines))
    problems = Problems()
    source = JsonlSource("a", str(path))
    first = [batch.numbers.tolist() for batch in source.read(["text"], problems, raw=True)]
    assert first == [batch.numbers.tolist() for batch in source.read([], Problems(), raw=True)]
    assert first == [batch.numbers.tolist() for batch in source.read(None, Problems())]
