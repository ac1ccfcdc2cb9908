# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Orthogonal factors of small matrices, and least squares."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from aperture._batches import Call, arguments, as_columns, tall_extents
from aperture._places import Place, at_place


class QRResult(NamedTuple):
    """What :func:`qr` returns."""

    Q: Any
    R: Any


class LstsqResult(NamedTuple):
    """What :func:`lstsq` returns."""

    x: Any
    info: Any


@overload
def qr(
    a: Any,
    *,
    mode: Literal["reduced"] = ...,
    device: str = ...,
    threads: int | None = ...,
) -> QRResult: ...
@overload
def qr(a: Any, *, mode: Literal["r"], device: str = ..., threads: int | None = ...) -> Any: ...
def qr(a: Any, *, mode: str = "reduced", device: str = "auto", threads: int | None = None) -> Any:
    """QR factors of matrices with at least as many rows as columns: A = Q R.

    Parameters
    ----------
    a : [..., m, n]
        m up to 256, n up to 128. For a taller matrix see :func:`aperture.qr`.
    mode : {"reduced", "r"}
        Both factors, or R alone.
    device, threads
        As for :func:`cholesky`.

    Returns
    -------
    Q : [..., m, n]
        Orthonormal columns; not with ``mode="r"``.
    R : [..., n, n]
        Upper triangular with a real diagonal, the signs of which are not normalised.

    Raises
    ------
    ValueError, TypeError, aperture.DeviceError
        As for :func:`cholesky`.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> a = np.random.default_rng(1).normal(size=(1000, 8, 3))
    >>> q, r = aperture.dense.qr(a)
    >>> q.shape, r.shape, bool(np.allclose(q @ r, a))
    ((1000, 8, 3), (1000, 3, 3), True)
    """
    if not isinstance(mode, str):
        raise TypeError(f"mode {mode!r}: expected a string")
    if mode not in ("reduced", "r"):
        raise ValueError(f"mode {mode!r}: expected reduced|r")
    return at_place(a, device, threads, lambda place: _qr(place, a, mode))


def _qr(place: Place, a: Any, mode: str) -> Any:
    (a,) = arguments(place, a=a)
    m, n = tall_extents("a", a)
    with Call(place, a) as call:
        factors, tau = call.new(m, n), call.new(n)
        call.run("factor_qr", call.matrices("a", a), factors, tau)
        r = call.changed_result(factors, lambda library, packed: library.triu(packed[:, :n]))
        if mode == "r":
            return r
        q = call.new(m, n)
        call.run("form_q", factors, tau, q)
        return QRResult(call.result(q), r)


def lstsq(a: Any, b: Any, *, device: str = "auto", threads: int | None = None) -> LstsqResult:
    """Least squares by QR: x that minimises ||A x - b||, for matrices of full rank.

    Parameters
    ----------
    a : [..., m, n]
        At least as many rows as columns; m up to 256, n up to 128.
    b : [m] or [..., m, k]
        Right-hand sides, any number k. As for :func:`solve`, vectors for several matrices are
        [..., m, 1], and leading dimensions are broadcast.
    device, threads
        As for :func:`cholesky`.

    Returns
    -------
    x : [..., n] or [..., n, k]
        Solutions; zero where ``info`` is not 0.
    info : [...]
        int32. The number, from 1, of the first entry of R's diagonal that is zero or not finite,
        or 0.

    Raises
    ------
    ValueError, TypeError, aperture.DeviceError
        As for :func:`cholesky`.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> x, info = aperture.dense.lstsq(a, np.array([1.0, 3.0, 5.0]))
    >>> x.round(12).tolist(), int(info)
    ([1.0, 2.0], 0)
    """
    return at_place(a, device, threads, lambda place: _lstsq(place, a, b))


def _lstsq(place: Place, a: Any, b: Any) -> LstsqResult:
    a, b = arguments(place, a=a, b=b)
    m, n = tall_extents("a", a)
    b, sides = as_columns("b", b, m)
    with Call(place, a, b) as call:
        x, info = call.new(n, b.shape[-1]), call.info()
        call.run("lstsq", call.matrices("a", a), call.matrices("b", b), x, info)
        return LstsqResult(call.result(x, (n, *sides)), call.result(info))
