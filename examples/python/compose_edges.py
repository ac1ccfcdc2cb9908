# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Edges of an image in two kernels
#
# Blur, gradients, their magnitude, a threshold and how many pixels exceed it, as an array program
# on one thread and by NumPy. Weights are powers of two, and so products are exact in both.

# %%
import timeit
from typing import Any

import numpy as np

import aperture
from aperture.compose import count, sqrt, where

blur = aperture.stencil(np.outer([1, 2, 1], [1, 2, 1]) / 16)
gx, gy = aperture.stencil([[-0.5, 0, 0.5]]), aperture.stencil([[-0.5], [0], [0.5]])


# %%
@aperture.program(device="cpu", threads=1)
def edges(image: Any, threshold: float) -> Any:
    smooth = blur * image
    across, down = gx * smooth, gy * smooth
    magnitude = sqrt(across * across + down * down)
    is_edge = magnitude > threshold
    return where(is_edge, magnitude, 0.0), count(is_edge)


def edges_by_numpy(image: Any, threshold: float) -> Any:
    def product(weights: Any, image: Any) -> Any:
        wide, (rows, columns) = np.pad(image, 1, mode="edge"), image.shape
        parts = zip(weights.offsets, weights.weights, strict=True)
        terms = [w * wide[1 + y :, 1 + x :][:rows, :columns] for (y, x), w in parts]
        return sum(terms[1:], terms[0])

    smooth = product(blur, image)
    across, down = product(gx, smooth), product(gy, smooth)
    magnitude = np.sqrt(across * across + down * down)
    return np.where(magnitude > threshold, magnitude, 0), np.sum(magnitude > threshold)


y, x = np.indices((1080, 1920), np.float32)
image = 128 + 90 * np.sin(x / 40) * np.cos(y / 25)
image[np.hypot(x - 900, y - 500) < 300] += 60
(found, number), (expected, as_many) = edges(image, 6.0), edges_by_numpy(image, 6.0)
ours = 1e3 * min(timeit.repeat(lambda: edges(image, 6.0), number=1))
others = 1e3 * min(timeit.repeat(lambda: edges_by_numpy(image, 6.0), number=1))
print(edges.explain(image, 6.0))
print(f"{number} pixels of edges: program {ours:.1f} ms, NumPy {others:.1f} ms")
print("the same bits:", bool((found == expected).all() and number == as_many))
