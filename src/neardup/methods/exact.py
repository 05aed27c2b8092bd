"""Equal texts, and nothing else."""

from __future__ import annotations

from typing import Literal

from neardup.candidates.equal import Equal
from neardup.features.whole import WholeText
from neardup.plan import Plan, View
from neardup.registry import method
from neardup.signatures.whole import SLOTS, WholeDigest
from neardup.text.whole import TextBytes, WholeWords
from neardup.text.words import TokenKind
from neardup.verify.jaccard import SlotAgreement


@method(use="Equal texts and nothing else, at the speed of reading", speed="fast", exact=True)
def exact(*, equal: Literal["words", "bytes"] = "words", tokens: TokenKind = "words") -> Plan:
    """Documents with the same text: the same words in the same order, or the same bytes.

    Each text has a digest of 128 bits, and texts with equal digests are copies. Nothing is compared by degrees: a
    single other word, or with `bytes` a single other blank, makes another text. A bucket of a million copies is a
    million rows, since a pair is written for each copy and the document that it is a copy of.

    Args:
        equal: Compare the words, which leaves out case, punctuation, white space and Unicode composition; or the bytes.
        tokens: The unit of text where words are compared: a word, a string between white space, a character, or a
            token of code.
    """
    return Plan(
        method="exact",
        text=WholeWords(tokens) if equal == "words" else TextBytes(),
        view=View(WholeText(), signature=WholeDigest()),
        candidates=Equal(),
        check=SlotAgreement(SLOTS),
        threshold=1.0,
    )
