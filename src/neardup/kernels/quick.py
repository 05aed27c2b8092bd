"""Kernels that start without Numba: machine code of an earlier run, or else Numba, whose machine code is then kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any

import numpy as np

from neardup.kernels import machine_code

DTYPES = "?bBhHiIqQfd"  # of arrays that kernels return
_lock = RLock()  # neither LLVM's loader nor Numba links in two threads at once
waiting: list[Callable[[], None]] = []  # called once Numba is imported


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Numba's dispatcher of a function."""
    import numba

    while waiting:
        waiting.pop()()
    return numba.njit(nogil=True, error_model="numpy", **options)(function)


class QuickKernel:
    """A kernel that calls machine code by the types of its arguments."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.function, self.options = function, options
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self._linked: dict[machine_code.Key, Callable[..., Any]] = {}
        self._stored: dict[str, dict[str, Any]] | None = None
        self._dispatcher: Any = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """The result of the kernel."""
        key = machine_code.key_of(arguments)
        if key is None:
            return self.dispatcher(*arguments)
        found = self._linked.get(key)
        if found is None:
            with _lock:
                found = self._find(key)
        if found is not None:
            return found(*arguments)
        result = self.dispatcher(*arguments)
        with _lock:
            self._keep(key, arguments)
        return result

    @property
    def dispatcher(self) -> Any:
        """The kernel as Numba compiles it; kernels that it calls are Numba's too."""
        with _lock:
            if self._dispatcher is None:
                _import_numba()
                names = dict(vars(sys.modules[self.function.__module__]))
                for name in self.function.__code__.co_names:
                    if isinstance(names.get(name), QuickKernel) and names[name] is not self:
                        names[name] = names[name].dispatcher
                self._dispatcher = compiled(_with_globals(self.function, names), **self.options)
                names[self.function.__name__] = self._dispatcher
            return self._dispatcher

    def _find(self, key: machine_code.Key) -> Callable[..., Any] | None:
        """The linked machine code for these types; None if there is none."""
        if key in self._linked:
            return self._linked[key]
        if self._stored is None:
            self._stored = machine_code.stored(self.name) if _usable() else {}
        entry = self._stored.get(repr(key))
        if entry is None:
            return None
        try:
            self._linked[key] = machine_code.linked(self.name, entry)
        except Exception:  # whatever is wrong with a file that is derived: Numba compiles it again
            self._stored = {}
            return None
        return self._linked[key]

    def _keep(self, key: machine_code.Key, arguments: tuple[Any, ...]) -> None:
        """Keep what Numba has compiled or loaded for these types; it is not linked in this process."""
        self._linked[key] = self._dispatcher
        if not _usable() or "cache" not in self.options:
            return
        with suppress(Exception):  # Numba's internals may differ: the next process then starts it again
            entry = exported(self._dispatcher, arguments)
            if entry is not None:
                known = {**machine_code.kept(self.name), repr(key): entry}
                machine_code.store(self.name, known)


def _with_globals(function: Callable[..., Any], names: dict[str, Any]) -> FunctionType:
    """The same function with other globals."""
    assert isinstance(function, FunctionType)
    twin = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
    return twin


def exported(dispatcher: Any, arguments: tuple[Any, ...]) -> dict[str, Any] | None:
    """The machine code that Numba's cache has for these arguments; None if it cannot run on its own."""
    from numba.core.typing.typeof import typeof

    types = tuple(typeof(value) for value in arguments)
    cached, found = dispatcher._cache, dispatcher.overloads[types]
    data = cached._cache_file.load(cached._index_key(types, found.target_context.codegen()))
    library, about, environment, _, in_objects, lifted, _, at_load, environments = data
    constants = {one.env_name: one.consts for one in (environment, *environments)}
    if in_objects or lifted or at_load:
        return None
    if not all(isinstance(value, np.dtype) for values in constants.values() for value in values):
        return None
    _keep_runtime(found.target_context)
    return {
        "object": library[2][0],
        "wrapper": about.llvm_cpython_wrapper_name,
        "environments": {name: [value.str for value in values] for name, values in constants.items()},
    }


@cache
def _keep_runtime(context: Any) -> None:
    """Keep Numba's functions that count references, which machine code calls."""
    if machine_code.kept(machine_code.RUNTIME):
        return
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.runtime.nrtdynmod import compile_nrt_functions
    from numba.core.serialize import dumps

    with global_compiler_lock:
        library = compile_nrt_functions(context)
    code = library.codegen._tm.emit_object(library._final_module)
    constants = {dumps(np.dtype(name)).hex(): np.dtype(name).str for name in DTYPES}
    constants[dumps(np.ndarray).hex()] = ""
    machine_code.store(machine_code.RUNTIME, {"": {"object": code, "constants": constants}})


def _usable() -> bool:
    """Whether kernels are compiled as usual in this process."""
    return not (
        os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") or os.environ.get("NUMBA_BOUNDSCHECK")
    )


@cache
def _import_numba() -> None:
    """Import Numba without SciPy, which it looks for because of matrix products that no kernel has: 0.2 s less."""
    import numba

    if "scipy" not in sys.modules:
        sys.modules["scipy"] = None  # type: ignore[assignment]  # an import then fails at once
        try:
            import numba.np.arraymath  # noqa: F401
        finally:
            del sys.modules["scipy"]
