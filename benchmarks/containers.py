"""Mail and web archives from the file to signatures, in MB a second of CPU time, beside the libraries that read them.

    python benchmarks/containers.py --megabytes 40                   # writes results/containers.json
    python benchmarks/containers.py --files crawl.warc               # writes the rows of this file anew

The files are written first:

    mail.mbox     messages of 4 kB, nearly all text, plain or of two parts
    letters.mbox  messages of 3 kB as servers pass them on: trace headers, quoted-printable, a sixth HTML alone
    pages.warc    small pages (6 kB), half of whose bytes are the article; also with a gzip member for each record
    crawl.warc    pages of today's size (95 kB): scripts, styles, attributes, few words; also in gzip members
    real.warc, news.warc, campaigns.mbox
                  with NEARDUP_DATA=FOLDER: labelled pages of today and of 2007, and texts of real mail

Each row is the best of some runs in this process, one thread, in megabytes of the file (of the uncompressed file for
.gz). `neardup, to signatures` reads, takes the text, tokenises and signs by the default plan (min-hash), and keeps
texts and keys; `neardup, texts` ends with the text or html column. Peers get the text of a message (`mailbox` with the
standard parser) or of a page (FastWARC, Resiliparse: visible text, and its main content without menus), no more.
"""

from __future__ import annotations

import argparse
import gzip
import json
import mailbox
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from functools import cache, partial
from html import escape
from pathlib import Path

import generate
from neardup.documents import Problems, open_inputs
from neardup.engines.core.documents import InputColumns
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.read import Job
from neardup.engines.local.run import read_corpus
from neardup.methods.minhash import minhash
from neardup.text import HtmlText
from records import Record, table
from settings import RESULTS

FILES = ["mail.mbox", "letters.mbox", "campaigns.mbox"]
FILES += [f"{name}.warc{gz}" for name in ("pages", "crawl", "real", "news") for gz in ("", ".gz")]
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


def letter(number: int, text: str, html: str = "") -> bytes:
    """A message as servers pass it on; of every six one is HTML alone, two have both."""
    found = EmailMessage()
    for hop in range(4):
        found["Received"] = (
            f"from relay{hop}.example.net (relay{hop}.example.net [192.0.2.{hop}]) by mx{hop}.example.org (8.12.8) "
            f"with ESMTP id h{number:010} for <list@example.org>; Mon, 5 Jan 2026 10:0{hop}:00 +0000"
        )
    found["From"] = f"Sender {number} <sender{number}@example.org>"
    found["To"], found["Subject"] = "list@example.org", f"Message {number}"
    found["Date"], found["Message-ID"] = "Mon, 5 Jan 2026 10:00:00 +0000", f"<{number}@example.org>"
    found["X-Mailer"], found["Precedence"] = "Mailer 5.1", "bulk"
    html = html or f"<html><body><table><tr><td><p>{escape(text)}</p></td></tr></table></body></html>"
    if number % 6 == 0:
        found.set_content(html, subtype="html", cte="quoted-printable")
    else:
        found.set_content(text, cte="quoted-printable" if number % 3 else "8bit")
        if number % 6 < 3:
            found.add_alternative(html, subtype="html", cte="quoted-printable")
    body = found.as_bytes().replace(b"\nFrom ", b"\n>From ")
    return f"From sender{number}@example.org Mon Jan  5 10:00:00 2026\n".encode() + body + b"\n"


def page(number: int, text: str) -> str:
    """A small page with a menu, paragraphs and a footer."""
    return (
        f'<!DOCTYPE html><html><head><title>Page {number}</title><script>var page = {{"n": {number}}};</script></head>'
        f"<body><ul>{MENU}</ul><article>{paragraphs(text)}</article><footer>All rights reserved</footer></body></html>"
    )


def paragraphs(text: str) -> str:
    """A text as HTML."""
    return "".join(f"<p>{escape(part)}</p>\n" for part in text.split("\n") if part)


@cache
def script(kind: int) -> str:
    """15 kB of made-up code."""
    draw, names = random.Random(kind), [f"f{n}" for n in range(40)]
    return "".join(
        f'function {draw.choice(names)}(a,b){{if(a<b&&a.{draw.choice(names)}){{return "{draw.random()}"}}'
        f"for(var i=0;i<a.length;i++){{b.push({draw.choice(names)}(a[i],{draw.randrange(1000)}))}}return b}};\n"
        for _ in range(120)
    )


def crawled_page(number: int, text: str) -> str:
    """A page of today: scripts and styles, and elements with many attributes around the text."""
    draw = random.Random(number)
    scripts = [f"<script>{script(draw.randrange(50))}</script>" for _ in range(4)]
    card = (
        '\n      <div class="card card--small grid__item" data-id="{0}" data-track=\'{{"slot":{0},"kind":"teaser"}}\'>'
        '<a class="card__link js-track" href="/{0}/a-story-of-the-day?from=home&amp;slot={0}" title="Story {0}">'
        '<img class="card__image lazy" src="https://img.example.org/{0}.jpg?w=320" alt="" width="320" height="180" '
        'loading="lazy"></a><h3 class="card__title"><span>Story number {0} of the day</span></h3></div>'
    )
    cards = [card.format(draw.randrange(100_000)) for _ in range(60)]
    return (
        f'<!DOCTYPE html><html lang="en"><head><title>Page {number}</title>{scripts[0]}'
        f"<style>{'.card__title{{margin:0 0 4px;color:#123}} ' * 120}</style></head>"
        f'<body class="page page--article">{scripts[1]}<nav><ul>{MENU}</ul></nav>{"".join(cards[:20])}<main>'
        f'<article class="story">{paragraphs(text)}</article></main>{scripts[2]}<aside class="related">'
        f'{"".join(cards[20:])}</aside><footer class="foot">All rights reserved</footer>{scripts[3]}</body></html>'
    )


