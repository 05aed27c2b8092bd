"""Small collections for the tests of whole runs, and their results in a form that can be compared."""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import neardup
import neardup.documents
import neardup.engines.core
import neardup.engines.local
from neardup.engines.local import checkpoint
from sentences import story

# With so many bands of one row a pair of similarity s is missed with probability (1 − s)^48: 4e-8 at 0.3.
CERTAIN: dict[str, Any] = {"bands": 48, "rows": 1}

# A run of the whole pipeline takes 10 ms, so that a property of it is tried on fewer examples than usual.
SOME = settings(max_examples=max(settings().max_examples // 3, 20))

SPECIAL = [
    "",
    " ",
    "\n\t\u2028",
    "word",
    "word",
    "Word",
    "other",
    "caf\u00e9 au lait with much sugar and no milk at all please",
    "cafe\u0301 au lait with much sugar and no milk at all please",
    "東京都は日本の首都であり、世界最大の都市の一つである。",
    "東京都は日本の首都であり、世界最大の都市の一つだ。",
    "مرحبا بالعالم هذا نص قصير جدا من اليمين إلى اليسار",
    "one two three four five 🙂",
    "one two three four five 🙁",
    "\x00 nul and \ufeff mark and \ufffd what came of a lone surrogate",
]


def edited(source: random.Random, text: list[str]) -> list[str]:
    """The text with a few words changed, and perhaps its beginning or end missing; or with a word of its own
    more, or in capitals, which leaves everything that some method compares as it was."""
    text, kind = list(text), source.randrange(4)
    if kind == 0:
        return [word.upper() for word in text]
    if kind == 1:
        return [*text, f"x{source.randrange(10**6)}"]
    for _ in range(source.randrange(4)):
        text[source.randrange(len(text))] = f"x{source.randrange(10**6)}"
    cut = source.randrange(4)
    return text[cut:] if source.random() < 0.5 else text[: len(text) - cut]


def corpus(seed: int = 1, families: int = 60) -> pa.Table:
    """Families of texts (copies, edits, edits of edits), texts alone, and special ones, in a random order."""
    source = random.Random(seed)
    texts = list(SPECIAL)
    for _ in range(families):
        family = [story(source, source.randrange(2, 12)).split()]
        for _ in range(source.choice([0, 0, 1, 2, 9])):
            family.append(edited(source, source.choice(family)))
        texts += [" ".join(text) for text in family]
        texts += [source.choice(texts)] * source.choice([0, 0, 0, 1, 3])
    source.shuffle(texts)
    ids = [f"d{k:04}" for k in source.sample(range(10_000), len(texts))]
    return pa.table({"id": ids, "text": texts})


def versions(number: int, seed: int) -> list[str]:
    """Texts that drift: each one changes a few words of the one before."""
    source = random.Random(seed)
    words = [f"w{k}" for k in range(60)]
    texts = []
    for step in range(number):
        words = list(words)
        words[source.randrange(len(words))] = f"n{step}"
        texts.append(" ".join(words))
    return texts


# A few words, so that texts of one to twelve of them are often similar, and often equal.
short_texts = st.lists(st.sampled_from("a b c d e f".split()), max_size=12).map(" ".join)
collections = st.lists(short_texts, min_size=1, max_size=24)
thresholds = st.sampled_from(["0.3", "0.5", "0.6", "0.7", "0.75", "0.9", "1.0"])


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a table, sorted, so that two tables can be compared whatever their order."""
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def facts(result: neardup.Result) -> dict[str, Any]:
    """Everything that a run found and decided, by id, whatever the order of the input."""
    return {
        "plan": result.plan.digest,
        "pairs": rows(result.pairs),
        "clusters": rows(result.clusters),
        "kept": sorted(result.kept["id"].to_pylist()),
        "removed": sorted(result.removed["id"].to_pylist()),
    }


def set_constants(monkeypatch: pytest.MonkeyPatch, **values: int) -> None:
    """Give constants of neardup another value in every module that knows them by name."""
    packages = (neardup.documents, neardup.engines.core, neardup.engines.local, checkpoint)
    for package in packages:  # a module loaded later would keep the value for good
        for found in iter_modules(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    loaded = [module for name, module in sys.modules.items() if name.startswith("neardup.")]
    for name, value in values.items():
        known = [module for module in loaded if name in vars(module)]
        assert known, f"neardup has no constant {name} any more"
        for module in known:
            monkeypatch.setattr(module, name, value)


def bridged(groups: int = 12) -> list[str]:
    """Groups that average linkage joins although the longest text of each shares nothing with the shortest."""
    found = []
    for k in range(groups):
        words = [f"g{k}w{j}" for j in range(30)]
        found += [" ".join([*words[:15], *(f"{k}a{j}".ljust(40, "z") for j in range(5))])]
        found += [" ".join([*words, f"own{k}x{j}"]) for j in range(5)]
        found += [" ".join([*words[15:], *(f"{k}c{j}" for j in range(6))])]
    return found
