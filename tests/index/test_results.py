"""Result lists: folded under the best visible document, as if hidden documents did not exist."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from random_corpora import random_texts
from random_documents import documents

from neardup.cli import group
from neardup.errors import InputError, ParameterError
from neardup.index.collapse import clusters_by_master, collapse
from neardup.index.decisions import crawl_order
from neardup.index.documents import (
    MASTERS,
    FingerprintedDocument,
    best_first,
    find_neighbours,
    may_see,
    reserved_bits,
)
from neardup.index.index import Index
from neardup.index.inputs import AttributeColumns, read_access
from neardup.index.stored_pairs import access_of
from neardup.registry import get_method

groups = st.frozensets(st.sampled_from("abc"))


@given(documents, groups, st.sampled_from(["rank", "time", "length"]))
def test_results_do_not_depend_on_hidden_documents(
    results: list[FingerprintedDocument], mine: frozenset[str], order: str
) -> None:
    visible = [document for document in results if may_see(mine, document.access)]
    shown = collapse(results, mine, order=order)  # type: ignore[arg-type]
    assert shown == collapse(visible, mine, order=order)  # type: ignore[arg-type]
    everything = [document for one in shown for document in (one.shown, *one.folded)]
    assert sorted(document.id for document in everything) == sorted(document.id for document in visible)


@given(documents)
def test_folded_documents_are_near_the_one_shown(results: list[FingerprintedDocument]) -> None:
    for one in collapse(results, {"a", "b", "c"}, distance=2):
        for document in one.folded:
            assert document.fingerprint is not None and one.shown.fingerprint is not None
            assert (document.fingerprint ^ one.shown.fingerprint).bit_count() <= 2
            assert (one.shown.quality or 0) >= (document.quality or 0)


def test_the_best_visible_one_stands_for_the_others() -> None:
    results = [
        FingerprintedDocument("a", 0, frozenset({"x"}), quality=3),
        FingerprintedDocument("b", 1, quality=1, time=5),
        FingerprintedDocument("c", 2, quality=2, time=9),
    ]
    assert [(one.shown.id, [d.id for d in one.folded]) for one in collapse(results, {"x"})] == [
        ("a", ["b", "c"])
    ]
    assert [(one.shown.id, [d.id for d in one.folded]) for one in collapse(results)] == [("c", ["b"])]
    newest = collapse(results, {"x"}, order="time")[0].folded
    assert [document.id for document in newest] == ["c", "b"]
    with pytest.raises(ParameterError, match="order"):
        collapse(results, order="best")  # type: ignore[arg-type]


def test_two_that_resemble_a_hidden_one_are_not_folded() -> None:
    results = [
        FingerprintedDocument("a", 0b111),
        FingerprintedDocument("hidden", 0, frozenset({"x"})),
        FingerprintedDocument("b", 0b111000),
    ]
    assert [one.shown.id for one in collapse(results)] == ["a", "b"]


@given(documents, st.sampled_from(MASTERS), st.integers(0, 4))
def test_clusters_are_those_of_a_plain_search(
    results: list[FingerprintedDocument], master: str, distance: int
) -> None:
    """Best first, a free document takes all that are free and near: printed in the plainest way."""
    free, expected = best_first(results, master), []  # type: ignore[arg-type]
    while free:
        lead = results[free[0]].fingerprint
        near = [
            n for n in free[1:]
            if lead is not None and (other := results[n].fingerprint) is not None
            and (lead ^ other).bit_count() <= distance
        ]  # fmt: skip
        expected.append([free[0], *sorted(near)])
        free = [n for n in free[1:] if n not in near]
    near = find_neighbours(results, distance)
    assert clusters_by_master(results, near, master=master) == sorted(expected, key=min)  # type: ignore[arg-type]


def test_masters() -> None:
    pages = [
        FingerprintedDocument("old", 0, time=1, length=9, quality=1, url="http://a/long"),
        FingerprintedDocument("new", 1, time=2, length=3, quality=None, url=None),
        FingerprintedDocument("good", 2, time=0, length=3, quality=5, url="http://a/"),
    ]
    near = find_neighbours(pages, 3)
    found = {master: pages[clusters_by_master(pages, near, master=master)[0][0]].id for master in MASTERS}  # type: ignore[arg-type]
    assert found == {
        "rank": "old",
        "quality": "good",
        "newest": "new",
        "shortest_url": "good",
        "longest": "old",
    }
    with pytest.raises(ParameterError, match="shortest_url"):
        clusters_by_master(pages, near, master="best")  # type: ignore[arg-type]


def test_reserved_bits_must_be_equal() -> None:
    plan = get_method("simhash").plan(weights="tf", fields="section", reserve="section:8")
    same = reserved_bits(plan)
    assert same == 0xFF << 56 and reserved_bits(get_method("simhash").plan()) == 0
    pages = [
        FingerprintedDocument("a", 0),
        FingerprintedDocument("b", 1),
        FingerprintedDocument("c", 1 << 60),
    ]
    everywhere, apart = find_neighbours(pages, 3), find_neighbours(pages, 3, same)
    assert clusters_by_master(pages, everywhere) == [[0, 1, 2]]
    assert clusters_by_master(pages, apart) == [[0, 1], [2]]
    assert crawl_order(pages, apart) == ["a", "c", "b"]


def test_a_name_is_no_list_of_groups() -> None:
    with pytest.raises(ParameterError, match="a list of names"):
        collapse([FingerprintedDocument("a", 0, frozenset({"b"}))], "board")


def test_fingerprints_of_many_bits_and_thousands_of_copies() -> None:
    wide = [
        FingerprintedDocument("a", 1 << 300),
        FingerprintedDocument("b", (1 << 300) | 1),
        FingerprintedDocument("c", 0),
    ]
    assert clusters_by_master(wide, find_neighbours(wide, 1)) == [[0, 1, 2]]  # c is one bit from a
    assert clusters_by_master(wide[1:], find_neighbours(wide[1:], 1)) == [[0], [1]]
    copies = [FingerprintedDocument(n, 7, digest=b"7") for n in range(30_000)]
    assert len(collapse(copies)[0].folded) == 29_999  # no pair of each
    assert crawl_order(copies, find_neighbours(copies, 3)) == list(range(30_000))


def test_the_command_hides_documents_from_other_groups(tmp_path: Path) -> None:
    words = " ".join(f"w{i}" for i in range(80))
    rows = [
        {"id": "secret", "text": words, "who": ["board"], "rank": 3},
        {"id": "one", "text": words + " more", "who": None, "rank": 1},
        {"id": "two", "text": words, "who": "staff,board", "rank": 2},
        {"id": "far", "text": "nothing of the kind", "who": None, "rank": 0},
    ]
    path = tmp_path / "results.jsonl"
    path.write_text(
        "".join(
            json.dumps({**row, "who": ",".join(row["who"]) if isinstance(row["who"], list) else row["who"]})
            + "\n"
            for row in rows
        )
    )
    options = [
        "collapse",
        str(path),
        "--access-column",
        "who",
        "--quality-column",
        "rank",
        "--distance",
        "6",
        "--json",
    ]
    printed = {
        who: [
            json.loads(line)
            for line in CliRunner().invoke(group, [*options, "--access-groups", who]).output.splitlines()
        ]
        for who in ("", "staff", "board")
    }
    assert printed[""] == [{"id": "one", "folded": []}, {"id": "far", "folded": []}]
    assert printed["staff"] == [{"id": "two", "folded": ["one"]}, {"id": "far", "folded": []}]
    assert printed["board"] == [{"id": "secret", "folded": ["one", "two"]}, {"id": "far", "folded": []}]


def _collapse(path: Path, *options: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(group, ["collapse", str(path), "--distance", "6", *options])
    return done.exit_code, done.stdout, done.stderr + (str(done.exception) if done.exception else "")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "csv"])
@pytest.mark.parametrize("json_", [True, False])
def test_the_output_is_that_of_a_list_without_the_hidden_documents(
    tmp_path: Path, suffix: str, json_: bool
) -> None:
    """Word for word, on standard error too, for all groups, orders and masters."""
    import itertools
    import random

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    random_ = random.Random(5)
    words = [f"w{i}" for i in range(80)]
    who = [None, ["a"], ["b"], ["a", "b"], [], ["board"]]
    rows = [
        {"id": f"d{k}", "text": " ".join(words[k % 3 * 20 : 60]) + f" x{random_.randrange(3)}",
         "who": random_.choice(who), "q": random_.choice([None, 1, 2]),
         "day": f"2020-01-0{random_.randrange(1, 9)}", "url": "u" * random_.randrange(1, 9)}
        for k in range(40)
    ]  # fmt: skip

    def write(name: str, some: list[dict[str, object]]) -> Path:
        path = tmp_path / f"{name}.{suffix}"
        if suffix == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in some))
        elif suffix == "parquet":
            pyarrow.parquet.write_table(pa.Table.from_pylist(some), path)
        else:
            some = [{**row, "who": "" if row["who"] is None else json.dumps(row["who"])} for row in some]
            pyarrow.csv.write_csv(pa.Table.from_pylist(some), path)
        return path

    whole = write("whole", rows)
    columns = [
        "--access-column",
        "who",
        "--quality-column",
        "q",
        "--time-column",
        "day",
        "--url-column",
        "url",
    ]
    for mine, (order, master) in itertools.product(
        (set(), {"a"}, {"b", "board"}), [("rank", "quality"), ("time", "newest"), ("length", "shortest_url")]
    ):
        visible = [row for row in rows if row["who"] is None or set(row["who"]) & mine]  # type: ignore[call-overload]
        options = [*columns, "--order", order, "--master", master, "--access-groups", ",".join(mine)]
        options += ["--json"] * json_
        code, out, err = _collapse(whole, *options)
        alone = _collapse(write("visible", visible), *options)
        assert (code, out, err.replace("whole", "visible")) == alone and code == 0
        hidden = {str(row["id"]) for row in rows} - {str(row["id"]) for row in visible}
        assert not hidden & set(out.replace('"', " ").replace(",", " ").replace("]", " ").split())


def test_what_hidden_rows_hold_is_never_complained_about(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "some words", "who": None, "q": "1"},
        {"id": "a", "text": "hidden twin of that id", "who": "board", "q": "no number"},
        {"id": None, "text": None, "who": ["board"], "q": "neither"},
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n")
    options = ["--access-column", "who", "--quality-column", "q"]
    code, out, err = _collapse(path, *options)
    assert (code, out) == (0, "a\n")
    assert (
        err == f"{path} has records that cannot be read; use --strict to stop at the first.\n"
    )  # no number, no place
    code, _, err = _collapse(path, *options, "--access-groups", "board")
    assert code != 0 and ("no number" in err or "more than one document" in err)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--access-column", "nope"], "has no column 'nope'"),
        (["--method", "minhash"], "has no fingerprints"),
        (["--weights", "tfidf"], "Give frozen statistics"),
        (["--weights", "tf, position(log(x)"], "as many '(' as ')'"),
        (["--weights", "tf, position(import os)"], "expression"),
        (["--fields", "author"], "no column 'author'"),
        (["--id-column", "nope"], "nope"),
        (["--distance", "x"], "option --distance of simhash"),
    ],
)
def test_bad_requests_get_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    from neardup.cli import main

    path = tmp_path / "results.jsonl"
    path.write_text('{"id": "a", "text": "some words"}\n{"id": "b", "text": ""}\n')
    with pytest.raises(SystemExit) as ended:
        main(["collapse", str(path), *options])
    printed = capsys.readouterr()
    assert (
        ended.value.code == 2 and sentence in printed.err and printed.err.count("\n") == 1 and not printed.out
    )


def test_results_without_ids_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from neardup.cli import main

    path = tmp_path / "results.jsonl"
    path.write_text('{"text": "some words"}\n')
    with pytest.raises(SystemExit):
        main(["collapse", str(path)])
    assert "--id-column" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None), ("", None), ("  ", None), ([], frozenset()), ("[]", frozenset()), (",", frozenset()),
        ("a, b", frozenset("ab")), (["a", " b ", None], frozenset("ab")), ('["a","b"]', frozenset("ab")),
        (7, frozenset({"7"})), ("[a", frozenset({"[a"})),
    ],
)  # fmt: skip
def test_groups_with_access(value: object, expected: frozenset[str] | None) -> None:
    assert access_of(read_access(value)) == expected


def test_groups_without_a_column_of_groups_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from neardup.cli import main

    path = tmp_path / "results.jsonl"
    path.write_text('{"id": "a", "text": "for the board alone", "groups": "board"}\n')
    with pytest.raises(SystemExit):
        main(["collapse", str(path), "--access-groups", "staff"])
    assert "needs --access-column" in capsys.readouterr().err
    main(["collapse", str(path), "--access-groups", "staff", "--access-column", "groups"])
    assert capsys.readouterr().out == ""


# result lists of an index ------------------------------------------------------------------------------


def indexed_pages(folder: Path, method: str) -> tuple[Index, dict[str, dict[str, object]]]:
    rng = random.Random(method)
    texts = random_texts(rng, 30)
    rows: dict[str, dict[str, object]] = {}
    for n in range(40):
        access = rng.choice([None, "board", "board,staff", "staff"])
        rows[f"p{n}"] = {
            "id": f"p{n}",
            "text": rng.choice(texts),
            "who": access,
            "q": rng.choice([None, 1, 2, 3]),
        }
    index = Index(folder, method=method)
    columns = AttributeColumns(access="who", quality="q")
    index.add(pa.Table.from_pylist(list(rows.values())), attributes=columns)
    return index, rows


@pytest.mark.parametrize("method", ["minhash", "simhash", "spotsigs"])
def test_a_result_list_of_an_index(tmp_path: Path, method: str) -> None:
    """Folded by the index's matches, printed in the plainest way; hidden documents have no influence."""
    index, rows = indexed_pages(tmp_path / "i", method)
    ids = [*rows, "unknown"]
    random.Random(1).shuffle(ids)
    near = {
        name: {match.id for match in index.query(str(row["text"]))} | {name} for name, row in rows.items()
    }
    with index:
        for groups in ((), ("board",), ("staff", "board")):
            found = [(one.shown.id, [each.id for each in one.folded]) for one in index.collapse(ids, groups)]
            visible = [
                name
                for name in ids
                if name in rows
                and (not rows[name]["who"] or set(str(rows[name]["who"]).split(",")) & set(groups))
            ]
            free = sorted(visible, key=lambda name: (-float(rows[name]["q"] or -1), visible.index(name)))  # type: ignore[arg-type]
            expected = []
            while free:
                folded = sorted(near[free[0]] & set(free) - {free[0]}, key=visible.index)
                expected.append((free[0], folded))
                free = [name for name in free[1:] if name not in folded]
            first = {shown: min(map(visible.index, [shown, *folded])) for shown, folded in expected}
            assert found == sorted(expected, key=lambda one: first[one[0]])
            assert index.collapse(visible, groups) == index.collapse(ids, groups)
            assert sum(1 + len(folded) for _, folded in found) == len(visible)
        with pytest.raises(ParameterError, match="a list of names"):
            index.collapse(ids, "board")


def test_the_command_folds_documents_of_an_index(tmp_path: Path) -> None:
    index, rows = indexed_pages(tmp_path / "i", "minhash")
    index.close()
    listed = tmp_path / "results.csv"
    listed.write_text("id\n" + "\n".join([*rows, "gone"]) + "\n")
    words = ["collapse", str(listed), "--index", str(tmp_path / "i"), "--access-groups", "staff", "--json"]
    found = CliRunner().invoke(group, words, catch_exceptions=False)
    shown = [json.loads(line) for line in found.stdout.splitlines()]
    with Index(tmp_path / "i") as again:
        expected = again.collapse(list(rows), ["staff"])
    assert shown == [{"id": one.shown.id, "folded": [each.id for each in one.folded]} for one in expected]
    assert "1 document of" in found.stderr and "does not have them: gone" in found.stderr
    for more in (["--method", "minhash"], ["--quality-column", "q"]):
        refused = CliRunner().invoke(group, [*words, *more])
        assert isinstance(refused.exception, InputError) and "leave" in str(refused.exception)
