# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Space-time adaptive processing of one cube with several values of parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._places import Place, SpareArrays, at_place, runs_at_once
from aperture._stap import Stap, compute_cpis
from aperture._stap_result import StapResult


class StapRun:
    """A run of :class:`RepeatedStap`, which may still be computed. Its results stay there."""

    def __init__(
        self,
        adapt: Stap,
        place: Place,
        pipeline: Any,
        cube: Any,
        samples: Any,
        spare: SpareArrays,
        at_once: int,
    ) -> None:
        self._adapt, self._place, self._pipeline, self._cube = adapt, place, pipeline, cube
        self.at_once = at_once
        self._there = spare.of_run(self, place, lambda: adapt._outputs(place, (), None))
        self._pipeline.set_loading(adapt._problem.loading)
        handles = [place.lasting(array, self._pipeline) for array in self._there.values()]
        self._timings = compute_cpis(place, self._pipeline, samples, self._there, handles, None)

    def _host(self, name: str) -> npt.NDArray[Any]:
        return self._place.host(self._place.result(self._there[name], self._pipeline))

    def failed_matrices(self) -> int:
        return int(np.count_nonzero(self._host("info")))

    def count_detections(
        self, rates: list[float], cells: list[int], dopplers: list[float]
    ) -> list[tuple[int, int, int]]:
        """Detections at each rate, how many of the targets they find, and how many are false;
        nothing without a detector."""
        if not self._adapt._detects:
            return []
        statistic = np.ascontiguousarray(self._host("statistic"))
        counts: list[tuple[int, int, int]] = self._adapt._problem.count_detections(
            rates, statistic, cells, dopplers
        )
        return counts

    def result(self, pfa: float) -> StapResult:
        """With detections at this false-alarm probability, found when asked for."""
        arrays = {
            name: self._place.result(array, self._pipeline) for name, array in self._there.items()
        }
        result = self._adapt._result_of(arrays)
        result._timings = self._timings
        return self._adapt._with_rate(self._cube, result, pfa) if self._adapt._detects else result


class RepeatedStap:
    """STAP of the same cube with several values of parameters.

    The cube is converted and copied to a GPU once, and runs that differ in ``loading`` alone share
    pipelines. A pipeline is used again ``at_once`` runs later.
    """

    def __init__(self, cube: Any) -> None:
        self._cube = cube
        self._shape = _arrays.shape_of("cube", cube)
        if len(self._shape) != 3:
            raise ValueError(f"cube: shape {self._shape}, expected [channel, pulse, range]")
        self._samples: dict[tuple[Any, ...], Any] = {}
        # Parameters of the last run but for the loading, and the pipelines that were made for them.
        self._made_for = ""
        self._pipelines: dict[tuple[Any, ...], Any] = {}
        self._spare = SpareArrays()
        self._runs = 0

    def run(self, *, loading: float | str | None = None, **parameters: Any) -> StapRun:
        """Parameters are those of :class:`Stap`."""
        adapt = Stap(self._shape, loading=loading, **parameters)
        if repr(parameters) != self._made_for:
            self._made_for, self._pipelines = repr(parameters), {}
            self._spare = SpareArrays()
        check = parameters.get("check_finite")

        def run_at(place: Place) -> StapRun:
            at = (place.core.__name__, place.where)
            if (*at, check) not in self._samples:
                self._samples[(*at, check)] = adapt._load(place, self._cube)
            samples = self._samples[(*at, check)]
            at_once = runs_at_once(place, 8 * math.prod(adapt._map_shape))
            made_for = (*at, self._runs % at_once)
            if made_for not in self._pipelines:
                self._pipelines[made_for] = adapt._pipeline(place)
            pipeline = self._pipelines[made_for]
            run = StapRun(adapt, place, pipeline, self._cube, samples, self._spare, at_once)
            self._runs += 1
            return run

        device, threads = parameters.get("device", "auto"), parameters.get("threads")
        return at_place(self._cube, device, threads, run_at)
