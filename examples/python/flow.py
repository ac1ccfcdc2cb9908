# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Optical flow of an image pair
#
# How far every pixel moves, how good that is, and where it cannot be trusted.

# %%
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import aperture

data = Path(__file__).parents[2] / "data" if "__file__" in globals() else Path("../../data")


def read_flo(path: Path) -> Any:
    """A flow as the Middlebury benchmark stores it: a tag, columns, rows, (u, v) of each pixel."""
    words = np.fromfile(path, "<f4")
    columns, rows = words[1:3].view("<i4")
    return words[3:].reshape(rows, columns, 2)


image0 = plt.imread(data / "pair1.pgm")
image1 = plt.imread(data / "pair2.pgm")
truth = read_flo(data / "pair.flo")

# %%
uv = aperture.flow(image0, image1)
print({name: round(value, 3) for name, value in aperture.flow_errors(uv, truth).items()})

# %%
fig, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
axes[0].imshow(image0, cmap="gray")
axes[0].set_title("image 0")
axes[1].imshow(aperture.flow_to_image(uv))
axes[1].set_title("flow")
error = axes[2].imshow(np.linalg.norm(uv - truth, axis=-1))
axes[2].set_title("error, pixels")
fig.colorbar(error, ax=axes[2])
plt.show()

# %% [markdown]
# ## Many pairs
#
# An estimator owns its workspace, so that every further pair of the same size costs only its
# computation. The backward flow shows which pixels can be trusted.

# %%
estimate = aperture.FlowEstimator(image0.shape, preset="accurate")
forward = estimate(image0, image1)
backward = estimate(image1, image0)
consistent = aperture.flow_consistency(forward, backward)
print(f"consistent: {100 * np.mean(consistent):.1f} % of the pixels")
errors = aperture.flow_errors(np.where(consistent[..., None], forward, np.nan), truth)
print(f"mean distance from the truth there: {errors['epe']:.3f} pixels")

# %% [markdown]
# Image 1, warped back by the flow, is image 0 but for noise:

# %%
warped = aperture.warp(image1, forward)
print("mean difference before:", np.abs(image1.astype(float) - image0).mean())
print("mean difference after: ", np.abs(warped - image0).mean())
