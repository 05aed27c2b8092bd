"""What goes wrong around a studio: forged values, files that vanish, are damaged or full; each gets a clear page."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from studios import Client

from neardup.decisions.store import DecisionStore
from neardup.errors import OutputError, StorageError
from neardup.labelling.settings import PRESETS
from neardup.labelling.store import LabelStore, NewPair
from neardup.studio.label_judge import protocol_words
from neardup.studio.learn import _advice

HUGE = "9" * 30
DECISION = {"cluster": '"harbour"', "action": "confirm", "doc": '"harbour"', "version": "0"}


@pytest.fixture
def folder(clean: Path, tmp_path: Path) -> Path:
    """A copy of the result, to break."""
    return Path(shutil.copytree(clean, tmp_path / "clean"))


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file grows beyond this size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize(
    "change",
    [
        {"version": HUGE},
        {"version": "-" + HUGE},
        {"cluster": '"\\ud800"'},
        {"doc": '"\\ud800"', "action": "restore"},
        {"filters": "q=" + "%25" * 60_000},
    ],
)
def test_forged_decisions_are_refused(folder: Path, change: dict[str, str]) -> None:
    client = Client(folder)
    answer = client.send_form("/review/decide", **{**DECISION, **change})
    assert answer.status_code == 422 and "error inside neardup" not in answer.text
    assert not client.studio.kept["review"].store.people()


def test_lone_surrogates_of_json_are_refused(folder: Path) -> None:
    client = Client(folder)
    body = json.dumps({"csrf": client.csrf, "name": "\ud800"})
    headers = {"content-type": "application/json", "x-csrf-token": client.csrf}
    assert client.post("/you", content=body, headers=headers).status_code == 400


def test_forged_items_of_labels_are_refused(folder: Path) -> None:
    client = Client(folder)
    client.send_form("/label/begin", preset="one person")
    for path, fields in (
        ("/label/judge", {"item": HUGE, "answer": "duplicate"}),
        ("/label/honey", {"count": HUGE}),
        ("/label/judges", {"judge": "Ada", "left_out": HUGE}),
    ):
        assert client.send_form(path, **fields).status_code == 422


def test_an_index_of_the_review_that_vanished_is_told(folder: Path) -> None:
    client = Client(folder)
    (folder / ".studio" / "review.db").write_bytes(b"damaged" * 1000)
    client.studio.kept["review"].index._local.__dict__.clear()
    answer = client.get("/review")
    assert answer.status_code == 507 and "start the studio again" in answer.text
    assert Client(folder).get("/review").status_code == 200  # it is made again


def test_decisions_that_vanished_are_no_empty_file(folder: Path) -> None:
    client = Client(folder)
    (folder / "decisions.db").unlink()
    answer = client.send_form("/review/decide", **DECISION)
    assert answer.status_code in (422, 507) and "cannot be read or written" in answer.text
    assert not (folder / "decisions.db").exists()


def test_labels_that_vanished_take_no_judgement(folder: Path) -> None:
    client = Client(folder)
    client.send_form("/label/begin", preset="one person")
    store = client.studio.kept["labels"]
    store.add([NewPair("harbour", "census")], {"harbour": "a", "census": "b"})
    for path in folder.glob("labels.db*"):
        path.unlink()
    answer = client.send_form("/label/judge", item=1, answer="duplicate")
    assert answer.status_code == 422 and "has vanished" in answer.text


def test_a_full_disk_loses_no_label_and_the_studio_goes_on(tmp_path: Path) -> None:
    store = LabelStore(tmp_path / "labels.db")
    text = "x" * 100_000
    with (
        full_disk(60_000),
        pytest.raises(StorageError, match=r"labels\.db cannot be used as a store of labels"),
    ):
        store.add([NewPair("a", "b")], {"a": text, "b": text})
    assert store.items() == []
    assert store.add([NewPair("a", "b")], {"a": text, "b": text}) == 1  # there is room again


def test_a_full_disk_refuses_a_decision_in_words(tmp_path: Path) -> None:
    store = DecisionStore(tmp_path / "decisions.db")
    ids = ["x" * 100_000]
    with full_disk(60_000), pytest.raises(OutputError, match="cannot be read or written") as error:
        store.record("c", 0, "confirm", ids, [], "Ada")
    assert "rollback" not in str(error.value)  # the disk is what is wrong
    assert store.record("c", 0, "confirm", ids, [], "Ada").number == 1


def test_one_judge_needs_no_consensus() -> None:
    assert "unanimous" not in protocol_words(PRESETS["one person"])
    assert "unanimous" in protocol_words(PRESETS["crowd"])


def test_a_damaged_run_at_a_threshold_leaves_the_workbench_usable(folder: Path) -> None:
    for name in ("threshold-0.9", "threshold-high"):
        (folder / ".studio" / name).mkdir(parents=True)
        (folder / ".studio" / name / "report.json").write_text("{}")
    client = Client(folder)
    answer = client.get("/workbench", params={"threshold": "0.9"})
    assert answer.status_code == 200 and "Run at 0.9" in answer.text
    assert client.get("/workbench/compare", params={"with": "0.9"}).status_code == 422


def test_an_undo_of_a_cluster_that_the_result_has_no_more_is_shown(folder: Path) -> None:
    client = Client(folder)
    person = next(iter(client.studio.sessions._known.values())).name
    client.studio.kept["review"].store.record("of an earlier run", 0, "confirm", [], [], person)
    answer = client.send_form("/review/decide", **{**DECISION, "action": "undo"})
    assert answer.status_code == 200 and "of an earlier run" in answer.text


def test_pairs_that_wait_are_not_called_judged(folder: Path) -> None:
    client = Client(folder)
    client.send_form("/label/begin", preset="crowd")
    client.studio.kept["labels"].add([NewPair("a", "b")], {"a": "x", "b": "y"})
    answer = client.get("/label/pairs").text
    assert "No pair is ready to be judged. 1 wait for labels" in answer


def test_a_threshold_that_changes_no_decision_is_not_called_better() -> None:
    run = {"threshold": 0.7}
    same = {"threshold": 0.5, "changed": 0, "difference_interval": {"low": 0.0}}
    assert "as the run does" in _advice(run, same) and "may be better" not in _advice(run, same)
    assert "may be better" in _advice(run, {**same, "changed": 2})


@pytest.mark.parametrize(
    ("name", "content"),
    [("mine.csv", 'id_a,id_b,label\n"harbour,census,near\n'), ("mine.jsonl", '{"id_a": 1,')],
)
def test_a_broken_table_is_named_as_it_was_given(folder: Path, name: str, content: str) -> None:
    client = Client(folder)
    client.send_form("/label/begin", preset="one person")
    client.send_form("/label/import", name=name, content=content)
    job = client.studio.kept["job"]
    while not job.done:
        time.sleep(0.01)
    assert job.error.startswith(f"{name}, record 1: ")


def test_a_result_that_was_written_again_takes_no_decision(folder: Path) -> None:
    client = Client(folder)
    os.utime(folder / "report.json", (1, 1))
    for answer in (client.send_form("/review/decide", **DECISION), client.get("/workbench")):
        assert answer.status_code == 422 and "start the studio again" in answer.text
    assert not client.studio.kept["review"].store.people()
