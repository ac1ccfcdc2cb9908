# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""The package beside what a Python user would write otherwise, on the same work.

    python python/bench/peers.py --device cpu --csv peers.csv
    python python/bench/peers.py --device gpu --job stap

Every peer that is installed computes the same result from the same arrays in fp32; differences from
ours are checked. Times are the fastest of several means of calls back to back: on a GPU between two
events of the stream, with all arrays on it. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import csv
import functools
import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import aperture

Call = Callable[[], Any]


@dataclass
class Contender:
    """Who computes a job: ``call`` returns the result, ``units`` of work are one of the table's."""

    who: str
    call: Call
    units: float = 1


@dataclass
class Job:
    """Work that several contenders do, ours first."""

    name: str
    contenders: list[Contender]
    tolerance: float | None = None
    """Of the largest difference over the largest value; None if results are not comparable."""


def wait_for(result: Any) -> bool:
    """Whether a result is one of JAX, which is then complete."""
    last = result[-1] if isinstance(result, tuple) else result
    if not hasattr(last, "block_until_ready"):
        return False
    last.block_until_ready()
    return True


class Host:
    """Arrays of NumPy, and of JAX on the CPU."""

    name = "cpu"

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.has_jax = importlib.util.find_spec("jax") is not None

    def array(self, values: Any) -> Any:
        return values

    def to_numpy(self, values: Any) -> Any:
        """A result, or all of a call's results one after the other."""
        if isinstance(values, tuple):
            return np.concatenate([self.to_numpy(one).ravel() for one in values])
        return np.asarray(values.cpu() if hasattr(values, "cpu") else values)

    def time(self, call: Call, calls: int, repetitions: int) -> float:
        fastest = np.inf
        for _ in range(repetitions):
            start = time.perf_counter()
            for _ in range(calls):
                result = call()
            wait_for(result)
            fastest = min(fastest, (time.perf_counter() - start) / calls)
        return float(fastest)


class Gpu(Host):
    """Arrays of PyTorch and JAX on a GPU."""

    name = "gpu"

    def __init__(self) -> None:
        super().__init__(0)
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        self.torch = torch

    def array(self, values: Any) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(values)).cuda()

    def time(self, call: Call, calls: int, repetitions: int) -> float:
        if wait_for(call()):
            return super().time(call, calls, repetitions)
        fastest = np.inf
        for _ in range(repetitions):
            start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(calls):
                call()
            end.record()
            end.synchronize()
            fastest = min(fastest, 1e-3 * start.elapsed_time(end) / calls)
        return float(fastest)


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


def with_jax(place: Any, name: str, function: Callable[..., Any], *arrays: Any) -> list[Contender]:
    """The function of an array module and arrays, compiled by JAX."""
    if not place.has_jax:
        return []
    import jax

    jax.config.update("jax_default_matmul_precision", "highest")
    compiled = jax.jit(lambda *there: function(jax.numpy, *there))
    there = [jax.numpy.asarray(array) for array in arrays]
    return [Contender(name, lambda: compiled(*there))]


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


JOBS = ("stap", "sweeps", "rpca", "correlation", "qr", "kalman", "batch")


def jobs(place: Any, wanted: str) -> Iterator[Job]:
    gpu = place.name == "gpu"
    makers: list[tuple[str, Call]] = [
        ("stap", lambda: stap(place, "medium")),
        ("stap", lambda: stap(place, "large")),
        ("sweeps", lambda: sweeps(place, 388, 584, 400)),
        ("rpca", lambda: robust_pca(place, 110592, 100)),
        ("correlation", lambda: correlation(place, 500, 4)),
        ("qr", lambda: tall_qr(place, 1_000_000 if gpu else 100_000, 192)),
    ]
    if gpu:
        makers.append(("kalman", lambda: kalman(place, 1_000_000)))
    for task in ("cholesky", "solve", "inv"):
        for n in (8, 16, 32):
            makers.append(("batch", functools.partial(batch, place, task, 100_000, n)))
    for name, make in makers:
        if wanted in ("", name):
            yield make()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads of ours; 0: all")
    parser.add_argument("--job", choices=JOBS, default="")
    parser.add_argument("--csv", metavar="FILE", help="also write the table there")
    arguments = parser.parse_args()
    place: Any = Gpu() if arguments.device == "gpu" else Host(arguments.threads)
    described = aperture.gpu_info()[0] if place.name == "gpu" else aperture.cpu_info()
    print(f"aperture {aperture.__version__} on {described['name']}\n")
    print("| job | by | ms | ours is faster |\n|---|---|---|---|")
    rows: list[tuple[str, str, float, float]] = []
    for job in jobs(place, arguments.job):
        reference = place.to_numpy(job.contenders[0].call())
        ours = 0.0
        for contender in job.contenders:
            result = place.to_numpy(contender.call())
            if job.tolerance is not None:
                difference = np.abs(result - reference).max() / np.abs(reference).max()
                if not difference < job.tolerance:
                    raise SystemExit(f"{job.name}: {contender.who} differs by {difference:.1e}")
            start = time.perf_counter()
            # JAX returns before it is done.
            place.to_numpy(contender.call())
            once = max(time.perf_counter() - start, 1e-6)
            calls = int(np.clip(0.1 / once, 1, 200))
            seconds = place.time(contender.call, calls, 5) / contender.units
            ours = ours or seconds
            rows.append((job.name, contender.who, 1e3 * seconds, seconds / ours))
            print(
                f"| {job.name} | {contender.who} | {1e3 * seconds:.4g} | {seconds / ours:.1f} |",
                flush=True,
            )
    if arguments.csv:
        with open(arguments.csv, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("job", "by", "milliseconds", "ours is faster"))
            writer.writerows(rows)


if __name__ == "__main__":
    main()
