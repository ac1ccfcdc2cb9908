# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs beside the library's own call.

    python python/bench/overhead.py --device cpu
    python python/bench/overhead.py --device gpu

The same small problem by a reusable object with ``out=``, and by the extension's function alone
with arguments prepared once, which is the library's call and less than 1 us for its arguments.
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
    for name, make in (("Stap, 2 x 8 x 64", stap_calls), ("FlowEstimator, 32 x 32", flow_calls)):
        ours, bare = (fastest_mean(call, idle) for call in make(array))
        print(f"| {name} | {ours:.1f} | {bare:.1f} | {ours - bare:.1f} |")


if __name__ == "__main__":
    main()
