# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""aperture.dense beside NumPy in double precision."""

from __future__ import annotations

import inspect
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import aperture
from aperture import _batches, _places, dense

pytestmark = pytest.mark.usefixtures("one_thread")

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


def test_threads_do_not_change_bits() -> None:
    a = positive(500, 12, 12, dtype=np.float32)
    for one, two in zip(dense.inv(a, threads=1), dense.inv(a, threads=2), strict=True):
        assert (one == two).all()


def test_two_threads_compute_at_once() -> None:
    a, b = general(50, 20, 20), batch(50, 20, 3)
    expected = dense.solve(a, b).x

    def work(_: int) -> bool:
        return all((dense.solve(a, b).x == expected).all() for _ in range(10))

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(work, range(3)))


def test_other_threads_go_on_meanwhile() -> None:
    a = np.broadcast_to(np.eye(64), (2000, 64, 64)).copy()
    ticks, done = [], threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = time.monotonic()
    dense.inv(a)
    end = time.monotonic()
    done.set()
    ticker.join()
    assert sum(begin < moment < end for moment in ticks) >= 3


def test_an_interrupt_ends_a_long_run(interrupted: Callable[..., float]) -> None:
    a = np.broadcast_to(np.eye(32, dtype=np.float32), (20_000, 32, 32)).copy()

    def run() -> None:
        for _ in range(50):
            dense.inv(a)

    assert interrupted(run) < 1
    assert (dense.inv(a[:9]).inverse == a[:9]).all()


def test_cpu_tensors_come_back_as_tensors() -> None:
    torch = pytest.importorskip("torch")
    a = torch.from_numpy(general(2, 5, 5, dtype=np.complex64))
    x, info = dense.solve(a, a[..., :2])
    assert type(x) is type(info) is torch.Tensor and x.dtype == torch.complex64
    assert torch.allclose(a @ x, a[..., :2], atol=1e-4)


