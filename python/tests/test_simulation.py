# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aperture


def test_simulated_cubes_depend_on_their_seed_only() -> None:
    first, truth = aperture.simulate_clutter((3, 8, 50), targets=[(7, 0.1, 3.0, 20.0)], threads=1)
    again, _ = aperture.simulate_clutter((3, 8, 50), targets=[(7, 0.1, 3.0, 20.0)], threads=2)
    other, _ = aperture.simulate_clutter((3, 8, 50), targets=[(7, 0.1, 3.0, 20.0)], seed=2)
    assert (first == again).all() and (first != other).any()
    assert truth["snr_db"].tolist() == [20.0]
    quiet, _ = aperture.simulate_clutter((2, 4, 4000), cnr_db=-np.inf)
    assert np.mean(np.abs(quiet) ** 2) == pytest.approx(1, rel=0.02)
    jammed, _ = aperture.simulate_clutter((2, 4, 4000), cnr_db=-np.inf, jammers=[(30.0, 20.0)])
    assert np.mean(np.abs(jammed) ** 2) == pytest.approx(101, rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": (0, 4, 4)}, "positive extents"),
        ({"shape": (4, 4)}, "channels, pulses, range cells"),
        ({"targets": [(4, 0.0, 0.0, 0.0)]}, "range cell 4"),
        ({"beta": np.nan}, "beta"),
        ({"patches": -1}, "patches"),
    ],
)
def test_impossible_scenes_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        aperture.simulate_clutter(**{"shape": (2, 4, 4), **arguments})


def test_perfect_suite_has_its_shapes() -> None:
    cube, parameters = aperture.perfect_suite_cube("small")
    assert cube.shape == (4, 128, 512)
    assert parameters["tdof"] == 3
    with pytest.raises(ValueError, match="huge"):
        aperture.perfect_suite_cube("huge")
