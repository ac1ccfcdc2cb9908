# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a call computes, and how arrays get there and back.

A place knows the extension module for its memory and converts arrays. "There" arrays are those
that the module's functions can use; with several problems in one call, ``there[i]`` is one of them.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._extension import core, gpu_core, has_gpu
from aperture._kept import clear_cache
from aperture._system import threads_for
from aperture._warnings import warn

Shape = tuple[int, ...]
T = TypeVar("T")


class Place(Protocol):
    """Where a call computes."""

    core: Any
    """The extension module."""
    where: int
    """Constructor argument of the module's classes: a number of threads, or of a GPU."""

    @property
    def home(self) -> Place:
        """The place that has the caller's arrays without copies between host and GPU."""

    def namespace(self) -> AbstractContextManager[Any]:
        """The module of functions, named as NumPy's, that compute on arrays of ``home``."""

    def argument(self, name: str, array: Any) -> Any:
        """The argument ``name`` in the memory it is in; TypeError or ValueError for what is not an
        array of ``home``."""

    def input(
        self, name: str, array: Any, dtype: npt.DTypeLike, check_finite: bool | None = None
    ) -> Any:
        """The argument ``name`` there, converted to a type; see _arrays.converted. None checks
        host arrays only."""

    def new(self, shape: Shape, dtype: npt.DTypeLike) -> Any:
        """A new array there."""

    def output(self, name: str, out: Any, shape: Shape, dtype: npt.DTypeLike) -> Any:
        """The caller's array ``out`` there, or a new one if it is None."""

    def stream(self, worker: Any) -> int:
        """The caller's stream, in the order of which an object of the module computes."""

    def handle(self, there: Any, worker: Any) -> Any:
        """What functions of the module accept."""

    def lasting(self, there: Any, worker: Any) -> Any:
        """The same for several calls; None if every result is a new array."""

    def result(self, there: Any, worker: Any) -> Any:
        """What the caller gets: an array of the caller's library, for ``output`` its ``out``."""

    def host(self, array: Any) -> npt.NDArray[Any]:
        """A result in host memory. Waits for it."""


class HostPlace:
    """Host memory and the CPU's cores.

    For functions that compute on CPUs only, the arrays may be on a GPU: arguments are copied from
    there, and results back.
    """

    core = core

    def __init__(self, like: Any, threads: int | None) -> None:
        self.where = threads_for(threads)
        self._framework = _arrays.framework_of(like)
        self._gpu = _arrays.gpu_of("array", like)
        self._back = _arrays.returner(like)

    @property
    def home(self) -> HostPlace:
        return self

    def namespace(self) -> AbstractContextManager[Any]:
        return nullcontext(np)

    def argument(self, name: str, array: Any) -> Any:
        return _arrays.host_array(name, array)

    def fetched(self, name: str, array: Any) -> _arrays.Array:
        """The argument ``name`` in host memory, of any type."""
        if self._gpu is None:
            return _arrays.host_array(name, array)
        _arrays.expects_on_gpu(name, array, self._framework, self._gpu)
        return _arrays.copied_from_gpu(array)

    def input(
        self, name: str, array: Any, dtype: npt.DTypeLike, check_finite: bool | None = None
    ) -> Any:
        there = _arrays.converted(name, self.fetched(name, array), dtype)
        if check_finite is None or check_finite:
            _arrays.expects_finite(name, there, self.where)
        return there

    def new(self, shape: Shape, dtype: npt.DTypeLike) -> Any:
        return np.empty(shape, dtype)

    def output(self, name: str, out: Any, shape: Shape, dtype: npt.DTypeLike) -> Any:
        return _arrays.output(name, out, shape, dtype)

    def stream(self, worker: Any) -> int:
        return 0

    def handle(self, there: Any, worker: Any) -> Any:
        return there

    def lasting(self, there: Any, worker: Any) -> Any:
        return there

    def result(self, there: Any, worker: Any) -> Any:
        return self._back(there)

    def host(self, array: Any) -> npt.NDArray[Any]:
        return _arrays.host_array("result", array)


def at_place(like: Any, device: str, threads: int | None, work: Callable[[Place], T]) -> T:
    """The result of ``work`` at the place for a call with these arguments; see place_of.

    If that is the GPU of an automatic choice and it is unfit for the work, too small for example,
    a warning says so and the work is done on the CPU, as the programs do.
    """
    place = place_of(like, device, threads)
    while True:
        try:
            return work(place)
        except core.UnfitDevice as unfit:
            reason = str(unfit)
            if not clear_cache():
                if device != "auto" or place.home is place:
                    raise
                break
    # Not before the exception is gone, whose frames keep arrays on the GPU.
    warn(f"computing on the CPU: {reason}")
    return work(place.home)


def runs_at_once(place: Place, result_bytes: int) -> int:
    """How many runs of a sweep should be on their way: several where a GPU computes for arrays in
    host memory, unless one is large enough for it."""
    small = result_bytes <= 2**23
    return 4 if place.home is not place and small else 1


class SpareArrays:
    """Arrays at a GPU of runs that nobody refers to any more, for the next runs whose results are
    copied to host memory: to free memory of a GPU waits for all that it does."""

    def __init__(self) -> None:
        self._spare: list[Any] = []

    def of_run(self, run: object, place: Place, make: Callable[[], Any]) -> Any:
        if place.home is place:
            return make()
        arrays = self._spare.pop() if self._spare else make()
        weakref.finalize(run, self._spare.append, arrays).atexit = False
        return arrays


def computes_on_cpu(device: str) -> bool:
    """Whether arrays in host memory are computed on the CPU with such an argument ``device``."""
    return device == "cpu" or (device == "auto" and not has_gpu())


def place_of(like: Any, device: str, threads: int | None) -> Place:
    """The place for a call with this array and these arguments ``device`` and ``threads``.

    An array on a GPU is computed there. An array in host memory is by default computed on GPU 0 if
    it can be used, as the programs do.
    """
    gpu = _gpu_named(device)
    threads_for(threads)
    at = _arrays.gpu_of("array", like)
    if at is not None:
        if device != "auto" and gpu != at:
            raise ValueError(f"device {device!r}, but the array is on GPU {at}")
        from aperture import _cuda

        return cast(Place, _cuda.cuda_place(_arrays.framework_of(like), at))
    host = HostPlace(like, threads)
    if gpu is None and device == "auto" and has_gpu():
        gpu = 0
    if gpu is None:
        return host
    if gpu_core() is None:
        raise core.DeviceError(f"device {device} cannot be used: built without CUDA")
    from aperture import _cuda

    return _cuda.StagedPlace(host, gpu)


def _gpu_named(device: str) -> int | None:
    """The GPU that an argument ``device`` names."""
    if device in ("auto", "cpu"):
        return None
    if not isinstance(device, str):
        raise TypeError(f"device: expected a string, not {type(device).__name__}")
    match = re.fullmatch(r"gpu(?::(\d+))?", device)
    if match is None:
        raise ValueError(f"device {device!r}: expected auto, cpu, gpu or gpu:N")
    return int(match[1] or 0)
