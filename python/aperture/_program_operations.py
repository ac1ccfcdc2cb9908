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
from aperture import _program_images as images


@dataclass(frozen=True)
class Operation:
    name: str
    operands: int
    result: str = ""
    """The type of results, if it is not that of the operands."""
    of: str = "all"
    """"all", "scalars" or "arrays"."""
    reduces: bool = False
    """Whether the result is a number, of all elements."""
    results: int = 1
    attributes: tuple[str, ...] = ()
    """Keyword arguments, which are numbers that are known."""
    neighbours: tuple[int, ...] = ()
    """Operands of which it reads others than the element in the same place."""


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
    functions.sum: Operation("sum", 1, of="arrays", reduces=True),
    functions.dot: Operation("dot", 2, of="arrays", reduces=True),
    functions.largest: Operation("largest", 1, of="arrays", reduces=True),
    functions.smallest: Operation("smallest", 1, of="arrays", reduces=True),
    functions.count: Operation("count", 1, "i64", of="arrays", reduces=True),
    images.warp: Operation("warp", 3, of="arrays", neighbours=(0,)),
    images.lands_inside: Operation("lands_inside", 2, "bool", of="arrays"),
    images.lk_least_squares: Operation(
        "lk_least_squares",
        3,
        of="arrays",
        results=2,
        attributes=("window", "regularisation"),
        neighbours=(0, 1, 2),
    ),
}
FUNCTION_NAMES = sorted({one.__name__ for one in FUNCTIONS} - {"absolute"})

# Types of NumPy's that numbers and arrays can be converted to.
CONVERSIONS: dict[Any, str] = {np.float32: "f32", np.float64: "f64"}

# What computes nearly the same as an operation, and what to write instead.
INSTEAD: dict[Any, str] = {
    sum: "aperture.compose.sum",
    np.sum: "aperture.compose.sum, which has one order of additions",
    np.max: "aperture.compose.largest",
    np.min: "aperture.compose.smallest",
    np.count_nonzero: "aperture.compose.count",
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
