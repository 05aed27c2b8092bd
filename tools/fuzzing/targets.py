"""What is fuzzed: each reader, the normaliser, pages, and the files that state and models are kept in.

A target takes bytes and returns; errors of ours are answers, any other exception is a finding. Files are kept in
memory: `pyarrow.OSFile` is replaced, for this process, by a reader of the bytes at hand.
"""

from __future__ import annotations

import gzip as packed
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from fuzzing.files import file_with, room
from fuzzing.state import STATE

from neardup.columns import Texts
from neardup.documents import Batch, Limits, Problems, document_ids, document_texts, open_inputs
from neardup.documents.delimited import DelimitedSource
from neardup.documents.input_files import sniffed
from neardup.documents.jsonl import JsonlSource
from neardup.documents.mail import MailSource
from neardup.documents.news import NewsSource
from neardup.documents.parquet import ParquetSource
from neardup.documents.textfiles import LineSource, TextSource
from neardup.documents.warc import WarcSource
from neardup.documents.writers import open_writer
from neardup.engines.local.units.split import KINDS, UnitRule, split_units, unit_texts
from neardup.errors import NeardupError
from neardup.text.article import extract_text
from neardup.text.html import visible_text
from neardup.text.normalized import STEPS, NormalizedWords
from neardup.text.tagged import tagged_runs
from neardup.text.words import Words

LIMITS = Limits(record=4 << 20, decompressed=64 << 20)
NAME = "neardup-fuzz"  # the path that stands for the bytes at hand
_stored = pa.OSFile
_given = b""


def _opened(path: Any, mode: str = "rb", **options: Any) -> Any:
    return pa.BufferReader(_given) if path in (NAME, NAME.encode()) else _stored(path, mode, **options)


def in_memory(data: bytes) -> None:
    """Let `NAME` stand for the bytes, for readers that go through Arrow."""
    global _given
    _given = data
    pa.OSFile = _opened  # type: ignore[misc]


def check(source: Any, data: bytes) -> None:
    """Read a source in each way: valid columns, and the same records every time."""
    problems = Problems()
    names = source.names()
    text = next((name for name in names if name == "text"), names[0] if names else "text")
    identity = next((name for name in names if name not in (text, "")), None)
    seen: list[int] = []
    for batch in source.read([text, *([identity] if identity else [])], problems):
        batch.columns.validate(full=True)
        texts = document_texts(batch, text, problems)
        texts.validate(full=True)
        document_ids(batch, identity).validate(full=True)
        assert len(texts) == len(batch) and texts.null_count == 0
        seen += batch.numbers.tolist()
    assert seen == sorted(set(seen)), "a record's number is its own"
    assert all(SECRET not in line for line in problems.lines()), "no text of a document in a problem"
    if len(data) % 4 == 0:  # the other ways to read cost more, and differ little
        again(source, seen)


SECRET = "zanzibar"  # in the texts of the corpus


def again(source: Any, seen: list[int]) -> None:
    """The same records come with all columns, and with none; and what is written of them can be read."""
    whole = [number for batch in source.read(None, Problems()) for number in batch.numbers.tolist()]
    assert whole == seen, "the columns asked for do not decide which records are good"
    copies = list(source.read([], Problems(), raw=True))
    assert [number for batch in copies for number in batch.numbers.tolist()] == seen
    marked = b"\0" in _given[:16]  # without its mark the copy would be taken for UTF-16
    if source.format in ("jsonl", "csv", "tsv") and seen and not marked:
        written(source, copies, len(seen))


def written(source: Any, copies: list[Batch], rows: int) -> None:
    """Annotated copies of the records: as many as there were."""
    path = room() / "written"
    extra = pa.schema([("keep", pa.bool_()), ("cluster", pa.string())])
    writer = open_writer(path, source.format, columns=source.names(), extra=extra)
    for batch in copies:
        added = [pa.array([True] * len(batch)), pa.array(["=c"] * len(batch))]
        writer.write(batch, None, pa.RecordBatch.from_arrays(added, schema=extra))
    writer.close()
    kind = type(source)
    back = (
        kind("written", str(path))
        if source.format == "jsonl"
        else kind("written", str(path), format=source.format)
    )
    assert sum(len(batch) for batch in back.read(None, Problems())) == rows


def jsonl(data: bytes, compression: str | None = None) -> None:
    """JSON lines."""
    in_memory(data)
    check(JsonlSource(NAME, NAME, compression, size=len(data), limits=LIMITS), data)


def gzip(data: bytes) -> None:
    """JSON lines in gzip."""
    jsonl(data, "gzip")


def zstd(data: bytes) -> None:
    """JSON lines in zstd."""
    jsonl(data, "zstd")


def json(data: bytes) -> None:
    """One array of objects."""
    in_memory(data)
    check(JsonlSource(NAME, NAME, None, size=len(data), limits=LIMITS, array=True), data)


