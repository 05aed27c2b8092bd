"""Decisions of people: stored once and for all, never over another's, and followed by a run."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neardup
from neardup.cli import main
from neardup.decisions.rules import DocumentState, after, text_digest
from neardup.decisions.store import Conflict, DecisionStore, read_decisions
from neardup.errors import InputError, NeardupError
from sentences import overlapping

STORIES = overlapping(random.Random(5), 3)
CORPUS = [
    {"id": f"{name}{number}", "text": f"{text} {' '.join(f'{name}{number}w{k}' for k in range(number))}"}
    for name, text in zip("abc", STORIES, strict=True)
    for number in range(5)
] + [{"id": "lone", "text": "words of its own, and of nobody else in here"}]
TEXTS = {one["id"]: one["text"] for one in CORPUS}


@pytest.fixture(scope="module")
def machine() -> neardup.Result:
    return neardup.dedup(pa.Table.from_pylist(CORPUS), threshold=0.3)


def members_of(result: neardup.Result) -> dict[str, list[DocumentState]]:
    """The clusters as a person sees them."""
    found: dict[str, list[DocumentState]] = {}
    for row in result.clusters.to_pylist():
        digest = text_digest(TEXTS[row["id"]])
        found.setdefault(row["cluster"], []).append(
            DocumentState(row["id"], digest, row["keep"], row["duplicate_of"])
        )
    return found


def decide(
    store: DecisionStore, members: dict[str, list[DocumentState]], name: str, action: Any, *chosen: str
) -> Any:
    """A decision as the page stores it: from the states that stand."""
    standing = store.standing([one.id for one in members[name]])
    states = [standing[one.id].state if one.id in standing else one for one in members[name]]
    rows = store.of_cluster(name)
    version = rows[-1].number if rows else 0
    return store.record(name, version, action, chosen, after(action, states, chosen), "Ada")


def rerun(path: Path, corpus: list[dict[str, str]] = CORPUS, **options: Any) -> neardup.Result:
    return neardup.dedup(pa.Table.from_pylist(corpus), threshold=0.3, decisions=path, **options)


def ids(table: Any) -> set[str]:
    return set(table.column("id").to_pylist())


def check_sound(result: neardup.Result) -> None:
    """What every result has, whoever decided."""
    rows = {row["id"]: row for row in result.clusters.to_pylist()}
    kept = ids(result.kept)
    assert kept | ids(result.removed) == {row["id"] for row in CORPUS}
    sizes: dict[str, int] = {}
    for row in rows.values():
        sizes[row["cluster"]] = sizes.get(row["cluster"], 0) + 1
        assert row["keep"] == (row["id"] in kept) == (row["duplicate_of"] is None)
        if row["duplicate_of"] is not None:
            other = rows[row["duplicate_of"]]
            assert other["keep"] and other["cluster"] == row["cluster"]
        assert rows[row["leader"]]["keep"] and rows[row["leader"]]["cluster"] == row["cluster"]
    for row in rows.values():
        assert row["size"] == sizes[row["cluster"]]
        assert row["cluster"] == min(one["id"] for one in rows.values() if one["cluster"] == row["cluster"])
        assert row["size"] > 1 or row["decided_by"] != "machine"
    assert ids(result.removed) <= rows.keys()


def test_without_decisions_nothing_changes(tmp_path: Path, machine: neardup.Result) -> None:
    DecisionStore(tmp_path / "d.db")
    result = rerun(tmp_path / "d.db")
    assert result.clusters.select(machine.clusters.column_names).equals(machine.clusters)
    assert set(result.clusters.column("decided_by").to_pylist()) == {"machine"}
    assert result.report["decisions"]["applied"] == 0


def test_each_action_does_what_it_says(tmp_path: Path, machine: neardup.Result) -> None:
    members = members_of(machine)
    a, b, c = sorted(members)
    store = DecisionStore(tmp_path / "d.db")
    heads = {name: next(one.id for one in members[name] if one.keep) for name in members}
    others = {name: [one.id for one in members[name] if not one.keep] for name in members}
    decide(store, members, a, "restore", others[a][0])
    decide(store, members, a, "separate", others[a][1])
    decide(store, members, b, "keep", others[b][0])
    decide(store, members, c, "split", *others[c][:2])
    result = rerun(store.path)
    check_sound(result)
    assert ids(result.kept) - ids(machine.kept) == {*others[a][:2], others[b][0], others[c][0]}
    assert ids(machine.kept) - ids(result.kept) == {heads[b]}
    rows = {row["id"]: row for row in result.clusters.to_pylist()}
    assert rows[others[a][0]]["cluster"] == rows[heads[a]]["cluster"]
    assert rows[others[a][1]]["size"] == 1
    assert {rows[one]["duplicate_of"] for one in (heads[b], *others[b][1:])} == {others[b][0]}
    assert rows[others[c][1]]["duplicate_of"] == others[c][0] != heads[c]
    assert rows[others[c][0]]["cluster"] != rows[heads[c]]["cluster"]
    compared = neardup.compare(TEXTS[heads[b]], TEXTS[others[b][0]], threshold=0.3)
    assert rows[heads[b]]["similarity"] == pytest.approx(compared.similarity)
    assert rows[heads[b]]["machine_keep"] and rows[heads[b]]["decided_by"] == "Ada"
    assert rows[others[b][0]]["machine_duplicate_of"] == heads[b] and rows[others[b][0]]["decision"] == "keep"


ACTS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["confirm", "keep", "restore", "separate", "split", "undo"]),
        st.sets(st.integers(0, 4), min_size=1, max_size=3),
    ),
    max_size=8,
)


@settings(max_examples=25)
@given(acts=ACTS)
def test_a_run_follows_any_decisions(
    acts: list[tuple[int, Any, set[int]]], machine: neardup.Result, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What people see is what they get: the states that stand are those of the result."""
    members = members_of(machine)
    store = DecisionStore(tmp_path_factory.mktemp("acts") / "d.db")
    for which, action, picked in acts:
        name = sorted(members)[which]
        try:
            if action == "undo":
                last = store.last_of("Ada")
                store.undo(last.number if last else 0, "Ada")
            else:
                decide(store, members, name, action, *(members[name][k].id for k in sorted(picked)))
        except InputError:
            continue
    result = rerun(store.path)
    check_sound(result)
    standing = store.standing()
    for row in result.clusters.to_pylist():
        if row["id"] in standing:
            assert row["keep"] == standing[row["id"]].state.keep
            assert row["duplicate_of"] == standing[row["id"]].state.duplicate_of
    seen = {
        one.id: standing[one.id].state if one.id in standing else one
        for some in members.values()
        for one in some
    }
    rows = {row["id"]: row for row in result.clusters.to_pylist()}
    assert {name for name, one in seen.items() if not one.keep} == ids(result.removed)
    for name, one in seen.items():
        if one.duplicate_of is not None:
            assert rows[name]["duplicate_of"] == one.duplicate_of
    for some in members.values():  # who is with whom
        alone = {one.id: seen[one.id].group or "machine" for one in some}
        for left in alone:
            for right in alone:
                if left in rows and right in rows:
                    together = rows[left]["cluster"] == rows[right]["cluster"]
                    assert together == (alone[left] == alone[right])


