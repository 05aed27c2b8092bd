"""Mail and web archives from the file to signatures, in MB a second of CPU time, beside the libraries that read them.

    python benchmarks/containers.py --megabytes 40                   # writes results/containers.json

The files are written first: an mbox of plain and of two-part messages, and a WARC file of pages with menus, as it is
and with a gzip member for each record. Each row is the best of some runs in this process, one thread, in megabytes of
the file (of the uncompressed file for .gz). `neardup, to signatures` reads, takes the text, tokenises and signs by
the default plan (min-hash), and keeps texts and keys; `neardup, texts` ends with the text or html column. Peers get the
text of a message (`mailbox` with the standard parser) or of a page (FastWARC, Resiliparse: visible text), no more.
"""

from __future__ import annotations

import argparse
import gzip
import mailbox
import tempfile
import time
from collections.abc import Callable, Iterable
from email import policy
from email.parser import BytesParser
from functools import partial
from html import escape
from pathlib import Path

import generate
from neardup.documents import Problems, open_inputs
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.read import Job
from neardup.engines.local.run import read_corpus
from neardup.methods.minhash import minhash
from neardup.text import HtmlText
from records import Record, table

MENU = "".join(f'<li class="item"><a href="/section/{n}">Section number {n}</a></li>' for n in range(40))
LETTER = """From sender{n}@example.org Mon Jan  5 10:00:00 2026
From: Sender {n} <sender{n}@example.org>
To: list@example.org
Subject: Message {n}
Date: Mon, 5 Jan 2026 10:00:00 +0000
Message-ID: <{n}@example.org>
MIME-Version: 1.0
"""
PLAIN = "Content-Type: text/plain; charset=utf-8\n\n{text}\n\n"
PARTS = (
    'Content-Type: multipart/alternative; boundary="b{n}"\n\n--b{n}\nContent-Type: text/plain; charset=utf-8\n\n'
    "{text}\n--b{n}\nContent-Type: text/html; charset=utf-8\n\n<html><body><p>{text}</p></body></html>\n--b{n}--\n\n"
)


def texts(megabytes: float) -> Iterable[str]:
    """Texts of the generator, so many megabytes of them."""
    for group in generate.texts(generate.Recipe(int(megabytes * 1e6 / 2750))):
        yield from group


def message(number: int, text: str) -> bytes:
    """A message of an mbox file; every fourth has two parts."""
    body = (PARTS if number % 4 == 0 else PLAIN).format(n=number, text=text)
    return (LETTER.format(n=number) + body.replace("\nFrom ", "\n>From ")).encode()


def record(number: int, text: str) -> bytes:
    """A response of a WARC file: a page with a menu, paragraphs and a footer."""
    paragraphs = "".join(f"<p>{escape(part)}</p>\n" for part in text.split("\n") if part)
    page = (
        f'<!DOCTYPE html><html><head><title>Page {number}</title><script>var page = {{"n": {number}}};</script></head>'
        f"<body><ul>{MENU}</ul><article>{paragraphs}</article><footer>All rights reserved</footer></body></html>"
    ).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
    answer += f"Content-Length: {len(page)}\r\n\r\n".encode() + page
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012}>\r\n"
        f"WARC-Target-URI: https://example.org/{number}\r\nWARC-Date: 2026-01-05T10:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(answer)}\r\n\r\n"
    )
    return head.encode() + answer + b"\r\n\r\n"


def write_files(folder: Path, megabytes: float) -> dict[Path, float]:
    """The files, and how many uncompressed megabytes each has."""
    mails = [message(number, text) for number, text in enumerate(texts(megabytes / 1.3))]
    pages = [record(number, text) for number, text in enumerate(texts(megabytes / 2))]
    contents = {
        "mail.mbox": mails,
        "pages.warc": pages,
        "pages.warc.gz": [gzip.compress(one) for one in pages],
    }
    found = {}
    for name, parts in contents.items():
        (folder / name).write_bytes(b"".join(parts))
        found[folder / name] = sum(map(len, pages if "warc" in name else mails)) / 1e6
    return found


