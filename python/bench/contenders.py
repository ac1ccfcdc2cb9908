# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Who computes a job, where, and how that is timed."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Call = Callable[[], Any]


@dataclass
class Contender:
    """Who computes a job: ``call`` returns the result, ``units`` of work are one of the table's."""

    who: str
    call: Call
    units: float = 1


@dataclass
class Job:
    """Work that several contenders do, ours first."""

    name: str
    contenders: list[Contender]
    tolerance: float | None = None
    """Of the largest difference over the largest value; None if results are not comparable."""


def wait_for(result: Any) -> bool:
    """Whether a result is one of JAX, which is then complete."""
    last = result[-1] if isinstance(result, tuple) else result
    if not hasattr(last, "block_until_ready"):
        return False
    last.block_until_ready()
    return True


class Host:
    """Arrays of NumPy, and of JAX on the CPU."""

    name = "cpu"

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.has_jax = importlib.util.find_spec("jax") is not None

    def array(self, values: Any) -> Any:
        return values

    def to_numpy(self, values: Any) -> Any:
        """A result, or all of a call's results one after the other."""
        if isinstance(values, tuple):
            return np.concatenate([self.to_numpy(one).ravel() for one in values])
        return np.asarray(values.cpu() if hasattr(values, "cpu") else values)

    def time(self, call: Call, calls: int, repetitions: int) -> float:
        fastest = np.inf
        for _ in range(repetitions):
            start = time.perf_counter()
            for _ in range(calls):
                result = call()
            wait_for(result)
            fastest = min(fastest, (time.perf_counter() - start) / calls)
        return float(fastest)


class Gpu(Host):
    """Arrays of PyTorch and JAX on a GPU."""

    name = "gpu"

    def __init__(self) -> None:
        super().__init__(0)
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        self.torch = torch

    def array(self, values: Any) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(values)).cuda()

    def time(self, call: Call, calls: int, repetitions: int) -> float:
        if wait_for(call()):
            return super().time(call, calls, repetitions)
        fastest = np.inf
        for _ in range(repetitions):
            start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(calls):
                call()
            end.record()
            end.synchronize()
            fastest = min(fastest, 1e-3 * start.elapsed_time(end) / calls)
        return float(fastest)


def with_jax(place: Any, name: str, function: Callable[..., Any], *arrays: Any) -> list[Contender]:
    """The function of an array module and arrays, compiled by JAX."""
    if not place.has_jax:
        return []
    import jax

    jax.config.update("jax_default_matmul_precision", "highest")
    compiled = jax.jit(lambda *there: function(jax.numpy, *there))
    there = [jax.numpy.asarray(array) for array in arrays]
    return [Contender(name, lambda: compiled(*there))]
