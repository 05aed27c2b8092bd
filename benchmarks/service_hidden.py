"""How much time of an answer hidden documents take: `python benchmarks/service_hidden.py`.

An index of 2,000 documents of 1.5 kB, and so many near-duplicates of the asked text that the caller may not see. CPU
time of an answer without HTTP, in the median; `if_new` stores a document each time, which is deleted again.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import neardup
from neardup.service.changes import Change, store
from neardup.service.models import Document
from neardup.service.questions import Question, answered
from neardup.service.replays import Replays
from neardup.service.tokens import Caller

HIDDEN = (0, 1, 100, 1000)
DOCUMENTS = 2000
WORDS = 230  # of a text: 1.5 kB
REPEATS = 60
CALLER = Caller("staff", frozenset(("read", "write")), frozenset(("staff",)), "staff/")


def text(rng: random.Random) -> str:
    """A text of random words."""
    return " ".join(f"w{rng.randrange(20_000)}" for _ in range(WORDS))


def edited(rng: random.Random, given: str) -> str:
    """The text with a word changed."""
    words = given.split(" ")
    words[rng.randrange(len(words))] = f"changed{rng.randrange(10**9)}"
    return " ".join(words)


def filled(folder: Path, hidden: int, asked: str) -> neardup.Index:
    """An index whose near-duplicates of the text are hidden."""
    rng = random.Random(hidden)
    documents = [Document(id=n, text=text(rng)) for n in range(DOCUMENTS)]
    documents += [Document(id=f"h{n}", text=edited(rng, asked), access=["board"]) for n in range(hidden)]
    index = neardup.Index(folder, method="minhash", threshold=0.7)
    for start in range(0, len(documents), 500):
        store(index, [Change(Caller(), documents[start : start + 500])], Replays())
    index.compact()
    return index


def milliseconds(work: Callable[[int], Any], after: Callable[[int], Any] = lambda n: None) -> float:
    """The median of the CPU time of all threads."""
    times = []
    for n in range(REPEATS):
        begin = time.process_time()
        work(n)
        times.append(1000 * (time.process_time() - begin))
        after(n)
    return statistics.median(times[REPEATS // 6 :])  # the first ones warm caches


def measure(hidden: int, folder: Path) -> tuple[float, float]:
    """CPU milliseconds of a question and of an addition if new."""
    asked = text(random.Random(7))
    with filled(folder / str(hidden), hidden, asked) as index:
        questions = [Question("query", [Document(text=asked)], CALLER)]

        def add(n: int) -> None:
            document = Document(id=f"staff/{n}", text=asked)
            (result,) = store(index, [Change(CALLER, [document], if_new=True)], Replays())
            assert isinstance(result, list) and result[0]["status"] == "new", result

        return (
            milliseconds(lambda n: answered(index, questions)),
            milliseconds(add, lambda n: index.delete(f"staff/{n}")),
        )


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        print("hidden near-duplicates   query ms   if_new ms")
        for hidden in HIDDEN:
            query, if_new = measure(hidden, Path(folder))
            print(f"{hidden:22,}   {query:8.2f}   {if_new:9.2f}")


if __name__ == "__main__":
    main()
