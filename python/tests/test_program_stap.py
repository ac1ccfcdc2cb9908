# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Stages of STAP in programs, beside plain formulas and the package's own STAP."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import in_all_ways, same_bits

import aperture
from aperture import compose

CHANNELS, PULSES, CELLS, BLOCK, TAPS = 3, 8, 50, 20, 3
ORDER, BLOCKS = CHANNELS * TAPS, 3


def samples(*shape: int, seed: int = 1) -> Any:
    parts = np.random.default_rng(seed).normal(size=(2, *shape))
    return (parts[0] + 1j * parts[1]).astype(np.complex64)


def staged(pulses: Any, steering: Any) -> Any:
    cube = compose.doppler(pulses)
    snapshots = compose.extract_snapshots(cube, block=BLOCK, taps=TAPS)
    covariance = compose.outer_products(snapshots, loading=0.5)
    weights = compose.solve_weights(covariance, steering)
    gamma = compose.gamma_weights(weights, steering)
    output = compose.inner_products(snapshots, weights, gamma, bins=PULSES, cells=CELLS)
    return cube, snapshots, covariance, weights, gamma, output


def without_snapshots(cube: Any, steering: Any) -> Any:
    covariance = compose.estimate_covariance(cube, block=BLOCK, taps=TAPS, loading=0.5)
    weights = compose.solve_weights(covariance, steering)
    output = compose.apply_weights(cube, steering, weights, block=BLOCK, taps=TAPS)
    relative = compose.estimate_covariance(cube, block=BLOCK, taps=TAPS, relative_loading=0.5)
    return covariance, weights, output, relative


def in_one_pass(cube: Any, steering: Any) -> Any:
    return (
        compose.adapt_cube(cube, steering, block=BLOCK, taps=TAPS, loading=0.5),
        compose.adapt_cube(cube, steering, block=BLOCK, taps=TAPS, relative_loading=0.5),
        compose.adapt_cube(
            cube, steering, block=BLOCK, taps=TAPS, loading=0.5, solver="gauss_jordan"
        ),
    )


def close(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    assert found.shape == expected.shape
    assert abs(found - expected).max() <= tolerance * abs(expected).max()


def test_stages_are_their_formulas() -> None:
    pulses, steering = samples(CHANNELS, PULSES, CELLS), samples(2, ORDER, seed=2)
    cube, snapshots, covariance, weights, gamma, output = in_all_ways(staged, pulses, steering)
    close(cube, np.fft.fft(pulses.astype(np.complex128), axis=1))
    # The last block ends with the cube.
    starts = [0, BLOCK, CELLS - BLOCK]
    expected = np.stack(
        [
            [
                cube[channel, (k + tap - 1) % PULSES, start : start + BLOCK]
                for channel in range(CHANNELS)
                for tap in range(TAPS)
            ]
            for k in range(PULSES)
            for start in starts
        ]
    )
    same_bits(snapshots, expected)
    S, v = expected.astype(np.complex128), steering.astype(np.complex128)
    R = S @ S.conj().swapaxes(1, 2) / BLOCK + 0.5 * np.eye(ORDER)
    close(covariance, R)
    w = (np.linalg.inv(R) @ v.T).swapaxes(1, 2)
    close(weights, w)
    inner = np.einsum("pdi,di->pd", w.conj(), v)
    close(gamma, 1 / abs(inner))
    products = np.einsum("pdi,pic->pdc", w.conj(), S) / abs(inner)[:, :, None]
    by_cell = np.empty((2, PULSES, CELLS), np.complex128)
    # Cells of two blocks belong to the first.
    for block in (2, 1, 0):
        cells = slice(starts[block], starts[block] + BLOCK)
        by_cell[:, :, cells] = products[block::BLOCKS].swapaxes(0, 1)
    close(output, by_cell)


def test_forms_without_snapshots_are_the_packages_own() -> None:
    cube, steering = samples(CHANNELS, PULSES, CELLS), samples(2, ORDER, seed=2)
    covariance, weights, output, relative = in_all_ways(without_snapshots, cube, steering)
    snapshots = compose.extract_snapshots(cube, block=BLOCK, taps=TAPS)
    close(covariance, compose.outer_products(snapshots, loading=0.5))
    same_bits(weights, compose.solve_weights(covariance, steering))
    plain = compose.outer_products(snapshots)
    mean = np.trace(plain, axis1=1, axis2=2).real / ORDER
    close(relative, plain + 0.5 * mean[:, None, None] * np.eye(ORDER))

    def own(loading: Any, impl: str, solver: str = "cholesky") -> Any:
        return aperture.stap(
            cube, steering=steering, domain="doppler", tdof=TAPS, training_block=BLOCK,
            loading=loading, precision="fp32", impl=impl, solver=solver, device="cpu",
        ).output  # fmt: skip

    same_bits(output, own(0.5, "staged"))
    passes = in_all_ways(in_one_pass, cube, steering)
    same_bits(passes[0], own(0.5, "fused"))
    same_bits(passes[1], own("rel:0.5", "fused"))
    same_bits(passes[2], own(0.5, "fused", "gauss-jordan"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda cube, v: compose.extract_snapshots(cube.real), "the cube is of type array f64"),
        (lambda cube, v: compose.extract_snapshots(cube, block=10**12), "expected an integer"),
        (lambda cube, v: compose.adapt_cube(cube, v, block=9, taps=3, solver="x"), "solver"),
        (lambda cube, v: compose.adapt_cube(cube, v[:, :4], block=9), "expected order 9"),
        (lambda cube, v: compose.solve_weights(cube, v), "their orders differ"),
        (
            lambda cube, v: compose.adapt_cube(cube, v, loading=1, relative_loading=1),
            "the loading is absolute or relative, not both",
        ),
    ],
)
def test_bad_calls_are_refused(call: Any, message: str) -> None:
    cube = samples(CHANNELS, PULSES, CELLS).astype(np.complex64)
    if "of type" in message:
        cube = cube.astype(np.complex128)
    with pytest.raises(ValueError, match=message):
        call(cube, samples(2, ORDER))
