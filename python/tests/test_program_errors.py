# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Functions that are no programs, and what their errors say."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from programs import evaluated

import aperture
from aperture import compose

MEDIAN: Any = compose.median

# Names that the functions find outside.
OUTSIDE = {
    "np": np,
    "compose": compose,
    "S": aperture.stencil({(0, 1): 1.0}),
    "heavy": aperture.stencil({(0, 1): 1e300}),
    "table": np.ones(3),
    "settings": SimpleNamespace(factor=2.0, name="x"),
    "word": "text",
    "precise": np.float64(0.1),
    "short": np.int16(3),
    "helper": lambda x: x,
    "dot": compose.dot,
    "where": compose.where,
    "Batch": compose.Batch,
    "odd": functools.partial(MEDIAN, shape=3),
    "vague": functools.partial(MEDIAN, size=np.int64(3)),
    "unknown": functools.partial(lambda x: x),
}


def bad(body: str, message: str, line: int = 1, place: str = "") -> Any:
    """The body of f(x, v, d, s, n, c, k): images of float32, a vector, an image of float64, a
    number, an int, an image of bool and one of int64; the message, its line in the body, and what
    it points to."""
    return pytest.param(body, message, line, place, id=re.sub(r"\W+", "_", body)[:40])


BAD = [
    # Names
    bad("return x + y", "there is no y", place="y"),
    bad("return x + vv", "there is no vv; is it v?", place="vv"),
    bad("return wher(c, x, x)", "there is no wher; is it where?", place="wher"),
    bad("y = x + z\nz = x\nreturn y", "z has no value here", 1, "z"),
    bad("for i in range(3):\n    x = x + t\n    t = x\nreturn x", "t has no value here", 2, "t"),
    bad("if dot(x, x) > s:\n    t = x + x\nreturn t", "t has no value here", 3, "return"),
    bad("if dot(x, x) > s:\n    w = 2.0\nreturn w * x", "w has no value here", 3, "w"),
    bad("t = dot(x, x)\nwhile t > s:\n    u = x + x\n    t = t * 0.5\nreturn u",
        "u has no value here", 5, "return"),
    bad("for i in range(n):\n    if dot(x, x) > s:\n        break\n    u = x + x\nreturn u",
        "u has no value here", 5, "return"),
    bad("for i in range(0):\n    u = x + x\nreturn u", "u has no value here", 3, "return"),
    bad("return settings.missing * x", "settings has no attribute missing", place="settings"),
    bad("return settings.name * x", "name is of type str, no number and no array", place="sett"),
    bad("return word + x", "word is of type str", place="word"),
    bad("return table + v", "table is an array outside of the function; make it an argument"),
    bad("return helper + x", "helper is of type function"),
    bad("return short * x", "a number of type int16; write float"),
    # Types and shapes
    bad("y = x * s\nz = y + v\nreturn z", "extents differ", 2, "y + v"),
    bad("return x + d", "array f32[4, 5] and array f64[4, 5]", 1, "x + d"),
    bad("return x * precise", "f32[4, 5] and scalar f64: their numbers have different types"),
    bad("return x + k", "different types", 1, "x + k"),
    bad("return c * c", "there is no multiply of bool", 1, "c * c"),
    bad("return x & x", "there is no and of f32", 1, "x & x"),
    bad("return k / k", "there is no divide of i64", 1, "k / k"),
    bad("return k * 0.5", "0.5, Python's float, among numbers of type i64", 1, "k * 0.5"),
    bad("return x + 1j", "1j, Python's complex, among numbers of type f32"),
    bad("return x + True", "True, Python's bool, among numbers of type f32"),
    bad("return k + 2**64", "18446744073709551616 is too large for i64"),
    bad("return x * 1e300", "1e+300 is too large for f32", 1, "x * 1e300"),
    bad("return heavy * x", "1e+300 is too large for f32", 1, "heavy"),
    bad("return S * k", "a stencil times array i64[4, 5]; expected f32 or f64"),
    bad("return S * v", "stencil_product of array f32[7]; expected an array of rank 2", 1, "S * v"),
    bad("return x * S", "S is a stencil, which multiplies an array: S * x", 1, "x * S"),
    bad("return S + x", "S is a stencil, which multiplies an array"),
    bad("return compose.red(v)", "red of array f32[7]; expected an array of rank 2"),
    bad("return compose.sum(c)", "there is no sum of bool"),
    bad("return compose.sum(s)", "sum of a number; expected an array"),
    bad("return dot(x, v)", "dot of array f32[4, 5] and array f32[7]"),
    bad("return abs(k)", "there is no abs of i64"),
    bad("x = v + v\nreturn x", "array f32[4, 5] before, and cannot become array f32[7]", 1, "x"),
    bad("y = x\ny = dot(x, x)\nreturn y", "cannot become scalar f32", 2, "y"),
    bad("t = 0.0\nt = t + dot(x, x)\nt = t + dot(d, d)\nreturn t", "t would be both", 2),
    bad("t = 0.0\nt = dot(x, x)\nt = dot(d, d)\nreturn t", "t would be both", 2, "t"),
    bad("return where(x, x, x)", "the first argument must be of bool"),
    # Conditions
    bad("if x > s:\n    x = x + x\nreturn x", "a condition is one number, not an arr", 1, "x > s"),
    bad("if dot(x, x):\n    x = x + x\nreturn x", "a condition is a comparison", 1, "dot"),
    bad("return c and c", "one number, not an array; of arrays use & | ~", 1, "c and c"),
    bad("return not c", "not of arrays; use ~", 1, "not c"),
    bad("return s < x < s", "one number, not an array", 1, "s < x < s"),
    bad("return min(x, d)", "min of arrays; use minimum", 1, "min"),
    bad("return x is x", "a program has no operator is"),
    bad("return x in x", "a program has no operator in"),
    # Operators and functions
    bad("return x ** 2", "a program has no operator **; write x * x", 1, "x ** 2"),
    bad("return x @ x", "matrix_multiply of array f32[4, 5]; expected a batch"),
    bad("return k // 2", "a program has no operator //"),
    bad("return k ^ k", "a program has no operator ^"),
    bad("return x * (1 // 0)", "ZeroDivisionError"),
    bad("return x[0]", "arrays have no subscripts", 1, "x[0]"),
    bad("return x * x.shape[2]", "IndexError"),
    bad("return x * x.shape", "is of type tuple", 1, "x * x.shape"),
    bad("return x.T", "a program knows .shape, .ndim and .size of arrays, not .T", 1, "x.T"),
    bad("return np.exp(x)", "exp computes something else; use aperture.compose.exp"),
    bad("return np.sum(x)", "sum computes something else; use aperture.compose.sum"),
    bad("return sum(v)", "use aperture.compose.sum"),
    bad("return np.minimum(x, x)", "aperture.compose.minimum, which takes NaN as Python's min"),
    bad("return helper(x)", "a program cannot call helper"),
    bad("return f(x)", "f calls itself, which a program cannot", 1, "f(x)"),
    bad("return word(x)", "this is no function"),
    bad("return x(x)", "this is no function"),
    bad("return where(c, x)", "select has 3 operands, not 2"),
    bad("return min(dot(x, x), s, s)", "min has 2 operands, not 3"),
    bad("return abs()", "abs has 1 operand, not 0"),
    bad("return np.where(c, x, y=x)", "no argument y in a program", 1, "x)"),
    bad("return compose.warp(x, v, v)", "warp: u is a array f32[7], expected an array f32 of"),
    bad("return compose.warp(d, d, d)", "expected an array f32 of rank 2", 1, "compose.warp"),
    bad("u, w = compose.lk_least_squares(x, x, x, window=s)\nreturn u", "must be known", 1, "s)"),
    bad("u, w = compose.lk_least_squares(x, x, x, window=4)\nreturn u", "expected an odd number"),
    bad("u, w, z = compose.lk_least_squares(x, x, x)\nreturn u", "2 values for 3 names", 1, "u, w"),
    bad("return compose.median(x, size='large')", "median: size is a number", 1, "compose"),
    bad("return compose.median(x, size=4)", "median<size = 4>: expected 3, 5 or 7"),
    bad("return compose.median(x, shape=3)", "no argument shape in a program", 1, "3)"),
    bad("return compose.median(x, size=None)", "size must be known, a number or a word", 1, "None"),
    bad("return compose.median(x, size=True)", "median: size is a number", 1, "compose"),
    bad("return compose.median(x, size='a b')", "size is 'a b', which is no word"),
    bad("return compose.median(x, size=x)", "size must be known", 1, "x)"),
    bad("return compose.median(x, size=word)", "median: size is a number"),
    bad("return compose.median(d)", "of array f64[4, 5]; expected an array f32", 1, "compose"),
    bad("return compose.blur(x, sigma=-1)", "blur<sigma = -1>: expected 0 to 1000"),
    bad("return compose.resize(x, rows=2.5, columns=3)", "expected an integer"),
    bad("return compose.resize(x, rows=2, columns=3, interpolation='x')", "interpolation"),
    bad("return compose.median(2.0)", "ValueError: median of scalar f64; expected", 1, "compose"),
    bad("return odd(x)", "no argument shape in a program", 1, "odd(x)"),
    bad("return vague(x)", "size must be known, a number or a word", 1, "vague(x)"),
    bad("return unknown(x)", "a program cannot call unknown"),
    bad("return compose.conj(x)", "there is no conj of f32"),
    bad("return compose.norm(x)", "norm of array f32[4, 5]; expected a batch"),
    bad("return compose.matrix_vector(x, v)", "array f32[5]", 1, "compose"),
    bad("return compose.matrix_matrix(x, x)", "matrix_matrix of array f32[4, 5] and array f32[4"),
    bad("return np.linalg.inv(x)", "inv computes something else; use aperture.compose.inverse"),
    bad("return np.log(x)", "use aperture.compose.log, which has the same bits everywhere"),
    bad("return where(*[c, x, x])", "a program cannot have starred", 1, "*[c"),
    # Loops
    bad("for i in x:\n    pass\nreturn x", "a program's loops are for ... in range(n)", 1, "x:"),
    bad("for i in enumerate(x):\n    pass\nreturn x", "for ... in range(n)"),
    bad("for i in range(1, n):\n    pass\nreturn x", "range has one argument", 1, "range"),
    bad("for i in range(s):\n    pass\nreturn x", "range(n) needs a known int", 1, "s)"),
    bad("for i in range(2.5):\n    pass\nreturn x", "range(n) needs a known int", 1, "2.5"),
    bad("for i, j in range(n):\n    pass\nreturn x", "a loop counts with one name", 1, "i, j"),
    bad("for n in range(3):\n    x = x + x\nreturn x", "n counts a loop, and is a param", 1, "n"),
    bad("for i in range(n):\n    i = 3\nreturn x", "i counts a loop, and is assigned elsewhere", 2),
    bad("for i in range(n):\n    for i in range(n):\n        x = x\nreturn x", "outer loop", 2),
    bad("return x.astype(np.int16)", "a program converts to np.float32 and np.float64"),
    bad("return x.astype(x)", "astype has one argument in a program, a type of NumPy's"),
    bad("return np.max(x)", "max computes something else; use aperture.compose.largest"),
    bad("for i in range(n):\n    continue\nreturn x", "cannot have continue", 2, "continue"),
    bad("for i in range(n):\n    pass\nelse:\n    x = x\nreturn x", "loops have no else", 4),
    bad("while dot(x, x) > s:\n    x = x * 0.5\nelse:\n    x = x\nreturn x", "no else", 4),
    bad("while x > s:\n    x = x * 0.5\nreturn x", "a condition is one number", 1, "x > s"),
    # Statements
    bad("x + x\nreturn x", "this has no effect", 1, "x + x"),
    bad("x += x\nreturn x", "+= writes the array itself; write x = x + ...", 1, "x += x"),
    bad("x[0] = 1.0\nreturn x", "a program assigns to names only", 1, "x[0]"),
    bad("x[0] += 1.0\nreturn x", "a program assigns to names only", 1, "x[0]"),
    bad("a, b = x\nreturn a", "only a tuple can be assigned to several names", 1, "x"),
    bad("a, b = x, x, x\nreturn a", "3 values for 2 names", 1, "a, b"),
    bad("a, *b = x, x\nreturn a", "a program assigns to names only", 1, "*b"),
    bad("t = S\nt = S\nreturn t * x", "t is assigned more than once, and is no number", 1, "t"),
    bad("if s > 1.0:\n    return x\nreturn v", "return must be the last statement", 2, "return"),
    bad("x = x + x", "f returns nothing", 0),
    bad("return", "f returns nothing", 0),
    bad("return ()", "f returns nothing", 1, "return ()"),
    bad("return S", "S is a stencil", 1, "S"),
    bad("return word", "word is of type str", 1, "word"),
    bad("return 'text'", "a program cannot compute with 'text'", 1, "'text'"),
    bad("return None", "a program cannot compute with None", 1, "None"),
    bad("global word\nreturn x", "a program cannot have global", 1, "global"),
    bad("def g(y):\n    return y\nreturn x", "a program cannot have functiondef", 1, "def"),
    bad("g = lambda y: y\nreturn x", "a program cannot have lambda", 1, "lambda"),
    bad("yield x", "a program cannot have yield", 1, "yield"),
    bad("with s:\n    pass\nreturn x", "a program cannot have with", 1, "with"),
    bad("try:\n    pass\nfinally:\n    pass\nreturn x", "a program cannot have try", 1, "try"),
    bad("assert n\nreturn x", "a program cannot have assert", 1, "assert"),
    bad("raise ValueError\nreturn x", "a program cannot have raise", 1, "raise"),
    bad("import math\nreturn x", "a program cannot have import", 1, "import"),
    bad("del x\nreturn v", "a program cannot have delete", 1, "del"),
    bad("y = [x, x]\nreturn x", "a program cannot have list", 1, "[x, x]"),
    bad("y = {1: x}\nreturn x", "a program cannot have dict", 1, "{1: x}"),
    bad("y = [x for i in v]\nreturn x", "a program cannot have listcomp", 1, "[x for"),
    bad("return (y := x) + x", "a program cannot have namedexpr", 1, "y := x"),
    bad("match n:\n    case 1:\n        x = x + x\nreturn x", "a program cannot have match", 1),
    bad("y = f'{n}'\nreturn x", "a program cannot have joinedstr", 1, "f'{n}'"),
]  # fmt: skip


