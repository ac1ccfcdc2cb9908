# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Functions that are operations of the library, beside plain formulas in float64."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from programs import in_all_ways, same_bits

import aperture
from aperture import compose
from aperture._program_library import FUNCTIONS

REALS = [np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]


def numbers(dtype: Any, *shape: int, seed: int = 1) -> Any:
    parts = np.random.default_rng(seed).normal(size=(2, *shape))
    return (parts[0] + 1j * parts[1] if np.dtype(dtype).kind == "c" else parts[0]).astype(dtype)


def close(found: Any, expected: Any, ulps: float = 4) -> None:
    assert np.shape(found) == np.shape(expected)
    size = np.max(np.abs(expected))
    assert np.max(np.abs(found - expected)) <= ulps * np.finfo(found.dtype).eps * size


def of_reals(x: Any) -> Any:
    y = abs(x) + 0.5
    z = compose.make_complex(x, y)
    return compose.exp(x), compose.log(y), compose.rsqrt(y), z, compose.largest_magnitude(x)


@pytest.mark.parametrize("dtype", REALS)
def test_functions_of_real_numbers(dtype: Any) -> None:
    x = numbers(dtype, 13, 70)
    exp, log, rsqrt, pair, largest = in_all_ways(of_reals, x)
    wide = x.astype(np.longdouble)
    y = np.abs(x) + dtype(0.5)
    close(exp / np.exp(wide).astype(dtype), np.ones_like(x))
    close(log, np.log(y.astype(np.longdouble)))
    close(rsqrt * np.sqrt(y), np.ones_like(x))
    same_bits(pair, (x + 1j * y).astype(np.result_type(dtype, np.complex64)))
    same_bits(largest, abs(x).max())


def of_complex_numbers(z: Any) -> Any:
    return (
        compose.conj(z),
        compose.real(z),
        compose.imag(z),
        compose.magnitude(z),
        compose.largest_magnitude(z),
        np.conj(z),
        np.real(z),
        np.imag(z),
        compose.make_complex(compose.real(z), 0.0),
    )


@pytest.mark.parametrize("dtype", COMPLEX)
def test_functions_of_complex_numbers(dtype: Any) -> None:
    z = numbers(dtype, 13, 70)
    found = in_all_ways(of_complex_numbers, z)
    for one, expected in zip(found[:3], (z.conj(), z.real, z.imag), strict=True):
        same_bits(one, expected)
    for one, expected in zip(found[5:], (z.conj(), z.real, z.imag, z.real + 0j), strict=True):
        same_bits(one, expected)
    close(found[3], abs(z.astype(np.complex128)))
    same_bits(found[4], found[3].max())


def test_functions_of_numbers_alone() -> None:
    @aperture.program
    def scaled(x: Any, s: float) -> Any:
        return compose.exp(s) * x, compose.exp(compose.sum(x)), compose.real(2 - 1j) * x

    x = numbers(np.float32, 5)
    factor = compose.exp(0.5)
    assert type(factor) is float and abs(factor - np.exp(0.5)) < 1e-15
    found = scaled(x, 0.5)
    same_bits(found[0], np.float32(factor) * x)
    same_bits(found[1], compose.exp(compose.sum(x)))
    same_bits(found[2], np.float32(2) * x)
    assert type(compose.magnitude(3 + 4j)) is float
    assert type(compose.exp(np.float32(1))) is np.float32
    # A number of Python's has the type of what it meets.
    assert compose.make_complex(x, 0.0).dtype == np.complex64
    with pytest.raises(ValueError, match="their numbers have different types"):
        compose.make_complex(x, np.float64(0))


def of_matrices(A: Any, B: Any, x: Any, starts: Any, columns: Any) -> Any:
    return (
        compose.transposed_image(A),
        compose.row_sums(A),
        compose.matrix_vector(A, x),
        compose.matrix_matrix(A, B),
        compose.compressed_rows_vector(x, starts, columns, x),
        compose.matrix_vector(compose.matrix_matrix(A, B), compose.row_sums(A)),
        compose.column_sums(A),
        compose.transposed_matrix_vector(A, compose.matrix_vector(A, x)),
        A + compose.outer_product(compose.row_sums(A), x),
    )


