# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""A wheel has an extension for each level of processors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

native = pytest.importorskip(
    "aperture._level", reason="a build for one processor", exc_type=ImportError
).level()

AT_LEVEL = """
import sys, types
level, file = sys.argv[1:]
sys.modules["aperture._level"] = types.SimpleNamespace(level=lambda: int(level))
import numpy as np, aperture
from aperture._extension import core
assert core.__name__ == f"aperture._x86_64_v{level}._cpu", core.__name__
y, x = np.mgrid[:60, :80]
images = [100 + 50 * np.sin(0.3 * x + 0.1 * y) + 30 * np.cos(0.25 * y - 0.1 * i) for i in (0, 4)]
correlation = {
    method: aperture.correlate(*images, planes="gradient", method=method).surface
    for method in ("fft", "direct")
}
tall = np.random.default_rng(1).normal(size=(3000, 20))
# Blocks of rows depend on the level, and so do signs of rows of R.
factors = {
    f"{name} of {kind.__name__} {method}": np.abs(factor)
    for kind in (np.float32, np.float64)
    for method in ("tsqr", "cholesky2")
    for name, factor in zip("QR", aperture.qr(tall.astype(kind), method=method))
}
svd = {
    f"{name} in float64": np.abs(part) for name, part in zip("Usv", aperture.tall_svd(tall))
}
np.savez(
    file,
    stap=aperture.stap(aperture.simulate_clutter((4, 16, 200))[0], detector="amf").output,
    flow=aperture.flow(*images),
    rpca=aperture.rpca(images[0]).low_rank,
    **correlation,
    **factors,
    **svd,
)
"""


def run_at(level: int, file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", AT_LEVEL, str(level), str(file)]
    return subprocess.run(command, capture_output=True, text=True)


def test_levels_agree(tmp_path: Path) -> None:
    results = {}
    for level in range(2, native + 1):
        file = tmp_path / f"{level}.npz"
        run = run_at(level, file)
        assert run.returncode == 0, run.stderr
        results[level] = np.load(file)
    for level in results:
        for name, expected in results[native].items():
            difference = np.abs(results[level][name] - expected).max()
            tolerance = 1e-12 if "float64" in name else 1e-4
            assert difference <= tolerance * np.abs(expected).max(), (level, name)


def test_older_processors_are_refused(tmp_path: Path) -> None:
    run = run_at(1, tmp_path / "none.npz")
    assert run.returncode == 1
    assert "not built for this processor, of level x86-64-v1" in run.stderr
