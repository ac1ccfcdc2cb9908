# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Lucas & Kanade as an array program
#
# Program 16 of Anderson 2014 with the gradients of both images, on one pyramid level, beside the
# method of `aperture.flow`, which is written by hand; both on one thread.

# %%
import timeit
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import aperture
from aperture.compose import lands_inside, lk_least_squares, warp, where

data = Path(__file__).parents[2] / "data" if "__file__" in globals() else Path("../../data")
image0, image1 = (plt.imread(data / f"pair{i}.pgm").astype(np.float32) for i in (1, 2))
half = np.array([1, -8, 0, 8, -1]) / 24
gx, gy = aperture.stencil(half[None, :]), aperture.stencil(half[:, None])


# %%
@aperture.program(device="cpu", threads=1)
def lucas_kanade(image0: Any, image1: Any, u: Any, v: Any, warps: int) -> Any:
    for _ in range(warps):
        warped = warp(image1, u, v)
        across = gx * image0 + gx * warped
        down = gy * image0 + gy * warped
        inside = lands_inside(u, v)
        across = where((abs(across) > 1e-4) & inside, across, 0.0)  # less is noise
        down = where((abs(down) > 1e-4) & inside, down, 0.0)
        du, dv = lk_least_squares(image0 - warped, across, down, window=9, regularisation=0.1)
        u, v = u + du, v + dv
    return u, v


by_hand = aperture.FlowEstimator(
    image0.shape, preset="thesis", method="lk", window=9, regularisation=0.1, warps=5, threads=1,
    levels=1, interpolation="bilinear", median=0, blur=0, texture=0, largest_update=0, device="cpu",
)  # fmt: skip
zero = np.zeros_like(image0)
given = (image0, image1, zero, zero, 5)
(u, v), uv = lucas_kanade(*given), by_hand(image0, image1)
ours = 1e3 * min(timeit.repeat(lambda: lucas_kanade(*given), number=1))
others = 1e3 * min(timeit.repeat(lambda: by_hand(image0, image1), number=1))
print(lucas_kanade.explain(*given))
difference = max(abs(u - uv[..., 0]).max(), abs(v - uv[..., 1]).max())
print(f"{u.shape[1]} x {u.shape[0]} pixels: program {ours:.1f} ms, by hand {others:.1f} ms")
print(f"largest displacement {abs(uv).max():.2f}, largest difference {difference:.1e}")
print("the flow by hand, but for rounding:", bool(difference < 1e-3))
