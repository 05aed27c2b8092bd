"""Document frequencies counted again, everything checked against the truth, documents written to a file and back."""

from __future__ import annotations

import json
import random
import sqlite3
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from random_corpora import cross_pairs, found_by, random_texts

import neardup
from neardup.engines.core.progress import Progress
from neardup.errors import InputError, OutputError, PlanError, StorageError
from neardup.index.damaged import salvage_path, verify_path
from neardup.index.index import Index
from neardup.index.inputs import AttributeColumns
from neardup.index.truth import Attributes
from neardup.plan import stage_json
from neardup.statistics import Frequencies, Statistics

PLAN = neardup.make_plan("simhash")
WORDS = [f"w{n}" for n in range(400)]


def rows(numbers: range) -> pa.Table:
    """Random texts of 60 words, a rank each."""
    texts = [" ".join(random.Random(n).choices(WORDS, k=60)) for n in numbers]
    return pa.table({"id": [f"d{n}" for n in numbers], "text": texts, "rank": list(numbers)})


def signatures(index: Index) -> dict[object, bytes | None]:
    from neardup.index.truth import Columns

    with index.reading() as (snapshot, _):
        found = list(snapshot.scan(1, snapshot.last(), Columns(signature=True)))
    return {one: sign for part in found for one, sign in zip(part.ids, part.signatures, strict=True)}


# document frequencies -------------------------------------------------------------------------------------------


def test_statistics_are_frozen_and_counted_again_after_so_many_new_documents(tmp_path: Path) -> None:
    with Index(tmp_path / "i", method="simhash", refresh_after=30) as index:
        quality = AttributeColumns(quality="rank")
        assert index.add(rows(range(20)), attributes=quality).new == 20
        frozen, before = index.statistics, signatures(index)
        assert frozen is not None and frozen.documents == 20
        assert not index.add(rows(range(20, 40)), attributes=quality).refreshed
        assert index.statistics.digest == frozen.digest  # type: ignore[union-attr]
        assert index.add(rows(range(20, 40)), attributes=quality).unchanged == 20
        assert index.info()["new_since_counted"] == 20  # counted once
        assert index.add(rows(range(40, 60)), attributes=quality).refreshed
        assert index.statistics.documents == 60 and index.info()["new_since_counted"] == 0  # type: ignore[union-attr]
        after = signatures(index)
        assert index.get("d7").attributes == Attributes(quality=7.0)  # type: ignore[union-attr]
        assert index.verify().to_dict()["derived"] == [] and len(index) == 60
        assert index.refresh() == 0
    assert sum(before[name] != after[name] for name in before) > 10
    with Index(tmp_path / "fresh", method="simhash") as other:  # as if all had been there from the beginning
        other.add(rows(range(60)))
        assert signatures(other) == after and list(after) == [f"d{n}" for n in range(60)]
        with Index(tmp_path / "i") as index:
            assert other.statistics.digest == index.statistics.digest  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["simhash", "cosine", "rare_phrases", "imatch", "spotsigs"])
