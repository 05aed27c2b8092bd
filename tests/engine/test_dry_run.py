"""What a dry run says is near what a run does."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import neardup
from corpora import corpus
from neardup.cli import group
from neardup.engines.local import dry_run as forecast_module
from neardup.engines.local.dry_run import poisson_range


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A corpus of which a sample sees a part only."""
    table = corpus(families=600)
    path = tmp_path / "corpus.parquet"
    pq.write_table(table.take(pa.array(_shuffled(len(table)))), path, row_group_size=100)
    return path


def _shuffled(count: int) -> list[int]:
    import random

    return random.Random(1).sample(range(count), count)


def foretold(*arguments: object) -> dict[str, object]:
    done = CliRunner().invoke(group, ["dedup", *map(str, arguments), "--dry-run", "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def near(found: dict[str, float], truth: float, factor: float = 2.0) -> bool:
    return truth / factor <= found["expected"] <= truth * factor and found["low"] <= truth <= found["high"]


def test_a_sample_tells_what_the_whole_will_do(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = large.stat().st_size
    monkeypatch.setattr(forecast_module, "SAMPLE_BYTES", size // 3)
    found = foretold(large, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    real = neardup.dedup(large)
    report = real.write(tmp_path / "real")
    assert found["documents"]["expected"] == report["documents"] > found["sampled_documents"]
    assert found["text_bytes"]["expected"] == pytest.approx(report["text_bytes"], rel=0.3)
    assert near(found["removed"], report["removed"])
    assert found["candidates"]["low"] / 2 <= report["pairs"]["candidates"] <= 2 * found["candidates"]["high"]


def test_a_crowd_is_foretold_as_the_linear_work_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import random

    rng, words = random.Random(2), [f"word{k}" for k in range(150)]
    texts = []
    for number in range(3000):
        changed = list(words)
        for place in rng.sample(range(len(words)), rng.randint(1, 5)):
            changed[place] = f"other{number}x{place}"
        texts.append(" ".join(changed))
    path = tmp_path / "crowd.parquet"
    pq.write_table(pa.table({"text": texts}), path, row_group_size=100)
    monkeypatch.setattr(forecast_module, "SAMPLE_BYTES", path.stat().st_size // 2)
    monkeypatch.setattr(forecast_module, "SAMPLE_SHARE", 0)
    found = foretold(path, "-o", tmp_path / "out", "--clusters", "components")
    assert found["sampled_documents"] < 1500  # the square of what it saw would be far too much
    report = neardup.dedup(path, clusters="components").write(tmp_path / "real")
    # How many it takes hangs on which document comes first.
    assert near({**found["candidates"], "low": 0, "high": 1e9}, report["pairs"]["candidates"], 4)
    assert near({**found["removed"], "low": 0, "high": 1e9}, report["removed"])


def test_small_inputs_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": f"text {k % 5} of five or so"}) + "\n" for k in range(20)))
    found = foretold(path, "-o", tmp_path / "out")
    assert found["documents"] == {"expected": 20, "low": 20, "high": 20}
    assert found["removed"]["expected"] == 15


def test_a_sample_of_everything_has_no_ranges(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    texts = [f"text {k % 5} of five or so" for k in range(20)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts) + "{broken\n")
    found = foretold(path, "-o", tmp_path / "out")
    report = neardup.dedup(path).report
    known = {"documents": 20, "removed": 15, "candidates": report["pairs"]["candidates"]}
    assert {name: found[name]["expected"] for name in known} == known
    ranges = [some for some in found.values() if isinstance(some, dict)]
    assert len(ranges) == 7 and all(some["low"] == some["expected"] == some["high"] for some in ranges)
    done = CliRunner().invoke(group, ["dedup", str(path), "-o", str(tmp_path / "out"), "--dry-run"])
    assert "a trial run of all 20 documents" in done.output and " to " not in done.output


def test_the_table_for_people(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a text of a few words")
    done = CliRunner().invoke(
        group, ["dedup", str(tmp_path / "a.txt"), "-o", str(tmp_path / "out"), "--dry-run"]
    )
    assert done.exit_code == 0 and "nothing was written" in done.output
    for name in ("documents", "time", "memory", "disk", "candidates", "removed"):
        assert name in done.output


@pytest.mark.parametrize(
    "count, low, high", [(0, 0.0, 3.69), (1, 0.025, 5.57), (10, 4.80, 18.39), (100, 81.4, 121.6)]
)
def test_ranges_of_counts(count: int, low: float, high: float) -> None:
    """Garwood's exact limits, as tables have them."""
    found = poisson_range(count)
    assert found[0] == pytest.approx(low, abs=0.02 * max(1, count) ** 0.5)
    assert found[1] == pytest.approx(high, rel=0.01)


def test_a_sample_is_read_as_the_whole_would_be(tmp_path: Path) -> None:
    """HTML as what a reader sees, and fields beside it: pages that differ in tags alone are copies."""
    rows = [
        {"html": f"<p class=c{k}>the same story on every page</p>", "title": f"t{k % 2}"} for k in range(8)
    ]
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert foretold(path, "-o", tmp_path / "out")["removed"]["expected"] == 7
    fields = ["--method", "simhash", "--fields", "title"]
    assert foretold(path, "-o", tmp_path / "out", *fields)["removed"]["expected"] == 6


def test_nothing_to_foretell(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("{broken\n")
    done = CliRunner().invoke(
        group,
        ["dedup", str(tmp_path / "empty.jsonl"), "-o", str(tmp_path / "out"), "--dry-run"],
        standalone_mode=False,
    )
    assert "no documents" in str(done.exception)
