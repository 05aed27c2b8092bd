"""One browser for a module of tests, and one result of the example articles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from studios import deduplicate

from browsers import open_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of the example articles; a test that writes decisions takes a copy."""
    return deduplicate(tmp_path_factory.mktemp("studio") / "clean")
