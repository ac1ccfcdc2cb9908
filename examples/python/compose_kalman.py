# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # A bank of Kalman filters
#
# Parameters with the annotation `Batch` are a small matrix or vector for each filter. A step,
# prediction and update, is one kernel, beside NumPy with `np.linalg`, both on one thread. On a GPU,
# where there is one, times include copies.

# %%
import time
from typing import Any

import numpy as np

import aperture
from aperture.compose import Batch, matrix_multiply, solve, transposed


@aperture.program(threads=1)
def step(x: Batch, P: Batch, z: Batch, F: Batch, Q: Batch, H: Batch, R: Batch) -> Any:
    x = F @ x
    P = matrix_multiply(F @ P, F, b="transposed") + Q
    cross = matrix_multiply(P, H, b="transposed")
    S = H @ cross + R
    gain = transposed(solve(S, transposed(cross), matrix="positive_definite"))
    P = P - gain @ (H @ P)
    return x + gain @ (z - H @ x), 0.5 * (P + transposed(P))  # or rounding grows


def step_by_numpy(x: Any, P: Any, z: Any, F: Any, Q: Any, H: Any, R: Any) -> Any:
    x = (F @ x[..., None])[..., 0]
    P = F @ P @ F.swapaxes(1, 2) + Q
    cross = P @ H.swapaxes(1, 2)
    S = H @ cross + R
    gain = np.linalg.solve(S, cross.swapaxes(1, 2)).swapaxes(1, 2)
    P = P - gain @ (H @ P)
    innovation = z[..., None] - H @ x[..., None]
    return x + (gain @ innovation)[..., 0], 0.5 * (P + P.swapaxes(1, 2))


# %% [markdown]
# Objects move in a plane at nearly constant velocity: x, y and their velocities. Each has a sensor
# of its own, which is turned and measures in its own intervals.

# %%
filters, steps = 5000, 30
rng = np.random.default_rng(1)
interval, angle = rng.uniform(0.5, 1.5, filters), rng.uniform(0, 2 * np.pi, filters)
F = np.tile(np.eye(4), (filters, 1, 1))
F[:, 0, 2] = F[:, 1, 3] = interval
G = interval[:, None, None] * np.tile(np.eye(2), (filters, 2, 1))
G[:, :2] *= interval[:, None, None] / 2
Q = 0.01 * G @ G.swapaxes(1, 2)
H = np.zeros((filters, 2, 4))
H[:, 0, 0] = H[:, 1, 1] = np.cos(angle)
H[:, 0, 1], H[:, 1, 0] = np.sin(angle), -np.sin(angle)
R = np.tile(0.25 * np.eye(2), (filters, 1, 1))

truth, measured = rng.normal(size=(filters, 4)), []
for _ in range(steps):
    truth = np.einsum("nij,nj->ni", F, truth)
    truth += 0.1 * np.einsum("nij,nj->ni", G, rng.normal(size=(filters, 2)))
    z = np.einsum("nij,nj->ni", H, truth) + 0.5 * rng.normal(size=(filters, 2))
    measured.append(z.astype(np.float32))
model = [one.astype(np.float32) for one in (F, Q, H, R)]
start = np.zeros((filters, 4), np.float32), np.tile(np.eye(4, dtype=np.float32), (filters, 1, 1))


# %%
def tracked(one_step: Any) -> tuple[Any, Any, float]:
    state = one_step(*start, measured[0], *model)  # makes the kernel
    begin, state = time.perf_counter(), start
    for z in measured:
        state = one_step(*state, z, *model)
    return *state, filters * steps / (time.perf_counter() - begin)


print(step.explain(*start, measured[0], *model))
x, P, rate = tracked(step)
x_numpy, P_numpy, rate_numpy = tracked(step_by_numpy)
print(f"steps a second: {rate / 1e6:.2f} million, NumPy {rate_numpy / 1e6:.2f} million")
differences = abs(x - x_numpy).max() / abs(x_numpy).max(), abs(P - P_numpy).max() / abs(P).max()
print(f"largest differences, relative to the largest: {differences[0]:.1e}, {differences[1]:.1e}")
error = np.hypot(*(x - truth)[:, :2].T).mean()
noise = np.hypot(*(measured[-1] - np.einsum("nij,nj->ni", H, truth)).T).mean()
print(f"mean distance from the truth {error:.2f}, of measurements {noise:.2f}")
print("the estimates by NumPy, but for rounding:", max(differences) < 1e-4)
