# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Robust PCA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aperture import _arrays
from aperture._extension import core
from aperture._parameters import assign, expects_progress, number, whole_number
from aperture._places import Place, at_place

_DEFAULTS = core.RpcaParameters()


@dataclass(eq=False)
class RpcaResult:
    """What :func:`rpca` computed: M = L + S.

    Attributes
    ----------
    low_rank : float32 or float64, shape of the input
        L.
    sparse : float32 or float64, shape of the input
        S.
    iterations : int
        Until the residual was within the tolerance.
    residual : float
        The norm of M - L - S relative to that of M (Frobenius).
    rank : int
        Of L; its constant part counts as one.
    density : float
        Share of nonzero values in S.
    converged : bool
        Whether the residual is within the tolerance.
    """

    low_rank: Any
    sparse: Any
    iterations: int
    residual: float
    rank: int
    density: float
    converged: bool

    def __repr__(self) -> str:
        converged = "" if self.converged else ", not converged"
        return (
            f"<RpcaResult {tuple(self.low_rank.shape)}: rank {self.rank}, "
            f"density {self.density:.3g}, residual {self.residual:.2g} "
            f"after {self.iterations} iterations{converged}>"
        )


def rpca(
    matrix: Any,
    *,
    solver: str = _DEFAULTS.solver,
    svd: str = _DEFAULTS.svd,
    rank: int | None = None,
    lam: float | None = None,
    tolerance: float = _DEFAULTS.tolerance,
    max_iterations: int = _DEFAULTS.max_iterations,
    progress: Callable[[int, float], object] | None = None,
    device: str = "auto",
    threads: int | None = None,
    out: RpcaResult | None = None,
) -> RpcaResult:
    """Split a matrix, such as the frames of a video, into a low-rank and a sparse part.

    What is constant over the observations belongs to the low-rank part, even if they are few.

    Parameters
    ----------
    matrix : [frame, value], [frame, row, column], [frame, row, column, 3] or any [frame, ...]
        Observations along the first axis. float64 is computed in float64, everything else in
        float32; integers are taken as they are.
    solver : {"ialm", "admm", "accaltproj"}
        Inexact augmented Lagrange multipliers; alternating directions; or accelerated alternating
        projections, which are faster for a low-rank part of known rank.
    svd : {"gram", "tsqr", "cholqr2"}
        Source of the singular values with ialm and admm: the Gram matrix, or R of a QR
        decomposition, which requires at least as many values as frames.
    rank : int, optional
        Maximum rank of the low-rank part with accaltproj, its constant part included. Default: a
        tenth of the frames, at most 10.
    lam : float, optional
        Weight of the sparse part's 1-norm with ialm and admm. Default: 1 / sqrt(max(frames,
        values)).
    tolerance : float
        Relative residual to stop at; below 1e-6 only in float64.
    max_iterations : int
        Maximum number of iterations.
    progress : callable, optional
        Called after each iteration with its number and the residual. An exception that it raises
        ends the call.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`. They do not change the result.
    out : RpcaResult, optional
        An earlier result for the same shape and type, whose arrays are overwritten.

    Returns
    -------
    RpcaResult

    Raises
    ------
    ValueError
        For parameters out of range or without effect, and values that are NaN or infinite.
    TypeError
        For something that is not an array of numbers.
    DeviceError
        If the device cannot be used.

    Notes
    -----
    ialm: Lin, Chen & Ma 2010; admm: Candes et al. 2011, algorithm 1, and Anderson 2014, section
    3.6; both with the nuclear norm of L minus its constant part. accaltproj: Cai, Cai & Wei 2019,
    algorithm 2. The call waits for the result on a GPU, too.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> low_rank = np.outer(random.normal(size=40), random.normal(size=500))
    >>> sparse = 10.0 * (random.random((40, 500)) < 0.05)
    >>> parts = aperture.rpca(low_rank + sparse, tolerance=1e-7)
    >>> bool(np.abs(parts.sparse - sparse).max() < 1e-3)
    True
    """
    matrix, dtype = _observations(matrix)
    expects_progress(progress)
    if out is not None and not isinstance(out, RpcaResult):
        raise TypeError(f"out: expected an RpcaResult, not {type(out).__name__}")
    parameters = _rpca_parameters(dtype, solver, svd, rank, lam, tolerance, max_iterations)
    return at_place(
        matrix,
        device,
        threads,
        lambda place: _separate(place, matrix, dtype, parameters, progress, out),
    )