def pipe(data: bytes) -> None:
    """A stream without a name: its format, its compression and the dialect of csv are detected."""
    path = file_with(data, "")
    in_memory(data)
    kind, _ = sniffed(path)
    for source in open_inputs([path], format=kind, limits=LIMITS):
        check(source, data)


def csv(data: bytes) -> None:
    """Comma-separated values."""
    in_memory(data)
    check(DelimitedSource(NAME, NAME, None, format="csv", size=len(data), limits=LIMITS), data)


def tsv(data: bytes) -> None:
    """Tab-separated values."""
    in_memory(data)
    check(DelimitedSource(NAME, NAME, None, format="tsv", size=len(data), limits=LIMITS), data)


def lines(data: bytes) -> None:
    """A document a line."""
    in_memory(data)
    check(LineSource(NAME, NAME, None, size=len(data), limits=LIMITS), data)


def parquet(data: bytes) -> None:
    """Parquet."""
    in_memory(data)
    check(ParquetSource(NAME, NAME, size=len(data), limits=LIMITS), data)


def text(data: bytes) -> None:
    """A document a file."""
    check(TextSource(NAME, ((file_with(data, ".txt"), "input.txt"),), limits=LIMITS), data)


def html(data: bytes) -> None:
    """What a reader sees of a page."""
    visible_text(data.decode("utf-8", "replace")).encode()


def article(data: bytes) -> None:
    """The article of a page, by our own scanner; bytes in any encoding."""
    for how in ("article", "segments"):
        extract_text(data, how).text.encode()  # type: ignore[arg-type]


def tagged(data: bytes) -> None:
    """The runs of text of a page and the tags around them."""
    for run, mask in tagged_runs(data.decode("utf-8", "replace")):
        run.encode()
        assert 0 <= mask < 1 << 16


def mail(data: bytes) -> None:
    """An mbox file, or a message."""
    suffix = ".mbox" if data.startswith(b"From ") else ".eml"
    check(MailSource(NAME, ((file_with(data, suffix), "input"),), limits=LIMITS), data)


def news(data: bytes) -> None:
    """News in XML or SGML."""
    check(NewsSource(NAME, ((file_with(data, ".xml"), "input.xml"),), limits=LIMITS), data)


def warc(data: bytes) -> None:
    """A web archive."""
    codec = "gzip" if data.startswith(b"\x1f") else None
    check(WarcSource(NAME, file_with(data, ".warc"), codec, size=len(data), limits=LIMITS), data)


def normaliser(data: bytes) -> None:
    """Tokens: the same for each Unicode form of a text, alone or among others, and inside the text."""
    string = data.decode("utf-8", "replace")
    composed, apart = (unicodedata.normalize(form, string) for form in ("NFC", "NFD"))
    kind = ("words", "whitespace", "characters")[len(data) % 3]
    found = Words(kind)(Texts.from_strings(["", string, "x\u0301", composed, apart]))  # type: ignore[arg-type]
    parts = [found.hashes[start:stop] for start, stop in zip(found.offsets, found.offsets[1:], strict=False)]
    assert len(parts[0]) == 0
    assert np.array_equal(parts[1], parts[3]) and np.array_equal(parts[1], parts[4])
    assert np.array_equal(Words(kind)(Texts.from_strings([string])).hashes, parts[1])  # type: ignore[arg-type]
    if len(found.positions):
        assert int(found.positions.max()) < max(len(composed.encode()), 3)


def steps(data: bytes) -> None:
    """Tokens after each step of normalisation, and of source code; parts of texts."""
    texts = Texts.from_strings(["", data.decode("utf-8", "replace"), "x"])
    for step in STEPS:
        found = NormalizedWords("words", (step,))(texts)
        assert found.offsets[-1] == len(found.hashes)
    Words("code")(texts)
    for kind in KINDS:
        units = split_units(texts, UnitRule(kind, 1, 1))  # type: ignore[arg-type]
        assert len(unit_texts(texts, units)) == len(units)


READERS = (jsonl, json, gzip, zstd, csv, tsv, lines, pipe, parquet, text, mail, news, warc)
TEXTS = (html, article, tagged, normaliser, steps)
TARGETS: dict[str, Callable[[bytes], None]] = {each.__name__: each for each in (*READERS, *TEXTS, *STATE)}


def run(target: str, data: bytes) -> None:
    """Give the bytes to the target; our own errors are answers."""
    try:
        TARGETS[target](data)
    except NeardupError as error:
        assert SECRET not in str(error)


def corpus(target: str) -> list[bytes]:
    """The inputs that mutation begins with; those named .gz are stored packed."""
    folder = Path(__file__).parent / "corpus" / target
    if not folder.is_dir():
        return [os.urandom(64)]
    return [unpacked(path) for path in sorted(folder.iterdir())]


def unpacked(path: Path) -> bytes:
    """The bytes of a file of the corpus."""
    return packed.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
