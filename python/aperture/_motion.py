# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Motions of whole images."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._kept import kept
from aperture._parameters import word
from aperture._places import Place, at_place

# Of each model.
_PARAMETERS = {"shift": 2, "similarity": 4, "affine": 6, "homography": 8}


class Motions(NamedTuple):
    """What :func:`fit_motion` found. Without an axis of frames for a single frame.

    Attributes
    ----------
    matrices : float64 [frame, 3, 3]
        From pixels (y, x, 1) of the reference to those of the frame, up to a factor.
        ``scipy.ndimage.affine_transform(frame, matrix)`` moves the frame onto the reference unless
        it is a homography; OpenCV, whose coordinates are (x, y), takes
        ``matrix[[1, 0, 2]][:, [1, 0, 2]]`` with ``cv2.WARP_INVERSE_MAP``.
    gain, offset : float64 [frame]
        Of the brightness: the frame is ``gain * reference + offset``.
    deviation : float64 [frame]
        Robust standard deviation of the residuals where there is texture, in the unit of the
        frames.
    inliers : float64 [frame]
        Share of the common pixels that move so.
    iterations : int64 [frame]
    converged : bool [frame]
        False for images without texture in common or motions out of reach. The matrix is then the
        start, and the covariance zero.
    covariance : float64 [frame, parameter, parameter]
        Of the parameters of a small further motion, pixels squared; see :func:`fit_motion`.
    """

    matrices: npt.NDArray[np.float64]
    gain: Any
    offset: Any
    deviation: Any
    inliers: Any
    iterations: Any
    converged: Any
    covariance: npt.NDArray[np.float64]


def fit_motion(
    reference: Any,
    frames: Any,
    model: str = "affine",
    *,
    starts: Any = None,
    device: str = "auto",
    threads: int | None = None,
    check_finite: bool | None = None,
) -> Motions:
    """Fit one motion to all pixels of an image, beside objects that move otherwise.

    Parameters
    ----------
    reference : [row, column]
        A grey image of at least 16 x 16 pixels, converted to float32.
    frames : [row, column] or [frame, row, column]
        Images of its size, in the same unit and the same memory.
    model : {"shift", "similarity", "affine", "homography"}
        With (u, v) the position from the image's centre in units of (rows + columns) / 4 pixels,
        parameters p are displacements (dy, dx) in pixels: shift (p0, p1); similarity
        (p0 + p2 u + p3 v, p1 + p2 v - p3 u); affine (p0 + p2 u + p3 v, p1 + p4 u + p5 v);
        homography, to first order: the affine ones plus (u, v) (p6 u + p7 v).
    starts : [3, 3] or [frame, 3, 3], optional
        Matrices a few pixels from the motions, in host memory. Default: the best of all shifts by
        up to a quarter of the image.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`. They do not change the result.
    check_finite : bool, optional
        Refuse images with NaN or infinite values. Default: only images in host memory.

    Returns
    -------
    Motions
        Arrays of NumPy. On a GPU, too, the call waits for them.

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
    Inverse compositional Gauss-Newton steps over a pyramid (Baker & Matthews 2004) with Tukey's
    biweight (Beaton & Tukey 1974). Errors for photographs of 256 x 256 pixels with noise of 2 grey
    levels: 0.002 pixels. :func:`register` finds rotations and scales that are larger;
    its ``matrix`` may be the start.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> y, x = np.mgrid[:90, :110]
    >>> scene = 100 + 40 * np.sin(y / 5) * np.cos(x / 7) + 20 * np.sin((x + y) / 9)
    >>> found = aperture.fit_motion(scene[4:74, 3:93], 1.5 * scene[:70, :90], "shift")
    >>> np.round(found.matrices[:2, 2], 2).tolist(), round(float(found.gain), 2)
    ([4.0, 3.0], 1.5)
    """
    return at_place(
        reference,
        device,
        threads,
        lambda place: _fit(place, reference, frames, word("model", model), starts, check_finite),
    )


def _fit(
    place: Place, reference: Any, frames: Any, model: str, starts: Any, check: bool | None
) -> Motions:
    shape = _arrays.shape_of("reference", reference)
    if len(shape) != 2:
        raise ValueError(f"reference: shape {shape}, expected [row, column]")
    given = _arrays.shape_of("frames", frames)
    if len(given) not in (2, 3):
        raise ValueError(f"frames: shape {given}, expected [row, column] or [frame, row, column]")
    if given[-2:] != shape:
        raise ValueError(f"frames: shape {given}, of the reference {shape}")
    if 0 in given:
        raise ValueError(f"frames: shape {given} is empty")
    if not hasattr(frames, "reshape"):
        frames = _arrays.host_array("frames", frames)
    images = [
        place.input("reference", reference, np.float32, check),
        place.input("frames", frames.reshape(-1, *shape), np.float32, check),
    ]
    count = given[0] if len(given) == 3 else 1
    matrices = np.empty((count, 3, 3))
    covariance = np.empty((count, 8, 8))
    numbers = np.empty((6, count))
    if starts is not None:
        matrices[...] = _starts(starts, count)
    made_for = ("ImageMotion", place.core.__name__, place.where, shape, model)

    def prepared() -> Any:
        work = place.core.ImageMotion(place.where)
        work.prepare(place.stream(work), model, shape)
        return work

    with kept(made_for, prepared) as work:
        work.run(
            place.stream(work),
            *(place.handle(image, work) for image in images),
            starts is not None,
            matrices,
            covariance,
            numbers,
        )
    gain, offset, deviation, inliers, iterations, converged = numbers
    used = _PARAMETERS[model]
    found = Motions(
        matrices,
        gain,
        offset,
        deviation,
        inliers,
        iterations.astype(np.int64),
        converged != 0,
        covariance[:, :used, :used],
    )
    return found if len(given) == 3 else Motions(*(array[0] for array in found))


def _starts(starts: Any, count: int) -> npt.NDArray[np.float64]:
    matrices = _arrays.converted("starts", starts, np.float64)
    if matrices.shape not in ((3, 3), (count, 3, 3)):
        raise ValueError(f"starts: shape {matrices.shape}, expected (3, 3) or {(count, 3, 3)}")
    _arrays.expects_finite("starts", matrices, 1)
    return matrices
