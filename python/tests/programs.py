# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""A program, functions made of text, and comparisons of results, for tests of programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import aperture

MEAN = aperture.stencil({(-1, 0): 0.25, (0, -1): 0.25, (0, 1): 0.25, (1, 0): 0.25})


def images(*shape: int, dtype: Any = np.float32, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def jacobi(b: Any, x: Any, weight: Any, sweeps: int) -> Any:
    for _ in range(sweeps):
        residual = b - MEAN * x
        x = weight * residual
    return x


def evaluated(text: str, folder: Path, **names: Any) -> dict[str, Any]:
    """The names of a module with this text, which is in a file, and the given names."""
    path = folder / "module.py"
    path.write_text(text)
    exec(compile(text, path, "exec", dont_inherit=True), names)
    return names


def same_bits(found: Any, expected: Any) -> None:
    """Asserts that results are equal to the bit; one NaN is as good as another."""
    a, b = np.asarray(found), np.asarray(expected)
    if a.shape == () and not isinstance(expected, np.ndarray | np.generic):
        b = b.astype(a.dtype)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    different = a != b
    if a.dtype.kind in "fc":
        different &= ~(np.isnan(a) & np.isnan(b))
    if a.dtype.kind == "f":
        different |= np.signbit(a) != np.signbit(b)
        different &= ~(np.isnan(a) & np.isnan(b))
    assert not different.any(), (np.count_nonzero(different), a[different][:3], b[different][:3])


def in_all_ways(function: Any, *arguments: Any) -> Any:
    """A program's results, the same bits in all modes, compiled, interpreted and by NumPy."""
    ways = [
        ("thesis", "automatic"),
        ("thesis", "interpreted"),
        ("planned", "interpreted"),
        ("none", "interpreted"),
    ]
    first, *others = (
        aperture.program(mode=mode, tier=tier)(function)(*arguments)
        for mode, tier in [*ways, ("numpy", "automatic")]
    )
    for other in others:
        for one, expected in zip(other, first, strict=True):
            same_bits(one, expected)
    return first
