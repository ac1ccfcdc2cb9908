# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # A function as an array program
#
# `@aperture.program` reads the source of a function on arrays and runs it as few kernels. Here a
# Poisson equation is solved by Jacobi's iteration (Anderson 2014, program 6), until the residual is
# small.

# %%
import time
from typing import Any

import numpy as np

import aperture
from aperture.compose import dot

around = {(-1, 0): -1.0, (0, -1): -1.0, (0, 1): -1.0, (1, 0): -1.0}
R = aperture.stencil(around, border="zero")
poisson = aperture.stencil({**around, (0, 0): 4.0}, border="zero")


@aperture.program
def jacobi(b: Any, x: Any, tolerance: float, num_iter: int) -> Any:
    count = 0
    for _ in range(num_iter):
        r = b - poisson * x
        if dot(r, r) <= tolerance * tolerance * dot(b, b):
            break
        x = 0.25 * (b - R * x)
        count = count + 1
    return x, count


b = np.zeros((96, 128), np.float32)
b[30:60, 40:90] = 1
start = np.zeros_like(b)

x, count = jacobi(b, start, 0.05, 20000)
residual = np.linalg.norm(b - poisson * x) / np.linalg.norm(b)
print(f"{count} iterations, residual {residual:.3f}")

# %% [markdown]
# ## What runs
#
# The program for these arguments as text, and its kernels: what each loads, stores, and keeps in
# registers.

# %%
print(jacobi.text(b, start, 0.05, 20000))
print(jacobi.explain(b, start, 0.05, 20000))

# %% [markdown]
# ## To debug it
#
# With `mode="numpy"` the function runs as it stands, with the same bits: `print` and a debugger
# work. `mode="none"` runs a kernel for every operation.


# %%
def milliseconds(mode: str) -> tuple[float, Any]:
    run = aperture.program(mode=mode)(jacobi.__wrapped__)
    run(b, start, 0.0, 200)
    begin = time.perf_counter()
    found, _ = run(b, start, 0.0, 200)
    return 1e3 * (time.perf_counter() - begin), found


results = {mode: milliseconds(mode) for mode in ("thesis", "none", "numpy")}
for mode, (duration, _) in results.items():
    print(f"200 iterations, mode {mode}: {duration:.1f} ms")
same = all((found == results["numpy"][1]).all() for _, found in results.values())
print("the same bits:", same)

# %% [markdown]
# Errors point into the source:

# %%
try:
    jacobi(b, start[1:], 0.05, 10)
except aperture.ProgramError as error:
    print(str(error).partition(".py:")[2])