def test_absent_and_changed_documents_are_reported(tmp_path: Path, machine: neardup.Result) -> None:
    members = members_of(machine)
    a, b, c = sorted(members)
    store = DecisionStore(tmp_path / "d.db")
    restored = [next(one.id for one in members[name] if not one.keep) for name in (a, b)]
    decide(store, members, a, "restore", restored[0])
    decide(store, members, b, "restore", restored[1])
    decide(store, members, c, "confirm")
    head = next(one.id for one in members[c] if one.keep)
    corpus = [
        row | {"text": row["text"] + " edited"} if row["id"] in (restored[1], head) else row
        for row in CORPUS
        if row["id"] != restored[0]
    ]
    report = rerun(store.path, corpus).report["decisions"]
    # The head of c changed: it and what goes for it are decided by the machine again.
    assert (report["absent"], report["changed"], report["applied"]) == (1, 1 + len(members[c]), 0)
    assert {one["id"] for one in report["not_applied"] if one["why"] == "absent"} == {restored[0]}


def test_two_people_do_not_overwrite_each_other(tmp_path: Path, machine: neardup.Result) -> None:
    members = members_of(machine)
    name = min(members)
    ours, theirs = DecisionStore(tmp_path / "d.db"), DecisionStore(tmp_path / "d.db")
    first = ours.record(name, 0, "confirm", [], members[name], "Ada")
    with pytest.raises(Conflict) as caught:
        theirs.record(name, 0, "separate", [members[name][1].id], [], "Bob")
    assert caught.value.since == (first,) and "Ada" in str(caught.value)
    second = theirs.record(name, first.number, "skip", [], [], "Bob")
    with pytest.raises(Conflict):
        ours.undo(first.number, "Ada")
    theirs.undo(second.number, "Bob")
    ours.undo(first.number, "Ada")
    assert ours.standing() == {} and len(ours.of_cluster(name)) == 4
    with pytest.raises(InputError, match="undone already"):
        ours.undo(first.number, "Ada")


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    path, states = tmp_path / "d.db", [DocumentState("x", b"", True)]
    DecisionStore(path)

    def write(person: int) -> None:
        store = DecisionStore(path)
        for number in range(20):
            store.record(f"{person}-{number}", 0, "confirm", [], states, str(person))

    threads = [threading.Thread(target=write, args=(person,)) for person in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert DecisionStore(path).people() == {str(person): 20 for person in range(4)}


def test_a_kill_loses_no_acknowledged_decision(tmp_path: Path) -> None:
    """A process that prints each decision once it is stored is killed at a random moment."""
    script = (
        "import sys; from pathlib import Path; from neardup.decisions.store import DecisionStore\n"
        "from neardup.decisions.rules import DocumentState\n"
        "store = DecisionStore(Path(sys.argv[1]))\n"
        "for k in range(10**6):\n"
        "    store.record(str(k), 0, 'confirm', [], [DocumentState(str(k), b'', True)], 'Ada')\n"
        "    print(k, flush=True)\n"
    )
    path = tmp_path / "d.db"
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(25)]
    process.kill()
    seen += process.stdout.readlines()
    process.wait()
    known = {int(one.state.id) for one in read_decisions(path)}
    assert {int(line) for line in seen if line.endswith("\n")} <= known


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"\x00" * 200])
def test_files_of_something_else_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "d.db"
    path.write_bytes(content)
    with pytest.raises(NeardupError):
        read_decisions(path)
    with pytest.raises(NeardupError):
        read_decisions(tmp_path / "none.db")


