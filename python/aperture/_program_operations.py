# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Python's operators and functions, and the operations of programs that they are."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aperture import _program_functions as functions


@dataclass(frozen=True)
class Operation:
    name: str
    operands: int
    result: str = ""
    """The type of results, if it is not that of the operands."""
    of: str = "all"
    """"all", "scalars" or "arrays"."""


BINARY: dict[type, Operation] = {
    ast.Add: Operation("add", 2),
    ast.Sub: Operation("subtract", 2),
    ast.Mult: Operation("multiply", 2),
    ast.Div: Operation("divide", 2),
    ast.BitAnd: Operation("and", 2),
    ast.BitOr: Operation("or", 2),
}
UNARY: dict[type, Operation] = {
    ast.USub: Operation("negate", 1),
    ast.Invert: Operation("not", 1),
    ast.Not: Operation("not", 1, of="scalars"),
}
COMPARISONS: dict[type, tuple[Operation, bool]] = {
    ast.Lt: (Operation("less", 2, "bool"), False),
    ast.LtE: (Operation("less_equal", 2, "bool"), False),
    ast.Gt: (Operation("less", 2, "bool"), True),
    ast.GtE: (Operation("less_equal", 2, "bool"), True),
    ast.Eq: (Operation("equal", 2, "bool"), False),
    ast.NotEq: (Operation("not_equal", 2, "bool"), False),
}
"""With whether the operands change places."""

COPY = Operation("copy", 1)
SELECT = Operation("select", 3)

FUNCTIONS: dict[Any, Operation] = {
    abs: Operation("abs", 1),
    np.abs: Operation("abs", 1),
    min: Operation("min", 2, of="scalars"),
    max: Operation("max", 2, of="scalars"),
    functions.minimum: Operation("min", 2),
    functions.maximum: Operation("max", 2),
    functions.sqrt: Operation("sqrt", 1),
    np.sqrt: Operation("sqrt", 1),
    functions.where: SELECT,
    np.where: SELECT,
    functions.fma: Operation("multiply_add", 3),
    functions.red: Operation("red", 1, of="arrays"),
    functions.black: Operation("black", 1, of="arrays"),
    functions.sum: Operation("sum", 1, of="arrays"),
    functions.dot: Operation("dot", 2, of="arrays"),
}
FUNCTION_NAMES = sorted({one.__name__ for one in FUNCTIONS} - {"absolute"})

# What computes nearly the same as an operation, and what to write instead.
INSTEAD: dict[Any, str] = {
    sum: "aperture.compose.sum",
    np.sum: "aperture.compose.sum, which has one order of additions",
    np.dot: "aperture.compose.dot, of all elements",
    np.minimum: "aperture.compose.minimum, which takes NaN as Python's min",
    np.maximum: "aperture.compose.maximum, which takes NaN as Python's max",
}

# Of numbers of Python's.
BY_PYTHON: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
FUNCTIONS_BY_PYTHON = {abs, min, max, int, float, len, round}

SIGNS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
