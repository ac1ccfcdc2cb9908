# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Functions with several values of their parameters, and which values are the best.

A list, a range or a one-dimensional array in place of a parameter's value makes a run for each of
its elements; several of them make a run for each combination. The programs do the same with lists
and ranges on their command lines.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._background import host_frames, mask_parameters, planes_of
from aperture._corr import Correlation, CorrelationRun, RepeatedCorrelation, warn_of_border
from aperture._extension import core
from aperture._flow import RepeatedFlow
from aperture._flow_fields import flow_errors
from aperture._places import HostPlace
from aperture._rpca import RepeatedRpca
from aperture._stap_result import StapResult
from aperture._stap_runs import RepeatedStap, StapRun
from aperture._sweep_runs import Computed, Sweep, elements_of, is_list, run_all

__all__ = ["Background", "Sweep", "background", "correlate", "flow", "stap"]


def flow(
    image0: Any, image1: Any, *, truth: Any = None, keep: str | None = None, **parameters: Any
) -> Sweep:
    """Estimate a flow with several values of parameters.

    Parameters
    ----------
    image0, image1 : array
        As for :func:`aperture.flow`.
    truth : [row, column, 2], optional
        The true flow. The best run has the smallest end-point error ``epe``.
    keep : {"best", "all"}, optional
        Whose results are kept. Default: "best" with a truth, else "all".
    **parameters
        Of :func:`aperture.flow`: values, or lists of them.

    Returns
    -------
    Sweep
        Its scores are those of :func:`aperture.flow_errors`.

    Raises
    ------
    ValueError
        For empty lists, more than 10000 runs, and if all runs fail.

    Warns
    -----
    UserWarning
        If some runs fail.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> y, x = np.mgrid[:60, :80]
    >>> def image(x, y):
    ...     return 128 + 60 * np.sin(0.2 * x + 0.1 * y) + 50 * np.cos(0.15 * x - 0.25 * y)
    >>> truth = np.zeros((60, 80, 2)) + [2, -1]
    >>> sweep = aperture.sweep.flow(
    ...     image(x, y), image(x - 2, y + 1), truth=truth, alpha=[0.1, 1, 1000], warps=3
    ... )
    >>> len(sweep.scores), int(sweep.scores["best"].sum()), sweep.result.shape
    (3, 1, (60, 80, 2))
    """

    score = None if truth is None else ("epe", False)
    with RepeatedFlow(image0, image1) as repeated:

        def compute(values: dict[str, Any]) -> Computed:
            run = repeated.run(**values)

            def find_out() -> dict[str, Any]:
                return {} if truth is None else flow_errors(run.result, truth)

            return Computed(run, find_out, run.at_once)

        return run_all(compute, parameters, score, "a truth", keep, lambda run: run.result)


def correlate(a: Any, b: Any = None, *, keep: str | None = None, **parameters: Any) -> Sweep:
    """Correlate an image with itself or with another one, with several values of parameters.

    Parameters
    ----------
    a, b : array
        As for :func:`aperture.correlate`.
    keep : {"best", "all"}, optional
        Whose results are kept. Default: "best" for a pair, else "all".
    **parameters
        Of :func:`aperture.correlate`: values, or lists of them; a tuple is a value.

    Returns
    -------
    Sweep
        Its scores are the peak, ``peak_value``, ``peak_dy`` and ``peak_dx``, and the
        ``correlation_length_x`` and ``correlation_length_y``. The best run of a pair has the
        highest peak.

    Raises
    ------
    ValueError
        For empty lists, more than 10000 runs, and if all runs fail.

    Warns
    -----
    UserWarning
        If some runs fail.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> scene = np.random.default_rng(1).integers(0, 256, (60, 80, 3), np.uint8)
    >>> sweep = aperture.sweep.correlate(scene[:50, :70], scene[4:54, 7:77], sigma=[1.0, 2.0, 4.0])
    >>> round(sweep.result.peak.dy), round(sweep.result.peak.dx)
    (4, 7)
    """

    with RepeatedCorrelation(a, b) as repeated:

        def compute(values: dict[str, Any]) -> Computed:
            run = repeated.run(**values)

            def find_out() -> dict[str, Any]:
                peak, lengths, _ = run.findings
                found: dict[str, Any] = {}
                if peak is not None:
                    found = {f"peak_{name}": value for name, value in peak._asdict().items()}
                for name, length in lengths._asdict().items():
                    found[f"correlation_length_{name}"] = math.nan if length is None else length
                return found

            return Computed(run, find_out, run.at_once)

        def finish(run: CorrelationRun) -> Correlation:
            if run.findings.on_border is not None:
                warn_of_border(run.findings.on_border, parameters.get("signed") is False)
            return run.result()

        score = None if b is None else ("peak_value", True)
        return run_all(compute, parameters, score, "a pair", keep, finish)


