# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs for many values of their parameters."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from aperture import _arrays
from aperture._program_source import ProgramError
from aperture._warnings import warn

Given = tuple[Any, ...]


def numbers_of(name: str, values: Any) -> Any:
    """The values of a parameter, as wide as Python's numbers."""
    if _arrays.on_gpu(values):
        values = _arrays.copied_from_gpu(values)
    array = _arrays.host_array(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name}: shape {array.shape}, expected a list of values")
    if not array.size:
        raise ValueError(f"{name}: the list is empty")
    if array.dtype.kind == "b":
        raise TypeError(f"{name}: elements of type bool, expected real or complex numbers")
    return array.astype(complex if array.dtype.kind == "c" else float)


class Points:
    """The values of a sweep: arguments of which some are lists of numbers, by their places."""

    def __init__(
        self,
        function: str,
        names: tuple[str, ...],
        given: Given,
        values: dict[int, Any],
    ) -> None:
        self.function, self.names, self.given, self.values = function, names, given, values
        self.failed: dict[int, str] = {}
        """By a value's number, why there are no results for it."""
        self.typical = 0
        """The number of a point of which there is a program."""
        (first, count), *others = ((index, len(of)) for index, of in values.items())
        for index, other in others:
            if other != count:
                raise ValueError(f"{names[index]} has {other} values, {names[first]} has {count}")
        self.count = count

    def at(self, number: int) -> Given:
        """The arguments of a single call."""
        given = list(self.given)
        for index, of in self.values.items():
            given[index] = of[number].item()
        return tuple(given)

    def read_by(self, compute: Callable[[Any], Any]) -> set[int]:
        """The parameters with values on which a number that Python computes depends."""
        reader = _Reader(self.at(self.typical))
        with contextlib.suppress(ArithmeticError, ValueError):
            compute(reader)
        return reader.read & set(self.values)

    def column(self, compute: Callable[[Any], Any], dtype: np.dtype[Any]) -> Any:
        """Such a number for each value, zero where Python computes none."""
        numbers, alone = self._at_once(compute)
        with np.errstate(all="ignore"):
            column = numbers.astype(dtype)
        for number in np.flatnonzero(alone).tolist():
            column[number] = 0
            try:
                column[number] = compute(self.at(number))
            except (ArithmeticError, ValueError, TypeError) as error:
                self.failed.setdefault(number, f"{type(error).__name__}: {error}")
        return column

    def _at_once(self, compute: Callable[[Any], Any]) -> tuple[Any, Any]:
        """The same as an array, and for which values Python must compute alone."""
        given: list[Any] = list(self.given)
        alone = np.zeros(self.count, bool)
        for index, of in self.values.items():
            given[index] = _Column(of, alone)
        try:
            with np.errstate(all="ignore"):
                found = compute(given)
        except (ArithmeticError, TypeError, ValueError):
            found = None
        if not isinstance(found, _Column):
            return np.zeros(self.count), np.ones(self.count, bool)
        return found.numbers, alone

    def warn(self) -> None:
        if not self.failed:
            return
        number = min(self.failed)
        where = ", ".join(
            f"{self.names[i]} = {of[number].item()!r}" for i, of in self.values.items()
        )
        warn(
            f"sweep of {self.function}: {len(self.failed)} of {self.count} values failed, the "
            f"first at {where}: {self.failed[number]}",
            RuntimeWarning,
        )

    def without_failed(self, results: Any) -> Any:
        """Results of all values, NaN (zero of integers, False) where a value failed."""
        if not self.failed:
            return results
        host = results if isinstance(results, np.ndarray) else _arrays.copied_from_gpu(results)
        whole = np.array(host)
        whole[list(self.failed)] = np.nan if whole.dtype.kind in "fc" else 0
        return whole if host is results else _arrays.returner(results)(whole)


class _Reader:
    """Arguments that know which of them were read."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self.read: set[int] = set()

    def __getitem__(self, index: int) -> Any:
        self.read.add(index)
        return self._given[index]


class _Column:
    """The numbers of all points, with the operators that have the bits of Python's. Others raise
    TypeError."""

    __array_ufunc__ = None

    def __init__(self, numbers: Any, alone: Any) -> None:
        self.numbers = numbers
        self._alone = alone
        """Where Python refuses what was computed."""

    def _of(self, function: Callable[[Any, Any], Any], left: Any, right: Any) -> _Column:
        parts = []
        for one in (left, right):
            if isinstance(one, _Column) and one.numbers.dtype == np.float64:
                parts.append(one.numbers)
            elif type(one) is float or (type(one) is int and abs(one) <= 2**53):
                parts.append(float(one))
            else:
                raise TypeError(f"an operand of type {type(one).__name__}")
        if function is operator.truediv:
            self._alone |= parts[1] == 0
        return _Column(function(*parts), self._alone)

    def __add__(self, other: Any) -> _Column:
        return self._of(operator.add, self, other)

    def __radd__(self, other: Any) -> _Column:
        return self._of(operator.add, other, self)

    def __sub__(self, other: Any) -> _Column:
        return self._of(operator.sub, self, other)

    def __rsub__(self, other: Any) -> _Column:
        return self._of(operator.sub, other, self)

    def __mul__(self, other: Any) -> _Column:
        return self._of(operator.mul, self, other)

    def __rmul__(self, other: Any) -> _Column:
        return self._of(operator.mul, other, self)

    def __truediv__(self, other: Any) -> _Column:
        return self._of(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> _Column:
        return self._of(operator.truediv, other, self)

    def __neg__(self) -> _Column:
        return _Column(-self.numbers, self._alone)

    def __abs__(self) -> _Column:
        if self.numbers.dtype != np.float64:
            raise TypeError("a magnitude")
        return _Column(abs(self.numbers), self._alone)

    def __eq__(self, other: object) -> bool:
        raise TypeError("a comparison")

    def __bool__(self) -> bool:
        raise TypeError("a condition")


def by_numpy(points: Points, call: Callable[[Given], Any]) -> Any:
    """Value by value, what `call` returns for its arguments."""
    results: list[Any] = []
    for number in range(points.count):
        try:
            results.append(call(points.at(number)))
        except ProgramError:
            raise
        except (ArithmeticError, ValueError) as error:
            points.failed[number] = f"{type(error).__name__}: {error}"
            results.append(None)
    whole = next((one for one in results if one is not None), None)
    if whole is None:
        raise ValueError(f"sweep of {points.function}: no value has a result")
    rows = [whole if one is None else one for one in results]
    if not isinstance(whole, tuple):
        return points.without_failed(np.stack(rows))
    return tuple(points.without_failed(np.stack(one)) for one in zip(*rows, strict=True))
