# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""The loop of all sweeps: a run for each combination of values, a table, the best."""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aperture._warnings import warn

if TYPE_CHECKING:
    from concurrent.futures import Future

_MOST_RUNS = 10_000


class Sweep:
    """What the runs of a sweep computed.

    Attributes
    ----------
    values : dict
        The list of values of each parameter. The last one changes fastest from run to run.
    scores : structured array
        A row for each run: the parameters, the score, all other results, milliseconds (``ms``), and
        whether it is the ``best``. NaN where a run has no result. On a GPU small runs overlap, and
        so do their times.
    best : int or None
        The row of the best run; None without a score.
    result : Any
        What the function returned in the best run; None without one.
    results : list or None
        With ``keep="all"``, what it returned in each run; None for runs that failed.
    failures : dict
        Of each run that failed, by its row, the reason.
    """

    def __init__(
        self,
        values: dict[str, list[Any]],
        scores: npt.NDArray[np.void],
        best: int | None,
        result: Any,
        results: list[Any] | None,
        failures: dict[int, str],
    ) -> None:
        self.values = values
        self.scores = scores
        self.best = best
        self.result = result
        self.results = results
        self.failures = failures

    def __repr__(self) -> str:
        best = ""
        if self.best is not None:
            row = self.scores[self.best]
            best = "; best " + ", ".join(f"{name} {row[name]}" for name in self.values)
        return f"<Sweep of {len(self.scores)} runs over {', '.join(self.values)}{best}>"


# Sequences that are one value.
_VALUES = {"azimuth", "steering", "mask"}


def is_list(name: str, value: Any) -> bool:
    return name not in _VALUES and (
        isinstance(value, (list, range)) or (isinstance(value, np.ndarray) and value.ndim == 1)
    )


class Computed:
    """A run: its result, and a function that computes its row of the table. If several runs may be
    under way ``at_once``, another thread calls the function."""

    def __init__(
        self, result: Any, find_out: Callable[[], dict[str, Any]], at_once: int = 1
    ) -> None:
        self.result, self.find_out, self.at_once = result, find_out, at_once


def run_all(
    compute: Callable[[dict[str, Any]], Computed],
    parameters: dict[str, Any],
    score: tuple[str, bool] | None,
    score_requires: str,
    keep: str | None,
    finish: Callable[[Any], Any] = lambda result: result,
) -> Sweep:
    """Run all combinations. ``score``: its name, and whether the largest is the best. ``finish``
    makes the results that are kept from those of ``compute``."""
    if keep not in (None, "best", "all"):
        raise ValueError(f"keep {keep!r}: expected 'best' or 'all'")
    if keep == "best" and score is None:
        raise ValueError(f"keep 'best' requires {score_requires}")
    keep_all = keep == "all" or score is None
    axes = {name: elements_of(value) for name, value in parameters.items() if is_list(name, value)}
    if not axes:
        raise ValueError("no parameter has a list of values")
    for name, elements in axes.items():
        if not elements:
            raise ValueError(f"{name}: the list of values is empty")
    runs = math.prod(len(elements) for elements in axes.values())
    if runs > _MOST_RUNS:
        raise ValueError(f"{runs} runs, expected at most {_MOST_RUNS}")
    rows: list[dict[str, Any]] = []
    results: list[Any] = []
    failures: dict[int, str] = {}
    best, best_result = None, None

    def settle(run: int, result: Any, row: dict[str, Any], error: Exception | None) -> None:
        nonlocal best, best_result
        rows.append(row)
        if error is not None:
            failures[run] = str(error)
        if keep_all:
            results.append(None if error else finish(result))
        if score is None or error:
            return
        name, largest = score
        value = row.get(name, math.nan)
        before = math.nan if best is None else rows[best][name]
        better = value > before if largest else value < before
        if math.isfinite(value) and (best is None or better):
            best, best_result = run, result

    def complete(computed: Computed, begin: float) -> tuple[dict[str, Any], Exception | None]:
        """The row of a run."""
        row: dict[str, Any] = {}
        failure = None
        try:
            row = dict(computed.find_out())
        except Exception as error:
            failure = error
        row["ms"] = 1e3 * (time.perf_counter() - begin)
        return row, failure

    begun: deque[tuple[int, Any, Future[tuple[dict[str, Any], Exception | None]]]] = deque()

    def settle_but(most: int) -> None:
        while len(begun) > most:
            run, result, row = begun.popleft()
            settle(run, result, *row.result())

    def step(run: int, values: dict[str, Any]) -> None:
        begin = time.perf_counter()
        try:
            computed = compute(values)
        except Exception as error:
            settle_but(0)
            return settle(run, None, {"ms": 1e3 * (time.perf_counter() - begin)}, error)
        # A new thread first starts OpenMP's threads, which few runs do not repay.
        if computed.at_once == 1 or runs < 2 * computed.at_once:
            settle_but(0)
            return settle(run, computed.result, *complete(computed, begin))
        begun.append((run, computed.result, other_thread.submit(complete, computed, begin)))
        settle_but(computed.at_once - 1)

    # Takes a tenth of the package's time to import.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as other_thread:
        for run, combination in enumerate(itertools.product(*axes.values())):
            step(run, {**parameters, **dict(zip(axes, combination, strict=True))})
        settle_but(0)
    if failures:
        first = min(failures)
        which = ", ".join(
            f"{name} {value}" for name, value in zip(axes, _combination(axes, first), strict=True)
        )
        text = f"{len(failures)} of {runs} runs failed, the first at {which}: {failures[first]}"
        if len(failures) == runs:
            raise ValueError(text)
        warn(text)
    if best is not None:
        best_result = results[best] if keep_all else finish(best_result)
    scores = _table(axes, rows, score, best)
    return Sweep(axes, scores, best, best_result, results if keep_all else None, failures)


def elements_of(values: Any) -> list[Any]:
    return list(values.tolist() if isinstance(values, np.ndarray) else values)


def _combination(axes: dict[str, list[Any]], run: int) -> tuple[Any, ...]:
    return next(itertools.islice(itertools.product(*axes.values()), run, None))


def _table(
    axes: dict[str, list[Any]],
    rows: list[dict[str, Any]],
    score: tuple[str, bool] | None,
    best: int | None,
) -> npt.NDArray[np.void]:
    """The structured array of :class:`Sweep`."""
    columns: dict[str, npt.NDArray[Any]] = {}
    combinations = list(itertools.product(*axes.values()))
    for axis, name in enumerate(axes):
        values = [combination[axis] for combination in combinations]
        number = all(isinstance(value, (int, float)) for value in values)
        columns[name] = np.array(values if number else [str(value) for value in values])
    names = {name: None for row in rows for name in row}
    for name in sorted(names, key=lambda name: (score is None or name != score[0], name == "ms")):
        values = [row.get(name, math.nan) for row in rows]
        columns[name] = np.array(values)
    columns["best"] = np.arange(len(rows)) == (-1 if best is None else best)
    table = np.empty(len(rows), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table
