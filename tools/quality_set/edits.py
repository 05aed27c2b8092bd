"""What editors, agencies and careless typists do to a story; each edit keeps it the same story."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

from quality_set.material import Story
from quality_set.words import CREDITS, REPLACEMENTS, TRUNCATIONS

Edit = Callable[[Story, Random], Story]
LEAST = 5  # sentences that remain when others are dropped
_PHRASES = sorted(REPLACEMENTS, key=len, reverse=True)
_ANY_PHRASE = re.compile(r"\b(?:" + "|".join(_PHRASES) + r")\b", re.IGNORECASE)


def drop(story: Story, random: Random) -> Story:
    """Without one to three sentences, never the first; what is left is still the story."""
    places = [(p, s) for p, part in enumerate(story.paragraphs) for s in range(len(part))][1:]
    gone = set(random.sample(places, max(0, min(len(places) + 1 - LEAST, random.randint(1, 3)))))
    kept = [
        tuple(line for s, line in enumerate(part) if (p, s) not in gone)
        for p, part in enumerate(story.paragraphs)
    ]
    return story.with_paragraphs(kept)


def reorder(story: Story, random: Random) -> Story:
    """The paragraphs below the first in another order."""
    rest = list(story.paragraphs[1:])
    random.shuffle(rest)
    return story.with_paragraphs([story.paragraphs[0], *rest])


def _in_sentences(story: Story, change: Callable[[str], str]) -> Story:
    return story.with_paragraphs([tuple(map(change, part)) for part in story.paragraphs])


def reword(story: Story, random: Random) -> Story:
    """Most of the words that have a twin replaced by it."""

    def other(found: re.Match[str]) -> str:
        if random.random() < 0.25:
            return found[0]
        key = next(key for key in _PHRASES if re.fullmatch(key.partition("(?=")[0], found[0], re.IGNORECASE))
        word = REPLACEMENTS[key]
        return word[0].upper() + word[1:] if found[0][0].isupper() else word

    return _in_sentences(story, lambda sentence: _ANY_PHRASE.sub(other, sentence))


def mistype(story: Story, random: Random) -> Story:
    """Two letters exchanged in every twelfth word or so."""

    def slip(found: re.Match[str]) -> str:
        word = found[0]
        if random.random() > 0.08:
            return word
        at = random.randint(1, len(word) - 3)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]

    return _in_sentences(story, lambda sentence: re.sub(r"[a-z]{5,}", slip, sentence))


def correct(story: Story, random: Random) -> Story:
    """Some figures a little different, as in a later version."""

    def figure(found: re.Match[str]) -> str:
        number = found[0]
        if len(number) == 4 or random.random() < 0.4:  # years stay
            return number
        return str(max(1, int(number) + random.choice((-2, -1, 1, 2))))

    return _in_sentences(story, lambda sentence: re.sub(r"(?<![\d.,])\d+(?![\d.,]\d)", figure, sentence))


def truncate(story: Story, random: Random) -> Story:
    """The first half, with a line that says where the rest is."""
    sentences = [line for part in story.paragraphs for line in part]
    kept = max(2, round(len(sentences) * random.uniform(0.4, 0.65)))
    return story.with_paragraphs([tuple(sentences[:kept]), (random.choice(TRUNCATIONS),)])


def extend(story: Story, random: Random) -> Story:
    """With the paragraph that only the longer version has."""
    return story.with_paragraphs([*story.paragraphs, story.more])


def agency(story: Story, random: Random) -> Story:
    """With the agency's dateline and credit, in one paragraph after the first."""
    place = random.choice(("WEXMOOR", "LEYDEN BAY", "CALDER"))
    first, *rest = story.paragraphs[0]
    body = tuple(line for part in story.paragraphs[1:] for line in part)
    credit = (random.choice(CREDITS),)
    return story.with_paragraphs([(f"{place} (nw) – {first}", *rest), body, credit])


def retitle(story: Story, random: Random) -> Story:
    """Under another headline."""
    return replace(story, headlines=story.headlines[::-1])


# What may follow each other: the kinds of versions that a story appears in.
RECIPES: tuple[tuple[Edit, ...], ...] = (
    (),
    (drop, agency),
    (reword, retitle),
    (mistype, drop),
    (correct, extend, retitle),
    (truncate, retitle),
    (reword, reorder, correct),
    (extend, reorder),
    (drop, drop, reword, retitle),
    (truncate, agency, mistype),
)
TRANSLATED_RECIPES: tuple[tuple[Edit, ...], ...] = (
    (),
    (drop, retitle),
    (correct, extend),
    (truncate,),
    (reorder, drop),
)
