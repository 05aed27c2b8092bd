"""Repeated passages as tables: passages, their places, spans of repeated text, and who copies from whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.columns import Numbers
from neardup.engines.local.passages.positions import whole_text
from neardup.engines.local.passages.run import Passages, Spans
from neardup.engines.local.read import Corpus
from neardup.engines.local.rewrite import Cuts

EXCERPT = 240  # bytes of a passage that its row shows


class PassageTables:
    """The tables of a corpus and its passages."""

    def __init__(self, corpus: Corpus, passages: Passages) -> None:
        self.corpus, self.found = corpus, passages
        places = passages.places
        self.number = np.unique(places.passage, return_inverse=True)[1] + 1  # by first occurrence
        self.document, self.begin, self.end = self._bytes(places.position, places.ends(passages.width))

    def _bytes(self, begins: Numbers, ends: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The documents of stretches of tokens, and their first bytes and those behind them."""
        pieces, n = self.found.pieces, len(begins)
        first, last = self.found.bytes.find(np.concatenate([begins, ends - 1]))
        documents = pieces.documents_of(begins)
        starts = self.corpus.spool.offsets[documents]
        return documents, first[:n] - starts, last[n:] - starts

    def passages(self) -> pa.Table:
        """One row for each passage: length, occurrences, documents, its first place and how it begins."""
        places, offsets = self.found.places, self.corpus.spool.offsets
        total = int(self.number.max(initial=0))
        occurrences = np.bincount(self.number, places.count, total + 1)[1:].astype(np.int64)
        pairs = np.unique(self.number * (len(self.corpus) + 1) + self.document) // (len(self.corpus) + 1)
        first = np.flatnonzero(places.passage == places.position)
        document, begin = self.document[first], self.begin[first]
        length = places.windows[first] + self.found.width - 1
        ends = offsets[document] + np.minimum(self.end[first], begin + EXCERPT)
        texts = whole_text(self.corpus.spool, offsets[document] + begin, ends)
        excerpts = [texts.document(k).decode("utf-8", "ignore") for k in range(len(texts))]
        columns: dict[str, Any] = {
            "passage": self.number[first],
            "tokens": length,
            "occurrences": occurrences,
            "documents": np.bincount(pairs, minlength=total + 1)[1:],
            "first_document": self._ids(document),
            "begin": begin,
            "text": pa.array(excerpts, pa.string()),
        }
        return pa.table(columns)

    def places(self) -> pa.Table:
        """One row for each place of each passage."""
        places = self.found.places
        columns: dict[str, Any] = {
            "passage": self.number,
            "document": self._ids(self.document),
            "begin": self.begin,
            "end": self.end,
            "tokens": places.ends(self.found.width) - places.position,
            "occurrences": places.count,
            "first": places.passage == places.position,
        }
        order = np.lexsort((places.position, self.number))
        return pa.table(columns).take(pa.array(order))

    def spans(self) -> pa.Table:
        """One row for each stretch of text that occurs more than once, with how much of it stands earlier."""
        spans, later = self.found.repeated, self.found.later
        document, begin, end = self._bytes(spans.begin, spans.end)
        covered = np.concatenate([[0], np.cumsum(later.end - later.begin)])
        low, high = np.searchsorted(later.begin, spans.begin), np.searchsorted(later.begin, spans.end)
        columns: dict[str, Any] = {
            "document": self._ids(document),
            "begin": begin,
            "end": end,
            "tokens": spans.end - spans.begin,
            "stands_earlier": covered[high] - covered[low],
        }
        return pa.table(columns)

    def cut(self, spans: Spans) -> tuple[pa.Table, Cuts]:
        """The record of stretches that are cut out, each with the place of its text that stays; and the cuts."""
        document, begin, end = self._bytes(spans.begin, spans.end)
        sources, source_begin, _ = self._bytes(spans.source, spans.source + 1)
        columns: dict[str, Any] = {
            "document": self._ids(document),
            "begin": begin,
            "end": end,
            "tokens": spans.end - spans.begin,
            "first_document": self._ids(sources),
            "first_begin": source_begin,
        }
        return pa.table(columns), Cuts(document, begin, end)

    def copied(self, column: str) -> pa.Table:
        """How many tokens each source copies from each other one: a token counts once, for its first occurrence."""
        assert self.corpus.values is not None
        begin, end, source = self.found.copied[np.argsort(self.found.copied[:, 0], kind="stable")].T
        reach = np.concatenate([[0], np.maximum.accumulate(end)])[:-1] if len(end) else end
        fresh = np.maximum(begin, reach)
        used = end > fresh
        tokens = (end - fresh)[used]
        pieces = self.found.pieces
        by, of = pieces.documents_of(begin[used]), pieces.documents_of(source[used])
        names = pc.dictionary_encode(self.corpus.values.cast(pa.large_string()).fill_null("(none)"))
        codes, labels = names.indices.to_numpy(), names.dictionary
        own = np.bincount(codes[pieces.document], pieces.tokens, len(labels))
        table = pa.table(
            {
                "by": codes[by],
                "of": codes[of],
                "tokens": tokens,
                "document": by,
            }
        )
        sums = table.group_by(["by", "of"]).aggregate([("tokens", "sum"), ("document", "count_distinct")])
        sums = sums.sort_by([("tokens_sum", "descending"), ("by", "ascending"), ("of", "ascending")])
        taken = sums["by"].to_numpy()
        shown: dict[str, Any] = {
            f"{column}_copies": labels.take(sums["by"].combine_chunks()),
            f"{column}_copied": labels.take(sums["of"].combine_chunks()),
            "tokens": sums["tokens_sum"],
            "documents": sums["document_count_distinct"],
            "share": np.round(sums["tokens_sum"].to_numpy() / np.maximum(own[taken], 1), 6),
        }
        return pa.table(shown)

    def _ids(self, documents: Numbers) -> pa.Array:
        return self.corpus.ids.take(pa.array(documents))