def test_a_refreshed_index_gives_the_answer_of_pairs(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    texts = random_texts(rng, 80)
    stored = {f"d{n}": text for n, text in enumerate(texts[:60])}
    asked = {f"q{n}": text for n, text in enumerate(texts[50:])}
    with Index(tmp_path / "i", method=name, threads=1) as index, Index(tmp_path / "i") as reader:
        index.add(pa.table({"id": list(stored)[:20], "text": list(stored.values())[:20]}))
        index.add(pa.table({"id": list(stored)[20:], "text": list(stored.values())[20:]}))
        if not index.plan.counts:
            with pytest.raises(PlanError, match="uses no document frequencies"):
                index.refresh()
            return
        assert index.refresh() == 60
        statistics = index.statistics
        plan = neardup.make_plan(name, pairs="all", clusters="components").with_(statistics=statistics.digest)  # type: ignore[union-attr]
        expected = cross_pairs(stored, asked, plan, statistics)
        assert found_by(index, asked) == expected == found_by(reader, asked)


def test_given_statistics_stay_unless_a_limit_is_given(tmp_path: Path) -> None:
    nothing = Frequencies(np.zeros(0, np.uint64), np.zeros(0, np.int64))
    known = Statistics(1000, stage_json(PLAN.text), {stage_json(PLAN.counts[0]): nothing})
    with Index(tmp_path / "i", plan=PLAN, statistics=known) as index:
        index.add(rows(range(3)))
        assert index.statistics.digest == known.digest  # type: ignore[union-attr]
        assert (index.info()["new_since_counted"], index.info()["refresh_after"]) == (3, None)
    with Index(tmp_path / "i", refresh_after=4) as index:
        assert index.add(rows(range(3, 6))).refreshed
        assert index.statistics.documents == 6  # type: ignore[union-attr]
    with pytest.raises(PlanError, match="has other statistics"):
        Index(tmp_path / "i", statistics=known)


def test_what_cannot_be_counted_again_is_refused(tmp_path: Path) -> None:
    with Index(tmp_path / "f", method="simhash", store="features") as index:
        index.add(rows(range(5)))
        with pytest.raises(PlanError, match="no texts to count"):
            index.refresh()
        assert index.info()["refresh_after"] is None
    with pytest.raises(PlanError, match="Leave --refresh-after out"):
        Index(tmp_path / "m", method="minhash", refresh_after=10)
    with Index(tmp_path / "u", method="simhash", df_unit="rank") as index:
        index.add(rows(range(5)))
        with pytest.raises(PlanError, match="a column that an index does not store"):
            index.refresh()


def test_documents_signed_with_other_frequencies_are_not_stored(tmp_path: Path) -> None:
    with Index(tmp_path / "i", method="simhash") as index, Index(tmp_path / "i") as other:
        index.add(rows(range(20)))
        index.add(rows(range(20, 40)))

        def chunks():  # type: ignore[no-untyped-def]
            from neardup.documents import Problems
            from neardup.index.inputs import input_chunks, opened_inputs

            sources, columns = opened_inputs(rows(range(40, 50)), {})
            chunk = next(input_chunks(index.plan, sources, columns, AttributeColumns(), Problems()))
            other.refresh()
            yield chunk

        with pytest.raises(StorageError, match="another process has refreshed"):
            index.add_chunks(chunks(), Progress())
        assert len(index) == 40
        assert index.add(rows(range(40, 50))).new == 10


def test_a_document_without_features_is_indexed_and_never_matched(tmp_path: Path) -> None:
    with Index(tmp_path / "i", method="simhash", weights="tf") as index:
        index.add(
            [
                {"id": 1, "text": ""},
                {"id": 2, "text": "..."},
                {"id": 3, "text": ""},
                {"id": 4, "text": "word"},
            ]
        )
        assert len(index) == 4 and index.statistics is None
        assert (
            index.query("") == [] and index.query("...") == [] and [m.id for m in index.query("word")] == [4]
        )
        assert index.clusters() == []


# verify ---------------------------------------------------------------------------------------------------------


def built(folder: Path, count: int = 300, **how: object) -> Index:
    """An index with a segment."""
    index = Index(folder, **({"method": "minhash"} | how))  # type: ignore[arg-type]
    index.add(rows(range(count)))
    index.compact()
    return index


def test_a_sound_index_is_sound(tmp_path: Path) -> None:
    for name, how in {
        "m": {},
        "s": {"method": "simhash", "store": "features"},
        "p": {"method": "spotsigs"},
    }.items():
        with built(tmp_path / name, **how) as index:
            index.delete(["d3", "d4"])
            index.add(rows(range(3, 4)))
            found = index.verify()
            assert (found.sound, found.documents, found.segments, found.derived) == (True, 299, 1, [])


def test_a_segment_with_damaged_blocks_is_rebuilt(tmp_path: Path) -> None:
    with built(tmp_path / "i") as index:
        expected = found_by(index, {"q": index.get("d5").text})  # type: ignore[union-attr, dict-item]
    (segment,) = (tmp_path / "i" / "segments").glob("*.segment")
    data = bytearray(segment.read_bytes())
    data[len(data) // 3] ^= 0x10
    segment.write_bytes(data)
    with Index(tmp_path / "i") as index:
        found = index.verify()
        assert found.sound and len(found.derived) == 1 and "checksum" in found.derived[0]
    with Index(tmp_path / "i") as index:
        assert index.info()["segments"] == 1 and index.verify().derived == []
        assert found_by(index, {"q": index.get("d5").text}) == expected  # type: ignore[union-attr, dict-item]


def test_a_segment_with_keys_of_other_documents_is_rebuilt(tmp_path: Path) -> None:
    """Its checksums are right: only a comparison with the stored documents notices."""
    with built(tmp_path / "i") as index, index.reading() as (_, search):
        digest = search.search.folder.plan_digest
    from neardup.index.segments.folder import SegmentFolder

    folder = SegmentFolder(tmp_path / "i" / "segments", digest, may_write=True)
    folder.load()
    folder.discard(folder.segments[0], "to be replaced")
    folder.add(1, 301, 300, np.arange(1, 301), np.arange(300, dtype=np.uint64))
    with Index(tmp_path / "i") as index:
        text = index.get("d5").text  # type: ignore[union-attr]
        assert index.query(text) == []  # a segment that was written wrongly is trusted …
        assert "other keys than the stored documents" in index.verify().derived[0]  # … until this
        assert [match.id for match in index.query(text)] == ["d5"]
    with Index(tmp_path / "i") as index:
        assert [match.id for match in index.query(text)] == ["d5"] and index.verify().derived == []


def damage(folder: Path, sql: str) -> None:
    with sqlite3.connect(folder / "truth.db") as database:
        database.execute(sql)
    database.close()


def test_damaged_documents_are_named_and_the_others_exported(tmp_path: Path) -> None:
    built(tmp_path / "i").close()
    damage(tmp_path / "i", "UPDATE bodies SET body = zeroblob(40) WHERE seq = 7")
    found = verify_path(tmp_path / "i", Progress())
    assert not found.sound and any("document 7 is damaged" in one for one in found.truth)
    assert salvage_path(tmp_path / "i", tmp_path / "o.jsonl", Progress()) == 299
    ids = [json.loads(line)["id"] for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert ids == [f"d{n}" for n in range(300) if n != 6]


def test_an_index_that_cannot_be_opened_is_checked_and_salvaged(tmp_path: Path) -> None:
    built(tmp_path / "i").close()
    damage(tmp_path / "i", "DROP TABLE state")
    with pytest.raises(StorageError):
        Index(tmp_path / "i")
    found = verify_path(tmp_path / "i", Progress())
    assert not found.sound and found.truth
    assert salvage_path(tmp_path / "i", tmp_path / "o.jsonl", Progress()) == 300
    assert json.loads((tmp_path / "o.jsonl").open().readline())["text"].startswith("w")
    with pytest.raises(InputError, match="is not an index"):
        verify_path(tmp_path / "nowhere", Progress())


# export ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_an_exported_index_is_built_again(tmp_path: Path, format: str) -> None:
    table = pa.table(
        {
            "id": ["a", "b", "c"],
            "text": ["one text of some words", "an\x00other\ntext", ""],
            "who": pa.array([["x", "y"], None, []], pa.list_(pa.string())),
            "day": ["2020-01-01", None, "2021-05-05"],
            "link": ["http://h/", None, "http://i/"],
        }
    )
    columns = AttributeColumns(access="who", time="day", url="link")
    again = AttributeColumns("access", "quality", "time", "url")
    path = tmp_path / f"o.{format}"
    with Index(tmp_path / "i", method="minhash") as index, Index(tmp_path / "j", method="minhash") as other:
        index.add(table, attributes=columns)
        assert index.export(path) == 3
        with pytest.raises(OutputError, match="exists already"):
            index.export(path)
        assert index.export(path, force=True) == 3
        other.add(path, attributes=again)
        assert [other.get(name) for name in "abc"] == [index.get(name) for name in "abc"]


def test_fields_are_columns_and_ids_keep_their_type(tmp_path: Path) -> None:
    table = pa.table({"id": [7, 8], "text": ["some text", "more"], "title": ["A title", None]})
    with Index(tmp_path / "i", method="simhash", weights="tf", fields="title") as index:
        index.add(table)
        index.export(tmp_path / "o.parquet")
    found = pq.read_table(tmp_path / "o.parquet")
    assert found.select(["id", "text"]).to_pydict() == {"id": [7, 8], "text": ["some text", "more"]}
    assert found.column("title")[0].as_py() == "A title" and found.schema.field("id").type == pa.int64()


def test_without_texts_ids_and_attributes_are_exported(tmp_path: Path) -> None:
    with Index(tmp_path / "i", method="minhash", store="features") as index:
        index.add([{"id": "a", "text": "some words"}])
        index.add([{"id": 1, "text": "others"}])
        index.export(tmp_path / "o.jsonl")
        assert index.get("a").text is None  # type: ignore[union-attr]
    found = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [row["id"] for row in found] == ["a", "1"] and "text" not in found[0]


# segments of an addition -----------------------------------------------------------------------------------------


def test_the_segments_of_one_addition_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from neardup.index import bulk, search, state

    for module, name, value in (
        (search, "FLUSH", 8),
        (state, "FLUSH", 8),
        (search, "ROOM", 64),
        (state, "ROOM", 64),
        (bulk, "BATCH_ROWS", 10),
        (bulk, "BATCH_BYTES", 1),
    ):
        monkeypatch.setattr(module, name, value)

    def files(*edges: int) -> list[str]:
        paths = [tmp_path / f"{edge}.parquet" for edge in edges[1:]]
        for path, numbers in zip(paths, pairwise(edges), strict=True):
            pq.write_table(rows(range(*numbers)), path)
        return [str(path) for path in paths]

    written: list[tuple[object, ...]] = []
    with Index(tmp_path / "i", method="minhash") as index:
        adding = search.SegmentFolder.add
        monkeypatch.setattr(
            search.SegmentFolder, "add", lambda self, *part: written.append(part[:2]) or adding(self, *part)
        )
        index.add(files(0, 30, 60))
        assert len(written) > 1 and index.info()["segments"] == 1
        before = len(written)
        index.add(files(60, 70, 90))
        assert len(written) > before + 1 and index.info()["segments"] == 2  # what was there stays as it is
        for n in (0, 31, 89):
            assert index.query(rows(range(n, n + 1))["text"][0].as_py())[0].id == f"d{n}"


def test_an_addition_succeeds_if_only_its_segment_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neardup.index import search, state

    monkeypatch.setattr(state, "FLUSH", 8)
    monkeypatch.setattr(search, "FLUSH", 8)
    with Index(tmp_path / "i", method="minhash") as index:
        adding = search.SegmentFolder.add

        def full(*part: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(search.SegmentFolder, "add", full)
        assert index.add(rows(range(20))).new == 20  # they are in the truth
        text = rows(range(3, 4))["text"][0].as_py()
        assert index.query(text)[0].id == "d3" and index.info()["segments"] == 0
        monkeypatch.setattr(search.SegmentFolder, "add", adding)
        index.add(rows(range(20, 40)))
        assert index.info()["segments"] == 1 and index.query(text)[0].id == "d3"
