"""What stands in for addresses and queries in the study of ANDD's features."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from neardup.columns import Texts
from neardup.evaluate.studies.andd_data import MAIL
from neardup.evaluate.studies.andd_features import ENRON, first_addresses, titles_as_queries
from neardup.evaluate.studies.data import DataFolder
from neardup.features.shingles import Shingles
from neardup.learn.model.queries import unpack_queries
from neardup.text.words import Words


def write(folder: Path, name: str, rows: list[dict[str, str | None]]) -> None:
    """A collection of these documents."""
    (folder / name).mkdir()
    with gzip.open(folder / name / "documents.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def test_the_address_is_that_of_the_first_link_of_text_or_html(tmp_path: Path) -> None:
    link = '<a href="http://c.example/z?x=1">here</a>'
    write(tmp_path, MAIL, [
        {"id": "1", "text": "see HTTP://a.example/x now, or http://b.example", "html": link},
        {"id": "2", "text": "see www.a.example", "html": link},
        {"id": "3", "text": "nothing", "html": None},
    ])  # fmt: skip
    assert first_addresses(DataFolder(tmp_path)) == ["HTTP://a.example/x", "http://c.example/z?x=1", ""]


def test_the_words_of_titles_count_once_for_each_title(tmp_path: Path) -> None:
    write(
        tmp_path,
        ENRON,
        [{"id": "1", "title": "gas prices"}, {"id": "2", "title": "Gas"}, {"id": "3", "title": None}],
    )
    known = unpack_queries(titles_as_queries(DataFolder(tmp_path), ENRON))
    assert known is not None
    gas, prices = Shingles(1)(Words()(Texts.from_strings(["gas", "prices"]))).hashes
    shares = dict(zip(known[0].tolist(), known[1].tolist(), strict=True))
    assert set(shares) == {gas, prices} and shares[gas] == 1 > shares[prices]
    assert np.isclose(shares[prices], np.log(2) / np.log(3), atol=1 / 255)
