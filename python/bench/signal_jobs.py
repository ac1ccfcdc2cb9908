# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""STAP, optical flow, robust PCA and correlation as a user of each package would write them."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from contenders import Contender, Job, with_jax

import aperture


def complex_normal(random: np.random.Generator, *shape: int) -> Any:
    return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(np.complex64)


def stap(place: Any, size: str) -> Job:
    """The adaptive part: covariances of blocks of range cells, weights, outputs."""
    cube, suite = aperture.perfect_suite_cube(size)
    channels, cells = cube.shape[0], cube.shape[2]
    bins, block, taps = suite["doppler_bins"], suite["training_block"], suite["tdof"]
    order, sets = channels * taps, cells // block
    random = np.random.default_rng(1)
    spectrum = complex_normal(random, channels, bins, cells)
    steering = complex_normal(random, 16, order)

    def adapt(xp: Any, spectrum: Any, steering: Any, solve: Any = None) -> Any:
        # Bins k - 1, k, k + 1 of a channel are neighbours: [set, bin, channel * tap, cell].
        shifted = [xp.roll(spectrum, shift, 1) for shift in (1, 0, -1)]
        snapshots = xp.stack(shifted, 1).reshape(order, bins, sets, block)
        snapshots = xp.moveaxis(snapshots, 0, 2)
        hermitian = xp.conj(xp.swapaxes(snapshots, -1, -2))
        covariance = snapshots @ hermitian / block
        vectors = xp.broadcast_to(steering.T, (bins, sets, order, 16))
        weights = (solve or xp.linalg.solve)(covariance, vectors)
        gains = xp.abs((xp.conj(weights) * steering.T).sum(-2))
        outputs = xp.conj(xp.swapaxes(weights, -1, -2)) @ snapshots / gains[..., None]
        return xp.moveaxis(outputs, 2, 0).reshape(16, bins, cells)

    ours = aperture.Stap(
        spectrum.shape,
        steering=steering,
        domain="doppler",
        training_block=block,
        tdof=taps,
        precision="fp32",
        device="auto" if place.name == "gpu" else "cpu",
        threads=place.threads,
        check_finite=False,
    )
    there = place.array(spectrum)
    result = ours(there)
    contenders = [Contender("aperture", lambda: ours(there, out=result).output)]
    if place.name == "cpu":
        contenders.append(Contender("NumPy", lambda: adapt(np, spectrum, steering)))
    else:
        torch, vectors = place.torch, place.array(steering)
        contenders.append(Contender("PyTorch", lambda: adapt(torch, there, vectors)))
    contenders += with_jax(place, "JAX", adapt, spectrum, steering)

    def adapt_by_cholesky(xp: Any, spectrum: Any, steering: Any) -> Any:
        import jax.scipy.linalg

        def solve(a: Any, b: Any) -> Any:
            return jax.scipy.linalg.cho_solve((xp.linalg.cholesky(a), True), b)

        return adapt(xp, spectrum, steering, solve)

    contenders += with_jax(place, "JAX, Cholesky as ours", adapt_by_cholesky, spectrum, steering)
    return Job(f"STAP {size}", contenders, 2e-2)


def sweeps(place: Any, rows: int, columns: int, count: int) -> Job:
    """Horn and Schunck's iteration on the finest level; ours also computes the derivatives."""
    random = np.random.default_rng(2)
    image0 = (random.random((rows, columns)) * 255).astype(np.float32)
    image1 = np.roll(image0, 1, axis=1)
    alpha = 10.0
    estimate = aperture.FlowEstimator(
        (rows, columns),
        levels=1,
        warps=1,
        median=0,
        blur=0,
        largest_update=0,
        alpha=alpha,
        solver="block2x2",
        iterations=count,
        device="auto" if place.name == "gpu" else "cpu",
        threads=place.threads,
        check_finite=False,
    )
    images = [place.array(image) for image in (image0, image1)]
    out = estimate(*images)
    gradients = [random.normal(size=(rows, columns)).astype(np.float32) for _ in range(3)]

    def neighbours(xp: Any, field: Any) -> Any:
        up = xp.concatenate([field[:1], field[:-1]], 0)
        down = xp.concatenate([field[1:], field[-1:]], 0)
        left = xp.concatenate([field[:, :1], field[:, :-1]], 1)
        right = xp.concatenate([field[:, 1:], field[:, -1:]], 1)
        return 0.25 * (up + down + left + right)

    def sweep(xp: Any, u: Any, v: Any, ix: Any, iy: Any, it: Any, scale: Any) -> Any:
        u, v = neighbours(xp, u), neighbours(xp, v)
        step = (ix * u + iy * v + it) * scale
        return u - ix * step, v - iy * step

    def iterate(xp: Any, ix: Any, iy: Any, it: Any) -> Any:
        scale = 1 / (ix * ix + iy * iy + 4 * alpha**2)
        start = (xp.zeros_like(ix), xp.zeros_like(ix))
        for _ in range(count):
            start = sweep(xp, *start, ix, iy, it, scale)
        return start[0]

    contenders = [Contender("aperture", lambda: estimate(*images, out=out))]
    if place.name == "cpu":
        contenders.append(Contender("NumPy", lambda: iterate(np, *gradients)))
    else:
        torch = place.torch
        there = [place.array(gradient) for gradient in gradients]
        one = torch.compile(lambda *fields: sweep(torch, *fields))

        def compiled() -> Any:
            ix, iy, it = there
            scale = 1 / (ix * ix + iy * iy + 4 * alpha**2)
            u = v = torch.zeros_like(ix)
            for _ in range(count):
                u, v = one(u, v, ix, iy, it, scale)
            return u

        contenders.append(Contender("PyTorch compile", compiled))
    if place.has_jax:
        import jax

        @jax.jit
        def loop(ix: Any, iy: Any, it: Any) -> Any:
            scale = 1 / (ix * ix + iy * iy + 4 * alpha**2)
            start = (jax.numpy.zeros_like(ix),) * 2
            body = lambda _, uv: sweep(jax.numpy, *uv, ix, iy, it, scale)  # noqa: E731
            return jax.lax.fori_loop(0, count, body, start)[0]

        on_jax = [jax.numpy.asarray(gradient) for gradient in gradients]
        contenders.append(Contender("JAX", lambda: loop(*on_jax)))
    return Job(f"{count} sweeps {columns} x {rows}", contenders)


