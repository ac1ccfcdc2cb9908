# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What functions accept as arrays, and what they return.

Arrays of NumPy, PyTorch, JAX and everything that NumPy can convert are accepted in host memory.
Results are arrays of the library that the first argument came from, on its device.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from aperture._extension import core

Array = npt.NDArray[Any]

_CUDA = 2  # DLPack's number


def framework_of(array: Any) -> str:
    """The library of an argument: "numpy", "torch", "cupy", "jax" or another module's name."""
    library = type(array).__module__.partition(".")[0]
    return "jax" if library == "jaxlib" else library


def on_gpu(array: Any) -> bool:
    """Whether an array is in a GPU's memory."""
    where = getattr(array, "__dlpack_device__", None)
    return where is not None and where()[0] == _CUDA


def expects_plain_tensor(name: str, tensor: Any) -> None:
    """Raise for tensors of PyTorch that are more than their memory."""
    if tensor.requires_grad:
        raise TypeError(f"{name}: the tensor requires a gradient; pass {name}.detach()")
    if tensor.is_conj() or tensor.is_neg():
        raise TypeError(f"{name}: the tensor is a lazy conjugate or negative; resolve it first")


def expects_no_tracer(name: str, array: Any) -> None:
    """Raise for the arguments of a function that JAX traces."""
    if isinstance(array, sys.modules["jax"].core.Tracer):
        raise TypeError(f"{name}: a tracer; aperture cannot be called inside jax.jit")


def host_array(name: str, array: Any) -> Array:
    """The NumPy array of an argument, without a copy where its library can share it."""
    if type(array) is np.ndarray and array.dtype.kind in "biufc":
        return array
    library = framework_of(array)
    if library == "torch":
        expects_plain_tensor(name, array)
        if array.device.type != "cpu":
            raise TypeError(f"{name}: the tensor is on {array.device}, expected host memory")
        return np.asarray(array.numpy())
    if library == "jax":
        expects_no_tracer(name, array)
        return np.asarray(array)
    if library == "cupy":
        raise TypeError(f"{name}: an array of CuPy, expected host memory")
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name}: a masked array; its mask would be lost")
    try:
        host = np.asarray(array)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: not an array: {error}") from None
    if host.dtype.kind not in "biufc":
        raise TypeError(f"{name}: not numbers, but elements of type {host.dtype}")
    return host


def gpu_of(name: str, array: Any) -> int | None:
    """The GPU that an argument is on; None for host memory."""
    library = framework_of(array)
    if library == "torch":
        if array.is_cuda:
            return int(array.get_device())
        if array.device.type != "cpu":
            raise TypeError(f"{name}: the tensor is on {array.device}")
        return None
    if library == "cupy":
        return int(array.device.id)
    if library == "jax":
        expects_no_tracer(name, array)
        devices = array.devices()
        if len(devices) != 1:
            raise ValueError(f"{name}: the array is on {len(devices)} devices, expected one")
        (device,) = devices
        return int(device.local_hardware_id) if device.platform in ("gpu", "cuda") else None
    return None


def expects_on_gpu(name: str, array: Any, library: str, gpu: int) -> None:
    """Raise unless an argument belongs to the library and is on the GPU of the first one."""
    if framework_of(array) != library:
        raise TypeError(
            f"{name}: expected an array of {library} on GPU {gpu}, not {type(array).__name__}"
        )
    found = gpu_of(name, array)
    if found != gpu:
        where = "in host memory" if found is None else f"on GPU {found}"
        raise ValueError(f"{name}: {where}, but the first array is on GPU {gpu}")
    if library == "torch":
        expects_plain_tensor(name, array)


def copied_from_gpu(array: Any) -> Array:
    """A copy of an array in host memory. Waits for it."""
    library = framework_of(array)
    if library == "torch":
        return np.asarray(array.cpu().numpy())
    if library == "cupy":
        with array.device:
            return np.asarray(sys.modules["cupy"].asnumpy(array))
    return np.asarray(array)


def shape_of(name: str, array: Any) -> tuple[int, ...]:
    """The shape of an argument in any memory."""
    shape = getattr(array, "shape", None)
    return tuple(host_array(name, array).shape if shape is None else shape)


