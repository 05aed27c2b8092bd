"""Reuters-21578: files of about 1,000 articles in SGML, found by their tags."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neardup.documents.news_xml import BrokenNews
from neardup.text.references import decode_references

_OPEN, _CLOSE = b"<REUTERS", b"</REUTERS>"
_ID = re.compile(r'NEWID="([^"]{0,100})"')
_DAY = re.compile(r"(\d{1,2})-([A-Z]{3})-(\d{4})(?: +(\d\d:\d\d:\d\d))?")
_MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
_TAG = re.compile(r"<[^<>]{0,200}>")
_END = re.compile(r"\bReuters?\Z", re.IGNORECASE)  # the signature under every article


def is_sgml(data: bytes) -> bool:
    """Whether a file with these first bytes is one of Reuters-21578."""
    return _OPEN in data[: 1 << 16]


def sgml_articles(data: bytes) -> Iterator[dict[str, str]]:
    """The articles one by one; BrokenNews at the first that is not closed."""
    at = data.find(_OPEN)
    while at >= 0:
        end = data.find(_CLOSE, at)
        if end < 0:
            raise BrokenNews("the last article is not closed by </REUTERS>")
        yield _article(_decoded(data[at:end]))
        at = data.find(_OPEN, end)


def _decoded(data: bytes) -> str:
    """The text; what is not UTF-8 is Windows-1252, of which two files of the collection have a few bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _article(record: str) -> dict[str, str]:
    head = record[: record.find(">") + 1]
    identity = _ID.search(head)
    title, whole = _plain(_between(record, "TITLE")), _between(record, "TEXT")
    body = _between(record, "BODY") or ("" if title else _TAG.sub(" ", whole))
    text = _unsigned(_plain(body))
    return {
        "id": identity[1] if identity else "",
        "title": title,
        "date": _date(_between(record, "DATE")),
        "topics": ", ".join(_listed(_between(record, "TOPICS"))),
        "text": text or title,
    }


def _between(record: str, tag: str) -> str:
    """What stands between the first opening tag and the next closing one."""
    start = record.find(f"<{tag}")
    start = record.find(">", start) + 1 if start >= 0 else 0
    end = record.find(f"</{tag}>", start) if start else -1
    return record[start:end] if end >= 0 else ""


def _listed(part: str) -> list[str]:
    """The entries <D>…</D> of a list."""
    return [piece.partition("</D>")[0] for piece in part.split("<D>")[1:]]


def _unsigned(text: str) -> str:
    """Without the signature; it is looked for at the end alone, because a text may be a long run of blanks."""
    found = _END.search(text, max(len(text) - len("Reuters"), 0))
    return text if found is None else text[: found.start()].rstrip()


def _plain(part: str) -> str:
    return decode_references(part).strip()


def _date(written: str) -> str:
    """26-FEB-1987 15:01:01.79 in ISO 8601; another as it is written."""
    found = _DAY.search(written)
    if found is None or found[2] not in _MONTHS:
        return written.strip()
    day = f"{found[3]}-{_MONTHS.index(found[2]) + 1:02}-{int(found[1]):02}"
    return f"{day}T{found[4]}" if found[4] else day
