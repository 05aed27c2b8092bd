"""Rare phrases in whole runs: templates do not merge strangers, clusters do not make their own text common."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import neardup
from neardup.cli import main
from neardup.columns import Texts
from neardup.engines.core import represent, template_groups
from neardup.engines.local import frequencies
from neardup.engines.local.checkpoint.texts import Spool
from neardup.engines.local.frequencies import count
from neardup.errors import InputError, NeardupError, ParameterError, PlanError, StatisticsError
from neardup.features.passages import PassageWords
from neardup.features.shingles import Shingles
from neardup.plan import stage_json
from neardup.statistics.file import load_statistics, save_statistics
from neardup.statistics.units import host_of, parse_df_unit
from neardup.text.words import Words

SMALL = "the of and to in a is that for it as was with be by on not he his but at are this have from or had an".split()


def prose(random: np.random.Generator, words: int) -> str:
    """Running text: every other word a small one."""
    content = random.integers(0, 40_000, words)
    return " ".join(SMALL[k % len(SMALL)] if random.random() < 0.45 else f"w{k}" for k in content.tolist())


def pages(count: int, template: int, body: int, seed: int = 1) -> list[str]:
    """Unrelated pages inside one frame."""
    random = np.random.default_rng(seed)
    before, after = prose(random, template // 2), prose(random, template - template // 2)
    return [f"{before}\n{prose(random, body)}\n{after}" for _ in range(count)]


@pytest.mark.parametrize(("template", "body"), [(300, 200), (600, 100), (1200, 60)])
def test_pages_in_one_template_stay_apart(template: int, body: int) -> None:
    corpus = pages(600, template, body)
    result = neardup.dedup(corpus, method="rare_phrases")
    assert result.report["removed"] == 0
    assert neardup.dedup(corpus, threshold=0.3).report["kept"] < 10  # what min-hash makes of them
    common = result.report["common_phrases"]
    assert common["phrases"] >= template - 4
    assert common["most_common"][0]["documents"] == 600
    assert common["most_common"][0]["phrase"].lower() in corpus[0].lower()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"method": "rare_phrases"}, {"preset": "news-pages"}], ids=["default", "preset"]
)
def test_ten_thousand_pages_in_one_template_stay_apart(options: dict[str, str]) -> None:
    corpus = pages(10_000, 600, 300)
    result = neardup.dedup(corpus, **options)
    assert result.report["removed"] == 0
    common = result.report["common_phrases"]
    assert common["phrases"] >= 590 and common["most_common"][0]["documents"] == 10_000
    assert common["most_common"][0]["phrase"].lower() in corpus[0].lower()


@pytest.mark.parametrize(
    "options", [{}, {"function": "df4", "ngram": 2, "rare": 0.9}], ids=["default", "other"]
)
def test_pages_of_several_sites_stay_apart_and_stories_are_found(options: dict[str, object]) -> None:
    """A site's frame is in too few documents to be common by itself, and in one group of a first run."""
    sites = [pages(60, 300, 200, seed=site) for site in range(8)]
    story, random = pages(1, 250, 0, seed=99)[0], np.random.default_rng(98)
    stories = [f"{story}\n{prose(random, 40)}" for _ in sites]
    corpus = [page for site in sites for page in site] + stories
    found = neardup.dedup(corpus, method="rare_phrases", **options)
    groups = found.clusters.column("id").to_pylist()
    assert sorted(groups) == list(range(480, 488)) and found.report["clusters"] == 1
    shuffled = np.random.default_rng(1).permutation(len(corpus))
    table = pa.table({"id": shuffled, "text": [corpus[k] for k in shuffled]})
    again = neardup.dedup(table, method="rare_phrases", **options)
    assert sorted(again.clusters.column("id").to_pylist()) == sorted(groups)


def test_families_are_told_from_clusters_by_what_their_members_have_for_themselves() -> None:
    groups = np.array([5, 5, 5, 7, 7, 7, 9, 9, 2])
    ranks = np.arange(9, dtype=np.uint64)[::-1].copy()
    sampled = template_groups.sample_groups(groups, ranks)
    assert sampled.tolist() == [0, 1, 2, 3, 4, 5]  # pairs and single documents are never template groups
    shares = np.array([0.0, 0.1, 0.9, 0.3, 0.26, 0.0])
    found = template_groups.split_template_groups(groups, sampled, shares)
    assert found[:3].tolist() == [5, 5, 5] and len(set(found[3:6].tolist())) == 3
    assert found[6:].tolist() == [9, 9, 2] and not set(found[3:6].tolist()) & {2, 5, 9}
    many = template_groups.sample_groups(
        np.zeros(1000, np.int64), np.arange(1000, dtype=np.uint64)[::-1].copy()
    )
    assert many.tolist() == list(range(1000 - template_groups.SAMPLED, 1000))


