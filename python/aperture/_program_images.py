# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations on images and flows, [row, column], and on matrices and vectors that are arrays."""

from __future__ import annotations

from typing import Any

from aperture._program_library import of_library


@of_library()
def warp(image: Any, u: Any, v: Any) -> Any:
    """The image u pixels to the right of, and v below, each of its pixels; bilinear; float32.

    Positions outside are those of the nearest pixel; a flow that is not finite is none. See
    :func:`aperture.warp`.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> image, one = np.array([[1, 5, 6]], np.float32), np.ones((1, 3), np.float32)
    >>> compose.warp(image, 0.5 * one, 0 * one).tolist()
    [[3.0, 5.5, 6.0]]
    """


@of_library()
def lands_inside(u: Any, v: Any) -> Any:
    """Where pixels stay in the image that move u to the right and v down: of bool.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> one = np.ones((1, 3), np.float32)
    >>> compose.lands_inside(one, 0 * one).tolist()
    [[True, True, False]]
    """


@of_library()
def lk_least_squares(
    error: Any, across: Any, down: Any, *, window: int = 9, regularisation: float = 0.1
) -> Any:
    """The motions u and v that explain an error best in a window around each pixel.

    Parameters
    ----------
    error : float32 [row, column]
        Image 0 - image 1.
    across, down : float32 [row, column]
        Gradients of the image.
    window : int
        Pixels a side: odd, 3 to 11.
    regularisation : float
        See :func:`aperture.flow`.

    Returns
    -------
    u, v : float32 [row, column]
        Zero where nothing has texture.

    Notes
    -----
    Lucas & Kanade 1981; Anderson 2014, program 16.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> x = np.arange(30, dtype=np.float32) ** 2 * np.ones((20, 1), np.float32)
    >>> u, v = compose.lk_least_squares(0.5 * x, x, x.T[:20, :20].mean() + 0 * x, regularisation=0)
    >>> u.shape, v.shape
    ((20, 30), (20, 30))
    """


@of_library()
def median(image: Any, *, size: int = 5) -> Any:
    """Medians of squares of ``size`` pixels a side, 3, 5 or 7; float32. Borders are replicated.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.median(np.array([[1, 9, 2, 3]], np.float32), size=3).tolist()
    [[1.0, 2.0, 3.0, 3.0]]
    """


@of_library()
def blur(image: Any, *, sigma: float = 1.0) -> Any:
    """The image blurred by a Gaussian of standard deviation ``sigma``, in pixels; float32.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.blur(np.full((3, 4), 2, np.float32), sigma=1.5).round(5).tolist()[0]
    [2.0, 2.0, 2.0, 2.0]
    """


@of_library()
def resize(image: Any, *, rows: int, columns: int, interpolation: str = "bicubic") -> Any:
    """The image with other extents, by ``bilinear`` or ``bicubic`` interpolation; float32.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> image = np.full((3, 4), 2, np.float32)
    >>> compose.resize(image, rows=6, columns=8, interpolation="bilinear").shape
    (6, 8)
    """


@of_library()
def downsample(image: Any, *, rows: int, columns: int) -> Any:
    """The next level of a pyramid: the image blurred, with fewer rows and columns; float32.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.downsample(np.ones((8, 6), np.float32), rows=4, columns=3).shape
    (4, 3)
    """


@of_library()
def fft(x: Any) -> Any:
    """Forward transforms of complex64 along the last axis. ``conj(fft(conj(x))) * (1 / n)`` is the
    inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.fft(np.ones(4, np.complex64)).real.tolist()
    [4.0, 0.0, 0.0, 0.0]
    """


@of_library()
def transposed_image(image: Any) -> Any:
    """[column][row] of an image of float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.transposed_image(np.array([[1.0, 2.0]])).tolist()
    [[1.0], [2.0]]
    """


@of_library()
def row_sums(A: Any) -> Any:
    """The sum of each row of a matrix of real or complex numbers, which is an array.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.row_sums(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [3.0, 7.0]
    """


@of_library()
def matrix_vector(A: Any, x: Any) -> Any:
    """A x of a matrix and a vector of real or complex numbers, which are arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.matrix_vector(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0])).tolist()
    [-1.0, -1.0]
    """


@of_library()
def transposed_matrix_vector(A: Any, x: Any) -> Any:
    """A^T x of a matrix and a vector. Beside A x it is computed in one pass over the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> A = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> compose.transposed_matrix_vector(A, np.array([1.0, -1.0])).tolist()
    [-2.0, -2.0]
    """


@of_library()
def column_sums(A: Any) -> Any:
    """The sum of each column of a matrix of real or complex numbers, which is an array.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.column_sums(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [4.0, 6.0]
    """


@of_library()
def outer_product(u: Any, v: Any) -> Any:
    """The matrix u v^T of two vectors, which are arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.outer_product(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """


@of_library()
def matrix_matrix(A: Any, B: Any) -> Any:
    """A B of matrices of float32 or float64, which are arrays: a thread an entry, to join other
    calls in a kernel. Large products are faster by a library.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.matrix_matrix(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """


@of_library()
def compressed_rows_vector(numbers: Any, starts: Any, columns: Any, x: Any) -> Any:
    """The product of a sparse matrix by compressed rows with a vector x.

    Parameters
    ----------
    numbers : float32 or float64 [entry]
        Entries of the matrix, row by row.
    starts : int64 [row + 1]
        Row r has the entries from starts[r] to starts[r + 1] - 1.
    columns : int64 [entry]
        Of the entries.
    x : [column]
        Of the type of ``numbers``.

    Returns
    -------
    [row]
        NaN where an index is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> numbers, x = np.array([2.0, 3.0, 4.0]), np.array([1.0, 10.0])
    >>> starts, columns = np.array([0, 1, 3]), np.array([1, 0, 1])
    >>> compose.compressed_rows_vector(numbers, starts, columns, x).tolist()
    [20.0, 43.0]
    """
