# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Statistics of an image, and the shift between two
#
# Spatial correlation of colour and orientation (Bordawekar et al. 2010): how far an image is like
# itself, and where one image lies in another.

# %%
from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np

import aperture

data = Path(__file__).parents[2] / "data" if "__file__" in globals() else Path("../../data")
image = plt.imread(data / "pair1.pgm")

# %%
own = aperture.correlate(image, planes="grey")
print(f"method {own.method}; correlation length in x and y, pixels:", own.lengths)
plt.imshow(own.surface, extent=(0, own.surface.shape[1], own.surface.shape[0], 0))
plt.colorbar(label="correlation")
plt.xlabel("dx, pixels")
plt.ylabel("dy, pixels")
plt.show()

# %% [markdown]
# ## Two images
#
# The second file holds the same texture, moved by 8 pixels to the right and 5 up. Pearson's r over
# the pixels that overlap does not depend on brightness and contrast.

# %%
with h5py.File(data / "planes1.h5") as first, h5py.File(data / "planes2.h5") as second:
    a, b = first["planes"][:], second["planes"][:]
pair = aperture.correlate(a, b, planes=None, signed=True, estimator="pearson")
peak = pair.peak
assert peak is not None
print(f"peak of {peak.value:.3f} at dy {peak.dy:.2f}, dx {peak.dx:.2f} pixels")
assert np.hypot(peak.dy - 5, peak.dx + 8) < 1
