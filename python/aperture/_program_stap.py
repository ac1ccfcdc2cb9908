# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Stages of extended factored STAP with block training, in complex64 (Anderson 2014, program 9).

A cube is [channel, Doppler bin, range cell]. With ``taps`` neighbouring bins the order n is
channels x taps. Each bin has ceil(cells / block) blocks of ``block`` cells; their problems come bin
by bin. Steering vectors are rows of an array [vector, n].
"""

from __future__ import annotations

from typing import Any

from aperture._program_library import Batch, of_library


@of_library()
def doppler(pulses: Any, *, bins: int = 0) -> Any:
    """A cube of Doppler bins from one of pulses, without a taper; 0 bins: as many as pulses.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> abs(compose.doppler(np.ones((1, 4, 1), np.complex64))).ravel().tolist()
    [4.0, 0.0, 0.0, 0.0]
    """


@of_library()
def extract_snapshots(cube: Any, *, block: int = 64, taps: int = 3) -> Any:
    """The samples that adapt together: a batch [problem, n, block].

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> cube = np.ones((2, 4, 10), np.complex64)
    >>> compose.extract_snapshots(cube, block=8, taps=3).shape
    (8, 6, 8)
    """


@of_library()
def outer_products(snapshots: Batch, *, loading: float = 0.0) -> Any:
    """Covariances: means of s s^H over the cells of a block, plus ``loading`` on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> snapshots = np.ones((1, 2, 8), np.complex64)
    >>> compose.outer_products(snapshots, loading=0.5).real.tolist()
    [[[1.5, 1.0], [1.0, 1.5]]]
    """


@of_library()
def solve_weights(covariance: Batch, steering: Any, *, solver: str = "cholesky") -> Any:
    """R^-1 v: a batch [problem, vector, n]; zero where R is not positive definite. The solver is
    ``cholesky`` or ``gauss_jordan``.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> R = 4 * np.eye(2, dtype=np.complex64)[None]
    >>> compose.solve_weights(R, np.ones((1, 2), np.complex64)).real.tolist()
    [[[0.25, 0.25]]]
    """


@of_library()
def gamma_weights(weights: Batch, steering: Any) -> Any:
    """1 / |w^H v|, which makes the gain in the steering direction one: float32 [problem, vector].

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> weights = np.full((1, 1, 2), 0.5, np.complex64)
    >>> compose.gamma_weights(weights, np.ones((1, 2), np.complex64)).tolist()
    [[1.0]]
    """


@of_library()
def inner_products(snapshots: Batch, weights: Batch, gamma: Any, *, bins: int, cells: int) -> Any:
    """gamma w^H s of each sample, as [vector, bin, cell].

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> snapshots, weights = np.ones((4, 2, 5), np.complex64), np.ones((4, 1, 2), np.complex64)
    >>> gamma = np.ones((4, 1), np.float32)
    >>> compose.inner_products(snapshots, weights, gamma, bins=2, cells=10).shape
    (1, 2, 10)
    """


@of_library()
def estimate_covariance(
    cube: Any,
    *,
    block: int = 64,
    taps: int = 3,
    loading: float = 0.0,
    relative_loading: float = 0.0,
) -> Any:
    """``outer_products(extract_snapshots(cube))`` without snapshots in memory. The loading is
    absolute, or relative to trace(R) / n.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> cube = np.ones((2, 4, 10), np.complex64)
    >>> compose.estimate_covariance(cube, block=8, taps=3, loading=1).shape
    (8, 6, 6)
    """


@of_library()
def apply_weights(
    cube: Any, steering: Any, weights: Batch, *, block: int = 64, taps: int = 3
) -> Any:
    """``inner_products`` with their gamma, without snapshots in memory: [vector, bin, cell].

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> cube, steering = np.ones((2, 4, 8), np.complex64), np.ones((1, 2), np.complex64)
    >>> weights = np.ones((4, 1, 2), np.complex64)
    >>> compose.apply_weights(cube, steering, weights, block=8, taps=1).real.ravel()[:2].tolist()
    [1.0, 1.0]
    """


@of_library()
def adapt_cube(
    cube: Any,
    steering: Any,
    *,
    block: int = 64,
    taps: int = 3,
    loading: float = 0.0,
    relative_loading: float = 0.0,
    solver: str = "cholesky",
) -> Any:
    """All stages in one pass over the cube, without covariances and weights in memory: [vector,
    bin, cell].

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> cube, steering = np.ones((2, 4, 8), np.complex64), np.ones((1, 2), np.complex64)
    >>> compose.adapt_cube(cube, steering, block=8, taps=1, loading=1).shape
    (1, 4, 8)
    """
