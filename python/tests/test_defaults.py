# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Defaults are those of the programs: what --help says or, where it says nothing, the report of a
run without flags."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aperture
from aperture._extension import core

# Of each function, the program, and of each of its parameters that is also the program's: the flag
# or, where the two words for the default differ, (flag, what --help says, Python's default).
COUNTERPARTS: dict[Callable[..., Any], tuple[str, dict[str, str | tuple[str, str, Any]]]] = {
    aperture.stap: (
        "stap",
        {
            "azimuth": ("azimuth", "else 16 over the visible range)", None),
            "spacing": ("spacing", "(default: attribute, else 0.5)", 0.5),
            "prf": ("prf", "(default: attribute)", None),
            # Programs take it from the file.
            "domain": ("domain", "Domain of the second axis", "pulse"),
            "doppler_bins": ("doppler-bins", "else pulses rounded up to a power of two)", None),
            "taper": ("taper", "none, hann, hamming", None),
            "tdof": ("tdof", "(default 3)", None),
            "training": ("training", "disjoint blocks (default)", "block"),
            "training_block": ("training-block", "else 64 or twice its order)", None),
            "guard": "guard",
            "loading": ("loading", "(default none)", None),
            "detector": ("detector", "(default none)", None),
            "pfa": "pfa",
            "precision": ("precision", "or auto (default)", "auto"),
            "solver": "solver",
            "impl": "impl",
            "device": "device",
            "threads": ("threads", "(default: all)", None),
        },
    ),
    aperture.flow: (
        "oflow",
        {
            "preset": "preset",
            "method": ("method", "Horn-Schunck (default)", "hs"),
            "device": "device",
            "threads": ("threads", "(default: all)", None),
            # The others are the preset's: test_presets_are_those_of_oflow.
            **{
                name: (flag, "", None)
                for name, flag in {
                    "alpha": "alpha",
                    "window": "lk-window",
                    "regularisation": "regularisation",
                    "levels": "levels",
                    "scale": "level-scale",
                    "warps": "warps",
                    "median": "median",
                    "interpolation": "interpolation",
                    "blur": "blur",
                    "texture": "texture",
                    "solver": "solver",
                    "iterations": "iterations",
                    "tolerance": "tolerance",
                    "relaxation": "omega",
                    "precondition": "precondition",
                    "s_step": "s-step",
                    "basis": "basis",
                    "boundary": "boundary",
                    "stencil": "stencil",
                    "impl": "impl",
                }.items()
            },
        },
    ),
    aperture.correlate: (
        "corr",
        {
            "offsets": ("offsets", "(default: half the image)", None),
            "signed": ("signed", "both signs (default for a pair)", None),
            "planes": "planes-from",
            "sigma": "sigma",
            "normalize": ("normalize", "(default: plane; none with --planes)", None),
            "estimator": "estimator",
            "mask": ("mask", "only its nonblack pixels count", None),
            "method": "method",
            "precision": "precision",
            "device": "device",
            "threads": ("threads", "(default: all)", None),
        },
    ),
    aperture.rpca: (
        "bgsub",
        {
            "solver": "solver",
            "svd": "svd",
            "rank": ("rank", "accaltproj (default: a tenth of the frames, at most 10)", None),
            "lam": ("lambda", "(default: 1/sqrt(max(pixels, frames)))", None),
            "tolerance": "tolerance",
            "max_iterations": "max-iterations",
            "device": "device",
            "threads": ("threads", "(default: all)", None),
        },
    ),
    aperture.CameraMotion: (
        "bgsub",
        {
            "how": ("stabilise", "=auto, off with --method online", "auto"),
            "threads": ("threads", "(default: all)", None),
        },
    ),
    aperture.BackgroundSubtractor: (
        "bgsub",
        {
            # A stream of frames cannot be solved together.
            "method": ("method", "=auto ", "online"),
            "burn_in": "burn-in",
            "memory": "memory",
            "patience": "patience",
            "threshold": ("threshold", "(default pixel)", None),
            # "noise:K" as a threshold.
            "noise_multiple": ("threshold", "K standard deviations of the noise", 0.0),
            "clean": "clean",
            "min_area": "min-area",
            "hysteresis": "hysteresis",
            # Flags that turn them off.
            "fill_holes": ("keep-holes", "Do not fill", True),
            "remove_shadows": ("keep-shadows", "Do not remove", True),
            "remove_light": ("keep-light", "do not remove", True),
            "threads": ("threads", "(default: all)", None),
        },
    ),
    aperture.foreground_masks: (
        "bgsub",
        {
            "threshold": ("threshold", "(default pixel)", None),
            "noise_multiple": ("threshold", "K standard deviations of the noise", 0.0),
            "clean": "clean",
            "min_area": "min-area",
            "hysteresis": "hysteresis",
            # Flags that turn them off.
            "fill_holes": ("keep-holes", "Do not fill", True),
            "remove_shadows": ("keep-shadows", "Do not remove", True),
            # As of --method rpca.
            "remove_light": ("keep-light", "--method online or median", False),
            "threads": ("threads", "(default: all)", None),
        },
    ),
}

