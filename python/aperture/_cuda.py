# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Places on a GPU: see _places.py.

Calls are in the order of the caller's current stream (PyTorch, CuPy), or of an array's readiness
(JAX). Arrays are exchanged by DLPack, without a copy.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._extension import core, gpu_core
from aperture._places import HostPlace

Shape = tuple[int, ...]


def _checked_rows(name: str, array: Any, strides: tuple[int, ...]) -> bool:
    """Whether kernels can read an array in place; strides are in elements."""
    shape = tuple(array.shape)
    longer = [s for s, extent in zip(strides, shape, strict=True) if extent > 1]
    return (not shape or shape[-1] <= 1 or strides[-1] == 1) and all(s > 0 for s in longer)


def _expects_kind(name: str, kind: str, dtype: np.dtype[Any], of: Any) -> None:
    if kind not in ("iufc" if dtype.kind == "c" else "iuf"):
        raise TypeError(f"{name}: elements of type {of} cannot be converted to {dtype}")


class _CudaPlace:
    """What PyTorch, CuPy and JAX share."""

    framework: str

    def __init__(self, gpu: int) -> None:
        self.core = gpu_core()
        self.where = gpu

    @property
    def home(self) -> Any:
        return self

    def _expects_here(self, name: str, array: Any) -> None:
        _arrays.expects_on_gpu(name, array, self.framework, self.where)

    def argument(self, name: str, array: Any) -> Any:
        self._expects_here(name, array)
        return array

    def _expects_output(
        self, name: str, out: Any, shape: Shape, dtype: np.dtype[Any], contiguous: bool
    ) -> None:
        if _dtype_name(out) != dtype.name:
            raise TypeError(f"{name}: elements of type {out.dtype}, expected {dtype}")
        if tuple(out.shape) != shape:
            raise ValueError(f"{name}: shape {tuple(out.shape)}, expected {shape}")
        if not contiguous:
            raise ValueError(f"{name}: the array is not contiguous")

    def handle(self, there: Any, worker: Any) -> Any:
        return there.__dlpack__(stream=-1)

    def lasting(self, there: Any, worker: Any) -> Any:
        return self.core.hold(self.handle(there, worker))

    def result(self, there: Any, worker: Any) -> Any:
        return there

    def host(self, array: Any) -> npt.NDArray[Any]:
        return _arrays.copied_from_gpu(array)


def _dtype_name(array: Any) -> str:
    return str(array.dtype).rpartition(".")[2]


_torch_types: dict[Any, Any] = {}


def _torch_type(dtype: npt.DTypeLike) -> Any:
    found = _torch_types.get(dtype)
    if found is None:
        found = getattr(sys.modules["torch"], np.dtype(dtype).name)
        _torch_types[dtype] = found
    return found


class TorchPlace(_CudaPlace):
    framework = "torch"

    def __init__(self, gpu: int) -> None:
        super().__init__(gpu)
        self._torch = sys.modules["torch"]
        self._to_dlpack = self._torch.utils.dlpack.to_dlpack
        self._device = self._torch.device("cuda", gpu)
        # Without the object for a stream, which costs more than all else of a call.
        self._raw_stream = getattr(self._torch._C, "_cuda_getCurrentRawStream", None)

    def namespace(self) -> AbstractContextManager[Any]:
        return nullcontext(self._torch)

    def _is_here(self, array: Any) -> bool:
        """Whether an argument is a tensor here and nothing more."""
        return (
            type(array) is self._torch.Tensor
            and array.get_device() == self.where
            and array.is_cuda
            and not (array.requires_grad or array.is_conj() or array.is_neg())
        )

    def _is_plain(self, array: Any) -> bool:
        return self._is_here(array) and bool(array.is_contiguous())

    def _expects_here(self, name: str, array: Any) -> None:
        # The usual answer at a tenth of the time.
        if not self._is_here(array):
            super()._expects_here(name, array)

    def input(
        self, name: str, array: Any, dtype: npt.DTypeLike, check_finite: bool | None = None
    ) -> Any:
        wanted = _torch_type(dtype)
        if not (self._is_plain(array) and array.dtype is wanted):
            self._expects_here(name, array)
            if array.dtype != wanted:
                kind = "c" if array.is_complex() else "f" if array.is_floating_point() else "i"
                kind = "b" if array.dtype == self._torch.bool else kind
                _expects_kind(name, kind, np.dtype(dtype), array.dtype)
                array = array.to(wanted)
            if not _checked_rows(name, array, array.stride()):
                array = array.contiguous()
        if check_finite and not bool(self._torch.isfinite(array).all()):
            raise ValueError(f"{name}: elements are NaN or infinite")
        return array

    def new(self, shape: Shape, dtype: npt.DTypeLike) -> Any:
        return self._torch.empty(shape, dtype=_torch_type(dtype), device=self._device)

    def output(self, name: str, out: Any, shape: Shape, dtype: npt.DTypeLike) -> Any:
        if out is None:
            return self.new(shape, dtype)
        if not (self._is_plain(out) and out.dtype is _torch_type(dtype) and out.shape == shape):
            self._expects_here(name, out)
            self._expects_output(name, out, shape, np.dtype(dtype), out.is_contiguous())
        return out

    def stream(self, worker: Any) -> int:
        if self._raw_stream is not None:
            return int(self._raw_stream(self.where))
        return int(self._torch.cuda.current_stream(self.where).cuda_stream)

    def handle(self, there: Any, worker: Any) -> Any:
        # Without the stream's event of Tensor.__dlpack__: the call itself is in its order.
        return self._to_dlpack(there)


