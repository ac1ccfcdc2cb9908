# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations on images and flows, float32 [row, column], that array programs can call, as functions
on arrays of NumPy with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from aperture._program_functions import fma


def warp(image: Any, u: Any, v: Any) -> Any:
    """The image u pixels to the right of, and v below, each of its pixels; bilinear.

    Positions outside are those of the nearest pixel; a flow that is not finite is none. See
    :func:`aperture.warp`.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> image, one = np.array([[1, 5, 6]], np.float32), np.ones((1, 3), np.float32)
    >>> compose.warp(image, 0.5 * one, 0 * one).tolist()
    [[3.0, 5.5, 6.0]]
    """
    moves = np.isfinite(u) & np.isfinite(v)
    rows, columns = image.shape
    x, right = _sampling_place(np.arange(columns), np.where(moves, u, np.float32(0)), columns)
    y, down = _sampling_place(np.arange(rows)[:, None], np.where(moves, v, np.float32(0)), rows)
    beside, below = np.minimum(x + 1, columns - 1), np.minimum(y + 1, rows - 1)
    upper = fma(right, image[y, beside] - image[y, x], image[y, x])
    lower = fma(right, image[below, beside] - image[below, x], image[below, x])
    return fma(down, lower - upper, upper)


def _sampling_place(pixels: Any, moved: Any, extent: int) -> tuple[Any, Any]:
    """Pixels and fractions of positions along one axis, within the image."""
    at, last = pixels.astype(np.float32) + moved, np.float32(extent - 1)
    not_before = np.where(at > 0, at, np.float32(0))
    inside = np.where(not_before < last, not_before, last)
    whole = inside.astype(np.int64)
    return whole, inside - whole.astype(np.float32)


def lands_inside(u: Any, v: Any) -> Any:
    """Where pixels stay in the image that move u to the right and v down: of bool.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> one = np.ones((1, 3), np.float32)
    >>> compose.lands_inside(one, 0 * one).tolist()
    [[True, True, False]]
    """
    rows, columns = u.shape
    x = np.arange(columns, dtype=np.float32) + u
    y = np.arange(rows, dtype=np.float32)[:, None] + v
    return (x >= 0) & (x <= columns - 1) & (y >= 0) & (y <= rows - 1)


def lk_least_squares(
    error: Any, across: Any, down: Any, window: int = 9, regularisation: float = 0.1
) -> tuple[Any, Any]:
    """The motions u and v that explain an error best in a window around each pixel.

    Parameters
    ----------
    error : float32 [row, column]
        Image 0 - image 1.
    across, down : float32 [row, column]
        Gradients of the image.
    window : int
        Pixels a side: odd, 3 to 11.
    regularisation : float
        See :func:`aperture.flow`.

    Returns
    -------
    u, v : float32 [row, column]
        Zero where nothing has texture.

    Notes
    -----
    Lucas & Kanade 1981; Anderson 2014, program 16.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> x = np.arange(30, dtype=np.float32) ** 2 * np.ones((20, 1), np.float32)
    >>> u, v = compose.lk_least_squares(0.5 * x, x, x.T[:20, :20].mean() + 0 * x, regularisation=0)
    >>> u.shape, v.shape
    ((20, 30), (20, 30))
    """
    with np.errstate(all="ignore"):
        j11, j12, j22, b_u, b_v = _window_terms(error, across, down, window)
        pixels = np.float32(window) * np.float32(window)
        half_trace, half_difference = np.float32(0.5) * (j11 + j22), np.float32(0.5) * (j11 - j22)
        smaller = half_trace - np.sqrt(half_difference * half_difference + j12 * j12)
        added = np.float32(regularisation) * pixels
        d11, d22 = j11 + added, j22 + added
        determinant = d11 * d22 - j12 * j12
        textured = (smaller >= _LEAST_EIGENVALUE * pixels) & (determinant > 0)
        scale = np.where(textured, np.float32(1) / determinant, np.float32(0))
        return scale * (d22 * b_u - j12 * b_v), scale * (d11 * b_v - j12 * b_u)


def _window_terms(error: Any, across: Any, down: Any, window: int) -> list[Any]:
    """Sums of the normal equations' terms, row by row."""
    rows, columns = error.shape
    wide = [np.pad(one, window // 2, mode="edge") for one in (error, across, down)]
    sums = [np.zeros_like(error) for _ in range(5)]
    for y in range(window):
        terms = [np.zeros_like(error) for _ in range(5)]
        for x in range(window):
            e, gx, gy = (one[y : y + rows, x : x + columns] for one in wide)
            products = ((gx, gx), (gx, gy), (gy, gy), (gx, e), (gy, e))
            terms = [fma(a, b, term) for (a, b), term in zip(products, terms, strict=True)]
        sums = [total + term for total, term in zip(sums, terms, strict=True)]
    return sums


_LEAST_EIGENVALUE = np.float32(1e-2)