def test_a_large_cluster_does_not_make_its_own_text_common() -> None:
    random = np.random.default_rng(2)
    story = prose(random, 300).split()
    copies = []
    for _ in range(60):
        words = list(story)
        for place in random.integers(0, len(words), 6).tolist():
            words[place] = f"edit{random.integers(10**6)}"
        copies.append(" ".join(words))
    strangers = [prose(random, 300) for _ in range(100)]
    result = neardup.dedup(copies + strangers, method="rare_phrases")
    assert result.report["clusters"] == 1 and result.report["removed"] == 59
    counted = neardup.dedup(copies + strangers, method="rare_phrases", df_unit="texts", common_above=42)
    assert counted.report["removed"] < 59  # the rule of section 3 alone


def test_near_identical_documents_are_found_among_many_strangers() -> None:
    random = np.random.default_rng(3)
    strangers = [prose(random, 200) for _ in range(200)]
    menu = "home | news | sports | weather | jobs | homes | cars | about us | contact"
    found = neardup.dedup(
        [*strangers, f"{menu}\n{strangers[0]}\nmore", f"other menu here\n{strangers[1]}"],
        method="rare_phrases",
    )
    assert found.report["removed"] == 2


# Populations


def numbered(texts: list[str]) -> tuple[Spool, np.ndarray]:
    spool = Spool()
    spool.append(Texts.from_strings(texts))
    return spool, np.arange(len(texts))


def naive_counts(texts: list[str], groups: list[int], width: int) -> Counter[int]:
    found: dict[int, set[int]] = {}
    for group, text in zip(groups, texts, strict=True):
        tokens = Words()(Texts.from_strings([text]))
        found.setdefault(group, set()).update(Shingles(width)(tokens).hashes.tolist())
    return Counter(key for keys in found.values() for key in keys)


