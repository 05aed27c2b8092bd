"""Compiled functions over flat arrays: the only code that runs per byte, per token or per slot.

Modules load on first use (`kernels.tokens.tokenize(...)`), so that commands which compute nothing start
without Numba. Each kernel has a plain-Python twin of the same name in `tests/naive`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled on first call, cached on disk, running without the interpreter's lock."""
    import numba

    compiled: Callable[..., Any] = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    return compiled


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `jit`, for helpers of a few instructions that their callers absorb."""
    import numba

    compiled: Callable[..., Any] = numba.njit(nogil=True, inline="always", error_model="numpy")(function)
    return compiled


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(name) from error
