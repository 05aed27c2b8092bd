"""Kernels are also plain Python: `make test-nojit` runs this folder with the compiler switched off."""

from __future__ import annotations

from inputs import COMPILED

from neardup.kernels import tokens


def test_the_compiler_is_on_or_off_as_asked() -> None:
    assert hasattr(tokens.tokenize, "py_func") == COMPILED
