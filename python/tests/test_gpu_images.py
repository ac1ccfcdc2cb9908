# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Optical flow and correlations of images on GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aperture
from aperture._extension import gpu_core, has_gpu

pytestmark = pytest.mark.skipif(not has_gpu(), reason="no GPU can be used")


@pytest.fixture(scope="module")
def images() -> Any:
    """Two colour images with a known shift, uint8 [image, row, column, channel]."""
    y, x = np.mgrid[:60, :90]
    moved = [
        128 + 60 * np.sin(0.2 * (x - 2 * i) + 0.1 * y + c) + 50 * np.cos(0.25 * (y + i))
        for i in (0, 1)
        for c in range(3)
    ]
    levels = np.clip(moved, 0, 255).reshape(2, 3, 60, 90)
    return np.moveaxis(levels, 1, -1).astype(np.uint8)


@pytest.mark.parametrize("parameters", [{}, {"preset": "accurate"}, {"method": "lk"}])
def test_flow_stays_in_the_library_and_agrees_with_the_cpu(
    library: Any, images: Any, parameters: dict[str, Any]
) -> None:
    there = [library.array(image) for image in images]
    uv = aperture.flow(there[0], there[1], **parameters)
    assert isinstance(uv, library.type()) and tuple(uv.shape) == (60, 90, 2)
    expected = aperture.flow(images[0], images[1], device="cpu", **parameters)
    assert np.median(np.abs(library.host(uv) - expected)) < 1e-3
    again = aperture.flow(there[0], there[1], initial=uv, **parameters)
    started = aperture.flow(images[0], images[1], initial=expected, device="cpu", **parameters)
    assert np.median(np.abs(library.host(again) - started)) < 1e-3


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_flow_of_images_of_every_type(library: Any, images: Any, kind: Any) -> None:
    scale = 257 if kind is np.uint16 else 1
    pair = (images[..., 0].astype(int) * scale).astype(kind)
    uv = library.host(aperture.flow(library.array(pair[0]), library.array(pair[1])))
    usual = aperture.flow(images[0, ..., 0].copy(), images[1, ..., 0].copy(), device="gpu")
    assert (uv == usual).all()


def test_flow_of_batches_and_into_arrays(library: Any, images: Any) -> None:
    both = library.array(images), library.array(images[::-1].copy())
    estimate = aperture.FlowEstimator((60, 90))
    uv = estimate(*both)
    single = estimate(library.array(images[1]), library.array(images[0]))
    assert (library.host(uv)[1] == library.host(single)).all()
    if library.name != "jax":
        waits, allocations = gpu_core().waits(), gpu_core().allocations()
        assert estimate(*both, out=uv) is uv
        assert (gpu_core().waits(), gpu_core().allocations()) == (waits, allocations)


def test_warping_agrees_with_the_cpu(library: Any, images: Any) -> None:
    uv = np.random.default_rng(1).normal(size=(60, 90, 2)).astype(np.float32)
    for image in (images[0].astype(np.float32), images[0, ..., 1].astype(np.float32)):
        there = aperture.warp(library.array(image), library.array(uv))
        assert isinstance(there, library.type())
        expected = aperture.warp(image, uv, device="cpu")
        assert np.abs(library.host(there) - expected).max() < 1e-2


@pytest.mark.parametrize("solver", ["jacobi", "block2x2", "cg", "cacg", "redblack", "multigrid"])
@pytest.mark.parametrize("boundary", ["replicate", "zero"])
@pytest.mark.parametrize("stencil", [5, 9])
def test_systems_are_solved_as_on_the_cpu(
    library: Any, solver: str, boundary: str, stencil: int
) -> None:
    derivatives = np.random.default_rng(2).normal(size=(3, 37, 53)).astype(np.float32)

    def solve(planes: list[Any], device: str = "auto") -> Any:
        return aperture.solve_horn_schunck(
            *planes,
            alpha=0.7,
            solver=solver,
            iterations=2000,
            tolerance=1e-6,
            boundary=boundary,
            stencil=stencil,
            device=device,
        )

    u, v, history = solve([library.array(plane) for plane in derivatives])
    assert isinstance(u, library.type()) and isinstance(v, library.type())
    assert type(history) is np.ndarray
    assert history[0] == pytest.approx(1) and history[-1] < 1e-6
    expected = solve(list(derivatives), "cpu")
    assert np.allclose(library.host(u), expected[0], atol=1e-4)
    assert np.allclose(library.host(v), expected[1], atol=1e-4)
    staged = solve(list(derivatives), "gpu")
    assert type(staged[0]) is np.ndarray
    assert (staged[0] == library.host(u)).all() and (staged[1] == library.host(v)).all()
    assert (staged[2] == history).all()


def test_bad_systems_on_a_gpu(library: Any) -> None:
    there = library.array(np.ones((20, 30), np.float32))
    for planes, error, message in (
        ((there, there, np.ones((20, 30))), TypeError, "it: expected an array of"),
        ((there, there[1:], there), ValueError, r"iy: shape \(19, 30\), of ix \(20, 30\)"),
        ((there, there / 0, there), ValueError, "iy: elements are NaN or infinite"),
        ((there, there * 1e30, there), ValueError, "products of ix, iy and it"),
    ):
        with pytest.raises(error, match=message):
            aperture.solve_horn_schunck(*planes, alpha=1.0)


