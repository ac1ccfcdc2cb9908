# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Radar data cubes with known truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from aperture._extension import core
from aperture._parameters import assign, shape_of_cube
from aperture._system import threads_for

_SCENE = core.ClutterScene()


TRUTH_TYPE = np.dtype(
    [
        ("range_cell", np.int64),
        ("doppler", np.float64),
        ("azimuth_degrees", np.float64),
        ("snr_db", np.float64),
    ]
)


def simulate_clutter(
    shape: Sequence[int],
    *,
    spacing: float = _SCENE.spacing,
    cnr_db: float = _SCENE.cnr_db,
    beta: float = _SCENE.beta,
    motion_std: float = _SCENE.motion_std,
    patches: int = _SCENE.patches,
    jammers: Iterable[tuple[float, float]] = (),
    targets: Iterable[tuple[int, float, float, float]] = (),
    seed: int = _SCENE.seed,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.complex64], npt.NDArray[np.void]]:
    """Simulate the cube of a side-looking airborne radar, with known truth.

    Parameters
    ----------
    shape : tuple of 3 ints
        Channels, pulses, range cells.
    spacing : float
        Distance of the channels in wavelengths.
    cnr_db : float
        Clutter-to-noise ratio per element and pulse in dB; ``-inf`` for no clutter.
    beta : float
        Half-wavelengths flown per pulse over the spacing in half-wavelengths.
    motion_std : float
        Standard deviation of the clutter's spectrum in cycles per pulse.
    patches : int
        Scatterers of a range ring.
    jammers : iterable of (azimuth in degrees, JNR in dB)
        Barrage noise.
    targets : iterable of (range cell, Doppler in cycles per pulse, azimuth in degrees, SNR in dB)
        Point targets.
    seed : int
        The same seed gives the same cube for every number of threads.
    threads : int, optional
        CPU threads.

    Returns
    -------
    cube : complex64 [channel, pulse, range]
    truth : structured array
        The targets.

    Notes
    -----
    Ward 1994, sections 2.6 and 2.7.

    Examples
    --------
    >>> import aperture
    >>> cube, truth = aperture.simulate_clutter((4, 8, 50), targets=[(20, 0.2, 0.0, 10.0)])
    >>> cube.shape, int(truth["range_cell"][0])
    ((4, 8, 50), 20)
    """
    extents = shape_of_cube(shape)
    if min(extents) < 1:
        raise ValueError(f"shape {extents}: expected positive extents")
    scene = core.ClutterScene()
    assign(
        scene,
        spacing=spacing,
        cnr_db=cnr_db,
        beta=beta,
        motion_std=motion_std,
        patches=patches,
        seed=seed,
    )
    for azimuth, jnr_db in jammers:
        scene.add_jammer(azimuth, jnr_db)
    truth = np.array([tuple(target) for target in targets], TRUTH_TYPE)
    for cell, doppler, azimuth, snr_db in truth.tolist():
        if not 0 <= cell < extents[2]:
            raise ValueError(f"targets: range cell {cell}, expected 0 to {extents[2] - 1}")
        scene.add_target(cell, doppler, azimuth, snr_db)
    cube = np.empty(extents, np.complex64)
    core.simulate(scene, cube, threads_for(threads))
    return cube, truth


def perfect_suite_cube(size: str) -> tuple[npt.NDArray[np.complex64], dict[str, int]]:
    """The white input of the PERFECT suite, and the suite's parameters.

    Parameters
    ----------
    size : {"small", "medium", "large"}
        Of the suite.

    Returns
    -------
    cube : complex64 [channel, pulse, range]
    parameters : dict
        ``doppler_bins``, ``training_block`` and ``tdof``, arguments of :func:`stap`. The suite has
        16 steering vectors, the default of :func:`stap`.

    Notes
    -----
    PNNL & GTRI 2013; the same samples as the suite's generator.

    Examples
    --------
    >>> import aperture
    >>> cube, parameters = aperture.perfect_suite_cube("small")
    >>> aperture.stap(cube, **parameters).output.shape
    (16, 256, 512)
    """
    channels, pulses, cells, bins, block, taps, _ = core.perfect_size(size)
    cube = np.empty((channels, pulses, cells), np.complex64)
    core.perfect_cube(cube)
    return cube, {"doppler_bins": bins, "training_block": block, "tdof": taps}
