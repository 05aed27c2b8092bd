"""Maximum subsequence segmentation with learned scores: a page's tokens, their local scores, and the best run.

J. Pasternack and D. Roth, Extracting article text from the web with maximum subsequence segmentation (WWW 2009), which
the study of rare phrases takes its news from. A page is a sequence of words and tags. Naive Bayes gives each token the
probability that it is of the article, by what stands there (the token with the next two) and by the innermost open tag;
features that were never seen say nothing. The run of tokens with the largest sum of scores is the article. The
paper's score of a token is its probability less a half; ours learns what a word, a tag and that probability are worth,
so that the best runs of labelled pages are their articles.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import chain, pairwise
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.text.references import decode_references
from neardup.text.vocabulary import BLOCKS, OPAQUE

WORD = re.compile(r"(?:\A\W*)?(\w+)\W*")  # with what is around a word: for the text
MARKUP = re.compile(
    rf"<!--.*?(?:-->|\Z)|<({'|'.join(OPAQUE)})\b[^>]*>.*?(?:</\1\s*>|\Z)|<(/?)([a-z][a-z0-9]*)[^>]*>|<[!?/][^>]*>",
    re.DOTALL | re.IGNORECASE,
)
DIGITS = re.compile(r"\d")
EMPTY = frozenset("area base br col embed hr img input link meta param source track wbr".split())
APART = frozenset((*BLOCKS, "br", "hr"))  # text before and after them is not one word
REACH = 256  # open tags that are searched for the one that an end tag closes
LEAST_RUN = 4  # words that page and gold text must share in a row
SMOOTHING = 1.0
ALL = "all"  # the feature of every token
EPOCHS, MARGIN = 10, 0.5


@dataclass
class Tokens:
    """The words and tags of a page in order."""

    names: list[str] = field(default_factory=list)  # "<p>", "</p>", or a word in lower case, digits masked
    around: list[str] = field(default_factory=list)  # the innermost open tag
    texts: list[str] = field(default_factory=list)  # what a run of tokens reads like
    is_word: list[bool] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)

    def text(self, start: int, stop: int) -> str:
        """The text of a run of tokens."""
        return "".join(self.texts[start:stop]).strip()

    def add(self, name: str, around: str, text: str, is_word: bool) -> None:
        """Add a token."""
        self.names.append(name)
        self.around.append(around)
        self.texts.append(text)
        self.is_word.append(is_word)


Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
Labelled = tuple[Tokens, Mask]  # a page, and which tokens are of its article


def read_tokens(html: str) -> Tokens:
    """The tokens of a page; scripts, styles and comments have none."""
    found, opened, end = Tokens(), ["page"], 0
    for tag in chain(MARKUP.finditer(html), [None]):
        piece = decode_references(html[end : tag.start() if tag else None])
        for word in WORD.finditer(piece):
            found.add(DIGITS.sub("0", word[1].lower()), opened[-1], word[0], True)
        if found.texts and not piece.strip():
            found.texts[-1] += piece
        if tag and tag[3]:
            name = tag[3].lower()
            found.add(f"<{tag[2]}{name}>", opened[-1], "\n" if name in APART else "", False)
            follow(opened, name, bool(tag[2]))
        end = tag.end() if tag else end
    return found


def follow(opened: list[str], name: str, closes: bool) -> None:
    """Open or close a tag; an end tag closes what is open inside it, too."""
    if closes:
        for depth in range(len(opened) - 1, max(0, len(opened) - REACH), -1):
            if opened[depth] == name:
                del opened[depth:]
                return
    elif name not in EMPTY:
        opened.append(name)


def label_tokens(tokens: Tokens, gold: str) -> Mask:
    """Which tokens are of the article: words in its order, in runs, and the tags between two of them."""
    words = [at for at, is_word in enumerate(tokens.is_word) if is_word]
    said = [tokens.names[at] for at in words]
    expected = [DIGITS.sub("0", word.lower()) for word in WORD.findall(gold)]
    chosen = np.zeros(len(tokens), np.bool_)
    for first, _, length in SequenceMatcher(None, said, expected, autojunk=False).get_matching_blocks():
        if length >= LEAST_RUN:
            chosen[words[first : first + length]] = True
    for before, after in pairwise(words):
        if chosen[before] and chosen[after]:
            chosen[before:after] = True
    return chosen


def features(tokens: Tokens) -> Iterator[tuple[str, ...]]:
    """The features of each token: it with the next two, and the innermost open tag."""
    names = [*tokens.names, "", ""]
    for at, around in enumerate(tokens.around):
        yield f"{names[at]} {names[at + 1]} {names[at + 2]}", f"in {around}"


@dataclass
class NaiveBayes:
    """The local scores: how often each feature is inside and outside of articles."""

    inside: Counter[str] = field(default_factory=Counter)
    outside: Counter[str] = field(default_factory=Counter)

    def learn(self, pages: Iterable[Labelled]) -> NaiveBayes:
        """Count the tokens of labelled pages."""
        for tokens, labels in pages:
            for label, found in zip(labels.tolist(), features(tokens), strict=True):
                (self.inside if label else self.outside).update((*found, ALL))
        return self

    def chances(self, tokens: Tokens) -> Values:
        """The probability that each token is of the article."""
        evidence: dict[str, float] = {}
        odds = np.full(len(tokens), self.evidence(ALL, 1.0))
        for at, found in enumerate(features(tokens)):
            for name in found:
                if name not in evidence:
                    evidence[name] = self.evidence(name, self.inside[ALL] / self.outside[ALL])
                odds[at] += evidence[name]
        return 1 / (1 + np.exp(-odds))

    def evidence(self, feature: str, expected: float) -> float:
        """The logarithm of a feature's odds beside the expected ones; 0 if it was never seen."""
        inside, outside = self.inside[feature], self.outside[feature]
        return log((inside + SMOOTHING) / (outside + SMOOTHING) / expected) if inside + outside else 0.0


