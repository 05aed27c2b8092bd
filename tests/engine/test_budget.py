"""A small budget changes where things wait, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from test_battery import facts

import neardup
from corpora import corpus
from neardup.columns import fixed_lists, matrix, ragged
from neardup.documents.memory import MemorySource
from neardup.engines.core import rounds
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint import budget as memory_module
from neardup.engines.local.checkpoint.budget import LEAST, MemoryBudget, available_memory, read_memory
from neardup.engines.local.checkpoint.spill import SpilledRows
from neardup.engines.local.run import RunSettings, run
from neardup.errors import ParameterError
from neardup.registry import methods


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Budgets of a few kilobytes; counts the files that rows went to."""
    flushed: list[int] = []
    real = SpilledRows.flush

    def flush(self: SpilledRows) -> None:
        flushed.append(len(self))
        real(self)

    monkeypatch.setattr(SpilledRows, "flush", flush)
    monkeypatch.setattr(MemoryBudget, "rows", property(lambda self: 4000))
    monkeypatch.setattr(MemoryBudget, "counters", property(lambda self: 4000))
    monkeypatch.setattr(MemoryBudget, "sorters", lambda self, documents, threads: 1)
    return flushed


# In this order the cut leaves all pairs of andd and rare_phrases, whose many tables take long in small steps, to the
# long matrix.
@pytest.mark.cut("name")
@pytest.mark.parametrize("name", sorted(methods()))
@pytest.mark.parametrize("pairs", ["clusters", "all"])
def test_what_waits_on_disk_comes_back(
    name: str, pairs: str, tiny: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = corpus(families=20)
    small = facts(neardup.dedup(table, method=name, pairs=pairs))
    assert len(tiny) >= 1
    monkeypatch.undo()
    assert small == facts(neardup.dedup(table, method=name, pairs=pairs))


def test_rows_of_several_kinds_in_files_and_in_memory() -> None:
    rows = SpilledRows("stage", lambda name: None, most=200)
    for start in range(0, 50, 5):
        numbers = pa.array(range(start, start + 5), pa.int64())
        ids = numbers if start < 25 else numbers.cast(pa.string())  # the second file has names
        rows.add(pa.record_batch({"number": numbers, "id": ids}))
    assert len(rows) == 50 and len(rows.segments) > 2
    assert rows.numbers("number").tolist() == list(range(50))
    assert rows.column("id").to_pylist() == [str(number) for number in range(50)]
    assert rows.has("id") and not rows.has("nonesuch")
    rows.close()
    assert len(rows) == 0


def test_matrices_and_lists_as_columns() -> None:
    import numpy as np

    values = np.arange(12, dtype=np.uint32).reshape(4, 3)
    assert (matrix(pa.chunked_array([fixed_lists(values[:1]), fixed_lists(values[1:])])) == values).all()
    assert ragged(np.array([2, 3, 3, 5]), np.arange(9)).to_pylist() == [[2], [], [3, 4]]


def test_budgets() -> None:
    assert read_memory("1G") == 1 << 30 and read_memory(LEAST) == LEAST
    assert LEAST <= read_memory(None) <= max(LEAST, available_memory())
    for wrong in ("10M", "much", "-1G"):
        with pytest.raises(ParameterError, match="memory"):
            read_memory(wrong)
    assert MemoryBudget(1 << 30).sorters(1000, 8) == 8
    assert MemoryBudget(1 << 30).sorters(8_000_000, 8) == 1
    assert MemoryBudget(1 << 30).too_little(1_000_000) is None
    assert "--memory" in (MemoryBudget(1 << 30).too_little(50_000_000) or "")


def test_a_document_that_needs_more_than_the_budget_is_told_of_once() -> None:
    said: list[str] = []

    class Notes(Progress):
        def note(self, message: str) -> None:
            said.append(message)

    large = "many words of no great variety " * 800_000  # 24.8 MB
    texts = [large, "one short text that is looked at as well", large + "more", "and another one of them"]
    sources = [MemorySource("texts", pa.table({"text": texts}))]
    found = run(
        neardup.make_plan("minhash"),
        sources,
        settings=RunSettings(memory=MemoryBudget(LEAST + (1 << 20))),
        progress=Notes(),
    )
    assert len(said) == 1 and "23 MB" in said[0] and "--memory" in said[0]
    assert len(found.decisions.pairs) == 1  # and compared nevertheless


def test_a_budget_that_is_too_small_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = []

    class Listener(neardup.engines.core.progress.Progress):
        def note(self, message: str) -> None:
            said.append(message)

    monkeypatch.setattr(memory_module, "DOCUMENT", 1 << 30)
    neardup.dedup(["one text", "another text"], memory="300M", progress=Listener())
    assert any("documents need about" in message and "--memory" in message for message in said)


def test_the_report_has_the_budget_beside_the_peak() -> None:
    report = neardup.dedup(["one text", "another text"], memory="2G").report
    assert report["memory_budget_bytes"] == 2 << 30 and report["peak_memory_bytes"] > 0


@pytest.mark.parametrize(
    "name", [name for name in methods() if methods()[name].plan().candidates.level == "features"]
)
@pytest.mark.parametrize("pairs", ["clusters", "all"])
def test_joins_in_blocks_find_what_one_join_finds(
    name: str, pairs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = corpus(families=20)
    whole = neardup.dedup(table, method=name, pairs=pairs)
    size = whole._run.corpus.distinct_features.bytes
    for blocks in (2, 3, 7):
        monkeypatch.setattr(rounds, "JOIN_BYTES", size // blocks)
        parts = neardup.dedup(table, method=name, pairs=pairs)
        found, expected = facts(parts), facts(whole)
        assert found["removed"] == expected["removed"] and found["kept"] == expected["kept"]
        if pairs == "all":
            assert found == expected


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_many_files_are_not_open_at_once(tmp_path: Path) -> None:
    """A run of hours has thousands of checkpoints, and a process may open a thousand files."""
    for place in (lambda name: None, lambda name: tmp_path / name):
        rows, before = SpilledRows("stage", place, most=1), open_files()
        for number in range(200):
            rows.add(pa.record_batch({"number": pa.array([number])}))
        assert len(rows.segments) == 200
        assert open_files() <= before + 1
        assert rows.numbers("number").tolist() == list(range(200))
        rows.close()
