"""Units of a text: lines, paragraphs and sentences, with regular expressions."""

from __future__ import annotations

import re

BLANK = "[\x00-\x20]"
STOP = "[.!?؟۔。！？．।॥၊။]"
WIDE = "。！？．।॥၊။"
CLOSING = "[\"')\\]»”’」』]"


def lines(text: str) -> list[str]:
    """What stands between line ends, without blanks around it."""
    return [found for line in text.split("\n") if (found := line.strip(BLANKS))]


def paragraphs(text: str) -> list[str]:
    """What stands between empty lines."""
    return [
        found for part in re.split("\n[\x00-\x09\x0b-\x20]*(?=\n)", text) if (found := part.strip(BLANKS))
    ]


def sentences(text: str) -> list[str]:
    """Paragraphs cut behind full stops."""
    found = []
    for paragraph in paragraphs(text):
        start = 0
        for stop in re.finditer(f"{STOP}(?:{STOP}|{CLOSING})*", paragraph):
            rest = paragraph[stop.end() :]
            blank = rest[:1] and rest[0] in BLANKS
            small = re.match("[a-z]", rest.lstrip(BLANKS))
            if not rest or stop[0][0] in WIDE or (blank and not small):
                found.append(paragraph[start : stop.end()].strip(BLANKS))
                start = stop.end()
        found.append(paragraph[start:].strip(BLANKS))
    return [each for each in found if each]


BLANKS = "".join(map(chr, range(33)))
