"""The phrases that a run took for common: how many, and the most common ones as they stand in the texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Hashes, Texts
from neardup.plan import Feature, Plan, stage_json
from neardup.statistics import Statistics

SHOWN = 20
SEARCHED = 2000  # documents in which the text of a common phrase is searched


def common_phrases(
    plan: Plan, statistics: Statistics | None, texts: Iterable[Texts]
) -> dict[str, Any] | None:
    """For the report: the limit, the number of phrases above it, and the most common; None if a plan has no limit."""
    weight = plan.view.corpus_aware
    if weight is None or statistics is None:
        return None
    stage, limit = weight.common_above_limit(statistics)
    table = statistics.table(stage_json(stage))
    above = np.flatnonzero(table.counts > limit)
    top = above[np.lexsort((table.keys[above], -table.counts[above]))[: 10 * SHOWN]]
    found = _as_written(plan, stage, texts, table.keys[top])
    counts = zip(table.keys[top].tolist(), table.counts[top].tolist(), strict=True)
    shown = [{"documents": count, "phrase": found[key]} for key, count in counts if key in found]
    return {
        "above": limit,
        "of": statistics.documents,
        "df_unit": f"statistics {plan.statistics}" if plan.statistics else plan.df_unit,
        "phrases": len(above),
        "most_common": shown[:SHOWN],
    }


def _as_written(plan: Plan, stage: Feature, parts: Iterable[Texts], keys: Hashes) -> dict[int, str]:
    """Phrases as they stand in a document; what is common is in the first documents, or not shown."""
    found: dict[int, str] = {}
    for texts in parts:
        if len(found) >= len(keys):
            break
        tokens = plan.text(texts)
        phrases = stage(tokens)
        for place in np.flatnonzero(np.isin(phrases.hashes, keys)).tolist():
            key = int(phrases.hashes[place])
            if key not in found:
                document = int(np.searchsorted(phrases.offsets, place, "right")) - 1
                first = int(tokens.offsets[document]) + place - int(phrases.offsets[document])
                ends = tokens.positions[first : int(tokens.offsets[document + 1])]
                found[key] = _words(texts.document(document), ends, getattr(stage, "width", 1))
    return found


def _words(text: bytes, positions: NDArray[np.uint32], width: int) -> str:
    """The text from a token on, as far as the phrase goes; what follows its last word is cut off."""
    last = int(positions[width]) if width < len(positions) else len(text)
    words = " ".join(text[int(positions[0]) : last].decode("utf-8", "replace").split())
    return words[:200].rstrip(" .,;:!?|-–—«»\"'()[]")
