# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Threads, interrupts, tensors and refusals of aperture.dense's functions of batches."""

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
from matrices import batch, general, positive

import aperture
from aperture import dense

pytestmark = pytest.mark.usefixtures("one_thread")


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