class RunScore(NamedTuple):
    """The score of a run: so much for each word, each tag, and each unit of probability above a half."""

    word: float = 0.0
    tag: float = 0.0
    local: float = 1.0

    def best_run(self, tokens: Tokens, chances: Values, bonus: Values | float = 0.0) -> tuple[int, int]:
        """Where the run with the largest sum begins and ends."""
        scores = np.where(tokens.is_word, self.word, self.tag) + self.local * (chances - 0.5) + bonus
        start, stop = kernels.blocks.best_segment(scores)
        return int(start), int(stop)


COUNTED = RunScore(1.0, -3.25, 0.0)  # nothing learned: a tag outweighs three words
LOCAL = RunScore()  # the paper's: what the local scores say, and no more


def learn_run_score(pages: Sequence[Labelled], chances: Sequence[Values]) -> RunScore:
    """Weights by which the best run of each page comes close to its article: an averaged perceptron.

    Each step finds the best run, with a bonus for tokens on the wrong side of the article's ends, and moves the weights
    by what the article has more of. The chances are from pages of other sites.
    """
    weights, total = np.array(COUNTED), np.zeros(3)
    order = np.random.default_rng(1)
    for _ in range(EPOCHS):
        for number in order.permutation(len(pages)).tolist():
            tokens, labels = pages[number]
            inside = np.zeros(len(tokens))
            inside[slice(*ends(labels))] = 1
            words = np.array(tokens.is_word, np.float64)
            found = np.zeros(len(tokens))
            bonus = MARGIN * (1 - 2 * inside) * words
            found[slice(*RunScore(*weights).best_run(tokens, chances[number], bonus))] = 1
            more = inside - found
            weights += np.array([more @ words, more @ (1 - words), more @ (chances[number] - 0.5)]) / max(
                1, words.sum()
            )
            total += weights
    return RunScore(*(total / (EPOCHS * len(pages))).tolist())


def ends(labels: Mask) -> tuple[int, int]:
    """Where the tokens of the article begin and end: the best that any single run can be."""
    found = np.flatnonzero(labels)
    return (int(found[0]), int(found[-1]) + 1) if len(found) else (0, 0)


class Learned(NamedTuple):
    """Local and global scores."""

    bayes: NaiveBayes
    run: RunScore

    def text(self, tokens: Tokens, run: RunScore | None = None) -> str:
        """The text of the best run of a page."""
        return tokens.text(*(run or self.run).best_run(tokens, self.bayes.chances(tokens)))


def learn_scores(pages: Sequence[Labelled], sites: Sequence[str]) -> Learned:
    """Local scores from all pages, and global ones by local scores that were learned from other sites."""
    groups = np.array([fold(site, "second") for site in sites])
    chances: list[Values] = [np.zeros(0)] * len(pages)
    for group in range(2):
        others = NaiveBayes().learn(page for page, own in zip(pages, groups, strict=True) if own != group)
        for number in np.flatnonzero(groups == group).tolist():
            chances[number] = others.chances(pages[number][0])
    return Learned(NaiveBayes().learn(pages), learn_run_score(pages, chances))


def fold(site: str, salt: str = "") -> int:
    """The fold of a site's pages, 0 or 1."""
    return hashlib.sha256((salt + site).encode()).digest()[0] % 2
