"""Packages that only evaluation needs, loaded on use; a missing one is an error that says what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from neardup.errors import MissingExtra

NAMES = {"sklearn": "scikit-learn"}  # names on PyPI


def load(module: str) -> Any:
    """The module of scipy, scikit-learn or statsmodels."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(NAMES.get(package, package), "evaluate", "Evaluation") from error
