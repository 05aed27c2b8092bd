"""Short notices and source code with made versions: kinds of data of which no labelled collection is public."""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.evaluate.corpus import Documents
from neardup.evaluate.labels import Truth
from neardup.evaluate.studies.data import DataFolder
from neardup.evaluate.studies.edited_news import REUTERS

SOURCES, EDITED = 1_500, 300  # texts, and those of them that have versions
NOTICE = (10, 30)  # words
FUNCTION = (12, 80)  # lines
RUN = 4  # words of one run
ALIKE = 0.25  # texts that share more of their runs with the others are left out: they may be versions
WORD = re.compile(r"\w+|[^\w\s]")

Edit = Callable[[str, random.Random], str]


def short_notices(data: DataFolder, seed: int = 6) -> tuple[Documents, Truth]:
    """First sentences of news, some with versions: words replaced, left out or added, a heading before."""
    texts = [" ".join(text.split()) for text in data.documents(REUTERS).texts.to_pylist()]
    first = [re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0] for text in texts]
    return _collection(
        [text for text in first if NOTICE[0] <= len(text.split()) <= NOTICE[1]], edit_notice, seed
    )


def python_functions(seed: int = 7) -> tuple[Documents, Truth]:
    """Functions of Python's own library, some with versions: names changed, lines added, comments left out."""
    return _collection(list(_functions()), edit_code, seed)


def _functions() -> Iterator[str]:
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                part = lines[node.lineno - 1 : node.end_lineno]
                if FUNCTION[0] <= len(part) <= FUNCTION[1]:
                    yield "\n".join(part)


def edit_notice(text: str, rng: random.Random) -> str:
    """One to three words replaced, left out or added; at times a heading before, or the end cut."""
    words = text.split()
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(words))
        words[place : place + rng.randint(0, 1)] = rng.choice(
            ([], ["also"], [words[rng.randrange(len(words))]])
        )
    if rng.random() < 0.2:
        words = words[: -rng.randint(1, max(1, len(words) // 5))]
    return " ".join(["UPDATE", str(rng.randint(2, 5)), "-", *words] if rng.random() < 0.2 else words)


def edit_code(text: str, rng: random.Random) -> str:
    """One or two names changed everywhere; at times comments left out, lines added or indented anew."""
    names = sorted({name for name in re.findall(r"\b[a-z_]\w{2,}\b", text) if text.count(name) > 1})
    for name in rng.sample(names, min(len(names), rng.randint(1, 2))):
        text = re.sub(rf"\b{name}\b", f"{name}_{rng.choice('abcxyz')}", text)
    lines = text.splitlines()
    if rng.random() < 0.3:
        lines = [line for line in lines if not line.strip().startswith("#")]
    for _ in range(rng.randint(0, 3)):
        place = rng.randrange(1, len(lines))
        indent = re.match(r"\s*", lines[place])
        lines.insert(place, f"{indent[0] if indent else ''}{rng.choice(('log', 'check', 'count'))}({place})")
    return "\n".join(line.replace("    ", "\t") if rng.random() < 0.1 else line for line in lines)


def _collection(texts: Sequence[str], edit: Edit, seed: int) -> tuple[Documents, Truth]:
    rng = random.Random(seed)
    chosen = _unlike(rng.sample(list(texts), len(texts)))
    made, clusters = [], []
    for number, text in enumerate(chosen):
        versions = rng.randint(1, 3) if number < EDITED else 0
        made += [text, *(edit(text, rng) for _ in range(versions))]
        clusters += [number] * (1 + versions)
    ids = pa.array([str(number) for number in range(len(made))])
    documents = Documents(ids, pa.chunked_array([pa.array(made, pa.large_string())]))
    return documents, Truth(np.array(clusters), names=tuple(map(str, range(len(chosen)))))


def _unlike(texts: Sequence[str]) -> list[str]:
    """Texts that share few runs of words with those before."""
    known: set[tuple[str, ...]] = set()
    chosen: list[str] = []
    for text in texts:
        words = WORD.findall(text.lower())
        runs = {tuple(words[k : k + RUN]) for k in range(len(words) - RUN + 1)}
        if runs and len(runs & known) <= ALIKE * len(runs):
            chosen.append(text)
        known |= runs
        if len(chosen) == SOURCES:
            break
    return chosen
