"""Markup, headers and signatures that made an expression or a join quadratic: time that doubles with the input."""

from __future__ import annotations

import time
from collections.abc import Callable

import pyarrow as pa
import pytest

from neardup.columns import Texts
from neardup.documents.mail import message_fields
from neardup.documents.news_sgml import sgml_articles
from neardup.documents.values import schema_of
from neardup.engines.local.units.split import UnitRule, split_units
from neardup.index.links import outgoing

SIZE = 400_000  # bytes: quadratic, each of these takes from half a minute to hours


def body(n: int) -> str:
    """A body of the news with a long run of blanks inside."""
    [article] = sgml_articles(b"<REUTERS><BODY>one" + b" " * n + b"two Reuter</BODY></REUTERS>")
    return article["text"]


HOSTILE: dict[str, Callable[[int], object]] = {
    "blanks before the signature of the news": body,
    "a folded header": lambda n: message_fields(b"Subject: a\n" + b" b\n" * n + b"\nbody"),
    "an attribute that is one long word": lambda n: outgoing(f"<a {'a' * n}>x</a>"),
    "a long base and many links": lambda n: outgoing(
        f'<base href="http://h/{"a/" * (n // 2)}">' + '<a href="mailto:x">' * (n // 20)
    ),
    "a base that grows": lambda n: outgoing(
        f'<base href="http://h/{"a/" * (n // 2)}">' + '<base href="b/">' * (n // 20)
    ),
}


@pytest.mark.parametrize("work", HOSTILE.values(), ids=HOSTILE)
def test_time_is_linear(work: Callable[[int], object]) -> None:
    work(1000)
    start = time.process_time()
    work(SIZE)
    assert time.process_time() - start < 10  # a second is much


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a REUTER", "a"),
        (" a Reuters \n", "a"),
        ("anonreuter", "anonreuter"),
        ("Reuter a", "Reuter a"),
        ("Reuter", "t"),
    ],
)
def test_the_signature_goes_and_the_text_stays(written: str, read: str) -> None:
    record = f"<REUTERS><TITLE>t</TITLE><BODY>{written}</BODY></REUTERS>"
    assert [article["text"] for article in sgml_articles(record.encode())] == [read]


def test_a_reference_of_many_digits_in_the_news() -> None:
    [article] = sgml_articles(b"<REUTERS><BODY>one &#" + b"9" * 5000 + b"; two</BODY></REUTERS>")
    assert article["text"] == "one \ufffd two"


def test_attributes_begin_where_a_word_begins() -> None:
    assert outgoing('<a xhref="/no" HREF = "/b" data-x=1>b</a>', "http://a/") == [("http://a/b", "b")]
    assert outgoing("<base href=/x/><base href=/y/><a href=b>b</a>", "http://a/") == [("http://a/x/b", "b")]
    assert outgoing(f"<a href=/{'b' * 9000}>b</a><a href=/c>c</a>", "http://a/") == [("http://a/c", "c")]


def objects(n: int) -> object:
    rows = [
        [{"x": {f"k{i}": 1, "y": {"z": [{f"k{i}": 2}]}}} for i in range(start, start + 1000)]
        for start in range(0, n, 1000)
    ]
    return schema_of(rows)


def test_objects_whose_keys_are_data_stay_json() -> None:
    """As columns each key would take room in every row, and 400 kB of them more than a minute."""
    assert objects(40_000).field("x").type == pa.string()  # type: ignore[attr-defined]
    assert schema_of([[{"x": {f"k{i}": 1 for i in range(3000)}}]]).field("x").type == pa.string()
    few = schema_of([[{"x": {f"k{i % 50}": i, "y": [{"z": i}]}} for i in range(5000)]]).field("x").type
    assert few.num_fields == 51


def test_sentences_of_one_long_paragraph_are_found_in_linear_time() -> None:
    rule = UnitRule("sentence", 1, 1)
    split_units(Texts.from_strings(["A. B."]), rule)
    start = time.process_time()
    assert len(split_units(Texts.from_strings(["A. " * 500_000]), rule)) == 500_000
    assert time.process_time() - start < 10  # the end of the paragraph was sought for each sentence: minutes
