# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scenes import START, ZEROS, with_nan

import aperture

pytestmark = pytest.mark.usefixtures("one_thread")


def system_matrix(ix: Any, iy: Any, alpha: float, stencil: int, boundary: str) -> Any:
    """Horn & Schunck's matrix by definition, unknowns [u or v][pixel]."""
    rows, columns = ix.shape
    pixels = rows * columns
    side, corner = (1.0, 0.0) if stencil == 5 else (0.5, 0.25)
    laplacian = np.zeros((pixels, pixels))
    for y in range(rows):
        for x in range(columns):
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    weight = 0 if dy == dx == 0 else corner if dy * dx else side
                    p = y * columns + x
                    laplacian[p, p] += weight
                    near_y = min(max(y + dy, 0), rows - 1)
                    near_x = min(max(x + dx, 0), columns - 1)
                    if boundary == "replicate" or (near_y, near_x) == (y + dy, x + dx):
                        laplacian[p, near_y * columns + near_x] -= weight
    x, y = ix.ravel().astype(float), iy.ravel().astype(float)
    smooth = alpha**2 * laplacian
    return np.block(
        [[np.diag(x * x) + smooth, np.diag(x * y)], [np.diag(x * y), np.diag(y * y) + smooth]]
    )


@pytest.fixture(scope="module")
def derivatives() -> Any:
    return np.random.default_rng(2).normal(size=(3, 7, 9)).astype(np.float32)


@pytest.mark.parametrize("solver", ["jacobi", "block2x2", "cg", "cacg", "redblack", "multigrid"])
@pytest.mark.parametrize("boundary", ["replicate", "zero"])
@pytest.mark.parametrize("stencil", [5, 9])
def test_solutions_agree_with_the_definition(
    derivatives: Any, solver: str, boundary: str, stencil: int
) -> None:
    ix, iy, it = derivatives
    matrix = system_matrix(ix, iy, 0.7, stencil, boundary)
    right = -np.concatenate([(ix * it).ravel(), (iy * it).ravel()]).astype(float)
    expected = np.linalg.solve(matrix, right).reshape(2, 7, 9)
    u, v, history = aperture.solve_horn_schunck(
        ix,
        iy,
        it,
        alpha=0.7,
        solver=solver,
        iterations=2000,
        tolerance=1e-6,
        boundary=boundary,
        stencil=stencil,
    )
    assert np.allclose([u, v], expected, atol=1e-4)
    assert history[0] == pytest.approx(1) and history[-1] < 1e-6
    assert (aperture.solve_horn_schunck(ix, iy, it, alpha=0.7, iterations=3)[2].size) == 4
    found = np.concatenate([u.ravel(), v.ravel()]).astype(float)
    residual = np.linalg.norm(right - matrix @ found) / np.linalg.norm(right)
    assert residual < 5e-6


@pytest.mark.parametrize("solver", ["cg", "cacg"])
@pytest.mark.parametrize("precondition", ["block", "none"])
@pytest.mark.parametrize("tolerance", [0, 1e-7])
def test_a_tolerance_out_of_reach_ends_at_rounding(
    solver: str, precondition: str, tolerance: float
) -> None:
    ix, iy, it = np.random.default_rng(2).normal(size=(3, 37, 53))
    for planes in ((ix, iy, it), (4 * ix, 3 * ix, it)):
        u, v, history = aperture.solve_horn_schunck(
            *planes,
            alpha=0.7,
            solver=solver,
            precondition=precondition,
            stencil=9,
            iterations=2000,
            tolerance=tolerance,
        )
        assert np.isfinite(history).all() and history[-1] < 10 * history.min() + 1e-6
        assert max(abs(u).max(), abs(v).max()) < 100


def test_parameters_of_a_system_change_results(derivatives: Any) -> None:
    def solution(**parameters: Any) -> Any:
        return aperture.solve_horn_schunck(
            *derivatives, **{"alpha": 1, "iterations": 6, **parameters}
        )[0]

    usual = solution()
    for parameters in (
        {"alpha": 2},
        {"iterations": 2},
        {"tolerance": 0.1},
        {"precondition": "none"},
        {"boundary": "zero"},
        {"stencil": 9},
        {"solver": "jacobi"},
    ):
        assert (solution(**parameters) != usual).any(), parameters
    redblack = solution(solver="redblack")
    assert (solution(solver="redblack", relaxation=1.5) != redblack).any()
    cacg = solution(solver="cacg")
    assert (solution(solver="cacg", s_step=2) != cacg).any()
    assert (solution(solver="cacg", basis="monomial") != cacg).any()
    assert (solution(threads=2) == usual).all()


@pytest.mark.parametrize(
    ("planes", "arguments", "error", "message"),
    [
        ((ZEROS, ZEROS, None), {}, TypeError, "it"),
        ((ZEROS, ZEROS, START), {}, ValueError, r"it: shape \(20, 30, 2\)"),
        ((ZEROS, ZEROS[1:], ZEROS), {}, ValueError, r"iy: shape \(19, 30\), of ix \(20, 30\)"),
        ((ZEROS[:0], ZEROS[:0], ZEROS[:0]), {}, ValueError, "image of 0 x 30 pixels"),
        ((ZEROS, with_nan(ZEROS), ZEROS), {}, ValueError, "iy: 1 of 600 elements"),
        ((ZEROS, ZEROS + 1e30, ZEROS), {}, ValueError, "products of ix, iy and it: 600 of 1800"),
        ((ZEROS, ZEROS, ZEROS), {"alpha": 0}, ValueError, "alpha"),
        ((ZEROS, ZEROS, ZEROS), {"alpha": 1e-30}, ValueError, "alpha"),
        ((ZEROS, ZEROS, ZEROS), {"alpha": np.inf}, ValueError, "alpha"),
        ((ZEROS, ZEROS, ZEROS), {"alpha": 1e30}, ValueError, "alpha"),
        ((ZEROS, ZEROS, ZEROS), {"alpha": None}, TypeError, "alpha"),
        ((ZEROS, ZEROS, ZEROS), {"solver": "qr"}, ValueError, "solver qr"),
        ((ZEROS, ZEROS, ZEROS), {"iterations": -1}, ValueError, "iterations is -1"),
        ((ZEROS, ZEROS, ZEROS), {"relaxation": 1.5}, ValueError, "no effect"),
        ((ZEROS, ZEROS, ZEROS), {"device": 0}, TypeError, "device"),
    ],
)
def test_bad_systems_are_refused(
    planes: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aperture.solve_horn_schunck(*planes, **{"alpha": 1.0, **arguments})


@pytest.mark.parametrize("solver", ["block2x2", "cg", "cacg", "redblack", "multigrid"])
def test_an_interrupt_ends_a_long_solution(interrupted: Callable[..., float], solver: str) -> None:
    planes = np.random.default_rng(1).normal(size=(3, 400, 400)).astype(np.float32)
    assert (
        interrupted(
            lambda: aperture.solve_horn_schunck(
                *planes, alpha=30, solver=solver, iterations=10**6, threads=1
            )
        )
        < 1
    )
