# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of batches of small matrices [problem, row, column] and vectors [problem, row]."""

from __future__ import annotations

from typing import Any

from aperture._program_library import Batch, of_library


@of_library()
def matrix_multiply(A: Batch, B: Batch, *, a: str = "plain", b: str = "plain") -> Any:
    """op(A) op(B) of each problem; ``A @ B`` in programs. B may be vectors.

    Parameters
    ----------
    A, B : Batch
        Of one type of numbers.
    a, b : {"plain", "transposed", "adjoint"}
        op(A) and op(B).

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> A = np.arange(8.0).reshape(2, 2, 2)
    >>> compose.matrix_multiply(A, A[:, 0], a="transposed").tolist()
    [[2.0, 3.0], [46.0, 55.0]]
    """


@of_library()
def rank_k(A: Batch) -> Any:
    """A A^H of each problem, exactly Hermitian.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.rank_k(np.array([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
    [[[5.0, 11.0], [11.0, 25.0]]]
    """


@of_library()
def transposed(A: Batch) -> Any:
    """A^T of each problem.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.transposed(np.array([[[1.0, 2.0]]])).tolist()
    [[[1.0], [2.0]]]
    """


@of_library()
def adjoint(A: Batch) -> Any:
    """A^H of each problem.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.adjoint(np.array([[[1.0, 2.0j]]])).tolist()
    [[[(1-0j)], [-2j]]]
    """


@of_library("dot")
def batch_dot(x: Batch, y: Batch) -> Any:
    """x^H y of each problem's vectors: [problem, 1], numbers that count for all entries of their
    problem in ``+ - * /``. :func:`dot` is of all elements of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> compose.batch_dot(x, x).tolist()
    [[5.0], [25.0]]
    """


@of_library()
def norm(A: Batch) -> Any:
    """The root of the sum of squares of each problem's numbers: [problem, 1], real.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.norm(np.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[5.0], [1.0]]
    """


@of_library()
def cholesky(A: Batch) -> Any:
    """L of A = L L^H, lower triangular; reads A on and below the diagonal. Not finite where A is
    not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.cholesky(np.array([[[4.0, 0.0], [2.0, 2.0]]])).tolist()
    [[[2.0, 0.0], [1.0, 1.0]]]
    """


@of_library()
def lu(A: Batch, *, pivots: bool = False) -> Any:
    """L and U of A = L U; with pivots, p as well, and row p[i] of A is row i of L U.

    Parameters
    ----------
    A : Batch
        Square matrices.
    pivots : bool
        Whether rows are exchanged, so that the entry of largest magnitude is the pivot.

    Returns
    -------
    L, U : Batch
        Lower triangles with a diagonal of ones, upper triangles.
    p : Batch [problem, row]
        Numbers of rows, as real numbers of A's precision.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> L, U = compose.lu(np.array([[[2.0, 4.0], [1.0, 5.0]]]))
    >>> L.tolist(), U.tolist()
    ([[[1.0, 0.0], [0.5, 1.0]]], [[[2.0, 4.0], [0.0, 3.0]]])
    >>> compose.lu(np.array([[[1.0, 5.0], [2.0, 4.0]]]), pivots=True)[2].tolist()
    [[1.0, 0.0]]
    """


@of_library()
def qr(A: Batch, b: Batch | None = None) -> Any:
    """R of A = Q R, with a diagonal that is real and not negative; with b, R and Q^H b.

    Parameters
    ----------
    A : Batch
        Matrices with at least as many rows as columns.
    b : Batch, optional
        Right sides, vectors or matrices.

    Returns
    -------
    R, or (R, Q^H b)
        With as many rows as A has columns. ``solve(R, y, matrix="upper")`` are least squares.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> A, b = np.array([[[3.0], [4.0]]]), np.array([[6.0, 8.0]])
    >>> R, y = compose.qr(A, b)
    >>> compose.solve(R, y, matrix="upper").round(12).tolist()
    [[2.0]]
    """


@of_library()
def solve(A: Batch, B: Batch, *, matrix: str = "general") -> Any:
    """A^-1 B of each problem. Where A is singular, each column has an entry that is not finite.

    Parameters
    ----------
    A, B : Batch
        Square matrices; vectors or matrices.
    matrix : {"general", "positive_definite", "lower", "upper"}
        By LU with partial pivoting, by Cholesky, by substitution.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> A, b = np.array([[[2.0, 0.0], [0.0, 4.0]]]), np.array([[2.0, 2.0]])
    >>> compose.solve(A, b).tolist()
    [[1.0, 0.5]]
    """


@of_library()
def inverse(A: Batch, *, matrix: str = "general") -> Any:
    """A^-1 of each problem; words as for :func:`solve`.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.inverse(np.array([[[4.0, 0.0], [0.0, 16.0]]]), matrix="positive_definite").tolist()
    [[[0.25, 0.0], [0.0, 0.0625]]]
    """