# Of f(A, x, few, lone, m, s): batches of 4 matrices and vectors of order 3, of 2 matrices, of 4
# matrices [2, 3]; an array like A, and a number.
BAD_BATCHES = [
    bad("return m @ m", "matrix_multiply of array f32[4, 3, 3]; expected a batch of f32, f64, c64 "
        "or c128; parameters that are batches have the annotation aperture.compose.Batch", 1, "m"),
    bad("return A @ m", "annotation aperture.compose.Batch", 1, "A @ m"),
    bad("y = -m\nreturn A + y", "annotation aperture.compose.Batch", 2, "A + y"),
    bad("return A + m", "array f32[4, 3, 3]: their extents differ; parameters that", 1, "A + m"),
    bad("return A @ s", "matrix_multiply of scalar f32; expected a batch", 1, "A @ s"),
    bad("return x @ A", "matrix_multiply of batch f32[4, 3]; expected matrices [problem][row]"),
    bad("return A @ lone", "their inner extents differ", 1, "A @ lone"),
    bad("return A @ few", "their problems or types of numbers differ", 1, "A @ few"),
    bad("return A + few", "batch f32[4, 3, 3] and batch f32[2, 3, 3]: their extents differ"),
    bad("return A + x", "their extents differ", 1, "A + x"),
    bad("return A + A.astype(np.float64)", "their numbers have different types"),
    bad("return compose.solve(A, few)", "solve of batch f32[4, 3, 3] and batch f32[2, 3, 3]"),
    bad("return compose.solve(A)", "solve has 2 operands, not 1", 1, "compose"),
    bad("return compose.solve(lone, x)", "expected square matrices", 1, "compose"),
    bad("return compose.solve(A, x, matrix='odd')", "solve: matrix odd: expected general"),
    bad("return compose.solve(A, x, matrix=2)", "solve: matrix is a word"),
    bad("return compose.solve(A, x, assume='upper')", "no argument assume in a program", 1, "'upp"),
    bad("return compose.solve(A, x, matrix=s)", "matrix must be known", 1, "s)"),
    bad("return compose.matrix_multiply(A, x, b='adjoint')", "b of matrix_multiply is a vector"),
    bad("L, U, P = compose.lu(A)\nreturn L", "2 values for 3 names", 1, "L, U"),
    bad("R, y = compose.qr(A)\nreturn R", "only a tuple can be assigned to several names"),
    bad("return compose.qr(lone)", "expected at least as many rows as columns"),
    bad("return dot(x, x)", "dot of a batch; expected an array", 1, "dot"),
    bad("return compose.sum(A)", "sum of a batch; expected an array"),
    bad("return compose.red(A)", "red of a batch; expected an array"),
    bad("return S * A", "stencil_product of batch f32[4, 3, 3]", 1, "S * A"),
    bad("return compose.exp(A)", "exp of a batch", 1, "compose"),
    bad("A = x\nreturn A", "A is batch f32[4, 3, 3] before, and cannot become batch f32[4, 3]", 1),
    bad("A = m\nreturn A", "A is batch f32[4, 3, 3] before, and cannot become array f32[4, 3, 3]"),
    bad("if A > s:\n    A = -A\nreturn A", "a condition is one number", 1, "A > s"),
    bad("return compose.solve_weights(m, m)", "the covariance is of type array f32[4, 3, 3]"),
    bad("A @= A\nreturn A", "@= writes the array itself; write A = A @ ...", 1, "A @= A"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message", "line", "place"), BAD)
def test_bad_programs_are_refused_with_their_place(
    tmp_path: Path, body: str, message: str, line: int, place: str
) -> None:
    x = np.ones((4, 5), np.float32)
    arguments = (x, np.ones(7, np.float32), np.ones((4, 5)), 2.0, 3, x > 0, np.ones((4, 5), int))
    is_refused(tmp_path, "x, v, d, s, n, c, k", arguments, body, message, line, place)


@pytest.mark.parametrize(("body", "message", "line", "place"), BAD_BATCHES)
def test_bad_programs_of_batches_are_refused_with_their_place(
    tmp_path: Path, body: str, message: str, line: int, place: str
) -> None:
    parameters = "A: Batch, x: Batch, few: Batch, lone: Batch, m, s"
    shapes = [(4, 3, 3), (4, 3), (2, 3, 3), (4, 2, 3), (4, 3, 3)]
    arguments = (*(np.ones(shape, np.float32) for shape in shapes), 2.0)
    is_refused(tmp_path, parameters, arguments, body, message, line, place)


def is_refused(
    folder: Path,
    parameters: str,
    arguments: tuple[Any, ...],
    body: str,
    message: str,
    line: int,
    place: str,
) -> None:
    text = f"def f({parameters}):\n" + "\n".join("    " + one for one in body.split("\n"))
    f = aperture.program(evaluated(text + "\n", folder, **OUTSIDE)["f"])
    f.__wrapped__.__globals__["f"] = f
    with pytest.raises(aperture.ProgramError) as raised:
        f(*arguments)
    error = raised.value
    assert message in error.reason, str(error)
    assert error.line == line + 1, str(error)
    source = text.split("\n")[line]
    assert str(error).splitlines()[1].strip() == source.strip()
    assert source[error.column - 1 :].startswith(place), str(error)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("async def f(x):\n    return x", "a function that def makes"),
        ("f = lambda x: x", "a function that def makes"),
    ],
)
def test_bad_functions_are_refused(tmp_path: Path, text: str, message: str) -> None:
    f = aperture.program(evaluated(text, tmp_path)["f"])
    with pytest.raises(aperture.ProgramError, match=re.escape(message)) as raised:
        f(np.ones(3))
    assert raised.value.line == 1


