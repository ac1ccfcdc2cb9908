# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # What moves in a video
#
# Robust PCA splits frames into a background of low rank and sparse foreground: frame by frame as
# they come, or all at once.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import aperture

data = Path(__file__).parents[2] / "data" if "__file__" in globals() else Path("../../data")
frames = np.stack([plt.imread(path) for path in sorted((data / "clip/input").glob("*.pgm"))])
truth = np.stack([plt.imread(path) for path in sorted((data / "clip/groundtruth").glob("*.pgm"))])
print("frames, rows, columns:", *frames.shape)

# %% [markdown]
# ## Frame by frame
#
# As `cv2.BackgroundSubtractor`: masks are empty until enough frames are there to learn from.

# %%
subtract = aperture.BackgroundSubtractor("online", burn_in=12)
for frame in frames:
    mask = subtract.apply(frame)
fig, axes = plt.subplots(1, 3, figsize=(12, 3.5))
for ax, picture, title in zip(
    axes, (frames[-1], subtract.background, mask), ("frame", "background", "mask"), strict=True
):
    ax.imshow(picture, cmap="gray", vmin=0, vmax=255)
    ax.set_title(title)
plt.show()

# %% [markdown]
# ## All frames at once

# %%
parts = aperture.rpca(frames, tolerance=1e-4)
print(f"{parts.iterations} iterations, rank {parts.rank}, residual {parts.residual:.1e}")
moving = np.abs(frames - parts.low_rank) > 17
scored = truth[6:]
hits = np.sum(moving[6:] & (scored == 255))
precision = hits / np.sum(moving[6:] & ((scored == 255) | (scored == 0)))
recall = hits / np.sum(scored == 255)
print(f"precision {precision:.3f}, recall {recall:.3f}")
