# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clips import saved_by_program, with_nan
from scenes import scene

import aperture

pytestmark = pytest.mark.usefixtures("one_thread")

SHAPE = (96, 120)
IDENTITY = np.eye(3)
MAPS = {
    "shift": [[1, 0, 3.3], [0, 1, -5.6], [0, 0, 1]],
    "similarity": [[1.02, -0.03, 2.1], [0.03, 1.02, -4.2], [0, 0, 1]],
    "affine": [[1.02, -0.01, 1.1], [0.03, 0.99, -2.2], [0, 0, 1]],
    "homography": [[1.02, -0.01, 1.1], [0.03, 0.99, -2.2], [1e-4, -2e-4, 1]],
}
PARAMETERS = {"shift": 2, "similarity": 4, "affine": 6, "homography": 8}


def pixels(shape: tuple[int, int] = SHAPE) -> Any:
    """(y, x, 1) as [3, row, column]."""
    return np.stack([*np.mgrid[: shape[0], : shape[1]].astype(float), np.ones(shape)])


def seen(matrix: Any = IDENTITY, shape: tuple[int, int] = SHAPE, seed: int = 1) -> Any:
    """An image in which what the identity's has at a pixel is where the matrix maps that."""
    at = np.tensordot(np.linalg.inv(matrix), pixels(shape), 1)
    noise = np.random.default_rng(seed).normal(0, 1, shape)
    return scene(at[1] / at[2], at[0] / at[2]) + noise


def farthest(found: Any, expected: Any) -> float:
    """How far maps differ in the image, in pixels."""
    places = [np.tensordot(matrix, pixels(), 1) for matrix in (found, np.array(expected, float))]
    a, b = (place[:2] / place[2] for place in places)
    return float(np.abs(a - b).max())


def shaken(frames: int = 20, channels: int = 1) -> tuple[Any, Any]:
    """uint8 frames of a camera that shakes, in which a square moves, and their shifts."""
    t = np.arange(frames)
    shifts = np.stack([3 * np.sin(2.7 * t), 3 * np.cos(4.1 * t)], -1)
    stack = []
    for i, (dy, dx) in enumerate(shifts):
        frame = seen([[1, 0, dy], [0, 1, dx], [0, 0, 1]], (60, 80), i)
        frame[20:32, 2 * i + 10 : 2 * i + 22] = 250
        stack.append(frame)
    clip = np.clip(np.rint(stack), 0, 255).astype(np.uint8)
    return (clip if channels == 1 else np.stack([clip] * channels, -1)), shifts


@pytest.mark.parametrize("model", MAPS)
def test_known_motions(model: str) -> None:
    reference, frame = seen(seed=1), 1.2 * seen(MAPS[model], seed=2) - 7
    frame[30:50, 40:60] = 255
    frames = np.stack([frame, seen(seed=3)])
    found = aperture.fit_motion(reference, frames, model)
    assert found.converged.tolist() == [True, True] and found.iterations.min() > 0
    assert found.matrices.shape == (2, 3, 3) and found.iterations.dtype == np.int64
    assert farthest(found.matrices[0], MAPS[model]) < 0.05
    assert farthest(found.matrices[1], IDENTITY) < 0.05
    assert np.allclose(found.gain, (1.2, 1), atol=0.01)
    assert np.allclose(found.offset, (-7, 0), atol=1.5)
    # Of noise of 1 in both images, blurred.
    assert 0.2 < found.deviation[1] < 0.6 and (found.inliers > 0.7).all()
    count = PARAMETERS[model]
    assert found.covariance.shape == (2, count, count)
    assert (np.diagonal(found.covariance, axis1=1, axis2=2) > 0).all()
    alone = aperture.fit_motion(reference, frame, model)
    for one, all_frames in zip(alone, found, strict=True):
        assert (one == all_frames[0]).all() and one.shape == all_frames.shape[1:]
    by_two = aperture.fit_motion(reference, frames, model, threads=2)
    assert all((a == b).all() for a, b in zip(by_two, found, strict=True))