@pytest.mark.parametrize("chunk", [60, 400, 1 << 20], ids=["groups are cut", "few at a time", "all at once"])
@pytest.mark.parametrize("memory", [64, 1 << 20])
def test_groups_count_once(chunk: int, memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (represent, frequencies):
        monkeypatch.setattr(module, "CHUNK", chunk)
    random = np.random.default_rng(4)
    texts = [" ".join(random.choice(list("abcdefg"), random.integers(0, 30))) for _ in range(40)]
    groups = random.integers(0, 8, len(texts))
    spool, owners = numbered(texts)
    stages = [Shingles(2), PassageWords(5)]
    for labels in (None, groups):
        found = count(Words(), stages, spool, owners, labels, least=1, memory=memory, threads=2)
        table = found.table(stage_json(Shingles(2)))
        expected = naive_counts(texts, list(range(40)) if labels is None else labels.tolist(), 2)
        assert dict(zip(table.keys.tolist(), table.counts.tolist(), strict=True)) == expected
        assert found.documents == (40 if labels is None else len(set(groups.tolist())))
        passages = found.table(stage_json(PassageWords(5)))
        assert (
            passages.counts.sum()
            == count(Words(), stages, spool, owners, least=1).table(stage_json(PassageWords(5))).counts.sum()
        )
    spool.close()


def test_populations_by_column_and_host() -> None:
    assert host_of("https://www.Example.org:80/a") == "example.org" == host_of("example.org/b")
    assert [parse_df_unit(text) for text in ("clusters", "site", "host:url", "column:a:b")] == [
        "clusters", "column:site", "host:url", "column:a:b",
    ]  # fmt: skip
    for bad in ("", "host:", "column:"):
        with pytest.raises(ParameterError, match="df_unit"):
            parse_df_unit(bad)
    table = pa.table(
        {
            "text": ["a b c d", "a b c e", "a b f g", "x"],
            "url": ["http://a.org/1", "http://a.org/2", "b.org", None],
        }
    )
    one = neardup.dedup(table, method="rare_phrases", df_unit="host:url")
    assert one.report["common_phrases"]["of"] == 3
    assert one.plan.df_unit == "host:url"
    with pytest.raises(InputError, match="--df-unit asks for"):
        neardup.dedup(table, method="rare_phrases", df_unit="nothing")
    with pytest.raises(ParameterError, match="use no document frequencies"):
        neardup.dedup(table, df_unit="url")


# Statistics from elsewhere


def test_given_statistics_are_part_of_the_plan(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    texts = [prose(random, 120) for _ in range(30)]
    own = neardup.dedup(texts, method="rare_phrases", df_unit="texts")
    known = own._run.corpus.statistics
    save_statistics(known, tmp_path / "a.parquet")
    by_path = neardup.dedup(texts, method="rare_phrases", statistics=tmp_path / "a.parquet")
    by_object = neardup.dedup(texts, method="rare_phrases", statistics=known)
    assert by_path.plan.digest == by_object.plan.digest != own.plan.digest
    assert by_path.plan.statistics == known.digest == load_statistics(tmp_path / "a.parquet").digest
    with pytest.raises(PlanError, match="was made with the statistics"):
        neardup.dedup(texts, plan=by_path.plan)
    with pytest.raises(StatisticsError, match="other tokens than the plan makes"):
        neardup.dedup(texts, method="rare_phrases", tokens="characters", statistics=known)
    with pytest.raises(StatisticsError, match="do not cover"):
        neardup.dedup(texts, method="rare_phrases", ngram=5, statistics=known)
    with pytest.raises(ParameterError, match="left out if statistics are given"):
        neardup.dedup(texts, method="rare_phrases", statistics=known, df_unit="clusters")


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
        raise SystemExit(0)
    return int(stop.value.code or 0)


def test_the_command_counts_merges_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(6)
    halves = [[prose(random, 60) for _ in range(20)] for _ in range(2)]
    for name, texts in zip(("a", "b", "c"), (*halves, halves[0] + halves[1]), strict=True):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        assert (
            run(
                "stats",
                "build",
                tmp_path / f"{name}.jsonl",
                "-o",
                tmp_path / f"{name}.parquet",
                "--memory",
                "1M",
            )
            == 0
        )
    assert (
        run("stats", "merge", tmp_path / "a.parquet", tmp_path / "b.parquet", "-o", tmp_path / "ab.parquet")
        == 0
    )
    assert load_statistics(tmp_path / "ab.parquet").digest == load_statistics(tmp_path / "c.parquet").digest
    capsys.readouterr()
    assert run("stats", "info", tmp_path / "ab.parquet", "--json") == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 40
    assert (
        run(
            "dedup",
            tmp_path / "a.jsonl",
            "-o",
            tmp_path / "out",
            "--method",
            "rare_phrases",
            "--stats",
            tmp_path / "ab.parquet",
        )
        == 0
    )
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["common_phrases"]["of"] == 40
    sketch = tmp_path / "s.parquet"
    assert run("stats", "build", tmp_path / "c.jsonl", "-o", sketch, "--sketch", 50) == 0
    assert all(len(table) <= 50 and table.slack > 0 for table in load_statistics(sketch).tables.values())
    assert run("stats", "merge", tmp_path / "a.parquet", sketch, "-o", tmp_path / "x.csv") == 2
    assert (
        run("stats", "build", tmp_path / "a.jsonl", "-o", tmp_path / "n.parquet", "--method", "minhash") == 2
    )
    assert "weighs by document frequency" in capsys.readouterr().err


def test_pairs_for_judging_are_evenly_spread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(7)
    texts = []
    for _ in range(12):
        story = prose(random, 200).split()
        for share in np.linspace(0.02, 0.6, 12):
            keep = random.random(len(story) // 20) > share
            parts = [
                " ".join(story[20 * k : 20 * k + 20]) if ok else prose(random, 20)
                for k, ok in enumerate(keep)
            ]
            texts.append(" ".join(parts))
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"id": n, "text": t}) + "\n" for n, t in enumerate(texts))
    )
    target = tmp_path / "pairs.csv"
    assert run("sample", tmp_path / "a.jsonl", "-o", target, "--pairs", 60, "--json") == 0
    about = json.loads(capsys.readouterr().out)
    assert about["pairs"] == 60 and about["distance_from_uniform"] < about["distance_of_all_drawn"]
    rows = target.read_text().splitlines()
    assert rows[0] == '"id_a","id_b","label","jaccard","containment"' and len(rows) == 61
    assert run("sample", tmp_path / "a.jsonl", "-o", target) == 2
    assert run("sample", tmp_path / "a.jsonl", "-o", target, "--force", "--idf", 0.99, 1) == 2
    assert "Widen --idf" in capsys.readouterr().err


def test_two_texts_alone_have_no_frequencies() -> None:
    with pytest.raises(NeardupError, match="two texts have none"):
        neardup.compare("one two three four", "one two three five", method="rare_phrases")
