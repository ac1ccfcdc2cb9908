# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Ten sequences of BLAS calls
#
# Those of Filipovic, Madzin, Fousek & Matyska (2015), as array programs. All are bound by memory:
# what counts is how often matrices and vectors are read. `mode="planned"` chooses the operations of
# each kernel by predicted time. Beside NumPy, which reads and stores an array for every call.

# %%
import time
from typing import Any

import numpy as np

import aperture
from aperture.compose import dot, matrix_vector, outer_product, transposed_matrix_vector

planned = aperture.program(mode="planned")


@planned
def bicgk(A: Any, p: Any, r: Any) -> Any:
    return matrix_vector(A, p), transposed_matrix_vector(A, r)


@planned
def gemver(A: Any, u: Any, v: Any, s: Any, t: Any, y: Any, z: Any, a: float, b: float) -> Any:
    B = A + outer_product(u, v) + outer_product(s, t)
    x = b * transposed_matrix_vector(B, y) + z
    return B, x, a * matrix_vector(B, x)


@planned
def axpydot(w: Any, v: Any, u: Any, a: float) -> Any:
    z = w - a * v
    return z, dot(z, u)


@planned
def atax(A: Any, x: Any) -> Any:
    return transposed_matrix_vector(A, matrix_vector(A, x))


@planned
def vadd(w: Any, y: Any, z: Any) -> Any:
    return w + y + z


@planned
def waxpby(x: Any, y: Any, a: float, b: float) -> Any:
    return a * x + b * y


@planned
def gesummv(A: Any, B: Any, x: Any, a: float, b: float) -> Any:
    return a * matrix_vector(A, x) + b * matrix_vector(B, x)


@planned
def sgemvt(A: Any, y: Any, z: Any, a: float, b: float) -> Any:
    x = b * transposed_matrix_vector(A, y) + z
    return x, a * matrix_vector(A, x)


@planned
def sgemv(A: Any, x: Any, y: Any, a: float, b: float) -> Any:
    return a * matrix_vector(A, x) + b * y


@planned
def madd(A: Any, B: Any) -> Any:
    return A + B


# %% [markdown]
# The same by NumPy.


# %%
def gemver_by_numpy(
    A: Any, u: Any, v: Any, s: Any, t: Any, y: Any, z: Any, a: float, b: float
) -> Any:
    B = A + np.outer(u, v) + np.outer(s, t)
    x = b * (B.T @ y) + z
    return B, x, a * (B @ x)


def axpydot_by_numpy(w: Any, v: Any, u: Any, a: float) -> Any:
    z = w - a * v
    return z, z @ u


def sgemvt_by_numpy(A: Any, y: Any, z: Any, a: float, b: float) -> Any:
    x = b * (A.T @ y) + z
    return x, a * (A @ x)


random = np.random.default_rng(1)


def numbers(*shape: int) -> Any:
    return random.uniform(-1, 1, shape).astype(np.float32)


n, length = 1024, 1 << 20
A, B = numbers(n, n), numbers(n, n)
p, q, s, t, y, z = numbers(6, n)
w, v = numbers(2, length)
u = w + v
a, b = 0.5, -1.5
sequences: list[tuple[Any, Any, tuple[Any, ...]]] = [
    (bicgk, lambda A, p, r: (A @ p, A.T @ r), (A, p, q)),
    (gemver, gemver_by_numpy, (A, p, q, s, t, y, z, a, b)),
    (axpydot, axpydot_by_numpy, (w, v, u, a)),
    (atax, lambda A, x: A.T @ (A @ x), (A, p)),
    (vadd, lambda w, y, z: w + y + z, (w, v, u)),
    (waxpby, lambda x, y, a, b: a * x + b * y, (v, u, a, b)),
    (gesummv, lambda A, B, x, a, b: a * (A @ x) + b * (B @ x), (A, B, p, a, b)),
    (sgemvt, sgemvt_by_numpy, (A, y, z, a, b)),
    (sgemv, lambda A, x, y, a, b: a * (A @ x) + b * y, (A, p, y, a, b)),
    (madd, lambda A, B: A + B, (A, B)),
]

# %% [markdown]
# BiCGK's two products and both of ATAX read the matrix once. GEMVER makes B and its first product
# in one kernel, and reads B again for the second, which needs all of x. What is computed of sums of
# rows or columns, as the whole of SGEMV, is in the kernel that makes them.


# %%
def milliseconds(function: Any, arguments: tuple[Any, ...]) -> tuple[float, Any]:
    result = function(*arguments)  # makes the kernels
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        result = function(*arguments)
        best = min(best, 1e3 * (time.perf_counter() - begin))
    return best, result if isinstance(result, tuple) else (result,)


close = True
for program, by_numpy, arguments in sequences:
    print(program.__name__)
    print(program.explain(*arguments))
    duration, found = milliseconds(program, arguments)
    duration_numpy, expected = milliseconds(by_numpy, arguments)
    print(f"{duration:.2f} ms, NumPy {duration_numpy:.2f} ms\n")
    for one, other in zip(found, expected, strict=True):
        close &= bool(np.abs(one - other).max() <= 1e-4 * np.abs(other).max())
print("the results by NumPy, but for rounding:", close)
