# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs of batches of small matrices and vectors."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from programs import evaluated, in_all_ways, same_bits

import aperture
from aperture import compose
from aperture.compose import Batch

N = 37
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def problems(dtype: Any, *extents: int, seed: int = 1) -> Any:
    parts = np.random.default_rng(seed).normal(size=(2, N, *extents))
    return (parts[0] + 1j * parts[1] if np.dtype(dtype).kind == "c" else parts[0]).astype(dtype)


def positive(dtype: Any, order: int) -> Any:
    a = problems(dtype, order, order)
    return (a @ adjoint(a) + order * np.eye(order)).astype(dtype)


def adjoint(a: Any) -> Any:
    return a.conj().swapaxes(-1, -2)


def close(found: Any, expected: Any) -> None:
    assert found.shape == expected.shape
    size = abs(expected).max()
    assert abs(found - expected).max() <= 2000 * np.finfo(found.dtype).eps * size


def algebra(A: Batch, B: Batch, P: Batch, tall: Batch, x: Batch, b: Batch) -> Any:
    L, U = compose.lu(P)
    R, y = compose.qr(tall, b)
    C = compose.cholesky(P)
    return (
        compose.matrix_multiply(A, B),
        compose.matrix_multiply(A, A, b="adjoint"),
        compose.matrix_multiply(A, A, a="transposed"),
        compose.matrix_multiply(P, x),
        compose.rank_k(A),
        compose.transposed(A),
        compose.adjoint(A),
        compose.batch_dot(x, x),
        compose.norm(A),
        C,
        L,
        U,
        R,
        y,
        compose.qr(tall),
        compose.solve(P, x),
        compose.solve(P, B, matrix="positive_definite"),
        compose.solve(C, x, matrix="lower"),
        compose.solve(U, B, matrix="upper"),
        compose.inverse(P),
        compose.inverse(C, matrix="lower"),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_linear_algebra(dtype: Any) -> None:
    A, B, P = problems(dtype, 3, 4), problems(dtype, 4, 2), positive(dtype, 4)
    tall, x, b = problems(dtype, 6, 3), problems(dtype, 4, seed=2), problems(dtype, 6)
    wide = np.result_type(dtype, np.float64)
    found = in_all_ways(algebra, A, B, P, tall, x, b)
    A, B, P, tall, x, b = (one.astype(wide) for one in (A, B, P, tall, x, b))
    C, R = np.linalg.cholesky(P), adjoint(np.linalg.cholesky(adjoint(tall) @ tall))
    # Of a positive definite matrix, U is the adjoint of Cholesky's factor but for rows' scales.
    scales = np.diagonal(C, axis1=1, axis2=2)[:, :, None]
    L, U = C / scales.swapaxes(1, 2), scales * adjoint(C)
    expected = [
        A @ B,
        A @ adjoint(A),
        A.swapaxes(1, 2) @ A,
        np.einsum("nij,nj->ni", P, x),
        A @ adjoint(A),
        A.swapaxes(1, 2),
        adjoint(A),
        np.einsum("ni,ni->n", x.conj(), x)[:, None],
        np.sqrt((abs(A) ** 2).sum((1, 2)))[:, None],
        C,
        L,
        U,
        R,
        np.einsum("nij,nj->ni", np.linalg.inv(adjoint(R)) @ adjoint(tall), b),
        R,
        np.einsum("nij,nj->ni", np.linalg.inv(P), x),
        np.linalg.inv(P) @ B,
        np.einsum("nij,nj->ni", np.linalg.inv(C), x),
        np.linalg.inv(U) @ B,
        np.linalg.inv(P),
        np.linalg.inv(C),
    ]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        close(one, other)
    same_bits(found[4], adjoint(found[4]))
    assert found[8].dtype == np.zeros(1, dtype).real.dtype


def entries(x: Batch, y: Batch, scale: float) -> Any:
    size = compose.norm(x)
    return (
        x + y,
        scale * x - y / 2,
        x / size,
        abs(x),
        compose.where(x < y, x, 0.0),
        compose.fma(x, y, size),
        compose.sqrt(abs(x)) * -y,
        compose.maximum(x, y),
    )


@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_operators_and_functions_of_entries(dtype: Any) -> None:
    # Of vectors, NumPy's rules for extents are those of batches.
    x, y = problems(dtype, 5), problems(dtype, 5, seed=2)
    found = in_all_ways(entries, x, y, 1.5)
    size = np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
    for one, other in zip(
        found,
        [x + y, 1.5 * x - y / 2, x / size, abs(x), np.where(x < y, x, 0), x * y + size,
         np.sqrt(abs(x)) * -y, np.maximum(x, y)],
        strict=True,
    ):  # fmt: skip
        close(one, other)


def scaled(A: Batch) -> Any:
    return A / compose.norm(A), A * compose.norm(A), 2.0 * A


def test_a_number_a_problem_counts_for_all_of_its_entries() -> None:
    A = problems(np.float64, 2, 3)
    size = np.linalg.norm(A, axis=(1, 2))[:, None, None]
    for mode in ("thesis", "none"):
        found = aperture.program(mode=mode)(scaled)(A)
        for one, other in zip(found, (A / size, A * size, 2 * A), strict=True):
            close(one, other)


def with_pivots(A: Batch) -> Any:
    L, U, p = compose.lu(A, pivots=True)
    return compose.matrix_multiply(L, U), p, L


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_with_pivots_are_those_of_exchanged_rows(dtype: Any) -> None:
    A = problems(dtype, 5, 5)
    product, p, L = in_all_ways(with_pivots, A)
    rows = p.astype(int)
    assert (np.sort(rows) == np.arange(5)).all()
    close(product, np.take_along_axis(A, rows[:, :, None], 1))
    assert abs(L).max() <= 1.5  # of complex numbers, the greatest part is the pivot


def products(A: Batch, x: Batch, n: int) -> Any:
    for _ in range(n):
        x = A @ x
        x = x / compose.norm(x)
    return x, A @ A @ x


def same_products(A: Batch, x: Batch, n: int) -> Any:
    for _ in range(n):
        x = compose.matrix_multiply(A, x)
        x = x / compose.norm(x)
    return x, compose.matrix_multiply(compose.matrix_multiply(A, A), x)


@pytest.mark.parametrize("mode", ["thesis", "planned", "none"])
def test_the_operator_of_products(mode: str) -> None:
    A, x = positive(np.float32, 3), problems(np.float32, 3)
    found = aperture.program(mode=mode)(products)(A, x, 300)
    for one, other in zip(found, same_products(A, x, 300), strict=True):
        same_bits(one, other)
    # The direction of the greatest eigenvalue.
    greatest = np.linalg.eigvalsh(A.astype(np.float64))[:, -1]
    quotient = np.einsum("ni,nij,nj->n", found[0], A, found[0])
    assert abs(quotient / greatest - 1).max() < 1e-5


@pytest.mark.parametrize("mode", ["thesis", "planned", "none"])
@pytest.mark.parametrize("tier", ["interpreted", "automatic"])
def test_a_variable_may_be_overwritten_by_what_reads_it(mode: str, tier: str) -> None:
    @aperture.program(mode=mode, tier=tier, in_place=("B",))
    def overwritten(A: Batch, B: Batch, flags: Any, n: int) -> Any:
        A = compose.transposed(A)
        for _ in range(n):
            A = A @ A
            if compose.count(flags) > 0:
                A = compose.adjoint(A)
        B = compose.inverse(B)
        B = B @ A

    A, B = problems(np.float64, 3, 3), positive(np.float64, 3)
    expected = A.swapaxes(1, 2)
    for _ in range(3):
        expected = (expected @ expected).swapaxes(1, 2)
    expected = np.linalg.inv(B) @ expected
    overwritten(A, B, np.ones(4, bool), 3)
    close(B, expected)


def update(x: Batch, P: Batch, z: Batch, H: Batch, R: Batch) -> Any:
    cross = compose.matrix_multiply(P, H, b="transposed")
    S = H @ cross + R
    gain = compose.transposed(
        compose.solve(S, compose.transposed(cross), matrix="positive_definite")
    )
    return x + gain @ (z - H @ x), P - gain @ compose.transposed(cross)


def test_a_step_of_a_filter_is_one_kernel() -> None:
    x, P = problems(np.float64, 4), positive(np.float64, 4)
    z, H, R = problems(np.float64, 2), problems(np.float64, 2, 4), positive(np.float64, 2)
    program = aperture.program(update)
    assert program.explain(x, P, z, H, R).count("kernel") == 1
    found = program(x, P, z, H, R)
    cross = P @ H.swapaxes(1, 2)
    gain = cross @ np.linalg.inv(H @ cross + R)
    close(found[0], x + np.einsum("nij,nj->ni", gain, z - np.einsum("nij,nj->ni", H, x)))
    close(found[1], P - gain @ H @ P)


def test_shapes_are_known() -> None:
    @aperture.program
    def mean(A: Batch) -> Any:
        return A * (1.0 / A.shape[1]), A.ndim

    A = problems(np.float32, 4, 2)
    found, rank = mean(A)
    close(found, A / 4)
    assert rank == 3


@pytest.mark.parametrize(
    "head",
    [
        "from aperture.compose import Batch\n\ndef f(A: Batch):",
        "from __future__ import annotations\nfrom aperture.compose import Batch\n\n"
        "def f(A: Batch):",
        "from aperture import compose\n\ndef f(A: compose.Batch):",
        "import aperture.compose\n\ndef f(A: 'aperture.compose.Batch'):",
        "from aperture.compose import Batch as Matrices\n\ndef f(A: 'Matrices', /) -> 'Batch':",
        "from aperture.compose import Batch\n\ndef f(*, A: Batch):",
        "from __future__ import annotations\nimport aperture.compose\n\n"
        "def f(A: 'aperture.compose.Batch'):",
    ],
)
def test_annotations(tmp_path: Path, head: str) -> None:
    f = evaluated(f"{head}\n    return A @ A\n", tmp_path)["f"]
    A = problems(np.float64, 2, 2)
    call = functools.partial(aperture.program(f), **({"A": A} if "*" in head else {}))
    close(call(*([] if "*" in head else [A])), A @ A)


def test_annotations_that_only_the_function_around_has(tmp_path: Path) -> None:
    text = (
        "def make(program):\n    from aperture.compose import Batch\n    @program\n"
        "    def f(A: Batch):\n        return A @ A\n    return f\n"
    )
    A = problems(np.float64, 2, 2)
    close(evaluated(text, tmp_path)["make"](aperture.program)(A), A @ A)
    # As strings nothing holds them.
    strings = evaluated(f"from __future__ import annotations\n{text}", tmp_path)["make"]
    with pytest.raises(aperture.ProgramError, match="there is no Batch where programs find names"):
        strings(aperture.program)(A)


def test_an_annotation_that_is_not_found_is_told(tmp_path: Path) -> None:
    text = "def f(x,\n      A: 'missing.Batch'):\n    return A @ A\n"
    f = aperture.program(evaluated(text, tmp_path)["f"])
    with pytest.raises(aperture.ProgramError, match=r"there is no missing\.Batch") as raised:
        f(1.0, problems(np.float64, 2, 2))
    assert raised.value.line == 2 and raised.value.column == 7
    other = aperture.program(
        evaluated("def f(x: 'np.ndarray | None'):\n    return -x\n", tmp_path)["f"]
    )
    assert other(1.0) == -1.0


@pytest.mark.parametrize("value", [2.0, 3, np.float32(1), np.ones(3)])
def test_what_is_no_batch_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"A: shape .*, expected a batch \[problem, row, column\]"):
        aperture.program(scaled)(value)


