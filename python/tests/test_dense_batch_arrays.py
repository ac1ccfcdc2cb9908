# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Layouts, shapes and types of the arrays of aperture.dense, and matrices that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matrices import DTYPES, batch, general, positive, wide

from aperture import _batches, _places, dense

pytestmark = pytest.mark.usefixtures("one_thread")


def interleaved(a: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(a, (-2, -1), (0, 1)))


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "by_columns": lambda a: np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2),
    "interleaved": lambda a: np.moveaxis(interleaved(a), (0, 1), (-2, -1)),
    "problems_swapped": lambda a: np.ascontiguousarray(a.swapaxes(0, 1)).swapaxes(0, 1),
    "fortran": np.asfortranarray,
    "padded": lambda a: np.pad(a, ((0, 1), (1, 0), (2, 1), (1, 3)))[:-1, 1:, 2:-1, 1:-3],
    "every_second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "every_third_problem": lambda a: np.repeat(a, 3, axis=1)[:, ::3],
    "reversed_rows": lambda a: a[..., ::-1, :].copy()[..., ::-1, :],
    "reversed_columns": lambda a: a[..., ::-1].copy()[..., ::-1],
    "reversed_problems": lambda a: a[:, ::-1].copy()[:, ::-1],
    "byteorder": lambda a: a.astype(a.dtype.newbyteorder()),
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
}
# With one leading dimension.
IN_PLACE = {"by_columns", "interleaved", "problems_swapped", "padded", "every_third_problem"}


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_gives_the_same_results(layout: str, dtype: Any) -> None:
    change = LAYOUTS[layout]
    a, b = positive(2, 3, 6, 6, dtype=dtype), batch(2, 3, 6, 2, dtype=dtype)
    given = [change(a), change(b)]
    kept = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    for one, other in zip(dense.solve(*given), dense.solve(a, b), strict=True):
        assert (one == other).all()
    for one, other in zip(dense.cholesky(given[0]), dense.cholesky(a), strict=True):
        assert (one == other).all()
    for array, before in zip(given, kept, strict=True):
        assert (array == before).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_unit_stride_suffices_to_be_read_in_place(layout: str) -> None:
    a = LAYOUTS[layout](batch(2, 3, 6, 6))[:1]
    place = _places.place_of(a, "cpu", None)
    with _batches.Call(place, a) as call:
        there = call.matrices("a", a)
    assert (there == a[0]).all()
    assert np.shares_memory(there, a) == (layout in IN_PLACE)


def test_repeated_matrices_and_problems() -> None:
    row = np.broadcast_to(batch(1, 5), (5, 5)) + 5 * np.eye(5)
    a = np.broadcast_to(row, (2, 3, 5, 5))
    b = batch(3, 5, 2)
    x, info = dense.solve(a, b)
    assert x.shape == (2, 3, 5, 2) and info.shape == (2, 3)
    assert np.allclose(a @ x, np.broadcast_to(b, x.shape))
    ones = np.broadcast_to(1.0, (4, 5, 5))
    assert (dense.solve(ones, b[0]).info == 2).all() and not dense.det(ones).any()
    single = dense.solve(general(5, 5), batch(2, 1, 5, 3))
    assert single.x.shape == (2, 1, 5, 3) and single.info.shape == (2, 1)


