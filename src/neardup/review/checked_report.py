"""report.json, read and checked: pages rely on the shape of every value that they show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from neardup.errors import InputError
from neardup.output import one_line
from neardup.text import HtmlText

__all__ = ["REPORT", "damaged_report", "read_report"]

REPORT = "report.json"
NUMBER, ID = (int, float), (str, int)
COUNTS = dict.fromkeys(("copies", "direct", "by_chain", "by_cluster", "empty", "unverified"), int)
PROBLEMS = {"total": int, "counts": {...: int}, "first": [dict]}
SOURCE = {"name": str, "documents": int, "removed": int}
# A dict with ... has any keys; a key with a question mark may be missing or null.
SHAPE: dict[Any, Any] = {
    "neardup": str, "engine": str, "documents": int, "kept": int, "removed": int, "clusters": int, "exact_copies": int,
    "text_bytes": int, "html_text": str,
    "plan": {"method": str, "clustering?": {"kind": str}, "keep?": {"policy": str}},
    "removals": {**COUNTS, "lowest_similarity?": NUMBER, "by_person?": int},
    "pairs": {"verified": int, "candidates?": int}, "command?": [str],
    "largest_clusters": [{"cluster": ID, "leader": ID, "size": int}], "problems": PROBLEMS, "seconds": {...: NUMBER},
    "warnings": [str], "inputs": [str], "files": [str], "digest?": str, "recall_at_threshold?": NUMBER,
    "without_tokens?": int, "cpu_seconds?": {...: NUMBER}, "peak_memory_by_stage?": {...: int},
    "peak_memory_bytes?": int,
    "sources?": [SOURCE], "compare?": [str], "against?": {"references": [{"name": str, "removed": int}]},
}  # fmt: skip


def read_report(folder: Path) -> dict[str, Any]:
    """The report in a folder; an InputError says that it is missing or damaged."""
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder} has no {REPORT}: it is no output of neardup dedup") from None
    except (OSError, ValueError, RecursionError) as error:
        raise damaged_report(folder, one_line(error)) from None
    if wrong := misfit(report, SHAPE):
        raise damaged_report(folder, f"{wrong} is missing or wrong")
    if report["html_text"] not in get_args(HtmlText):
        raise damaged_report(folder, "html_text is missing or wrong")
    return dict(report)


def damaged_report(folder: Path, why: str) -> InputError:
    """The error about a report that cannot be used."""
    return InputError(f"{folder / REPORT} is damaged ({why}): run neardup dedup again")


def misfit(value: Any, shape: Any, name: str = "the report") -> str:
    """The name of the first value that does not have this shape; empty if all have."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return name
        every = shape.get(...)
        parts = [(key, one, every) for key, one in value.items()] if every else _keyed(value, shape)
        return next((wrong for key, one, form in parts if (wrong := misfit(one, form, str(key)))), "")
    if isinstance(shape, list):
        if not isinstance(value, list):
            return name
        return next((wrong for one in value if (wrong := misfit(one, shape[0], name))), "")
    return "" if isinstance(value, shape) and not isinstance(value, bool) else name


def _keyed(value: dict[str, Any], shape: dict[Any, Any]) -> list[tuple[str, Any, Any]]:
    """The values of known keys with their shapes, without optional ones that are missing or null."""
    keys = [(key.removesuffix("?"), form, key.endswith("?")) for key, form in shape.items()]
    return [(key, value.get(key), form) for key, form, free in keys if not (free and value.get(key) is None)]
