# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""A wheel has an extension for each level of processors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import aperture

native = pytest.importorskip(
    "aperture._level", reason="a build for one processor", exc_type=ImportError
).level()

AT_LEVEL = """
import sys, types
sys.modules["aperture._level"] = types.SimpleNamespace(level=lambda: int(sys.argv[1]))
import numpy, aperture
from aperture._extension import core
assert core.__name__ == f"aperture._x86_64_v{sys.argv[1]}._cpu", core.__name__
cube = numpy.load(sys.argv[2])
numpy.save(sys.argv[3], aperture.stap(cube, precision="fp64").output)
"""


def run_at(level: int, *arguments: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", AT_LEVEL, str(level), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("level", [2, 3, 4])
def test_levels_agree(level: int, tmp_path: Path) -> None:
    if level > native:
        pytest.skip(f"the processor is of level {native}")
    cube = aperture.simulate_clutter((4, 16, 200))[0]
    np.save(tmp_path / "cube.npy", cube)
    run = run_at(level, tmp_path / "cube.npy", tmp_path / "output.npy")
    assert run.returncode == 0, run.stderr
    expected = aperture.stap(cube, precision="fp64").output
    difference = np.abs(np.load(tmp_path / "output.npy") - expected).max()
    assert difference <= 1e-5 * np.abs(expected).max()


def test_older_processors_are_refused() -> None:
    run = run_at(1)
    assert run.returncode == 1
    assert "needs a processor of level x86-64-v2" in run.stderr
