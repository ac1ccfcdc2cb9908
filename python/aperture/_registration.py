# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""How images lie on one another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._corr import image_there
from aperture._extension import core
from aperture._kept import kept
from aperture._places import Place, at_place


class Alignment(NamedTuple):
    """How the content of an image ``b`` lies on that of an image ``a``.

    What is at ``c + v`` in ``a``, with ``c`` the centre of the images, is at
    ``c + (dy, dx) + scale R v`` in ``b``. Without rotation and scale,
    ``b[y, x] = a[y - dy, x - dx]``.

    Attributes
    ----------
    found : bool
        Whether the images tell how they lie. They do not without contrast or a common part; all
        else is then that of equal images, and ``correlation`` 0.
    dy, dx : float
        In pixels, down and to the right.
    rotation : float
        In degrees, counterclockwise.
    scale : float
    dy_deviation, dx_deviation, rotation_deviation, scale_deviation : float
        Standard deviations, estimated from what the images do not have in common.
    correlation : float
        Of the common part of both images, tapered: 1 for equal content, near 0 for unrelated one.
    """

    found: bool
    dy: float
    dx: float
    rotation: float
    scale: float
    dy_deviation: float
    dx_deviation: float
    rotation_deviation: float
    scale_deviation: float
    correlation: float

    def matrix(self, shape: tuple[int, int]) -> npt.NDArray[np.float64]:
        """Where a pixel of ``a`` lies in ``b``: 3 x 3, times (y, x, 1).

        ``scipy.ndimage.affine_transform(b, matrix)`` moves ``b`` onto ``a``; OpenCV, whose
        coordinates are (x, y), takes ``matrix[[1, 0]][:, [1, 0, 2]]`` with
        ``cv2.WARP_INVERSE_MAP``. ``shape`` is that of the images, rows and columns.
        """
        matrix = np.empty((3, 3))
        core.pixel_map(self.dy, self.dx, self.rotation, self.scale, shape, matrix)
        return matrix


def register(
    a: Any,
    b: Any,
    motion: str = "shift",
    *,
    device: str = "auto",
    threads: int | None = None,
    check_finite: bool | None = None,
) -> Alignment:
    """Find how the content of one image lies on that of another, to a fraction of a pixel.

    Parameters
    ----------
    a, b : [row, column] or [row, column, 3]
        Grey or colour images of one size, as in :func:`correlate`, at least 8 x 8, for similarities
        64 x 64.
    motion : {"shift", "similarity"}
        What may lie between them: a shift, or also a rotation of up to 90 degrees and a scale of
        about 0.5 to 2.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`.
    check_finite : bool, optional
        Refuse images with NaN or infinite values. Default: only images in host memory.

    Returns
    -------
    Alignment
        On a GPU, too, the call waits for it.

    Raises
    ------
    ValueError
        For images of different sizes, small ones, words that are no choice, and values that are
        not finite.
    TypeError
        For something that is not an array of numbers.
    DeviceError
        If the device cannot be used.

    Notes
    -----
    Phase correlation (Kuglin & Hines 1975), then the maximum of the tapered images'
    cross-correlation between pixels; rotation and scale from the spectra's sizes in logarithmic
    polar coordinates (Reddy & Chatterji 1996), then from shifts of blocks. Errors for photographs
    of 256 x 256 pixels with noise of 2 grey levels: 0.002 pixels; as a similarity 0.004 pixels,
    0.002 degrees and 0.00003 in scale.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> scene = np.random.default_rng(1).integers(0, 256, (80, 100), np.uint8)
    >>> found = aperture.register(scene[4:74, 3:93], scene[:70, :90])
    >>> round(found.dy, 3), round(found.dx, 3)
    (4.0, 3.0)
    """
    return at_place(a, device, threads, lambda place: _register(place, a, b, motion, check_finite))


def _register(place: Place, a: Any, b: Any, motion: str, check: bool | None) -> Alignment:
    first = image_there("a", a, place, False, check)
    second = image_there("b", b, place, False, check)
    shape = tuple(first.shape[:2])
    if tuple(second.shape[:2]) != shape:
        of_a, of_b = _arrays.shape_of("a", a), _arrays.shape_of("b", b)
        raise ValueError(f"b: shape {of_b}, of a {of_a}")
    made_for = ("ImageRegistration", place.core.__name__, place.where, shape, motion)

    def prepared() -> Any:
        work = place.core.ImageRegistration(place.where)
        work.prepare(place.stream(work), motion, shape)
        return work

    with kept(made_for, prepared) as work:
        found = work.run(
            place.stream(work), *(place.handle(image, work) for image in (first, second))
        )
    return Alignment(*(getattr(found, name) for name in Alignment._fields))
