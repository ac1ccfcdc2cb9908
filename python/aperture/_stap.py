# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Space-time adaptive processing."""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._extension import core
from aperture._parameters import assign, expects_progress, number, shape_of_cube
from aperture._places import Place, at_place, place_of
from aperture._stap_result import DETECTION_TYPE, TARGET_TYPE, StapResult
from aperture._system import threads_for
from aperture._warnings import warn

_DEFAULTS = core.StapParameters()


def _loading(loading: float | str) -> tuple[float, bool]:
    relative = isinstance(loading, str) and loading.startswith("rel:")
    number = loading[4:] if relative and isinstance(loading, str) else loading
    try:
        return float(number), relative
    except ValueError:
        raise ValueError(f"loading {loading!r}: expected a number or 'rel:NUMBER'") from None


class Stap:
    """STAP of cubes of one shape: as :func:`stap`, but set up once.

    Parameters
    ----------
    shape : tuple of 3 ints
        Channels, pulses (or Doppler bins) and range cells of a cube.
    azimuth, steering, ...
        See :func:`stap`.

    Examples
    --------
    >>> import aperture
    >>> cube, _ = aperture.simulate_clutter((4, 8, 100))
    >>> adapt = aperture.Stap(cube.shape, azimuth=[0.0])
    >>> result = adapt(cube)
    >>> adapt(cube, out=result) is result
    True
    """

    def __init__(
        self,
        shape: Sequence[int],
        *,
        azimuth: npt.ArrayLike | None = None,
        steering: Any = None,
        spacing: float = core.DEFAULT_SPACING,
        prf: float | None = None,
        domain: str = "pulse",
        doppler_bins: int | None = None,
        taper: str | None = None,
        tdof: int | None = None,
        training: str = _DEFAULTS.training,
        training_block: int | None = None,
        guard: int = _DEFAULTS.guard,
        loading: float | str | None = None,
        detector: str | None = None,
        pfa: float = core.DEFAULT_PFA,
        precision: str = _DEFAULTS.precision,
        solver: str = _DEFAULTS.solver,
        impl: str = _DEFAULTS.impl,
        device: str = "auto",
        threads: int | None = None,
        check_finite: bool | None = None,
    ) -> None:
        place_of(None, device, threads)
        if domain not in ("pulse", "doppler"):
            raise ValueError(f"domain {domain!r}: expected pulse or doppler")
        if azimuth is not None and steering is not None:
            raise ValueError("azimuth and steering cannot be combined")
        self._shape = shape_of_cube(shape)
        extent = core.CubeShape(*self._shape, domain == "doppler")
        parameters = core.StapParameters()
        assign(
            parameters,
            doppler_bins=0 if doppler_bins is None else doppler_bins,
            training=training,
            guard=guard,
            solver=solver,
            impl=impl,
            precision=precision,
            detector="none" if detector is None else detector,
            taper="none" if taper is None else taper,
            tdof=core.default_tdof(extent) if tdof is None else tdof,
        )
        assign(
            parameters,
            training_block=core.default_training_block(extent, parameters)
            if training_block is None
            else training_block,
        )
        if loading is not None:
            parameters.loading = _loading(loading)
        elif training_block is None and guard == _DEFAULTS.guard and training == _DEFAULTS.training:
            parameters.loading = core.default_loading(extent, parameters)
            if parameters.loading[0] > 0:
                warn(
                    f"{parameters.training_block} training cells are too few for a covariance of "
                    f"order {self._shape[0] * parameters.tdof}: using "
                    f"loading='rel:{parameters.loading[0]:g}'"
                )
        self._spacing = number("spacing", spacing)
        self._azimuth = None
        if steering is None:
            angles = core.default_azimuths() if azimuth is None else np.atleast_1d(azimuth)
            self._azimuth = _arrays.converted("azimuth", angles, np.float64)
            _arrays.expects_rank("azimuth", self._azimuth, {1: "one axis"})
        else:
            steering = _arrays.converted("steering", steering, np.complex64)
            _arrays.expects_rank("steering", steering, {2: "[vector, channel * tdof + tap]"})
        self._problem = core.StapProblem(
            extent,
            parameters,
            steering,
            [] if self._azimuth is None else self._azimuth.tolist(),
            self._spacing,
        )
        self._detects = parameters.detector != "none"
        self._pfa = number("pfa", pfa)
        self._threshold = None
        if self._detects:
            self._threshold = np.array(self._problem.thresholds(self._pfa))
        self._device = device
        self._threads = threads
        self._check_finite = check_finite
        self._pipelines: dict[tuple[str, int], Any] = {}
        # Arrays of the last result, which need no checks if it is the next one's ``out``.
        self._prepared: tuple[Callable[[], Any], Any, dict[str, Any], list[Any]]
        self._prepared = (lambda: None, None, {}, [])
        bins = self._problem.doppler_bins
        self._cycles = np.array([core.doppler_of_bin(k, bins) for k in range(bins)])
        self._doppler = self._cycles * _prf(prf)
        self._map_shape = (self._problem.steering_vectors, bins, self._shape[2])
        self._sets_shape = (bins, self._problem.training_sets)

    def __repr__(self) -> str:
        return (
            f"<Stap of {self._shape} cubes: {self._map_shape[0]} steering vectors, "
            f"{self._map_shape[1]} Doppler bins, covariances of order {self._problem.order}>"
        )

    def __call__(
        self,
        cube: Any,
        *,
        progress: Callable[[int, int], object] | None = None,
        out: Any = None,
    ) -> StapResult:
        """Process a cube.

        Parameters
        ----------
        cube : complex [channel, pulse, range]
            As for :func:`stap`, also [cpi, channel, pulse, range].
        progress
            As for :func:`stap`.
        out : StapResult or array, optional
            An earlier result of this object, whose arrays are overwritten, so that nothing is
            allocated; or an array for ``output``.

        Returns
        -------
        StapResult
        """
        expects_progress(progress)
        return at_place(
            cube,
            self._device,
            self._threads,
            lambda place: self._process(place, cube, progress, out),
        )

    def _load(self, place: Place, cube: Any) -> Any:
        samples = place.input("cube", cube, np.complex64, self._check_finite)
        if tuple(samples.shape[-3:]) != self._shape or samples.ndim not in (3, 4):
            raise ValueError(f"cube: shape {tuple(samples.shape)}, expected {self._shape}")
        return samples

    def _process(self, place: Place, cube: Any, progress: Any, out: Any) -> StapResult:
        samples = self._load(place, cube)
        batch = samples.ndim == 4
        leading = tuple(samples.shape[:batch])
        reused = out if isinstance(out, StapResult) else None
        key = (leading, place.core, place.where)
        pipeline = self._pipeline(place)
        if reused is not None and self._prepared[0]() is reused and self._prepared[1] == key:
            there, handles = self._prepared[2:]
        else:
            there = self._outputs(place, leading, out)
            handles = [place.lasting(array, pipeline) for array in there.values()]
        if out is not None and place.core is core:
            _arrays.expects_apart("out", there["output"], samples)
        timings = compute_cpis(place, pipeline, samples, there, handles, progress)
        arrays = {name: place.result(array, pipeline) for name, array in there.items()}
        result = reused
        if result is None:
            result = self._result_of(arrays)
        result._timings = timings
        if not timings:
            run = pipeline.runs
            result._time = lambda: dict(pipeline.stage_times(run))
        if self._detects:
            statistic, attempt = arrays["statistic"], arrays["attempt"]
            result._find = lambda: self._find_targets(place, cube, statistic, attempt, self._pfa)
            if place.core is core:
                # The caller may change the cube.
                result._evaluate()
        if handles[0] is not None:
            self._prepared = (weakref.ref(result), key, there, handles)
        return result

    def _result_of(self, arrays: dict[str, Any]) -> StapResult:
        return StapResult(
            **{"statistic": None, **arrays},
            threshold=self._threshold,
            doppler=self._doppler,
            azimuth=self._azimuth,
        )

    def interference_spectra(
        self, cube: Any, range_cell: int, azimuth: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """What the covariance of one range cell says of the interference.

        Parameters
        ----------
        cube : complex [channel, pulse, range]
            As for :func:`stap`, in host memory.
        range_cell : int
            The cell under test.
        azimuth : sequence of float
            Directions in degrees.

        Returns
        -------
        conventional : float64 [Doppler bin, azimuth]
            Power of a beam, v^H R v / (v^H v), in units of a snapshot element's.
        minimum_variance : float64 [Doppler bin, azimuth]
            v^H v / (v^H R^-1 v): noise power over it is the loss of SINR to interference.

        Raises
        ------
        ValueError
            For a cell outside of the cube and for steering vectors that were given.

        Notes
        -----
        Capon 1969; R is the covariance of the cell's weights, in fp64.

        Examples
        --------
        >>> import aperture
        >>> cube, _ = aperture.simulate_clutter((4, 8, 100))
        >>> adapt = aperture.Stap(cube.shape)
        >>> _, power = adapt.interference_spectra(cube, 50, [-30.0, 0.0, 30.0])
        >>> power.shape
        (8, 3)
        """
        if self._azimuth is None:
            raise ValueError("the array of steering vectors that were given is unknown")
        samples = _arrays.converted("cube", cube, np.complex64)
        angles = _arrays.converted("azimuth", azimuth, np.float64)
        _arrays.expects_rank("azimuth", angles, {1: "one axis"})
        spectra = tuple(np.empty((len(self._cycles), len(angles))) for _ in range(2))
        self._problem.interference_spectra(
            threads_for(self._threads),
            _arrays.expects_shape("cube", samples, self._shape),
            operator.index(range_cell),
            angles.tolist(),
            self._spacing,
            *spectra,
        )
        return spectra[0], spectra[1]

    def _outputs(self, place: Place, leading: tuple[int, ...], out: Any) -> dict[str, Any]:
        """The arrays that a call writes: new ones, or those of ``out``."""
        reused = isinstance(out, StapResult)
        given = vars(out) if reused else {"output": out}
        return {
            name: place.output(f"out.{name}" if reused else "out", given.get(name), shape, dtype)
            for name, shape, dtype in self._arrays_of(leading)
        }

    def _pipeline(self, place: Place) -> Any:
        """Made at the first use of a place."""
        key = (place.core.__name__, place.where)
        if key not in self._pipelines:
            self._pipelines[key] = place.core.StapPipeline(self._problem, place.where)
        return self._pipelines[key]

    def _arrays_of(self, leading: tuple[int, ...]) -> list[tuple[str, tuple[int, ...], Any]]:
        """Names, shapes and types of the results' arrays, in the order of StapPipeline.run."""
        maps = leading + self._map_shape
        sets = leading + self._sets_shape
        arrays: list[tuple[str, tuple[int, ...], Any]] = [
            ("output", maps, np.complex64),
            ("info", sets, np.int32),
            ("pivot_ratio", sets, np.float32),
            ("attempt", sets, np.int32),
        ]
        if self._detects:
            arrays.append(("statistic", maps, np.float32))
        return arrays

    def _with_rate(self, cube: Any, result: StapResult, pfa: float) -> StapResult:
        """The result with detections at another false-alarm probability, found when asked for."""

        def find(place: Place) -> Any:
            return self._find_targets(place, cube, result.statistic, result.attempt, pfa)

        arrays = {name: value for name, value in vars(result).items() if not name.startswith("_")}
        arrays["threshold"] = np.array(self._problem.thresholds(pfa))
        other = StapResult(**arrays)
        other._timings = result.timings
        other._find = lambda: at_place(cube, self._device, self._threads, find)
        return other

    def _find_targets(
        self, place: Place, cube: Any, statistic: Any, attempt: Any, pfa: float
    ) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
        """Detections and targets of all CPIs."""
        samples = _arrays.converted("cube", place.host(cube), np.complex64)
        statistics, attempts = place.host(statistic), place.host(attempt)
        if samples.ndim == 3:
            samples, statistics, attempts = samples[None], statistics[None], attempts[None]
        rows: list[tuple[Any, ...]] = []
        target_rows: list[tuple[Any, ...]] = []
        for cpi, one in enumerate(zip(samples, statistics, attempts, strict=True)):
            found = self._problem.find_targets(threads_for(self._threads), pfa, *one)
            self._add_rows(cpi, found, rows, target_rows)
        return np.array(rows, DETECTION_TYPE), np.array(target_rows, TARGET_TYPE)

    def _add_rows(
        self,
        cpi: int,
        found: tuple[list[Any], list[Any]],
        rows: list[tuple[Any, ...]],
        target_rows: list[tuple[Any, ...]],
    ) -> None:
        before = len(target_rows)
        for vector, doppler_bin, cell, statistic, threshold, loaded, target in found[0]:
            azimuth = math.nan if self._azimuth is None else self._azimuth[vector]
            rows.append(
                (
                    cpi,
                    vector,
                    azimuth,
                    doppler_bin,
                    self._cycles[doppler_bin],
                    cell,
                    _decibels(statistic),
                    _decibels(threshold),
                    loaded,
                    before + target,
                )
            )
        for cell, doppler, azimuth, statistic, threshold, detections in found[1]:
            target_rows.append(
                (
                    cpi,
                    cell,
                    doppler,
                    azimuth,
                    _decibels(statistic),
                    _decibels(threshold),
                    detections,
                )
            )


def compute_cpis(
    place: Place,
    pipeline: Any,
    samples: Any,
    there: dict[str, Any],
    handles: list[Any],
    progress: Any,
) -> dict[str, float]:
    """Store the results of all CPIs in the arrays ``there``. Return the stages' times on a CPU."""
    batch = samples.ndim == 4
    stream = place.stream(pipeline)
    timings: dict[str, float] = {}
    cpis = samples.shape[0] if batch else 1
    for cpi in range(cpis):
        if not batch and handles[0] is not None:
            pipeline.run(stream, place.handle(samples, pipeline), *handles)
        else:
            part = [array[cpi] if batch else array for array in (samples, *there.values())]
            pipeline.run(stream, *(place.handle(array, pipeline) for array in part))
        if place.core is core:
            for name, milliseconds in pipeline.stage_times(pipeline.runs):
                timings[name] = timings.get(name, 0.0) + milliseconds
        if progress is not None:
            progress(cpi + 1, cpis)
    return timings


def _decibels(ratio: float) -> float:
    return 10 * math.log10(ratio) if ratio > 0 else -math.inf


def _prf(prf: float | None) -> float:
    if prf is None:
        return 1.0
    hertz = number("prf", prf)
    if not (hertz > 0 and math.isfinite(hertz)):
        raise ValueError(f"prf {prf}: expected a positive number of Hz")
    return hertz


def stap(
    cube: Any,
    *,
    azimuth: npt.ArrayLike | None = None,
    steering: Any = None,
    spacing: float = core.DEFAULT_SPACING,
    prf: float | None = None,
    domain: str = "pulse",
    doppler_bins: int | None = None,
    taper: str | None = None,
    tdof: int | None = None,
    training: str = _DEFAULTS.training,
    training_block: int | None = None,
    guard: int = _DEFAULTS.guard,
    loading: float | str | None = None,
    detector: str | None = None,
    pfa: float = core.DEFAULT_PFA,
    precision: str = _DEFAULTS.precision,
    solver: str = _DEFAULTS.solver,
    impl: str = _DEFAULTS.impl,
    progress: Callable[[int, int], object] | None = None,
    device: str = "auto",
    threads: int | None = None,
    check_finite: bool | None = None,
    out: Any = None,
) -> StapResult:
    """Adapt a radar data cube to its interference: extended factored STAP with a detector.

    Parameters
    ----------
    cube : complex [channel, pulse, range]
        Samples, or Doppler bins instead of pulses with ``domain="doppler"``; several CPIs have an
        axis before the channels. Computed in complex64: other numbers are converted. Strides may
        be any; a copy is made unless range cells are contiguous.
    azimuth : float or sequence of float, optional
        Directions of the steering vectors in degrees from boresight. Default: 16 over the visible
        range.
    steering : complex [vector, channel * tdof + tap], optional
        Space-time steering vectors instead of directions of a uniform line.
    spacing : float
        Distance of the channels' phase centres in wavelengths.
    prf : float, optional
        Pulse repetition frequency in Hz, for the result's Doppler axis.
    domain : {"pulse", "doppler"}
        Meaning of the cube's second axis.
    doppler_bins : int, optional
        Default: the pulses, rounded up to a power of two.
    taper : str, optional
        Window along pulses: "hann", "hamming" or "chebyshev:DB".
    tdof : {1, 3, 5}, optional
        Neighbouring Doppler bins in a snapshot. Default: 3, or 1 where that does not fit the cube.
    training : {"block", "sliding", "all"}
        Range cells that a covariance is estimated from: disjoint blocks, a window around each cell,
        or all but the cell and its guard cells.
    training_block : int, optional
        Range cells per covariance. Default: 64 or twice its order, at most what the cube has.
    guard : int
        Cells on either side of the cell under test that are left out.
    loading : float or str, optional
        Added to the diagonal of covariances: a number, or "rel:X" for X times their mean diagonal.
        By default none, or "rel:0.01" with a warning if the default training block has fewer cells
        than the order.
    detector : {"amf", "ace", "glrt", "cfar"}, optional
        Computes ``statistic``, ``detections`` and ``targets``.
    pfa : float
        False-alarm probability of one cell.
    precision : {"auto", "fp32", "mixed"}
        Of covariance and solution; "mixed" is fp64, "auto" repeats in fp64 what fp32 cannot be
        trusted with.
    solver : {"cholesky", "gauss-jordan"}
        Factorisation.
    impl : {"fused", "staged", "cublas"}
        All stages at once, or one after another. "cublas" requires a GPU.
    progress : callable, optional
        Called after each CPI with how many are done, and of how many. On a GPU they may
        still be computed then. An exception that it raises ends the call.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`.
    check_finite : bool, optional
        Refuse a cube with NaN or infinite samples, which would spread to the results of their
        training cells. Default: only a cube in host memory.
    out : StapResult or array, optional
        Where results are stored; see :meth:`Stap.__call__`.

    Returns
    -------
    StapResult

    Raises
    ------
    ValueError
        For parameters that do not fit the cube or each other, and for samples that are not finite.
    TypeError
        For something that is not an array of numbers.
    DeviceError
        If the device cannot be used.

    Notes
    -----
    DiPietro's extended factored algorithm as in the PERFECT suite (PNNL & GTRI 2013), Ward 1994,
    section 5.3.2, and Anderson 2014, chapter 4.

    Examples
    --------
    >>> import aperture
    >>> cube, truth = aperture.simulate_clutter((6, 16, 300), targets=[(150, 0.25, 10.0, 5.0)])
    >>> result = aperture.stap(cube, azimuth=[0.0, 10.0, 20.0], detector="amf")
    >>> [round(float(target["range_cell"])) for target in result.targets]
    [150]
    """
    shape = _arrays.shape_of("cube", cube)
    if len(shape) not in (3, 4):
        raise ValueError(
            f"cube: shape {shape}, expected [channel, pulse, range], or with [cpi, ...] before"
        )
    pipeline = Stap(
        shape[-3:],
        azimuth=azimuth,
        steering=steering,
        spacing=spacing,
        prf=prf,
        domain=domain,
        doppler_bins=doppler_bins,
        taper=taper,
        tdof=tdof,
        training=training,
        training_block=training_block,
        guard=guard,
        loading=loading,
        detector=detector,
        pfa=pfa,
        precision=precision,
        solver=solver,
        impl=impl,
        device=device,
        threads=threads,
        check_finite=check_finite,
    )
    return pipeline(cube, progress=progress, out=out)
