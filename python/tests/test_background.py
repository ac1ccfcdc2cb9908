# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clips import saved_by_program, video, with_nan

import aperture

pytestmark = pytest.mark.usefixtures("one_thread")


def truth(frames: int = 24, rows: int = 40, columns: int = 56) -> Any:
    masks = np.zeros((frames, rows, columns), bool)
    for i in range(frames):
        left = 2 * i % (columns - 10)
        masks[i, 10:20, left : left + 10] = True
    return masks


def median_filtered(mask: Any, width: int) -> Any:
    """The majority in windows clipped at the edges."""
    result = np.zeros_like(mask)
    reach = width // 2
    for r, c in np.ndindex(mask.shape):
        window = mask[max(r - reach, 0) : r + reach + 1, max(c - reach, 0) : c + reach + 1]
        result[r, c] = 2 * np.count_nonzero(window) > window.size
    return result


@pytest.mark.parametrize("method", ["online", "median"])
@pytest.mark.parametrize("channels", [1, 3])
def test_what_moves_is_found(method: str, channels: int) -> None:
    frames = video(60, channels=channels)
    subtract = aperture.BackgroundSubtractor(method, burn_in=40)
    assert not subtract.ready and subtract.background is None
    masks = []
    for i, frame in enumerate(frames):
        masks.append(subtract.apply(frame))
        assert subtract.ready == (i >= 39)
    found = np.stack(masks)
    assert found.dtype == np.uint8 and set(np.unique(found)) == {0, 255}
    assert not found[:39].any()
    wrong = (found[39:] == 255) != truth(60)[39:]
    assert np.count_nonzero(wrong) < 0.25 * np.count_nonzero(truth(60)[39:])
    ground: Any = subtract.background
    assert ground.dtype == np.float32 and ground.shape == frames[0].shape
    # The light of the last frame, but for the median.
    off = np.abs(ground - frames[-1].astype(float))[~truth(60)[-1]].mean()
    assert off < (2 if method == "online" else 8)


def test_fit_then_apply_is_apply_alone() -> None:
    for method, channels in (("online", 1), ("online", 3), ("median", 3)):
        frames = video(16, channels=channels)
        one = aperture.BackgroundSubtractor(method, burn_in=10)
        other = aperture.BackgroundSubtractor(method)
        masks = np.stack([one.apply(frame) for frame in frames])
        first = other.fit(frames[:10])
        assert first.shape == (10, 40, 56)
        assert (first[-1] == masks[9]).all()
        rest = np.stack([other.apply(frame) for frame in frames[10:]])
        assert (rest == masks[10:]).all()
        assert (one.background == other.background).all()


def test_median_is_that_of_the_frames() -> None:
    frames = video(9, channels=3)
    subtract = aperture.BackgroundSubtractor(
        "median", threshold=17, clean=0, fill_holes=False, remove_shadows=False
    )
    masks = subtract.fit(frames)
    ground = np.median(frames, axis=0)
    assert (subtract.background == ground).all()
    assert ((masks == 255) == (np.abs(frames - ground) > 17).any(axis=-1)).all()
    frame = subtract.apply(frames[0] + np.uint8(5))
    assert (subtract.background == ground).all()
    expected = (np.abs((frames[0] + np.uint8(5)).astype(float) - ground) > 17).any(axis=-1)
    assert ((frame == 255) == expected).all()


def test_masks_are_cleaned_as_defined() -> None:
    frames = video(5)

    def found(clean: int) -> Any:
        return aperture.BackgroundSubtractor(
            "median", clean=clean, threshold=3, fill_holes=False, remove_shadows=False
        ).fit(frames)

    raw, clean = found(0), found(5)
    for mask, cleaned in zip(raw, clean, strict=True):
        assert (median_filtered(mask == 255, 5) == (cleaned == 255)).all()


