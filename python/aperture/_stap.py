# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Space-time adaptive processing."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._extension import core
from aperture._parameters import assign, number
from aperture._system import expects_cpu, threads_for

_DEFAULTS = core.StapParameters()
_SCENE = core.ClutterScene()

DETECTION_TYPE = np.dtype(
    [
        ("cpi", np.int64),
        ("steering_vector", np.int64),
        ("azimuth_degrees", np.float64),
        ("doppler_bin", np.int64),
        ("doppler", np.float64),
        ("range_cell", np.int64),
        ("statistic_db", np.float64),
        ("threshold_db", np.float64),
        ("loaded", np.bool_),
        ("target", np.int64),
    ]
)
TARGET_TYPE = np.dtype(
    [
        ("cpi", np.int64),
        ("range_cell", np.float64),
        ("doppler", np.float64),
        ("azimuth_degrees", np.float64),
        ("statistic_db", np.float64),
        ("threshold_db", np.float64),
        ("detections", np.int64),
    ]
)


@dataclass(repr=False)
class StapResult:
    """What :func:`stap` computed.

    D is the number of steering vectors, K of Doppler bins, R of range cells, B of training sets.
    With several CPIs, the arrays ``output``, ``statistic``, ``info``, ``pivot_ratio`` and
    ``attempt`` have them as their first axis.

    Attributes
    ----------
    output : complex64 [D, K, R]
        Adapted output y; a unit signal along a steering vector has unit output.
    statistic : float32 [D, K, R] or None
        Test statistic of the detector; None without one.
    threshold : float64 [R] or None
        What the statistic of each range cell is compared with.
    detections : structured array
        Local maxima of the statistic above the threshold, strongest first. ``target`` is the row
        of ``targets`` that a detection belongs to. ``doppler`` is in cycles per pulse.
    targets : structured array
        Detections merged across side lobes, with positions between cells.
    info : int32 [K, B]
        0, or why the factorisation of this covariance failed; its outputs are zero.
    pivot_ratio : float32 [K, B]
        Largest over smallest pivot, an estimate of the condition number.
    attempt : int32 [K, B]
        With precision "auto", the attempt that results come from: 1 is fp32, 2 fp64, later ones
        have loading added.
    doppler : float64 [K]
        Centre of each bin, in Hz if the PRF is known, else in cycles per pulse.
    azimuth : float64 [D] or None
        Direction of each steering vector in degrees; None for steering vectors that were given.
    timings : dict
        Milliseconds of each stage.
    """

    output: Any
    statistic: Any
    threshold: npt.NDArray[np.float64] | None
    detections: npt.NDArray[np.void]
    targets: npt.NDArray[np.void]
    info: Any
    pivot_ratio: Any
    attempt: Any
    doppler: npt.NDArray[np.float64]
    azimuth: npt.NDArray[np.float64] | None
    timings: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        found = "" if self.statistic is None else f", {len(self.targets)} targets"
        milliseconds = sum(self.timings.values())
        return f"<StapResult {tuple(self.output.shape)}{found}, {milliseconds:.3g} ms>"

    def plot(self, vector: int = 0, cpi: int = 0, ax: Any = None) -> Any:
        """Draw the range-Doppler map of one steering vector, with the detections in it.

        Requires matplotlib.

        Parameters
        ----------
        vector : int
            Steering vector.
        cpi : int
            CPI, if there are several.
        ax : matplotlib axes, optional
            Where to draw; the current axes by default.

        Returns
        -------
        matplotlib axes
        """
        import matplotlib.pyplot as plt

        ax = plt.gca() if ax is None else ax
        detected = self.statistic is not None
        values = np.asarray(self.statistic if detected else self.output)
        values = values[cpi, vector] if values.ndim == 4 else values[vector]
        power = values if detected else np.abs(values) ** 2
        order = np.argsort(self.doppler)
        with np.errstate(divide="ignore"):
            decibels = 10 * np.log10(power[order])
        peak = np.max(decibels[np.isfinite(decibels)], initial=-np.inf)
        step = self.doppler[order[1]] - self.doppler[order[0]] if len(order) > 1 else 1.0
        extent = (
            -0.5,
            power.shape[1] - 0.5,
            self.doppler[order[0]] - step / 2,
            self.doppler[order[-1]] + step / 2,
        )
        image = ax.imshow(
            decibels, aspect="auto", origin="lower", extent=extent, vmin=peak - 60, vmax=peak
        )
        here = (self.detections["steering_vector"] == vector) & (self.detections["cpi"] == cpi)
        shown = self.detections[here]
        ax.plot(shown["range_cell"], self.doppler[shown["doppler_bin"]], "o", mfc="none", color="r")
        ax.set_xlabel("range cell")
        ax.set_ylabel("Doppler")
        ax.figure.colorbar(image, ax=ax, label="statistic, dB" if detected else "power, dB")
        return ax


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
        azimuth: float | Iterable[float] | None = None,
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
        check_finite: bool = True,
    ) -> None:
        expects_cpu(device)
        if domain not in ("pulse", "doppler"):
            raise ValueError(f"domain {domain!r}: expected pulse or doppler")
        if azimuth is not None and steering is not None:
            raise ValueError("azimuth and steering cannot be combined")
        self._shape = _shape_of_cube(shape)
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
                warnings.warn(
                    f"{parameters.training_block} training cells are too few for a covariance of "
                    f"order {self._shape[0] * parameters.tdof}: using "
                    f"loading='rel:{parameters.loading[0]:g}'",
                    stacklevel=3,
                )
        self._azimuth = None
        if steering is None:
            angles = core.default_azimuths() if azimuth is None else np.atleast_1d(azimuth)
            self._azimuth = _arrays.converted("azimuth", angles, np.float64)
            _arrays.expects_rank("azimuth", self._azimuth, {1: "one axis"})
        else:
            steering = _arrays.converted("steering", steering, np.complex64)
            _arrays.expects_rank("steering", steering, {2: "[vector, channel * tdof + tap]"})
        self._pipeline = core.StapPipeline(
            extent,
            parameters,
            steering,
            [] if self._azimuth is None else self._azimuth.tolist(),
            number("spacing", spacing),
            threads_for(threads),
        )
        self._detector = detector not in (None, "none")
        self._pfa = number("pfa", pfa)
        self._threshold = None
        if self._detector:
            self._threshold = np.array(self._pipeline.thresholds(self._pfa))
        self._check_finite = check_finite
        bins = self._pipeline.doppler_bins
        self._cycles = np.array([core.doppler_of_bin(k, bins) for k in range(bins)])
        self._doppler = self._cycles * _prf(prf)
        sets = (bins, self._pipeline.training_sets)
        self._map_shape = (self._pipeline.steering_vectors, bins, self._shape[2])
        self._sets_shape = sets

    def __repr__(self) -> str:
        return (
            f"<Stap of {self._shape} cubes: {self._map_shape[0]} steering vectors, "
            f"{self._map_shape[1]} Doppler bins, covariances of order {self._pipeline.order}>"
        )

    def __call__(self, cube: Any, *, out: Any = None) -> StapResult:
        """Process a cube.

        Parameters
        ----------
        cube : complex [channel, pulse, range]
            As for :func:`stap`, also [cpi, channel, pulse, range].
        out : StapResult or array, optional
            An earlier result of this object, whose arrays are overwritten, so that nothing is
            allocated; or an array for ``output``.

        Returns
        -------
        StapResult
        """
        samples = _arrays.converted("cube", cube, np.complex64)
        batch = samples.ndim == 4
        if samples.shape[batch:] != self._shape:
            raise ValueError(f"cube: shape {samples.shape}, expected {self._shape}")
        leading = samples.shape[:1] if batch else ()
        result = self._prepared(leading, out)
        output, statistic, info, pivot_ratio, attempt = (
            _arrays.host_array("out", array) if array is not None else None
            for array in (
                result.output,
                result.statistic,
                result.info,
                result.pivot_ratio,
                result.attempt,
            )
        )
        if np.may_share_memory(output, samples):
            raise ValueError("out: shares memory with the cube")
        result.timings.clear()
        rows: list[tuple[Any, ...]] = []
        target_rows: list[tuple[Any, ...]] = []
        for cpi in range(leading[0]) if batch else (None,):

            def part(array: Any, cpi: int | None = cpi) -> Any:
                return array if cpi is None or array is None else array[cpi]

            one = part(samples)
            if self._check_finite:
                _arrays.expects_finite("cube", self._pipeline.count_non_finite(one), one.size)
            stages = self._pipeline.run(
                one, part(output), part(info), part(pivot_ratio), part(attempt), part(statistic)
            )
            for name, milliseconds in stages:
                result.timings[name] = result.timings.get(name, 0.0) + milliseconds
            if self._detector:
                found = self._pipeline.find_targets(
                    self._pfa, one, part(statistic), part(attempt)
                )
                self._add_rows(cpi or 0, found, rows, target_rows)
        result.detections = np.array(rows, DETECTION_TYPE)
        result.targets = np.array(target_rows, TARGET_TYPE)
        if out is None:
            back = _arrays.returner(cube)
            for name in ("output", "statistic", "info", "pivot_ratio", "attempt"):
                array = getattr(result, name)
                setattr(result, name, None if array is None else back(array))
        return result

    def _prepared(self, leading: tuple[int, ...], out: Any) -> StapResult:
        """A result whose arrays are new, or those of ``out``."""
        maps = leading + self._map_shape
        sets = leading + self._sets_shape
        reused = out if isinstance(out, StapResult) else None

        def array(name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Any:
            given = getattr(reused, name) if reused is not None else None
            checked = _arrays.output(f"out.{name}", given, shape, dtype)
            return checked if given is None else given

        output: Any
        if reused is None and out is not None:
            _arrays.output("out", out, maps, np.complex64)
            output = out
        else:
            output = array("output", maps, np.complex64)
        statistic = array("statistic", maps, np.float32) if self._detector else None
        info = array("info", sets, np.int32)
        pivot_ratio = array("pivot_ratio", sets, np.float32)
        attempt = array("attempt", sets, np.int32)
        if reused is not None:
            return reused
        empty = np.empty(0)
        return StapResult(
            output,
            statistic,
            self._threshold,
            empty.astype(DETECTION_TYPE),
            empty.astype(TARGET_TYPE),
            info,
            pivot_ratio,
            attempt,
            self._doppler,
            self._azimuth,
        )

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


def _decibels(ratio: float) -> float:
    return 10 * math.log10(ratio) if ratio > 0 else -math.inf


def _prf(prf: float | None) -> float:
    if prf is None:
        return 1.0
    hertz = number("prf", prf)
    if not (hertz > 0 and math.isfinite(hertz)):
        raise ValueError(f"prf {prf}: expected a positive number of Hz")
    return hertz


def _shape_of_cube(shape: Sequence[int]) -> tuple[int, int, int]:
    extents = tuple(int(extent) for extent in shape)
    if len(extents) != 3:
        raise ValueError(f"shape {extents}, expected (channels, pulses, range cells)")
    return extents  # type: ignore[return-value]


def stap(
    cube: Any,
    *,
    azimuth: float | Iterable[float] | None = None,
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
    check_finite: bool = True,
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
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`.
    check_finite : bool
        Refuse a cube with NaN or infinite samples. They would spread to the results of their
        training cells.
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
    samples = _arrays.host_array("cube", cube)
    _arrays.expects_rank(
        "cube", samples, {3: "[channel, pulse, range]", 4: "[cpi, channel, pulse, range]"}
    )
    pipeline = Stap(
        samples.shape[-3:],
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
    return pipeline(cube, out=out)


TRUTH_TYPE = np.dtype(
    [
        ("range_cell", np.int64),
        ("doppler", np.float64),
        ("azimuth_degrees", np.float64),
        ("snr_db", np.float64),
    ]
)


def simulate_clutter(
    shape: Sequence[int],
    *,
    spacing: float = _SCENE.spacing,
    cnr_db: float = _SCENE.cnr_db,
    beta: float = _SCENE.beta,
    motion_std: float = _SCENE.motion_std,
    patches: int = _SCENE.patches,
    jammers: Iterable[tuple[float, float]] = (),
    targets: Iterable[tuple[int, float, float, float]] = (),
    seed: int = _SCENE.seed,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.complex64], npt.NDArray[np.void]]:
    """Simulate the cube of a side-looking airborne radar, with known truth.

    Parameters
    ----------
    shape : tuple of 3 ints
        Channels, pulses, range cells.
    spacing : float
        Distance of the channels in wavelengths.
    cnr_db : float
        Clutter-to-noise ratio per element and pulse in dB; ``-inf`` for no clutter.
    beta : float
        Half-wavelengths flown per pulse over the spacing in half-wavelengths.
    motion_std : float
        Standard deviation of the clutter's spectrum in cycles per pulse.
    patches : int
        Scatterers of a range ring.
    jammers : iterable of (azimuth in degrees, JNR in dB)
        Barrage noise.
    targets : iterable of (range cell, Doppler in cycles per pulse, azimuth in degrees, SNR in dB)
        Point targets.
    seed : int
        The same seed gives the same cube for every number of threads.
    threads : int, optional
        CPU threads.

    Returns
    -------
    cube : complex64 [channel, pulse, range]
    truth : structured array
        The targets.

    Notes
    -----
    Ward 1994, sections 2.6 and 2.7.

    Examples
    --------
    >>> import aperture
    >>> cube, truth = aperture.simulate_clutter((4, 8, 50), targets=[(20, 0.2, 0.0, 10.0)])
    >>> cube.shape, int(truth["range_cell"][0])
    ((4, 8, 50), 20)
    """
    extents = _shape_of_cube(shape)
    if min(extents) < 1:
        raise ValueError(f"shape {extents}: expected positive extents")
    scene = core.ClutterScene()
    assign(
        scene,
        spacing=spacing,
        cnr_db=cnr_db,
        beta=beta,
        motion_std=motion_std,
        patches=patches,
        seed=seed,
    )
    for azimuth, jnr_db in jammers:
        scene.add_jammer(azimuth, jnr_db)
    truth = np.array([tuple(target) for target in targets], TRUTH_TYPE)
    for cell, doppler, azimuth, snr_db in truth.tolist():
        if not 0 <= cell < extents[2]:
            raise ValueError(f"targets: range cell {cell}, expected 0 to {extents[2] - 1}")
        scene.add_target(cell, doppler, azimuth, snr_db)
    cube = np.empty(extents, np.complex64)
    core.simulate(scene, cube, threads_for(threads))
    return cube, truth


def perfect_suite_cube(size: str) -> tuple[npt.NDArray[np.complex64], dict[str, int]]:
    """The white input of the PERFECT suite, and the suite's parameters.

    Parameters
    ----------
    size : {"small", "medium", "large"}
        Of the suite.

    Returns
    -------
    cube : complex64 [channel, pulse, range]
    parameters : dict
        ``doppler_bins``, ``training_block`` and ``tdof``, arguments of :func:`stap`. The suite has
        16 steering vectors, the default of :func:`stap`.

    Notes
    -----
    PNNL & GTRI 2013; the same samples as the suite's generator.

    Examples
    --------
    >>> import aperture
    >>> cube, parameters = aperture.perfect_suite_cube("small")
    >>> aperture.stap(cube, **parameters).output.shape
    (16, 128, 512)
    """
    channels, pulses, cells, bins, block, taps, _ = core.perfect_size(size)
    cube = np.empty((channels, pulses, cells), np.complex64)
    core.perfect_cube(cube)
    return cube, {"doppler_bins": bins, "training_block": block, "tdof": taps}
