"""What each class of input may cost: twice the input at most 2.5 times the lines of Python; slow tests take the time.

The lines see loops of ours, the time also what C functions do inside one line: joins, expressions, kernels.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from counting import assert_linear, lines_run

import neardup
from neardup.cli import group
from neardup.columns import Texts
from neardup.documents import Problems, open_inputs
from neardup.engines.local.units.split import UnitRule, split_units
from neardup.errors import NeardupError
from neardup.evaluate.label_files import read_labels
from neardup.explain.passages import shared_passages
from neardup.learn.model.file import Model, read_model
from neardup.plan import Plan
from neardup.plans import make_plan
from neardup.service.tokens import read_tokens
from neardup.text.article import extract_text
from neardup.text.tagged import tagged_runs
from neardup.text.words import Words

Make = Callable[[int], str]
READERS: dict[str, tuple[str, Make]] = {
    "jsonl, not JSON": ("jsonl", lambda n: "{\n" * n),
    "jsonl, keys that are data": ("jsonl", lambda n: "".join(f'{{"text":"a","k{i}":1}}\n' for i in range(n))),
    "jsonl, nested keys": (
        "jsonl",
        lambda n: "".join(f'{{"text":"a","x":{{"k{i}":1}}}}\n' for i in range(n)),
    ),
    "jsonl, escapes": ("jsonl", lambda n: '{"text":"' + "\\ud800" * n + '"}\n'),
    "array, no commas": ("json", lambda n: "[" + '{"text":"a"} ' * n + "]"),
    "array, open": ("json", lambda n: '["' + '\\"' * n),
    "csv, open quotes": ("csv", lambda n: "id,text\n" + '1,"x\n' * n),
    "csv, cells": ("csv", lambda n: "id,text\n" + "," * n + "\n"),
    "tsv, short rows": ("tsv", lambda n: "id\ttext\n" + "1\n" * n),
    "text": ("txt", lambda n: "a\u0301\u0323 " * n),
    "mbox": ("mbox", lambda n: "From x\n\n" * n),
    "mail, folded": ("eml", lambda n: "Subject: a\n" + " bbb\n" * n + "\nx"),
    "mail, parameters": (
        "eml",
        lambda n: "Content-Type: text/plain" + "".join(f"; a*{i}=b" for i in range(n)) + "\n\nx",
    ),
    "mail, parts": ("eml", lambda n: "Content-Type: multipart/mixed; boundary=a\n\n" + "--a\n\nx\n" * n),
    "mail, charset": ("eml", lambda n: "Content-Type: text/plain; charset=punycode\n\n" + "a" * (20 * n)),
    "news in SGML": ("sgm", lambda n: "<REUTERS><BODY>a" + " " * n + "b</BODY></REUTERS>" * n),
    "news in XML": ("xml", lambda n: "<nitf><body>" + "<p>x</p>" * n + "</body></nitf>"),
    "web archive": (
        "warc",
        lambda n: "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n" * n,
    ),
}
PAGES: dict[str, Make] = {
    "cells": lambda n: "<table><tr>" + "<td>x" * n,
    "attributes": lambda n: "<a " + " ".join(f"a{i}=b" for i in range(n)) + ">x",
    "quotes": lambda n: "<a " + '"' * n + ">x",
    "formatting": lambda n: "<b><p>" * n,
}
TEXTS: dict[str, Make] = {
    "one word": lambda n: "word " * n,
    "one long word": lambda n: "w" * n,
    "marks": lambda n: "a" + "\u0301\u0323" * n,
    "sentences": lambda n: "A. " * n,
}


def reading(folder: Path, suffix: str, content: str) -> Callable[[], object]:
    path = folder / f"in.{suffix}"
    path.write_text(content, "utf-8", newline="")

    def read() -> None:
        for source in open_inputs([str(path)]):
            for _ in source.read(source.names()[:1], Problems()):
                pass

    return read


def state(folder: Path, name: str, n: int) -> Callable[[], object]:
    """Reads a model, a plan, labels, tokens or options with so many members."""
    path = folder / ("in.toml" if name == "options" else "in.csv" if name == "labels" else "in.json")
    many = {f"x{i}": i for i in range(n)}
    content = {
        "model": json.dumps(json.loads(Model().to_json()) | many | {"features": many}),
        "plan": json.dumps(json.loads(make_plan("minhash").to_json()) | many),
        "labels": "id,cluster\n" + "".join(f"d{i},c{i % 7}\n" for i in range(n // 10)),
        "tokens": json.dumps({"tokens": [{"name": "a", "sha256": "00", "scopes": ["read"]}] * n}),
        "options": "".join(f"k{i} = 1\n" for i in range(n)),
    }[name]
    path.write_text(content)
    ids = pa.array([f"d{i}" for i in range(n)])
    words = ["dedup", "in.jsonl", "-o", "out", "--config", str(path)]
    work: dict[str, Callable[[], object]] = {
        "model": lambda: read_model(path),
        "plan": lambda: Plan.from_json(content),
        "labels": lambda: read_labels(path, ids),
        "tokens": lambda: read_tokens(path),
        "options": lambda: CliRunner().invoke(group, words),
    }
    return work[name]


def text_work(name: str, text: str) -> Callable[[], object]:
    texts = Texts.from_strings([text])
    plan = make_plan("minhash")
    return {
        "tokens": lambda: Words()(texts),
        "units": lambda: split_units(texts, UnitRule("sentence", 1, 1)),
        "compare": lambda: shared_passages(plan, text, text + " more"),
        "match": lambda: neardup.dedup([text, text + " more", text + " other"]),
    }[name]


def case(kind: str, name: str, n: int, folder: Path) -> Callable[[], object]:
    """What reads or matches an input of n parts."""
    if kind == "reader":
        suffix, make = READERS[name]
        return reading(folder, suffix, make(n))
    if kind == "page":
        page = PAGES[name](n)
        return lambda: (extract_text(page, "article"), list(tagged_runs(page)))
    if kind == "state":
        return state(folder, name, n)
    return text_work(kind, TEXTS[name](n))


CASES = [
    *(("reader", name) for name in READERS),
    *(("page", name) for name in PAGES),
    *(("state", name) for name in ("model", "plan", "labels", "tokens", "options")),
    *((kind, name) for kind in ("tokens", "units", "compare", "match") for name in TEXTS),
]


def quietly(work: Callable[[], object]) -> None:
    """Runs it; a refusal is an answer."""
    with suppress(NeardupError):
        work()


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_twice_the_input_costs_at_most_two_and_a_half_times_the_lines(tmp_path, kind, name):
    if name == "web archive":
        pytest.importorskip("fastwarc")
    quietly(case(kind, name, 100, tmp_path))
    costs = []
    for n in (600, 1200, 2400):
        work = case(kind, name, n, tmp_path)
        costs.append(lines_run(lambda work=work: quietly(work)))
    assert_linear(costs)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_eight_times_the_input_takes_no_sixty_four_times_the_time(tmp_path, kind, name):
    if name == "web archive":
        pytest.importorskip("fastwarc")
    seconds = []
    for n in (10_000, 80_000):
        work = case(kind, name, n, tmp_path)
        quietly(work)  # compiles
        start = time.process_time()
        quietly(work)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 24 * seconds[0] + 1.0, seconds
