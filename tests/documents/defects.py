"""Good documents in every format, and what the world does to them: a table for tests and for the fuzzer's corpus.

A defect says what becomes of the bytes, which of the ten documents must still be read, which kinds of problem
must be reported (exactly those), and the texts that are read besides.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

SECRET = "zanzibar"  # stands in every text, and must not stand in any message
WORDS = "amber birch cedar delta ember fjord grove heath islet jetty".split()
TEXTS = [f"{word} {word}s {SECRET} {k} of {word}land, and no other place" for k, word in enumerate(WORDS)]
IDS = [f"d{k}" for k in range(10)]
ALL = range(10)


@dataclass(frozen=True)
class Defect:
    make: Callable[[bytes], bytes]
    left: range | list[int] = ALL
    kinds: frozenset[str] = frozenset()
    more: tuple[str, ...] = ()


def defect(make: Callable[[bytes], bytes], *kinds: str, left=ALL, more: tuple[str, ...] = ()) -> Defect:
    return Defect(make, left, frozenset(kinds), more)


def flipped(data: bytes, place: int, size: int = 1) -> bytes:
    place %= len(data)
    return data[:place] + bytes(byte ^ 0x55 for byte in data[place : place + size]) + data[place + size :]


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


# --- the ten documents in each format -------------------------------------------------------------------------


def jsonl(ids=IDS, texts=TEXTS) -> bytes:
    return "".join(
        json.dumps({"id": i, "text": t}, ensure_ascii=False) + "\n" for i, t in zip(ids, texts, strict=True)
    ).encode()


def csv(delimiter: str = ",") -> bytes:
    rows = [("id", "text"), *zip(IDS, TEXTS, strict=True)]
    return "".join(f'{i}{delimiter}"{t}"\n' for i, t in rows).replace('"text"', "text").encode()


def lines() -> bytes:
    return "".join(text + "\n" for text in TEXTS).encode()


def mbox() -> bytes:
    return "".join(
        f"From x@y Mon Jan  1 00:00:00 2024\nMessage-ID: <{i}@x>\nSubject: {i}\n\n{t}\n\n"
        for i, t in zip(IDS, TEXTS, strict=True)
    ).encode()


def parquet(rows: int = 2, **options) -> bytes:
    sink = io.BytesIO()
    table = pa.table({"id": IDS, "text": TEXTS})
    pq.write_table(table, sink, row_group_size=rows, compression="none", use_dictionary=False, **options)
    return sink.getvalue()


def utf16(data: bytes) -> bytes:
    return data.decode().encode("utf-16-le")


# --- what happens to them -------------------------------------------------------------------------------------

BOM = b"\xef\xbb\xbf"
LINES = {  # whatever has lines
    "nothing": defect(lambda d: d),
    "mark": defect(lambda d: BOM + d),
    "UTF-16 LE": defect(lambda d: b"\xff\xfe" + utf16(d)),
    "UTF-16 BE": defect(lambda d: b"\xfe\xff" + d.decode().encode("utf-16-be")),
    "UTF-16 without mark": defect(utf16),
    "UTF-16 BE without mark": defect(lambda d: d.decode().encode("utf-16-be")),
    "UTF-32": defect(lambda d: d.decode().encode("utf-32")),
    "UTF-32 BE": defect(lambda d: b"\0\0\xfe\xff" + d.decode().encode("utf-32-be")),
    "CR": defect(lambda d: d.replace(b"\n", b"\r")),
    "CRLF": defect(lambda d: d.replace(b"\n", b"\r\n")),
    "no last line end": defect(lambda d: d[:-1]),
    "blank lines": defect(lambda d: d.replace(b"\n", b"\n\n\r\n")),
}


def _record(i: str, t: str) -> str:
    return f'{{"id": "{i}", "text": "{t}"}}\n'


def _after(line: bytes | str) -> Callable[[bytes], bytes]:
    """The line in the middle of the others."""

    def make(data: bytes) -> bytes:
        end = data.index(b"\n", len(data) // 2) + 1
        extra = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
        return data[:end] + extra + data[end:]

    return make


def _deep(depth: int) -> str:
    return f'{{"id": "x", "deep": {"[" * depth}{"]" * depth}, "text": {"[" * depth}{"]" * depth}}}\n'


JSONL = {
    **LINES,
    "half a line": defect(lambda d: d[:-20], "invalid JSON", left=range(9)),
    "a line lost its end": defect(lambda d: d.replace(b"}\n{", b"}{", 1), "invalid JSON", left=range(2, 10)),
    "UTF-16 cut": defect(
        lambda d: b"\xff\xfe" + utf16(d)[:-5], "invalid UTF-16-LE", "invalid JSON", left=range(9)
    ),
    "UTF-16 lone surrogate": defect(
        lambda d: (
            b"\xff\xfe"
            + utf16(_after(_record("x", "odd \ud800 one"))(d).decode("utf-8", "replace").encode()).replace(
                b"\xfd\xff", b"\x00\xd8"
            )
        ),
        "invalid UTF-16-LE",
        more=("odd ��� one",),
    ),
    "Latin-1": defect(
        _after(_record("x", "caf\u00e9 noir").encode("latin-1")), "invalid UTF-8", more=("caf� noir",)
    ),
    "lone surrogate": defect(_after(_record("x", "a\\ud800b")), "lone surrogate", more=("a�b",)),
    "surrogate in a name": defect(
        _after('{"id": "x", "text": "other", "k\\udc00": 1}\n'), "lone surrogate", more=("other",)
    ),
    "NUL in a text": defect(_after(_record("x", "a\0b\\u0000c")), more=("a\0b\0c",)),
    "block of NUL": defect(_after("\0" * 5000 + "\n"), "invalid JSON"),
    "mark in the middle": defect(_after(BOM + _record("x", "a later file").encode()), more=("a later file",)),
    "U+2028": defect(_after(_record("x", "a\u2028b\u2029c\x85d")), more=("a\u2028b\u2029c\x85d",)),
    "raw tab": defect(_after(_record("x", "a\tb")), more=("a\tb",)),
    "nested a little": defect(_after(_deep(20)), "not text", more=("[" * 20 + "]" * 20,)),
    "nested too deeply": defect(_after(_deep(2000)), "invalid JSON"),
    "nested endlessly": defect(_after('{"id": "x", "text": ' + "[" * 1_000_000 + "\n"), "invalid JSON"),
    "number of 10,000 digits": defect(_after(f'{{"id": "x", "text": {"9" * 10_000}}}\n'), "invalid JSON"),
    "number as text": defect(_after('{"id": "x", "text": 17}\n'), "not text", more=("17",)),
    "list as text": defect(_after('{"id": "x", "text": ["a", 1]}\n'), "not text", more=('["a", 1]',)),
    "truth as text": defect(_after('{"id": "x", "text": true}\n'), "not text", more=("true",)),
    "null as text": defect(_after('{"id": "x", "text": null}\n'), "no text", more=("",)),
    "no text": defect(_after('{"id": "x"}\n'), "no text", more=("",)),
    "null as id": defect(_after('{"id": null, "text": "nameless"}\n'), "no id", more=("nameless",)),
    "no id": defect(_after('{"text": "nameless"}\n'), "no id", more=("nameless",)),
    "number as id": defect(_after('{"id": 7, "text": "seventh"}\n'), "not text", more=("seventh",)),
    "object as id": defect(_after('{"id": {"a": 1}, "text": "object"}\n'), "not text", more=("object",)),
    "id twice": defect(_after(_record("d3", "again")), "duplicate id", more=("again",)),
    "a name twice": defect(_after('{"id": "x", "text": "first", "text": "last"}\n'), more=("last",)),
    "a list": defect(_after("[1, 2, 3]\n"), "not a JSON object"),
    "two on a line": defect(_after('{"id": "x", "text": "p"}{"id": "y", "text": "q"}\n'), "invalid JSON"),
    "over two lines": defect(_after('{"id": "x",\n"text": "p"}\n'), "invalid JSON"),
    "a line of 9 MB": defect(_after(_record("x", "long " * 1_800_000)), more=("long " * 1_800_000,)),
}
COMPRESSED = {
    "truncated": 0.7,
    "damaged in the middle": 0.5,
    "damaged at the beginning": 0.02,
}
CSV = {
    **LINES,
    "half a line": defect(lambda d: d[:-20], "malformed csv", left=range(9)),
    "Latin-1": defect(_after("x,caf\u00e9\n".encode("latin-1")), more=("caf\u00e9",)),  # read as Windows-1252
    "NUL": defect(_after("x,a\0b\n"), more=("a\0b",)),
    "block of NUL": defect(_after("\0" * 5000 + "\n"), "wrong number of cells"),
    "embedded line ends": defect(_after('x,"a\nb\r\nc\rd"\n'), more=("a\nb\r\nc\rd",)),
    "U+2028": defect(_after("x,a\u2028b\x85c\n"), more=("a\u2028b\x85c",)),
    "doubled quotes": defect(_after('x,"say ""a"", b"\n'), more=('say "a", b',)),
    "stray quotes": defect(_after('x,5" of "rain"\n'), more=('5" of "rain"',)),
    "too many cells": defect(_after("x,a,b\n"), "wrong number of cells"),
    "too few cells": defect(_after("x\n"), "wrong number of cells"),
    "quote left open at the end": defect(lambda d: d + b'x,"open\n', "malformed csv"),
    "empty cells": defect(_after(",\n"), more=("",)),
    "id twice": defect(_after("d3,again\n"), "duplicate id", more=("again",)),
    "a cell of 9 MB": defect(_after(f'x,"{"long " * 1_800_000}"\n'), more=("long " * 1_800_000,)),
    "header cannot be read": defect(lambda d: b'"' + d.replace(b'"', b""), "no header", left=[]),
    "header ends otherwise than records": defect(lambda d: d.replace(b"\n", b"\r", 1), "no header", left=[]),
}
PLAIN = {
    **LINES,
    "Latin-1": defect(_after("caf\u00e9\n".encode("latin-1")), "invalid UTF-8", more=("caf�",)),
    "NUL": defect(_after("a\0b\n"), more=("a\0b",)),
    "encoded surrogate": defect(_after("a\ud800b\n"), "invalid UTF-8", more=("a���b",)),
    "U+2028": defect(_after("a\u2028b\x85c\n"), more=("a\u2028b\x85c",)),
    "a line of 9 MB": defect(_after("long " * 1_800_000 + "\n"), more=("long " * 1_800_000,)),
}
PARQUET = {
    "nothing": defect(lambda d: d),
    "truncated": defect(lambda d: d[:-10], "damaged parquet", left=[]),
    "truncated in the middle": defect(lambda d: d[: len(d) // 2], "damaged parquet", left=[]),
    "first bytes only": defect(lambda d: d[:4], "damaged parquet", left=[]),
    "footer damaged": defect(lambda d: flipped(d, -300, 60), "damaged parquet", left=[]),
    "footer of 2 GB": defect(lambda d: d[:-8] + b"\xff\xff\xff\x7fPAR1", "damaged parquet", left=[]),
    "encrypted": defect(lambda d: d[:-4] + b"PARE", "damaged parquet", left=[]),
    "first page damaged": defect(lambda d: flipped(d, 4, 12), "damaged parquet", left=range(2, 10)),
    "not parquet": defect(lambda d: b"hello " * 100, "damaged parquet", left=[]),
}


def _message(message: str) -> Callable[[bytes], bytes]:
    return lambda data: f"From a\n{message}\n\n".encode() + data


MAIL = {
    "nothing": defect(lambda d: d),
    "CRLF": defect(lambda d: d.replace(b"\n", b"\r\n")),
    "unknown charset": defect(
        _message("Message-ID: <x>\nContent-Type: text/plain; charset=nonsense\n\nodd"), more=("odd",)
    ),
    "nested too deeply": defect(
        _message("".join(f"Content-Type: multipart/mixed; boundary=b{k}\n\n--b{k}\n" for k in range(1500))),
        "broken message",
    ),
    "a header of a megabyte": defect(_message(f"From: {'a@b, ' * 200_000}\n\nodd"), more=("odd",)),
    "id twice": defect(_message("Message-ID: <d3@x>\n\nagain"), more=("again",)),
}


def nested_parquet() -> bytes:
    """Lists, objects, a dictionary, missing values and compression: what a damaged file can also be made of."""
    sink = io.BytesIO()
    columns = {
        "id": pa.array([*range(9), None]),
        "text": pa.array(TEXTS).dictionary_encode(),
        "tags": [[word, None] for word in WORDS],
        "more": [{"a": k, "b": [1.5, k]} for k in range(10)],
    }
    pq.write_table(pa.table(columns), sink, row_group_size=4, compression="zstd")
    return sink.getvalue()
