# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""A function of the caller's own on every problem of batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aperture._batches import arguments, computed_type, input_batch, worker_of
from aperture._places import Place, place_of


def for_each(
    body: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Sequence[int]],
    *,
    parameters: Mapping[str, float] | None = None,
    team: int = 1,
    device: str = "auto",
) -> dict[str, Any]:
    """Compute a function of one's own for every problem of batches, on a GPU.

    Parameters
    ----------
    body : str
        Statements of CUDA C++. They see each batch by its name, as one problem of it: numbers
        ``z()``, vectors ``x(i)``, matrices ``p(i, j)``; each parameter by its name; and the type
        ``T`` of outputs and parameters. It is compiled at the first call with a text, extents and
        types, and kept.
    inputs : dict of arrays
        By name, [problem], [problem, n] or [problem, m, n], as many problems each. float32 and
        float16 are float in the body, other real numbers double. Not changed.
    outputs : dict of tuples
        By name, the extents of a problem of each result: (), (n,) or (m, n). The body assigns all
        entries.
    parameters : dict of floats, optional
        Numbers that all problems have in common. Other values compile nothing anew.
    team : int
        Threads that share a problem: 1, or 2, 4, ... 32 of a warp, or a block of up to 1024. The
        body divides the entries: thread ``team.rank`` of ``team.threads`` takes every
        ``team.threads``-th one; ``team.sync()`` makes what was written visible to the others, and
        ``team.sum(value)`` adds up.
    device : {"auto", "gpu", "gpu:N"}
        Where to compute. There is no compiler for CPUs.

    Returns
    -------
    dict of arrays
        By the names of ``outputs``, [problem, ...]: float32 if all inputs are, else float64.

    Raises
    ------
    ValueError
        For shapes and names that cannot be right, without a GPU, and with the compiler's message,
        where lines count from the body's first, for a body that does not compile.
    TypeError
        For something that is not an array of real numbers.
    aperture.DeviceError
        If the device cannot be used, or has no run-time compiler.

    Notes
    -----
    Ha et al. 2013, section III.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> body = "for (int i = 0; i < 3; ++i) y(i) = gain * x(i) + z();"
    >>> inputs = {"x": np.ones((1000, 3)), "z": np.arange(1000.0)}
    >>> if aperture.gpu_info():
    ...     found = aperture.dense.for_each(body, inputs, {"y": (3,)}, parameters={"gain": 2.0})
    ...     assert (found["y"][7] == 9).all()
    """
    if not isinstance(body, str):
        raise TypeError(f"body: expected a string, not {type(body).__name__}")
    if not inputs:
        raise ValueError("inputs: none, expected at least one array")
    place = place_of(next(iter(inputs.values())), device, None)
    return _for_each(place, body, inputs, outputs, dict(parameters or {}), team)


def _for_each(
    place: Place,
    body: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Sequence[int]],
    parameters: dict[str, float],
    team: int,
) -> dict[str, Any]:
    given = dict(zip(inputs, arguments(place, **inputs), strict=True))
    types = {name: _real_type(name, array) for name, array in given.items()}
    problems = next(iter(given.values())).shape[0]
    with worker_of(place) as worker:
        there = {name: input_batch(place, name, given[name], types[name]) for name in given}
        widest = np.result_type(*types.values())
        results = {
            name: place.new((problems, *_extents(name, extents)), widest)
            for name, extents in outputs.items()
        }
        batches = [
            (name, written, place.handle(array, worker))
            for written, arrays in ((False, there), (True, results))
            for name, array in arrays.items()
        ]
        numbers = [(name, float(value)) for name, value in parameters.items()]
        worker.for_each(place.stream(worker), body, batches, numbers, team)
        return {name: place.result(array, worker) for name, array in results.items()}


def _real_type(name: str, array: Any) -> type[Any]:
    shape = tuple(array.shape)
    if not 1 <= len(shape) <= 3:
        raise ValueError(
            f"{name}: shape {shape}, expected [problem], [problem, n] or [problem, m, n]"
        )
    dtype = computed_type(array.dtype)
    if np.dtype(dtype).kind == "c":
        raise TypeError(f"{name}: elements of type {array.dtype}, expected real numbers")
    return dtype


def _extents(name: str, extents: Sequence[int]) -> tuple[int, ...]:
    found = tuple(extents)
    if len(found) > 2 or not all(extent > 0 for extent in found):
        raise ValueError(f"{name}: extents {found}, expected (), (n,) or (m, n)")
    return found
