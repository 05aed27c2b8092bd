"""Compiled kernels loaded without Numba: their machine code, kept beside Numba's cache, is linked in milliseconds.

Numba takes half a second to start, most of it to know types and functions that compiled code does not need any more.
What Numba has compiled once is kept as an object file for each kernel and types of arguments; LLVM's loader links it
with the helper functions of Numba's C extensions. Numba stays the source of all code: a kernel or a type that is not
kept goes to it. Files serve one machine, one version of Numba, llvmlite and Python, and one state of the kernels.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
import tempfile
from contextlib import suppress
from ctypes import PYFUNCTYPE, c_char_p, c_int, c_void_p, py_object
from functools import cache
from hashlib import blake2b
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from neardup.kernels import shipped

Key = tuple[Any, ...]  # the types of a call's arguments
FLAGS = 0x501  # of an array: contiguous, aligned, writeable
C_ORDER, F_ORDER = 1, 2
LARGEST = (1 << 63) - 1
DIGEST = 32  # bytes at the beginning of a file
FORMAT = 3
VERSIONS = 4  # of machine code that stay in a folder


# types of arguments -----------------------------------------------------------------------------------------------


def key_of(arguments: tuple[Any, ...]) -> Key | None:
    """The types of arguments as Numba distinguishes them; None if there is one that only Numba knows."""
    found = []
    for value in arguments:
        kind = type(value)
        if kind is np.ndarray:
            flags = value.flags.num
            order = FLAGS if flags & C_ORDER else FLAGS | F_ORDER
            dtype = value.dtype
            if not dtype.isnative or dtype.hasobject or dtype.names:
                return None
            found.append((dtype.char, value.ndim, flags & order))
        elif kind is int:
            if not -LARGEST <= value <= LARGEST:
                return None
            found.append("int")
        elif kind is float or kind is bool:
            found.append(kind.__name__)
        elif isinstance(value, np.generic) and value.dtype.char in "?bBhHiIlLqQfd":
            found.append(value.dtype.char)
        elif isinstance(value, tuple):
            inside = key_of(value)
            if inside is None:
                return None
            found.append((kind.__name__, *inside))
        else:
            return None
    return tuple(found)


# files ---------------------------------------------------------------------------------------------------------------


def stored(kernel: str) -> dict[str, dict[str, Any]]:
    """The machine code of a kernel by the text of its key, as the package brings it and as this machine has kept it."""
    brought = shipped.path(kernel)
    return {**({} if brought is None else _read(brought)), **kept(kernel)}


def kept(kernel: str) -> dict[str, dict[str, Any]]:
    """What this machine has kept of a kernel: object, wrapper and environments; empty if nothing fits."""
    return next(filter(None, (_read(folder / f"{kernel}.{machine()}.code") for folder in folders())), {})


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The machine code in a file; empty if it is missing or damaged."""
    with suppress(OSError, ValueError, KeyError):
        data = path.read_bytes()
        if blake2b(data[DIGEST:], digest_size=DIGEST).digest() == data[:DIGEST]:
            return _parsed(data[DIGEST:])
    return {}


def store(kernel: str, entries: dict[str, dict[str, Any]]) -> None:
    """Keep the machine code of a kernel; without a folder that can be written, nothing happens."""
    bodies, about = [entry["object"] for entry in entries.values()], {}
    for key, entry in entries.items():
        about[key] = {name: value for name, value in entry.items() if name != "object"}
        about[key]["size"] = len(entry["object"])
    head = json.dumps(about).encode()
    data = len(head).to_bytes(8, "little") + head + b"".join(bodies)
    whole = blake2b(data, digest_size=DIGEST).digest() + data
    for folder in folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            handle, aside = tempfile.mkstemp(dir=folder, suffix=".tmp")  # private to this user
            with os.fdopen(handle, "wb") as file:
                file.write(whole)
            Path(aside).replace(folder / f"{kernel}.{machine()}.code")
            _remove_old(folder, kernel)
            return


