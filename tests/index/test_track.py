"""Pages over time: what changed, how often to look, and nothing lost by a kill."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from neardup.documents import open_inputs
from neardup.errors import InputError, PlanError
from neardup.index.fingerprints import fingerprint
from neardup.index.track import DAY, Tracker, Visit, VisitSchedule
from neardup.plan import Plan
from neardup.registry import get_method

PLAN = get_method("simhash").plan(weights="tf", distance=3)
LONG = [f"word{i}" for i in range(300)]


def crawl(tracker: Tracker, *texts: str) -> list:  # type: ignore[type-arg]
    pages = fingerprint(PLAN, open_inputs([list(texts)]))
    return list(tracker.visit(pages, now=0.0))


def test_what_became_of_a_page(tmp_path: Path) -> None:
    with Tracker(tmp_path / "pages.db", PLAN) as tracker:
        first = crawl(tracker, " ".join(LONG))[0]
        assert (first.status, first.distance, first.text_changed, first.versions) == ("new", None, None, 1)
        assert (first.next_visit, first.priority) == (DAY, 1.0)
        same = crawl(tracker, " ".join(LONG))[0]
        assert (same.status, same.distance, same.text_changed, same.priority) == ("unchanged", 0, False, 0)
        case = crawl(tracker, " ".join(LONG).upper())[0]  # folded: another text, the same words
        assert (case.status, case.distance, case.text_changed, case.versions) == ("unchanged", 0, True, 2)
        other = crawl(tracker, "something else entirely is here now")[0]
        assert other.status == "changed" and other.distance > 3 and other.priority > 0.3
        assert other.next_visit == DAY  # two visits alike are not yet three, and one change is not
        assert len(tracker.history("0")) == 3
        with pytest.raises(InputError, match="no page 'x'"):
            tracker.history("x")


def test_a_page_without_words_is_empty_and_comes_back(tmp_path: Path) -> None:
    with Tracker(tmp_path / "pages.db", PLAN) as tracker:
        assert [crawl(tracker, text)[0].status for text in ("", "", "words at last", "")] == [
            "empty", "empty", "new", "empty",
        ]  # fmt: skip


def test_three_visits_alike_change_the_interval() -> None:
    schedule = VisitSchedule()
    assert schedule.next(DAY, 2) == (DAY, 2)
    assert schedule.next(DAY, 3) == (2 * DAY, 0)
    assert schedule.next(DAY, -1) == (DAY, -1)
    assert schedule.next(DAY, -3) == (DAY / 2, 0)
    assert schedule.next(80 * DAY, 3) == (90 * DAY, 0)
    assert schedule.next(DAY / 24, -3) == (DAY / 24, 0)


def test_a_page_that_changes_every_time_is_visited_more_often(tmp_path: Path) -> None:
    with Tracker(tmp_path / "pages.db", PLAN) as tracker:
        texts = [f"other words {k} at visit {k * 7} of {k * 11}" for k in range(8)]
        intervals = [crawl(tracker, text)[0].next_visit / DAY for text in texts]
        assert intervals == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]


def test_two_typos_are_a_slight_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from neardup.cli import main

    source = random.Random(4)
    lines = (Path(__file__).parents[2] / "examples" / "articles.jsonl").read_text().splitlines()
    pages = [row for row in map(json.loads, lines) if len(row["text"].split()) > 60]

    def crawl(name: str, edit: Callable[[list[str]], None]) -> list[dict[str, Any]]:
        path = tmp_path / name
        with path.open("w") as file:
            for page in pages:
                words = page["text"].split()
                edit(words)
                file.write(json.dumps({"id": page["id"], "text": " ".join(words)}) + "\n")
        main(["track", str(tmp_path / "s.db"), str(path), "--json"])
        return list(map(json.loads, capsys.readouterr().out.splitlines()))

    def mistype(words: list[str]) -> None:
        for place in source.sample(range(len(words)), 2):
            words[place] = "x" + words[place]

    def replace_half(words: list[str]) -> None:
        words[: len(words) // 2] = [f"other{place}" for place in range(len(words) // 2)]

    crawl("first.jsonl", lambda words: None)
    slight = [row["status"] in ("unchanged", "slightly changed") for row in crawl("typos.jsonl", mistype)]
    assert len(slight) > 40 and sum(slight) >= 0.95 * len(slight)
    assert [row["status"] for row in crawl("half.jsonl", replace_half)].count("changed") > 0.8 * len(slight)


def test_versions_cost_eight_bytes(tmp_path: Path) -> None:
    with Tracker(tmp_path / "pages.db", PLAN) as tracker:
        for number in range(50):
            crawl(tracker, " ".join(LONG[number:]))
    with sqlite3.connect(tmp_path / "pages.db") as store:
        assert len(store.execute("SELECT history FROM pages").fetchone()[0]) == 50 * 8


def test_another_plan_or_another_file_is_refused(tmp_path: Path) -> None:
    Tracker(tmp_path / "pages.db", PLAN).__exit__(None, None, None)
    with pytest.raises(PlanError, match="have another view"):
        Tracker(tmp_path / "pages.db", get_method("simhash").plan(weights="tf", bits=128))
    with pytest.raises(PlanError, match="another statistics"):
        Tracker(tmp_path / "pages.db", PLAN, statistics="0123")
    Tracker(tmp_path / "pages.db", get_method("simhash").plan(weights="tf", distance=5))  # only a distance
    (tmp_path / "text.db").write_text("this is no database, and long enough to be seen as one\n" * 40)
    with pytest.raises(InputError, match="cannot be used as a store"):
        Tracker(tmp_path / "text.db", PLAN)
    with pytest.raises(PlanError, match="frozen statistics"):
        fingerprint(get_method("simhash").plan(), open_inputs([["a"]]))


def test_nothing_that_was_reported_is_lost_by_a_kill(tmp_path: Path) -> None:
    pages = tmp_path / "pages.jsonl"
    with pages.open("w") as file:
        for number in range(6000):
            file.write(
                json.dumps({"id": f"p{number}", "text": f"page {number} has its own words {number * 7}"})
                + "\n"
            )
    command = [sys.executable, "-u", "-m", "neardup", "track", str(tmp_path / "s.db"), str(pages), "--json"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    reported = [json.loads(run.stdout.readline())["id"] for _ in range(1500)]
    os.kill(run.pid, signal.SIGKILL)
    reported += [json.loads(line)["id"] for line in run.stdout if line.endswith("}\n")]
    run.wait()
    with sqlite3.connect(tmp_path / "s.db") as store:
        held = {row[0] for row in store.execute("SELECT id FROM pages")}
    assert set(reported) <= held
    assert len(held) % 1000 == 0  # whole batches only
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    states = {row["id"]: row["status"] for row in map(json.loads, done.stdout.splitlines())}
    assert all(states[page] == "unchanged" for page in reported) and len(states) == 6000


def test_other_options_are_taken_by_rebasing(tmp_path: Path) -> None:
    store, wide = tmp_path / "pages.db", get_method("simhash").plan(weights="tf", bits=128)

    def visits(plan: Plan, *texts: str, rebase: bool = False) -> list[Visit]:
        with Tracker(store, plan, rebase=rebase) as tracker:
            return list(tracker.visit(fingerprint(plan, open_inputs([list(texts)])), now=0.0))

    visits(PLAN, "one two three", "four five six")
    visits(PLAN, "one two three four", "four five six")
    with pytest.raises(PlanError, match="switch to the new ones with --rebase"):
        visits(wide, "one", "two")
    same, other = visits(wide, "one two three four", "seven", rebase=True)
    assert (same.status, same.distance, same.text_changed, same.versions) == ("unchanged", None, False, 1)
    assert (other.status, other.distance, other.text_changed, other.priority) == ("changed", None, True, 1.0)
    again, _ = visits(wide, "one two three four", "seven")
    assert (again.status, again.distance) == ("unchanged", 0)
    with sqlite3.connect(store) as database:  # what was known is put aside, not lost
        assert [len(row[0]) for row in database.execute("SELECT history FROM stale ORDER BY id")] == [16, 8]
    with Tracker(store, wide) as tracker:
        assert len(tracker.history("0")) == 1 and tracker.history("0")[0].bit_length() > 64


def test_fingerprints_of_a_plan_that_verifies_by_cosine(tmp_path: Path) -> None:
    plan = get_method("simhash").plan(weights="tf", verify="cosine", distance=5)
    with Tracker(tmp_path / "pages.db", plan) as tracker:
        assert (tracker.bits, tracker.slight_change) == (64, 5)
        list(tracker.visit(fingerprint(plan, open_inputs([["a b c"]])), now=0.0))
        assert len(tracker.history("0")) == 1


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    Tracker(tmp_path / "pages.db", PLAN).__exit__(None, None, None)
    with sqlite3.connect(tmp_path / "pages.db") as database:
        database.execute("UPDATE about SET value = '0' WHERE name = 'format'")
    with pytest.raises(InputError, match="has format 0"):
        Tracker(tmp_path / "pages.db", PLAN)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--weights", "tfidf"], "Give frozen statistics"),
        (["--method", "cosine"], "has no fingerprints"),
        (["--fields", "author"], "no column 'author'"),
        (["--stats", "absent.parquet"], "absent.parquet does not exist"),
        (["--strict"], "without --strict"),
        (["--now", "nan"], "--now must be a finite number of seconds"),
    ],
)
def test_bad_requests_get_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    from neardup.cli import main

    pages = tmp_path / "pages.jsonl"
    pages.write_text('{"id": 1, "text": "a"}\n{broken\n{"id": 2, "text": ""}\n')
    with pytest.raises(SystemExit) as ended:
        main(["track", str(tmp_path / "s.db"), str(pages), *options])
    printed = capsys.readouterr()
    assert ended.value.code == 2 and sentence in printed.err and printed.err.count("\n") == 1
    main(["track", str(tmp_path / "s.db"), str(pages)])
    said = capsys.readouterr()
    assert "1 new" in said.out and "1 empty" in said.out and "1 problem" in said.err


def test_a_damaged_store_is_named_and_never_made_new(tmp_path: Path) -> None:
    path = tmp_path / "pages.db"
    with Tracker(path, PLAN) as tracker:
        crawl(tracker, "one two three")
    whole = path.read_bytes()
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"pages\.db is empty, and no longer a store of pages"):
        Tracker(path, PLAN)
    path.write_bytes(whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute("DROP TABLE stale")
    with pytest.raises(InputError, match="is not a store of pages, or has lost its tables"):
        Tracker(path, PLAN)
    path.write_bytes(whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute("UPDATE pages SET history = 'text'")
    with Tracker(path, PLAN) as tracker, pytest.raises(InputError, match="the page '0' has other types"):
        crawl(tracker, "one two three")
    path.write_bytes(whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute("UPDATE about SET value = 'x' WHERE name = 'made'")
    with pytest.raises(InputError, match="is damaged"):
        Tracker(path, PLAN)


def test_a_database_of_another_program_stays_as_it_was(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as store:
        store.execute("CREATE TABLE bookmarks (url TEXT)")
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(InputError, match="is not a store of pages"):
        Tracker(tmp_path / "other.db", PLAN)
    assert (tmp_path / "other.db").read_bytes() == before
