# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs beside the library's own call.

    python python/bench/overhead.py --device cpu
    python python/bench/overhead.py --device gpu

The same small problem by a reusable object with ``out=``, by a function of aperture.dense or by an
array program, and by the extension's function alone with arguments prepared once, which is the
library's call and less than 1 us for its arguments.
Times are of the host, in microseconds, the fastest of several means; a GPU is idle before each
mean, and so short ones never wait for it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import aperture
from aperture._places import place_of

Call = Callable[[], Any]


def fastest_mean(call: Call, idle: Call, calls: int = 20, repetitions: int = 200) -> float:
    """Microseconds of host time a call."""
    fastest = np.inf
    for _ in range(repetitions):
        idle()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        fastest = min(fastest, (time.perf_counter() - start) / calls)
    return 1e6 * float(fastest)


def stap_calls(array: Callable[[Any], Any]) -> tuple[Call, Call]:
    cube = array(aperture.simulate_clutter((2, 8, 64))[0])
    adapt = aperture.Stap((2, 8, 64), azimuth=[0.0, 10.0], tdof=1, check_finite=False)
    result = adapt(cube)
    place = place_of(cube, "auto", None)
    pipeline = adapt._pipeline(place)
    there = [place.input("cube", cube, np.complex64, False)]
    there += [getattr(result, name) for name, _, _ in adapt._arrays_of(())]
    handles = [place.lasting(one, pipeline) for one in there]
    stream = place.stream(pipeline)
    return lambda: adapt(cube, out=result), lambda: pipeline.run(stream, *handles)


def flow_calls(array: Callable[[Any], Any]) -> tuple[Call, Call]:
    images = [array(np.random.default_rng(i).random((32, 32), np.float32)) for i in range(2)]
    estimate = aperture.FlowEstimator((32, 32), warps=1, levels=1, check_finite=False)
    out = estimate(*images)
    place = place_of(images[0], "auto", None)
    estimator = estimate._estimator(place)
    handles = [place.lasting(one, estimator) for one in (*images, out)]
    stream = place.stream(estimator)
    return lambda: estimate(*images, out=out), lambda: estimator.run(stream, *handles)


def solve_calls(array: Callable[[Any], Any]) -> tuple[Call, Call]:
    a = array(np.resize(np.eye(4, dtype=np.float32), (100, 4, 4)))
    b = array(np.ones((100, 4, 1), np.float32))
    x, info = aperture.dense.solve(a, b)
    place = place_of(a, "auto", None)
    batches = place.core.Batches(place.where)
    handles = [place.lasting(one, batches) for one in (a, b, x, info)]
    stream = place.stream(batches)
    return (
        lambda: aperture.dense.solve(a, b),
        lambda: batches.solve_float32(stream, False, *handles),
    )


def for_each_calls(array: Callable[[Any], Any]) -> tuple[Call, Call]:
    inputs, body = {"x": array(np.ones((100, 3), np.float32))}, "y() = x(0) + x(1) * x(2);"
    found = aperture.dense.for_each(body, inputs, {"y": ()})
    place = place_of(inputs["x"], "auto", None)
    batches = place.core.Batches(place.where)
    named = [
        (name, written, place.lasting(one, batches))
        for name, written, one in (("x", False, inputs["x"]), ("y", True, found["y"]))
    ]
    stream = place.stream(batches)
    return (
        lambda: aperture.dense.for_each(body, inputs, {"y": ()}),
        lambda: batches.for_each(stream, body, named, [], 1),
    )


def program_calls(array: Callable[[Any], Any]) -> tuple[Call, Call]:
    b, x = (array(np.ones((8, 8), np.float32)) for _ in range(2))

    @aperture.program
    def step(b: Any, x: Any, weight: float) -> Any:
        return x + weight * (b - x)

    step(b, x, 0.5)
    place = place_of(b, "auto", None)
    (plan,) = step._plans.values()
    worker = plan.core
    stream = place.stream(worker)
    weight, result = np.asarray(0.5, np.float32), place.new((8, 8), np.float32)

    def bare() -> None:
        inputs = [place.handle(b, worker), place.handle(x, worker), weight]
        worker.run(stream, inputs, [place.handle(result, worker)])

    return lambda: step(b, x, 0.5), bare


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    arguments = parser.parse_args()
    array: Callable[[Any], Any] = np.ascontiguousarray
    idle: Call = lambda: None  # noqa: E731
    if arguments.device == "gpu":
        import torch

        array, idle = (lambda values: torch.from_numpy(values).cuda()), torch.cuda.synchronize
    else:
        aperture.set_num_threads(1)
    print("| call | from Python | library's call | difference, us |\n|---|---|---|---|")
    several = [
        ("Stap, 2 x 8 x 64", stap_calls),
        ("FlowEstimator, 32 x 32", flow_calls),
        ("dense.solve, 100 x 4 x 4", solve_calls),
        ("program of three operations, 8 x 8", program_calls),
    ]
    if arguments.device == "gpu":
        several.append(("dense.for_each, 100 x 3", for_each_calls))
    for name, make in several:
        ours, bare = (fastest_mean(call, idle) for call in make(array))
        print(f"| {name} | {ours:.1f} | {bare:.1f} | {ours - bare:.1f} |")


if __name__ == "__main__":
    main()
