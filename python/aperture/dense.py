# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of many small matrices at once, with the names and shapes of NumPy.

Arrays are batches [..., row, column] of matrices of one shape: of NumPy, or of libraries that
NumPy can read, and on a GPU of PyTorch, CuPy and JAX. Results belong to the same library.

float32, float64, complex64 and complex128 are computed as they are, float16 in float32 and other
real numbers in float64; a call with two types computes in the one that holds both. An array is
read in place where one of its strides is one element: that of rows, of columns, or of problems.
Others are copied.

A matrix that is singular, or has NaN or infinite elements, raises nothing and harms no other:
functions that can fail return a named tuple whose last field is ``info``, with a number for each
matrix that is 0 for success. The same bits for any number of threads.
"""

from aperture._batch_blas import matmul
from aperture._batch_elements import for_each
from aperture._batch_factor import (
    CholeskyResult,
    InvResult,
    LUResult,
    SolveResult,
    cholesky,
    det,
    inv,
    lu,
    solve,
)
from aperture._batch_orthogonal import LstsqResult, QRResult, lstsq, qr
from aperture._batch_spectral import EighResult, SVDResult, eigh, svd

__all__ = [
    "CholeskyResult",
    "EighResult",
    "InvResult",
    "LUResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SolveResult",
    "cholesky",
    "det",
    "eigh",
    "for_each",
    "inv",
    "lstsq",
    "lu",
    "matmul",
    "qr",
    "solve",
    "svd",
]