def test_functions_with_starred_parameters_are_refused() -> None:
    def starred(*x: Any) -> Any:
        return x

    def named(**x: Any) -> Any:
        return x

    for function in (starred, named):
        with pytest.raises(TypeError, match=r"a program has no parameter \*"):
            aperture.program(function)


def test_programs_may_be_large_but_not_endless(tmp_path: Path) -> None:
    x = np.ones(3)

    def with_statements(count: int) -> Any:
        body = "".join(f"    x{i + 1} = x{i} + x0\n" for i in range(count))
        return evaluated(f"def f(x0):\n{body}    return x{count}\n", tmp_path)["f"]

    assert (aperture.program(tier="interpreted")(with_statements(1000))(x) == 1001).all()
    with pytest.raises(aperture.ProgramError, match="more than 4096 values") as raised:
        aperture.program(tier="interpreted")(with_statements(5000))(x)
    assert raised.value.line == 4096
    deep = evaluated(f"def f(x):\n    return {'x + ' * 2000} x\n", tmp_path)["f"]
    with pytest.raises(aperture.ProgramError, match="nested too deeply"):
        aperture.program(tier="interpreted")(deep)(x)
    blocks = "".join("    " * i + f"for i{i} in range(1):\n" for i in range(1, 20))
    nested = f"def f(x):\n{blocks}{'    ' * 20}x = x + x\n    return x\n"
    assert (aperture.program(tier="interpreted")(evaluated(nested, tmp_path)["f"])(x) == 2).all()
