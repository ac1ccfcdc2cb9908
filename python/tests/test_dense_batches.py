# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""aperture.dense beside NumPy in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matrices import DTYPES, adjoint, batch, expect_close, general, positive, wide

from aperture import dense

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 4, 4), (2, 3, 17, 17), (33, 33), (2, 128, 128)])
def test_square_matrices_agree_with_numpy(dtype: Any, shape: tuple[int, ...]) -> None:
    n = shape[-1]
    a = general(*shape, dtype=dtype)
    exact = wide(a)
    inverse, info = dense.inv(a)
    expect_close(inverse, np.linalg.inv(exact), dtype)
    assert info.shape == shape[:-2] and info.dtype == np.int32 and (info == 0).all()

    determinants = dense.det(a / (2 * n)).astype(exact.dtype)
    assert np.allclose(determinants, np.linalg.det(exact / (2 * n)), rtol=1e3 * np.finfo(dtype).eps)

    b = batch(*shape[:-1], 3, dtype=dtype)
    x, info = dense.solve(a, b)
    expect_close(x, np.linalg.solve(exact, b), dtype)
    assert info.shape == shape[:-2] and not info.any()

    hermitian = positive(*shape, dtype=dtype)
    x, info = dense.solve(hermitian, b, assume_a="pos")
    expect_close(x, np.linalg.solve(wide(hermitian), b), dtype)
    assert not info.any()
    for upper in (False, True):
        factor, info = dense.cholesky(hermitian, upper=upper)
        expected = np.linalg.cholesky(wide(hermitian))
        expect_close(factor, adjoint(expected) if upper else expected, dtype)
        assert not info.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pivoting", [True, False])
def test_lu_factors_and_pivots(dtype: Any, pivoting: bool) -> None:
    n = 9
    a = general(2, 5, n, n, dtype=dtype)
    if not pivoting:
        a = a + 10 * n * np.eye(n, dtype=dtype)
    factors, pivots, info = dense.lu(a, pivoting=pivoting)
    assert pivots.shape == (2, 5, n) and pivots.dtype == np.int32 and not info.any()
    permuted = a.copy()
    for index in np.ndindex(2, 5):
        for k, row in enumerate(pivots[index]):
            permuted[index][[k, row]] = permuted[index][[row, k]]
    below = np.tril(factors, -1) + np.eye(n, dtype=dtype)
    expect_close(below @ np.triu(factors), permuted, dtype)
    if pivoting:
        assert (pivots != np.arange(n)).any() and np.abs(np.tril(factors, -1)).max() < 1.5
    else:
        assert (pivots == np.arange(n)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (4, 7, 3), (2, 3, 16, 16), (2, 240, 66), (256, 128)])
def test_tall_matrices_agree_with_numpy(dtype: Any, shape: tuple[int, ...]) -> None:
    m, n = shape[-2:]
    a = batch(*shape, dtype=dtype) + 3 * np.eye(m, n, dtype=dtype)
    q, r = dense.qr(a)
    assert q.dtype == r.dtype == dtype and q.shape == shape
    expect_close(q @ r, a, dtype)
    expect_close(adjoint(q) @ q, np.broadcast_to(np.eye(n), r.shape), dtype)
    assert (np.tril(r, -1) == 0).all() and not np.diagonal(r, axis1=-2, axis2=-1).imag.any()
    alone: Any = dense.qr(a, mode="r")
    assert (alone == r).all()
    b = batch(*shape[:-1], 2, dtype=dtype)
    x, info = dense.lstsq(a, b)
    expect_close(x, np.linalg.pinv(wide(a)) @ b, dtype)
    assert info.shape == shape[:-2] and not info.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 3, 9, 9), (64, 64)])
def test_eigenvalues_agree_with_numpy(dtype: Any, shape: tuple[int, ...]) -> None:
    n = shape[-1]
    a = batch(*shape, dtype=dtype)
    a = a + adjoint(a)
    values, vectors, info = dense.eigh(np.tril(a) + np.triu(np.full_like(a, 7), 1))
    expect_close(values, np.linalg.eigvalsh(wide(a)), a.real.dtype)
    expect_close(vectors * values[..., None, :] @ adjoint(vectors), a, dtype)
    expect_close(adjoint(vectors) @ vectors, np.broadcast_to(np.eye(n), shape), dtype)
    assert info.shape == shape[:-2] and not info.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 3, 9, 5), (2, 3, 5, 9), (7, 7), (256, 64), (64, 256)]
)
def test_singular_values_agree_with_numpy(dtype: Any, shape: tuple[int, ...]) -> None:
    a = batch(*shape, dtype=dtype)
    u, s, vh, info = dense.svd(a)
    of_numpy = np.linalg.svd(wide(a), full_matrices=False)
    assert [x.shape for x in (u, s, vh)] == [x.shape for x in of_numpy]
    expect_close(s, of_numpy.S, a.real.dtype)
    expect_close(u * s[..., None, :] @ vh, a, dtype)
    eye = np.broadcast_to(np.eye(min(shape[-2:])), (*s.shape, s.shape[-1]))
    expect_close(adjoint(u) @ u, eye, dtype)
    expect_close(vh @ adjoint(vh), eye, dtype)
    assert info.shape == shape[:-2] and not info.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("of_a", "of_b"),
    [
        ((3, 4), (4, 2)),
        ((5, 3, 4), (5, 4, 2)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((5, 3, 4), (4,)),
        ((4,), (2, 5, 4, 3)),
        ((4,), (4,)),
        ((0, 3, 4), (4, 2)),
        ((5, 0, 4), (4, 2)),
        ((5, 3, 0), (0, 2)),
        ((256, 255), (255, 256)),
    ],
)
def test_products_agree_with_numpy(
    dtype: Any, of_a: tuple[int, ...], of_b: tuple[int, ...]
) -> None:
    a, b = batch(*of_a, dtype=dtype), batch(*of_b, dtype=dtype, seed=2)
    expect_close(dense.matmul(a, b), np.asarray(wide(a) @ b), dtype)
    turned = np.ascontiguousarray(a.T).T, np.ascontiguousarray(b.T).T
    expect_close(dense.matmul(*turned), np.asarray(wide(a) @ b), dtype)


def test_only_one_triangle_is_read() -> None:
    a = positive(4, 7, 7, dtype=np.complex64)
    expected = dense.cholesky(a)
    lower, upper = np.tril(a), np.triu(a)
    assert (dense.cholesky(lower).L == expected.L).all()
    assert (dense.solve(lower, a, assume_a="pos").x == dense.solve(a, a, assume_a="pos").x).all()
    lower[...] += np.triu(np.full((7, 7), np.nan), 1).astype(np.complex64)
    assert (dense.cholesky(lower).L == expected.L).all()
    assert np.allclose(dense.cholesky(upper, upper=True).L, adjoint(expected.L), atol=1e-5)
