# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and singular values of small matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

from aperture._batches import Call, arguments, order_of
from aperture._extension import core
from aperture._places import Place, at_place


class EighResult(NamedTuple):
    """What :func:`eigh` returns."""

    eigenvalues: Any
    eigenvectors: Any
    info: Any


class SVDResult(NamedTuple):
    """What :func:`svd` returns."""

    U: Any
    S: Any
    Vh: Any
    info: Any


def eigh(a: Any, *, device: str = "auto", threads: int | None = None) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices, by Jacobi's method.

    Parameters
    ----------
    a : [..., n, n]
        n up to 64. Only the lower triangle is read, and the real part of the diagonal.
    device, threads
        As for :func:`cholesky`.

    Returns
    -------
    eigenvalues : [..., n]
        Real, ascending.
    eigenvectors : [..., n, n]
        Orthonormal columns, in the order of the eigenvalues.
    info : [...]
        int32. 0, or 1 where an element is not finite or the method does not converge; all results
        of such a matrix are zero.

    Raises
    ------
    ValueError, TypeError, aperture.DeviceError
        As for :func:`cholesky`.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> values, vectors, info = aperture.dense.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(12).tolist(), int(info)
    ([1.0, 3.0], 0)
    """
    return at_place(a, device, threads, lambda place: _eigh(place, a))


def _eigh(place: Place, a: Any) -> EighResult:
    (a,) = arguments(place, a=a)
    n = order_of("a", a, core.max_spectral_order)
    with Call(place, a) as call:
        values, vectors, info = call.new(n, dtype=call.real), call.new(n, n), call.info()
        call.run("eigh", call.matrices("a", a), values, vectors, info)
        return EighResult(call.result(values), call.result(vectors), call.result(info))


def svd(a: Any, *, device: str = "auto", threads: int | None = None) -> SVDResult:
    """Singular value decompositions of small matrices: A = U diag(S) V^H, by Jacobi's method.

    As ``numpy.linalg.svd`` with ``full_matrices=False``. For a tall matrix see
    :func:`aperture.tall_svd`.

    Parameters
    ----------
    a : [..., m, n]
        The larger extent up to 256, the smaller one k up to 64.
    device, threads
        As for :func:`cholesky`.

    Returns
    -------
    U : [..., m, k]
        Orthonormal columns.
    S : [..., k]
        Singular values, real, descending.
    Vh : [..., k, n]
        Orthonormal rows.
    info : [...]
        int32. 0, or 1 where an element is not finite or the method does not converge; all results
        of such a matrix are zero.

    Raises
    ------
    ValueError, TypeError, aperture.DeviceError
        As for :func:`cholesky`.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> a = np.random.default_rng(1).normal(size=(100, 4, 7))
    >>> u, s, vh, info = aperture.dense.svd(a)
    >>> bool(np.allclose(u * s[:, None] @ vh, a)), bool(info.any())
    (True, False)
    """
    return at_place(a, device, threads, lambda place: _svd(place, a))


def _svd(place: Place, a: Any) -> SVDResult:
    (a,) = arguments(place, a=a)
    shape = tuple(a.shape)
    most = (core.max_rows, core.max_spectral_order)
    if len(shape) < 2 or max(shape[-2:]) > most[0] or min(shape[-2:]) > most[1]:
        raise ValueError(
            f"a: shape {shape}, expected [..., m, n], the larger extent up to {most[0]}, the"
            f" smaller one up to {most[1]}"
        )
    m, n = shape[-2:]
    k = min(m, n)
    with Call(place, a) as call:
        u, values, vh = call.new(m, k), call.new(k, dtype=call.real), call.new(k, n)
        info = call.info()
        call.run("svd", call.matrices("a", a), u, values, vh, info)
        # The factor of the smaller side comes without its conjugation.
        left = call.result(u) if m >= n else _conjugated(call, u)
        right = _conjugated(call, vh) if m >= n else call.result(vh)
        return SVDResult(left, call.result(values), right, call.result(info))


def _conjugated(call: Call, there: Any) -> Any:
    if call.dtype.kind != "c":
        return call.result(there)
    # PyTorch's conj is lazy.
    return call.changed_result(
        there, lambda library, batch: getattr(library, "conj_physical", library.conj)(batch)
    )
