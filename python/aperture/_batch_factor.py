# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Factorisations of small square matrices, and what is computed from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aperture._batches import Call, arguments, as_columns, order_of
from aperture._places import Place, at_place


class CholeskyResult(NamedTuple):
    """What :func:`cholesky` returns."""

    L: Any
    info: Any


class LUResult(NamedTuple):
    """What :func:`lu` returns."""

    LU: Any
    pivots: Any
    info: Any


class SolveResult(NamedTuple):
    """What :func:`solve` returns."""

    x: Any
    info: Any


class InvResult(NamedTuple):
    """What :func:`inv` returns."""

    inverse: Any
    info: Any


def cholesky(
    a: Any, *, upper: bool = False, device: str = "auto", threads: int | None = None
) -> CholeskyResult:
    """Cholesky factors of Hermitian positive definite matrices: A = L L^H.

    Parameters
    ----------
    a : [..., n, n]
        n up to 128. Only the lower triangle is read, with ``upper`` only the upper one.
    upper : bool
        Return U = L^H, with A = U^H U, in the place of L.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads; see :func:`aperture.set_num_threads`.

    Returns
    -------
    L : [..., n, n]
        The factors, zero in the other triangle; where ``info`` is not 0, anything.
    info : [...]
        int32. The order of the first leading minor that is not positive and finite, or 0.

    Raises
    ------
    ValueError
        For shapes that cannot be right.
    TypeError
        For something that is not an array of numbers.
    aperture.DeviceError
        If the device cannot be used.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> a = np.array([[[4.0, 2.0], [2.0, 5.0]], [[1.0, 2.0], [2.0, 1.0]]])
    >>> factor, info = aperture.dense.cholesky(a)
    >>> factor[0].tolist(), info.tolist()
    ([[2.0, 0.0], [1.0, 2.0]], [0, 2])
    """
    return at_place(a, device, threads, lambda place: _cholesky(place, a, bool(upper)))


def _cholesky(place: Place, a: Any, upper: bool) -> CholeskyResult:
    (a,) = arguments(place, a=a)
    n = order_of("a", a)
    with Call(place, a) as call:
        factor, info = call.new(n, n), call.info()
        call.run("cholesky", upper, call.matrices("a", a), factor, info)
        return CholeskyResult(call.result(factor), call.result(info))


def lu(
    a: Any, *, pivoting: bool = True, device: str = "auto", threads: int | None = None
) -> LUResult:
    """LU factors of general matrices: P A = L U.

    Parameters
    ----------
    a : [..., n, n]
        n up to 128.
    pivoting : bool
        Exchange rows, so that pivots are the largest entries of their columns. Without, for
        matrices that need no exchange, as diagonally dominant ones.
    device, threads
        As for :func:`cholesky`.

    Returns
    -------
    LU : [..., n, n]
        L below the diagonal, without its unit diagonal, and U in the rest.
    pivots : [..., n]
        int32. Step k exchanged rows k and ``pivots[..., k]``, counted from 0 as in
        ``scipy.linalg.lu_factor``; those of ``torch.linalg.lu_factor`` are larger by 1.
    info : [...]
        int32. The number, from 1, of the first pivot that is zero or not finite, or 0.

    Raises
    ------
    ValueError, TypeError, aperture.DeviceError
        As for :func:`cholesky`.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> factors, pivots, info = aperture.dense.lu(np.array([[1.0, 5.0], [2.0, 4.0]]))
    >>> factors.tolist(), pivots.tolist(), int(info)
    ([[2.0, 4.0], [0.5, 3.0]], [1, 1], 0)
    """
    return at_place(a, device, threads, lambda place: _lu(place, a, bool(pivoting)))


def _lu(place: Place, a: Any, pivoting: bool) -> LUResult:
    (a,) = arguments(place, a=a)
    n = order_of("a", a)
    with Call(place, a) as call:
        factors, pivots, info = call.new(n, n), call.new(n, dtype=np.int32), call.info()
        call.run("lu", pivoting, call.matrices("a", a), factors, pivots, info)
        return LUResult(call.result(factors), call.result(pivots), call.result(info))


