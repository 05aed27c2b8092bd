"""10,000 hostile inputs for readers, pages, models and state, 100,000 in `make test-all`; `make fuzz-release` tries
1,000,000 for each target.

A fifth come from Hypothesis, which shrinks what fails to its smallest form; the others are accidents of the corpus.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from fuzzing import mutate, targets

EXAMPLES = 2_000 // len(targets.TARGETS) + 1  # of Hypothesis
ACCIDENTS = 8_000 // len(targets.TARGETS) + 1
MORE = 10_000 // (2 * len(targets.TARGETS)) + 1  # of Hypothesis, marked slow; 20 times as many accidents

token = st.sampled_from(mutate.TOKENS)
words = st.sampled_from(
    [b'{"id": "', b'", "text": "', b'"}\n', b"id,text\n", b"a,", b"From x\n\n", b"Subject: s\n\n", b"<b>"]
)
anything = st.one_of(
    token, words, st.binary(max_size=20), st.text(max_size=10).map(lambda s: s.encode("utf-8", "replace"))
)
hostile = st.lists(anything, max_size=12).map(b"".join)


@pytest.fixture(autouse=True)
def arrow_as_it_was(monkeypatch):
    """The targets keep files in memory by way of pyarrow.OSFile."""
    import pyarrow as pa

    monkeypatch.setattr(pa, "OSFile", pa.OSFile)


@pytest.mark.parametrize("examples", [EXAMPLES, pytest.param(MORE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", targets.TARGETS)
def test_what_hypothesis_thinks_of(target, examples):
    @settings(max_examples=max(examples, int(os.environ.get("NEARDUP_EXAMPLES", "0"))))
    @given(hostile)
    def try_it(data):
        targets.run(target, data)

    try_it()


def accidents(target: str, inputs: range) -> None:
    seeds = targets.corpus(target)
    for number in inputs:
        data = mutate.mutated(seeds, Random(number))
        try:
            targets.run(target, data)
        except Exception as error:
            error.add_note(f"input {number} of {target}: {data[:200]!r}")
            raise


@pytest.mark.parametrize("target", targets.TARGETS)
def test_accidents_of_the_corpus(target):
    accidents(target, range(ACCIDENTS))


@pytest.mark.slow
@pytest.mark.parametrize("target", targets.TARGETS)
def test_more_accidents_of_the_corpus(target):
    accidents(target, range(ACCIDENTS, 20 * MORE))


@pytest.mark.parametrize("target", targets.TARGETS)
def test_the_corpus_is_there_and_small(target):
    folder = Path(targets.__file__).parent / "corpus" / target
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert sizes and max(sizes) <= 6000
    for data in targets.corpus(target):
        targets.run(target, data)


def test_a_target_that_fails_is_noticed(monkeypatch):
    """The net has to have a bottom."""

    def broken(data: bytes) -> None:
        raise ValueError("a bug")

    monkeypatch.setitem(targets.TARGETS, "jsonl", broken)
    with pytest.raises(ValueError, match="a bug"):
        accidents("jsonl", range(1))
