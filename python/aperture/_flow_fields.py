# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What to do with a flow: errors, pictures, warping, consistency."""

from __future__ import annotations

from typing import Any

import numpy as np

from aperture._extension import core
from aperture._kept import kept
from aperture._parameters import number, word
from aperture._places import HostPlace, Place, at_place

_DEFAULTS = core.flow_preset("fast", "hs", None)


def flow_errors(uv: Any, truth: Any, *, threads: int | None = None) -> dict[str, float]:
    """Compare a flow with the true one.

    Parameters
    ----------
    uv, truth : [row, column, 2]
        Flows in pixels. Where the truth has NaN or a component beyond 1e9 it is unknown, and the
        pixel is left out.
    threads : int, optional
        CPU threads.

    Returns
    -------
    dict
        ``known``: pixels with known truth; ``non_finite``: of these, with NaN or infinity in
        ``uv``, which are outliers and not in the means; ``aae``: mean angle between (u, v, 1) and
        the true one in degrees; ``epe``: mean distance of the end points in pixels; ``rmse``: root
        mean squared distance in pixels; ``r05``, ``r1``, ``r2``: fraction of pixels with a
        distance above 0.5, 1 and 2 pixels. Without a known pixel all but the counts are NaN.

    Notes
    -----
    Baker et al. 2011, section 4.1. Computes on the CPU; flows on a GPU are copied.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> truth = np.zeros((10, 10, 2))
    >>> errors = aperture.flow_errors(truth + [0.6, 0.8], truth)
    >>> round(errors["epe"], 6), errors["r05"], errors["r2"]
    (1.0, 1.0, 0.0)
    """
    place = HostPlace(uv, threads)
    found, known = _two_flows(place, {"uv": uv, "truth": truth})
    errors = core.compare_flows(found, known, place.where)
    names = ("known", "non_finite", "aae", "epe", "rmse", "r05", "r1", "r2")
    return {name: getattr(errors, name) for name in names}


def flow_to_image(uv: Any, max_motion: float | None = None) -> Any:
    """Draw a flow in the colours of the Middlebury benchmark's wheel.

    Parameters
    ----------
    uv : [row, column, 2]
        A flow in pixels; pixels with NaN or a component beyond 1e9 are black.
    max_motion : float, optional
        Motion of full saturation in pixels; longer ones are darker. Default: the longest motion.
        A common one makes the frames of a video comparable.

    Returns
    -------
    uint8 [row, column, 3]
        Red, green and blue.

    Notes
    -----
    Baker et al. 2011. Direction is hue, length is saturation, and rest is white. Computes on the
    CPU; a flow on a GPU is copied, and its picture back.

    Examples
    --------
    >>> import aperture
    >>> aperture.flow_to_image([[[0.0, 0.0], [3.0, 0.0]]]).tolist()
    [[[255, 255, 255], [255, 0, 0]]]
    """
    place = HostPlace(uv, None)
    field = _flow_array(place, "uv", uv)
    motion = core.largest_motion(field) if max_motion is None else number("max_motion", max_motion)
    picture = np.empty((*field.shape[:2], 3), np.uint8)
    core.draw_flow(field, motion, picture)
    return place.result(picture, None)


def warp(
    image: Any,
    uv: Any,
    *,
    interpolation: str = _DEFAULTS.interpolation,
    device: str = "auto",
    threads: int | None = None,
) -> Any:
    """Sample an image where a flow points: ``image`` at (x + u, y + v).

    With the flow from another image to ``image``, the result approximates the other one.

    Parameters
    ----------
    image : [row, column] or [row, column, channel]
        Values of any type of number, taken as they are.
    uv : [row, column, 2]
        A flow in pixels. Where it is not finite, the pixel itself is sampled.
    interpolation : {"bilinear", "bicubic"}
        Between pixels. Outside the image the border is repeated.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads.

    Returns
    -------
    float32 [row, column] or [row, column, channel]

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> image = np.arange(12.0).reshape(3, 4)
    >>> right = np.zeros((3, 4, 2)) + [1, 0]
    >>> aperture.warp(image, right)[0].tolist()
    [1.0, 2.0, 3.0, 3.0]
    """
    kind = word("interpolation", interpolation)
    return at_place(image, device, threads, lambda place: _warp(place, image, uv, kind))


def _warp(place: Place, image: Any, uv: Any, kind: str) -> Any:
    values = place.input("image", image, np.float32, False)
    shape = tuple(values.shape)
    if len(shape) not in (2, 3):
        raise ValueError(f"image: shape {shape}, expected [row, column] or [row, column, channel]")
    field = _flow_array(place, "uv", uv)
    if tuple(field.shape[:2]) != shape[:2]:
        raise ValueError(f"uv: shape {tuple(field.shape)}, expected {(*shape[:2], 2)}")
    warped = place.new(shape, np.float32)
    made_for = ("Warper", place.core.__name__, place.where)
    with kept(made_for, lambda: place.core.Warper(place.where)) as warper:
        there = (place.handle(array, warper) for array in (values, field))
        if min(shape) > 0:
            warper.run(place.stream(warper), *there, kind, place.handle(warped, warper))
        return place.result(warped, warper)


def flow_consistency(forward: Any, backward: Any, *, threads: int | None = None) -> Any:
    """Whether the backward flow leads back to where the forward flow came from.

    With f the forward flow at x and b the backward flow at x + f, a pixel is consistent if
    |f + b|^2 < 0.01 (|f|^2 + |b|^2) + 0.5. Otherwise its content is occluded, or one of the flows
    is wrong.

    Parameters
    ----------
    forward, backward : [row, column, 2]
        Flows in pixels, from an image to another one and back.
    threads : int, optional
        CPU threads.

    Returns
    -------
    bool [row, column]
        False also where x + f is outside the image and where f or b is not finite.

    Notes
    -----
    Sundaram, Brox & Keutzer 2010, section 3. Computes on the CPU; flows on a GPU are copied, and
    the result back.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> right = np.zeros((2, 5, 2)) + [2, 0]
    >>> aperture.flow_consistency(right, -right)[0].tolist()
    [True, True, True, False, False]
    """
    place = HostPlace(forward, threads)
    there, back = _two_flows(place, {"forward": forward, "backward": backward})
    consistent = np.empty(there.shape[:2], np.uint8)
    core.check_consistency(there, back, consistent, place.where)
    return place.result(consistent != 0, None)


def _flow_array(place: Place, name: str, uv: Any) -> Any:
    field = place.input(name, uv, np.float32, False)
    shape = tuple(field.shape)
    if len(shape) != 3 or shape[-1] != 2:
        raise ValueError(f"{name}: shape {shape}, expected [row, column, 2]")
    return field


def _two_flows(place: Place, flows: dict[str, Any]) -> list[Any]:
    """Two flows of one shape."""
    arrays = [_flow_array(place, name, uv) for name, uv in flows.items()]
    if arrays[0].shape != arrays[1].shape:
        first, second = flows
        raise ValueError(f"{second}: shape {arrays[1].shape}, of {first} {arrays[0].shape}")
    return arrays
