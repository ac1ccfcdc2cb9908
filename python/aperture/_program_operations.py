# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Python's operators and functions, and the operations of programs that they are."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from aperture import _program_functions as functions
from aperture._program_library import FUNCTIONS, Operation

BINARY: dict[type, Operation] = {
    ast.Add: Operation("add"),
    ast.Sub: Operation("subtract"),
    ast.Mult: Operation("multiply"),
    ast.Div: Operation("divide"),
    ast.MatMult: Operation("matrix_multiply"),
    ast.BitAnd: Operation("and"),
    ast.BitOr: Operation("or"),
}
UNARY: dict[type, Operation] = {
    ast.USub: Operation("negate"),
    ast.Invert: Operation("not"),
    ast.Not: Operation("not", of="scalars"),
}
COMPARISONS: dict[type, tuple[Operation, bool]] = {
    ast.Lt: (Operation("less"), False),
    ast.LtE: (Operation("less_equal"), False),
    ast.Gt: (Operation("less"), True),
    ast.GtE: (Operation("less_equal"), True),
    ast.Eq: (Operation("equal"), False),
    ast.NotEq: (Operation("not_equal"), False),
}
"""With whether the operands change places."""

COPY = Operation("copy")
SELECT = Operation("select")

FUNCTIONS.update(
    {
        abs: Operation("abs"),
        np.abs: Operation("abs"),
        min: Operation("min", of="scalars"),
        max: Operation("max", of="scalars"),
        functions.minimum: Operation("min"),
        functions.maximum: Operation("max"),
        functions.sqrt: Operation("sqrt"),
        np.sqrt: Operation("sqrt"),
        np.conj: Operation("conj"),
        np.real: Operation("real"),
        np.imag: Operation("imag"),
        functions.where: SELECT,
        np.where: SELECT,
        functions.fma: Operation("multiply_add"),
        functions.red: Operation("red", of="arrays"),
        functions.black: Operation("black", of="arrays"),
        functions.sum: Operation("sum", of="arrays"),
        functions.dot: Operation("dot", of="arrays"),
        functions.largest: Operation("largest", of="arrays"),
        functions.smallest: Operation("smallest", of="arrays"),
        functions.count: Operation("count", of="arrays"),
    }
)
FUNCTION_NAMES = sorted({one.__name__ for one in FUNCTIONS} - {"absolute", "conjugate"})

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
    np.exp: "aperture.compose.exp, which has the same bits everywhere",
    np.log: "aperture.compose.log, which has the same bits everywhere",
    np.transpose: "aperture.compose.transposed of batches, or transposed_image",
    np.matmul: "@, of batches",
    np.linalg.norm: "aperture.compose.norm, of batches",
    np.linalg.cholesky: "aperture.compose.cholesky, of batches",
    np.linalg.qr: "aperture.compose.qr, of batches",
    np.linalg.solve: "aperture.compose.solve, of batches",
    np.linalg.inv: "aperture.compose.inverse, of batches",
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
