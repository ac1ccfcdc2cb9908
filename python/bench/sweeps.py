# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What a sweep takes beside a call for each of its values, and beside JAX's jit(vmap).

    python python/bench/sweeps.py --device cpu --threads 1
    python python/bench/sweeps.py --device gpu

Milliseconds, the fastest of several; calls are made for some of many values and counted for all.
The last row is a sweep whose values take different numbers of steps, beside one whose values all
take as many as these on average. JAX computes where its own settings say (JAX_PLATFORMS), on all
processors; without JAX its columns are missing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import aperture
from aperture import compose

MEAN = aperture.stencil({(-1, 0): 0.25, (0, -1): 0.25, (0, 1): 0.25, (1, 0): 0.25})


def square_root(a: Any) -> Any:
    x = 0.5 * (a + 1)
    for _ in range(6):
        x = 0.5 * (x + a / x)
    return x


def cube_root(a: Any) -> Any:
    x = a + 1.0
    steps = 0.0
    while abs(x * x * x - a) > 1e-12 * a:
        x = x - (x * x * x - a) / (3 * x * x)
        steps = steps + 1
    return x, steps


def loaded(R: compose.Batch, eye: compose.Batch, b: compose.Batch, loading: Any) -> Any:
    return compose.solve(compose.rank_k(R) + loading * eye, b, matrix="positive_definite")


def smoothed(image: Any, x: Any, sweeps: int, alpha: Any) -> Any:
    weight = compose.exp(-(image * image))
    for _ in range(sweeps):
        x = weight * (MEAN * x) + alpha * image
    return x


def horn_schunck(Ix: Any, Iy: Any, It: Any, sweeps: int, alpha: Any) -> Any:
    u, v = Ix * 0, Ix * 0
    for _ in range(sweeps):
        mean_u, mean_v = MEAN * u, MEAN * v
        ratio = (Ix * mean_u + Iy * mean_v + It) / (alpha * alpha + (Ix * Ix + Iy * Iy))
        u, v = mean_u - Ix * ratio, mean_v - Iy * ratio
    return u, v


def horn_schunck_by_jax(Ix: Any, Iy: Any, It: Any, sweeps: int, alpha: Any) -> Any:
    import jax

    def mean(x: Any) -> Any:
        x = jax.numpy.pad(x, 1)
        return 0.25 * (x[:-2, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1])

    def step(_: int, state: Any) -> Any:
        u, v = map(mean, state)
        ratio = (Ix * u + Iy * v + It) / (alpha * alpha + (Ix * Ix + Iy * Iy))
        return u - Ix * ratio, v - Iy * ratio

    return jax.lax.fori_loop(0, sweeps, step, (Ix * 0, Ix * 0))


def jit_vmap(function: Callable[..., Any], *args: Any) -> Callable[[Any], Any] | None:
    """The function for all values of its last parameter by JAX, if it is there."""
    try:
        import jax
    except ImportError:
        return None
    arrays = [jax.numpy.asarray(one) if isinstance(one, np.ndarray) else one for one in args]
    mapped = jax.jit(jax.vmap(lambda value: function(*arrays, value)))
    return lambda values: jax.block_until_ready(mapped(jax.numpy.asarray(values, np.float32)))


def gpu_place(device: str) -> tuple[Callable[[Any], Any], Callable[[], None]]:
    """What puts an array where programs run, as PyTorch's if that is a GPU, and what waits."""
    if device != "cpu" and aperture.gpu_info():
        import torch

        return lambda one: torch.from_numpy(one).cuda(), torch.cuda.synchronize
    return lambda one: one, lambda: None


def milliseconds(call: Callable[[], Any], repetitions: int = 10) -> float:
    call()
    fastest = np.inf
    for _ in range(repetitions):
        start = time.perf_counter()
        call()
        fastest = min(fastest, time.perf_counter() - start)
    return 1e3 * float(fastest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="auto", help="auto, cpu, gpu or gpu:N")
    parser.add_argument("--threads", type=int, help="of a CPU")
    options = parser.parse_args()

    def program(function: Callable[..., Any]) -> Any:
        return aperture.program(device=options.device, threads=options.threads)(function)

    place, wait = gpu_place(options.device)

    def report(
        name: str,
        function: Callable[..., Any],
        *args: Any,
        by_jax: Callable[..., Any] | None = None,
        **values: Any,
    ) -> None:
        ((parameter, all_values),) = values.items()
        of = program(function)
        given = [place(one) if isinstance(one, np.ndarray) else one for one in args]
        some = all_values[:: max(1, len(all_values) // 256)].tolist()

        def call_some() -> None:
            for one in some:
                of(*given, **{parameter: one})
            wait()

        sweep = milliseconds(lambda: of.sweep(*given, **values))
        calls = milliseconds(call_some, 3) * len(all_values) / len(some)
        row = f"{name:42}{len(all_values):8}{sweep:10.2f}{calls:10.1f}{calls / sweep:8.1f}"
        if by_jax is not None and (mapped := jit_vmap(by_jax, *args)):
            vmap = milliseconds(lambda: mapped(all_values), 3)
            row += f"{vmap:10.2f}{vmap / sweep:8.1f}"
        print(row, flush=True)

    generator = np.random.default_rng(1)
    print(f"{'':42}{'values':>8}{'sweep':>10}{'calls':>10}{'times':>8}{'vmap':>10}{'times':>8}")
    a = np.geomspace(1e-3, 1e3, 100_000)
    report("square roots, 6 steps", square_root, a=a, by_jax=square_root)
    # On a GPU at most 32 values that go their own ways run at a time.
    a = np.geomspace(1e-6, 1e6, 100_000 if options.device == "cpu" else 1000)
    report("cube roots, until they are exact", cube_root, a=a)
    for problems, order in ((1, 4), (4, 8), (64, 8)):
        R = generator.normal(size=(problems, order, order)).astype(np.float32)
        b = generator.normal(size=(problems, order)).astype(np.float32)
        eye = np.repeat(np.eye(order, dtype=np.float32)[None], problems, 0)
        name = f"loadings of {problems} systems of order {order}"
        report(name, loaded, R, eye, b, loading=np.geomspace(1e-3, 1, 1000))
    for rows, columns in ((60, 80), (240, 320), (480, 640)):
        image, x = generator.normal(size=(2, rows, columns)).astype(np.float32)
        name = f"20 iterations on {columns} x {rows} pixels"
        report(name, smoothed, image, x, 20, alpha=np.geomspace(0.1, 1, 32))
    for rows, columns in ((60, 80), (240, 320), (388, 584)):
        gradients = generator.normal(size=(3, rows, columns)).astype(np.float32)
        name = f"Horn-Schunck, 100 sweeps, {columns} x {rows}"
        alphas = np.geomspace(1, 64, 32)
        report(name, horn_schunck, *gradients, 100, alpha=alphas, by_jax=horn_schunck_by_jax)

    roots = program(cube_root)
    mixed = generator.permutation(a)
    _, steps = roots.sweep(a=mixed)
    mean = steps.mean()
    same = np.full(a.size, a[np.argmin(abs(roots.sweep(a=a)[1] - np.rint(mean)))])
    of_mean = milliseconds(lambda: roots.sweep(a=same)) * mean / roots.sweep(a=same)[1][0]
    ratio = milliseconds(lambda: roots.sweep(a=mixed)) / of_mean
    print(
        f"cube roots of {steps.min():.0f} to {steps.max():.0f} steps, {mean:.1f} on average: "
        f"{ratio:.2f} of the time of as many that all take {mean:.1f}"
    )


if __name__ == "__main__":
    main()
