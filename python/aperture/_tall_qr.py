# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Factorisations of tall matrices."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._extension import core
from aperture._kept import kept
from aperture._places import Place, at_place


@overload
def qr(
    a: Any,
    *,
    method: str = ...,
    mode: Literal["reduced"] = ...,
    device: str = ...,
    threads: int | None = ...,
    check_finite: bool | None = ...,
) -> tuple[Any, Any]: ...
@overload
def qr(
    a: Any,
    *,
    method: str = ...,
    mode: Literal["r"],
    device: str = ...,
    threads: int | None = ...,
    check_finite: bool | None = ...,
) -> Any: ...
def qr(
    a: Any,
    *,
    method: str = "auto",
    mode: str = "reduced",
    device: str = "auto",
    threads: int | None = None,
    check_finite: bool | None = None,
) -> Any:
    """Factor a tall matrix: A = Q R.

    Parameters
    ----------
    a : [row, column]
        At least as many rows as columns. float32 and float16 are computed in float32, other real
        numbers in float64. Rows or columns that are contiguous are read in place, others copied.
    method : {"auto", "tsqr", "cholesky2"}
        "tsqr" is a tree of Householder factorisations, backward stable for any condition number.
        "cholesky2" factors the Gram matrix twice, for condition numbers up to about 1e7, and falls
        back to "tsqr" where Q would not be orthonormal. "auto" is "tsqr", the faster one on CPUs
        by 1.1 to 10 times but for ten columns, where both factors take about as long either way.
    mode : {"reduced", "r"}
        Both factors, or R alone.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`.
    check_finite : bool, optional
        Refuse a matrix with NaN or infinite elements, which would spread. Default: only a matrix
        in host memory.

    Returns
    -------
    q : [row, column]
        Orthonormal columns; not with ``mode="r"``.
    r : [column, column]
        Upper triangular. The signs of its diagonal are not normalised.

    Raises
    ------
    ValueError
        For fewer rows than columns, an empty matrix, and elements that are not finite.
    TypeError
        For something that is not an array of real numbers.
    DeviceError
        If the device cannot be used.

    Notes
    -----
    Demmel, Grigori, Hoemmen & Langou 2012; Anderson 2014, section 3.3; for Cholesky's factors
    Yamamoto et al. 2015. The same bits for any number of threads.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> a = np.random.default_rng(1).normal(size=(1000, 5))
    >>> q, r = aperture.qr(a)
    >>> bool(np.allclose(q @ r, a)), bool(np.allclose(q.T @ q, np.eye(5)))
    (True, True)
    """
    if not isinstance(mode, str):
        raise TypeError(f"mode {mode!r}: expected a string")
    if mode not in ("reduced", "r"):
        raise ValueError(f"mode {mode!r}: expected reduced|r")
    return at_place(a, device, threads, lambda place: _qr(place, a, method, mode, check_finite))


def _qr(place: Place, a: Any, method: str, mode: str, check_finite: bool | None) -> Any:
    matrix, dtype = _matrix(place, a, check_finite)
    rows, columns = matrix.shape
    with _factors(place, method, matrix.shape, dtype) as factors:
        stream = place.stream(factors)
        r = place.new((columns, columns), dtype)
        arguments = (place.handle(matrix, factors), place.handle(r, factors))
        if mode == "r":
            factors.find_r(stream, *arguments)
            return place.result(r, factors)
        factors.factor(stream, *arguments)
        q = place.new((rows, columns), dtype)
        factors.form_q(stream, place.handle(q, factors))
        return place.result(q, factors), place.result(r, factors)


def tall_svd(
    a: Any,
    *,
    device: str = "auto",
    threads: int | None = None,
    check_finite: bool | None = None,
) -> tuple[Any, Any, Any]:
    """Singular value decomposition of a tall matrix: A = U diag(s) V^T, by its QR factorisation.

    Parameters
    ----------
    a : [row, column]
        As for :func:`qr`.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`.
    check_finite : bool, optional
        Refuse a matrix with NaN or infinite elements. Default: only a matrix in host memory.

    Returns
    -------
    u : [row, column]
        Orthonormal columns.
    s : [column]
        Singular values, descending.
    vt : [column, column]
        Orthonormal rows.

    Raises
    ------
    ValueError, TypeError
        As for :func:`qr`.
    DeviceError
        If the device cannot be used.
    numpy.linalg.LinAlgError
        If the singular values of R do not converge; for a matrix on a GPU what its library does
        then.

    Notes
    -----
    Chan 1982: A = Q R, then R = U' diag(s) V^T in double precision, and U = Q U'. Q is applied as
    it is stored, in the tree's reflectors, without being formed. R is decomposed by NumPy, and of a
    matrix on a GPU by its own library there; JAX has double precision with ``jax_enable_x64``
    only, and otherwise decomposes R in float32. On a GPU the call waits where its library does.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> a = np.random.default_rng(1).normal(size=(1000, 5))
    >>> u, s, vt = aperture.tall_svd(a)
    >>> bool(np.allclose((u * s) @ vt, a))
    True
    """
    return at_place(a, device, threads, lambda place: _tall_svd(place, a, check_finite))


def _tall_svd(place: Place, a: Any, check_finite: bool | None) -> tuple[Any, Any, Any]:
    matrix, dtype = _matrix(place, a, check_finite)
    rows, columns = matrix.shape
    with _factors(place, "tsqr", matrix.shape, dtype) as factors:
        stream = place.stream(factors)
        r = place.new((columns, columns), dtype)
        factors.factor(stream, place.handle(matrix, factors), place.handle(r, factors))
        home = place.home
        square = home.input("r", place.result(r, factors), dtype, False)
        with home.namespace() as library:
            # Python's float is double precision where the library has it.
            of_r = library.linalg.svd(library.asarray(square, dtype=float))
        left, s, vt = (home.input("r", factor, dtype, False) for factor in of_r)
        u = place.new((rows, columns), dtype)
        left = place.input("r", left, dtype, False)
        factors.apply_q(stream, place.handle(left, factors), place.handle(u, factors))
        return place.result(u, factors), home.result(s, factors), home.result(vt, factors)


def _matrix(
    place: Place, a: Any, check_finite: bool | None
) -> tuple[Any, type[np.float32] | type[np.float64]]:
    """The argument ``a`` there, and the type that it is computed in."""
    on_host = place.core is core
    if on_host:
        a = _arrays.host_array("a", a)
    shape = _arrays.shape_of("a", a)
    if len(shape) != 2:
        raise ValueError(f"a: shape {shape}, expected [row, column]")
    name = a.dtype.name if isinstance(a, np.ndarray) else str(getattr(a, "dtype", "float64"))
    single = name.rpartition(".")[2] in ("float16", "float32")
    dtype = np.float32 if single else np.float64
    # Contiguous columns are read in place, too.
    by_columns = on_host and a.flags.f_contiguous
    matrix = place.input("a", a.T if by_columns else a, dtype, check_finite)
    return matrix.T if by_columns else matrix, dtype


def _factors(
    place: Place, method: str, shape: tuple[int, ...], dtype: npt.DTypeLike
) -> AbstractContextManager[Any]:
    if not isinstance(method, str):
        raise TypeError(f"method {method!r}: expected a string")
    kind = "TallQr32" if dtype is np.float32 else "TallQr64"
    made_for = (kind, place.core.__name__, place.where, method, *shape)
    return kept(made_for, lambda: getattr(place.core, kind)(method, *shape, place.where))
