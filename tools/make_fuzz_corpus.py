"""Writes tools/fuzzing/corpus: the table of defects in tests/documents/defects.py as files, the small ones.

Run after a change of that table; what a fuzzer found by itself is added by hand as tools/fuzzing/corpus/TARGET/found-*.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "documents"), str(HERE.parent / "src")]

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
    import tempfile

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
        "normaliser": [scripts, *(text.encode() for text in defects.TEXTS[:3]), defects.lines()],
    }


def main() -> None:
    """Write the files, named by their content, and remove those that are no longer made."""
    for target, inputs in corpus().items():
        folder = HERE / "fuzzing" / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        names = {hashlib.sha256(data).hexdigest()[:12]: data for data in inputs}
        for path in folder.iterdir():
            if path.name not in names and not path.name.startswith("found-"):
                path.unlink()
        for name, data in names.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