class RepeatedRpca:
    """Background of the same frames with several values of ``lam``: the frames are converted and
    copied to a GPU once. ``parameters`` are others of :func:`rpca`."""

    def __init__(
        self,
        matrix: Any,
        *,
        device: str = "auto",
        threads: int | None = None,
        solver: str = _DEFAULTS.solver,
        svd: str = _DEFAULTS.svd,
        rank: int | None = None,
        tolerance: float = _DEFAULTS.tolerance,
        max_iterations: int = _DEFAULTS.max_iterations,
    ) -> None:
        matrix, self._dtype = _observations(matrix)
        self._shape = tuple(matrix.shape)
        self._given = (solver, svd, rank)
        self._stop = (tolerance, max_iterations)
        at_place(matrix, device, threads, lambda place: self._load(place, matrix))

    def _parameters(self, lam: float | None) -> Any:
        return _rpca_parameters(self._dtype, *self._given, lam, *self._stop)

    def _load(self, place: Place, matrix: Any) -> None:
        self._place = place
        self._m = place.input("matrix", matrix.reshape(self._shape[0], -1), self._dtype)
        make = getattr(place.core, f"RobustPca_{self._dtype}")
        self._pca = make(*self._m.shape, self._parameters(None), place.where)

    def run(self, lam: float | None) -> tuple[Any, Any]:
        """The low-rank part and a core.RpcaOutcome."""
        place = self._place
        self._pca.set_lambda(self._parameters(lam).lam)
        low_rank, sparse = (place.output("", None, self._shape, self._dtype) for _ in range(2))
        parts = [place.handle(array, self._pca) for array in (self._m, low_rank, sparse)]
        outcome = self._pca.run(place.stream(self._pca), *parts, None)
        return place.result(low_rank, self._pca), outcome


def _observations(matrix: Any) -> tuple[Any, np.dtype[Any]]:
    """The matrix as an array, and the type to compute in."""
    shape = _arrays.shape_of("matrix", matrix)
    if len(shape) < 2:
        raise ValueError(f"matrix: shape {shape}, expected [frame, value] or [frame, ...]")
    if 0 in shape:
        raise ValueError(f"matrix: shape {shape} is empty")
    if not hasattr(matrix, "reshape"):
        matrix = _arrays.host_array("matrix", matrix)
    given_type = str(getattr(matrix.dtype, "name", matrix.dtype))
    double = given_type.endswith(("float64", "float128"))
    return matrix, np.dtype(np.float64 if double else np.float32)


def _separate(
    place: Place,
    matrix: Any,
    dtype: np.dtype[Any],
    parameters: Any,
    progress: Callable[[int, float], object] | None,
    out: RpcaResult | None,
) -> RpcaResult:
    shape = tuple(matrix.shape)
    m = place.input("matrix", matrix.reshape(shape[0], -1), dtype)
    given = {} if out is None else vars(out)
    low_rank = place.output("out.low_rank", given.get("low_rank"), shape, dtype)
    sparse = place.output("out.sparse", given.get("sparse"), shape, dtype)
    if out is not None and place.core is core:
        _arrays.expects_apart("out.low_rank", low_rank, m)
        _arrays.expects_apart("out.sparse", sparse, m)
        if np.may_share_memory(low_rank, sparse):
            raise ValueError("out: low_rank and sparse share memory")
    pca = getattr(place.core, f"RobustPca_{dtype}")(*m.shape, parameters, place.where)
    parts = [place.handle(array, pca) for array in (m, low_rank, sparse)]
    outcome = pca.run(place.stream(pca), *parts, progress)
    result = RpcaResult(
        place.result(low_rank, pca),
        place.result(sparse, pca),
        iterations=outcome.iterations,
        residual=outcome.residual,
        rank=outcome.rank,
        density=outcome.density,
        converged=outcome.converged,
    )
    if out is None:
        return result
    vars(out).update(vars(result))
    return out


def _rpca_parameters(
    dtype: Any,
    solver: str,
    svd: str,
    rank: int | None,
    lam: float | None,
    tolerance: float,
    max_iterations: int,
) -> Any:
    parameters = core.RpcaParameters()
    assign(parameters, solver=solver, svd=svd, tolerance=tolerance, max_iterations=max_iterations)
    projects = parameters.solver == "accaltproj"
    if rank is not None:
        if not projects:
            raise ValueError(f"rank {rank} requires solver 'accaltproj'")
        if whole_number("rank", rank) < 1:
            raise ValueError(f"rank {rank}: expected 1 or more")
        assign(parameters, rank=rank)
    if lam is not None:
        if projects:
            raise ValueError(f"lam {lam} requires solver 'ialm' or 'admm'")
        if not number("lam", lam) > 0:
            raise ValueError(f"lam {lam}: expected a positive number")
        assign(parameters, lam=lam)
    if projects and parameters.svd != _DEFAULTS.svd:
        raise ValueError(f"svd {svd!r} requires solver 'ialm' or 'admm'")
    if dtype == np.float32 and 0 < parameters.tolerance < core.LEAST_FP32_TOLERANCE:
        raise ValueError(
            f"tolerance {tolerance} requires a matrix of float64: in float32 the residual stays "
            "above about 4e-7"
        )
    return parameters
