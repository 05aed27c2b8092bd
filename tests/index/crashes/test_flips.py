"""Flipped bits in every file of an index: derived ones change no answer, and damage of the truth is named."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashes.checks import Violation
from crashes.script import Facts, OtherCount, Session, Step, scratch_folder, small_limits, text_of
from neardup.errors import NeardupError
from neardup.index.truth.sqlite import SqliteTruth

PARTS = 8


class SmallIndex:
    """An index with a segment, deleted documents, and a log that is not copied into the file yet."""

    def __init__(self, folder: Path) -> None:
        rng, model = random.Random(5), list[str]()
        self.folder, self.asked = folder / "news.index", {f"asked {n}": text_of(rng, []) for n in range(2)}
        if not (child := os.fork()):  # which is killed, so that the log stays
            session = Session(self.folder, "minhash")
            for number in range(5):
                texts = {f"{number}-{n}": text_of(rng, model) for n in range(7 if number < 2 else 2)}
                model += texts.values()
                session.perform(Step("add", texts))
            session.perform(Step("delete", ids=("0-1", "3-0")))
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        for number in range(5):  # the same texts
            texts = {f"{number}-{n}": text_of(rng, model) for n in range(7 if number < 2 else 2)}
            model += texts.values()
        self.asked |= {f"asked {n}": text for n, text in enumerate(model[::3], 2)}
        self.files = files(self.folder)
        self.facts = self.said()
        self.closed_files = files(self.folder)  # the log was copied

    def said(self) -> Facts:
        """What the index says."""
        session = Session(self.folder, "minhash")
        session.options = {}
        try:
            return session.facts(self.asked)
        finally:
            session.close()

    def flipped(self, files: dict[Path, bytes], name: Path, place: int, bits: int) -> None:
        """Lays the index out with changed bits in one byte."""
        shutil.rmtree(self.folder)
        for other, data in files.items():
            (self.folder / other).parent.mkdir(exist_ok=True, parents=True)
            if other == name:
                data = data[:place] + bytes([data[place] ^ bits]) + data[place + 1 :]
            (self.folder / other).write_bytes(data)


def files(folder: Path) -> dict[Path, bytes]:
    """The files of an index but for shared memory."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm"))
    return {path.relative_to(folder): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def small() -> Iterator[SmallIndex]:
    with scratch_folder() as folder, small_limits():
        yield SmallIndex(folder)


def flip_derived(small: SmallIndex, part: int, parts: int) -> int:
    """Flips every so many-th byte of segments, manifest and locks; the number of flips."""
    rng, places = random.Random(part), list[tuple[Path, int]]()
    for name, data in small.files.items():
        if "truth.db" not in name.name:
            places += [(name, place) for place in range(len(data))]
    assert {name.suffix for name, _ in places} >= {".segment", ".json"}
    for number, (name, place) in enumerate(places[part::parts]):
        small.flipped(small.files, name, place, rng.choice((1 << rng.randrange(8), 255)))
        session = Session(small.folder, "minhash")
        try:
            if number % 4 == 0:
                session.perform(Step("compact"))
            if session.facts(small.asked) != small.facts:
                raise Violation(f"byte {place} of {name} changes an answer")
            if number % 4 == 1 and session.index.verify().truth:
                raise Violation(f"byte {place} of {name} is taken for damage of the truth")
        except NeardupError as error:
            raise Violation(f"byte {place} of {name}: {error}") from error
        finally:
            session.close()
    return len(places[part::parts])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_flipped_byte_of_a_derived_file_changes_an_answer(small: SmallIndex, part: int) -> None:
    assert flip_derived(small, part, PARTS) > 100


def test_some_flipped_bytes_of_derived_files_change_no_answer(small: SmallIndex) -> None:
    assert flip_derived(small, 0, 97) > 40


def flip_truth(small: SmallIndex, seed: int, flips: int, kind: str) -> tuple[int, int]:
    """Flips bits of the database or its log: how often the damage was named, and how often it changed nothing."""
    rng, named, harmless = random.Random(seed), 0, 0
    files = small.closed_files if kind == "closed" else small.files
    name = Path("truth.db" if kind == "closed" else kind)
    for _ in range(flips):
        place = rng.randrange(len(files[name]) if rng.random() < 0.9 else 200)
        small.flipped(files, name, place, rng.choice((1 << rng.randrange(8), 255)))
        truth = SqliteTruth(small.folder, checked=False)
        damage = truth.check()
        saved = {str(name) for rows in truth.salvage() for name in rows.ids}
        truth.close()
        try:
            said = small.said()
        except (NeardupError, OtherCount):
            said = None
        if not saved <= set(small.facts.documents) | {"0-1", "3-0"}:
            raise Violation(f"byte {place} of {name}: {saved} were never stored")
        if not damage and (said != small.facts or saved != set(small.facts.documents)):
            raise Violation(f"byte {place} of {name} changes an answer, and nothing is named")
        named, harmless = named + bool(damage), harmless + (said == small.facts)
    return named, harmless


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", ["truth.db", "truth.db-wal", "closed"])
def test_damage_of_the_truth_is_named_or_changes_nothing(small: SmallIndex, kind: str, part: int) -> None:
    named, harmless = flip_truth(small, part, 250, kind)
    assert named > 0 and harmless > 0


@pytest.mark.parametrize("kind", ["truth.db", "truth.db-wal", "closed"])
def test_some_damage_of_the_truth_is_named_or_changes_nothing(small: SmallIndex, kind: str) -> None:
    named, harmless = flip_truth(small, -1, 40, kind)
    assert named > 0 and harmless > 0
