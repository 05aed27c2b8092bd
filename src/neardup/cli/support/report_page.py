"""`dedup --report`: the page beside the result."""

from __future__ import annotations

from pathlib import Path

from neardup.errors import OutputError
from neardup.output import PAGE
from neardup.remote import is_address


def refuse_page(folder: str, force: bool) -> None:
    """Raises if a page would be overwritten, before the work rather than after."""
    if is_address(folder):
        raise OutputError(
            f"--report writes beside a local result: leave it out, or write to a local folder, not {folder}"
        )
    path = Path(folder) / PAGE
    if path.exists() and not force:
        raise OutputError(f"{path} exists already: choose another output, or overwrite with --force")


def write_page(folder: str) -> Path:
    """The page about the result in a folder, after it has been written."""
    from neardup.review.folder import open_folder
    from neardup.review.report import write_report

    return write_report(open_folder(folder), Path(folder) / PAGE, force=True)