def test_the_command_follows_decisions_in_both_modes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "corpus.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in CORPUS))
    main(["dedup", str(source), "-o", str(tmp_path / "clean"), "--threshold", "0.3"])
    members = members_of(neardup.dedup(str(source), threshold=0.3))
    store, name = DecisionStore(tmp_path / "clean" / "decisions.db"), min(members)
    gone = [one.id for one in members[name] if not one.keep]
    decide(store, members, name, "restore", gone[0])
    decide(store, members, name, "confirm")
    words = ["dedup", str(source), "--threshold", "0.3", "--decisions", str(store.path)]
    main([*words, "-o", str(tmp_path / "removed")])
    assert (
        f"decisions of 1 person about {len(members[name])} documents followed: 1 restored"
        in capsys.readouterr().out
    )
    removed = [json.loads(line) for line in (tmp_path / "removed" / "removed.jsonl").read_text().splitlines()]
    assert {row["decided_by"] for row in removed} == {"Ada", "machine"}
    assert gone[0] in (tmp_path / "removed" / "kept.jsonl").read_text()
    main([*words, "-o", str(tmp_path / "marked"), "--mode", "annotate"])
    marked = [json.loads(line) for line in (tmp_path / "marked" / "annotated.jsonl").read_text().splitlines()]
    by_id = {row["id"]: row for row in marked}
    assert (
        by_id[gone[0]]["keep"]
        and by_id[gone[0]]["decided_by"] == "Ada"
        and by_id["lone"]["decided_by"] is None
    )
    table = pq.read_table(tmp_path / "marked" / "clusters.parquet")
    assert table.column_names[-5:] == [
        "decided_by",
        "decision",
        "decided_at",
        "machine_keep",
        "machine_duplicate_of",
    ]
    main(["report", str(tmp_path / "removed")])
    assert json.loads((tmp_path / "removed" / "report.json").read_text())["command"] == [
        str(source), "--threshold", "0.3",
    ]  # fmt: skip


@pytest.mark.parametrize("linkage", ["components", "average", "complete"])
def test_other_kinds_of_clusters_follow_too(tmp_path: Path, linkage: Any) -> None:
    result = neardup.dedup(pa.Table.from_pylist(CORPUS), threshold=0.3, clusters=linkage)
    members, store = members_of(result), DecisionStore(tmp_path / "d.db")
    name = min(members)
    decide(store, members, name, "split", *[one.id for one in members[name] if not one.keep][:2])
    followed = rerun(store.path, clusters=linkage)
    check_sound(followed)
    assert len(followed.kept) == len(result.kept) + 1
    assert rerun(store.path, clusters=linkage).rethreshold(0.35).report["decisions"]["applied"] == 2


def test_spark_refuses_decisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["dedup", "x.jsonl", "-o", str(tmp_path), "--engine", "spark", "--decisions", "d.db"])
    assert stopped.value.code == 2 and "--decisions" in capsys.readouterr().err
