"""Every method finds and writes on the bundled data what it found before, byte for byte.

`python tests/golden/test_golden.py` writes the digests of today, for a change that is meant to change results.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup
from neardup.registry import methods

ROOT = Path(__file__).parent.parent.parent
DIGESTS = Path(__file__).parent / "digests.json"
DATA = {
    "articles": ROOT / "examples" / "articles.jsonl",
    "quality": ROOT / "tests" / "quality" / "documents.jsonl",
}
SHAPES: dict[str, dict[str, str]] = {
    "default": {},
    "all pairs": {"pairs": "all"},
    "leaders": {"pairs": "all", "clusters": "leaders"},
}
CASES = [f"{data} {name} {shape}" for data in DATA for name in methods() for shape in SHAPES]
NEWEST, ANNOTATED = "articles minhash newest", "articles minhash annotated"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def table_digest(table: pa.Table) -> str:
    """The number of rows and the digest of their values: sorted, without names of columns, floats to 9 digits."""
    rows = sorted(repr([_rounded(value) for value in row.values()]) for row in table.to_pylist())
    return f"{len(rows)} rows, {digest(chr(10).join(rows).encode())}"


def _rounded(value: Any) -> Any:
    """Another processor may differ in the last bits of a logarithm."""
    return float(f"{value:.9g}") if isinstance(value, float) else value


def digests(case: str, folder: Path) -> dict[str, str]:
    """What the case writes into the folder: the bytes of its documents, the rows of its tables."""
    data, name, shape = case.split(" ", 2)
    options = {"keep": "newest:date"} if case == NEWEST else SHAPES.get(shape, {})
    result = neardup.dedup(
        DATA[data], method=name, guard=False, **options
    )  # spotsigs on quality looks wrong, and is
    result.write(folder, mode="annotate" if case == ANNOTATED else "remove")
    documents = {path.stem: digest(path.read_bytes()) for path in sorted(folder.glob("*.jsonl"))}
    return {**documents, "pairs": table_digest(result.pairs), "clusters": table_digest(result.clusters)}


def read_digests() -> dict[str, dict[str, str]]:
    return json.loads(DIGESTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", [*CASES, NEWEST, ANNOTATED])
def test_results_are_those_of_before(case: str, tmp_path: Path) -> None:
    assert digests(case, tmp_path / "out") == read_digests().get(case), "see CONTRIBUTING.md, Golden results"


def test_every_stored_digest_is_checked() -> None:
    assert set(read_digests()) == {*CASES, NEWEST, ANNOTATED}


def test_most_cases_find_something() -> None:
    found = [case for case, stored in read_digests().items() if not stored["pairs"].startswith("0 rows")]
    assert len(found) > 0.8 * len(read_digests())


def main() -> None:
    """Writes the digests of today."""
    with tempfile.TemporaryDirectory() as folder:
        new = {case: digests(case, Path(folder) / case) for case in [*CASES, NEWEST, ANNOTATED]}
    lines = [f"{json.dumps(case)}: {json.dumps(found)}" for case, found in new.items()]
    DIGESTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
