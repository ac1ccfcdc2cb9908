# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Horn & Schunck in four array programs
#
# The solvers of Anderson 2014, programs 12 to 15, written on whole images and run by
# `@aperture.program`, beside those of `aperture.solve_horn_schunck`, which are written by hand.

# %%
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import aperture
from aperture.compose import black, dot, red

data = Path(__file__).parents[2] / "data" if "__file__" in globals() else Path("../../data")
alpha = 4.0

# %% [markdown]
# ## Derivatives
#
# Along columns and rows by central differences, along time by the difference of the images.


# %%
@aperture.program
def derivatives(image0: Any, image1: Any, gx: Any, gy: Any) -> Any:
    mean = 0.5 * (image0 + image1)
    return gx * mean, gy * mean, image1 - image0


gx = aperture.stencil([[-0.5, 0, 0.5]])
gy = aperture.stencil([[-0.5], [0], [0.5]])
image0, image1 = (plt.imread(data / f"pair{i}.pgm").astype(np.float32) for i in (1, 2))
ix, iy, it = derivatives(image0, image1, gx, gy)

# %% [markdown]
# ## Solvers
#
# At each pixel [ix ix, ix iy; ix iy, iy iy] (u, v) + alpha^2 sum_q ((u, v) - (u, v)_q)
# = -it (ix, iy), q among four neighbours.

# %%
neighbours = ((-1, 0), (0, -1), (0, 1), (1, 0))
lam4 = 4 * alpha**2
R = aperture.stencil({place: -(alpha**2) for place in neighbours})
mean4 = aperture.stencil({place: 0.25 for place in neighbours})
laplacian = aperture.stencil({(0, 0): lam4, **{place: -(alpha**2) for place in neighbours}})


@aperture.program
def jacobi(ix: Any, iy: Any, it: Any, du: Any, dv: Any, num_iter: int) -> Any:
    ixiy = ix * iy
    b0 = -(ix * it)
    b1 = -(iy * it)
    dinv0 = 1.0 / (lam4 + ix * ix)
    dinv1 = 1.0 / (lam4 + iy * iy)
    for _ in range(num_iter):
        r0 = b0 - (R * du + ixiy * dv)
        r1 = b1 - (ixiy * du + R * dv)
        du = dinv0 * r0
        dv = dinv1 * r1
    return du, dv


@aperture.program
def blockwise(ix: Any, iy: Any, it: Any, du: Any, dv: Any, num_iter: int) -> Any:
    for _ in range(num_iter):
        ubar = mean4 * du
        vbar = mean4 * dv
        num = ix * ubar + iy * vbar + it
        den = ix * ix + iy * iy + lam4
        du = ubar - (ix * num) / den
        dv = vbar - (iy * num) / den
    return du, dv


@aperture.program
def conjugate_gradients(ix: Any, iy: Any, it: Any, du: Any, dv: Any, num_iter: int) -> Any:
    ix2 = ix * ix
    iy2 = iy * iy
    ixiy = ix * iy
    r0 = -(ix * it) - (laplacian * du + ix2 * du + ixiy * dv)
    r1 = -(iy * it) - (laplacian * dv + iy2 * dv + ixiy * du)
    p0 = r0
    p1 = r1
    rsold = dot(r0, r0) + dot(r1, r1)
    for _ in range(num_iter):
        ap0 = laplacian * p0 + ix2 * p0 + ixiy * p1
        ap1 = laplacian * p1 + iy2 * p1 + ixiy * p0
        step = rsold / (dot(p0, ap0) + dot(p1, ap1))
        du = du + step * p0
        dv = dv + step * p1
        r0 = r0 - step * ap0
        r1 = r1 - step * ap1
        rsnew = dot(r0, r0) + dot(r1, r1)
        if rsnew < 1e-12:
            break
        p0 = r0 + (rsnew / rsold) * p0
        p1 = r1 + (rsnew / rsold) * p1
        rsold = rsnew
    return du, dv


@aperture.program
def redblack(ix: Any, iy: Any, it: Any, du: Any, dv: Any, num_iter: int) -> Any:
    ixiy = ix * iy
    b0 = -(ix * it)
    b1 = -(iy * it)
    dinv0 = 1.0 / (lam4 + ix * ix)
    dinv1 = 1.0 / (lam4 + iy * iy)
    for _ in range(num_iter):
        evens0 = red(dinv0 * (b0 - (R * du + ixiy * dv)))
        evens1 = red(dinv1 * (b1 - (ixiy * du + R * dv)))
        du = evens0 + black(du)
        dv = evens1 + black(dv)
        odds0 = black(dinv0 * (b0 - (R * du + ixiy * dv)))
        odds1 = black(dinv1 * (b1 - (ixiy * du + R * dv)))
        du = red(du) + odds0
        dv = red(dv) + odds1
    return du, dv


# %% [markdown]
# ## Beside solvers written by hand
#
# Jacobi's method and the blockwise one are the same arithmetic as by hand. Conjugate gradients have
# a preconditioner there and red-black sweeps a relaxation, and so they are nearer to the solution
# after as many iterations.


# %%
def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    call()
    begin = time.perf_counter()
    result = call()
    return 1e3 * (time.perf_counter() - begin), result


def solved_by_hand(solver: str, sweeps: int) -> Any:
    return aperture.solve_horn_schunck(
        ix, iy, it, alpha=alpha, solver=solver, iterations=sweeps, tolerance=0, device="cpu"
    )


zero = np.zeros_like(ix)
programs = {
    "jacobi": (jacobi, 1000),
    "block2x2": (blockwise, 1000),
    "cg": (conjugate_gradients, 300),
    "redblack": (redblack, 1000),
}
exact = aperture.solve_horn_schunck(ix, iy, it, alpha=alpha, iterations=2000, tolerance=1e-6)
print(f"{ix.shape[1]} x {ix.shape[0]} pixels, largest displacement {abs(exact[0]).max():.2f}")
print("solver, iterations | program | by hand | largest difference, and of both from the solution")
same = True
for solver, (solve, sweeps) in programs.items():
    ours, (u, v) = timed(functools.partial(solve, ix, iy, it, zero, zero, sweeps))
    by_hand, other = timed(functools.partial(solved_by_hand, solver, sweeps))
    differences = [
        max(abs(a[0] - b[0]).max(), abs(a[1] - b[1]).max())
        for a, b in (((u, v), other), ((u, v), exact), (other, exact))
    ]
    same &= solver not in ("jacobi", "block2x2") or differences[0] < 1e-4
    print(
        f"{solver}, {sweeps} | {ours:.0f} ms | {by_hand:.0f} ms | "
        + " ".join(f"{one:.1e}" for one in differences)
    )
print("jacobi and block2x2 are those by hand, but for rounding:", bool(same))
