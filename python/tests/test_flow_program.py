# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""The package and the program `oflow` compute the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenes import SHAPE, by_program, colour_frames, frames, read_flo

import aperture

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ("", {}),
        ("--preset accurate", {"preset": "accurate"}),
        ("--preset thesis --method lk", {"preset": "thesis", "method": "lk"}),
        ("--preset accurate --method lk --lk-window 5 --regularisation 0.7",
         {"preset": "accurate", "method": "lk", "window": 5, "regularisation": 0.7}),
        ("--alpha 3.3 --levels 2 --level-scale 0.6 --warps 2 --median 3 --blur 1.1 --texture 0.3",
         {"alpha": 3.3, "levels": 2, "scale": 0.6, "warps": 2, "median": 3, "blur": 1.1,
          "texture": 0.3}),
        ("--solver multigrid --boundary zero --stencil 9 --interpolation bilinear",
         {"solver": "multigrid", "boundary": "zero", "stencil": 9, "interpolation": "bilinear"}),
        ("--solver cg --precondition none --iterations 20 --tolerance 1e-3",
         {"solver": "cg", "precondition": "none", "iterations": 20, "tolerance": 1e-3}),
        ("--solver cacg --s-step 3 --basis chebyshev",
         {"solver": "cacg", "s_step": 3, "basis": "chebyshev"}),
        ("--omega 1.3", {"relaxation": 1.3}),
        ("--preset thesis --solver jacobi", {"preset": "thesis", "solver": "jacobi"}),
    ],
)  # fmt: skip
def test_same_bits_as_the_program(
    program: Callable[[str], str],
    tmp_path: Path,
    flags: str,
    arguments: dict[str, Any],
) -> None:
    pair = frames()
    expected = by_program(program("oflow"), tmp_path, pair, flags.split())
    assert (aperture.flow(pair[0], pair[1], device="cpu", **arguments) == expected).all()


def test_same_bits_as_the_program_in_colours_and_16_bits(
    program: Callable[[str], str], tmp_path: Path
) -> None:
    deep = np.random.default_rng(1).integers(0, 2**16, (2, *SHAPE, 3), np.uint16)
    for images in (colour_frames(), deep, deep[..., 0]):
        expected = by_program(program("oflow"), tmp_path, images, [])
        assert (aperture.flow(images[0], images[1], device="cpu") == expected).all()


def test_same_files_as_the_program(program: Callable[[str], str], tmp_path: Path) -> None:
    colours = colour_frames()
    names = {flag: str(tmp_path / f"{flag}.ppm") for flag in ("warped", "consistency")}
    flags = [word for flag, name in names.items() for word in (f"--{flag}", name)]
    uv = by_program(program("oflow"), tmp_path, colours, flags)

    def read(name: str) -> Any:
        return np.frombuffer(Path(name).read_bytes()[-3 * uv[..., 0].size :], np.uint8).reshape(
            *SHAPE, 3
        )

    warped = np.clip(np.floor(aperture.warp(colours[1], uv, device="cpu") + 0.5), 0, 255)
    assert (read(names["warped"]) == warped).all()
    mask = aperture.flow_consistency(uv, aperture.flow(colours[1], colours[0], device="cpu"))
    assert ((read(names["consistency"])[..., 0] == 255) == mask).all()


@pytest.mark.parametrize("preset", ["fast", "accurate"])
def test_recorded_images_have_the_known_flow(
    program: Callable[[str], str], shared_data: Path, tmp_path: Path, preset: str
) -> None:
    pyplot = pytest.importorskip("matplotlib.image")
    folder = shared_data / "middlebury" / "RubberWhale"
    files = [folder / f"frame1{i}.png" for i in (0, 1)]
    images = [np.round(255 * pyplot.imread(file)).astype(np.uint8) for file in files]
    uv = aperture.flow(images[0], images[1], preset=preset, device="cpu")
    errors = aperture.flow_errors(uv, read_flo(folder / "flow10.flo"))
    assert errors["epe"] < {"fast": 0.2, "accurate": 0.1}[preset]
    assert (by_program(program("oflow"), tmp_path, images, ["--preset", preset]) == uv).all()
