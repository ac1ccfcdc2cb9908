# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Listing 1 of Fousek, Filipovic & Madzin
#
# F = ||A B c|| (D E + D) of many small matrices: six operations, one kernel instead of six. A
# kernel for each moves 988 bytes a problem, one for all 384.

# %%
import time
from typing import Any

import numpy as np

import aperture
from aperture.compose import Batch, norm


def listing1(A: Batch, B: Batch, c: Batch, D: Batch, E: Batch) -> Any:
    return (D @ E + D) * norm(A @ B @ c)


def by_numpy(A: Any, B: Any, c: Any, D: Any, E: Any) -> Any:
    size = np.linalg.norm(A @ B @ c[..., None], axis=(1, 2))
    return (D @ E + D) * size[:, None, None]


problems = 31744
random = np.random.default_rng(1)
A, B = random.uniform(-1, 1, (2, problems, 3, 3)).astype(np.float32)
c = random.uniform(-1, 1, (problems, 3)).astype(np.float32)
D, E = random.uniform(-1, 1, (2, problems, 5, 5)).astype(np.float32)

# %% [markdown]
# The plans: of one kernel for each operation, of those that are predicted to take least time, and
# the fastest of some that are tried now, with predicted and measured times.

# %%
modes = {
    mode: aperture.program(mode=mode)(listing1) for mode in ("none", "thesis", "planned", "tuned")
}
for mode in ("none", "planned", "tuned"):
    print(mode, modes[mode].explain(A, B, c, D, E), sep="\n")


# %%
def rate(function: Any) -> tuple[float, Any]:
    """Millions of problems a second, and the result."""
    result = function(A, B, c, D, E)  # makes the kernels
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        result = function(A, B, c, D, E)
        best = min(best, time.perf_counter() - begin)
    return problems / best / 1e6, result


results = []
for mode, program in modes.items():
    speed, result = rate(program)
    results.append(result)
    print(f"{mode}: {speed:.1f} million problems a second")
speed, expected = rate(by_numpy)
print(f"NumPy: {speed:.1f} million problems a second")
difference = np.abs(results[0] - expected).max() / np.abs(expected).max()
print(f"largest difference from NumPy, relative to the largest number: {difference:.1e}")
assert difference < 1e-5
same = all((result == results[0]).all() for result in results)
print("the same bits in all modes:", same)
