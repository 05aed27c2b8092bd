"""Writes tools/fuzzing/corpus: the table of defects in tests/documents/defects.py as files, the small ones.

Run after a change of that table; what a fuzzer found by itself is added by hand as tools/fuzzing/corpus/TARGET/found-*.
Databases have times in them: they are made where none is, and with the word `databases`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "documents"), str(HERE), str(HERE.parent / "src")]

MOST = 5000  # bytes of a file
PAGE = "<html><head><title>t</title><script>x</script></head><body><p>{}</p><div>&amp;&#x263a;</div></body></html>"


def made(good: bytes, table: object, few: int | None = None) -> list[bytes]:
    """The good file, or its first bytes, with each defect."""
    inputs = [defect.make(good) for defect in table.values()]  # type: ignore[attr-defined]
    return [data for data in inputs if len(data) <= MOST][:few]


def archived(text: str) -> bytes:
    """A record of a web archive."""
    body = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>{text}</p>".encode()
    head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{len(text)}>\r\n"
    head += "WARC-Target-URI: http://example.org/a\r\nWARC-Date: 2020-05-01T00:00:00Z\r\n"
    head += f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body + b"\r\n\r\n"


def gzip_of(rest: bytes) -> bytes:
    """A record, compressed by itself as the format wants it."""
    return gzip.compress(b"WARC/1.0" + rest, mtime=0)


def state() -> dict[str, list[bytes]]:
    """A model, plans, document frequencies and the journal of a work folder."""
    import numpy as np

    from neardup.learn.model.file import Model, Probability
    from neardup.plans import make_plan
    from neardup.statistics import Frequencies, Statistics
    from neardup.statistics.file import save_statistics

    methods = ("minhash", "simhash", "spotsigs", "super_shingles", "rare_phrases")
    journal = (
        b'{"format": 2, "stages": {"read": {"complete": false, "files": []}, "problems": {"complete": false, "files": '
        b'[["read-00000.arrow", 3, 10, 7]]}}, "state": {"read": {"numbered": false}}, "texts": [0, 0]}'
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.parquet"
        table = Frequencies(np.arange(1, 40, dtype=np.uint64), np.arange(1, 40, dtype=np.int64))
        save_statistics(Statistics(40, "{}", {"a": table}), path)
        counted = path.read_bytes()
    return {
        "model": [Model().to_json().encode(), Model(probability=Probability(2.0, 0.4)).to_json().encode()],
        "plan": [make_plan(name).to_json().encode() for name in methods],
        "statistics": [counted],
        "journal": [journal, journal.replace(b'["read-00000.arrow", 3, 10, 7]', b"")],
    }


NITF = b"""<?xml version="1.0" encoding="UTF-8"?>
<nitf><head><title>t</title><tobject><tobject.subject tobject.subject.type="Trade"/></tobject><docdata>
<doc-id id-string="n1"/><date.issue norm="20000131T120000Z"/></docdata></head><body><body.head><hedline><hl1>The
harbour</hl1></hedline></body.head><body.content><p>The council voted &amp; the berth grows&nbsp;\xc3\xa9.</p>
<media><p>left out</p></media></body.content></body></nitf>"""
NEWSML = b"""<newsMessage xmlns="http://iptc.org/std/nar/2006-10-01/"><itemSet><newsItem guid="g1"><itemMeta>
<firstCreated>2020-05-01T00:00:00Z</firstCreated></itemMeta><contentMeta><headline>Berth</headline>
<subject qcode="t:1"/></contentMeta><contentSet><inlineXML><html><body><p>One.</p><p>Two.</p></body></html></inlineXML>
</contentSet></newsItem></itemSet></newsMessage>"""
REUTERS = b"""<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" OLDID="5544" NEWID="1"><DATE>26-FEB-1987 15:01:01.79</DATE>
<TOPICS><D>cocoa</D><D>tea</D></TOPICS><TEXT>&#2;<TITLE>COCOA</TITLE><BODY>Showers continued &lt;weeks>.
 Reuter&#3;</BODY></TEXT></REUTERS>