# What only Python has: arrays, and what programs leave to the file or the preset.
ONLY_IN_PYTHON = {
    aperture.stap: "cube steering progress check_finite out",
    aperture.flow: "image0 image1 initial progress check_finite out"
    " robust brightness contrast reweightings weighted_median largest_update smooth_increment",
    aperture.correlate: "a b check_finite",
    aperture.rpca: "matrix progress out",
    aperture.CameraMotion: "frames",
    aperture.BackgroundSubtractor: "clip",
    aperture.foreground_masks: "frames background",
}

# Flags of these names are files, or which frames of them.
OTHER_FLAGS = {"cube", "frames", "out"}


def entries_of_help(program: str) -> dict[str, str]:
    """Each flag with all that --help says of it, on one line."""
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    options = text.split("\nOptions:\n")[1].split("\n\n")[0]
    entries = {}
    for entry in re.split(r"\n {2}(?=-)", "\n" + options):
        flag = re.search(r"--([a-z0-9-]+)", entry)
        if flag:
            entries[flag[1]] = " ".join(entry.split())
    return entries


def default_in(entry: str) -> str | None:
    """The default of an entry: "--flag a|b=DEFAULT ..." or "... (default DEFAULT)"."""
    found = re.search(r"^\S+ \S+=(\S+)|\(default:? ([^)]*)\)", entry)
    return None if found is None else found[1] or found[2]


def parameters_of_run(program: str, folder: Path, flags: list[str]) -> dict[str, Any]:
    """The parameters in the report of a program that was given what it needs, and `flags`."""
    if Path(program).name == "stap":
        inputs = [folder / "cube.npy"]
        np.save(inputs[0], aperture.simulate_clutter((2, 8, 200))[0])
    else:
        inputs = [folder / f"{i}.pgm" for i in range(2)]
        for i, path in enumerate(inputs):
            pixels = np.roll(np.random.default_rng(1).integers(0, 256, (48, 64), np.uint8), i, 1)
            path.write_bytes(b"P5 64 48 255\n" + pixels.tobytes())
    command = [program, *map(str, inputs), "--device", "cpu", "--quiet", "--report", "-", *flags]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    parameters: dict[str, Any] = json.loads(run.stdout)["parameters"]
    return parameters


@pytest.mark.parametrize("function", COUNTERPARTS, ids=lambda function: function.__name__)
def test_defaults_are_those_of_the_program(
    function: Callable[..., Any], program: Callable[[str], str], tmp_path: Path
) -> None:
    name, counterparts = COUNTERPARTS[function]
    entries = entries_of_help(program(name))
    parameters = inspect.signature(function).parameters
    only_in_python = ONLY_IN_PYTHON[function].split()
    assert {*counterparts, *only_in_python} == {*parameters}
    flags = {other.replace("_", "-") for other in only_in_python} - OTHER_FLAGS
    assert not flags & {*entries}, "the program has a flag to compare with"
    in_report: dict[str, Any] = {}
    for parameter, counterpart in counterparts.items():
        default = parameters[parameter].default
        if isinstance(counterpart, tuple):
            flag, phrase, expected = counterpart
            assert phrase in entries[flag], parameter
            assert default == expected, parameter
            continue
        said: Any = default_in(entries[counterpart])
        if said is None:
            in_report = in_report or parameters_of_run(program(name), tmp_path, [])
            said = in_report[counterpart.replace("-", "_")]
        assert type(default)(said) == default, (parameter, said)


def test_the_defaults_of_stap_that_depend_on_the_cube(
    program: Callable[[str], str], tmp_path: Path
) -> None:
    reported = parameters_of_run(program("stap"), tmp_path, [])
    adapt = aperture.Stap((2, 8, 200))
    assert f"covariances of order {2 * reported['tdof']}" in repr(adapt)
    assert f"{reported['steering_vectors']} steering vectors" in repr(adapt)
    assert f"{reported['doppler_bins']} Doppler bins" in repr(adapt)


@pytest.mark.parametrize(
    ("preset", "method", "solver"),
    [
        *(
            (preset, method, None)
            for preset in ("fast", "accurate", "thesis")
            for method in ("hs", "lk")
        ),
        *(("fast", "hs", solver) for solver in ("jacobi", "cg", "cacg", "redblack", "multigrid")),
    ],
)
def test_presets_are_those_of_oflow(
    program: Callable[[str], str], tmp_path: Path, preset: str, method: str, solver: str | None
) -> None:
    flags = ["--preset", preset, "--method", method]
    if solver is not None:
        flags += ["--solver", solver]
    reported = parameters_of_run(program("oflow"), tmp_path, flags)
    parameters = core.flow_preset(preset, method, solver)
    names = {"scale": "level_scale", "relaxation": "omega", "window": "lk_window"}
    of_image = parameters.levels_of(48, 64)
    compared = 0
    for name in inspect.signature(aperture.flow).parameters:
        said = reported.get(names.get(name, name))
        if said is None or name == "preset":
            continue
        value = of_image if name == "levels" else getattr(parameters, name)
        assert type(value)(said) == value, name
        compared += 1
    assert compared >= 11
