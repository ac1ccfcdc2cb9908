# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Arguments and results of the functions of aperture.dense, as batches [problem, row, column]."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from aperture._extension import core
from aperture._kept import kept
from aperture._places import Place

Shape = tuple[int, ...]


class Call:
    """One call of a function on arrays [..., row, column] of one type, whose leading dimensions are
    broadcast; ``with`` has the executor that computes."""

    _worker: Any

    def __init__(self, place: Place, *arrays: Any) -> None:
        self.dtype = _common_type(*[array.dtype for array in arrays])
        self._batch = _leading_dimensions(arrays)
        self._problems = math.prod(self._batch)
        self._place, self._kept = place, worker_of(place)

    def __enter__(self) -> Call:
        self._worker = self._kept.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._kept.__exit__(*error)

    @property
    def real(self) -> np.dtype[Any]:
        """The type of magnitudes of elements."""
        return np.finfo(self.dtype).dtype

    def matrices(self, name: str, array: Any) -> Any:
        """The argument ``name`` there, in place where one of its strides is one element."""
        shape = tuple(array.shape)
        if shape[:-2] != self._batch:
            with self._place.home.namespace() as library:
                array = library.broadcast_to(array, self._batch + shape[-2:])
        if len(self._batch) != 1:
            array = array.reshape((self._problems, *shape[-2:]))
        return input_batch(self._place, name, array, self.dtype)

    def new(self, *extents: int, dtype: npt.DTypeLike | None = None) -> Any:
        """A new batch there, [problem, *extents]."""
        return self._place.new((self._problems, *extents), self.dtype if dtype is None else dtype)

    def info(self) -> Any:
        return self.new(dtype=np.int32)

    def run(self, name: str, *arguments: Any) -> None:
        """Calls the function of the extension; flags come before batches."""
        place, worker = self._place, self._worker
        handle = place.handle
        given = [x if isinstance(x, bool) else handle(x, worker) for x in arguments]
        getattr(worker, _method(name, self.dtype))(place.stream(worker), *given)

    def result(self, there: Any, extents: Shape | None = None) -> Any:
        """What the caller gets of a batch: [..., *extents], by default with the batch's own."""
        shape = tuple(there.shape)
        wanted = self._batch + (shape[1:] if extents is None else extents)
        result = self._place.result(there, self._worker)
        return result if shape == wanted else result.reshape(wanted)

    def changed_result(self, there: Any, change: Callable[[Any, Any], Any]) -> Any:
        """The same of change(library, batch), with the functions of the caller's library."""
        home = self._place.home
        with home.namespace() as library:
            batch = home.input("result", self._place.result(there, self._worker), self.dtype, False)
            changed = change(library, batch)
        return home.result(changed, self._worker).reshape(self._batch + tuple(changed.shape[1:]))


@functools.cache
def _common_type(*dtypes: Any) -> np.dtype[Any]:
    return np.result_type(*map(computed_type, dtypes))


@functools.cache
def _method(name: str, dtype: np.dtype[Any]) -> str:
    return f"{name}_{dtype.name}"


def _leading_dimensions(arrays: tuple[Any, ...]) -> Shape:
    leading = [tuple(array.shape)[:-2] for array in arrays]
    if all(one == leading[0] for one in leading):
        return leading[0]
    try:
        return np.broadcast_shapes(*leading)
    except ValueError:
        raise ValueError(
            f"leading dimensions {' and '.join(map(str, leading))}, expected equal or 1"
        ) from None


def worker_of(place: Place) -> AbstractContextManager[Any]:
    """The extension's object that computes there."""
    made_for = ("Batches", place.core.__name__, place.where)
    return kept(made_for, lambda: place.core.Batches(place.where))


def input_batch(place: Place, name: str, batch: Any, dtype: npt.DTypeLike) -> Any:
    """The argument ``name`` [problem, ...] there."""
    # Places read arrays in place whose last axis is contiguous.
    axis = _contiguous_axis(batch) if place.home is place else -1
    if axis == -1:
        return place.input(name, batch, dtype, False)
    return place.input(name, batch.swapaxes(axis, -1), dtype, False).swapaxes(axis, -1)


def arguments(place: Place, /, **given: Any) -> list[Any]:
    """The arrays of a call in the memory they are in; TypeError for what is none."""
    return [place.argument(name, array) for name, array in given.items()]


def order_of(name: str, array: Any, most: int = core.max_order) -> int:
    """The order n of matrices [..., n, n]."""
    shape = tuple(array.shape)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"{name}: shape {shape}, expected [..., n, n]")
    if shape[-1] > most:
        raise ValueError(f"{name}: shape {shape}, expected orders up to {most}")
    return int(shape[-1])


def tall_extents(name: str, array: Any) -> tuple[int, int]:
    """The extents m >= n of matrices [..., m, n]."""
    shape = tuple(array.shape)
    if len(shape) < 2 or shape[-2] < shape[-1]:
        raise ValueError(f"{name}: shape {shape}, expected [..., m, n] with m >= n")
    if shape[-2] > core.max_rows or shape[-1] > core.max_order:
        raise ValueError(
            f"{name}: shape {shape}, expected up to {core.max_rows} rows and {core.max_order}"
            " columns"
        )
    return int(shape[-2]), int(shape[-1])


def as_columns(name: str, array: Any, rows: int) -> tuple[Any, Shape]:
    """Right-hand sides [rows] or [..., rows, k] as [..., rows, k], and the last dimensions that
    solutions have besides their rows."""
    shape = tuple(array.shape)
    vector = len(shape) == 1
    if not shape or shape[0 if vector else -2] != rows:
        raise ValueError(f"{name}: shape {shape}, expected [{rows}] or [..., {rows}, k]")
    return (array[:, None], ()) if vector else (array, (int(shape[-1]),))


@functools.cache
def computed_type(dtype: Any) -> type[Any]:
    """The type that elements of this type of any library are computed in."""
    name = getattr(dtype, "name", str(dtype)).rpartition(".")[2]
    if name.startswith("complex"):
        return np.complex64 if name in ("complex32", "complex64") else np.complex128
    return np.float32 if name in ("float16", "float32") else np.float64


def _contiguous_axis(array: Any) -> int:
    """The last axis along which elements are adjacent; -1 if there is none, or if all are."""
    if hasattr(array, "stride"):
        if array.is_contiguous():
            return -1
        strides, step = array.stride(), 1
    else:
        # Arrays of JAX have no strides.
        strides, step = getattr(array, "strides", ()), array.dtype.itemsize
    axes = [d for d, stride in enumerate(strides) if stride == step and array.shape[d] > 1]
    return axes[-1] if axes and axes[-1] != array.ndim - 1 else -1
