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

import aperture


def _image(x: Any, y: Any) -> Any:
    return 128 + 60 * np.sin(0.2 * x + 0.1 * y) + 50 * np.cos(0.15 * x - 0.25 * y)


Y, X = np.mgrid[:60, :80]
PAIR = (_image(X, Y), _image(X - 2, Y + 1))
TRUTH = np.zeros((60, 80, 2)) + [2, -1]


def test_flow_is_that_of_each_call() -> None:
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


def test_stap_is_that_of_each_call() -> None:
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


def test_stap_without_a_detector() -> None:
    cube, _ = aperture.simulate_clutter((4, 12, 150))
    sweep = aperture.sweep.stap(cube, loading=["rel:0.001", 0.5], training_block=[32, 48])
    assert sweep.scores["loading"].tolist() == ["rel:0.001", "rel:0.001", "0.5", "0.5"]
    assert sweep.results is not None
    alone = aperture.stap(cube, loading=0.5, training_block=32)
    assert (sweep.results[2].output == alone.output).all()


def test_correlation_is_that_of_each_call() -> None:
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


def test_other_runs_are_kept_if_one_fails() -> None:
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