def record(number: int, html: str) -> bytes:
    """A response of a WARC file."""
    body = html.encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
    answer += f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012}>\r\n"
        f"WARC-Target-URI: https://example.org/{number}\r\nWARC-Date: 2026-01-05T10:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(answer)}\r\n\r\n"
    )
    return head.encode() + answer + b"\r\n\r\n"


def labelled(folder: str) -> Iterator[dict[str, str]]:
    """The documents of a labelled set; none without NEARDUP_DATA."""
    path = Path(os.environ.get("NEARDUP_DATA", "nowhere")) / folder / "documents.jsonl.gz"
    if path.exists():
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)


def parts_of(name: str, megabytes: float) -> list[bytes]:
    """The messages or records of a file."""
    match name.removesuffix(".gz"):
        case "mail.mbox":
            return [message(number, text) for number, text in enumerate(texts(megabytes / 1.3))]
        case "letters.mbox":
            return [letter(number, text[:1500]) for number, text in enumerate(texts(megabytes * 0.7))]
        case "pages.warc":
            return [record(number, page(number, text)) for number, text in enumerate(texts(megabytes / 2))]
        case "crawl.warc":
            found = enumerate(texts(megabytes / 40))
            return [record(number, crawled_page(number, text)) for number, text in found]
        case "campaigns.mbox":
            mails = enumerate(labelled("email_campaigns"))
            return [letter(number, mail["text"] or "", mail["html"] or "") for number, mail in mails]
    folder = {"real.warc": "article_extraction", "news.warc": "spotsigs_gold"}[name.removesuffix(".gz")]
    return [record(number, one["html"]) for number, one in enumerate(labelled(folder))]


def write_file(path: Path, megabytes: float) -> float:
    """Writes the file of this name; how many uncompressed megabytes it has."""
    parts = parts_of(path.name, megabytes)
    path.write_bytes(b"".join(map(gzip.compress, parts) if path.suffix == ".gz" else parts))
    return sum(map(len, parts)) / 1e6


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
        columns = InputColumns(html_text=how)
        return len(read_corpus(Job(minhash(), open_inputs([path], html_text=how), work, columns)))
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


def warc_texts(path: Path, how: HtmlText) -> int:
    """Pages whose visible text, or main content, FastWARC and Resiliparse found."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType
    from resiliparse.extract.html2text import extract_plain_text

    main = how != "visible"
    with path.open("rb") as file:
        records = ArchiveIterator(file, WarcRecordType.response)
        return sum(
            extract_plain_text(one.reader.read().decode(), main_content=main) is not None for one in records
        )


def rate(job: Callable[[], int], megabytes: float, repeats: int) -> tuple[float, int]:
    """Megabytes a second of CPU time, the best of some runs; and how many documents there were."""
    seconds, found = [], 0
    for _ in range(repeats + 1):  # the first one compiles kernels
        before = time.process_time()
        found = job()
        seconds.append(time.process_time() - before)
    return megabytes / min(seconds[1:]), found


def records(folder: Path, name: str, megabytes: float, repeats: int) -> Iterable[Record]:
    """What was measured for each tool on the file of this name; nothing if its data are not here."""
    path = folder / name
    size = write_file(path, megabytes)
    jobs: list[tuple[str, Callable[[Path, HtmlText], int], HtmlText]]
    if path.suffix == ".mbox":
        jobs = [
            ("neardup, texts", to_texts, "visible"),
            ("neardup, to signatures", to_signatures, "visible"),
            ("mailbox, email", mail_texts, "visible"),
        ]
    else:
        jobs = [
            ("neardup, to signatures (article)", to_signatures, "article"),
            ("neardup, to signatures (visible)", to_signatures, "visible"),
            ("neardup, html column", to_texts, "visible"),
            ("FastWARC, bytes of records", warc_records, "visible"),
            ("FastWARC + Resiliparse, visible text", warc_texts, "visible"),
            ("FastWARC + Resiliparse, main content", warc_texts, "article"),
        ]
    for what, job, how in jobs if size else []:
        found, documents = rate(partial(job, path, how), size, repeats)
        row: Record = {"file": name, "name": what, "mb_per_s": round(found, 1), "documents": documents}
        yield row | {"megabytes": round(size, 1)}


def containers_page(result: Record, circumstances: str) -> list[str]:
    """One line a file and tool."""
    rows = [
        [
            row["file"],
            row["name"],
            f"{row['mb_per_s']:,}",
            f"{row['documents']:,}",
            f"{1000 * row['megabytes'] / row['documents']:,.0f}" if "megabytes" in row else "",
        ]
        for row in result["rows"]
    ]
    title = "## Mail and web archives, from the file to texts and signatures, one thread"
    return [title, circumstances, table(["file", "what", "MB/s of CPU time", "documents", "kB each"], rows)]


def main() -> None:
    """Measure, store results/containers.json and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=40, help="of each file  [40]")
    parser.add_argument("--reps", type=int, default=3, help="runs of each, of which the best counts  [3]")
    parser.add_argument("--files", default=",".join(FILES), help="which; rows of others stay as they are")
    given = parser.parse_args()
    from run import store

    stored = RESULTS / "containers.json"
    known = json.loads(stored.read_text())["rows"] if stored.exists() else []
    for name in given.files.split(","):
        with tempfile.TemporaryDirectory() as folder:
            rows = list(records(Path(folder), name, given.megabytes, given.reps))
        known = [row for row in known if row["file"] != name] + rows
        known.sort(key=lambda row: FILES.index(row["file"]))
    store("containers", {"rows": known}, quick=False)
    print("\n\n".join(containers_page({"rows": known}, "")))


if __name__ == "__main__":
    main()
