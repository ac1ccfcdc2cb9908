# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Tall QR, batches of small matrices and Kalman filters."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from contenders import Call, Contender, Job, with_jax

import aperture


def tall_qr(place: Any, rows: int, columns: int) -> Job:
    """R of a tall matrix."""
    random = np.random.default_rng(5)
    matrix = random.normal(size=(rows, columns)).astype(np.float32)
    there = place.array(matrix)
    device = "auto" if place.name == "gpu" else "cpu"

    def ours(method: str) -> Call:
        return lambda: abs(
            aperture.qr(there, method=method, mode="r", device=device, threads=place.threads)
        )

    contenders = [Contender("aperture", ours("tsqr"))]
    contenders.append(Contender("aperture, cholesky2", ours("cholesky2")))
    if place.name == "cpu":
        contenders.append(Contender("NumPy", lambda: abs(np.linalg.qr(matrix, mode="r"))))
    else:
        torch = place.torch
        contenders.append(Contender("PyTorch", lambda: torch.linalg.qr(there, mode="r")[1].abs()))
    return Job(f"R of {rows} x {columns}", contenders, 1e-3)


def batch(place: Any, task: str, problems: int, order: int) -> Job:
    """The factors, solutions or inverses of many small matrices."""
    random = np.random.default_rng(6)
    few = random.normal(size=(61, order, order)).astype(np.float32)
    few = few @ few.swapaxes(1, 2) / order + np.eye(order, dtype=np.float32)
    a = place.array(np.resize(few, (problems, order, order)))
    b = place.array(random.normal(size=(problems, order, 1)).astype(np.float32))
    ours = {"device": "auto" if place.name == "gpu" else "cpu", "threads": place.threads}
    dense, given = aperture.dense, (a, b) if task == "solve" else (a,)
    contenders = [Contender("aperture", lambda: getattr(dense, task)(*given, **ours)[0])]
    if task == "solve":
        by_cholesky = lambda: dense.solve(a, b, assume_a="pos", **ours)[0]  # noqa: E731
        contenders.append(Contender("aperture, Cholesky", by_cholesky))
    if place.name == "gpu":
        # Without the check of `info`, which would wait for the GPU.
        unchecked = getattr(place.torch.linalg, f"{task}_ex")
        contenders.append(Contender("PyTorch", lambda: unchecked(*given)[0]))
    else:
        contenders.append(Contender("NumPy", lambda: getattr(np.linalg, task)(*given)))
    contenders += with_jax(
        place,
        "JAX",
        lambda xp, *there: getattr(xp.linalg, task)(*there),
        *map(place.to_numpy, given),
    )
    return Job(f"{task} {problems} x {order} x {order}", contenders, 1e-3)


KALMAN_BODY = """
T cross[5][2], gain[5][2], s[2][2], innovation[2];
const T h[2][5] = {{1, 0, 0, 0, 0}, {0, 1, 0, 0, 1}};
for (int m = 0; m < 2; ++m) {
    innovation[m] = z(m);
    for (int i = 0; i < 5; ++i) {
        innovation[m] -= h[m][i] * x(i);
        cross[i][m] = 0;
        for (int k = 0; k < 5; ++k) cross[i][m] += p(i, k) * h[m][k];
    }
}
for (int m = 0; m < 2; ++m) {
    for (int n = 0; n < 2; ++n) {
        s[m][n] = m == n ? r : 0;
        for (int k = 0; k < 5; ++k) s[m][n] += h[m][k] * cross[k][n];
    }
}
const T scale = 1 / (s[0][0] * s[1][1] - s[0][1] * s[1][0]);
for (int i = 0; i < 5; ++i) {
    gain[i][0] = (cross[i][0] * s[1][1] - cross[i][1] * s[1][0]) * scale;
    gain[i][1] = (cross[i][1] * s[0][0] - cross[i][0] * s[0][1]) * scale;
    new_x(i) = x(i) + gain[i][0] * innovation[0] + gain[i][1] * innovation[1];
}
for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
        new_p(i, j) = p(i, j) - gain[i][0] * cross[j][0] - gain[i][1] * cross[j][1];
    }
}
"""


def kalman(place: Any, filters: int) -> Job:
    """Updates of Kalman filters with five states by two measurements, on a GPU."""
    random = np.random.default_rng(7)
    root = random.normal(size=(1009, 5, 5))
    covariance = np.resize(root @ root.swapaxes(1, 2) / 5 + np.eye(5), (filters, 5, 5))
    covariance = covariance.astype(np.float32)
    state = random.normal(size=(filters, 5)).astype(np.float32)
    measured = random.normal(size=(filters, 2)).astype(np.float32)
    observes = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 1]], np.float32)
    noise = 0.25 * np.eye(2, dtype=np.float32)
    arrays = (state, covariance, measured, observes, noise)
    there = [place.array(one) for one in arrays]

    def by_products(xp: Any, x: Any, p: Any, z: Any, h: Any, r: Any) -> Any:
        """As one would write it."""
        cross = p @ h.T
        s = h @ cross + r
        gain = cross @ xp.linalg.inv(s)
        innovation = z - x @ h.T
        return x + (gain @ innovation[..., None])[..., 0], p - gain @ cross.swapaxes(-1, -2)

    def by_sums(xp: Any, x: Any, p: Any, z: Any, h: Any, r: Any) -> Any:
        """What a compiler can join to one loop over the filters."""
        cross = (p[:, :, None, :] * h).sum(-1)
        s = (h[:, None, :] * cross.swapaxes(1, 2)[:, None]).sum(-1) + r
        s00, s01, s11 = s[:, 0, 0], s[:, 0, 1], s[:, 1, 1]
        scale = (1 / (s00 * s11 - s01 * s01))[:, None]
        first = (cross[..., 0] * s11[:, None] - cross[..., 1] * s01[:, None]) * scale
        second = (cross[..., 1] * s00[:, None] - cross[..., 0] * s01[:, None]) * scale
        innovation = z - (x[:, None, :] * h).sum(-1)
        new_x = x + first * innovation[:, :1] + second * innovation[:, 1:]
        update = first[:, :, None] * cross[:, None, :, 0]
        return new_x, p - update - second[:, :, None] * cross[:, None, :, 1]

    def ours() -> Any:
        outputs = {"new_x": (5,), "new_p": (5, 5)}
        given = dict(zip(("x", "p", "z"), there, strict=False))
        found = aperture.dense.for_each(KALMAN_BODY, given, outputs, parameters={"r": 0.25})
        return tuple(found.values())

    torch = place.torch
    contenders = [Contender("aperture", ours)]
    for words, update in (("products", by_products), ("sums", by_sums)):
        call = functools.partial(update, torch)
        contenders.append(Contender(f"PyTorch, {words}", functools.partial(call, *there)))
        for mode in ("default", "max-autotune-no-cudagraphs"):
            compiled = torch.compile(call, mode=mode)
            name = f"PyTorch compile {mode}, {words}"
            contenders.append(Contender(name, functools.partial(compiled, *there)))
    contenders += with_jax(place, "JAX, sums", by_sums, *arrays)
    return Job(f"{filters} Kalman updates", contenders, 1e-3)
