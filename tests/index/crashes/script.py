"""Scripted sessions of an index: what is done step by step, and what a sound index says after each of them."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from random_corpora import edited, sentence

from neardup.index import search, state
from neardup.index.index import Index
from neardup.index.segments import folder as segment_folder
from neardup.index.truth import sqlite_file

METHODS: dict[str, dict[str, Any]] = {
    "minhash": {"method": "minhash", "threshold": 0.5},
    "simhash": {"method": "simhash"},  # counts document frequencies
    "spotsigs": {"method": "spotsigs", "threshold": 0.4, "store": "features"},
}
FLUSH = 6  # documents: small segments, so that a short session writes and merges many
FACTOR = 3  # segments that are merged
CHECKPOINT = 24  # pages of the log


@dataclass(frozen=True)
class Step:
    """One call of the index, which is acknowledged when it returns."""

    kind: str  # open, add, add_if_new, delete, compact, refresh, checkpoint
    documents: dict[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What an index says: its documents by id, and its answers to questions."""

    documents: dict[str, tuple[int, ...]]
    answers: frozenset[tuple[Any, ...]]


class OtherCount(AssertionError):
    """An index whose count is not that of its documents."""


class Session:
    """An index that is opened, changed and asked step by step."""

    def __init__(self, folder: Path, method: str) -> None:
        self.folder, self.options, self._index = folder, METHODS[method], None

    @property
    def index(self) -> Index:
        """The open index."""
        if self._index is None:
            self._index = Index(self.folder, threads=1, **self.options)
        return self._index

    def perform(self, step: Step) -> None:
        """Does a step, and waits for what it started in the background."""
        if step.kind == "open":
            self.close()
            _ = self.index
        elif step.kind == "add":
            self.index.add([{"id": name, "text": text} for name, text in step.documents.items()])
        elif step.kind == "add_if_new":
            ((name, text),) = step.documents.items()
            self.index.add_if_new(text, id=name)
        elif step.kind == "delete":
            self.index.delete(list(step.ids))
        elif step.kind == "compact":
            self.index.compact()
        elif step.kind == "refresh":
            self.index.refresh()
        else:
            raise ValueError(step.kind)
        if self._index is not None and self._index._merging is not None:
            self._index._merging.join()

    def facts(self, asked: dict[str, str]) -> Facts:
        """What the index says."""
        with self.index._truth.reading() as snapshot:
            documents = {}
            for rows in snapshot.scan(1, snapshot.last()):
                columns = (rows.low, rows.high, rows.characters, rows.tokens)
                for name, *values in zip(rows.ids, *(column.tolist() for column in columns), strict=True):
                    documents[str(name)] = tuple(values)
            if len(documents) != snapshot.count():
                raise OtherCount(f"{snapshot.count()} documents are counted, {len(documents)} are there")
        found = self.index.query_many([{"id": name, "text": text} for name, text in asked.items()])
        names = ("query", "id", "similarity", "containment", "relation")
        return Facts(documents, frozenset(tuple(row[name] for name in names) for row in found.to_pylist()))

    def close(self) -> None:
        """Closes the index if it is open."""
        if self._index is not None:
            self._index.close()
            self._index = None


@contextmanager
def small_limits() -> Iterator[None]:
    """A small index does what a large one does: writes and merges segments, and copies the log into the file."""
    settings = tuple(
        f"wal_autocheckpoint = {CHECKPOINT}" if "autocheckpoint" in setting else setting
        for setting in sqlite_file.SETTINGS
    )
    places: list[tuple[Any, str, Any]] = [
        (search, "FLUSH", FLUSH),
        (state, "FLUSH", FLUSH),
        (segment_folder, "FACTOR", FACTOR),
        (sqlite_file, "SETTINGS", settings),
    ]
    before = [getattr(module, name) for module, name, _ in places]
    for module, name, value in places:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(places, before, strict=True):
            setattr(module, name, value)


def text_of(rng: random.Random, known: list[str]) -> str:
    """A new text, or a version of a known one."""
    if known and rng.random() < 0.6:
        return edited(rng, rng.choice(known)) + " it is the end"
    return "the harbour is there and a " + sentence(rng, rng.choice((12, 40, 90)))


def random_step(rng: random.Random, model: dict[str, str], number: int) -> Step:
    """A step that fits an index with these documents."""
    known, kind = list(model.values()), rng.random()
    if kind < 0.45 or len(model) < 6:
        names = [f"{number}-{n}" for n in range(rng.randrange(1, 14))]
        if model and rng.random() < 0.5:  # some are replaced
            names += rng.sample(sorted(model), min(len(model), 2))
        return Step("add", {name: text_of(rng, known) for name in names})
    if kind < 0.65:
        return Step("add_if_new", {f"{number}-new": text_of(rng, known)})
    if kind < 0.8:
        return Step("delete", ids=(*rng.sample(sorted(model), rng.randrange(1, 5)), "unknown"))
    if kind < 0.9:
        return Step("compact")
    return Step("open")


def after(model: dict[str, str], step: Step, stored: set[str]) -> dict[str, str]:
    """The texts after a step that left these ids in the index."""
    return {name: text for name, text in {**model, **step.documents}.items() if name in stored}


@dataclass(frozen=True)
class Script:
    """Steps of a session, questions, and what a sound index says after 0, 1, 2, … steps."""

    method: str
    steps: tuple[Step, ...]
    asked: dict[str, str]
    facts: tuple[Facts, ...]

    @staticmethod
    def made(method: str, seed: int, length: int) -> Script:
        """A random script; every kind of step is in it."""
        rng = random.Random(f"{method} {seed}")
        steps, model = [Step("open")], dict[str, str]()
        asked = {f"asked {n}": text_of(rng, []) for n in range(2)}
        with scratch_folder() as folder, small_limits():
            session = Session(folder / "sound.index", method)
            session.perform(steps[0])
            found = [Facts({}, frozenset()), session.facts(asked)]
            while len(steps) < length:
                step = random_step(rng, model, len(steps))
                if len(steps) in (length // 2, length - 2):
                    step = Step("compact")
                elif len(steps) == length - 6 and method == "simhash":
                    step = Step("refresh")
                session.perform(step)
                steps.append(step)
                found.append(session.facts(asked))
                model = after(model, step, set(found[-1].documents))
                if len(asked) < 8:
                    asked[f"asked {len(asked)}"] = text_of(rng, list(model.values()))
            session.close()
        return Script(method, tuple(steps), asked, ()).with_facts()

    def with_facts(self) -> Script:
        """The script with what a sound index says to all questions."""
        with scratch_folder() as folder, small_limits():
            session = Session(folder / "sound.index", self.method)
            found = [Facts({}, frozenset())]
            for step in self.steps:
                session.perform(step)
                found.append(session.facts(self.asked))
            session.close()
        return Script(self.method, self.steps, self.asked, tuple(found))

    def texts(self, steps: int) -> dict[str, str]:
        """The texts of the index after so many steps."""
        model: dict[str, str] = {}
        for number, step in enumerate(self.steps[:steps]):
            model = after(model, step, set(self.facts[number + 1].documents))
        return model


def memory_folder() -> str | None:
    """A folder in memory, where a sync costs nothing; None: the usual folder for temporary files."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="neardup-", dir=memory_folder())).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
