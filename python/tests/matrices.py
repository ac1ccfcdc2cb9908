# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Batches of small matrices, and what results of them are compared by."""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def batch(*shape: int, dtype: Any = np.float64, seed: int = 1) -> Any:
    random = np.random.default_rng(seed)
    values = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * random.normal(size=shape)
    return values.astype(dtype)


def adjoint(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def general(*shape: int, dtype: Any = np.float64) -> Any:
    """Well-conditioned matrices whose largest entries are not on the diagonal."""
    a = batch(*shape, dtype=dtype)
    n = shape[-1]
    return a + 2 * n * np.roll(np.eye(n), 1, axis=0).astype(dtype)


def positive(*shape: int, dtype: Any = np.float64) -> Any:
    a = batch(*shape, dtype=dtype)
    return (a @ adjoint(a) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def wide(a: Any) -> Any:
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def expect_close(found: Any, expected: Any, like: Any) -> None:
    assert found.shape == expected.shape
    assert found.dtype == like
    error = np.linalg.norm((found - expected).ravel())
    bound = 100 * np.finfo(like).eps * max(1.0, float(np.linalg.norm(expected.ravel())))
    assert error <= bound
