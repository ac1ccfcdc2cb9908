# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""One linear system of Horn and Schunck's method."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from aperture._extension import core
from aperture._flow_parameters import assign_given
from aperture._parameters import assign, word
from aperture._places import Place, at_place

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
    device: str = "auto",
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
        Relative residual at which the solver stops; 0: never. Rounding may keep the residual above
        it: 1e-7 is about the least, and more where alpha is large against the derivatives. "cg" and
        "cacg" then end by themselves or after ``iterations``, with about the best solution they
        had.
    relaxation, precondition, s_step, basis, boundary, stencil, device, threads
        See :func:`flow`. On a GPU "cg" takes the place of "cacg" where its basis does not fit the
        shared memory.

    Returns
    -------
    u, v : float32 [row, column]
        The solution; of minimum norm if the system is singular.
    history : float64 [iteration]
        |b - A x| / |b| of the start and after each iteration, up to the one of the solution.

    Raises
    ------
    ValueError
        For shapes that differ, parameters out of range or without effect, and derivatives that are
        not finite.
    TypeError
        For something that is not an array of numbers.
    DeviceError
        If the device cannot be used.

    Notes
    -----
    Horn & Schunck 1981, equations 9 and 10; Anderson 2014, section 7.2. The call waits for the
    result on a GPU, too.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> ix, iy, it = np.random.default_rng(1).normal(size=(3, 20, 30))
    >>> u, v, history = aperture.solve_horn_schunck(ix, iy, it, alpha=2, tolerance=1e-5)
    >>> u.shape, bool(history[-1] <= 1e-5), len(history) < 100
    ((20, 30), True, True)
    """
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
    planes = {"ix": ix, "iy": iy, "it": it}
    return at_place(ix, device, threads, lambda place: _solve(place, planes, parameters))


def _solve(
    place: Place, planes: dict[str, Any], parameters: Any
) -> tuple[Any, Any, npt.NDArray[np.float64]]:
    home = place.home
    x, y, t = (home.input(name, plane, np.float32, True) for name, plane in planes.items())
    shape = tuple(x.shape)
    if len(shape) != 2:
        raise ValueError(f"ix: shape {shape}, expected [row, column]")
    for name, plane in (("iy", y), ("it", t)):
        if tuple(plane.shape) != shape:
            raise ValueError(f"{name}: shape {tuple(plane.shape)}, of ix {shape}")
    with home.namespace() as library, np.errstate(over="ignore"):
        tensor = library.stack([x * x, x * y, y * y])
        right = library.stack([-x * t, -y * t])
        start = library.zeros_like(right)
    solver = place.core.SystemSolver(*shape, parameters, place.where)
    stream = place.stream(solver)
    solution = place.new((2, *shape), np.float32)
    products = "products of ix, iy and it"
    there = [
        place.input(products, tensor, np.float32, True),
        place.input(products, right, np.float32, True),
        place.input("start", start, np.float32, False),
        solution,
    ]
    history = solver.run(stream, *(place.handle(array, solver) for array in there))
    u, v = place.result(solution, solver)
    return u, v, np.array(history)
