"""Texts that every method has something to say about: articles and verbs, so that spot signatures exist."""

from __future__ import annotations

import random

# A vocabulary that is large enough for unrelated texts to share hardly a shingle, and small enough for its words
# to occur in several of them.
WORDS = 400
PATTERNS = [
    "The {} {} of the {} was {} by a {} {} .",
    "{} {} can {} the {} {} , and a {} will have {} it .",
    "A {} {} is {} {} where the {} {} does {} .",
    "It had been {} {} to {} an {} {} before the {} {} .",
]


def sentence(source: random.Random, words: int = WORDS) -> str:
    """A sentence of a random vocabulary in English clothes."""
    pattern = source.choice(PATTERNS)
    return pattern.format(*(f"w{source.randrange(words)}" for _ in range(pattern.count("{}")))).replace(
        " .", "."
    )


def story(source: random.Random, sentences: int, words: int = WORDS) -> str:
    """Several sentences."""
    return " ".join(sentence(source, words) for _ in range(sentences))


def overlapping(source: random.Random, documents: int) -> list[str]:
    """Stories of which any two share one sentence, so that every sentence is in two of them and no two are alike."""
    shared = {(a, b): sentence(source, 10**6) for a in range(documents) for b in range(a)}
    return [" ".join(text for pair, text in shared.items() if number in pair) for number in range(documents)]