def _remove_old(folder: Path, kernel: str) -> None:
    """Remove machine code of earlier versions but for a few: another machine may share the folder."""
    known = sorted(folder.glob(f"{kernel}.*.code"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in known[VERSIONS:]:
        path.unlink(missing_ok=True)


def _parsed(data: bytes) -> dict[str, dict[str, Any]]:
    size = int.from_bytes(data[:8], "little")
    about, at = json.loads(data[8 : 8 + size]), 8 + size
    for entry in about.values():
        entry["object"] = data[at : at + entry["size"]]
        at += entry["size"]
    found: dict[str, dict[str, Any]] = about
    return found


def folders() -> list[Path]:
    """Where machine code is kept: beside the kernels, else in the user's cache; NUMBA_CACHE_DIR replaces both."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return [Path(chosen) / "neardup-kernels"]
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [Path(__file__).parent / "__pycache__", cached / "neardup" / "kernels"]


@cache
def machine() -> str:
    """What machine code depends on: processor, Python, Numba, llvmlite, and the sources of the kernels."""
    import llvmlite
    from llvmlite import binding

    helper = _extension_path("_helperlib").stat()
    sources = sorted(Path(__file__).parent.glob("*.py"))
    known = [
        FORMAT,
        sys.version,
        llvmlite.__version__,
        (helper.st_size, helper.st_mtime_ns),
        binding.get_process_triple(),
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
        [(path.name, status.st_size, status.st_mtime_ns) for path in sources for status in [path.stat()]],
        os.environ.get("NUMBA_CPU_NAME"),
        os.environ.get("NUMBA_CPU_FEATURES"),
    ]
    return blake2b(json.dumps(known).encode(), digest_size=8).hexdigest()


# linking -------------------------------------------------------------------------------------------------------------


def linked(kernel: str, entry: dict[str, Any]) -> Any:
    """A function of Python that runs stored machine code."""
    dynamic, engine = _linker()
    from llvmlite import binding

    engine.add_object_file(binding.ObjectFileRef.from_data(entry["object"]))
    engine.finalize_object()
    address = engine.get_function_address(entry["wrapper"])
    if not address:
        raise ValueError(f"the machine code of {kernel} has no entry")
    own = None
    for name, dtypes in entry["environments"].items():
        environment = dynamic.Environment({})
        environment.consts.extend(np.dtype(one) for one in dtypes)
        place = engine.get_global_value_address(name)
        if place:
            c_void_p.from_address(place).value = id(environment)
        _environments.append(environment)
        own = own or environment  # the first is that of the kernel itself
    return dynamic.make_function(ModuleType(__name__), kernel, "", address, own, (engine,))


_environments: list[Any] = []  # environments, whose addresses machine code has


@cache
def _linker() -> tuple[Any, Any]:
    """Numba's maker of functions, and LLVM's loader, which knows the names of Numba's helper functions."""
    from llvmlite import binding

    helpers, dynamic = _extension("_helperlib"), _extension("_dynfunc")
    runtime = _extension("core.runtime._nrt_python")
    runtime.memsys_use_cpython_allocator()
    binding.add_symbol("_Py_NoneStruct", id(None))
    for name, address in (*helpers.c_helpers.items(), *dynamic.c_helpers.items()):
        binding.add_symbol(f"numba_{name}", address)
    for name, address in runtime.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    for name, one in vars(builtins).items():
        if isinstance(one, type) and issubclass(one, BaseException):
            binding.add_symbol(f"PyExc_{name}", id(one))
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple().create_target_machine(opt=3, jit=True)
    empty = binding.parse_assembly(f'target triple = "{binding.get_process_triple()}"\n')
    engine = binding.create_mcjit_compiler(empty, target)
    runtime_code = stored(RUNTIME)[""]
    engine.add_object_file(binding.ObjectFileRef.from_data(runtime_code["object"]))
    brought = shipped.path(RUNTIME)
    constants = {} if brought is None else _read(brought).get("", {}).get("constants", {})
    _serve_constants(helpers.c_helpers["unpickle"], {**constants, **runtime_code["constants"]})
    return dynamic, engine


RUNTIME = "reference_counts"  # Numba's functions that count references to arrays, compiled once too


def _extension(name: str) -> Any:
    """A C extension of Numba, imported without the package around it."""
    full = f"numba.{name}"
    if full in sys.modules:
        return sys.modules[full]
    path = str(_extension_path(name.replace(".", "/")))
    loader = ExtensionFileLoader(full, path)
    spec = spec_from_file_location(full, path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@cache
def _extension_path(name: str) -> Path:
    spec = find_spec("numba")  # finds the package without importing it
    assert spec is not None and spec.origin is not None
    for suffix in EXTENSION_SUFFIXES:
        path = Path(spec.origin).parent / f"{name}{suffix}"
        if path.exists():
            return path
    raise FileNotFoundError(name)


def _serve_constants(unpickle: int, known: dict[str, str]) -> None:
    """Answer machine code that asks for the dtype of an array which it returns, without Numba's own module.

    Numba's helper looks its module up once, and keeps the function that it finds there: ours, for a moment. `known` are
    the constants that kernels may ask for, by the bytes which stand for them in machine code.
    """
    _constants.update((bytes.fromhex(data), np.dtype(name)) for data, name in known.items() if name)
    _constants.update((bytes.fromhex(data), np.ndarray) for data, name in known.items() if not name)
    if "numba" in sys.modules:
        return
    ask = PYFUNCTYPE(py_object, c_char_p, c_int, c_char_p)(unpickle)
    data, name = next(iter(_constants)), "numba.core.serialize"
    module = ModuleType(name)
    module._numba_unpickle = _constant  # type: ignore[attr-defined]
    sys.modules |= {name: module, "numba": ModuleType("numba")}
    try:
        ask(data, len(data), bytes(64))
    finally:
        del sys.modules[name], sys.modules["numba"]


_constants: dict[bytes, Any] = {}


def _constant(address: int, data: bytes, digest: bytes) -> Any:
    """A constant of machine code. Others than dtypes are Numba's to read."""
    numba = sys.modules.get("numba.core.serialize")
    if numba is not None and numba.__spec__ is not None:  # it was imported later
        return numba._numba_unpickle(address, data, digest)
    return _constants[data]
