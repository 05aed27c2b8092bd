"""Articles in XML: NITF, NewsML 1 and G2, Reuters' newsitem (RCV1).

Expat parses a file at once, which is linear. Nothing outside the file is read, and a file that declares entities is
refused: they could expand without end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html.entities import html5
from typing import Any
from xml.parsers import expat

ARTICLES = ("nitf", "newsitem")  # an element that is an article, unless it is inside another
TEXTS = ("body.content", "text", "inlinexml", "datacontent")  # whose text is compared
TITLES = ("hl1", "headline", "title")  # the first that an article has
DATES = ("firstcreated", "versioncreated", "thisrevisioncreated", "dateandtime")
IDS = ("newsitemid", "itemid")
BREAKS = ("p", "br", "hl1", "hl2", "li", "tr", "td", "block", "headline", "div", "h1", "h2", "h3", "h4")
CLASSIFIER = "classifier"
DEEPEST = 1000
LEAD = ("lead_paragraph", "online_lead_paragraph")  # blocks that repeat the beginning of the text
_SKIPPED = ("body.head", "media", "head", "script", "style")  # inside a text


class BrokenNews(Exception):
    """A file that cannot be read as news; the message says why."""


def xml_articles(data: bytes) -> Iterator[dict[str, str]]:
    """The articles of a file, in order."""
    reader = _Reader()
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise BrokenNews(
            f"not well-formed XML: {expat.ErrorString(error.code)}, line {error.lineno}"
        ) from None
    except (LookupError, ValueError) as error:
        raise BrokenNews(f"not readable as XML: {str(error)[:100]}") from None
    yield from reader.found


class _Reader:
    """Fields of articles, collected while the file is parsed."""

    def __init__(self) -> None:
        self.found: list[dict[str, str]] = []
        self._path: list[str] = []
        self._article: dict[str, Any] | None = None
        self._at = 0  # the depth of the article
        self._text_at = 0  # the depth of the text, 0 outside
        self._skip_at = 0  # the depth of a part of it that is left out
        self._lead = False  # whether that part is the lead, which counts where there is no other text
        self._parts: list[str] = []
        self._pieces: list[str] = []  # of the innermost element with a field
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._named_character

    def _refuse_entity(self, *declared: Any) -> None:
        raise BrokenNews("it declares entities, which are not expanded")

    def _named_character(self, name: str, is_parameter: bool) -> None:
        """A character such as &nbsp;, which the document type declares in a file that is not read."""
        if not is_parameter:
            self._characters(html5.get(f"{name};", ""))

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        tag = name.rpartition(":")[2].lower()
        self._path.append(tag)
        if len(self._path) > DEEPEST:
            raise BrokenNews(f"elements are nested deeper than {DEEPEST:,}")
        if self._article is None:
            if tag not in ARTICLES:
                return
            self._article, self._at = {"topics": {}}, len(self._path)
            self._parts, self._text_at = [], 0
        if tag in TEXTS and not self._text_at:
            self._text_at = len(self._path)
        if tag in BREAKS:
            self._parts.append("\n")
        repeats = tag == "block" and attributes.get("class") in LEAD
        if (repeats or tag in _SKIPPED) and self._text_at and not self._skip_at:
            self._skip_at, self._lead = len(self._path), repeats
        if tag in (*TITLES, *DATES, *IDS, CLASSIFIER):
            self._pieces = []
        self._take(tag, attributes)

    def _take(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Fields that are attributes."""
        keep: Any = self._keep
        if tag == "newsitem":
            keep("id", attributes.get("itemid") or attributes.get("guid"))
            keep("date", attributes.get("date"))
        elif tag == "doc-id":
            keep("id", attributes.get("id-string"))
        elif tag == "date.issue":
            keep("date", attributes.get("norm"))
        elif tag == "pubdata":
            keep("date", attributes.get("date.publication"))
        topic = self._topic(tag, attributes)
        if topic and self._article is not None:
            self._article["topics"][topic] = True

    def _topic(self, tag: str, attributes: Mapping[str, str]) -> str | None:
        if tag == CLASSIFIER:
            return attributes.get("value")
        if tag == "tobject.subject":
            return attributes.get("tobject.subject.type") or attributes.get("tobject.subject.refnum")
        if tag == "subject":
            return attributes.get("qcode") or attributes.get("literal")
        if tag == "topicoccurrence":
            return (attributes.get("Topic") or "").lstrip("#")
        if tag == "codes" and self._article is not None:
            self._article["class"] = attributes.get("class", "topics")
        if tag == "code" and self._article is not None and "topics" in self._article.get("class", ""):
            return attributes.get("code")
        return None

    def _keep(self, field: str, value: str | None) -> None:
        if value and value.strip() and self._article is not None:
            self._article.setdefault(field, " ".join(value.split()))

    def _characters(self, text: str) -> None:
        if self._article is None:
            return
        self._pieces.append(text)
        if self._text_at and not self._skip_at:
            self._parts.append(text)
        elif self._skip_at and self._lead:
            self._article["lead"] = self._article.get("lead", "") + text

    def _end(self, name: str) -> None:
        tag, depth = self._path.pop(), len(self._path) + 1
        if self._article is None:
            return
        if tag in (*TITLES, *DATES, *IDS):
            field = f"title {tag}" if tag in TITLES else "date" if tag in DATES else "id"
            self._keep(field, "".join(self._pieces))
            self._pieces = []
        if tag == CLASSIFIER:  # archives name a topic in it, and not in its attribute
            named = " ".join("".join(self._pieces).split())
            self._article["topics"].update({named: True} if named else {})
        if tag in BREAKS:
            self._parts.append("\n")
        self._skip_at = 0 if depth == self._skip_at else self._skip_at
        if depth == self._text_at:
            self._text_at = 0
            self._parts.append("\n")
        if depth == self._at:
            self.found.append(_finished(self._article, "".join(self._parts)))
            self._article = None


def _finished(article: dict[str, Any], text: str) -> dict[str, str]:
    """The fields of an article, each as a text; lines without their blanks."""
    titles = [article[f"title {tag}"] for tag in TITLES if f"title {tag}" in article]
    lines = [" ".join(line.split()) for line in text.split("\n")]
    title = titles[0] if titles else ""
    lead = " ".join(article.get("lead", "").split())
    return {
        "id": article.get("id", ""),
        "title": title,
        "date": _iso(article.get("date", "")),
        "topics": ", ".join(article["topics"]),
        "text": "\n".join(line for line in lines if line) or lead or title,
    }


def _iso(date: str) -> str:
    """20000131T120000Z as 2000-01-31T12:00:00Z; another as it is written."""
    day, _, time = date.partition("T")
    if not (len(day) == 8 and day.isdecimal()):
        return date
    shown = f"{day[:4]}-{day[4:6]}-{day[6:]}"
    if len(time) >= 6 and time[:6].isdecimal():
        return f"{shown}T{time[:2]}:{time[2:4]}:{time[4:6]}{time[6:]}"
    return shown


def is_news(head: bytes) -> bool:
    """Whether an XML file with these first bytes has articles of a known kind."""
    low = head.lower()
    return any(
        b"<" + name in low or b":" + name in low for name in (b"nitf", b"newsitem", b"newsml", b"newsmessage")
    )
