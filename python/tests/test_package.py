# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect
import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import aperture


def test_everything_public_is_documented() -> None:
    for module in (aperture, aperture.compose, aperture.sweep):
        for name in module.__all__:
            described = getattr(module, name)
            if callable(described):
                assert inspect.getdoc(described), name
                if inspect.isfunction(described):
                    assert "Examples" in (inspect.getdoc(described) or ""), name


def test_import_loads_little(tmp_path: Path) -> None:
    """Beyond NumPy: 40 ms where NumPy takes 80, of processor time, and no other library."""
    script = (
        "import time, sys; start = time.process_time(); import numpy;"
        "before = set(sys.modules); middle = time.process_time();"
        "import aperture; print((time.process_time() - middle) / (middle - start));"
        "print(*(set(sys.modules) - before));"
        "print(*{line.split()[-1] for line in open('/proc/self/maps') if '.so' in line})"
    )
    # Modules are compiled once, as where they are installed.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    shares = []
    for _ in range(5):
        run = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment
        )
        share, modules, libraries = run.stdout.splitlines()
        shares.append(float(share))
    assert min(shares) < 0.5
    assert not {"matplotlib", "torch", "jax", "h5py"} & set(modules.split())
    for unwanted in ("opencv", "hdf5", "fftw", "cublas", "nvrtc", "libcuda"):
        assert unwanted not in libraries


def test_versions_agree() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", aperture.__version__)
    assert aperture.build_info()["version"] == aperture.__version__
    assert aperture.build_info()["compiler"]


def test_number_of_threads() -> None:
    usual = aperture.cpu_info()["threads"]
    aperture.set_num_threads(3)
    assert aperture.cpu_info()["threads"] == 3
    aperture.set_num_threads(0)
    assert aperture.cpu_info()["threads"] == usual
    with pytest.raises(ValueError, match="threads -1"):
        aperture.set_num_threads(-1)
    with pytest.raises(TypeError, match="float"):
        aperture.set_num_threads(2.0)  # type: ignore[arg-type]


def _adapt(cube: Any) -> Any:
    return aperture.stap(cube, azimuth=[0.0], training_block=16, device="cpu").output


def _adapt_in_child(connection: Any, cube: Any) -> None:
    try:
        connection.send(_adapt(cube))
    except RuntimeError as error:
        connection.send(str(error))


def test_a_spawned_process_computes() -> None:
    cube = aperture.simulate_clutter((2, 4, 32))[0]
    expected = _adapt(cube)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_adapt_in_child, args=(there, cube))
    child.start()
    assert here.poll(60), "the child hangs"
    assert (here.recv() == expected).all()
    child.join(30)
    assert child.exitcode == 0


def test_a_process_forked_after_a_computation_says_that_it_cannot_compute() -> None:
    script = (
        "import os, sys, numpy, aperture;"
        "cube = numpy.random.default_rng(1).normal(size=(2, 4, 32)) + 0j;"
        "adapt = lambda: aperture.stap(cube, azimuth=[0.0], training_block=16, device='cpu');"
        "adapt();"
        "child = os.fork();"
        "child and sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]));"
        "adapt()"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert "RuntimeError: this process was forked after aperture computed" in run.stderr


def test_a_fork_before_the_first_computation_computes() -> None:
    script = (
        "import os, sys, numpy, aperture;"
        "child = os.fork();"
        "cube = numpy.random.default_rng(1).normal(size=(2, 4, 32)) + 0j;"
        "result = aperture.stap(cube, azimuth=[0.0], training_block=16, device='cpu').output;"
        "child and sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_openmp_of_pytorch_lives_beside_ours() -> None:
    pytest.importorskip("torch")
    script = (
        "import torch, numpy, aperture;"
        "a = torch.rand(500, 500) @ torch.rand(500, 500);"
        "cube = numpy.random.default_rng(1).normal(size=(4, 16, 200)) + 0j;"
        "first = aperture.stap(cube).output;"
        "b = torch.rand(500, 500) @ torch.rand(500, 500);"
        "assert (aperture.stap(cube).output == first).all() and torch.isfinite(a @ b).all()"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120, env=environment)
