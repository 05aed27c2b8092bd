"""What a dry run says is near what a run does."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import neardup
from corpora import corpus
from neardup.cli import group
from neardup.engines.core.expected_share import ExpectedShare
from neardup.engines.local import dry_run as forecast_module
from neardup.engines.local.dry_run import Estimate, Range, poisson_range


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


def estimated(*arguments: object) -> dict[str, object]:
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
    found = estimated(large, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    real = neardup.dedup(large)
    report = real.write(tmp_path / "real")
    assert found["documents"]["expected"] == report["documents"] > found["sampled_documents"]
    assert found["text_bytes"]["expected"] == pytest.approx(report["text_bytes"], rel=0.3)
    assert near(found["removed"], report["removed"])
    assert found["candidates"]["low"] / 2 <= report["pairs"]["candidates"] <= 2 * found["candidates"]["high"]


def test_a_hot_bucket_is_estimated_as_the_linear_work_it_is(
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
    found = estimated(path, "-o", tmp_path / "out", "--clusters", "components")
    assert found["sampled_documents"] < 1500  # the square of what it saw would be far too much
    report = neardup.dedup(path, clusters="components").write(tmp_path / "real")
    # How many it takes hangs on which document comes first.
    assert near({**found["candidates"], "low": 0, "high": 1e9}, report["pairs"]["candidates"], 4)
    assert near({**found["removed"], "low": 0, "high": 1e9}, report["removed"])


def test_small_inputs_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": f"text {k % 5} of five or so"}) + "\n" for k in range(20)))
    found = estimated(path, "-o", tmp_path / "out")
    assert found["documents"] == {"expected": 20, "low": 20, "high": 20}
    assert found["removed"]["expected"] == 15


def test_a_sample_of_everything_has_no_ranges(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    texts = [f"text {k % 5} of five or so" for k in range(20)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts) + "{broken\n")
    found = estimated(path, "-o", tmp_path / "out")
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
    assert estimated(path, "-o", tmp_path / "out")["removed"]["expected"] == 7
    fields = ["--method", "simhash", "--fields", "title"]
    assert estimated(path, "-o", tmp_path / "out", *fields)["removed"]["expected"] == 6


def test_nothing_to_estimate(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("{broken\n")
    done = CliRunner().invoke(
        group,
        ["dedup", str(tmp_path / "empty.jsonl"), "-o", str(tmp_path / "out"), "--dry-run"],
        standalone_mode=False,
    )
    assert "no documents" in str(done.exception)


# --- the share to expect ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", ["below", "exactly"])
def test_a_gzipped_file_that_is_read_to_its_end_is_known_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: str
) -> None:
    """Also if the sample is full with its last batch."""
    path = tmp_path / "corpus.jsonl.gz"
    with gzip.open(path, "wt") as out:
        out.writelines(
            json.dumps({"text": f"{'text ' * 2000}{k % 50} of fifty or so"}) + "\n" for k in range(123)
        )
    if room == "exactly":
        monkeypatch.setattr(forecast_module, "SAMPLE_BYTES", 1 << 20)
    found = estimated(path, "-o", tmp_path / "out")
    assert found["documents"] == {"expected": 123, "low": 123, "high": 123}
    assert found["removed"]["low"] == found["removed"]["high"]
    printed = CliRunner().invoke(group, ["dedup", str(path), "-o", str(tmp_path / "out"), "--dry-run"]).output
    assert re.search(r"documents +123\n", printed), "not rounded to 120"


def test_the_recommended_share_can_stop_a_run_that_removes_too_much() -> None:
    for share in (0.0, 0.05, 0.3, 0.5, 0.755, 0.99):
        exact = Range.exactly(1000 * share)
        wide = Range(1000 * share, 0, 1000)
        for removed in (exact, wide):
            seven = [Range.exactly(1000), *[Range.exactly(1)] * 5, removed]
            found = Estimate(*seven, sampled_documents=100).removed_share
            assert found.low <= share <= found.high < 1
        if share <= 1 / 3:
            around = ExpectedShare.around(share)
            assert (around.low, around.high) == (share / 2, 2 * share)


@pytest.mark.parametrize("expected, sentence", [
    ("0.7-0.8", "The removed share, 75.0%, is in the range of --expect-removed, 70.0% to 80.0%."),
    ("0.1", "The removed share, 75.0%, is outside the range of --expect-removed, 5.0% to 20.0%: a run like this"),
])  # fmt: skip
def test_a_dry_run_compares_its_estimate_with_the_expected_share(
    tmp_path: Path, expected: str, sentence: str
) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": f"text {k % 5} of five or so"}) + "\n" for k in range(20)))
    how = ["dedup", str(path), "-o", str(tmp_path / "out"), "--dry-run", "--expect-removed", expected]
    assert sentence in CliRunner().invoke(group, how).output
