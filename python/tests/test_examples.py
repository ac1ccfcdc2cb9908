# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""The notebooks of examples/python run from beginning to end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "python"
EXPECTED = {
    "stap": "range cell 64.0, Doppler -131 Hz",
    "flow": "mean distance from the truth there: 0.02",
    "background": "precision 1.000, recall 1.000",
    "correlation": "at dy 5.07, dx -7.85",
    "speed": "NumPy",
    "compose_jacobi": "the same bits: True",
    "compose_edges": "the same bits: True",
    "compose_lucas_kanade": "the flow by hand, but for rounding: True",
    "compose_stap": "the output by hand, but for rounding: True",
    "compose_kalman": "the estimates by NumPy, but for rounding: True",
    "compose_sequences": "the results by NumPy, but for rounding: True",
    "compose_listing1": "the same bits in all modes: True",
    "compose_flow": "block2x2 are those by hand, but for rounding: True",
}


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_notebook_runs(name: str) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("h5py")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(FOLDER / f"{name}.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert EXPECTED[name] in run.stdout
