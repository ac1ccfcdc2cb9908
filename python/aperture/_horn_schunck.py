# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""One linear system of Horn and Schunck's method."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._extension import core
from aperture._flow_parameters import assign_given
from aperture._parameters import assign, word
from aperture._places import HostPlace

_SYSTEM = core.flow_preset("fast", "hs", "cg")


def solve_horn_schunck(
    ix: Any,
    iy: Any,
    it: Any,
    *,
    alpha: float,
    solver: str = _SYSTEM.solver,
    iterations: int = _SYSTEM.iterations,
    tolerance: float = _SYSTEM.tolerance,
    relaxation: float | None = None,
    precondition: str | None = None,
    s_step: int | None = None,
    basis: str | None = None,
    boundary: str = _SYSTEM.boundary,
    stencil: int = int(_SYSTEM.stencil),
    threads: int | None = None,
) -> tuple[Any, Any, npt.NDArray[np.float64]]:
    """Solve one linear system of Horn & Schunck, and tell how the solver converged.

    At every pixel p with derivatives (ix, iy, it) and neighbours q,

        [ix ix, ix iy; ix iy, iy iy] (u, v)_p + alpha^2 sum_q w_pq ((u, v)_p - (u, v)_q)
            = -it (ix, iy).

    Parameters
    ----------
    ix, iy, it : [row, column]
        Derivatives of the image along columns, rows and time, per pixel and per frame.
    alpha : float
        Weight of smoothness, in the unit of the derivatives.
    solver : {"jacobi", "block2x2", "cg", "cacg", "redblack", "multigrid"}
        How the system is solved, from a start of zero.
    iterations : int
        At most so many; cycles of multigrid.
    tolerance : float
        Relative residual at which the solver stops; 0: never.
    relaxation, precondition, s_step, basis, boundary, stencil, threads
        See :func:`flow`.

    Returns
    -------
    u, v : float32 [row, column]
        The solution; of minimum norm if the system is singular.
    history : float64 [iteration]
        |b - A x| / |b| of the start and after each iteration.

    Raises
    ------
    ValueError
        For shapes that differ, parameters out of range or without effect, and derivatives that are
        not finite.

    Notes
    -----
    Horn & Schunck 1981, equations 9 and 10; Anderson 2014, section 7.2.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> ix, iy, it = np.random.default_rng(1).normal(size=(3, 20, 30))
    >>> u, v, history = aperture.solve_horn_schunck(ix, iy, it, alpha=2, tolerance=1e-5)
    >>> u.shape, bool(history[-1] <= 1e-5), len(history) < 100
    ((20, 30), True, True)
    """
    place = HostPlace(ix, threads)
    parameters = core.flow_preset("fast", "hs", word("solver", solver))
    assign(parameters, alpha=alpha, iterations=iterations, tolerance=tolerance, boundary=boundary)
    given = {
        "relaxation": relaxation,
        "precondition": precondition,
        "s_step": s_step,
        "basis": basis,
        "stencil": stencil,
    }
    assign_given(parameters, given)
    derivatives = {}
    for name, plane in (("ix", ix), ("iy", iy), ("it", it)):
        derivatives[name] = place.input(name, plane, np.float32)
        _arrays.expects_rank(name, derivatives[name], {2: "[row, column]"})
        if derivatives[name].shape != derivatives["ix"].shape:
            raise ValueError(
                f"{name}: shape {derivatives[name].shape}, of ix {derivatives['ix'].shape}"
            )
    x, y, t = derivatives.values()
    with np.errstate(over="ignore"):
        tensor = np.stack([x * x, x * y, y * y])
        right = np.stack([-x * t, -y * t])
    if not (np.isfinite(tensor).all() and np.isfinite(right).all()):
        raise ValueError("ix, iy, it: their products exceed the range of float32")
    solution = np.zeros(right.shape, np.float32)
    history = core.solve_system(tensor, right, parameters, solution, place.where)
    u, v = (place.result(plane, None) for plane in solution)
    return u, v, np.array(history)