def test_parameters_of_the_subtractor_change_masks() -> None:
    frames = video(20)
    frames[15:, 3, 3] = 255

    def run(method: str = "online", **parameters: Any) -> Any:
        subtract = aperture.BackgroundSubtractor(method, **{"burn_in": 10, **parameters})
        masks = np.stack([subtract.apply(frame) for frame in frames])
        return np.concatenate([masks, (subtract.background * 100).astype(np.int64)[None]])

    usual = run(clean=0)
    parameters: Any
    for parameters in (
        {"burn_in": 12},
        {"clip": 1.0},
        {"memory": 5.0},
        {"patience": 60.0},
        {"threshold": 4.0},
        {"noise_multiple": 3.0},
        {"clean": 5},
        {"min_area": 2},
        {"hysteresis": 0.1},
        {"method": "median"},
    ):
        changed = run(**{"clean": 0, **parameters})
        assert (changed != usual).any(), parameters


def test_noise_sets_the_threshold() -> None:
    random = np.random.default_rng(2)
    frames = 100 + random.normal(0, 4, (50, 40, 50))
    ground = np.full((40, 50), 100.0)
    masks = aperture.foreground_masks(
        frames, ground, noise_multiple=2, clean=0, fill_holes=False, remove_shadows=False
    )
    assert np.mean(masks == 255) == pytest.approx(0.0455, rel=0.1)


def test_samples_of_other_types() -> None:
    frames = video(15)
    usual = aperture.BackgroundSubtractor("online").fit(frames)
    for same in (
        frames.astype(np.float32),
        frames.astype(float),
        frames.astype(">i4"),
        frames.astype(np.uint16) * np.uint16(257),
        (frames.astype(np.uint16) * np.uint16(257)).astype(">u2"),
        np.asfortranarray(frames),
        frames[:, ::-1].copy()[:, ::-1],
        frames.tolist(),
    ):
        subtract = aperture.BackgroundSubtractor("online")
        assert (subtract.fit(same) == usual).all()
        assert np.abs(subtract.background - frames[-1]).mean() < 20


def test_the_callers_frames_may_change() -> None:
    frames = video(12, channels=3)
    subtract = aperture.BackgroundSubtractor(burn_in=10)
    buffer = np.empty_like(frames[0])
    masks = []
    for frame in frames:
        buffer[...] = frame
        masks.append(subtract.apply(buffer))
    other = aperture.BackgroundSubtractor(burn_in=10)
    assert (np.stack(masks) == np.stack([other.apply(frame) for frame in frames])).all()
    ground = subtract.background
    kept = ground.copy()
    subtract.apply(255 - frames[0])
    assert (ground == kept).all()


def test_masks_go_to_out() -> None:
    frames = video(6)
    subtract = aperture.BackgroundSubtractor(burn_in=3)
    other = aperture.BackgroundSubtractor(burn_in=3)
    out = np.full((40, 56), 7, np.uint8)
    for frame in frames:
        assert subtract.apply(frame, out=out) is out
        assert (out == other.apply(frame)).all()
    with pytest.raises(ValueError, match="out: shares memory"):
        subtract.apply(out, out=out)


def test_fit_begins_anew_with_frames_of_any_shape() -> None:
    subtract = aperture.BackgroundSubtractor()
    subtract.fit(video(8, 20, 30))
    masks = subtract.fit(video(9, channels=3))
    assert (masks == aperture.BackgroundSubtractor().fit(video(9, channels=3))).all()
    one = subtract.fit(video(1))
    assert one.shape == (1, 40, 56) and not one.any()


def test_a_frame_that_is_refused_leaves_no_trace() -> None:
    frames = video(8)
    subtract = aperture.BackgroundSubtractor(burn_in=3)
    other = aperture.BackgroundSubtractor(burn_in=3)
    for frame in frames:
        with pytest.raises(ValueError, match="frame: 2 of 2240 elements are NaN"):
            subtract.apply(with_nan(frame))
        assert (subtract.apply(frame) == other.apply(frame)).all()
        with pytest.raises(ValueError, match=r"frame: shape \(39, 56\), expected \(40, 56\)"):
            subtract.apply(frame[1:])
    assert (subtract.background == other.background).all()


