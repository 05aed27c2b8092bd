"""gs:// by Arrow's client and a server on loopback."""

from __future__ import annotations

import json
import random

import pyarrow.fs
import pytest
from google_server import google_server

from neardup.cli import main
from neardup.documents import open_inputs, stamp
from neardup.errors import InputError
from neardup.remote import retries
from neardup.remote.stores import _store
from sentences import overlapping

TEXTS = overlapping(random.Random(6), 20)
ROWS = [{"id": str(k), "text": text} for k, text in enumerate([*TEXTS, *TEXTS])]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch):
    if not hasattr(pyarrow.fs, "GcsFileSystem"):
        pytest.skip("this pyarrow has no client for Google")
    with google_server() as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.host)
        monkeypatch.setattr(retries, "FIRST_PAUSE", 0)
        _store.cache_clear()
        server.put("news/a.jsonl", LINES)
        server.put("news/more/b.jsonl", LINES.replace(b'"id": "', b'"id": "b'))
        yield server
    _store.cache_clear()


def command(*words: str) -> int:
    try:
        main(list(words))
    except SystemExit as stop:
        return int(str(stop.code or 0))
    return 0


def test_a_bucket_of_google_is_listed_read_and_written(google):
    assert [source.name for source in open_inputs(["gs://corpus/news"])] == ["a.jsonl", "more/b.jsonl"]
    assert len(open_inputs(["gs://corpus/**/*.jsonl"])) == 2
    assert command("dedup", "gs://corpus/news", "-o", "gs://corpus/out") == 0
    assert 0 < google.get("out/kept.jsonl").count(b"\n") <= 20
    assert json.loads(google.get("out/report.json"))["documents"] == 80
    assert command("dedup", "gs://corpus/news", "-o", "gs://corpus/out") == 2


def test_an_object_of_google_is_known_by_what_it_is(google):
    (source,) = open_inputs(["gs://corpus/news/a.jsonl"])
    before = stamp(source)
    assert before == stamp(source) and before[0][1] == len(LINES)
    google.put("news/a.jsonl", LINES)
    assert stamp(source) != before


@pytest.mark.slow
def test_failures_of_google_pass_or_are_one_line(google):
    google.fail(2)
    assert len(open_inputs(["gs://corpus/news/a.jsonl"])) == 1
    with pytest.raises(InputError, match=r"gs://corpus/none\.jsonl does not exist"):
        open_inputs(["gs://corpus/none.jsonl"])
    with pytest.raises(InputError, match="the bucket nobody does not exist"):
        open_inputs(["gs://nobody/a.jsonl"])
