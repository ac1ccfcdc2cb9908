# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""A program that is compiled for arguments of given types, and its runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from aperture import _arrays
from aperture._places import Place
from aperture._warnings import warn

if TYPE_CHECKING:
    from aperture._program_sweep import Points


class Plan:
    """A program for arguments of given types."""

    def __init__(
        self,
        composed: Any,
        translation: Any,
        source: Any,
        names: tuple[str, ...],
        in_place: tuple[str, ...],
        arrays: list[bool],
    ) -> None:
        self.core, self.text, self._names = composed, str(translation.text), names
        self._error = functools.partial(source.error, translation.endless)
        self._in_place = [names.index(name) for name in in_place]
        self._slots = [(slot.dtype, slot.index, slot.compute) for slot in translation.slots]
        self._is_array = [slot.compute is None and arrays[slot.index] for slot in translation.slots]
        self._results = translation.results
        self._returned, self._returns = translation.returned, translation.returns
        self._captured = translation.captured
        self._has_run = False

    def is_current(self, outside: Callable[[str], Any]) -> bool:
        """Whether what the program found outside of the function is still the same."""
        for name, attributes, found in self._captured:
            try:
                now = outside(name)
                for attribute in attributes:
                    now = getattr(now, attribute)
            except (NameError, AttributeError):
                return False
            if now is not found and (type(now) is not type(found) or now != found):
                return False
        return True

    def arrays(
        self, given: tuple[Any, ...], points: Points | None = None
    ) -> tuple[list[Any], list[Any]]:
        """Inputs and results as the extension takes them."""
        if self._in_place:
            self._expect_in_place(given)
        inputs = []
        for dtype, index, compute in self._slots:
            value = self._value(dtype, index, compute, given, points)
            if type(value) is not np.ndarray:
                value = np.asarray(value, dtype)
            elif not value.flags.c_contiguous or not value.flags.aligned:
                value = np.array(value, order="C")
            inputs.append(value)
        return inputs, [np.empty(shape, dtype) for dtype, shape in self._new_results(points)]

    @staticmethod
    def _value(
        dtype: np.dtype[Any],
        index: int,
        compute: Callable[[Any], Any] | None,
        given: tuple[Any, ...],
        points: Points | None,
    ) -> Any:
        """What a slot has; one for each point if points reach it."""
        if compute is None:
            return given[index]
        if points is not None and points.read_by(compute):
            return points.column(compute, dtype)
        return compute(given)

    def _swept(self, points: Points) -> list[int]:
        """The slots that points reach."""
        read = [compute and points.read_by(compute) for _, _, compute in self._slots]
        for index in points.values:
            if not any(of and index in of for of in read):
                raise ValueError(f"sweep: no result depends on {self._names[index]}")
        return [number for number, of in enumerate(read) if of]

    def _new_results(self, points: Points | None) -> list[tuple[np.dtype[Any], tuple[int, ...]]]:
        """Types of what the extension fills."""
        if points is None:
            return list(self._results)
        reached = self.core.reached(self._swept(points))
        return [
            (dtype, (points.count, *shape) if has_axis else shape)
            for has_axis, (dtype, shape) in zip(reached, self._results, strict=True)
        ]

    def run(self, given: tuple[Any, ...], explain: bool, points: Points | None = None) -> Any:
        """The program's results on the CPU, or what explains them."""
        inputs, results = self.arrays(given, points)
        explanation = self._run(0, inputs, results, explain, points)
        if explain:
            return explanation
        if points is not None:
            return self._for_points(results, points, np)
        return [one if one.ndim else one[()] for one in results]

    def _for_points(self, results: list[Any], points: Points, library: Any) -> list[Any]:
        """Results of a sweep, with an axis for points."""
        found = []
        for one, (_, shape) in zip(results, self._results, strict=True):
            if tuple(one.shape) == tuple(shape):
                one = library.broadcast_to(one, (points.count, *shape))
            found.append(points.without_failed(one))
        return found

    def run_on_gpu(
        self, place: Place, given: tuple[Any, ...], explain: bool, points: Points | None = None
    ) -> Any:
        """The same at a place on a GPU; arrays are the caller's."""
        worker = self.core
        stream = place.stream(worker)
        inputs, staged = [], []
        for (dtype, index, compute), is_array in zip(self._slots, self._is_array, strict=True):
            value = self._value(dtype, index, compute, given, points)
            if not is_array:
                inputs.append(np.asarray(value, dtype))
                continue
            there = self._input_on_gpu(place, index, value, dtype)
            if index in self._in_place and isinstance(value, np.ndarray):
                there.out = value
                staged.append(there)
            inputs.append(place.handle(there, worker))
        results = [place.new(shape, dtype) for dtype, shape in self._new_results(points)]
        handles = [place.handle(one, worker) for one in results]
        explanation = self._run(stream, inputs, handles, explain, points)
        if explain:
            return explanation
        for there in staged:
            place.result(there, worker)
        found = [place.result(one, worker) for one in results]
        if points is not None:
            with place.namespace() as library:
                return self._for_points(found, points, library)
        return [one[()] if isinstance(one, np.ndarray) and not one.ndim else one for one in found]

    def returned_of(self, given: tuple[Any, ...], results: list[Any]) -> Any:
        """What the function returns."""
        if self._returns is type(None):
            return None
        found = [
            given[number] if of == "argument" else results[number] for of, number in self._returned
        ]
        return tuple(found) if self._returns is tuple else found[0]

    def _input_on_gpu(self, place: Place, index: int, array: Any, dtype: np.dtype[Any]) -> Any:
        name = self._names[index]
        if index in self._in_place:
            if not isinstance(array, np.ndarray):
                return place.output(name, array, tuple(array.shape), dtype)
            _arrays.output(name, array, array.shape, array.dtype)
        there = place.input(name, array, dtype, False)
        if hasattr(there, "contiguous"):
            return there.contiguous()
        if hasattr(there, "flags"):
            with place.namespace() as library:
                return library.ascontiguousarray(there)
        return there

    def _run(
        self,
        stream: int,
        inputs: list[Any],
        results: list[Any],
        explain: bool,
        points: Points | None,
    ) -> Any:
        if explain and points is not None:
            return self.core.explain_sweep(self._swept(points), points.count)
        run = self.core.run_and_explain if explain else self.core.run
        try:
            if points is not None:
                explanation = None
                failed = self.core.sweep(stream, inputs, results, self._swept(points))
                points.failed.update(dict(failed) | points.failed)
            else:
                explanation = run(stream, inputs, results)
        except ValueError as error:
            if not str(error).startswith("a loop did not end"):
                raise
            raise self._error(str(error)) from None
        if not self._has_run:
            _tell_once(self.core.reason_of_interpretation())
            self._has_run = True
        return explanation

    def _expect_in_place(self, given: tuple[Any, ...]) -> None:
        for index in self._in_place:
            name, array = self._names[index], given[index]
            _arrays.output(name, array, array.shape, array.dtype)
            for other, value in enumerate(given):
                if other != index and isinstance(value, np.ndarray):
                    _arrays.expects_apart(name, array, value)


@functools.cache
def _tell_once(reason: str) -> None:
    """Warns where programs are interpreted because there is no compiler."""
    if reason:
        warn(
            f"array programs are interpreted, several times slower: {reason}",
            RuntimeWarning,
        )