<REUTERS NEWID="2"><TEXT TYPE="BRIEF"><TITLE>BRIEF</TITLE></TEXT></REUTERS>"""
CONFIG = b"""# neardup dedup --config run.toml
output = "clean"
threshold = 0.8
ngram = 3
threads = 2
text-column = "text"
no-within = false
keep = "priority:source=a,b"
fields = ["title", "body"]
"""
REQUEST = {
    "text": "the harbour council", "id": "a", "fields": {"title": "t"}, "access": ["staff"], "quality": 0.5,
    "time": 1e9, "url": "http://example.org/a", "threshold": 0.8, "limit": 10, "explain": True,
}  # fmt: skip
LABELS = [
    b"id,cluster,irrelevant\nd0,a,no\nd1,a,no\nd2,b,no\nd3,,yes\n",
    b"left,right,verdict,rater\nd0,d1,yes,ann\nd0,d1,no,bob\nd2,d3,containment,ann\nd4,d5,0.5,ann\n",
    b'{"id": "d0", "cluster": "a"}\n{"id": "d1", "cluster": "a"}\n{"id": "d2", "cluster": 3}\n',
]
REPORT = {
    "neardup": "1", "engine": "local", "documents": 2, "kept": 1, "removed": 1, "clusters": 1, "exact_copies": 0,
    "text_bytes": 9, "html_text": "article", "plan": {"method": "minhash"}, "removals": {
    "copies": 0, "direct": 1, "by_chain": 0, "by_cluster": 0, "empty": 0, "unverified": 0}, "pairs": {"verified": 1},
    "largest_clusters": [{"cluster": "a", "leader": 1, "size": 2}], "problems": {"total": 0, "counts": {}, "first": []},
    "seconds": {"read": 0.1}, "warnings": [], "inputs": ["a.jsonl"], "files": ["kept.jsonl"],
}  # fmt: skip


def small(path: Path) -> bytes:
    """A file of SQLite with pages of 512 bytes, so that accidents hit something."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        (mode,) = database.execute("PRAGMA journal_mode").fetchone()
        for statement in ("PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "VACUUM"):
            database.execute(statement)
        database.execute(f"PRAGMA journal_mode = {mode}").fetchone()
    return path.read_bytes()


def databases() -> dict[str, list[bytes]]:
    """A store of pages, and an index."""
    from neardup.index.index import Index

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with Index(place / "index", method="minhash", threshold=0.8) as index:
            index.add(
                [{"id": f"d{n}", "text": f"the harbour council voted on tuesday {n}"} for n in range(4)]
            )
        from fuzzing.state import tracked_pages

        tracked_pages(place / "pages.db")
        files = {"tracked": "pages.db", "index": "index/truth.db"}
        return {target: [small(place / name)] for target, name in files.items()}


def a_segment() -> bytes:
    """A small segment."""
    import numpy as np

    from neardup.index.segments.writer import write_segment

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.segment"
        keys = np.arange(1, 300, dtype=np.uint64) << np.uint64(55)
        seqs = np.arange(1, 300, dtype=np.int64)
        write_segment(path, plan_digest="fuzz", low=1, high=300, documents=299, seqs=seqs, keys=keys)
        return path.read_bytes()


def corpus() -> dict[str, list[bytes]]:
    """The inputs of each target."""
    import defects

    jsonl = made(defects.jsonl(), defects.JSONL)
    message = defects.mbox().partition(b"\n\nFrom ")[0].partition(b"\n")[2]
    archive = b"".join(map(archived, defects.TEXTS[:3]))
    scripts = "Straße e\u0301 عربي हिन्दी 漢字かな 한국어 ไทยกำ 👩‍👧 ﬁ İ ǅ ½ x\u00ad".encode()
    return {
        "jsonl": jsonl,
        "gzip": [gzip.compress(data, mtime=0) for data in jsonl[:6]],
        "zstd": [defects.zstd(data) for data in jsonl[:6]],
        "json": [
            b"[" + jsonl[0].strip().replace(b"\n", b",\n") + b"]",
            b'[{"id": 1, "text": -1.5e3}, {"text": null}]',
        ],
        "pipe": [
            jsonl[0],
            defects.csv(),
            defects.csv(";"),
            defects.mbox(),
            defects.parquet(),
            gzip.compress(jsonl[0], mtime=0),
        ],
        "news": [NITF, NEWSML, REUTERS],
        "config": [CONFIG, CONFIG + b'method = "simhash"\n'],
        "labels": LABELS,
        "report": [json.dumps(REPORT).encode()],
        "request": [
            json.dumps(REQUEST).encode(),
            json.dumps({"documents": [{"text": "a", "id": 1}], "limit": 3}).encode(),
        ],
        "segment": [a_segment()],
        "csv": made(defects.csv(), defects.CSV),
        "tsv": made(defects.csv("\t"), defects.LINES),
        "lines": made(defects.lines(), defects.PLAIN),
        "parquet": [
            *made(defects.parquet(), defects.PARQUET, 2),
            defects.parquet(10, version="1.0"),
            defects.nested_parquet(),
        ],
        "text": made(defects.lines(), defects.PLAIN, 6),
        "html": [PAGE.format(text).encode() for text in defects.TEXTS[:3]],
        "article": [PAGE.format(text).encode() for text in defects.TEXTS[:3]],
        "tagged": [PAGE.format(text).encode() for text in defects.TEXTS[:3]],
        "mail": [*made(defects.mbox(), defects.MAIL), message],
        "warc": [archive, archive[:-200], b"".join(map(gzip_of, archive.split(b"WARC/1.0")[1:]))],
        **state(),
        "steps": [
            scripts,
            *(text.encode() for text in defects.TEXTS[:3]),
            b"def f(a_b):\n    return a_b ** 2 != 1\n\nA b. C d! E?",
        ],
        "normaliser": [scripts, *(text.encode() for text in defects.TEXTS[:3]), defects.lines()],
    }


def main() -> None:
    """Write the files, named by their content, and remove those that are no longer made."""
    for target, inputs in corpus().items():
        write(target, inputs)
    folder = HERE / "fuzzing" / "corpus"
    if "databases" in sys.argv or not (folder / "index").is_dir():
        for target, inputs in databases().items():
            write(target, inputs, ".gz", lambda data: gzip.compress(data, mtime=0))


def write(target: str, inputs: list[bytes], suffix: str = "", pack: Callable[[bytes], bytes] = bytes) -> None:
    """Make the folder of a target have these inputs, and those that were found by fuzzing."""
    folder = HERE / "fuzzing" / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    names = {hashlib.sha256(data).hexdigest()[:12] + suffix: data for data in inputs}
    for path in folder.iterdir():
        if path.name not in names and not path.name.startswith("found-"):
            path.unlink()
    for name, data in names.items():
        (folder / name).write_bytes(pack(data))


if __name__ == "__main__":
    main()