@pytest.mark.parametrize("dtype", REALS)
def test_products_of_matrices_that_are_arrays(dtype: Any) -> None:
    A, B, x = numbers(dtype, 17, 30), numbers(dtype, 30, 17), numbers(dtype, 30)
    starts = np.array([0, 3, 3, 29, 30])
    columns = np.random.default_rng(2).integers(0, 30, 30)
    found = in_all_ways(of_matrices, A, B, x, starts, columns)
    wide, other, vector = (one.astype(np.float64) for one in (A, B, x))
    terms = vector * vector[columns]
    same_bits(found[0], A.T.copy())
    close(found[1], wide.sum(1), 30)
    close(found[2], wide @ vector, 30)
    close(found[3], wide @ other, 100)
    rows = zip(starts[:-1], starts[1:], strict=True)
    close(found[4], np.array([terms[first:end].sum() for first, end in rows]), 30)
    close(found[5], wide @ other @ wide.sum(1), 500)
    close(found[6], wide.sum(0), 17)
    close(found[7], wide.T @ (wide @ vector), 500)
    close(found[8], wide + np.outer(wide.sum(1), vector), 100)


def of_images(x: Any, y: Any) -> Any:
    small = compose.downsample(x, rows=11, columns=17)
    return (
        compose.median(x + y, size=3),
        compose.median(x),
        compose.blur(x, sigma=1.5),
        compose.resize(x, rows=44, columns=68, interpolation="bilinear"),
        compose.resize(small, rows=22, columns=34),
        small,
    )


