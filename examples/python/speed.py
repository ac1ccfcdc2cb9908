# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # How fast
#
# The adaptive part of STAP on the small cube of the PERFECT suite, with the same arrays, results
# and precision, by what a Python user would write otherwise. Libraries that are not installed are
# left out. `python/bench` has more work, larger sizes and GPUs.

# %%
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import aperture

cube, parameters = aperture.perfect_suite_cube("small")
bins, block, taps = (parameters[name] for name in ("doppler_bins", "training_block", "tdof"))
spectrum = np.fft.fft(cube, bins, axis=1).astype(np.complex64)
channels, _, cells = spectrum.shape
random = np.random.default_rng(1)
shape = (16, channels * taps)
steering = (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(np.complex64)


def best_of(call: Callable[[], object], times: int = 5) -> float:
    """Milliseconds of the fastest call, after one that warms up."""
    call()
    fastest = np.inf
    for _ in range(times):
        start = time.perf_counter()
        call()
        fastest = min(fastest, time.perf_counter() - start)
    return 1e3 * fastest


# %%
def adapt_by_definition(np: Any, spectrum: Any, steering: Any) -> Any:
    """Covariances of blocks of range cells, weights, outputs: [vector, bin, cell]."""
    neighbours = np.stack([np.roll(spectrum, 1 - tap, axis=1) for tap in range(taps)], axis=1)
    snapshots = neighbours.reshape(channels * taps, bins, cells // block, block)
    snapshots = snapshots.transpose(1, 2, 0, 3)
    covariance = snapshots @ snapshots.conj().swapaxes(-1, -2) / block
    weights = np.linalg.solve(covariance, steering.T[None, None])
    gains = np.abs(np.einsum("kbnd,dn->kbd", weights.conj(), steering))
    outputs = weights.conj().swapaxes(-1, -2) @ snapshots / gains[..., None]
    return outputs.transpose(2, 0, 1, 3).reshape(len(steering), bins, cells)


ours = aperture.Stap(
    spectrum.shape,
    steering=steering,
    domain="doppler",
    training_block=block,
    tdof=taps,
    precision="fp32",
    device="cpu",
)
result = ours(spectrum)
milliseconds = {"aperture": best_of(lambda: ours(spectrum, out=result))}
milliseconds["NumPy"] = best_of(lambda: adapt_by_definition(np, spectrum, steering))
difference = np.abs(adapt_by_definition(np, spectrum, steering) - result.output).max()
print(f"largest difference: {difference / np.abs(result.output).max():.1e} of the largest output")

# %%
if importlib.util.find_spec("jax"):
    import jax

    on_jax = jax.jit(lambda *arrays: adapt_by_definition(jax.numpy, *arrays))
    arrays = jax.numpy.asarray(spectrum), jax.numpy.asarray(steering)
    milliseconds["JAX"] = best_of(lambda: on_jax(*arrays).block_until_ready())

# %%
for name, taken in milliseconds.items():
    print(f"{name:10} {taken:8.2f} ms {taken / milliseconds['aperture']:6.1f} x")