def stap(cube: Any, *, truth: Any = None, keep: str | None = None, **parameters: Any) -> Sweep:
    """Adapt a radar data cube with several values of parameters.

    Runs that differ in ``pfa`` alone share the adaptation.

    Parameters
    ----------
    cube : complex [channel, pulse, range]
        As for :func:`aperture.stap`, of one CPI.
    truth : structured array, optional
        The true targets, with ``range_cell`` and ``doppler`` in cycles per pulse, as from
        :func:`aperture.simulate_clutter`. The best run has the largest ``f_measure``.
    keep : {"best", "all"}, optional
        Whose results are kept. Default: "best" with a truth, else "all".
    **parameters
        Of :func:`aperture.stap`: values, or lists of them, but for ``azimuth`` and ``steering``.

    Returns
    -------
    Sweep
        Its scores are the ``failed_matrices`` and, with a detector, the ``detections``; with a
        truth ``found_targets``, ``false_detections`` and ``f_measure``, 2 found / (2 found + missed
        + false). A target is found by a detection at most one range cell and one Doppler bin away.

    Raises
    ------
    ValueError
        For empty lists, more than 10000 runs, and if all runs fail.

    Warns
    -----
    UserWarning
        If some runs fail.

    Examples
    --------
    >>> import aperture
    >>> cube, truth = aperture.simulate_clutter((6, 16, 300), targets=[(150, 0.25, 10.0, 5.0)])
    >>> sweep = aperture.sweep.stap(
    ...     cube, truth=truth, azimuth=[0.0, 10.0], detector=["amf", "ace"], pfa=[1e-9, 1e-6, 1e-2]
    ... )
    >>> float(sweep.scores["f_measure"].max())
    1.0
    """
    repeated = RepeatedStap(cube)
    # Last, so that runs that share an adaptation follow one another.
    rates = parameters.pop("pfa", core.DEFAULT_PFA)
    parameters["pfa"] = rates
    rates = [float(rate) for rate in (rates if is_list("pfa", rates) else [rates])]
    # Others fail in their runs.
    rates = [rate for rate in rates if 0 < rate < 1]
    cells = [] if truth is None else [int(cell) for cell in truth["range_cell"]]
    dopplers = [] if truth is None else [float(doppler) for doppler in truth["doppler"]]
    adapted: tuple[str, StapRun, Callable[[], tuple[int, list[tuple[int, int, int]]]]] | None = None

    def compute(values: dict[str, Any]) -> Computed:
        nonlocal adapted
        pfa = float(values.pop("pfa"))
        if pfa not in rates:
            repeated.run(pfa=pfa, **values)  # Refuses it.
        if adapted is None or adapted[0] != repr(values):
            adapted = None
            run = repeated.run(**values)

            @functools.cache
            def counted() -> tuple[int, list[tuple[int, int, int]]]:
                counts = run.count_detections(rates, cells, dopplers) if rates else []
                return run.failed_matrices(), counts

            adapted = repr(values), run, counted
        _, run, find = adapted

        def find_out() -> dict[str, Any]:
            failed, counts = find()
            scores: dict[str, Any] = {"failed_matrices": failed}
            if counts:
                scores["detections"], found, false = counts[rates.index(pfa)]
            if counts and truth is not None:
                total = len(cells) + found + false
                scores["found_targets"], scores["false_detections"] = found, false
                scores["f_measure"] = 2 * found / total if total > 0 else math.nan
            return scores

        return Computed((run, pfa), find_out, run.at_once)

    def finish(found: tuple[StapRun, float]) -> StapResult:
        run, pfa = found
        return run.result(pfa)

    score = None if truth is None else ("f_measure", True)
    return run_all(compute, parameters, score, "a truth", keep, finish)


class Background:
    """What a run of :func:`background` found.

    Attributes
    ----------
    low_rank : float32 or float64, shape of the frames
        As of :func:`aperture.rpca`.
    masks : uint8 [frame, row, column]
        As of :func:`aperture.foreground_masks`. Where a histogram has their score, they are found
        when they are first asked for.
    """

    def __init__(self, low_rank: Any, find_masks: Callable[[], Any]) -> None:
        self.low_rank = low_rank
        self._find_masks = find_masks

    @functools.cached_property
    def masks(self) -> Any:
        return self._find_masks()

    def __repr__(self) -> str:
        return f"<Background of {tuple(self.low_rank.shape)} frames>"


