"""Which phrases a run took for common: how many, and the most common ones as they stand in the texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.columns import Hashes
from neardup.engines.core.represent import portions
from neardup.engines.local.read import Corpus
from neardup.plan import Plan, stage_json
from neardup.weights.phrases import PhraseWeight

SHOWN = 20
LOOKED_AT = 2000  # documents in which the text of a common phrase is looked for


def common_phrases(plan: Plan, corpus: Corpus) -> dict[str, Any] | None:
    """For the report: the limit, the number of phrases above it, and the most common ones; None for other plans."""
    weight = next((one for one in plan.view.weights if isinstance(one, PhraseWeight)), None)
    if weight is None or corpus.statistics is None:
        return None
    table = corpus.statistics.table(stage_json(weight.phrases))
    limit = weight.limit(corpus.statistics)
    above = np.flatnonzero(table.counts > limit)
    top = above[np.lexsort((table.keys[above], -table.counts[above]))[: 10 * SHOWN]]
    texts = _texts(plan, corpus, weight, table.keys[top])
    counts = zip(table.keys[top].tolist(), table.counts[top].tolist(), strict=True)
    shown = [{"documents": count, "phrase": texts[key]} for key, count in counts if key in texts]
    return {
        "above": limit,
        "of": corpus.statistics.documents,
        "counted_once": "statistics " + plan.statistics if plan.statistics else plan.df_unit,
        "phrases": len(above),
        "most_common": shown[:SHOWN],
    }


def _texts(plan: Plan, corpus: Corpus, weight: PhraseWeight, keys: Hashes) -> dict[int, str]:
    """The phrases as they stand in a document; what is common is in the first documents, or not shown."""
    found: dict[int, str] = {}
    numbers = np.arange(min(len(corpus), LOOKED_AT))
    for some in portions(corpus.spool, numbers):
        if len(found) >= len(keys):
            break
        texts = corpus.spool.read(some)
        tokens = plan.text(texts)
        phrases = weight.phrases(tokens)
        for place in np.flatnonzero(np.isin(phrases.hashes, keys)).tolist():
            key = int(phrases.hashes[place])
            if key not in found:
                document = int(np.searchsorted(phrases.offsets, place, "right")) - 1
                first = int(tokens.offsets[document]) + place - int(phrases.offsets[document])
                text = texts.document(document)
                found[key] = _words(text, tokens.positions, first, int(tokens.offsets[document + 1]), weight)
    return found


def _words(text: bytes, positions: Any, first: int, end: int, weight: PhraseWeight) -> str:
    """The text from a token on, as far as the phrase goes; what follows its last word is cut off."""
    stop = first + weight.phrases.width
    last = int(positions[stop]) if stop < end else len(text)
    words = " ".join(text[int(positions[first]) : last].decode("utf-8", "replace").split())
    return words[:200].rstrip(" .,;:!?|-–—«»\"'()[]")