def test_vectors_have_one_dimension_as_in_numpy() -> None:
    a, b = general(2, 3, 4, 4), batch(4)
    x, info = dense.solve(a, b)
    assert x.shape == (2, 3, 4) and info.shape == (2, 3)
    assert np.allclose(x, np.linalg.solve(a, b))
    x, info = dense.solve(a[0, 0], b)
    assert x.shape == (4,) and info.shape == () and info == 0
    # A matrix of right-hand sides, not a vector for each of four matrices.
    assert dense.solve(general(4, 4, 4), batch(4, 4)).x.shape == (4, 4, 4)


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 4, 4), (2, 0, 0), (0, 0), (0, 2, 0, 0)])
def test_nothing_to_compute(shape: tuple[int, ...]) -> None:
    a = np.ones(shape, np.float32)
    ahead, n = shape[:-2], shape[-1]
    for call in (dense.cholesky, dense.inv):
        result: Any = call(a)
        assert result[0].shape == shape and result.info.shape == ahead and not result.info.any()
    factors, pivots, info = dense.lu(a)
    assert factors.shape == shape and pivots.shape == shape[:-1] and not info.any()
    assert (dense.det(a) == 1).all() and dense.det(a).shape == ahead
    for assume_a in ("gen", "pos"):
        x, info = dense.solve(a, np.ones((*shape[:-1], 3)), assume_a=assume_a)
        assert x.shape == (*ahead, n, 3) and info.shape == ahead and not info.any()
        x, info = dense.solve(a, np.ones((*shape[:-1], 0)), assume_a=assume_a)
        assert x.shape == (*ahead, n, 0) and info.shape == ahead
    tall = np.ones((*shape[:-1], max(n - 1, 0)))
    q, r = dense.qr(tall)
    assert q.shape == tall.shape and r.shape == (*ahead, *tall.shape[-1:] * 2)
    x, info = dense.lstsq(tall, a)
    assert x.shape == (*ahead, tall.shape[-1], n) and info.shape == ahead and not info.any()
    values, vectors, info = dense.eigh(a)
    assert values.shape == shape[:-1] and vectors.shape == shape and not info.any()
    for matrices in (tall, tall.swapaxes(-1, -2)):
        u, s, vh, info = dense.svd(matrices)
        assert u.shape == (*matrices.shape[:-1], tall.shape[-1]) and not info.any()
        assert s.shape == (*ahead, tall.shape[-1]) and vh.shape == (*s.shape, matrices.shape[-1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_bad_matrix_harms_no_other(dtype: Any) -> None:
    n, count = 6, 40
    a, b = positive(count, n, n, dtype=dtype), batch(count, n, 2, dtype=dtype)
    bad = a.copy()
    bad[3] = 0
    bad[7, 4, 4] = np.nan
    bad[7, 4, :4] = 0
    bad[11, 2, :] = bad[11, :, 2] = 0
    bad[30, 0, 0] = np.inf
    failed = [3, 7, 11, 30]
    healthy = np.setdiff1d(np.arange(count), failed)
    calls: list[Callable[[Any], Any]] = [
        dense.cholesky,
        dense.lu,
        dense.inv,
        lambda a: dense.solve(a, b),
        lambda a: dense.solve(a, b, assume_a="pos"),
        lambda a: dense.lstsq(a, b),
    ]
    for call in calls:
        found, expected = call(bad), call(a)
        assert (np.flatnonzero(found.info) == failed).all()
        assert found.info[3] == 1 and found.info[30] == 1
        for one, other in zip(found, expected, strict=True):
            assert (one[healthy] == other[healthy]).all()
        if isinstance(found, (dense.InvResult, dense.SolveResult, dense.LstsqResult)):
            assert not found[0][failed].any()
    assert dense.cholesky(bad).info[[7, 11]].tolist() == [5, 3]
    found = dense.det(bad)
    assert (found[healthy] == dense.det(a)[healthy]).all()
    assert found[3] == found[11] == 0 and not np.isfinite(found[7])
    for one, other in zip(dense.qr(bad), dense.qr(a), strict=True):
        assert (one[healthy] == other[healthy]).all() and np.isnan(one[7]).any()
    for call in (dense.eigh, dense.svd, lambda a: dense.svd(a[:, 2:])):
        found, expected = call(bad), call(a)
        # A singular matrix has eigenvalues and singular values; the last rows are without infinity.
        without = np.flatnonzero(found.info)
        assert without.tolist() == ([7] if found[0].shape[1] == 4 else [7, 30])
        for one, other in zip(found[:-1], expected[:-1], strict=True):
            assert (one[healthy] == other[healthy]).all() and not one[without].any()
    found = dense.matmul(bad, b)
    assert (found[healthy] == dense.matmul(a, b)[healthy]).all()


@pytest.mark.parametrize(
    ("given", "computed"),
    [
        (np.float16, np.float32),
        (np.int8, np.float64),
        (np.uint32, np.float64),
        (np.longdouble, np.float64),
        (np.clongdouble, np.complex128),
    ],
)
def test_other_numbers_are_converted(given: Any, computed: Any) -> None:
    a = (10 * batch(2, 4, 4, dtype=np.float64) + 50 * np.eye(4)).astype(given)
    inverse = dense.inv(a).inverse
    assert inverse.dtype == computed and (inverse == dense.inv(a.astype(computed)).inverse).all()
    assert (dense.inv(a.tolist()).inverse == dense.inv(wide(a)).inverse).all()


@pytest.mark.parametrize(
    ("one", "other", "computed"),
    [
        (np.float32, np.float64, np.float64),
        (np.float32, np.complex64, np.complex64),
        (np.float64, np.complex64, np.complex128),
        (np.int8, np.float32, np.float64),
    ],
)
def test_two_types_have_one_that_holds_both(one: Any, other: Any, computed: Any) -> None:
    a, b = (20 * np.eye(3)).astype(one), (9 * batch(3, 2)).astype(other)
    for x in (dense.solve(a, b).x, dense.solve(b[:2], a[:2, :1]).x):
        assert x.dtype == computed
    assert np.allclose(a @ dense.solve(a, b).x, b)
