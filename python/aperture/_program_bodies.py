# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations of programs that users write in C++."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aperture._extension import core
from aperture._program_functions import BORDERS
from aperture._program_values import DTYPES


@dataclass(frozen=True)
class Operand:
    """A name in the body of an operation: see :func:`operand`."""

    name: str
    above: int
    below: int
    left: int
    right: int
    border: str
    dtype: str
    """As programs name it; empty for T."""

    @property
    def around(self) -> tuple[int, int, int, int]:
        return self.above, self.below, self.left, self.right


@dataclass(frozen=True)
class TextOperation:
    """An operation with a body in C++: see :func:`operation`."""

    name: str
    operands: tuple[Operand, ...]
    body: str
    results: tuple[str, ...]
    """One without a name if the body returns it."""
    result: str
    """Type of results, as programs name it; empty for T."""
    numpy: Callable[..., Any] | None = field(compare=False, repr=False)

    def __call__(self, *values: Any) -> Any:
        """The result by NumPy, outside of programs and in those of ``mode="numpy"``."""
        if self.numpy is None:
            raise ValueError(
                f"{self.name}: a body in C++ runs in programs alone, but not with mode='numpy'; "
                "name a function that computes the same: operation(..., numpy=...)"
            )
        if len(values) != len(self.operands):
            raise TypeError(f"{self.name} has {len(self.operands)} operands, not {len(values)}")
        return self.numpy(*values)

    def specification(self) -> tuple[Any, ...]:
        """As the extension takes it."""
        operands = [(one.name, one.dtype, one.around, one.border) for one in self.operands]
        return self.name, operands, self.results, self.result, self.body


def operand(
    name: str,
    *,
    above: int = 0,
    below: int = 0,
    left: int = 0,
    right: int = 0,
    border: str = "replicate",
    dtype: Any = None,
) -> Operand:
    """An operand of an :func:`operation`, of which the body reads neighbours, or whose type is
    stated.

    Parameters
    ----------
    name : str
        In the body.
    above, below, left, right : int
        How many rows and columns around the place the body reads. If one is not zero, the operand
        is an image [row, column] and ``name(down, right)`` the entry so many rows below and columns
        to the right. Otherwise ``name`` is the entry in the place, or a number.
    border : {"replicate", "zero"}
        What lies beyond an image: the nearest of its pixels, or zeros.
    dtype : dtype, optional
        Of its numbers. Those of all operands without are of one type, T in the body.

    Returns
    -------
    Operand

    Raises
    ------
    ValueError, TypeError
        For another word, what is no int, or no type of programs.

    Examples
    --------
    >>> import aperture
    >>> aperture.operand("x", left=1, right=1).around
    (0, 0, 1, 1)
    """
    if border not in BORDERS:
        raise ValueError(f"border {border!r}: expected replicate or zero")
    for number in (above, below, left, right):
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 1000:
            raise ValueError(f"{name}: a reach of {number!r}, expected integers from 0 to 1000")
    return Operand(name, above, below, left, right, border, _type_name(dtype))


def operation(
    name: str,
    operands: Sequence[str | Operand],
    body: str,
    *,
    results: Sequence[str] = (),
    result: Any = None,
    numpy: Callable[..., Any] | None = None,
) -> TextOperation:
    """An operation on the entries in one place, in C++, which functions under :func:`program` call.

    **The body is code.** It is compiled and runs in the process, with all rights of the user,
    without a sandbox: take none from others that you would not run.

    Parameters
    ----------
    name : str
        In the text of programs and in errors; an identifier that no operation of the library has.
    operands : sequence of str or Operand
        Names in the body, 1 to 8. The arrays of a call have one shape; numbers count for all
        entries. See :func:`operand`.
    body : str
        That of a C++ function that returns the result's entry, or assigns to the names of several
        results. T is the type of the operands;
        ``at.row`` and ``at.column`` are the place, unless all operands are numbers. It has
        mathematical functions, but no headers, and must compile for CPUs and for GPUs.
    results : sequence of str, optional
        Names in the body, 2 to 8, of an operation with several results; calls return a tuple.
    result : dtype, optional
        Of the results' numbers, if it is not T.
    numpy : function, optional
        Computes the same of NumPy's arrays. It is what the operation does outside of programs, and
        in those with ``mode="numpy"``.

    Returns
    -------
    TextOperation
        Immutable; a name that programs find outside, or an argument.

    Raises
    ------
    ValueError, TypeError
        For names that are no identifiers or have a meaning already, types that programs do not
        have. What is wrong with the body is a ValueError when a program that calls it first runs,
        with the compiler's message by the line of the body; and so it is if there is no compiler.

    Notes
    -----
    Calls join the kernels of others. Every program compiles its operations itself, so that
    operations of one name may differ from program to program, though not within one.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> shrink = aperture.operation(
    ...     "shrink", ["x", "t"], "return fabs(x) > t ? x - copysign(t, x) : T(0);"
    ... )
    >>> across = aperture.operation(
    ...     "across", [aperture.operand("x", left=1, right=1)],
    ...     "return (x(0, 1) - x(0, -1)) * T(0.5);",
    ... )
    >>> @aperture.program
    ... def doubled(x, t):
    ...     return shrink(across(x), t) * 2
    >>> doubled(np.array([[0.0, 2.0, 8.0, 8.0]]), 1.0).tolist()
    [[0.0, 6.0, 4.0, 0.0]]
    """
    if not isinstance(name, str) or not isinstance(body, str):
        raise TypeError("operation: the name and the body are strings")
    if isinstance(operands, str) or isinstance(results, str):
        raise TypeError(f"{name}: a string, expected a sequence of names")
    if len(results) == 1:
        raise ValueError(f"{name}: one name of results; a body returns a single result")
    if numpy is not None and not callable(numpy):
        raise TypeError(f"{name}: numpy is of type {type(numpy).__name__}, expected a function")
    parts = tuple(operand(one) if isinstance(one, str) else one for one in operands)
    for one in parts:
        if not isinstance(one, Operand):
            raise TypeError(f"{name}: an operand of type {type(one).__name__}, expected a name")
    made = TextOperation(name, parts, body, tuple(results) or ("",), _type_name(result), numpy)
    core.expect_operation(made.specification())
    return made


def _type_name(dtype: Any) -> str:
    if dtype is None:
        return ""
    found = DTYPES.get(np.dtype(dtype))
    if found is None:
        raise TypeError(
            f"a type of {np.dtype(dtype)}: expected one of {', '.join(map(str, DTYPES))}"
        )
    return found