SUBTRACTORS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"method": "mog2"}, ValueError, "method 'mog2': expected online or median"),
    ({"burn_in": 0}, ValueError, "burn_in 0"),
    ({"burn_in": 2.5}, TypeError, "burn_in 2.5"),
    ({"patience": 49}, ValueError, "patience must be at least the memory of 50 frames, is 49"),
    ({"clip": 0}, ValueError, "clip must be positive"),
    ({"clip": np.inf}, ValueError, "clip must be positive"),
    ({"clip": "much"}, TypeError, "clip 'much'"),
    ({"memory": 0.5}, ValueError, "memory must be at least 1 frame"),
    ({"memory": np.nan}, ValueError, "memory"),
    ({"threshold": -1}, ValueError, "thresholds of a mask must not be negative"),
    ({"threshold": np.nan}, ValueError, "thresholds"),
    ({"threshold": [17]}, TypeError, r"threshold \[17\]"),
    ({"noise_multiple": -1}, ValueError, "thresholds"),
    ({"clean": 4}, ValueError, "clean must be odd"),
    ({"clean": -1}, ValueError, "clean must be odd"),
    ({"min_area": -1}, ValueError, "min_area must not be negative"),
    ({"method": "median", "patience": 300}, ValueError, "patience 300 requires method 'online'"),
    ({"method": "median", "clip": 1.0}, ValueError, "clip 1.0 requires"),
    ({"method": "median", "memory": 9.0}, ValueError, "memory 9.0 requires"),
    ({"threads": -2}, ValueError, "threads -2"),
    ({"nonsense": 1}, TypeError, "nonsense"),
]


@pytest.mark.parametrize(
    ("arguments", "error", "message"), SUBTRACTORS, ids=[str(i) for i in range(len(SUBTRACTORS))]
)
def test_bad_subtractors_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aperture.BackgroundSubtractor(**arguments)


GREY = np.ones((5, 6), np.float32)
FRAMES: list[tuple[Any, type[Exception], str]] = [
    (None, TypeError, "frame"),
    ("frame", TypeError, "elements of type"),
    (GREY > 0, TypeError, "elements of type bool"),
    (GREY * 1j, TypeError, "elements of type complex64"),
    (np.ma.masked_array(GREY), TypeError, "masked"),
    (GREY[0], ValueError, r"shape \(6,\), expected \[row, column\] or \[row, column, 3\]"),
    (np.ones((5, 6, 4)), ValueError, "4 channels, expected 3"),
    (np.ones((1, 5, 6, 3)), ValueError, "shape"),
    (GREY[:0], ValueError, "empty"),
    (GREY[:, :0], ValueError, "empty"),
    (GREY * np.inf, ValueError, "30 of 30 elements are NaN or infinite"),
    (GREY.astype(float) * 1e300, ValueError, "30 of 30 elements are NaN or infinite"),
]