def test_filters_of_images() -> None:
    x, y = numbers(np.float32, 2, 22, 34)
    found = in_all_ways(of_images, x, y)

    def median(image: Any, size: int) -> Any:
        wide = np.pad(image, size // 2, mode="edge")
        around = np.lib.stride_tricks.sliding_window_view(wide, (size, size))
        return np.median(around, axis=(2, 3)).astype(np.float32)

    same_bits(found[0], median(x + y, 3))
    same_bits(found[1], median(x, 5))

    def blurred(image: Any, sigma: Any) -> Any:
        for axis, deviation in enumerate(sigma):
            reach = int(np.ceil(3 * deviation))
            weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
            widths = [(reach, reach) if one == axis else (0, 0) for one in range(2)]
            wide = np.pad(image.astype(np.float64), widths, mode="edge")
            of_axis = functools.partial(np.convolve, v=weights / weights.sum(), mode="valid")
            image = np.apply_along_axis(of_axis, axis, wide)
        return image

    close(found[2], blurred(x, (1.5, 1.5)), 20)

    def resized(image: Any, *extents: int, cubic: bool) -> Any:
        for axis, extent in enumerate(extents):
            at = (np.arange(extent) + 0.5) * image.shape[axis] / extent - 0.5
            first, total = np.floor(at).astype(int), 0.0
            for k in range(-1, 3):
                d = abs(at - first - k)
                near = 1.5 * d**3 - 2.5 * d**2 + 1
                far = -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2
                weight = np.where(d <= 1, near, far) if cubic else np.maximum(1 - d, 0)
                pixels = np.take(image, np.clip(first + k, 0, image.shape[axis] - 1), axis)
                total = total + pixels * np.expand_dims(weight, 1 - axis)
            image = total
        return image

    close(found[3], resized(x.astype(np.float64), 44, 68, cubic=False), 20)
    close(found[4], resized(found[5].astype(np.float64), 22, 34, cubic=True), 20)
    sigma = 0.6 * np.sqrt(2.0**2 - 1)
    close(found[5], resized(blurred(x, (sigma, sigma)), 11, 17, cubic=True), 30)


def test_images_are_warped_and_matched() -> None:
    """The cases that formulas leave out, flows that are not finite, are compared in all modes by
    test_program.py."""
    image, u, v = 3 * numbers(np.float32, 3, 20, 27)
    rows, columns = image.shape
    row, column = np.indices(image.shape)
    wide = [one.astype(np.float64) for one in (image, u, v)]
    x, y = (np.clip(column + wide[1], 0, columns - 1), np.clip(row + wide[2], 0, rows - 1))
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right, below = np.minimum(left + 1, columns - 1), np.minimum(top + 1, rows - 1)
    upper = wide[0][top, left] + (x - left) * (wide[0][top, right] - wide[0][top, left])
    lower = wide[0][below, left] + (x - left) * (wide[0][below, right] - wide[0][below, left])
    # Rounding a position in float32 moves it by 1e-6 pixels.
    assert abs(compose.warp(image, u, v) - (upper + (y - top) * (lower - upper))).max() < 1e-4
    inside = (column + u >= 0) & (column + u <= columns - 1)
    inside &= (row + v >= 0) & (row + v <= rows - 1)
    same_bits(compose.lands_inside(u, v), inside)

    window, regularisation = 5, 0.25
    around = [
        np.lib.stride_tricks.sliding_window_view(np.pad(one, 2, mode="edge"), (window, window))
        for one in wide
    ]
    error, gx, gy = around
    products = [(gx, gx), (gx, gy), (gy, gy), (gx, error), (gy, error)]
    j11, j12, j22, bu, bv = ((a * b).sum((2, 3)) for a, b in products)
    matrix = np.stack([j11 + 25 * regularisation, j12, j12, j22 + 25 * regularisation], axis=-1)
    right_side = np.stack([bu, bv], axis=-1)[..., None]
    expected = np.linalg.solve(matrix.reshape(rows, columns, 2, 2), right_side)[..., 0]
    found = compose.lk_least_squares(image, u, v, window=5, regularisation=0.25)
    assert abs(np.stack(found, axis=-1) - expected).max() < 1e-4 * abs(expected).max()


EXTRACT = functools.partial(compose.resize, rows=6, columns=8)
LARGER = functools.partial(functools.partial(EXTRACT, interpolation="bilinear"), rows=9)
CHOICE = functools.partial(compose.where, True)


def test_partial_functions_keep_their_keywords() -> None:
    class Settings:
        smooth = functools.partial(compose.blur, sigma=1)

    @aperture.program
    def f(x: Any) -> Any:
        return EXTRACT(x), EXTRACT(x, rows=3), LARGER(x), Settings.smooth(x), CHOICE(x, 0.0)

    x = numbers(np.float32, 5, 7)
    for one, expected in zip(
        f(x),
        [
            compose.resize(x, rows=6, columns=8),
            compose.resize(x, rows=3, columns=8),
            compose.resize(x, rows=9, columns=8, interpolation="bilinear"),
            compose.blur(x, sigma=1.0),
            x,
        ],
        strict=True,
    ):
        same_bits(one, expected)
    assert "resize<rows = 3, columns = 8>" in f.text(x)
    # A name that stands for another function makes another plan.
    Settings.smooth = functools.partial(compose.blur, sigma=2)
    same_bits(f(x)[3], compose.blur(x, sigma=2))


def test_defaults_are_those_of_the_library() -> None:
    """Signatures show them; calls without them leave them to the library."""
    image, cube = numbers(np.float32, 12, 14), numbers(np.complex64, 1, 4, 140)
    A, steering = numbers(np.float64, 3, 2, 2), numbers(np.complex64, 2, 3)
    weights = numbers(np.complex64, 12, 2, 3)
    calls: dict[Any, tuple[Any, ...]] = {
        compose.lk_least_squares: (image, image, image.T.reshape(image.shape)),
        compose.median: (image,),
        compose.blur: (image,),
        compose.matrix_multiply: (A, A),
        compose.lu: (A,),
        compose.solve: (A, A),
        compose.inverse: (A,),
        compose.doppler: (cube,),
        compose.extract_snapshots: (cube,),
        compose.outer_products: (cube,),
        compose.solve_weights: (compose.estimate_covariance(cube), steering),
        compose.estimate_covariance: (cube,),
        compose.apply_weights: (cube, steering, weights),
        compose.adapt_cube: (cube, steering),
    }
    for function, operands in calls.items():
        defaults = function.__wrapped__.__kwdefaults__
        plain, stated = function(*operands), function(*operands, **defaults)
        for one, other in zip(np.atleast_1d(plain), np.atleast_1d(stated), strict=True):
            same_bits(one, other)
    resized = compose.resize(image, rows=5, columns=9, interpolation="bicubic")
    same_bits(compose.resize(image, rows=5, columns=9), resized)
    undecorated = {function: getattr(function, "__wrapped__", None) for function in FUNCTIONS}
    have_defaults = {
        function for function, of in undecorated.items() if getattr(of, "__kwdefaults__", None)
    }
    assert have_defaults == {*calls, compose.resize}


def transformed(x: Any) -> Any:
    there = compose.fft(x)
    return there, compose.conj(compose.fft(compose.conj(there))) * (1 / x.shape[1])


def test_transforms_and_their_inverse() -> None:
    x = numbers(np.complex64, 5, 60)
    there, back = in_all_ways(transformed, x)
    close(there, np.fft.fft(x.astype(np.complex128)), 60)
    close(back, x.astype(np.complex128), 20)
