"""Compiled functions over flat arrays: the only code that runs per byte, per token or per slot.

Modules load on first use (`kernels.tokens.tokenize(...)`), so that commands which compute nothing start
without Numba. Each kernel has a plain-Python twin of the same name in `tests/naive`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

_settings = {"linear algebra": True}


def without_linear_algebra() -> None:
    """Start Numba without SciPy, which it imports for matrix products that no kernel has: 0.2 s less.

    For a process of our own; in another one, somebody else's functions may need them.
    """
    _settings["linear algebra"] = False


@cache
def _numba() -> Any:
    """Numba, imported when the first kernel is declared."""
    import numba

    if not _settings["linear algebra"] and "scipy" not in sys.modules:
        sys.modules["scipy"] = None  # type: ignore[assignment]  # an import then fails at once
        try:
            import numba.np.arraymath  # looks for SciPy once, and does without
        finally:
            del sys.modules["scipy"]
    return numba


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled on first call, cached on disk, running without the interpreter's lock."""
    compiled: Callable[..., Any] = _numba().njit(nogil=True, cache=True, error_model="numpy")(function)
    return compiled


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `jit`, for helpers of a few instructions that their callers absorb."""
    compiled: Callable[..., Any] = _numba().njit(nogil=True, inline="always", error_model="numpy")(function)
    return compiled


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(name) from error
