"""Formulas of users: parsed, checked name by name, and computed over arrays; nothing is run as code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.errors import ParameterError
from neardup.plurals import counted

Floats = NDArray[np.float64]
Value = Floats | float

BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "log": (1, np.log), "exp": (1, np.exp), "sqrt": (1, np.sqrt), "cos": (1, np.cos), "sin": (1, np.sin),
    "abs": (1, np.abs), "floor": (1, np.floor), "min": (2, np.minimum), "max": (2, np.maximum),
}  # fmt: skip
CONSTANTS = {"pi": np.pi, "e": np.e}
LONGEST = 500  # characters


@cache
def parse(formula: str, names: tuple[str, ...]) -> ast.expr:
    """The formula's tree, or a ParameterError that says which part of it is not understood."""
    if len(formula) > LONGEST:
        raise ParameterError("expression", "weights", f"at most {LONGEST} characters", formula[:40] + "…")
    try:
        tree = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        said = getattr(error, "msg", None) or error
        raise ParameterError("expression", "weights", f"a formula ({said})", formula) from None
    _check(tree, formula, names)
    return tree


def _check(node: ast.expr, formula: str, names: tuple[str, ...]) -> None:
    """Numbers, known names, + - * / ** and known functions; anything else is refused."""
    known = f"made of numbers, {', '.join([*names, *CONSTANTS])}, + - * / ** and {', '.join(FUNCTIONS)}"
    match node:
        case ast.Constant(value=value) if isinstance(value, (int, float)) and not isinstance(value, bool):
            if abs(value) > 1e15:
                raise ParameterError("expression", "weights", "made of numbers below 10¹⁵", formula)
        case ast.Name(id=name) if name in names or name in CONSTANTS:
            pass
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            _check(left, formula, names)
            _check(right, formula, names)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check(operand, formula, names)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            if len(args) != FUNCTIONS[name][0]:
                expected = f"with {counted(FUNCTIONS[name][0], 'value')} in {name}(…)"
                raise ParameterError("expression", "weights", expected, formula)
            for argument in args:
                _check(argument, formula, names)
        case _:
            raise ParameterError("expression", "weights", known, f"{formula} ({ast.unparse(node)})")


def evaluate(formula: str, values: Mapping[str, Value]) -> Floats:
    """The formula's value for each entry of the arrays."""
    tree = parse(formula, tuple(sorted(values)))
    with np.errstate(all="ignore"):  # the caller refuses values that are not finite
        return np.asarray(_compute(tree, values), np.float64)


def _compute(node: ast.expr, values: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return values[name] if name in values else CONSTANTS[name]
        case ast.BinOp(left=left, op=op, right=right):
            a, b = np.asarray(_compute(left, values)), np.asarray(_compute(right, values))
            result: Value = BINARY[type(op)](a, b)
            return result
        case ast.UnaryOp(op=op, operand=operand):
            inner = _compute(operand, values)
            return -inner if isinstance(op, ast.USub) else inner
        case ast.Call(func=ast.Name(id=name), args=args):
            called: Value = FUNCTIONS[name][1](*(_compute(argument, values) for argument in args))
            return called
    raise AssertionError(ast.dump(node))