# ours -----------------------------------------------------------------------------------------------------


def to_texts(path: Path, how: HtmlText) -> int:
    """Documents whose texts were read."""
    problems, total = Problems(), 0
    for source in open_inputs([path], html_text=how):
        column = "html" if source.format == "warc" else "text"
        total += sum(len(batch) for batch in source.read([column], problems))
    return total


def to_signatures(path: Path, how: HtmlText) -> int:
    """Documents that were read and signed."""
    work = Workspace()
    try:
        return len(read_corpus(Job(minhash(), open_inputs([path], html_text=how), work)))
    finally:
        work.close()


# peers ----------------------------------------------------------------------------------------------------


def mail_texts(path: Path, _: HtmlText) -> int:
    """Messages whose text `mailbox` and the standard library's parser found."""
    parser, found = BytesParser(policy=policy.default), 0
    box = mailbox.mbox(path, factory=parser.parse, create=False)  # type: ignore[arg-type]
    for letter in box:
        body = letter.get_body(("plain", "html"))  # type: ignore[attr-defined]
        found += bool(body and body.get_content())
    return found


def warc_records(path: Path, _: HtmlText) -> int:
    """Records whose bytes FastWARC read."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    with path.open("rb") as file:
        return sum(bool(one.reader.read()) for one in ArchiveIterator(file, WarcRecordType.response))


def warc_texts(path: Path, _: HtmlText) -> int:
    """Pages whose visible text FastWARC and Resiliparse found."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType
    from resiliparse.extract.html2text import extract_plain_text

    with path.open("rb") as file:
        records = ArchiveIterator(file, WarcRecordType.response)
        return sum(bool(extract_plain_text(one.reader.read().decode())) for one in records)


def rate(job: Callable[[], int], megabytes: float, repeats: int) -> tuple[float, int]:
    """Megabytes a second of CPU time, the best of some runs; and how many documents there were."""
    seconds, found = [], 0
    for _ in range(repeats + 1):  # the first one compiles kernels
        before = time.process_time()
        found = job()
        seconds.append(time.process_time() - before)
    return megabytes / min(seconds[1:]), found


def records(folder: Path, megabytes: float, repeats: int) -> Iterable[Record]:
    """What was measured for each file and tool."""
    for path, size in write_files(folder, megabytes).items():
        if path.suffix == ".mbox":
            jobs = [
                ("neardup, texts", to_texts, "visible"),
                ("neardup, to signatures", to_signatures, "visible"),
            ]
            jobs += [("mailbox, email", mail_texts, "visible")]
        else:
            jobs = [(f"neardup, to signatures ({how})", to_signatures, how) for how in ("visible", "article")]
            jobs += [("neardup, texts (visible)", to_texts, "visible")]
            jobs += [("FastWARC, bytes of records", warc_records, "visible")]
            jobs += [("FastWARC + Resiliparse, visible text", warc_texts, "visible")]
        for name, job, how in jobs:
            found, documents = rate(partial(job, path, how), size, repeats)
            yield {"file": path.name, "name": name, "mb_per_s": round(found, 1), "documents": documents}


def containers_page(result: Record, circumstances: str) -> list[str]:
    """One line a file and tool."""
    rows = [
        [row["file"], row["name"], f"{row['mb_per_s']:,}", f"{row['documents']:,}"] for row in result["rows"]
    ]
    title = "## Mail and web archives, from the file to texts and signatures, one thread"
    return [title, circumstances, table(["file", "what", "MB/s of CPU time", "documents"], rows)]


def main() -> None:
    """Measure, store results/containers.json and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=40, help="of each file  [40]")
    parser.add_argument("--reps", type=int, default=3, help="runs of each, of which the best counts  [3]")
    given = parser.parse_args()
    from run import store

    with tempfile.TemporaryDirectory() as folder:
        rows = list(records(Path(folder), given.megabytes, given.reps))
    store("containers", {"rows": rows}, quick=False)
    print("\n\n".join(containers_page({"rows": rows}, "")))


if __name__ == "__main__":
    main()
