"""A page as a parser sees it: every element and attribute, and the text."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "input", "rect", "line", "circle", "polyline"}
ELEMENTS = set(
    "html head meta title style body a header footer nav main section h1 h2 h3 p ol ul li dl dt dd div span small "
    "strong code table caption thead tbody tr th td svg rect line circle polyline text bdi details summary figure "
    "figcaption mark label input output script".split()
)
ATTRIBUTES = set(
    "lang charset name content http-equiv class href id aria-labelledby aria-label aria-hidden aria-live "
    "aria-valuetext scope viewbox preserveaspectratio role x y x1 x2 y1 y2 cx cy r width height points text-anchor "
    "data-low data-high data-left data-right data-n data-threshold data-bins data-removals data-pairs dir open hidden "
    "for type min max value".split()
)


class ParsedPage(HTMLParser):
    """Elements must close in order, and none may be unknown."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.marks: list[str] = []
        self.hrefs: list[str] = []
        self.scripts = 0
        self.strange: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        self.strange += [tag] if tag not in ELEMENTS else []
        self.strange += sorted(names - ATTRIBUTES)
        self.hrefs += [value or "" for name, value in attrs if name == "href"]
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)
        if tag == "mark":
            self.marks.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        self.strange.append(f"comment {data}")

    def handle_decl(self, decl: str) -> None:
        self.strange += [] if decl == "doctype html" else [decl]

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            return
        self.texts.append(data)
        if "mark" in self.open:
            self.marks[-1] += data

    @property
    def text(self) -> str:
        """All text, white space as it stands."""
        return "".join(self.texts)


def check_page(source: str) -> ParsedPage:
    """The page, which has our own elements and one script of ours, and loads nothing."""
    page = ParsedPage(source)
    assert page.strange == []
    assert page.scripts == 1
    assert all(target.startswith("#") for target in page.hrefs)
    assert not any((ord(char) < 32 and char not in "\n\t") or 0xD800 <= ord(char) < 0xE000 for char in source)
    assert not any(char in source for char in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069")
    return page