def robust_pca(place: Any, values: int, frames: int) -> Job:
    """One iteration of the inexact augmented Lagrange multipliers. Ours is a run of 30."""
    random = np.random.default_rng(3)
    matrix = (random.normal(size=(frames, 3)) @ random.normal(size=(3, values))).astype(np.float32)
    matrix += (random.random(matrix.shape) < 0.05) * 10
    iterations = 30
    there = place.array(matrix)
    device = "auto" if place.name == "gpu" else "cpu"

    def ours() -> Any:
        return aperture.rpca(
            there,
            tolerance=1e-6,
            max_iterations=iterations,
            device=device,
            threads=place.threads,
        ).low_rank

    def iterate(xp: Any, m: Any, multipliers: Any, sparse: Any) -> Any:
        weight, mu = 1 / np.sqrt(values), 1.0
        work = m - sparse + multipliers / mu
        eigenvalues, vectors = xp.linalg.eigh(work @ work.T)
        singular = xp.sqrt(xp.clip(eigenvalues, 0, None))
        shrunk = xp.clip(singular - 1 / mu, 0, None) / xp.clip(singular, 1e-6, None)
        low_rank = (vectors * shrunk) @ vectors.T @ work
        rest = m - low_rank + multipliers / mu
        sparse = xp.sign(rest) * xp.clip(xp.abs(rest) - weight / mu, 0, None)
        residual = m - low_rank - sparse
        return multipliers + mu * residual, sparse, (residual * residual).sum()

    contenders = [Contender("aperture", ours, iterations)]
    if place.name == "cpu":
        zero = np.zeros_like(matrix)
        contenders.append(Contender("NumPy", lambda: iterate(np, matrix, zero, zero)[0]))
    else:
        torch = place.torch
        zeros = torch.zeros_like(there)
        contenders.append(Contender("PyTorch", lambda: iterate(torch, there, zeros, zeros)[0]))
        compiled = torch.compile(lambda *arrays: iterate(torch, *arrays))
        contenders.append(Contender("PyTorch compile", lambda: compiled(there, zeros, zeros)[0]))
    return Job(f"RPCA iteration {values} x {frames}", contenders)


def correlation(place: Any, side: int, planes: int) -> Job:
    """Sums of products of planes with themselves, one sign of displacements up to half."""
    random = np.random.default_rng(4)
    image = random.normal(size=(planes, side, side)).astype(np.float32)
    offsets = (side // 2, side // 2)
    device = "auto" if place.name == "gpu" else "cpu"
    there = place.array(image)

    def ours() -> Any:
        return aperture.correlate(
            there,
            planes=None,
            normalize="none",
            offsets=offsets,
            device=device,
            threads=place.threads,
        ).surface

    def transform(xp: Any, image: Any) -> Any:
        size = (side + offsets[0], side + offsets[1])
        spectrum = xp.fft.rfft2(image, size)
        power = (spectrum * xp.conj(spectrum)).sum(0)
        return xp.fft.irfft2(power, size)[: offsets[0], : offsets[1]]

    contenders = [Contender("aperture", ours)]
    if place.name == "cpu":
        contenders.append(Contender("NumPy", lambda: transform(np, image)))
        if importlib.util.find_spec("scipy"):
            import scipy.fft

            workers = place.threads or None
            module = type("SciPy", (), {"fft": scipy.fft, "conj": np.conj})

            def by_scipy() -> Any:
                with scipy.fft.set_workers(workers or 1):
                    return transform(module, image)

            contenders.append(Contender("SciPy", by_scipy))
    else:
        contenders.append(Contender("PyTorch", lambda: transform(place.torch, there)))
    contenders += with_jax(place, "JAX", transform, image)
    return Job(f"correlation {planes} x {side} x {side}", contenders, 1e-4)
