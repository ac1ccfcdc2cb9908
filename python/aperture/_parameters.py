# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments that are not arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any


def assign(parameters: Any, **values: Any) -> None:
    """Set parameters of the library; errors name them."""
    for name, value in values.items():
        try:
            setattr(parameters, name, value)
        except TypeError:
            kind = type(getattr(parameters, name))
            if kind is int and isinstance(value, int):
                raise ValueError(f"{name} {value}: too large") from None
            raise TypeError(f"{name} {value!r}: expected {_KINDS[kind]}") from None


_KINDS = {int: "a whole number", float: "a number", str: "a string", bool: "True or False"}


def number(name: str, value: Any) -> float:
    """A real number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} {value!r}: expected a number") from None


def whole_numbers(name: str, values: Any, count: int, meaning: str) -> tuple[int, ...]:
    """So many whole numbers, which errors describe by their meaning."""
    try:
        numbers = tuple(operator.index(value) for value in values)
    except TypeError:
        raise TypeError(f"{name} {values!r}: expected {meaning}") from None
    if len(numbers) != count:
        raise ValueError(f"{name} {values!r}: expected {meaning}")
    return numbers


def shape_of_cube(shape: Sequence[int]) -> tuple[int, int, int]:
    """Channels, pulses and range cells."""
    channels, pulses, cells = whole_numbers("shape", shape, 3, "(channels, pulses, range cells)")
    return channels, pulses, cells


def word(name: str, value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} {value!r}: expected a string")
    return value


def expects_progress(progress: Any) -> None:
    """Raise unless an argument ``progress`` can be called, or is None."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: expected a function, not {type(progress).__name__}")


def whole_number(name: str, value: Any) -> int:
    """A whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} {value!r}: expected a whole number") from None