def solve(
    a: Any, b: Any, *, assume_a: str = "gen", device: str = "auto", threads: int | None = None
) -> SolveResult:
    """Solve systems of linear equations: A x = b.

    Parameters
    ----------
    a : [..., n, n]
        n up to 128.
    b : [n] or [..., n, k]
        Right-hand sides, any number k. As in NumPy 2, vectors for several matrices are
        [..., n, 1]. Leading dimensions of ``a`` and ``b`` are broadcast.
    assume_a : {"gen", "pos"}
        "gen" is LU with partial pivoting. "pos" is Cholesky's factorisation of Hermitian positive
        definite matrices, of which only the lower triangle is read.
    device, threads
        As for :func:`cholesky`.

    Returns
    -------
    x : [..., n] or [..., n, k]
        Solutions; zero where ``info`` is not 0.
    info : [...]
        int32. The number, from 1, of the first pivot that is zero or not finite, or 0; with
        ``assume_a="pos"`` as for :func:`cholesky`.

    Raises
    ------
    ValueError, TypeError, aperture.DeviceError
        As for :func:`cholesky`.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> a = np.array([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]])
    >>> x, info = aperture.dense.solve(a, np.array([2.0, 2.0]))
    >>> x.tolist(), info.tolist()
    ([[1.0, 0.5], [0.0, 0.0]], [0, 2])
    """
    if not isinstance(assume_a, str):
        raise TypeError(f"assume_a {assume_a!r}: expected a string")
    if assume_a not in ("gen", "pos"):
        raise ValueError(f"assume_a {assume_a!r}: expected gen|pos")
    return at_place(a, device, threads, lambda place: _solve(place, a, b, assume_a == "pos"))


def _solve(place: Place, a: Any, b: Any, positive: bool) -> SolveResult:
    a, b = arguments(place, a=a, b=b)
    n = order_of("a", a)
    b, sides = as_columns("b", b, n)
    with Call(place, a, b) as call:
        x, info = call.new(n, b.shape[-1]), call.info()
        call.run("solve", positive, call.matrices("a", a), call.matrices("b", b), x, info)
        return SolveResult(call.result(x, (n, *sides)), call.result(info))


def inv(a: Any, *, device: str = "auto", threads: int | None = None) -> InvResult:
    """Inverses of general matrices, by LU factors with partial pivoting.

    Parameters
    ----------
    a : [..., n, n]
        n up to 128.
    device, threads
        As for :func:`cholesky`.

    Returns
    -------
    inverse : [..., n, n]
        Zero where ``info`` is not 0.
    info : [...]
        int32. The number, from 1, of the first pivot that is zero or not finite, or 0.

    Raises
    ------
    ValueError, TypeError, aperture.DeviceError
        As for :func:`cholesky`.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> inverse, info = aperture.dense.inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    >>> inverse.tolist(), int(info)
    ([[0.5, 0.0], [0.0, 0.25]], 0)
    """
    return at_place(a, device, threads, lambda place: _inv(place, a))


def _inv(place: Place, a: Any) -> InvResult:
    (a,) = arguments(place, a=a)
    n = order_of("a", a)
    with Call(place, a) as call:
        inverse, info = call.new(n, n), call.info()
        call.run("inv", call.matrices("a", a), inverse, info)
        return InvResult(call.result(inverse), call.result(info))


def det(a: Any, *, device: str = "auto", threads: int | None = None) -> Any:
    """Determinants of general matrices, by LU factors with partial pivoting.

    Parameters
    ----------
    a : [..., n, n]
        n up to 128.
    device, threads
        As for :func:`cholesky`.

    Returns
    -------
    [...]
        Determinants, which may overflow.

    Raises
    ------
    ValueError, TypeError, aperture.DeviceError
        As for :func:`cholesky`.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> aperture.dense.det(np.array([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]])).tolist()
    [8.0, 0.0]
    """
    return at_place(a, device, threads, lambda place: _det(place, a))


def _det(place: Place, a: Any) -> Any:
    (a,) = arguments(place, a=a)
    order_of("a", a)
    with Call(place, a) as call:
        determinants = call.new()
        call.run("det", call.matrices("a", a), determinants)
        return call.result(determinants)
