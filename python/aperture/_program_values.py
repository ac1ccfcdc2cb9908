# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What the expressions of a program stand for while it is translated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]

# As the text of a program names them.
DTYPES: dict[np.dtype[Any], str] = {
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64",
    np.dtype(np.complex64): "c64",
    np.dtype(np.complex128): "c128",
    np.dtype(np.int64): "i64",
    np.dtype(np.bool_): "bool",
}
NUMPY_DTYPES = {name: dtype for dtype, name in DTYPES.items()}

# What Python's numbers may become, as in NumPy 2.
WEAK_TYPES: dict[type, tuple[str, ...]] = {
    bool: ("bool",),
    int: ("i64", "f32", "f64", "c64", "c128"),
    float: ("f32", "f64", "c64", "c128"),
    complex: ("c64", "c128"),
}


class Type(NamedTuple):
    """A type of the text."""

    kind: str
    """"scalar", "array", "batch" or "stencil"."""
    dtype: str
    shape: Shape = ()
    """Of a stencil, an offset."""

    def __str__(self) -> str:
        extents = f"[{', '.join(map(str, self.shape))}]" if self.shape else ""
        return f"{self.kind} {self.dtype}{extents}"


@dataclass(frozen=True)
class Known:
    """What is known without the values of arguments: a number, a stencil, a function, a shape."""

    value: Any
    name: str | None = None


@dataclass(frozen=True)
class WeakNumber:
    """A number of Python's that Python computes of the arguments of each call: one of them, for
    example. It gets the type of what it meets."""

    compute: Callable[[tuple[Any, ...]], Any] = field(compare=False)
    name: str
    """How it is written."""
    kind: type


@dataclass(frozen=True)
class Symbol:
    """A symbol of the text."""

    name: str
    type: Type
    variable: str | None = None
    """The function's variable that it is."""

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        return self.type.shape


Value = Known | WeakNumber | Symbol


def is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex | np.number | np.bool_)


def weak_kind(value: Value) -> type | None:
    """The type of a number of Python's; None for other values."""
    if isinstance(value, WeakNumber):
        return value.kind
    if isinstance(value, Known) and type(value.value) in WEAK_TYPES:
        return type(value.value)
    return None


def strong_type(value: Value) -> str | None:
    """The type of symbols and numbers of NumPy's; None for other values."""
    if isinstance(value, Symbol):
        return value.dtype
    if isinstance(value, Known) and isinstance(value.value, np.generic):
        return DTYPES.get(value.value.dtype, str(value.value.dtype))
    return None
