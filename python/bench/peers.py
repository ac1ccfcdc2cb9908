# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""The package beside what a Python user would write otherwise, on the same work.

    python python/bench/peers.py --device cpu --csv peers.csv
    python python/bench/peers.py --device gpu --job stap

Every peer that is installed computes the same result from the same arrays in fp32; differences from
ours are checked. Times are the fastest of several means of calls back to back: on a GPU between two
events of the stream, with all arrays on it. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import csv
import functools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from contenders import Call, Gpu, Host, Job
from dense_jobs import batch, kalman, tall_qr
from signal_jobs import correlation, robust_pca, stap, sweeps

import aperture

JOBS = ("stap", "sweeps", "rpca", "correlation", "qr", "kalman", "batch")


def jobs(place: Any, wanted: str) -> Iterator[Job]:
    gpu = place.name == "gpu"
    makers: list[tuple[str, Call]] = [
        ("stap", lambda: stap(place, "medium")),
        ("stap", lambda: stap(place, "large")),
        ("sweeps", lambda: sweeps(place, 388, 584, 400)),
        ("rpca", lambda: robust_pca(place, 110592, 100)),
        ("correlation", lambda: correlation(place, 500, 4)),
        ("qr", lambda: tall_qr(place, 1_000_000 if gpu else 100_000, 192)),
    ]
    if gpu:
        makers.append(("kalman", lambda: kalman(place, 1_000_000)))
    for task in ("cholesky", "solve", "inv"):
        for n in (8, 16, 32):
            makers.append(("batch", functools.partial(batch, place, task, 100_000, n)))
    for name, make in makers:
        if wanted in ("", name):
            yield make()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads of ours; 0: all")
    parser.add_argument("--job", choices=JOBS, default="")
    parser.add_argument("--csv", metavar="FILE", help="also write the table there")
    arguments = parser.parse_args()
    place: Any = Gpu() if arguments.device == "gpu" else Host(arguments.threads)
    described = aperture.gpu_info()[0] if place.name == "gpu" else aperture.cpu_info()
    print(f"aperture {aperture.__version__} on {described['name']}\n")
    print("| job | by | ms | ours is faster |\n|---|---|---|---|")
    rows: list[tuple[str, str, float, float]] = []
    for job in jobs(place, arguments.job):
        reference = place.to_numpy(job.contenders[0].call())
        ours = 0.0
        for contender in job.contenders:
            result = place.to_numpy(contender.call())
            if job.tolerance is not None:
                difference = np.abs(result - reference).max() / np.abs(reference).max()
                if not difference < job.tolerance:
                    raise SystemExit(f"{job.name}: {contender.who} differs by {difference:.1e}")
            start = time.perf_counter()
            # JAX returns before it is done.
            place.to_numpy(contender.call())
            once = max(time.perf_counter() - start, 1e-6)
            calls = int(np.clip(0.1 / once, 1, 200))
            seconds = place.time(contender.call, calls, 5) / contender.units
            ours = ours or seconds
            rows.append((job.name, contender.who, 1e3 * seconds, seconds / ours))
            print(
                f"| {job.name} | {contender.who} | {1e3 * seconds:.4g} | {seconds / ours:.1f} |",
                flush=True,
            )
    if arguments.csv:
        with open(arguments.csv, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("job", "by", "milliseconds", "ours is faster"))
            writer.writerows(rows)


if __name__ == "__main__":
    main()
