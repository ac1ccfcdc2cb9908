# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scenes import SHAPE, START, ZEROS, colour_frames, frames

import aperture

pytestmark = pytest.mark.usefixtures("one_thread")


def test_errors_are_those_of_the_definition() -> None:
    random = np.random.default_rng(3)
    uv, truth = random.normal(size=(2, 20, 30, 2))
    truth[3, 4] = np.nan
    truth[5, 6, 1] = 1.67e9
    uv[7, 8, 0] = np.inf
    errors = aperture.flow_errors(uv, truth)
    assert errors["known"] == 598 and errors["non_finite"] == 1
    good = np.isfinite(uv).all(-1) & (np.abs(truth) <= 1e9).all(-1)
    away = np.linalg.norm(uv[good] - truth[good], axis=-1)
    assert errors["epe"] == pytest.approx(away.mean(), rel=1e-6)
    assert errors["rmse"] == pytest.approx(np.sqrt((away**2).mean()), rel=1e-6)
    for name, limit in (("r05", 0.5), ("r1", 1), ("r2", 2)):
        assert errors[name] == pytest.approx(((away > limit).sum() + 1) / 598)
    in_time = [np.concatenate([field[good], np.ones((597, 1))], axis=1) for field in (uv, truth)]
    lengths = [np.linalg.norm(field, axis=1) for field in in_time]
    cosine = (in_time[0] * in_time[1]).sum(1) / (lengths[0] * lengths[1])
    assert errors["aae"] == pytest.approx(np.degrees(np.arccos(cosine)).mean(), rel=1e-5)
    assert aperture.flow_errors(uv, truth, threads=2) == errors
    planar = np.ascontiguousarray(np.moveaxis(uv.astype(np.float32), -1, 0))
    assert aperture.flow_errors(np.moveaxis(planar, 0, -1), truth) == errors
    assert np.isnan(aperture.flow_errors(uv, np.full(uv.shape, np.nan))["epe"])


def test_pictures_have_the_colours_of_the_wheel() -> None:
    uv = np.array([[[0, 0], [4, 0], [0, -2]], [[8, 0], [1e10, 0], [0, np.nan]]])
    picture = aperture.flow_to_image(uv, 4)
    assert picture.dtype == np.uint8
    assert picture[0, :2].tolist() == [[255, 255, 255], [255, 0, 0]]
    assert picture[1].tolist() == [[191, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert (aperture.flow_to_image(uv) == aperture.flow_to_image(uv, 8)).all()
    assert (aperture.flow_to_image(np.zeros((2, 3, 2))) == 255).all()
    with pytest.raises(ValueError, match="must be finite and not negative, is -1"):
        aperture.flow_to_image(uv, -1)
    with pytest.raises(TypeError, match="max_motion 'far'"):
        aperture.flow_to_image(uv, "far")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="flow of 2 planes of 3x0"):
        aperture.flow_to_image(uv[:0])


def test_warping_samples_where_the_flow_points() -> None:
    colours = colour_frames()
    image = colours[0].astype(np.float32)
    whole = np.zeros((*SHAPE, 2)) + [3, -2]
    for interpolation in ("bilinear", "bicubic"):
        warped = aperture.warp(image, whole, interpolation=interpolation)
        assert warped.shape == image.shape and warped.dtype == np.float32
        assert np.allclose(warped[2:, :-3], image[:-2, 3:], atol=1e-4)
        plane = aperture.warp(image[..., 1], whole, interpolation=interpolation)
        assert (warped[..., 1] == plane).all()
    half = np.zeros((*SHAPE, 2)) + [0.5, 0]
    between = aperture.warp(image, half, interpolation="bilinear")
    assert np.allclose(between[:, :-1], (image[:, :-1] + image[:, 1:]) / 2, atol=1e-4)
    nowhere = aperture.warp(image, np.full((*SHAPE, 2), np.nan))
    assert np.allclose(nowhere, image, atol=1e-4)
    assert (aperture.warp(colours[0], whole) == aperture.warp(image, whole)).all()
    assert (aperture.warp(image, whole, threads=2) == aperture.warp(image, whole, threads=1)).all()
    bicubic = aperture.warp(image, half, interpolation="bicubic")
    assert (aperture.warp(image, half) == bicubic).all()


def test_a_flow_warps_the_second_image_to_the_first() -> None:
    pair = frames()
    uv = aperture.flow(pair[0], pair[1])
    away = np.abs(aperture.warp(pair[1], uv) - pair[0].astype(float))
    assert np.median(away) < 2 < np.median(np.abs(pair[1].astype(float) - pair[0]))


def test_consistent_flows_are_told_from_others() -> None:
    pair = frames()
    forward = aperture.flow(pair[0], pair[1])
    backward = aperture.flow(pair[1], pair[0])
    mask = aperture.flow_consistency(forward, backward)
    assert mask.dtype == bool and mask[5:-5, 5:-5].mean() > 0.95
    assert aperture.flow_consistency(forward, forward)[5:-5, 5:-5].mean() < 0.05
    assert (aperture.flow_consistency(forward, backward, threads=2) == mask).all()
    assert not aperture.flow_consistency(np.full_like(forward, np.nan), backward).any()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: aperture.flow_errors(START, START[1:]), ValueError, "truth: shape .* of uv"),
        (lambda: aperture.flow_errors(START[..., 0], START), ValueError, "uv: shape"),
        (lambda: aperture.flow_errors(None, START), TypeError, "uv"),
        (lambda: aperture.flow_errors(START + 1j, START), TypeError, "uv"),
        (lambda: aperture.flow_errors(START, START, threads=-2), ValueError, "threads -2"),
        (lambda: aperture.flow_to_image(ZEROS), ValueError, "uv: shape"),
        (lambda: aperture.flow_to_image("uv"), TypeError, "uv"),
        (lambda: aperture.warp(ZEROS, ZEROS), ValueError, "uv: shape"),
        (lambda: aperture.warp(ZEROS[1:], START), ValueError, r"expected \(19, 30, 2\)"),
        (lambda: aperture.warp(ZEROS[0], START), ValueError, "image: shape"),
        (lambda: aperture.warp(ZEROS > 0, START), TypeError, "image"),
        (
            lambda: aperture.warp(ZEROS, START, interpolation="nearest"),
            ValueError,
            r"interpolation nearest: expected bilinear\|bicubic",
        ),
        (lambda: aperture.flow_consistency(START, START[1:]), ValueError, "backward: shape"),
        (lambda: aperture.flow_consistency(START, None), TypeError, "backward"),
    ],
)
def test_bad_fields_are_refused(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_empty_fields_do_no_harm() -> None:
    assert aperture.flow_errors(START[:0], START[:0])["known"] == 0
    assert aperture.warp(ZEROS[:0], START[:0]).shape == (0, 30)
    assert aperture.warp(np.zeros((20, 30, 0)), START).shape == (20, 30, 0)
    assert aperture.flow_consistency(START[:, :0], START[:, :0]).shape == (20, 0)
