"""Compiled functions over flat arrays: the only code that runs per byte, per token or per slot.

Modules load on first use (`kernels.tokens.tokenize(...)`), so that commands which compute nothing start
without Numba. Each kernel has a plain-Python twin of the same name in `tests/naive`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

_settings = {"quick": False}


def start_quickly() -> None:
    """Load kernels that were compiled before without Numba, and Numba, if it is needed, without SciPy.

    For a process of our own that works in large batches: each call of a kernel takes a microsecond longer. Elsewhere
    somebody else's functions may need what is left out. NEARDUP_QUICK_START=0 turns it off.
    """
    _settings["quick"] = os.environ.get("NEARDUP_QUICK_START") != "0"


def starts_quickly() -> bool:
    """Whether this process has called `start_quickly`."""
    return _settings["quick"]


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled on first call, cached on disk, running without the interpreter's lock."""
    from neardup.kernels.quick import QuickKernel, compiled

    if _settings["quick"]:
        return QuickKernel(function, cache=True)
    found: Callable[..., Any] = compiled(function, cache=True)
    return found


def borrowing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `jit`, for kernels that allocate nothing and do not count who uses their arrays.

    The counts would cost more than a kernel that is called for each tag of a page does.
    """
    from neardup.kernels.quick import QuickKernel, compiled

    if _settings["quick"]:
        return QuickKernel(function, cache=True, _nrt=False)
    found: Callable[..., Any] = compiled(function, cache=True, _nrt=False)
    return found


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `jit`, for helpers of a few instructions that their callers absorb."""
    from neardup.kernels.quick import QuickKernel, compiled

    if _settings["quick"]:
        return QuickKernel(function, inline="always")
    found: Callable[..., Any] = compiled(function, inline="always")
    return found


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(name) from error
