"""The report of a run on Spark shows the documents that the local engine's report shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from neardup.cli import main

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'neardup[spark]'")

ARTICLES = Path(__file__).parent.parent.parent / "examples" / "articles.jsonl"
SHOWN = re.compile(r"<mark .*?</mark>|<summary>.*?</summary>", re.DOTALL)


@pytest.mark.parametrize("mode", ["remove", pytest.param("annotate", marks=pytest.mark.slow)])
def test_both_engines_give_the_same_page(spark, tmp_path: Path, mode: str) -> None:
    pages = []
    for engine in ("local", "spark"):
        folder = tmp_path / engine
        main(["dedup", str(ARTICLES), "-o", str(folder), "--mode", mode, "--report", "--engine", engine])
        pages.append((folder / "report.html").read_text(encoding="utf-8"))
    local, distributed = (SHOWN.findall(page) for page in pages)
    assert local == distributed and len(local) > 10
    assert "could not be found" not in pages[1]