def test_functions_outside_of_programs() -> None:
    A, solve = problems(np.float64, 3, 3), cast(Any, compose.solve)
    same_bits(compose.transposed(A[:, ::-1]), A[:, ::-1].swapaxes(1, 2).copy())
    same_bits(compose.matrix_multiply(A, B=A), compose.matrix_multiply(A=A, B=A))
    assert isinstance(compose.lu(A), tuple)
    assert compose.transposed(A.tolist()).dtype == np.float64
    for call, error, message in [
        (lambda: solve(A), TypeError, r"solve\(\) missing 1 required .*'B'"),
        (lambda: solve(A, A, A), TypeError, r"solve\(\) takes 2 positional arguments"),
        (lambda: solve(A, A, shape="upper"), TypeError, "unexpected keyword argument"),
        (
            lambda: solve(A, A, matrix="odd"),
            ValueError,
            r"solve: matrix odd: expected general\|positive_definite",
        ),
        (lambda: solve(A, A, matrix="a b"), ValueError, "matrix is 'a b', which is no"),
        (lambda: solve(A, A, matrix=None), TypeError, "matrix must be known"),
        (lambda: solve(A, A[1:]), ValueError, r"^solve of batch f64\[37, 3, 3\] and"),
        (lambda: compose.norm(A[0, 0]), ValueError, "batch with 1 extents"),
        (lambda: compose.norm(2.0), ValueError, "norm of scalar f64; expected a batch"),
        (lambda: compose.norm(A.astype(np.int16)), TypeError, "norm: elements of type int16"),
        (lambda: compose.norm("text"), TypeError, "norm"),
    ]:
        with pytest.raises(error, match=message):
            call()  # type: ignore[no-untyped-call]
