# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What STAP returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

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
        Milliseconds of each stage; on a GPU of the last CPI, and only until the next call of the
        same :class:`Stap`.

    On a GPU, the first access to ``detections``, ``targets`` or ``timings`` waits for it.
    """

    output: Any
    statistic: Any
    threshold: npt.NDArray[np.float64] | None
    info: Any
    pivot_ratio: Any
    attempt: Any
    doppler: npt.NDArray[np.float64]
    azimuth: npt.NDArray[np.float64] | None

    def __init__(self, **arrays: Any) -> None:
        self.__dict__.update(arrays)
        self._find: Callable[[], tuple[Any, Any]] | None = None
        self._time: Callable[[], dict[str, float]] | None = None
        self._found: tuple[Any, Any] = (np.empty(0, DETECTION_TYPE), np.empty(0, TARGET_TYPE))
        self._timings: dict[str, float] = {}

    def _evaluate(self) -> None:
        if self._find is not None:
            self._found, self._find = self._find(), None
        if self._time is not None:
            self._timings, self._time = self._time(), None

    @property
    def detections(self) -> npt.NDArray[np.void]:
        self._evaluate()
        return cast("npt.NDArray[np.void]", self._found[0])

    @property
    def targets(self) -> npt.NDArray[np.void]:
        self._evaluate()
        return cast("npt.NDArray[np.void]", self._found[1])

    @property
    def timings(self) -> dict[str, float]:
        self._evaluate()
        return self._timings

    def __getstate__(self) -> dict[str, Any]:
        self._evaluate()
        return self.__dict__.copy()

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
