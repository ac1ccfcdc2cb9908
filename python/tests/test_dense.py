# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import aperture

METHODS = ("auto", "tsqr", "cholesky2")


pytestmark = pytest.mark.usefixtures("one_thread")


def matrix(rows: int, columns: int, dtype: Any = np.float64, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(dtype)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (16, 16), (2049, 17), (5000, 60)])
def test_factors_agree_with_numpy(method: str, dtype: Any, shape: tuple[int, int]) -> None:
    a = matrix(*shape, dtype)
    q, r = aperture.qr(a, method=method)
    assert q.shape == shape and r.shape == (shape[1],) * 2
    assert q.dtype == r.dtype == dtype
    bound = 20 * np.finfo(dtype).eps
    assert np.linalg.norm(a - q @ r) <= bound * np.linalg.norm(a)
    assert np.linalg.norm(np.eye(shape[1]) - q.T @ q) <= bound * shape[1]
    assert (np.tril(r, -1) == 0).all()
    expected = np.linalg.qr(a.astype(np.float64), mode="r")
    signs = np.sign(np.diag(r) * np.diag(expected))[:, None]
    assert np.abs(signs * r - expected).max() <= bound * np.linalg.norm(a)
    alone = aperture.qr(a, method=method, mode="r")
    assert (alone == r).all()


def test_methods_differ() -> None:
    a = matrix(3000, 20)
    assert (aperture.qr(a, method="tsqr")[1] != aperture.qr(a, method="cholesky2")[1]).any()


@pytest.mark.parametrize("method", METHODS)
def test_dependent_columns_have_orthonormal_factors(method: str) -> None:
    a = matrix(500, 6)
    a[:, 3] = a[:, 0]
    a[:, 5] = 0
    q, r = aperture.qr(a, method=method)
    assert np.allclose(q.T @ q, np.eye(6), atol=1e-13)
    assert np.allclose(q @ r, a)