def test_motions_start_where_they_are_said_to() -> None:
    away = [[1, 0, 45], [0, 1, 0], [0, 0, 1]]
    reference, frame = seen(seed=1), seen(away, seed=2)
    near: Any = [[1, 0, 43], [0, 1, 1], [0, 0, 1]]
    for starts in (near, [near]):
        found = aperture.fit_motion(reference, [frame], "shift", starts=starts)
        assert found.converged[0] and farthest(found.matrices[0], away) < 0.1
    lost = aperture.fit_motion(reference, np.full(SHAPE, 9), starts=near)
    assert not lost.converged and (lost.matrices == near).all() and not lost.covariance.any()


def test_registration_starts_a_motion() -> None:
    turned = [[0.95, -0.25, 14], [0.25, 0.95, -12], [0, 0, 1]]
    reference, frame = seen(seed=1), seen(turned, seed=2)
    start = aperture.register(reference, frame, "similarity").matrix(SHAPE)
    found = aperture.fit_motion(reference, frame, "similarity", starts=start)
    assert found.converged and farthest(found.matrices, turned) < 0.1


def test_motions_of_tensors() -> None:
    torch = pytest.importorskip("torch")
    reference, frames = seen(seed=1), seen(MAPS["shift"], seed=2)[None]
    expected = aperture.fit_motion(reference, frames)
    found = aperture.fit_motion(torch.from_numpy(reference), torch.from_numpy(frames))
    for one, other in zip(found, expected, strict=True):
        assert type(one) is np.ndarray and (one == other).all()


IMAGE = np.zeros((20, 24))


