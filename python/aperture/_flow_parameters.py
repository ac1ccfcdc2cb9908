# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of optical flow, which depend on one another."""

from __future__ import annotations

from typing import Any

from aperture._parameters import assign


def assign_given(parameters: Any, given: dict[str, Any]) -> None:
    """Set the parameters that are not None, and refuse those without effect: they show a
    misunderstanding."""
    given = {name: value for name, value in given.items() if value is not None}
    if "stencil" in given:
        given["stencil"] = str(given["stencil"])
    assign(parameters, **given)
    hs = parameters.method == "hs"
    solver = parameters.solver
    needs = {
        "method 'hs'": (
            hs,
            "alpha smooth_increment solver iterations tolerance relaxation precondition s_step"
            " basis boundary stencil",
        ),
        "method 'lk'": (not hs, "window regularisation"),
        "robust True": (parameters.robust, "brightness contrast reweightings"),
        "solver 'redblack'": (solver == "redblack", "relaxation"),
        "solver 'cacg'": (solver == "cacg", "s_step basis"),
        "solver 'cg' or 'cacg'": (solver in ("cg", "cacg"), "precondition"),
    }
    for needed, (fulfilled, names) in needs.items():
        for name in names.split():
            if name in given and not fulfilled:
                raise ValueError(f"{name} {given[name]!r} has no effect without {needed}")