A, B = general(2, 3, 3), batch(2, 3, 2)
REFUSED: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any, str]] = [
    (dense.inv, (None,), {}, TypeError, "a: not numbers"),
    (dense.inv, ("matrix",), {}, TypeError, "elements of type <U6"),
    (dense.inv, ([[1, 2], [3]],), {}, TypeError, "not an array"),
    (dense.inv, (A > 0,), {}, TypeError, "bool"),
    (dense.inv, (np.ma.masked_array(A),), {}, TypeError, "masked"),
    (dense.inv, (1.0,), {}, ValueError, r"a: shape \(\), expected \[..., n, n\]"),
    (dense.lu, (A[0, 0],), {}, ValueError, r"a: shape \(3,\), expected \[..., n, n\]"),
    (dense.cholesky, (B,), {}, ValueError, r"a: shape \(2, 3, 2\), expected \[..., n, n\]"),
    (dense.det, (np.eye(129),), {}, ValueError, r"shape \(129, 129\), expected orders up to 128"),
    (dense.solve, (A, 1.0), {}, ValueError, r"b: shape \(\), expected \[3\] or \[..., 3, k\]"),
    (dense.solve, (A, B[0, 0]), {}, ValueError, r"b: shape \(2,\)"),
    (dense.solve, (A, B[:, 1:]), {}, ValueError, r"b: shape \(2, 2, 2\)"),
    (dense.solve, (A, batch(4, 3, 2)), {}, ValueError, r"dimensions \(2,\) and \(4,\)"),
    (dense.solve, (A, "b"), {}, TypeError, "b: not numbers"),
    (dense.solve, (A, B), {"assume_a": "sym"}, ValueError, r"'sym': expected gen\|pos"),
    (dense.solve, (A, B), {"assume_a": True}, TypeError, "assume_a True"),
    (dense.qr, (A[0, 0],), {}, ValueError, r"a: shape \(3,\), expected \[..., m, n\] with m >= n"),
    (dense.qr, (A[:, :2],), {}, ValueError, r"a: shape \(2, 2, 3\), expected .* with m >= n"),
    (dense.qr, (np.ones((257, 3)),), {}, ValueError, "expected up to 256 rows and 128 columns"),
    (dense.qr, (np.ones((200, 129)),), {}, ValueError, "expected up to 256 rows and 128 columns"),
    (dense.qr, (A,), {"mode": "complete"}, ValueError, r"mode 'complete': expected reduced\|r"),
    (dense.qr, (A,), {"mode": 1}, TypeError, "mode 1"),
    (dense.lstsq, (B, B[:, :2]), {}, ValueError, r"b: shape \(2, 2, 2\), expected \[3\]"),
    (dense.lstsq, (A[:, :2], B), {}, ValueError, "with m >= n"),
    (dense.eigh, (B,), {}, ValueError, r"a: shape \(2, 3, 2\), expected \[..., n, n\]"),
    (dense.eigh, (np.eye(65),), {}, ValueError, "expected orders up to 64"),
    (dense.svd, (A[0, 0],), {}, ValueError, r"a: shape \(3,\), expected \[..., m, n\]"),
    (dense.svd, (np.eye(65),), {}, ValueError, "larger extent up to 256, the smaller one up to 64"),
    (dense.svd, (np.ones((3, 257)),), {}, ValueError, "the larger extent up to 256"),
    (dense.matmul, (A, B[:, :2]), {}, ValueError, r"b: shape \(2, 2, 2\), expected 3 rows as a"),
    (dense.matmul, (A, batch(4, 3, 2)), {}, ValueError, r"dimensions \(2,\) and \(4,\)"),
    (dense.matmul, (A, 2.0), {}, ValueError, r"b: shape \(\), expected vectors or matrices"),
    (dense.matmul, (np.ones((3, 257)), B), {}, ValueError, "a: shape .* matrices up to 256"),
    (dense.matmul, (A, None), {}, TypeError, "b: not numbers"),
    (dense.for_each, ("y() = x();", {"x": [1.0]}, {"y": ()}), {}, ValueError, "needs a GPU"),
    (dense.for_each, (None, {"x": [1.0]}, {"y": ()}), {}, TypeError, "body: expected a string"),
    (dense.for_each, ("", {}, {"y": ()}), {}, ValueError, "inputs: none"),
    (dense.for_each, ("", {"x": 1.0}, {}), {}, ValueError, r"x: shape \(\), expected \[problem\]"),
    (dense.for_each, ("", {"x": A[None]}, {}), {}, ValueError, r"x: shape \(1, 2, 3, 3\)"),
    (dense.for_each, ("", {"x": A + 0j}, {}), {}, TypeError, "x: elements of type complex128"),
    (dense.for_each, ("", {"x": A, "z": None}, {}), {}, TypeError, "z: not numbers"),
    (dense.for_each, ("", {"x": A}, {"y": (2, 0)}), {}, ValueError, r"y: extents \(2, 0\)"),
    (dense.for_each, ("", {"x": A}, {"y": (1, 2, 3)}), {}, ValueError, r"y: extents \(1, 2, 3\)"),
    (dense.inv, (A,), {"device": "tpu"}, ValueError, "device 'tpu'"),
    (dense.inv, (A,), {"threads": -1}, ValueError, "threads -1"),
    (dense.inv, (A,), {"nonsense": 1}, TypeError, "nonsense"),
]


@pytest.mark.parametrize(
    ("function", "arrays", "named", "error", "message"),
    REFUSED,
    ids=[str(i) for i in range(len(REFUSED))],
)
def test_bad_calls_of_batches_are_refused(
    function: Any, arrays: tuple[Any, ...], named: dict[str, Any], error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        function(*arrays, **named)


def test_everything_is_documented() -> None:
    for name in dense.__all__:
        described = getattr(dense, name)
        text = inspect.getdoc(described) or ""
        assert text, name
        assert inspect.isclass(described) or "Examples" in text, name
    assert aperture.dense is dense


def test_results_can_be_pickled() -> None:
    result = dense.inv(A)
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is dense.InvResult and (again.inverse == result.inverse).all()