def returner(array: Any) -> Callable[[Array], Any]:
    """Converts results to the library of an argument, on its device."""
    library = framework_of(array)
    if library == "torch":
        torch, device = sys.modules["torch"], array.device
        return lambda result: torch.from_numpy(result).to(device)
    if library == "cupy":
        cupy, gpu = sys.modules["cupy"], array.device

        def on_gpu(result: Array) -> Any:
            with gpu:
                return cupy.asarray(result)

        return on_gpu
    if library == "jax":
        jax = sys.modules["jax"]
        (device,) = array.devices()
        return lambda result: jax.device_put(result, device)
    return lambda result: result


def converted(name: str, array: Any, dtype: npt.DTypeLike) -> Array:
    """An argument as an array of a floating or complex type that kernels can read.

    Real numbers of any type are converted; complex ones only to a complex type. The last axis is
    contiguous afterwards; other strides stay as they are.
    """
    host = host_array(name, array)
    dtype = np.dtype(dtype)
    if host.dtype == dtype:
        aligned = host.flags.aligned and host.dtype.isnative
        if aligned and (host.flags.c_contiguous or _has_rows(host)):
            return host
        return host.astype(dtype, order="C")
    kinds = "iufc" if dtype.kind == "c" else "iuf"
    if host.dtype.kind not in kinds:
        raise TypeError(f"{name}: elements of type {host.dtype} cannot be converted to {dtype}")
    with np.errstate(over="ignore"):
        return host.astype(dtype, order="C")


def _has_rows(array: Array) -> bool:
    """Whether kernels can read an array in place: the last axis is contiguous, and no other one
    is reversed or repeated."""
    if array.ndim == 0 or array.size == 0:
        return False
    strides = [s for s, extent in zip(array.strides, array.shape, strict=True) if extent > 1]
    return (
        (array.shape[-1] <= 1 or array.strides[-1] == array.itemsize)
        and all(s > 0 for s in strides)
        and all(s % array.itemsize == 0 for s in array.strides)
    )


def expects_rank(name: str, array: Array, ranks: dict[int, str]) -> None:
    """Raise ValueError unless the array's rank is among ``ranks``, which say what it means."""
    if array.ndim not in ranks:
        wanted = " or ".join(ranks.values())
        raise ValueError(f"{name}: shape {tuple(array.shape)}, expected {wanted}")


def expects_shape(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    """Return the array if it has this shape, else raise ValueError."""
    if array.shape != shape:
        raise ValueError(f"{name}: shape {array.shape}, expected {shape}")
    return array


def output(name: str, out: Any, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """A new array, or ``out`` if it is one that can be written."""
    dtype = np.dtype(dtype)
    if out is None:
        return np.empty(shape, dtype)
    if framework_of(out) == "jax":
        raise TypeError(f"{name}: arrays of JAX cannot be written; leave {name} out")
    host = out if isinstance(out, np.ndarray) else None
    if host is None and framework_of(out) in ("torch", "cupy"):
        host = host_array(name, out)
    if host is None:
        raise TypeError(f"{name}: expected an array, not {type(out).__name__}")
    if host.dtype != dtype:
        raise TypeError(f"{name}: elements of type {host.dtype}, expected {dtype}")
    if host.shape != shape:
        raise ValueError(f"{name}: shape {host.shape}, expected {shape}")
    if not host.flags.writeable:
        raise ValueError(f"{name}: the array is read-only")
    if not host.flags.c_contiguous or not host.flags.aligned or not host.dtype.isnative:
        raise ValueError(f"{name}: the array is not contiguous")
    return host


def expects_finite(name: str, array: Array, threads: int) -> None:
    """Raise ValueError if elements are NaN or infinite."""
    if array.dtype.kind not in "fc":
        return
    if array.flags.c_contiguous and array.dtype in (np.float32, np.float64, np.complex64):
        non_finite = core.count_non_finite(threads, array.reshape(-1))
    else:
        non_finite = array.size - np.count_nonzero(np.isfinite(array))
    if non_finite:
        raise ValueError(f"{name}: {non_finite} of {array.size} elements are NaN or infinite")


def expects_apart(name: str, out: Array, array: Array) -> None:
    """Raise ValueError if an output may share memory with an input."""
    if np.may_share_memory(out, array):
        raise ValueError(f"{name}: shares memory with an input")
