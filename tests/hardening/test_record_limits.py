"""A record of exactly the limit is read, one byte more is skipped; what does not fit into memory is not parsed."""

from __future__ import annotations

import json
from email.message import EmailMessage
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from neardup.documents import Limits, Problems, open_inputs
from neardup.engines.local.checkpoint.budget import LEAST, MemoryBudget
from neardup.errors import InputError

LIMIT = 4 << 20
SHORT = b"one more"


def jsonl(size: int) -> bytes:
    frame = len(b'{"text": ""}')
    return b'{"text": "' + b"x" * (size - frame) + b'"}\n' + b'{"text": "one more"}\n'


def lines(size: int) -> bytes:
    return b"x" * size + b"\n" + SHORT + b"\n"


def csv(size: int) -> bytes:
    return b"text\n" + b"x" * size + b"\n" + SHORT + b"\n"


def mbox(size: int) -> bytes:
    head = b"Subject: s\n\n"
    return b"From a\n" + head + b"x" * (size - len(head) - 1) + b"\n\nFrom b\n" + head + SHORT + b"\n"


FORMATS = {
    "a.jsonl": (jsonl, 1),
    "a.lines": (lines, 1),
    "a.csv": (csv, 4),
    "a.tsv": (csv, 4),
    "a.mbox": (mbox, 1),
}


def read(path: Path, limits: Limits) -> tuple[list[int], list[str]]:
    """The lengths of the texts, and the problems."""
    (source,) = open_inputs([path], limits=limits, format="lines" if path.suffix == ".lines" else None)
    problems = Problems()
    batches = [batch.columns.column("text").to_pylist() for batch in source.read(["text"], problems)]
    return [len(text) for batch in batches for text in batch], [problem.reason for problem in problems.first]


@pytest.mark.parametrize("name", FORMATS)
def test_the_limit_on_records_is_exact(tmp_path, name):
    make, part = FORMATS[name]
    path = tmp_path / name
    most = LIMIT // part - (name == "a.mbox")  # the blank line before the next message is its own
    path.write_bytes(make(most))
    found, problems = read(path, Limits(record=LIMIT))
    assert len(found) == 2 and not problems
    path.write_bytes(make(most + 1))
    found, problems = read(path, Limits(record=LIMIT))
    assert len(found) == 1 and len(problems) == 1 and problems[0].startswith("record too long"), problems


@pytest.mark.parametrize("place", [0, 1, 2])
def test_long_lines_among_short_ones_are_named(tmp_path, place):
    """Also if they stand in one piece that is read: UTF-16 becomes longer when it is decoded."""
    path = tmp_path / "in.jsonl"
    rows = ["short"] * 3
    rows.insert(place, "漢" * (LIMIT // 3 + 1))
    text = "".join(json.dumps({"text": row}, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(text.encode("utf-16"))
    (source,) = open_inputs([path], limits=Limits(record=LIMIT))
    problems = Problems()
    numbers = [n for batch in source.read(["text"], problems) for n in batch.numbers.tolist()]
    assert numbers == [n for n in (1, 2, 3, 4) if n != place + 1]
    assert [problem.record for problem in problems.first] == [place + 1]


def test_the_limit_of_memory_says_what_a_document_needs():
    budget = MemoryBudget(1 << 30)
    assert budget.largest_record == ((1 << 30) - LEAST // 2) // 4
    budget.refuse_larger(budget.largest_record, "x")
    with pytest.raises(InputError, match="needs about 1,703 MB"):
        budget.refuse_larger(budget.largest_record + (1 << 20), "x")


def parquet(path: Path, size: int) -> None:
    pq.write_table(pa.table({"text": ["x" * size]}), path, compression="zstd")


def eml(path: Path, size: int) -> None:
    message = EmailMessage()
    message.set_content("x" * 60 + "\n")
    path.write_bytes(message.as_bytes() + (b"x" * 60 + b"\n") * (size // 61 + 1))


@pytest.mark.parametrize("name", [*FORMATS, "a.parquet", "a.txt", "a.eml"])
def test_a_record_that_does_not_fit_into_memory_is_refused_before_it_is_parsed(tmp_path, name, monkeypatch):
    size, path = 9 << 20, tmp_path / name
    if name in ("a.parquet", "a.eml"):
        {"a.parquet": parquet, "a.eml": eml}[name](path, size)
    else:
        path.write_bytes(FORMATS.get(name, (lines, 1))[0](size))
    for parser in ("jsonl.parsed_by_arrow", "jsonl.parsed", "mail.message_fields", "parquet.checked"):
        monkeypatch.setattr(f"neardup.documents.{parser}", lambda *a: pytest.fail("it was parsed"))
    with pytest.raises(
        InputError, match=r"has a record of (8|9|12) MB.*the largest may have 8 MB: give more"
    ):
        read(path, Limits(memory=8 << 20))


def test_a_record_above_both_limits_is_skipped_not_refused(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(jsonl(40 << 20))
    result = neardup.dedup(str(path), limits=Limits(record=36 << 20), memory="256M")
    assert result.report["problems"]["counts"] == {"record too long": 1} and len(result.kept) == 1
    with pytest.raises(InputError, match="has a record of 40 MB"):
        neardup.dedup(str(path), memory="256M")
