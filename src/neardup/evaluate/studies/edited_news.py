"""Reuters news with made edits: words replaced, sentences dropped or moved, other text appended, a notice before."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa

from neardup.evaluate.corpus import Documents
from neardup.evaluate.labels import Truth
from neardup.evaluate.studies.data import DataFolder

REUTERS = "reuters21578"
SOURCES, EDITED = 1_500, 300  # stories, and those of them that have versions
LEAST = 60  # words
ALIKE = (
    0.25  # stories that share more of their 3-word runs with the others are left out: they may be versions
)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
NOTICE = (
    "Copyright Reuters 1987 all rights reserved this material may not be published broadcast rewritten or "
    "redistributed without permission"
)


def edited_news(data: DataFolder, seed: int = 5) -> tuple[Documents, Truth]:
    """Stories of which some have one to three edited versions, and the cluster of each."""
    documents = data.documents(REUTERS)
    rng = random.Random(seed)
    stories = _stories(documents.texts.to_pylist(), rng)
    words = [word for story in stories for word in story.split()[::7]]
    texts, clusters = [], []
    for number, story in enumerate(stories):
        versions = rng.randint(1, 3) if number < EDITED else 0
        texts += [story, *(_edit(story, stories, words, rng) for _ in range(versions))]
        clusters += [number] * (1 + versions)
    ids = pa.array([str(number) for number in range(len(texts))])
    made = replace(
        documents, ids=ids, texts=pa.chunked_array([pa.array(texts, pa.large_string())]), fields={}
    )
    return made, Truth(np.array(clusters), names=tuple(map(str, range(len(stories)))))


def _stories(texts: list[str], rng: random.Random) -> list[str]:
    seen: set[tuple[str, ...]] = set()
    chosen = []
    for text in rng.sample(texts, len(texts)):
        words = text.split()
        runs = set(zip(words, words[1:], words[2:], strict=False))
        if len(words) < LEAST or len(runs & seen) > ALIKE * len(runs):
            continue
        seen |= runs
        chosen.append(text)
        if len(chosen) == SOURCES:
            break
    return chosen


def _edit(story: str, stories: list[str], words: list[str], rng: random.Random) -> str:
    dropped, replaced = rng.choice([0, 0.1, 0.3]), rng.choice([0.02, 0.05, 0.1, 0.2])
    sentences = SENTENCE_END.split(story)
    kept = [sentence for sentence in sentences if rng.random() > dropped] or sentences
    if rng.random() < 0.3:
        rng.shuffle(kept)
    text = [rng.choice(words) if rng.random() < replaced else word for word in " ".join(kept).split()]
    if rng.random() < 0.4:
        text += rng.choice(stories).split()[: rng.randint(10, max(11, len(text) // 2))]
    return " ".join([NOTICE, *text] if rng.random() < 0.3 else text)
