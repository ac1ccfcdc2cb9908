# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Space-time adaptive processing as an array program
#
# Program 9 of Anderson 2014, line by line, and two that need less memory, beside `aperture.Stap`,
# which is written by hand, all on one thread. On a GPU, where there is one, times include copies.

# %%
import functools
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import aperture
from aperture import compose

CHANNELS, BINS, CELLS, BLOCK, TAPS = 4, 64, 512, 64, 3
cube, _ = aperture.simulate_clutter((CHANNELS, BINS, CELLS), cnr_db=20)
cube = cube.astype(np.complex64)  # the pulses stand for Doppler bins here
angles = np.radians(np.arange(-60, 61, 15))
across = np.exp(1j * np.pi * np.sin(angles)[:, None] * np.arange(CHANNELS))
steering = np.repeat(across, TAPS, axis=1).astype(np.complex64)

# %% [markdown]
# The names of the program are functions of `aperture.compose` with their parameters.

# %%
extract_snapshots = functools.partial(compose.extract_snapshots, block=BLOCK, taps=TAPS)
cgemm_batch = compose.rank_k
solve_batch = compose.solve_weights
gamma_weights = compose.gamma_weights
inner_products = functools.partial(compose.inner_products, bins=BINS, cells=CELLS)


@aperture.program(threads=1)
def stap(datacube: Any, steering: Any, scale: float) -> Any:
    snapshots = extract_snapshots(datacube)
    covariance = cgemm_batch(snapshots)
    covariance = scale * covariance
    weights = solve_batch(covariance, steering)
    gamma = gamma_weights(weights, steering)
    output = inner_products(snapshots, weights, gamma)
    return output


@aperture.program(threads=1)
def without_snapshots(datacube: Any, steering: Any) -> Any:
    covariance = compose.estimate_covariance(datacube, block=BLOCK, taps=TAPS)
    weights = compose.solve_weights(covariance, steering)
    return compose.apply_weights(datacube, steering, weights, block=BLOCK, taps=TAPS)


@aperture.program(threads=1)
def in_one_pass(datacube: Any, steering: Any) -> Any:
    return compose.adapt_cube(datacube, steering, block=BLOCK, taps=TAPS)


by_hand = aperture.Stap(
    cube.shape, steering=steering, domain="doppler", tdof=TAPS, training_block=BLOCK, loading=0,
    precision="fp32", threads=1,
)  # fmt: skip

# %%
print(stap.explain(cube, steering, 1 / BLOCK))


# %%
def milliseconds(call: Callable[[], Any]) -> float:
    call()
    return 1e3 * min(timeit.repeat(call, number=1))


ways: dict[str, Callable[[], Any]] = {
    "by hand": lambda: by_hand(cube).output,
    "program 9": lambda: stap(cube, steering, 1 / BLOCK),
    "without snapshots": lambda: without_snapshots(cube, steering),
    "in one pass": lambda: in_one_pass(cube, steering),
}
expected = ways["by hand"]()
largest = 0.0
for name, call in ways.items():
    difference = abs(call() - expected).max() / abs(expected).max()
    largest = max(largest, difference)
    print(
        f"{name}: {milliseconds(call):.1f} ms, largest difference {difference:.1e} of the largest"
    )
print("the output by hand, but for rounding:", bool(largest < 1e-4))