@pytest.mark.parametrize(
    ("frame", "error", "message"), FRAMES, ids=[str(i) for i in range(len(FRAMES))]
)
def test_bad_frames_are_refused(frame: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        aperture.BackgroundSubtractor().apply(frame)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((GREY, GREY), ValueError, r"frames: shape \(5, 6\), expected \[frame, row, column\]"),
        ((GREY[None], GREY[1:]), ValueError, r"background: shape \(4, 6\), expected \(1, 5, 6\)"),
        ((GREY[None], None), TypeError, "background"),
        ((with_nan(GREY)[None], GREY), ValueError, "frames: 2 of 30"),
        ((GREY[None], with_nan(GREY)), ValueError, "background: 2 of 30"),
        ((np.ones((2, 5, 6, 2)), GREY), ValueError, "background: shape"),
        ((np.ones((2, 5, 6, 2)), np.ones((5, 6, 2))), ValueError, "2 channels"),
        ((np.ones((0, 5, 6)), GREY), ValueError, "empty"),
    ],
)
def test_bad_backgrounds_are_refused(
    arguments: tuple[Any, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aperture.foreground_masks(*arguments)


def test_masks_of_any_background() -> None:
    frames = video(10, channels=3).astype(np.int16)
    ground = np.median(frames, axis=0)
    expected = (np.abs(frames - ground) > 30).any(axis=-1)
    alone: Any = {"clean": 0, "fill_holes": False, "remove_shadows": False}
    masks = aperture.foreground_masks(frames, ground, threshold=30, **alone)
    assert ((masks == 255) == expected).all() and masks.dtype == np.uint8
    repeated = np.broadcast_to(ground, frames.shape)
    again = aperture.foreground_masks(frames, repeated, threshold=30, **alone)
    assert (again == masks).all()
    # In any unit.
    deep = aperture.foreground_masks(
        frames.astype(np.uint16) * np.uint16(200), ground * 200, threshold=30 * 200, **alone
    )
    assert (deep == masks).all()


def test_thresholds_follow_the_pixels() -> None:
    random = np.random.default_rng(4)
    frames = 100 + random.normal(0, 1, (40, 40, 60)).astype(np.float32)
    # Leaves in the wind on the right.
    frames[:, :, 30:] += random.normal(0, 12, (40, 40, 30)).astype(np.float32)
    frames[20, 10:20, 10:20] += 15
    frames[20, 10:20, 40:50] += 60
    ground = np.full((40, 60), 100, np.float32)
    masks = aperture.foreground_masks(frames, ground)
    assert (masks[20, 11:19, 11:19] == 255).all() and (masks[20, 11:19, 41:49] == 255).all()
    assert np.mean(masks[21:, :, 30:] == 255) < 0.01
    fixed = aperture.foreground_masks(frames, ground, threshold=10)
    assert np.mean(fixed[21:, :, 30:] == 255) > 0.05


def test_shadows_are_removed() -> None:
    random = np.random.default_rng(5)
    ground = random.uniform(100, 200, (40, 60, 3)).astype(np.float32)
    frames = np.repeat(ground[None], 12, axis=0)
    frames[5, 10:30, 10:30] *= 0.6
    assert np.count_nonzero(aperture.foreground_masks(frames, ground)) == 0
    kept = aperture.foreground_masks(frames, ground, remove_shadows=False)
    assert (kept[5, 12:28, 12:28] == 255).all()


def test_light_on_dark_ground_is_removed() -> None:
    random = np.random.default_rng(6)
    ground = random.uniform(20, 40, (40, 60)).astype(np.float32)
    frames = np.repeat(ground[None], 12, axis=0)
    frames[5, 10:30, 10:30] *= 2.5
    assert np.count_nonzero(aperture.foreground_masks(frames, ground, remove_light=True)) == 0
    kept = aperture.foreground_masks(frames, ground)
    assert (kept[5, 12:28, 12:28] == 255).all()


def test_a_subtractor_says_what_it_is() -> None:
    subtract = aperture.BackgroundSubtractor(burn_in=3)
    assert repr(subtract) == "<BackgroundSubtractor: online, 0 of 3 frames>"
    subtract.apply(video()[0])
    assert repr(subtract) == "<BackgroundSubtractor of (40, 56) frames: online, 1 of 3 frames>"
    subtract.fit(video())
    assert repr(subtract) == "<BackgroundSubtractor of (40, 56) frames: online, ready>"
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(subtract)


def test_an_interrupted_subtractor_works_again(interrupted: Callable[..., float]) -> None:
    frames = video(60, 120, 160)
    subtract = aperture.BackgroundSubtractor()

    def run() -> None:
        for _ in range(1000):
            subtract.fit(frames)

    assert interrupted(run) < 1
    masks = subtract.fit(frames)
    assert (masks == aperture.BackgroundSubtractor().fit(frames)).all()


@pytest.mark.parametrize("kind", ["grey", "rgb", "grey16"])
@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        (["--online", "--burn-in", "12"], {"burn_in": 12}),
        (
            ["--online", "--burn-in", "8", "--patience", "300", "--memory", "9"]
            + ["--threshold", "noise:4", "--clean", "3", "--min-area", "12"],
            {
                "burn_in": 8,
                "patience": 300,
                "memory": 9,
                "noise_multiple": 4,
                "clean": 3,
                "min_area": 12,
            },
        ),
        (["--method", "median", "--threshold", "9"], {"method": "median", "threshold": 9}),
        (
            ["--online", "--burn-in", "12", "--hysteresis", "0.8", "--keep-holes"]
            + ["--keep-shadows", "--keep-light"],
            {
                "burn_in": 12,
                "hysteresis": 0.8,
                "fill_holes": False,
                "remove_shadows": False,
                "remove_light": False,
            },
        ),
    ],
    ids=["online", "parameters", "median", "mask"],
)
def test_subtractor_has_the_bits_of_the_program(
    program: Callable[[str], str],
    tmp_path: Path,
    kind: str,
    flags: list[str],
    arguments: dict[str, Any],
) -> None:
    frames = video(20, channels=3 if kind == "rgb" else 1)
    if kind == "grey16":
        frames = frames * np.uint16(257) + np.uint16(101)
    color = ["--color", "rgb"] if kind == "rgb" else []
    saved = saved_by_program(program("bgsub"), frames, [*flags, *color], tmp_path)
    subtract = aperture.BackgroundSubtractor(**arguments)
    assert (saved["mask"] == subtract.fit(frames)).all()
    ground = subtract.background
    planes = ground[None] if ground.ndim == 2 else np.moveaxis(ground, -1, 0)
    assert (saved["background"][-1] == planes).all()


