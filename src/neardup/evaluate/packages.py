"""Packages that only evaluation needs: loaded when they are used, with a remedy where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from neardup.errors import MissingExtra

NAMES = {"sklearn": "scikit-learn"}  # what a package is called where it is installed from


def load(module: str) -> Any:
    """The module of scipy, scikit-learn or statsmodels."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(NAMES.get(package, package), "evaluate", "Evaluation") from error