def background(
    frames: Any, *, truth: Any = None, keep: str | None = None, **parameters: Any
) -> Sweep:
    """Find the background and the masks of frames with several values of parameters.

    The frames are converted and copied to a GPU once, and runs that differ in the masks alone
    share the background. With a truth, masks that only compare (a ``threshold``, ``clean=0``,
    ``fill_holes=False`` and ``remove_shadows=False``) are scored together, from one histogram.

    Parameters
    ----------
    frames : [frame, row, column] or [frame, row, column, 3]
        As for :func:`aperture.rpca` and :func:`aperture.foreground_masks`.
    truth : bool or uint8 [frame, row, column], optional
        True masks. Numbers are the labels of changedetection.net: 255 moving, 0 still, 50 in
        shadow; others are not scored. The best run has the largest ``f_measure``.
    keep : {"best", "all"}, optional
        Whose results are kept. Default: "best" with a truth, else "all".
    **parameters
        Of :func:`aperture.rpca` and :func:`aperture.foreground_masks`: values, or lists of them.

    Returns
    -------
    Sweep
        Of results of :class:`Background`. Its scores are ``iterations``, ``rank``, ``residual``
        and the percentage of the pixels that is ``moving``; with a truth, by the rules of
        changedetection.net, ``f_measure``, ``precision``, ``recall``, ``fpr``, ``fnr`` and, in
        percent, ``pwc``.

    Raises
    ------
    ValueError
        For empty lists, more than 10000 runs, and if all runs fail.

    Warns
    -----
    UserWarning
        If some runs fail.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> video = np.random.default_rng(1).normal(100, 1, (20, 48, 64)).astype(np.float32)
    >>> truth = np.zeros(video.shape, bool)
    >>> for frame in range(20):
    ...     truth[frame, 10:20, 2 * frame : 2 * frame + 10] = True
    >>> video[truth] += 80
    >>> sweep = aperture.sweep.background(video, truth=truth, lam=[0.01, 0.02], threshold=[20, 90])
    >>> bool(sweep.scores["f_measure"].max() > 0.9), sweep.result.masks.shape
    (True, (20, 48, 64))
    """
    place = HostPlace(frames, parameters.get("threads"))
    planes = planes_of("frames", host_frames("frames", place, frames), place.where, scaled=False)
    count, _, rows, columns = planes.shape
    labels = None if truth is None else _labels(truth, (count, rows, columns))
    # Last, so that runs that share a background follow one another.
    of_masks = [name for name in parameters if name in _OF_MASKS]
    parameters.update({name: parameters.pop(name) for name in of_masks})
    threshold = parameters.get("threshold")
    listed = elements_of(threshold) if is_list("threshold", threshold) else [threshold]
    # Others fail in their runs.
    numbers = [float(value) for value in listed if isinstance(value, Real)]
    thresholds = [number for number in numbers if number >= 0]
    solver: tuple[str, RepeatedRpca] | None = None
    shared: _Shared | None = None

    def compute(values: dict[str, Any]) -> Computed:
        nonlocal solver, shared
        by = mask_parameters(**{name: values.pop(name) for name in of_masks})
        finder = core.MaskFinder(by, place.where)
        if shared is None or shared.made_by != repr(values):
            shared = None
            made_by = repr(values)
            lam = values.pop("lam", None)
            if solver is None or solver[0] != repr(values):
                solver = None
                solver = repr(values), RepeatedRpca(frames, **values)
            low_rank, outcome = solver[1].run(lam)
            host = host_frames("background", place, low_rank)
            ground = planes_of("background", host, place.where, scaled=False)
            shared = _Shared(made_by, low_rank, ground, outcome)
        of = shared

        def find_masks() -> Any:
            masks = np.empty((count, rows, columns), np.uint8)
            finder.find(planes, of.ground, masks, anew=True)
            return place.result(masks, None)

        result = Background(of.low_rank, find_masks)
        if labels is not None and by.only_compares():
            if not of.compared:
                compared = core.score_thresholds(planes, of.ground, labels, thresholds, place.where)
                of.compared = dict(zip(thresholds, compared, strict=True))
            score, moving = of.compared[by.threshold]
        else:
            masks = place.fetched("masks", result.masks)
            moving = int(np.count_nonzero(masks))
            score = None if labels is None else core.score_masks(masks, labels, place.where)
        scores: dict[str, Any] = {
            name: getattr(of.outcome, name) for name in ("iterations", "rank", "residual")
        }
        scores["moving"] = 100 * moving / (count * rows * columns)
        if score is not None:
            scores.update({name: getattr(score, name) for name in _OF_SCORE})
        return Computed(result, lambda: scores)

    return run_all(
        compute, parameters, None if truth is None else ("f_measure", True), "a truth", keep
    )


_OF_MASKS = {
    "threshold",
    "noise_multiple",
    "clean",
    "min_area",
    "hysteresis",
    "fill_holes",
    "remove_shadows",
    "remove_light",
}
_OF_SCORE = ("f_measure", "precision", "recall", "fpr", "fnr", "pwc")


class _Shared:
    """What runs of :func:`background` have in common that differ in the masks alone."""

    def __init__(self, made_by: str, low_rank: Any, ground: _arrays.Array, outcome: Any) -> None:
        self.made_by, self.low_rank, self.ground, self.outcome = made_by, low_rank, ground, outcome
        # By threshold: the score, and the number of pixels that move.
        self.compared: dict[float, tuple[Any, int]] = {}


def _labels(truth: Any, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    labels = _arrays.host_array("truth", truth)
    _arrays.expects_shape("truth", labels, shape)
    if labels.dtype not in (np.bool_, np.uint8):
        raise TypeError(f"truth: elements of type {labels.dtype}, expected bool or uint8")
    return np.ascontiguousarray(labels * np.uint8(255) if labels.dtype == np.bool_ else labels)