def test_a_shadow_that_stands_is_not_learnt(program: Callable[[str], str], tmp_path: Path) -> None:
    ground = np.random.default_rng(7).integers(100, 200, (40, 56)).astype(np.uint8)
    frames = np.repeat(ground[None], 230, axis=0)
    frames[20:220, 10:30, 10:30] = (0.6 * ground[10:30, 10:30]).round()
    # An object where the shadow was.
    frames[-1, 14:26, 14:26] += 20
    subtract = aperture.BackgroundSubtractor(burn_in=10)
    masks = subtract.fit(frames)
    assert not masks[:-1].any() and (masks[-1, 16:24, 16:24] == 255).all()
    # But for the corners, which the median leaves out.
    assert np.abs(subtract.background - ground)[12:28, 12:28].max() < 1
    flags = ["--online", "--burn-in", "10"]
    saved = saved_by_program(program("bgsub"), frames, flags, tmp_path)
    assert (saved["mask"] == masks).all()


def test_who_stops_stays_foreground() -> None:
    frames = np.random.default_rng(3).normal(100, 1, (200, 40, 56)).astype(np.float32)
    for i in range(30, 200):
        left = min(2 * (i - 30), 30)
        frames[i, 10:30, left : left + 10] = 170
    subtract = aperture.BackgroundSubtractor(burn_in=20)
    masks = np.stack([subtract.apply(frame) for frame in frames])
    assert not masks[20:30].any()
    assert all(170 < np.count_nonzero(mask) < 230 for mask in masks[40:])
    # He stands for 155 of 200 frames.
    assert (aperture.BackgroundSubtractor(burn_in=20).fit(frames)[-1] == masks[-1]).mean() > 0.99


def test_same_bits_as_the_program_on_recorded_frames(
    program: Callable[[str], str], shared_data: Path, tmp_path: Path
) -> None:
    image = pytest.importorskip("PIL.Image")
    folder = shared_data / "video/cdnet/highway/input"
    if not folder.is_dir():
        pytest.skip(f"{folder} does not exist")
    frames = np.stack([np.asarray(image.open(path)) for path in sorted(folder.iterdir())[:16]])
    flags = ["--online", "--burn-in", "12", "--color", "rgb"]
    saved = saved_by_program(program("bgsub"), frames, flags, tmp_path)
    subtract = aperture.BackgroundSubtractor(burn_in=12)
    assert (saved["mask"] == subtract.fit(frames)).all()
    assert np.count_nonzero(saved["mask"]) > 1000
