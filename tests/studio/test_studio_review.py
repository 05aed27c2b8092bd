"""The review: queue, filters, actions, conflicts and Apply, over HTTP."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from studios import ARTICLES, TOKEN, Client, deduplicate

from hostile_documents import DOCUMENTS
from neardup.cli import main
from neardup.decisions.store import DecisionStore, read_decisions
from neardup.studio.app_page import exact


@pytest.fixture
def copy(clean: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clean, tmp_path / "clean"))


def decide(client: Client, cluster: str, action: str, doc: str = "", **fields: Any) -> Any:
    """The form of the page, as it stands for this client."""
    version = fields.pop("version", None)
    if version is None:
        rows = client.studio.kept["review"].store.of_cluster(cluster)
        version = rows[-1].number if rows else 0
    form = {"cluster": exact(cluster), "version": version, "action": action, "doc": exact(doc), "filters": ""}
    marked = [exact(one) for one in fields.pop("marked", ())]
    return client.send_form("/review/decide", **form, **fields, marked=marked)


def names(page: str) -> list[str]:
    """The clusters of the queue."""
    queue = page.partition('<ol class="queue"')[2].partition("</ol>")[0]
    return [part.partition("</bdi>")[0] for part in queue.split('<span class="name"><bdi>')[1:]]


def test_clusters_come_in_order_of_risk(copy: Path) -> None:
    page = Client(copy).get("/review").text
    assert names(page)[:4] == ["vaccine", "museum", "harbour", "storm-evening"]
    assert "Cluster 1 of 17 by risk" in page and "numbers differ" in page
    last = Client(copy).get("/review", params={"kind": "copies"}).text
    assert "library" in names(last)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"kind": "numbers"}, {"vaccine", "museum"}),
        ({"least": "3"}, {"harbour", "lighthouse", "library"}),
        ({"high": "0.755", "most": "3"}, {"storm-evening", "lighthouse"}),
        ({"q": "Norhaven approved a second"}, {"harbour"}),
        ({"q": "harbour-synd"}, {"harbour"}),
        ({"q": "100%_"}, set()),
        ({"source": "North Shore Wire", "least": "4"}, {"harbour"}),
        ({"since": "2024-03-06", "until": "2024-03-06"}, None),
        ({"kind": "chained"}, set()),
    ],
)
def test_filters_leave_what_they_say(clean: Path, filters: dict[str, str], expected: set[str] | None) -> None:
    page = Client(clean).get("/review", params=filters)
    assert page.status_code == 200
    if expected is None:
        assert "harbour" in names(page.text)
    else:
        assert set(names(page.text)) == expected
    assert expected != set() or "No cluster passes the filters" in page.text


@pytest.mark.parametrize("bad", ["status=x", "kind=x", "low=x", "most=many", "cluster=none"])
def test_addresses_of_nothing_are_refused(clean: Path, bad: str) -> None:
    assert Client(clean).get(f"/review?{bad}").status_code in (404, 422)


def test_a_pair_is_done_with_one_decision_and_a_cluster_with_confirm(copy: Path) -> None:
    client = Client(copy)
    client.send_form("/you", name="Ada")
    page = decide(client, "vaccine", "separate", "vaccine-corrected")
    assert "Stored: not the same: vaccine-corrected, in cluster vaccine" in page.text
    assert names(page.text)[0] == "museum" and "1 decided, 0 skipped of 17" in page.text
    page = decide(client, "harbour", "restore", "harbour-syndicated")
    assert "<h1><bdi>harbour</bdi></h1>" in page.text and "by <bdi>Ada</bdi>, machine: removed" in page.text
    page = decide(client, "harbour", "confirm")
    assert "<h1><bdi>harbour</bdi></h1>" not in page.text
    page = decide(client, "lighthouse", "skip")
    assert "2 decided, 1 skipped of 17" in page.text
    assert set(names(client.get("/review?status=skipped").text)) == {"lighthouse"}
    assert set(names(client.get("/review?status=decided").text)) == {"vaccine", "harbour"}
    kept = {one.state.id: one.state.keep for one in read_decisions(copy / "decisions.db")}
    assert kept["vaccine-corrected"] and kept["harbour-syndicated"] and not kept["harbour-corrected"]


def test_undo_takes_the_last_decision_back_as_a_row_of_its_own(copy: Path) -> None:
    client = Client(copy)
    decide(client, "vaccine", "separate", "vaccine-corrected")
    page = decide(client, "museum", "undo")
    assert "<h1><bdi>vaccine</bdi></h1>" in page.text and "Stored: taken back: vaccine-corrected" in page.text
    assert [one.action for one in DecisionStore(copy / "decisions.db").of_cluster("vaccine")] == [
        "separate",
        "undo",
    ]
    assert read_decisions(copy / "decisions.db") == []
    assert "You have no decision to undo" in decide(client, "museum", "undo").text


def test_a_split_needs_marks_and_makes_two_clusters(copy: Path) -> None:
    client = Client(copy)
    page = decide(client, "harbour", "split")
    assert page.status_code == 422 and "mark the ones" in page.text
    page = decide(client, "harbour", "split", marked=["harbour", "harbour-syndicated"])
    assert "group 2" in page.text
    states = {one.state.id: one.state for one in read_decisions(copy / "decisions.db")}
    assert sorted(one.keep for one in states.values()) == [False, True]


def test_two_people_do_not_overwrite_each_other(copy: Path) -> None:
    ada, bob = Client(copy), Client(copy)
    ada.send_form("/you", name="Ada")
    bob.send_form("/you", name="Bob")
    assert decide(ada, "vaccine", "confirm", version=0).status_code == 200
    answer = decide(bob, "vaccine", "separate", "vaccine-corrected", version=0)
    assert answer.status_code == 409
    assert "Ada has decided about this cluster in between" in answer.text and "confirmed" in answer.text
    assert len(DecisionStore(copy / "decisions.db").of_cluster("vaccine")) == 1
    assert decide(bob, "vaccine", "separate", "vaccine-corrected").status_code == 200


def test_whole_texts_are_shown_on_request(clean: Path) -> None:
    client = Client(clean)
    short = client.get("/review?cluster=harbour").text
    assert " words …" in short and "cluster=harbour&amp;doc=harbour-syndicated&amp;whole=1" in short
    whole = client.get("/review?cluster=harbour&whole=1").text
    assert " words …" not in whole and len(whole) > len(short)


def test_decisions_survive_a_new_studio(copy: Path) -> None:
    decide(Client(copy), "vaccine", "confirm")
    page = Client(copy).get("/review?cluster=vaccine").text
    assert "confirmed" in page and "1 decided" in page


def test_apply_writes_the_result_with_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = tmp_path / "articles.jsonl"
    corpus.write_bytes(ARTICLES.read_bytes())
    monkeypatch.chdir(tmp_path)
    clean = deduplicate(tmp_path / "clean", Path("articles.jsonl"))
    client = Client(clean)
    decide(client, "vaccine", "separate", "vaccine-corrected")
    decide(client, "museum", "confirm")
    corpus.write_text(corpus.read_text(encoding="utf-8").replace('"id": "museum"', '"id": "museum-renamed"'))
    page = client.send_form("/review/apply").text
    for _ in range(300):
        if "under way" not in page:
            break
        time.sleep(0.2)
        page = client.get("/review/apply").text
    assert "The run has ended" in page and "1 restored, 0 removed" in page, page
    assert "museum" in page.partition("Decisions that were not followed")[2]
    assert "vaccine-corrected" in (clean / "reviewed" / "kept.jsonl").read_text(encoding="utf-8")
    assert "vaccine-corrected" in (clean / "removed.jsonl").read_text(encoding="utf-8")


def test_results_that_cannot_be_repeated_say_so(copy: Path) -> None:
    report = json.loads((copy / "report.json").read_text())
    for change, words in (({"command": None}, "does not say how"), ({"engine": "spark"}, "the engine spark")):
        (copy / "report.json").write_text(json.dumps(report | change))
        client = Client(copy)
        assert words in client.get("/review/apply").text
        assert client.send_form("/review/apply").status_code == 422


def test_hostile_documents_are_text(tmp_path: Path) -> None:
    rows = []
    for number, hostile in enumerate(one[:2000] for one in DOCUMENTS):
        words = " ".join(f"w{number}x{k}" for k in range(40))
        for side in "ab":
            rows.append(
                {"id": f"{number}{side} {hostile}", "text": f"{words} {hostile} {side}", "source": hostile}
            )
    source = tmp_path / "hostile.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    client = Client(deduplicate(tmp_path / "clean", source, "--threshold", "0.3"))
    row, seen = client.studio.kept["review"].index.next_after, 0
    from neardup.studio.review_index import Filters

    at = row(Filters(), 0)
    while at is not None and seen < at.risk:
        seen = at.risk
        page = client.get("/review", params={"cluster": at.name})
        assert page.status_code == 200 and "<script>" not in page.text and "\x00" not in page.text
        removed = next(one.id for one in client.studio.kept["review"].index.members(at.name) if not one.keep)
        answer = decide(client, at.name, "restore", removed)
        assert answer.status_code == 200
        at = row(Filters(), seen)
    assert seen > 100


def test_an_index_is_made_again_when_the_result_changes(copy: Path) -> None:
    Client(copy)
    first = (copy / ".studio" / "review.db").stat().st_mtime_ns
    Client(copy)
    assert (copy / ".studio" / "review.db").stat().st_mtime_ns == first
    shutil.rmtree(copy)
    deduplicate(copy, ARTICLES, "--threshold", "0.9")
    client = Client(copy)
    assert client.studio.kept["review"].index.total < 17
    with pytest.raises(SystemExit):
        main(["studio", str(copy), "--by", "nothing", "--no-browser"])


def test_results_without_texts_and_of_other_modes_are_reviewed(tmp_path: Path) -> None:
    for mode, more in (("none", ()), ("annotate", ("--table-format", "csv"))):
        folder = deduplicate(tmp_path / mode, ARTICLES, "--mode", mode, *more)
        client = Client(folder)
        page = client.get("/review?cluster=harbour").text
        assert "container berth" in page and "harbour-syndicated" in page
        assert decide(client, "vaccine", "confirm").status_code == 200


def test_a_token_is_never_on_a_page(clean: Path) -> None:
    client = Client(clean)
    for path in ("/review", "/review/apply", "/you"):
        assert TOKEN not in client.get(path).text
