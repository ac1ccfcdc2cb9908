# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Functions with lists of values: what calls one by one return."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from clips import video

import aperture
from aperture._extension import core


def _image(x: Any, y: Any) -> Any:
    return 128 + 60 * np.sin(0.2 * x + 0.1 * y) + 50 * np.cos(0.15 * x - 0.25 * y)


Y, X = np.mgrid[:60, :80]
PAIR = (_image(X, Y), _image(X - 2, Y + 1))
TRUTH = np.zeros((60, 80, 2)) + [2, -1]


@pytest.fixture(params=[1, 4])
def at_once(request: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many runs are on their way, which is otherwise 1 on a CPU."""
    for module in (aperture._flow, aperture._stap_runs, aperture._corr):
        monkeypatch.setattr(module, "runs_at_once", lambda *_: request.param)
    return int(request.param)


def test_flow_is_that_of_each_call(at_once: int) -> None:
    alphas, warps = [0.5, 4.0, 200.0], [1, 3]
    sweep = aperture.sweep.flow(*PAIR, truth=TRUTH, alpha=np.array(alphas), warps=warps, median=5)
    assert sweep.values == {"alpha": alphas, "warps": warps}
    assert len(sweep.scores) == 6
    smallest = math.inf
    for run, (alpha, count) in enumerate(itertools.product(alphas, warps)):
        uv = aperture.flow(*PAIR, alpha=alpha, warps=count, median=5)
        row = sweep.scores[run]
        assert (row["alpha"], row["warps"]) == (alpha, count)
        for name, value in aperture.flow_errors(uv, TRUTH).items():
            assert row[name] == value
        assert row["ms"] > 0
        if row["epe"] < smallest:
            smallest = row["epe"]
            best = run
    assert sweep.best == best
    assert sweep.scores["best"].tolist() == [run == best for run in range(6)]
    uv = aperture.flow(*PAIR, alpha=alphas[best // 2], warps=warps[best % 2], median=5)
    assert (sweep.result == uv).all()
    assert sweep.results is None
    assert sweep.scores.dtype.names is not None
    assert sweep.scores.dtype.names[:3] == ("alpha", "warps", "epe")
    assert "6 runs over alpha, warps; best alpha" in repr(sweep)


def _count_calls(monkeypatch: pytest.MonkeyPatch, of: Any, name: str) -> list[Any]:
    """Filled with a name for each call of a function."""
    calls: list[Any] = []
    function = getattr(of, name)

    def counted(*arguments: Any) -> Any:
        calls.append(name)
        return function(*arguments)

    monkeypatch.setattr(of, name, counted)
    return calls


def test_flows_share_estimators_and_the_images(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    aperture.clear_cache()
    calls = _count_calls(monkeypatch, aperture._flow.FlowEstimator, "_load")
    made = _count_calls(monkeypatch, core, "FlowEstimator")
    start = TRUTH.astype(np.float32) / 2
    # Some change the pyramid.
    axes: dict[str, Any] = {"scale": [0.5, 0.8], "blur": [0.0, 1.5], "alpha": [2.0, 20.0]}
    sweep = aperture.sweep.flow(*PAIR, initial=start, device="cpu", **axes)
    assert (len(calls), len(made)) == (1, at_once)
    assert sweep.results is not None
    for uv, values in zip(sweep.results, itertools.product(*axes.values()), strict=True):
        given = dict(zip(axes, values, strict=True))
        assert (uv == aperture.flow(*PAIR, initial=start, **given)).all(), given
    batch = [np.stack([image, image[::-1]]) for image in PAIR]
    sweep = aperture.sweep.flow(*batch, alpha=[2.0, 20.0])
    assert sweep.results is not None
    assert (sweep.results[1] == aperture.flow(*batch, alpha=20.0)).all()


def test_all_results_are_kept_on_demand_and_without_a_truth() -> None:
    sweep = aperture.sweep.flow(*PAIR, solver=["cg", "redblack"])
    assert sweep.best is None
    assert sweep.result is None
    assert sweep.results is not None
    assert sweep.scores["solver"].tolist() == ["cg", "redblack"]
    for solver, uv in zip(sweep.values["solver"], sweep.results, strict=True):
        assert (uv == aperture.flow(*PAIR, solver=solver)).all()
    kept = aperture.sweep.flow(*PAIR, truth=TRUTH, alpha=range(1, 4), keep="all")
    assert kept.results is not None
    assert kept.best is not None
    assert kept.result is kept.results[kept.best]


def test_stap_is_that_of_each_call(at_once: int) -> None:
    cube, truth = aperture.simulate_clutter(
        (4, 12, 150), targets=[(40, 0.25, 0.0, 12.0), (90, -0.3, 20.0, 0.0)]
    )
    detectors, rates = ["amf", "ace"], [1e-3, 1e-8, 0.1]
    sweep = aperture.sweep.stap(cube, truth=truth, pfa=rates, detector=detectors, threads=2)
    assert list(sweep.values) == ["detector", "pfa"]
    largest = -1.0
    for run, (detector, pfa) in enumerate(itertools.product(detectors, rates)):
        alone = aperture.stap(cube, detector=detector, pfa=pfa)
        row = sweep.scores[run]
        assert row["pfa"] == pfa
        assert row["detections"] == len(alone.detections)
        near = [
            (abs(alone.detections["range_cell"] - target["range_cell"]) <= 1)
            & (abs(alone.detections["doppler"] - target["doppler"]) <= 1.5 / 16)
            for target in truth
        ]
        assert row["found_targets"] == sum(some.any() for some in near)
        assert row["false_detections"] == (~np.logical_or(*near)).sum()
        if row["f_measure"] > largest:
            largest = row["f_measure"]
            best, best_alone = run, alone
    assert sweep.best == best
    for name in ("output", "statistic", "threshold", "detections", "targets"):
        assert (getattr(sweep.result, name) == getattr(best_alone, name)).all(), name


def test_stap_keeps_other_runs_if_a_rate_fails(at_once: int) -> None:
    cube, truth = aperture.simulate_clutter((4, 12, 150), targets=[(40, 0.25, 0.0, 12.0)])
    with pytest.warns(UserWarning, match="1 of 3 runs failed, the first at pfa 2.0: false-alarm"):
        sweep = aperture.sweep.stap(cube, truth=truth, detector="amf", pfa=[1e-3, 2.0, 1e-2])
    assert list(sweep.failures) == [1]
    assert sweep.best in (0, 2)
    with pytest.raises(ValueError, match="2 of 2 runs failed, the first at pfa 0.0: false-alarm"):
        aperture.sweep.stap(cube, truth=truth, detector="amf", pfa=[0.0, 2.0])


def test_loadings_share_pipelines_and_the_cube(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cube, truth = aperture.simulate_clutter((4, 12, 150), targets=[(40, 0.25, 0.0, 12.0)])
    loadings: list[Any] = ["rel:0.001", 0.5, "rel:0.1"]
    common: dict[str, Any] = {"detector": "amf", "training_block": 48, "device": "cpu"}
    alone = [aperture.stap(cube, loading=loading, **common) for loading in loadings]
    calls = _count_calls(monkeypatch, aperture._stap.Stap, "_load")
    made = _count_calls(monkeypatch, core, "StapPipeline")
    sweep = aperture.sweep.stap(cube, truth=truth, loading=loadings, keep="all", **common)
    assert (len(calls), len(made)) == (1, min(at_once, 3))
    assert sweep.results is not None
    for result, single in zip(sweep.results, alone, strict=True):
        for name in ("output", "statistic", "info", "attempt", "threshold", "detections"):
            assert (getattr(result, name) == getattr(single, name)).all(), name
    assert (sweep.results[0].output != sweep.results[1].output).any()
    with pytest.warns(UserWarning, match="1 of 3 runs failed, the first at loading -1: diagonal"):
        sweep = aperture.sweep.stap(cube, loading=[0.5, -1, 0.5], **common)
    assert sweep.results is not None
    assert (sweep.results[2].output == alone[1].output).all()


def test_stap_without_a_detector() -> None:
    cube, _ = aperture.simulate_clutter((4, 12, 150))
    sweep = aperture.sweep.stap(cube, loading=["rel:0.001", 0.5], training_block=[32, 48])
    assert sweep.scores["loading"].tolist() == ["rel:0.001", "rel:0.001", "0.5", "0.5"]
    assert sweep.results is not None
    alone = aperture.stap(cube, loading=0.5, training_block=32)
    assert (sweep.results[2].output == alone.output).all()


def test_correlation_is_that_of_each_call(at_once: int) -> None:
    scene = np.random.default_rng(1).integers(0, 256, (60, 80, 3), np.uint8)
    pair = (scene[:50, :70], scene[4:54, 7:77])
    sigmas = [0.5, 2.0, 6.0]
    sweep = aperture.sweep.correlate(*pair, sigma=sigmas, offsets=(20, 20))
    alone = [aperture.correlate(*pair, sigma=sigma, offsets=(20, 20)) for sigma in sigmas]
    for row, found in zip(sweep.scores, alone, strict=True):
        assert found.peak is not None
        assert row["peak_value"] == found.peak.value
    assert sweep.best is not None
    assert (sweep.result.surface == alone[sweep.best].surface).all()
    assert (alone[0].surface != alone[1].surface).any()
    assert (alone[1].surface == aperture.correlate(*pair, offsets=(20, 20)).surface).all()
    for name in ("planes", "overlap", "dy", "dx"):
        assert (getattr(sweep.result, name) == getattr(alone[sweep.best], name)).all()
    assert sweep.result.lengths == alone[sweep.best].lengths


def test_correlations_share_objects_and_the_images(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = np.random.default_rng(1).integers(0, 256, (60, 80, 3), np.uint8)
    pair = (scene[:50, :70], scene[4:54, 7:77])
    mask = np.ones((50, 70), bool)
    mask[:9] = False
    loaded = _count_calls(monkeypatch, aperture._corr, "image_there")
    made = _count_calls(monkeypatch, aperture._corr, "_prepared")
    cases: list[dict[str, Any]] = [{}, {"mask": mask, "planes": "lab-orientation"}]
    for given in cases:
        aperture.clear_cache()
        loaded.clear()
        made.clear()
        sweep = aperture.sweep.correlate(
            *pair,
            estimator=["raw", "pearson"],
            sigma=[0.5, 1.0, 2.0, 4.0, 8.0],
            keep="all",
            **given,
        )
        assert (len(loaded), len(made)) == (2, 2 * at_once)
        assert sweep.results is not None
        for i, (estimator, sigma) in enumerate(itertools.product(*sweep.values.values())):
            alone = aperture.correlate(*pair, estimator=estimator, sigma=sigma, **given)
            for name in ("surface", "planes", "overlap"):
                assert (getattr(sweep.results[i], name) == getattr(alone, name)).all()
    far = np.roll(scene[:50, :70], (10, 12), (0, 1))
    with pytest.warns(UserWarning, match="on the border of the displacements") as caught:
        aperture.sweep.correlate(pair[0], far, offsets=(11, 12), sigma=[1.0, 2.0])
    assert caught[0].filename == __file__


def _scored_video() -> tuple[Any, Any]:
    frames = video()
    truth = np.zeros(frames.shape, np.uint8)
    for i in range(len(frames)):
        left = 2 * i % 46
        truth[i, 10:20, left : left + 10] = 255
        truth[i, 20:22, left : left + 10] = 50
    truth[:4] = 170
    return frames, truth


@pytest.mark.parametrize("raw", [False, True])
def test_background_is_that_of_each_call(raw: bool) -> None:
    frames, truth = _scored_video()
    masks_by: dict[str, Any] = (
        {"clean": 0, "fill_holes": False, "remove_shadows": False} if raw else {}
    )
    lams, thresholds = [0.01, 0.03], [300.0, 5.0, 17.5]
    sweep = aperture.sweep.background(
        frames, truth=truth, threshold=thresholds, lam=lams, device="cpu", **masks_by
    )
    assert list(sweep.values) == ["lam", "threshold"]
    largest = -1.0
    for run, (lam, threshold) in enumerate(itertools.product(lams, thresholds)):
        parts = aperture.rpca(frames, lam=lam, device="cpu")
        masks = aperture.foreground_masks(frames, parts.low_rank, threshold=threshold, **masks_by)
        row = sweep.scores[run]
        assert (row["lam"], row["threshold"]) == (lam, threshold)
        assert row["iterations"] == parts.iterations
        assert row["moving"] == 100 * (masks == 255).sum() / masks.size
        true, false = (masks == 255)[truth == 255], (masks == 255)[(truth == 0) | (truth == 50)]
        wrong = (~true).sum() + false.sum()
        assert row["f_measure"] == 2 * true.sum() / (2 * true.sum() + wrong)
        assert row["recall"] == true.mean()
        assert row["fpr"] == false.mean()
        if row["f_measure"] > largest:
            largest = row["f_measure"]
            best, best_masks, best_parts = run, masks, parts
    assert sweep.best == best
    assert (sweep.result.masks == best_masks).all()
    assert (sweep.result.low_rank == best_parts.low_rank).all()


def test_background_by_other_solvers() -> None:
    frames = video(channels=3).astype(np.float64)
    common: dict[str, Any] = {"tolerance": 1e-7, "device": "cpu"}
    sweep = aperture.sweep.background(
        frames, solver=["ialm", "accaltproj"], noise_multiple=[4.0, 6.0], **common
    )
    assert sweep.results is not None
    assert [result.low_rank.dtype for result in sweep.results] == [np.float64] * 4
    for run, (solver, multiple) in enumerate(itertools.product(["ialm", "accaltproj"], [4.0, 6.0])):
        parts = aperture.rpca(frames, solver=solver, **common)
        masks = aperture.foreground_masks(frames, parts.low_rank, noise_multiple=multiple)
        assert sweep.scores[run]["rank"] == parts.rank
        assert (sweep.results[run].masks == masks).all()
    # True masks as booleans.
    frames, truth = _scored_video()
    moves = truth == 255
    numbers = 255 * moves.astype(np.uint8)
    by_numbers = aperture.sweep.background(frames, truth=numbers, lam=[0.02], device="cpu")
    by_truth = aperture.sweep.background(frames, truth=moves, lam=[0.02], device="cpu")
    assert by_numbers.scores["f_measure"] == by_truth.scores["f_measure"]


def test_what_is_no_sweep_of_a_background_is_refused() -> None:
    frames, truth = _scored_video()
    for parameters, error, reason in (
        ({"truth": truth[1:]}, ValueError, "truth"),
        ({"truth": truth / 255.0}, TypeError, "truth: elements of type float64, expected bool"),
        ({"lam": []}, ValueError, "lam: the list of values is empty"),
        ({"lam": range(1, 10002)}, ValueError, "10001 runs, expected at most 10000"),
        ({"lam": [-1.0, 0.0]}, ValueError, r"2 of 2 runs failed, the first at lam -1.0: lam -1.0"),
        (
            {"clean": [4]},
            ValueError,
            r"1 of 1 runs failed, the first at lam 0.02, clean 4: clean must be odd",
        ),
    ):
        with pytest.raises(error, match=reason):
            aperture.sweep.background(frames, **{"lam": [0.02], **parameters})
    with pytest.warns(UserWarning, match="1 of 2 runs failed, the first at lam -1.0"):
        sweep = aperture.sweep.background(frames, truth=truth, lam=[-1.0, 0.02])
    assert sweep.best == 1
    raw: dict[str, Any] = {"clean": 0, "fill_holes": False, "remove_shadows": False}
    with pytest.warns(UserWarning, match="2 of 4 runs failed, the first at threshold -1.0: thresh"):
        sweep = aperture.sweep.background(
            frames, truth=truth, threshold=[-1.0, 20.0, "some", 30], lam=0.02, **raw
        )
    assert list(sweep.failures) == [0, 2]
    assert sweep.best in (1, 3)


def test_other_runs_are_kept_if_one_fails(at_once: int) -> None:
    with pytest.warns(UserWarning, match=r"1 of 3 runs failed, the first at median 4: median is 4"):
        sweep = aperture.sweep.flow(*PAIR, truth=TRUTH, median=[3, 4, 5])
    assert list(sweep.failures) == [1]
    assert math.isnan(sweep.scores[1]["epe"])
    assert sweep.best in (0, 2)
    with pytest.raises(ValueError, match=r"2 of 2 runs failed, the first at median 4: "):
        aperture.sweep.flow(*PAIR, median=[4, 6])


def test_what_is_no_sweep_is_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for parameters, reason in (
            ({"alpha": 1.0}, "no parameter has a list of values"),
            ({"alpha": []}, "alpha: the list of values is empty"),
            ({"alpha": range(1, 10002)}, "10001 runs, expected at most 10000"),
            ({"alpha": [1.0], "keep": "some"}, "keep 'some': expected 'best' or 'all'"),
            ({"alpha": [1.0], "keep": "best"}, "keep 'best' requires a truth"),
        ):
            with pytest.raises(ValueError, match=reason):
                aperture.sweep.flow(*PAIR, **parameters)
