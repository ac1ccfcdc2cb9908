# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What array programs can call, as functions on arrays of NumPy with the same bits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

BORDERS = ("replicate", "zero")

# Of these, functions return such numbers again, which have the type of what they meet.
_PYTHON = (bool, int, float, complex)


def _are_python(*numbers: Any) -> bool:
    return all(type(number) in _PYTHON for number in numbers)


class Stencil:
    """Weights of neighbours: see :func:`stencil`. ``S * x`` is the stencil product."""

    __slots__ = ("border", "offsets", "weights", "_hash")

    # Otherwise x * S would be an array of objects.
    __array_ufunc__ = None

    def __init__(
        self, offsets: tuple[tuple[int, ...], ...], weights: tuple[float, ...], border: str
    ) -> None:
        self.offsets, self.weights, self.border = offsets, weights, border
        self._hash = hash((offsets, weights, border))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Stencil)
            and (self.offsets, self.weights, self.border)
            == (other.offsets, other.weights, other.border)
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        entries = dict(zip(self.offsets, self.weights, strict=True))
        return f"aperture.stencil({entries}, border={self.border!r})"

    def __mul__(self, x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return NotImplemented
        dimensions = len(self.offsets[0])
        if x.ndim != dimensions or x.dtype not in (np.float32, np.float64):
            raise ValueError(
                f"a stencil times {x.dtype} {x.shape}: expected float32 or float64 "
                f"{_EXTENTS[dimensions]}"
            )
        reach = [max(map(abs, steps)) for steps in zip(*self.offsets, strict=True)]
        border: Any = "edge" if self.border == "replicate" else "constant"
        padded = np.pad(x, [(around, around) for around in reach], mode=border)
        product: Any = None
        for offset, number in zip(self.offsets, self.weights, strict=True):
            weight = x.dtype.type(number)
            firsts = [around + steps for around, steps in zip(reach, offset, strict=True)]
            places = zip(firsts, x.shape, strict=True)
            neighbours = padded[tuple(slice(first, first + extent) for first, extent in places)]
            product = weight * neighbours if product is None else fma(weight, neighbours, product)
        return product


_EXTENTS = {1: "[column]", 2: "[row, column]", 3: "[plane, row, column]"}


def stencil(
    weights: Mapping[int, float] | Mapping[tuple[int, ...], float] | Any,
    *,
    border: str = "replicate",
) -> Stencil:
    """Weights of neighbours, for programs: ``S * x`` is their sum around every place of x.

    Parameters
    ----------
    weights : mapping or array
        By (row, column) from the place, or by the column alone for vectors and (plane, row, column)
        for arrays of rank 3; or an array of that rank with odd extents around the place, whose
        zeros are left out. Products are added in this order.
    border : {"replicate", "zero"}
        What lies beyond an array: the nearest of its numbers, or zeros.

    Returns
    -------
    Stencil
        Immutable; an argument of programs, or a name that they find outside.

    Raises
    ------
    ValueError, TypeError
        For weights that are not finite, or none, offsets of several ranks, even extents, another
        word.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> mean = aperture.stencil({(0, -1): 0.5, (0, 1): 0.5})
    >>> (mean * np.array([[0.0, 2.0, 6.0]])).tolist()
    [[1.0, 3.0, 4.0]]
    >>> aperture.stencil([[0, 1, 0], [1, -4, 1], [0, 1, 0]]).offsets
    ((-1, 0), (0, -1), (0, 0), (0, 1), (1, 0))
    >>> (aperture.stencil({-1: 0.5, 1: 0.5}) * np.array([0.0, 2.0, 6.0])).tolist()
    [1.0, 3.0, 4.0]
    """
    if border not in BORDERS:
        raise ValueError(f"border {border!r}: expected replicate or zero")
    if isinstance(weights, Mapping):
        offsets = tuple(_offset(key if isinstance(key, tuple) else (key,)) for key in weights)
        numbers = tuple(float(number) for number in weights.values())
    else:
        array = np.asarray(weights, np.float64)
        if array.ndim not in _EXTENTS or any(extent % 2 == 0 for extent in array.shape):
            expected = ", ".join(_EXTENTS.values())
            raise ValueError(f"weights: shape {array.shape}, expected odd extents {expected}")
        places = np.argwhere(array != 0)
        middle = [extent // 2 for extent in array.shape]
        offsets = tuple(map(tuple, (places - middle).tolist()))
        numbers = tuple(array[tuple(places.T)].tolist())
    if not numbers:
        raise ValueError("weights: none that is not zero")
    if len(set(map(len, offsets))) > 1:
        raise ValueError("weights: offsets of several ranks")
    if not np.isfinite(numbers).all():
        raise ValueError("weights: not finite")
    return Stencil(offsets, numbers, border)


def _offset(numbers: tuple[Any, ...]) -> tuple[int, ...]:
    most = 1000
    offset = tuple(map(int, numbers))
    if len(offset) not in _EXTENTS:
        raise ValueError(f"weights: an offset of {numbers!r}, expected 1 to 3 integers")
    if offset != numbers or max(map(abs, offset)) > most:
        raise ValueError(f"weights: an offset of {numbers!r}, expected integers up to {most}")
    return offset


def red(image: Any) -> Any:
    """The pixels of an image [row, column] whose row + column is even; zeros elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.red(np.ones((2, 3))).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    return _checkered(image, 0)


def black(image: Any) -> Any:
    """The pixels of an image [row, column] whose row + column is odd; zeros elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.black(np.ones((2, 3))).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    return _checkered(image, 1)


def _checkered(image: Any, remainder: int) -> Any:
    rows, columns = np.indices(image.shape, sparse=True)
    return np.where((rows + columns) % 2 == remainder, image, image.dtype.type(0))


def sqrt(x: Any) -> Any:
    """Square roots.

    Examples
    --------
    >>> from aperture import compose
    >>> float(compose.sqrt(9.0))
    3.0
    """
    return math.sqrt(x) if _are_python(x) else np.sqrt(x)


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> x = np.array([-2.0, 3.0])
    >>> compose.where(x > 0, x, 0.0).tolist()
    [0.0, 3.0]
    """
    if np.ndim(condition) == 0 and _are_python(a, b):
        return a if condition else b
    return np.where(condition, a, b)[()]


def minimum(a: Any, b: Any) -> Any:
    """The lesser of two numbers: b where b < a, else a. With NaN that is a, as of Python's min.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.minimum(np.array([1.0, 5.0]), 3.0).tolist()
    [1.0, 3.0]
    """
    return where(b < a, b, a)


def maximum(a: Any, b: Any) -> Any:
    """The greater of two numbers: b where a < b, else a. With NaN that is a, as of Python's max.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> compose.maximum(np.array([1.0, 5.0]), 3.0).tolist()
    [3.0, 5.0]
    """
    return where(a < b, b, a)


def fma(a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once.

    Notes
    -----
    Here, without such an instruction, by Boldo & Melquiond 2008: numbers of float64 must have
    products within 1e-290 and 1e290.

    Examples
    --------
    >>> from aperture import compose
    >>> tiny = 2.0**-52
    >>> float(compose.fma(1 + tiny, 1 - tiny, -1.0)) == -(tiny**2), (1 + tiny) * (1 - tiny) - 1
    (True, 0.0)
    """
    dtype = np.result_type(a, b, c)
    if _are_python(a, b, c):
        return float(fma(np.float64(a), b, c))
    with np.errstate(all="ignore"):
        if dtype == np.float32:
            # A product of two is exact in float64.
            product = np.multiply(a, b, dtype=np.float64)
            return _sum_to_odd(product, np.asarray(c, np.float64)).astype(dtype)[()]
        high, low = _exact_product(np.asarray(a, dtype), np.asarray(b, dtype))
        added, rest = _exact_sum(np.asarray(c, dtype), low)
        total, lost = _exact_sum(high, added)
        found = total + _sum_to_odd(lost, rest)
        # Where the sum is zero, its sign is that of the rounded terms.
        usual = np.isfinite(found) & (found != 0)
        return np.where(usual, found, np.asarray(a * b + c, dtype))[()]


def _exact_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum, and what rounding lost."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def _exact_product(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded product, and what rounding lost, by Veltkamp's halves."""

    def halves(x: Any) -> tuple[Any, Any]:
        scaled = x * 134217729.0  # 2^27 + 1
        high = scaled - (scaled - x)
        return high, x - high

    product = a * b
    (a1, a2), (b1, b2) = halves(a), halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _sum_to_odd(a: Any, b: Any) -> Any:
    """The sum in float64; if it is not exact, of the two nearest numbers the one with an odd last
    bit. Rounding that again is as rounding the sum once."""
    total, lost = _exact_sum(a, b)
    total = np.atleast_1d(total)
    even = (np.ascontiguousarray(total).view(np.int64) & 1) == 0
    inexact = np.isfinite(total) & (lost != 0) & even
    odd = np.where(inexact, np.nextafter(total, np.where(lost > 0, np.inf, -np.inf)), total)
    return odd.reshape(np.shape(lost))


def sum(x: Any) -> Any:
    """The sum of all elements of an array of numbers.

    It is that of pieces of 256 columns, column c in lane c mod 32, of strips of 8 rows, one piece
    after the other, and of the strips s in lane s mod 32. Rows of vectors have 4,096 elements.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> float(compose.sum(np.ones((3, 4))))
    12.0
    """
    if x.size == 0:
        return x.dtype.type(0)
    columns = min(x.size, 4096) if x.ndim == 1 else x.shape[-1]
    rows, pieces = -(-x.size // columns), -(-columns // _PIECE)
    strips = -(-rows // _STRIP)
    flat = np.zeros(rows * columns, x.dtype)
    flat[: x.size] = x.reshape(-1)
    padded = np.zeros((strips * _STRIP, pieces * _PIECE), x.dtype)
    padded[:rows, :columns] = flat.reshape(rows, columns)
    of_pieces = _fold(_added(padded.reshape(strips, -1, _PIECE // _LANES, _LANES), 2))
    of_strips = np.zeros(-(-strips // _LANES) * _LANES, x.dtype)
    of_strips[:strips] = _added(of_pieces, 1)
    return _fold(_added(of_strips.reshape(-1, _LANES), 0))[()]


_LANES, _PIECE, _STRIP = 32, 256, 8


def _added(x: Any, axis: int) -> Any:
    """Sums along an axis, one after the other."""
    total = np.zeros_like(np.take(x, 0, axis))
    for i in range(x.shape[axis]):
        total = total + np.take(x, i, axis)
    return total


def _fold(lanes: Any) -> Any:
    """Sums along the last axis: halves are added to halves."""
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = lanes[..., :half] + lanes[..., half:]
    return lanes[..., 0]


def largest(x: Any) -> Any:
    """The largest of all elements; NaN if one is.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> float(compose.largest(np.array([1.0, -5.0])))
    1.0
    """
    lowest = np.iinfo(x.dtype).min if x.dtype.kind == "i" else -np.inf
    return np.max(x, initial=lowest)


def smallest(x: Any) -> Any:
    """The smallest of all elements; NaN if one is.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> float(compose.smallest(np.array([1.0, -5.0])))
    -5.0
    """
    highest = np.iinfo(x.dtype).max if x.dtype.kind == "i" else np.inf
    return np.min(x, initial=highest)


def count(x: Any) -> Any:
    """How many elements of an array of bool hold.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> int(compose.count(np.array([1.0, -5.0]) > 0))
    1
    """
    return np.int64(np.count_nonzero(x))


def dot(x: Any, y: Any) -> Any:
    """The sum of all products x y, of arrays of one shape and type, in the order of :func:`sum`. Of
    complex numbers x is conjugated. See :func:`batch_dot` for those of batches.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> float(compose.dot(np.ones((3, 4)), np.full((3, 4), 2.0)))
    24.0
    """
    return sum(np.conj(x) * y)