@pytest.mark.parametrize(
    ("arguments", "named", "words"),
    [
        ((IMAGE, np.zeros((20, 25))), {}, r"frames: shape \(20, 25\), of the reference \(20, 24\)"),
        ((IMAGE[None], IMAGE), {}, r"reference: shape \(1, 20, 24\), expected \[row, column\]"),
        ((IMAGE, IMAGE[None, None]), {}, r"expected \[row, column\] or \[frame, row, column\]"),
        ((IMAGE, np.zeros((0, 20, 24))), {}, "is empty"),
        ((IMAGE[:15], IMAGE[:15]), {}, "at least 16 x 16"),
        ((IMAGE, IMAGE, "rigid"), {}, r"expected shift\|similarity\|affine\|homography"),
        ((with_nan(IMAGE), IMAGE), {}, "reference: 2 of 480 elements are NaN or infinite"),
        ((IMAGE, with_nan(IMAGE)), {}, "frames: 2 of 480 elements are NaN or infinite"),
        ((IMAGE, IMAGE), {"starts": np.zeros((2, 3, 3))}, r"expected \(3, 3\) or \(1, 3, 3\)"),
        ((IMAGE, IMAGE), {"starts": np.full((3, 3), np.nan)}, "starts: 9 of 9 elements are NaN"),
    ],
)
def test_motions_refused(arguments: tuple[Any, ...], named: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        aperture.fit_motion(*arguments, **named)


def test_motions_refused_by_type() -> None:
    with pytest.raises(TypeError, match="model 3: expected a string"):
        aperture.fit_motion(IMAGE, IMAGE, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="frames: elements of type complex128"):
        aperture.fit_motion(IMAGE, IMAGE + 1j)


@pytest.mark.parametrize("how", ["auto", "shift", "affine", "homography"])
def test_a_camera_that_shakes(how: str) -> None:
    frames, shifts = shaken()
    camera = aperture.CameraMotion(frames, how)
    assert camera.moves and abs(camera.shake - 3) < 0.5
    assert camera.shape[0] > 60 and camera.shape[1] > 80
    away = camera.shifts - np.median(camera.shifts, axis=0)
    assert np.abs(away - (shifts - np.median(shifts, axis=0))).max() < 0.4
    common = camera.to_common(frames)
    assert common.dtype == np.float32 and common.shape == (20, *camera.shape)
    inner = np.s_[:, 40:50, 20:60]
    assert np.std(common, axis=0)[inner[1:]].mean() < 3 < np.std(frames, axis=0)[inner[1:]].mean()
    back = camera.from_common(common, frames)
    assert back.shape == frames.shape
    assert np.abs(back - frames)[inner].mean() < 3
    two = aperture.CameraMotion(frames, how, threads=2)
    assert (two.shifts == camera.shifts).all() and (two.to_common(frames) == common).all()


def test_a_frame_that_is_lost() -> None:
    frames, _ = shaken()
    frames[7] = 0
    camera = aperture.CameraMotion(frames)
    assert np.flatnonzero(np.isnan(camera.shifts[:, 0])).tolist() == [7]
    ground = camera.from_common(camera.to_common(frames), frames)
    assert (ground[7] == frames[7]).all()


def test_a_still_camera() -> None:
    frames = np.stack([seen(seed=i) for i in range(8)])
    camera = aperture.CameraMotion(frames)
    assert not camera.moves and camera.shake == 0 and camera.shape == SHAPE
    assert np.isnan(camera.shifts).all() and camera.shifts.shape == (8, 2)
    assert (camera.to_common(frames) == frames.astype(np.float32)).all()
    assert (camera.from_common(frames / 2, frames) == (frames / 2).astype(np.float32)).all()
    assert "does not move" in repr(camera)


def test_units_of_16_bits_are_kept() -> None:
    frames, _ = shaken()
    camera = aperture.CameraMotion(frames)
    wide = frames.astype(np.uint16) * 257
    found = aperture.CameraMotion(wide)
    assert np.allclose(found.shifts, camera.shifts, atol=1e-4)
    common = found.to_common(wide)
    assert np.abs(common / 257 - camera.to_common(frames)).max() < 0.1


@pytest.mark.parametrize("channels", [1, 3])
def test_same_bits_as_the_program(
    program: Callable[[str], str], tmp_path: Path, channels: int
) -> None:
    frames, _ = shaken(channels=channels)
    flags = ["--method", "rpca", "--report", str(tmp_path / "report.json")]
    if channels == 3:
        flags += ["--color", "rgb"]
    saved = saved_by_program(program("bgsub"), frames, flags, tmp_path)
    results = json.loads((tmp_path / "report.json").read_text())["results"]
    assert results["stabilised_windows"] == 1
    camera = aperture.CameraMotion(frames)
    assert results["shifts"] == camera.shifts.tolist() and results["shake"] == camera.shake
    common = camera.to_common(frames)
    # The program's channels come before rows: another order of sums.
    low_rank = aperture.rpca(np.moveaxis(common, -1, 1) if channels == 3 else common).low_rank
    ground = camera.from_common(np.moveaxis(low_rank, 1, -1) if channels == 3 else low_rank, frames)
    planes = np.moveaxis(ground, -1, 1) if channels == 3 else ground[:, None]
    assert (saved["background"] == planes).all()
    assert (saved["mask"] == aperture.foreground_masks(frames, ground)).all()
    assert saved["mask"].any()


CLIP = np.zeros((3, 20, 24))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((CLIP, "off"), "how 'off': expected auto, shift, affine or homography"),
        ((CLIP[0],), r"frames: shape \(20, 24\), expected \[frame, row, column\]"),
        ((CLIP[:0],), "is empty"),
        ((np.zeros((3, 20, 24, 2)),), "2 channels, expected 3"),
        ((CLIP[:, :9], "shift"), "at least 16 x 16"),
        ((with_nan(CLIP),), "2 of 1440 elements are NaN or infinite"),
    ],
)
def test_cameras_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        aperture.CameraMotion(*arguments)


def test_frames_refused() -> None:
    frames, _ = shaken(8)
    camera = aperture.CameraMotion(frames, "shift")
    common = camera.to_common(frames)
    with pytest.raises(ValueError, match=r"frames: shape \(7, 60, 80\), expected \(8, 60, 80\)"):
        camera.to_common(frames[:7])
    with pytest.raises(ValueError, match=r"backgrounds: shape \(8, 60, 80\), expected"):
        camera.from_common(frames, frames)
    with pytest.raises(ValueError, match=r"frames: shape .*, of the backgrounds"):
        camera.from_common(common, np.stack([frames] * 3, -1))
    with pytest.raises(ValueError, match="backgrounds: 2 of"):
        camera.from_common(with_nan(common), frames)
