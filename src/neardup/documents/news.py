"""News agencies' files: NITF, NewsML and Reuters' newsitem in XML, and Reuters-21578 in SGML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from neardup.documents.blocks import Bytes
from neardup.documents.limits import LIMITS, Limits
from neardup.documents.news_sgml import is_sgml, sgml_articles
from neardup.documents.news_xml import BrokenNews, xml_articles
from neardup.documents.problems import Problems
from neardup.documents.source import Batches, StringColumns, string_batches
from neardup.documents.textfiles import file_bytes
from neardup.documents.values import clean


@dataclass(frozen=True)
class NewsSource(StringColumns):
    """All news files of a run, each with one article or several; `files` are pairs of a path and its name in reports.

    The id of an article is the agency's; without one, or with one that occurred before, it is `path:number`.
    """

    name: str
    files: tuple[tuple[str, str], ...]
    format: str = "news"
    compression: str | None = None
    rows: int | None = None
    limits: Limits = LIMITS
    column_names = ("id", "title", "date", "topics", "text", "path")

    @cached_property
    def size(self) -> int | None:
        """The bytes of all files."""
        return sum(Bytes(path, path).stored_bytes() for path, _ in self.files)

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """Batches of articles; a file that cannot be parsed is reported."""
        return string_batches(self, self._rows(problems), "text", columns)

    def _rows(self, problems: Problems) -> Iterator[dict[str, Any]]:
        ids: set[str] = set()
        total = 0
        for path, known_as in self.files:
            data = file_bytes(path, known_as, self.limits, problems)
            for within, article in enumerate(self._articles(data, known_as, problems), start=1):
                total += 1
                fields = {name: clean(value) for name, value in article.items()}
                if not fields["id"] or fields["id"] in ids:
                    fields["id"] = f"{known_as}:{within}"
                ids.add(fields["id"])
                yield fields | {"path": clean(known_as), "number": total}

    def _articles(self, data: bytes | None, known_as: str, problems: Problems) -> Iterator[dict[str, str]]:
        """The articles of a file up to the first damage, which is reported."""
        if data is None:
            return
        found = 0
        try:
            for article in sgml_articles(data) if is_sgml(data) else xml_articles(data):
                found += 1
                yield article
        except BrokenNews as error:
            action = "rest of the file skipped" if found else "file skipped"
            problems.add(known_as, f"broken news: {error}", record=found + 1, action=action)
            return
        if not found:
            problems.add(known_as, "broken news: no article in it", action="file skipped")
