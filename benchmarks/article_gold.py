"""Pages with the text of their article, and the news pages with their stories."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def data_folder() -> Path:
    """The folder with the labelled data: NEARDUP_DATA, or ../shared/data beside the repository."""
    return Path(os.environ.get("NEARDUP_DATA", ROOT.parent / "shared" / "data"))


def read_documents(name: str) -> list[dict[str, Any]] | None:
    """The documents of a data set; None where it is absent."""
    path = data_folder() / name / "documents.jsonl.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_clusters(name: str) -> dict[str, str]:
    """The cluster of each document."""
    with (data_folder() / name / "clusters.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["cluster"] for row in csv.DictReader(file)}


def in_development_half(identifier: str) -> bool:
    """Whether a page may be looked at: a fixed half of them, by the hash of their id."""
    return hashlib.sha256(identifier.encode()).digest()[0] % 2 == 0
