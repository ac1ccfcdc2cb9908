# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a call computes, and how arrays get there and back.

A place knows the extension module for its memory and converts arrays. "There" arrays are those
that the module's functions can use; with several problems in one call, ``there[i]`` is one of them.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._extension import core, gpu_core, has_gpu
from aperture._system import threads_for

Shape = tuple[int, ...]


class Place(Protocol):
    """Where a call computes."""

    core: Any
    """The extension module."""
    where: int
    """Constructor argument of the module's classes: a number of threads, or of a GPU."""

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

    def current(self) -> AbstractContextManager[Any]:
        """Where arithmetic of the caller's library on the caller's arrays computes."""


class HostPlace:
    """Host memory and the CPU's cores."""

    core = core

    def __init__(self, like: Any, threads: int | None) -> None:
        self.where = threads_for(threads)
        self._back = _arrays.returner(like)

    def input(
        self, name: str, array: Any, dtype: npt.DTypeLike, check_finite: bool | None = None
    ) -> Any:
        there = _arrays.converted(name, array, dtype)
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

    def current(self) -> AbstractContextManager[Any]:
        return nullcontext()


def place_of(like: Any, device: str, threads: int | None) -> Place:
    """The place for a call with this array and these arguments ``device`` and ``threads``.

    An array on a GPU is computed there. An array in host memory is by default computed on GPU 0 if
    it can be used, as the programs do.
    """
    gpu = _gpu_of(device)
    threads_for(threads)
    library = _arrays.framework_of(like)
    if library in ("torch", "cupy", "jax"):
        from aperture import _cuda

        at = _cuda.gpu_of("array", like)
        if at is not None:
            if device != "auto" and gpu != at:
                raise ValueError(f"device {device!r}, but the array is on GPU {at}")
            return cast(Place, _cuda.cuda_place(library, at))
    if gpu is None and device == "auto" and has_gpu():
        gpu = 0
    if gpu is None:
        return HostPlace(like, threads)
    if gpu_core() is None:
        raise core.DeviceError(f"device {device} cannot be used: built without CUDA")
    from aperture import _cuda

    return _cuda.StagedPlace(like, gpu)


def _gpu_of(device: str) -> int | None:
    """The GPU that an argument ``device`` names."""
    if device in ("auto", "cpu"):
        return None
    if not isinstance(device, str):
        raise TypeError(f"device: expected a string, not {type(device).__name__}")
    match = re.fullmatch(r"gpu(?::(\d+))?", device)
    if match is None:
        raise ValueError(f"device {device!r}: expected auto, cpu, gpu or gpu:N")
    return int(match[1] or 0)