@pytest.mark.parametrize(
    "changed",
    [
        np.asfortranarray,
        lambda a: np.ascontiguousarray(a.T).T,
        lambda a: a.astype(">f4"),
        lambda a: a[::-1].copy()[::-1],
        lambda a: a[:, ::-1].copy()[:, ::-1],
        lambda a: np.repeat(np.repeat(a, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda a: np.hstack([a, a])[:, : a.shape[1]],
        lambda a: np.frombuffer(b"\0" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
    ],
    ids=["fortran", "transposed", "byteorder", "rows", "columns", "strided", "part", "unaligned"],
)
def test_any_layout_gives_the_same_bits(changed: Callable[[Any], Any]) -> None:
    a = matrix(3000, 11, np.float32)
    given = changed(a)
    kept = given.copy()
    for one, other in zip(aperture.qr(given), aperture.qr(a), strict=True):
        assert (one == other).all()
    for one, other in zip(aperture.tall_svd(given), aperture.tall_svd(a), strict=True):
        assert (one == other).all()
    assert (given == kept).all()


def test_read_only_matrices_are_factored() -> None:
    a = matrix(100, 5)
    a.flags.writeable = False
    assert np.allclose(np.matmul(*aperture.qr(a)), a)
    broadcast = np.broadcast_to(a[:, :1], (100, 3))
    assert np.allclose(np.matmul(*aperture.qr(broadcast)), broadcast)


@pytest.mark.parametrize(
    ("given", "computed"),
    [
        (np.float16, np.float32),
        (np.int8, np.float64),
        (np.uint32, np.float64),
        (np.longdouble, np.float64),
    ],
)
def test_other_numbers_are_converted(given: Any, computed: Any) -> None:
    a = (10 * matrix(60, 4)).astype(given)
    q, r = aperture.qr(a)
    assert q.dtype == r.dtype == computed
    for one, other in zip(aperture.qr(a.astype(computed)), (q, r), strict=True):
        assert (one == other).all()
    assert (aperture.qr(a.astype(computed).tolist())[1] == aperture.qr(a.astype(float))[1]).all()


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_change_bits(method: str) -> None:
    a = matrix(9000, 20, np.float32)
    one = aperture.qr(a, method=method, threads=1)
    two = aperture.qr(a, method=method, threads=2)
    assert (one[0] == two[0]).all() and (one[1] == two[1]).all()
    for first, second in zip(
        aperture.tall_svd(a, threads=1), aperture.tall_svd(a, threads=2), strict=True
    ):
        assert (first == second).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_singular_values_agree_with_numpy(dtype: Any) -> None:
    a = matrix(4000, 25, dtype)
    a[:, 7] = 2 * a[:, 8]
    u, s, vt = aperture.tall_svd(a)
    assert u.dtype == s.dtype == vt.dtype == dtype
    expected = np.linalg.svd(a.astype(np.float64), compute_uv=False)
    bound = 30 * np.finfo(dtype).eps
    assert np.abs(s - expected).max() <= bound * expected[0]
    assert np.linalg.norm((u * s) @ vt - a) <= bound * np.linalg.norm(a)
    for factor in (u.T @ u, vt @ vt.T):
        assert np.linalg.norm(factor - np.eye(25)) <= bound * 25
    assert (np.diff(s) <= 0).all()


def test_cpu_tensors_come_back_as_tensors() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(matrix(100, 4, np.float32))
    q, r = aperture.qr(tensor)
    assert type(q) is type(r) is torch.Tensor and q.dtype == torch.float32
    assert torch.allclose(q @ r, tensor, atol=1e-5)
    assert all(type(factor) is torch.Tensor for factor in aperture.tall_svd(tensor))


def with_nan() -> Any:
    changed = matrix(8, 3)
    changed[2, 1] = np.nan
    return changed


GOOD = matrix(8, 3)
REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (None, {}, TypeError, "a: "),
    ("matrix", {}, TypeError, "elements of type <U6"),
    (object(), {}, TypeError, "elements of type object"),
    ([[1, 2], [3]], {}, TypeError, "not an array"),
    (GOOD > 0, {}, TypeError, "bool"),
    (GOOD + 1j, {}, TypeError, "complex128 cannot be converted"),
    (np.ma.masked_array(GOOD), {}, TypeError, "masked"),
    (GOOD[0], {}, ValueError, r"a: shape \(3,\), expected \[row, column\]"),
    (GOOD[None], {}, ValueError, r"shape \(1, 8, 3\)"),
    (1.0, {}, ValueError, r"shape \(\)"),
    (GOOD.T, {}, ValueError, "rows 3, columns 8"),
    (GOOD[:0], {}, ValueError, "rows 0, columns 3"),
    (GOOD[:, :0], {}, ValueError, "rows 8, columns 0"),
    (with_nan(), {}, ValueError, "a: 1 of 24 elements are NaN"),
    (np.asfortranarray(with_nan()), {}, ValueError, "1 of 24 elements are NaN"),
    (GOOD.astype(np.longdouble) * np.longdouble("1e4000"), {}, ValueError, "24 of 24"),
    (GOOD, {"threads": -1}, ValueError, "threads -1"),
    (GOOD, {"threads": 1.5}, TypeError, "threads"),
    (GOOD, {"nonsense": 1}, TypeError, "nonsense"),
]
REFUSED_BY_QR: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (GOOD, {"method": "lu"}, ValueError, r"method lu: expected auto\|tsqr\|cholesky2"),
    (GOOD, {"method": None}, TypeError, "method None"),
    (GOOD, {"mode": "complete"}, ValueError, r"mode 'complete': expected reduced\|r"),
    (GOOD, {"mode": 1}, TypeError, "mode 1"),
    (GOOD, {"device": "tpu"}, ValueError, "device 'tpu'"),
    (GOOD, {"device": 1}, TypeError, "device"),
]


@pytest.mark.parametrize(
    ("a", "arguments", "error", "message"),
    REFUSED + REFUSED_BY_QR,
    ids=[str(i) for i in range(len(REFUSED + REFUSED_BY_QR))],
)
def test_bad_calls_of_qr_are_refused(
    a: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aperture.qr(a, **arguments)


@pytest.mark.parametrize(
    ("a", "arguments", "error", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))]
)
def test_bad_calls_of_tall_svd_are_refused(
    a: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aperture.tall_svd(a, **arguments)


def test_non_finite_elements_pass_if_asked() -> None:
    assert np.isnan(aperture.qr(with_nan(), check_finite=False, mode="r")).any()
    with pytest.raises(np.linalg.LinAlgError):
        aperture.tall_svd(with_nan(), check_finite=False)


def test_two_threads_compute_at_once() -> None:
    a = matrix(3000, 20)
    expected = aperture.qr(a, threads=1)[1]
    wrong = []

    def work() -> None:
        for _ in range(10):
            if not (aperture.qr(a, threads=1)[1] == expected).all():
                wrong.append(1)

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work) for _ in range(3)]:
            done.result()
    assert not wrong


@pytest.mark.parametrize("method", ["tsqr", "cholesky2"])
def test_an_interrupt_ends_a_long_run(interrupted: Callable[..., float], method: str) -> None:
    a = matrix(100_000, 100, np.float32)

    def run() -> None:
        for _ in range(30):
            aperture.qr(a, method=method)

    assert interrupted(run) < 1
    assert np.allclose(np.matmul(*aperture.qr(a[:500], method=method)), a[:500], atol=1e-4)
