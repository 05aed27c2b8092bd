"""The workbench: thresholds from recorded evidence and by a run, two results pair by pair; and an index as target."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from studios import ARTICLES, Client, deduplicate

import neardup
from neardup.cli import main
from sentences import overlapping


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two results of the example articles, at 0.7 and at 0.5."""
    folder = tmp_path_factory.mktemp("workbench")
    return deduplicate(folder / "clean"), deduplicate(folder / "looser", ARTICLES, "--threshold", "0.5")


def clusters(folder: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in pq.read_table(folder / "clusters.parquet").to_pylist()}


def tiles(page: str) -> list[str]:
    """The large figures of a page."""
    return [part.partition("<")[0] for part in page.split("<dd>")[1:]]


@pytest.mark.parametrize("threshold", [0.7, 0.75, 0.8, 0.9, 1.0])
def test_counts_are_those_of_the_recorded_evidence(results: tuple[Path, Path], threshold: float) -> None:
    client = Client(results[0])
    page = client.get("/workbench", params={"threshold": str(threshold)})
    gone = [row for row in clusters(results[0]).values() if not row["keep"]]
    below = [row for row in gone if row["similarity"] < threshold]
    assert page.status_code == 200 and tiles(page.text)[:2] == [str(len(gone) - len(below)), str(len(below))]
    seen = []
    for place in range(1, len(below) + 1):
        address = f"/workbench/pairs?list=below&threshold={threshold}&at={place}"
        pair = client.get(address).text
        seen.append(pair.partition("<h1><bdi>")[2].partition("</bdi>")[0])
        assert f"Pairs that come apart: {place} of {len(below)}" in pair and "<mark" in pair
    assert sorted(seen) == sorted(row["id"] for row in below)
    past = client.get(f"/workbench/pairs?list=below&threshold={threshold}&at={len(below) + 1}")
    assert past.status_code == 404


def test_two_results_are_compared_pair_by_pair(results: tuple[Path, Path]) -> None:
    ours, theirs = clusters(results[0]), clusters(results[1])

    def together(rows: dict[str, dict[str, Any]], one: str, other: str) -> bool:
        return one in rows and other in rows and rows[one]["cluster"] == rows[other]["cluster"]

    merged = {
        name: row
        for name, row in theirs.items()
        if not row["keep"] and not together(ours, name, row["duplicate_of"])
    }
    split = {
        name: row
        for name, row in ours.items()
        if not row["keep"] and not together(theirs, name, row["duplicate_of"])
    }
    swapped = {
        name: row
        for name, row in theirs.items()
        if not row["keep"]
        and name in ours
        and ours[name]["keep"]
        and together(ours, name, row["duplicate_of"])
    }
    both = sum(not row["keep"] and name in ours and not ours[name]["keep"] for name, row in theirs.items())
    client = Client(results[0], compare=str(results[1]))
    page = client.get("/workbench/compare").text
    assert tiles(page) == [str(count) for count in (len(merged), len(split), both, len(swapped))]
    assert len(merged) > 0
    for side, expected in (("merged", merged), ("split", split), ("swapped", swapped)):
        seen = set()
        for place in range(1, len(expected) + 1):
            pair = client.get(f"/workbench/pairs?list={side}&with=compare&at={place}").text
            seen.add(pair.partition("<h1><bdi>")[2].partition("</bdi>")[0])
            assert "The text was not found" not in pair
        assert seen == expected.keys()
    backwards = Client(results[1], compare=str(results[0])).get("/workbench/compare").text
    assert tiles(backwards)[:3] == [str(len(split)), str(len(merged)), str(both)]


def test_a_run_at_a_lower_threshold_is_made_and_compared(tmp_path: Path) -> None:
    clean = deduplicate(tmp_path / "clean")
    client = Client(clean)
    page = client.get("/workbench?threshold=0.5").text
    assert "Less similar pairs were not recorded" in page and "--threshold 0.5" in page
    page = client.send_form("/workbench/run", threshold="0.5").text
    for _ in range(300):
        if "under way" not in page:
            break
        time.sleep(0.2)
        page = client.get("/workbench?threshold=0.5").text
    assert 'href="/workbench/compare?with=0.5"' in page, page
    exact = neardup.dedup(ARTICLES, threshold=0.5).report
    compared = client.get("/workbench/compare?with=0.5").text
    assert f"<td>{exact['removed']}</td>" in compared.replace(' class="n"', "")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/workbench?threshold=0", 422),
        ("/workbench?threshold=x", 422),
        ("/workbench?threshold=nan", 422),
        ("/workbench/compare", 404),
        ("/workbench/compare?with=0.33", 404),
        ("/workbench/compare?with=../../x", 422),
        ("/workbench/pairs?list=below&threshold=0.8&at=0", 404),
        ("/workbench/pairs?list=other", 404),
    ],
)
def test_addresses_of_nothing_are_refused(results: tuple[Path, Path], path: str, status: int) -> None:
    assert Client(results[0]).get(path).status_code == status


def test_an_index_shows_documents_and_their_neighbours(tmp_path: Path) -> None:
    texts = overlapping(random.Random(7), 4)
    rows = [{"id": f"d{k}", "text": text} for k, text in enumerate([*texts, texts[0] + " once more"])]
    with neardup.Index(tmp_path / "news.index", method="minhash", threshold=0.5) as index:
        index.add(rows)
    client = Client(tmp_path / "news.index")
    page = client.get("/index", params={"id": "d0"}).text
    assert "beside=d4" in page and "<mark" in page
    assert "no document of the id none" in client.get("/index", params={"id": "none"}).text
    assert "d4" in client.send_form("/index", text=texts[0] + " <b>").text
    assert client.send_form("/index", text=" ").status_code == 422
    assert client.get("/review").status_code == 404
    assert "Review" not in client.get("/").text
    client.close()


def test_a_corpus_is_deduplicated_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served = []
    monkeypatch.setattr("neardup.studio.app_server.serve", lambda target, port, **how: served.append(target))
    with pytest.raises(SystemExit):
        main(["studio", str(ARTICLES)])
    assert "give -o DIR" in capsys.readouterr().err
    for _ in range(2):  # the second time the result is there
        main(["studio", str(ARTICLES), "-o", str(tmp_path / "clean"), "--no-browser"])
    assert [one.run.report["removed"] for one in served] == [21, 21]
    assert json.loads((tmp_path / "clean" / "report.json").read_text())["command"][0] == str(ARTICLES)