CORRELATIONS = [
    {},
    {"planes": "grey", "estimator": "unbiased", "signed": True},
    {"planes": "rgb", "estimator": "pearson"},
    {"planes": "gradient", "method": "direct"},
]


@pytest.mark.filterwarnings("ignore:the largest value")
@pytest.mark.parametrize("arguments", CORRELATIONS, ids=[str(i) for i in range(4)])
@pytest.mark.parametrize("masked", [False, True])
def test_correlations_stay_in_the_library_and_agree_with_the_cpu(
    library: Any, images: Any, arguments: dict[str, Any], masked: bool
) -> None:
    mask = (np.mgrid[:60, :90][1] > 20).astype(np.uint8) if masked else None
    there = [library.array(image) for image in images]
    found = aperture.correlate(
        *there, **arguments, mask=None if mask is None else library.array(mask)
    )
    expected = aperture.correlate(*images, **arguments, mask=mask, device="cpu")
    assert isinstance(found.surface, library.type())
    assert isinstance(found.overlap, library.type())
    bound = 1e-4 * np.abs(expected.surface).max()
    assert np.abs(library.host(found.surface) - expected.surface).max() < bound
    assert np.abs(library.host(found.planes) - expected.planes).max() < bound
    assert (library.host(found.overlap) == expected.overlap).all()
    assert (found.dy == expected.dy).all() and (found.dx == expected.dx).all()
    if expected.peak is not None and expected.on_border is None:
        assert found.peak == pytest.approx(expected.peak, abs=0.05)
    staged = aperture.correlate(*images, **arguments, mask=mask, device="gpu")
    assert type(staged.surface) is np.ndarray
    # Without jax_enable_x64 JAX rounds to float32.
    surface = library.host(found.surface)
    assert (staged.surface.astype(surface.dtype) == surface).all()


def test_correlations_do_not_wait(library: Any, images: Any) -> None:
    there = [library.array(image) for image in images]
    several: list[dict[str, Any]] = [{}, {"estimator": "pearson"}]
    for arguments in several:
        aperture.correlate(*there, **arguments)
        waits = gpu_core().waits()
        found = aperture.correlate(*there, **arguments)
        assert gpu_core().waits() == waits
        assert found.peak is not None


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_correlations_of_images_of_every_type(library: Any, images: Any, kind: Any) -> None:
    scale = 257 if kind is np.uint16 else 1
    pair = [library.array((image.astype(int) * scale).astype(kind)) for image in images]
    found = aperture.correlate(*pair)
    usual = aperture.correlate(*(library.array(image) for image in images))
    assert (library.host(found.surface) == library.host(usual.surface)).all()
    planes = library.array(np.moveaxis(images, -1, 1)[0].astype(np.float32))
    of_planes = aperture.correlate(planes, planes=None)
    expected = aperture.correlate(
        np.moveaxis(images, -1, 1)[0].astype(np.float32), planes=None, device="cpu"
    )
    bound = 1e-4 * np.abs(expected.surface).max()
    assert np.abs(library.host(of_planes.surface) - expected.surface).max() < bound


@pytest.mark.parametrize("motion", ["shift", "similarity"])
def test_registration_agrees_with_the_cpu(library: Any, motion: str) -> None:
    scene = np.random.default_rng(3).normal(100, 40, (140, 150))
    for axis in (0, 1, 0, 1):
        scene = (scene + np.roll(scene, 1, axis)) / 2
    a, b = scene[6:126, 9:139].astype(np.float32), scene[:120, :130].astype(np.float32)
    expected = aperture.register(a, b, motion, device="cpu")
    found = aperture.register(library.array(a), library.array(b), motion)
    assert expected.found and np.allclose(found[1:5], expected[1:5], atol=5e-3)
    assert np.allclose(found[1:3], (6, 9), atol=0.02)


@pytest.mark.parametrize("model", ["shift", "similarity", "affine", "homography"])
def test_motions_agree_with_the_cpu(library: Any, model: str) -> None:
    scene = np.random.default_rng(3).normal(100, 40, (140, 150))
    for axis in (0, 1, 0, 1):
        scene = (scene + np.roll(scene, 1, axis)) / 2
    reference = scene[6:126, 9:139].astype(np.float32)
    frames = np.stack([scene[:120, :130], scene[8:128, 7:137]]).astype(np.float32)
    expected = aperture.fit_motion(reference, frames, model, device="cpu")
    assert expected.converged.all()
    assert np.allclose(expected.matrices[:, :2, 2], [(6, 9), (-2, 2)], atol=0.05)
    for found in (
        aperture.fit_motion(library.array(reference), library.array(frames), model),
        aperture.fit_motion(reference, frames, model, device="gpu"),
    ):
        assert type(found.matrices) is np.ndarray and found.converged.all()
        assert np.allclose(found.matrices, expected.matrices, atol=5e-3)
        assert np.allclose(found.gain, expected.gain, atol=1e-3)
