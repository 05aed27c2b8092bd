"""A simulated crowd labels in two phases over HTTP; kappa and labels come out as computed by hand."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from crowds import NAMES, Judge, begin, by_hand, judge_all, votes_of, wait_for_job
from studios import ARTICLES, Client

import naive_scores as naive
from neardup.cli import main
from neardup.labelling import quality
from neardup.labelling.store import LabelStore

STORIES = {row["id"]: row["cluster"] for row in csv.DictReader((ARTICLES.parent / "stories.csv").open())}
LISTS = {id for k, id in enumerate(sorted(STORIES)) if k % 9 == 0}  # that the crowd finds irrelevant
DOCUMENT, PAIR = (
    ["yes", "no", "unclear", "other", "language"],
    ["duplicate", "containment a", "near", "different"],
)


def about_document(id: str) -> str:
    return "no" if id in LISTS else "yes"


def about_pair(a: str, b: str) -> str:
    if STORIES.get(a, a) != STORIES.get(b, b):
        return "different"
    return "containment a" if "brief" in b else "duplicate"


def others(names: list[str]) -> Callable[[str], list[str]]:
    return lambda right: [name for name in names if name != right]


@pytest.fixture(scope="module")
def crowd(clean: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Client, list[Judge], Path]:
    folder = tmp_path_factory.mktemp("crowd") / "clean"
    shutil.copytree(clean, folder)
    owner = begin(folder, "crowd", 40, honey_share="0")
    rates = {"ann": 0.0, "bob": 0.1, "eva": 0.15, "joe": 0.3}
    judges = [Judge(name, rate, Client(folder), k) for k, (name, rate) in enumerate(rates.items())]
    judge_all(judges, "documents", about_document, others(DOCUMENT))
    settle(owner, about_document)
    judge_all(judges, "pairs", about_pair, others(PAIR))
    return owner, judges, folder


def settle(owner: Client, truth: Callable[..., str]) -> int:
    count = 0
    while found := re.search(r'name="item" value="(\d+)"', page := owner.get("/label/disputed").text):
        answer = truth(*NAMES.findall(page))
        assert "What the judges said" in page
        done = owner.send_form("/label/judge", item=found.group(1), role="adjudicator", answer=answer)
        assert done.status_code == 200
        count += 1
    return count


def test_no_item_gets_more_judges_than_it_needs(crowd: tuple[Client, list[Judge], Path]) -> None:
    _, judges, _ = crowd
    for phase, needed in (("documents", 2), ("pairs", 3)):
        votes = votes_of(judges, phase)
        assert votes and {len(one) for one in votes.values()} == {needed}


def test_pairs_of_phase_2_are_those_of_documents_that_all_said_yes_to(
    crowd: tuple[Client, list[Judge], Path],
) -> None:
    _, judges, folder = crowd
    store = LabelStore(folder / "labels.db")
    sampled = {(one.a, one.b) for one in store.items("kind = 'pair'")}
    final = {}
    for (id,), answers in votes_of(judges, "documents").items():
        given = set(answers.values())
        final[id] = given.pop() if len(given) == 1 else about_document(id)  # what the adjudicator said
    assert set(final) == {id for pair in sampled for id in pair}
    expected = {pair for pair in sampled if all(final[id] == "yes" for id in pair)}
    assert set(votes_of(judges, "pairs")) == expected and expected < sampled


@pytest.mark.parametrize("phase", ["documents", "pairs"])
def test_agreement_is_what_one_computes_by_hand(crowd: tuple[Client, list[Judge], Path], phase: str) -> None:
    owner, judges, folder = crowd
    votes = votes_of(judges, phase)
    raw, fleiss = by_hand([list(one.values()) for one in votes.values()])
    found = quality.agreement(LabelStore(folder / "labels.db"), phase[:-1])
    assert (found.raw, found.fleiss) == (pytest.approx(raw), pytest.approx(fleiss))
    common = [one for one in votes.values() if "ann" in one and "bob" in one]
    kappa = naive.cohen([one["ann"] for one in common], [one["bob"] for one in common])
    assert found.by_pair["ann", "bob"] == (len(common), pytest.approx(
        sum(one["ann"] == one["bob"] for one in common) / len(common)), pytest.approx(kappa))  # fmt: skip
    page = owner.get("/label").text
    assert f">{fleiss:.3f}<" in page and f">{raw:.3f}<" in page
    shares = {one.judge: one.raw for one in quality.judges(LabelStore(folder / "labels.db"), phase[:-1])}
    assert shares["ann"] > shares["joe"]


def test_labels_are_those_that_all_gave_and_those_that_were_settled(
    crowd: tuple[Client, list[Judge], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owner, judges, _ = crowd
    votes = votes_of(judges, "pairs")
    split = [ids for ids, answers in votes.items() if len(set(answers.values())) > 1]
    assert settle(owner, about_pair) == len(split) > 0
    rows = list(csv.DictReader(io.StringIO(owner.get("/label/tables/pairs.csv").text)))
    expected = {}
    for ids, answers in votes.items():
        answer = about_pair(*ids) if ids in split else next(iter(answers.values()))
        expected[ids] = ("containment", "a") if answer == "containment a" else (answer, "")
    assert {(row["id_a"], row["id_b"]): (row["label"], row["has_more"]) for row in rows} == expected
    assert {row["settled"] for row in rows} == {"agreed", "adjudicated"}
    (tmp_path / "pairs.csv").write_text(owner.get("/label/tables/pairs.csv").text)
    (tmp_path / "documents.csv").write_text(owner.get("/label/tables/documents.csv").text)
    (tmp_path / "judgements.csv").write_text(owner.get("/label/tables/judgements.csv").text)
    given = [str(ARTICLES), "--bootstrap", "0", "--splits", "0", "--json"]
    main(["evaluate", *given, "--labels", str(tmp_path / "pairs.csv")])
    assert json.loads(capsys.readouterr().out)["labels"]["pairs"] == len(expected)
    main(
        [
            "evaluate",
            *given,
            "--labels",
            str(tmp_path / "judgements.csv"),
            "--document-labels",
            str(tmp_path / "documents.csv"),
        ]
    )
    labels = json.loads(capsys.readouterr().out)["labels"]
    unanimous = {id for (id,), one in votes_of(judges, "documents").items() if set(one.values()) == {"yes"}}
    kept = [one for ids, one in votes.items() if set(ids) <= unanimous]
    assert labels["pairs"] + labels["unclear"] + labels["excluded"] <= len(votes) and kept
    _, fleiss = by_hand([list(one.values()) for one in votes_of(judges, "documents").values()])
    assert labels["document_agreement"]["fleiss_kappa"] == pytest.approx(fleiss, abs=1e-9)
    exact = labels["agreement"]["labels"]
    words = {"containment a": "containment"}
    _, fleiss = by_hand([[words.get(answer, answer) for answer in one.values()] for one in votes.values()])
    assert exact["fleiss_kappa"] == pytest.approx(fleiss, abs=1e-9)


def test_honey_pots_find_the_judge_who_guesses(clean: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clean"
    shutil.copytree(clean, folder)
    owner = begin(folder, "one person", 40)
    Judge("owner", 0.0, owner, 0)
    table = "id_a,id_b,label\n" + "".join(
        f"{one.a},{one.b},{'different' if about_pair(one.a, one.b) == 'different' else 'duplicate'}\n"
        for one in LabelStore(folder / "labels.db").items("kind = 'pair'")[:12]
    )
    owner.send_form("/label/import", content=table, name="gold.csv", honey="yes")
    assert "12 honey pots" in wait_for_job(owner)
    owner.send_form("/label/protocol", honey_share="0.3", honey_least="5", honey_bar="0.7", pair_judges="2")
    right = lambda a, b: "different" if about_pair(a, b) == "different" else "duplicate"  # noqa: E731
    judges = [Judge("ann", 0.0, Client(folder), 1), Judge("mal", 0.8, Client(folder), 2)]
    judge_all(judges, "pairs", right, others(["duplicate", "near", "different"]))
    found = {one.judge: one for one in quality.judges(LabelStore(folder / "labels.db"), "pair")}
    assert found["ann"].honey >= 5 and found["ann"].honey_share == 1 and not found["ann"].flagged
    assert found["mal"].flagged and found["mal"].honey_share < 0.7
    assert "Below the bar" in owner.get("/label").text
    before = quality.progress(LabelStore(folder / "labels.db"), "pair").by_state
    owner.send_form("/label/judges", judge="mal", left_out="1")
    after = quality.progress(LabelStore(folder / "labels.db"), "pair").by_state
    assert (
        "open" not in before and after["open"] == before["agreed"] + before["disputed"]
    )  # each pair needs another judge
    assert not judges[1].judge("pairs", right, others(PAIR))
    owner.send_form("/label/judges", judge="mal", left_out="0")
    assert quality.progress(LabelStore(folder / "labels.db"), "pair").by_state == before
