# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Products of small matrices."""

from __future__ import annotations

from typing import Any

from aperture._batches import Call, arguments
from aperture._extension import core
from aperture._places import Place, at_place


def matmul(a: Any, b: Any, *, device: str = "auto", threads: int | None = None) -> Any:
    """Products of matrices: A B.

    Parameters
    ----------
    a : [..., m, k] or [k]
        Extents up to 256. Transposed matrices are read in place.
    b : [..., k, n] or [k]
        Leading dimensions of ``a`` and ``b`` are broadcast.
    device, threads
        As for :func:`cholesky`.

    Returns
    -------
    [..., m, n], [..., m], [..., n] or []
        Without the dimension that a vector does not have. Sums are in an order that the extents
        fix.

    Raises
    ------
    ValueError, TypeError, aperture.DeviceError
        As for :func:`cholesky`.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> a = np.array([[[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> aperture.dense.matmul(a, np.array([1.0, 10.0])).tolist()
    [[21.0, 43.0], [10.0, 1.0]]
    """
    return at_place(a, device, threads, lambda place: _matmul(place, a, b))


def _matmul(place: Place, a: Any, b: Any) -> Any:
    a, b = arguments(place, a=a, b=b)
    shapes = [tuple(array.shape) for array in (a, b)]
    for name, shape in zip("ab", shapes, strict=True):
        if not shape or max(shape[-2:]) > core.max_rows:
            raise ValueError(
                f"{name}: shape {shape}, expected vectors or matrices up to {core.max_rows}"
            )
    a = a if len(shapes[0]) > 1 else a[None]
    b = b if len(shapes[1]) > 1 else b[:, None]
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"b: shape {shapes[1]}, expected {a.shape[-1]} rows as a: {shapes[0]}")
    with Call(place, a, b) as call:
        product = call.new(a.shape[-2], b.shape[-1])
        call.run("matmul", call.matrices("a", a), call.matrices("b", b), product)
        extents = shapes[0][-2:-1] + (shapes[1][-1:] if len(shapes[1]) > 1 else ())
        return call.result(product, extents)