class CupyPlace(_CudaPlace):
    framework = "cupy"

    def __init__(self, gpu: int) -> None:
        super().__init__(gpu)
        self._cupy = sys.modules["cupy"]

    @contextmanager
    def namespace(self) -> Iterator[Any]:
        with self._cupy.cuda.Device(self.where):
            yield self._cupy

    def input(
        self, name: str, array: Any, dtype: npt.DTypeLike, check_finite: bool | None = None
    ) -> Any:
        dtype = np.dtype(dtype)
        self._expects_here(name, array)
        with self._cupy.cuda.Device(self.where):
            if array.dtype != dtype:
                _expects_kind(name, array.dtype.kind, dtype, array.dtype)
                array = array.astype(dtype, order="C")
            strides = tuple(s // array.itemsize for s in array.strides)
            if not _checked_rows(name, array, strides):
                array = self._cupy.ascontiguousarray(array)
            if check_finite and not bool(self._cupy.isfinite(array).all()):
                raise ValueError(f"{name}: elements are NaN or infinite")
        return array

    def new(self, shape: Shape, dtype: npt.DTypeLike) -> Any:
        with self._cupy.cuda.Device(self.where):
            return self._cupy.empty(shape, dtype)

    def output(self, name: str, out: Any, shape: Shape, dtype: npt.DTypeLike) -> Any:
        if out is None:
            return self.new(shape, dtype)
        self._expects_here(name, out)
        self._expects_output(name, out, shape, np.dtype(dtype), out.flags.c_contiguous)
        return out

    def stream(self, worker: Any) -> int:
        with self._cupy.cuda.Device(self.where):
            return int(self._cupy.cuda.get_current_stream().ptr)


class _Memory:
    """An array in memory of our own, for results; to be copied to ``out`` if that is an array."""

    def __init__(self, gpu: int, shape: Shape, dtype: np.dtype[Any], out: Any = None) -> None:
        self.shape, self.dtype, self.out = shape, dtype, out
        self._gpu = gpu
        self._offset = 0
        self.memory = gpu_core().DeviceMemory(max(math.prod(shape) * dtype.itemsize, 1), gpu)

    def __getitem__(self, i: int) -> _Memory:
        part = object.__new__(_Memory)
        part.__dict__.update(self.__dict__)
        part.shape = self.shape[1:]
        part._offset += i * math.prod(part.shape) * self.dtype.itemsize
        return part

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def array(self) -> Any:
        return self.memory.array(self._offset, self.shape, self.dtype.name)


class _Exported:
    """Passes a result on; its consumer's stream waits for the object that computes it."""

    def __init__(self, there: _Memory, worker: Any, gpu: int) -> None:
        self._there, self._worker, self._gpu = there, worker, gpu

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._gpu

    def __dlpack__(self, *, stream: int | None = None, **_: Any) -> Any:
        # DLPack's numbers for the two default streams are 1 and 2, as CUDA's; None is the first.
        self._worker.let_wait(1 if stream is None else stream)
        return self._there.array()


class JaxPlace(_CudaPlace):
    framework = "jax"

    def __init__(self, gpu: int) -> None:
        super().__init__(gpu)
        self._jax = sys.modules["jax"]

    def namespace(self) -> AbstractContextManager[Any]:
        return nullcontext(self._jax.numpy)

    def input(
        self, name: str, array: Any, dtype: npt.DTypeLike, check_finite: bool | None = None
    ) -> Any:
        dtype = np.dtype(dtype)
        self._expects_here(name, array)
        if array.dtype != dtype:
            _expects_kind(name, array.dtype.kind, dtype, array.dtype)
            array = array.astype(dtype)
            if array.dtype != dtype:
                raise TypeError(f"{name}: JAX has no {dtype} without jax_enable_x64")
        if check_finite and not bool(self._jax.numpy.isfinite(array).all()):
            raise ValueError(f"{name}: elements are NaN or infinite")
        return array

    def new(self, shape: Shape, dtype: npt.DTypeLike) -> Any:
        return _Memory(self.where, shape, np.dtype(dtype))

    def output(self, name: str, out: Any, shape: Shape, dtype: npt.DTypeLike) -> Any:
        if out is not None:
            raise TypeError(f"{name}: arrays of JAX cannot be written; leave {name} out")
        return self.new(shape, dtype)

    def stream(self, worker: Any) -> int:
        return int(worker.stream)

    def handle(self, there: Any, worker: Any) -> Any:
        if isinstance(there, _Memory):
            return there.array()
        # JAX may use the memory again as soon as nobody refers to the array.
        worker.retain(there)
        return there.__dlpack__(stream=worker.stream)

    def lasting(self, there: Any, worker: Any) -> Any:
        return None

    def result(self, there: Any, worker: Any) -> Any:
        if not isinstance(there, _Memory):
            return there
        return self._jax.dlpack.from_dlpack(_Exported(there, worker, self.where))


class StagedPlace:
    """A GPU for arrays in host memory: copies them there, and results back."""

    def __init__(self, home: HostPlace, gpu: int) -> None:
        reason = gpu_core().status(gpu)
        if reason:
            raise core.DeviceError(f"GPU {gpu} cannot be used: {reason}")
        self.core = gpu_core()
        self.where = gpu
        self.home = home

    def namespace(self) -> AbstractContextManager[Any]:
        return self.home.namespace()

    def argument(self, name: str, array: Any) -> Any:
        return self.home.argument(name, array)

    def input(
        self, name: str, array: Any, dtype: npt.DTypeLike, check_finite: bool | None = None
    ) -> Any:
        here = np.ascontiguousarray(self.home.input(name, array, dtype, check_finite))
        there = self.new(here.shape, here.dtype)
        if here.size:
            there.memory.load(here.reshape(-1).view(np.uint8))
        return there

    def new(self, shape: Shape, dtype: npt.DTypeLike) -> Any:
        return _Memory(self.where, tuple(shape), np.dtype(dtype))

    def output(self, name: str, out: Any, shape: Shape, dtype: npt.DTypeLike) -> Any:
        here = None if out is None else self.home.output(name, out, shape, dtype)
        return _Memory(self.where, tuple(shape), np.dtype(dtype), here)

    def stream(self, worker: Any) -> int:
        return int(worker.stream)

    def handle(self, there: Any, worker: Any) -> Any:
        return there.array()

    def lasting(self, there: Any, worker: Any) -> Any:
        return None

    def result(self, there: Any, worker: Any) -> Any:
        here = np.empty(there.shape, there.dtype) if there.out is None else there.out
        worker.synchronize()
        if here.size:
            there.memory.store(here.reshape(-1).view(np.uint8))
        return self.home.result(here, worker) if there.out is None else here

    def host(self, array: Any) -> npt.NDArray[Any]:
        return self.home.host(array)


_PLACES = {"torch": TorchPlace, "cupy": CupyPlace, "jax": JaxPlace}


@functools.cache
def cuda_place(library: str, gpu: int) -> Any:
    """The place of an array that is on a GPU."""
    if gpu_core() is None:
        raise TypeError(f"an array on GPU {gpu}, but this build computes on CPUs only")
    reason = gpu_core().status(gpu)
    if reason:
        raise core.DeviceError(f"GPU {gpu} cannot be used: {reason}")
    return _PLACES[library](gpu)
