"""A small corpus in a folder of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import ELSE, FOX, OFF


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder of its own with a small corpus, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{k}", "text": text, "n": k} for k, text in enumerate([FOX, ELSE, OFF, FOX])]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path
