# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Optical flow."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._extension import core
from aperture._parameters import assign, number
from aperture._places import HostPlace, Place, place_of

_DEFAULTS = core.flow_preset("fast", "hs", None)
_SYSTEM = core.flow_preset("fast", "hs", "cg")

_MOST_PIXELS = 2**40


class FlowEstimator:
    """Optical flow between images of one shape: as :func:`flow`, but set up once.

    A second call allocates nothing but its result.

    Parameters
    ----------
    shape : tuple of 2 ints
        Rows and columns of an image.
    preset, method, ...
        See :func:`flow`.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> video = np.random.default_rng(1).integers(0, 256, (3, 32, 48), np.uint8)
    >>> estimate = aperture.FlowEstimator((32, 48))
    >>> uv = estimate(video[0], video[1])
    >>> uv = estimate(video[1], video[2], initial=uv, out=uv)
    >>> uv.shape
    (32, 48, 2)
    """

    def __init__(
        self,
        shape: Sequence[int],
        *,
        preset: str = "fast",
        method: str = "hs",
        robust: bool | None = None,
        alpha: float | None = None,
        brightness: float | None = None,
        contrast: float | None = None,
        reweightings: int | None = None,
        window: int | None = None,
        regularisation: float | None = None,
        levels: int | None = None,
        scale: float | None = None,
        warps: int | None = None,
        median: int | None = None,
        weighted_median: bool | None = None,
        largest_update: float | None = None,
        interpolation: str | None = None,
        smooth_increment: bool | None = None,
        blur: float | None = None,
        texture: float | None = None,
        solver: str | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        relaxation: float | None = None,
        precondition: str | None = None,
        s_step: int | None = None,
        basis: str | None = None,
        boundary: str | None = None,
        stencil: int | None = None,
        impl: str | None = None,
        device: str = "auto",
        threads: int | None = None,
        check_finite: bool | None = None,
    ) -> None:
        place_of(None, device, threads)
        self._shape = _shape_of_image(shape)
        parameters = core.flow_preset(
            _word("preset", preset),
            _word("method", method),
            None if solver is None else _word("solver", solver),
        )
        given = {
            "robust": robust,
            "alpha": alpha,
            "brightness": brightness,
            "contrast": contrast,
            "reweightings": reweightings,
            "window": window,
            "regularisation": regularisation,
            "levels": levels,
            "scale": scale,
            "warps": warps,
            "median": median,
            "weighted_median": weighted_median,
            "largest_update": largest_update,
            "interpolation": interpolation,
            "smooth_increment": smooth_increment,
            "blur": blur,
            "texture": texture,
            "solver": solver,
            "iterations": iterations,
            "tolerance": tolerance,
            "relaxation": relaxation,
            "precondition": precondition,
            "s_step": s_step,
            "basis": basis,
            "boundary": boundary,
            "stencil": stencil,
            "impl": impl,
        }
        _assign_given(parameters, given)
        parameters.validate()
        if parameters.method == "lk" and min(self._shape) == 1:
            raise ValueError(f"method 'lk': images of {self._shape}, expected 2 x 2 or more")
        self._parameters = parameters
        self._preset = preset
        self._device = device
        self._threads = threads
        self._check_finite = check_finite
        self._estimators: dict[tuple[str, int], Any] = {}

    def __repr__(self) -> str:
        p = self._parameters
        solved = f", solver {p.solver}" if p.method == "hs" else ""
        levels = p.levels_of(*self._shape)
        return (
            f"<FlowEstimator of {self._shape} images: {p.method}, preset {self._preset}, "
            f"{levels} levels{solved}>"
        )

    def __call__(self, image0: Any, image1: Any, *, initial: Any = None, out: Any = None) -> Any:
        """Estimate the flow from one image to another, or of a batch of pairs.

        Parameters
        ----------
        image0, image1, initial, out
            As for :func:`flow`.

        Returns
        -------
        float32 [row, column, 2] or [image, row, column, 2]
        """
        place = place_of(image0, self._device, self._threads)
        shape, batch = _layout("image0", image0)
        extent = shape[batch : batch + 2]
        if extent != self._shape:
            raise ValueError(f"image0: images of {extent}, expected {self._shape}")
        if _layout("image1", image1)[0] != shape:
            other = _arrays.shape_of("image1", image1)
            raise ValueError(f"image1: shape {other}, of image0 {shape}")
        inputs = {
            name: place.input(name, image, _sample_type(image), self._check_finite)
            for name, image in (("image0", image0), ("image1", image1))
        }
        field = (*shape[: batch + 2], 2)
        if initial is not None:
            inputs["initial"] = place.input("initial", initial, np.float32, self._check_finite)
            if tuple(inputs["initial"].shape) != field:
                found = tuple(inputs["initial"].shape)
                raise ValueError(f"initial: shape {found}, expected {field}")
        result = place.output("out", out, field, np.float32)
        if out is not None and place.core is core:
            for name, array in inputs.items():
                # A start in the array of the result is read before the result is written.
                if name != "initial" or initial is not out:
                    _arrays.expects_apart("out", result, array)
        estimator = self._estimator(place)
        stream = place.stream(estimator)
        arrays = [inputs["image0"], inputs["image1"], result, inputs.get("initial")]
        for i in range(shape[0]) if batch else (None,):
            one = [array if array is None or i is None else array[i] for array in arrays]
            estimator.run(
                stream,
                *(None if array is None else place.handle(array, estimator) for array in one),
            )
        returned = place.result(result, estimator)
        return returned if out is None else out

    def _estimator(self, place: Place) -> Any:
        """Made at the first use of a place."""
        key = (place.core.__name__, place.where)
        if key not in self._estimators:
            self._estimators[key] = place.core.FlowEstimator(
                *self._shape, self._parameters, place.where
            )
        return self._estimators[key]


def flow(
    image0: Any,
    image1: Any,
    *,
    preset: str = "fast",
    method: str = "hs",
    initial: Any = None,
    robust: bool | None = None,
    alpha: float | None = None,
    brightness: float | None = None,
    contrast: float | None = None,
    reweightings: int | None = None,
    window: int | None = None,
    regularisation: float | None = None,
    levels: int | None = None,
    scale: float | None = None,
    warps: int | None = None,
    median: int | None = None,
    weighted_median: bool | None = None,
    largest_update: float | None = None,
    interpolation: str | None = None,
    smooth_increment: bool | None = None,
    blur: float | None = None,
    texture: float | None = None,
    solver: str | None = None,
    iterations: int | None = None,
    tolerance: float | None = None,
    relaxation: float | None = None,
    precondition: str | None = None,
    s_step: int | None = None,
    basis: str | None = None,
    boundary: str | None = None,
    stencil: int | None = None,
    impl: str | None = None,
    device: str = "auto",
    threads: int | None = None,
    check_finite: bool | None = None,
    out: Any = None,
) -> Any:
    """Estimate the optical flow from one image to another, coarse to fine.

    The content of ``image0`` at (x, y) is found in ``image1`` at (x + u, y + v).

    Parameters
    ----------
    image0, image1 : [row, column] or [row, column, 3], or [image, row, column] with or without 3
        Grey or colour images, or batches of them, of equal shapes. Three channels are red, green
        and blue, of which the luma is used; images of OpenCV have blue first: pass
        ``image[..., ::-1]``. A last axis of up to four elements is one of channels. uint8 is taken
        as it is and uint16 divided by 257; other numbers are taken as they are and should be 0 to
        255, too. Consecutive frames are the batch ``video[:-1]``, ``video[1:]``.
    preset : {"fast", "accurate", "thesis"}
        What the parameters are that are not given: "accurate" has robust penalties and weighted
        medians, "thesis" is chapter 7 of Anderson 2014.
    method : {"hs", "lk"}
        Horn-Schunck, a smooth flow of the whole image, or Lucas-Kanade, least squares in a window
        around each pixel.
    initial : [row, column, 2], optional
        A flow to start from, for example that of the frames before; for a batch one for each pair.
        Default: zero.
    robust : bool, optional
        hs: Charbonnier penalties instead of squares, and gradient constancy besides brightness
        constancy.
    alpha : float, optional
        hs: weight of smoothness relative to brightness constancy, in grey levels of 0 to 255; of
        robust estimates relative to gradient constancy.
    brightness : float, optional
        robust: weight of brightness constancy relative to gradient constancy.
    contrast : float, optional
        robust: grey-level step of an edge that reduces smoothness to about 1/e; 0: no reduction.
    reweightings : int, optional
        robust: how often a warp recomputes the weights of the penalties.
    window : int, optional
        lk: odd width of the window in pixels.
    regularisation : float, optional
        lk: term added to the diagonal of the normal equations, per pixel of the window.
    levels : int, optional
        Pyramid levels; 0: as many as fit.
    scale : float, optional
        Size of a level relative to the next finer one, 0.3 to 0.95.
    warps : int, optional
        Linearisations on each level.
    median : {0, 3, 5, 7}, optional
        Window of the median filter after each warp; 0: none.
    weighted_median : bool, optional
        Near motion boundaries, a wide median weighted by similarity and visibility instead.
    largest_update : float, optional
        Limit of a warp's change to each component of the flow in pixels; 0: none.
    interpolation : {"bilinear", "bicubic"}, optional
        Of ``image1``.
    smooth_increment : bool, optional
        hs: smoothness applies to a warp's increment instead of the whole flow.
    blur : float, optional
        Standard deviation of the initial blur of the images in pixels; 0: none.
    texture : float, optional
        Share of the images' smooth part that is subtracted first, 0 to 1.
    solver : {"jacobi", "block2x2", "cg", "cacg", "redblack", "multigrid"}, optional
        hs: of the linear systems. Another solver than the preset's has ``relaxation`` 1 and at
        least 100 ``iterations``, multigrid 1.
    iterations : int, optional
        hs: at most so many for each system; cycles of multigrid.
    tolerance : float, optional
        hs: relative residual at which the solver stops; 0: never.
    relaxation : float, optional
        redblack: over-relaxation, above 0 and below 2.
    precondition : {"block", "none"}, optional
        cg and cacg: by the inverse 2x2 blocks.
    s_step : int, optional
        cacg: iterations per reduction, 1 to 16.
    basis : {"monomial", "newton", "chebyshev"}, optional
        cacg: polynomial basis.
    boundary : {"replicate", "zero"}, optional
        hs: the flow outside the image.
    stencil : {5, 9}, optional
        hs: points of the Laplacian.
    impl : {"fused", "staged"}, optional
        On a GPU: as much as fits in a kernel, or a kernel for each operator.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`. They do not change the result.
    check_finite : bool, optional
        Refuse images with NaN or infinite pixels, which would spread over the flow. Default: only
        images in host memory.
    out : float32 array, optional
        Where the flow is stored. It may be the array ``initial``.

    Returns
    -------
    float32 [row, column, 2] or [image, row, column, 2]
        u, to the right, and v, down, in pixels, as OpenCV's functions order them.

    Raises
    ------
    ValueError
        For shapes that differ, parameters out of range or without effect, and pixels that are not
        finite.
    TypeError
        For something that is not an array of numbers.
    DeviceError
        If the device cannot be used.

    Notes
    -----
    Horn & Schunck 1981; Lucas & Kanade 1981; robust estimates after Brox et al. 2004, weighted
    medians after Sun, Roth & Black 2010.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> y, x = np.mgrid[:60, :80]
    >>> def image(x, y):
    ...     return 128 + 60 * np.sin(0.2 * x + 0.1 * y) + 50 * np.cos(0.15 * x - 0.25 * y)
    >>> uv = aperture.flow(image(x, y), image(x - 2, y + 1))
    >>> np.round(np.median(uv, axis=(0, 1))).tolist()
    [2.0, -1.0]
    """
    shape, batch = _layout("image0", image0)
    estimator = FlowEstimator(
        shape[batch : batch + 2],
        preset=preset,
        method=method,
        robust=robust,
        alpha=alpha,
        brightness=brightness,
        contrast=contrast,
        reweightings=reweightings,
        window=window,
        regularisation=regularisation,
        levels=levels,
        scale=scale,
        warps=warps,
        median=median,
        weighted_median=weighted_median,
        largest_update=largest_update,
        interpolation=interpolation,
        smooth_increment=smooth_increment,
        blur=blur,
        texture=texture,
        solver=solver,
        iterations=iterations,
        tolerance=tolerance,
        relaxation=relaxation,
        precondition=precondition,
        s_step=s_step,
        basis=basis,
        boundary=boundary,
        stencil=stencil,
        impl=impl,
        device=device,
        threads=threads,
        check_finite=check_finite,
    )
    return estimator(image0, image1, initial=initial, out=out)


def solve_horn_schunck(
    ix: Any,
    iy: Any,
    it: Any,
    *,
    alpha: float,
    solver: str = _SYSTEM.solver,
    iterations: int = _SYSTEM.iterations,
    tolerance: float = _SYSTEM.tolerance,
    relaxation: float | None = None,
    precondition: str | None = None,
    s_step: int | None = None,
    basis: str | None = None,
    boundary: str = _SYSTEM.boundary,
    stencil: int = int(_SYSTEM.stencil),
    threads: int | None = None,
) -> tuple[Any, Any, npt.NDArray[np.float64]]:
    """Solve one linear system of Horn & Schunck, and tell how the solver converged.

    At every pixel p with derivatives (ix, iy, it) and neighbours q,

        [ix ix, ix iy; ix iy, iy iy] (u, v)_p + alpha^2 sum_q w_pq ((u, v)_p - (u, v)_q)
            = -it (ix, iy).

    Parameters
    ----------
    ix, iy, it : [row, column]
        Derivatives of the image along columns, rows and time, per pixel and per frame.
    alpha : float
        Weight of smoothness, in the unit of the derivatives.
    solver : {"jacobi", "block2x2", "cg", "cacg", "redblack", "multigrid"}
        How the system is solved, from a start of zero.
    iterations : int
        At most so many; cycles of multigrid.
    tolerance : float
        Relative residual at which the solver stops; 0: never.
    relaxation, precondition, s_step, basis, boundary, stencil, threads
        See :func:`flow`.

    Returns
    -------
    u, v : float32 [row, column]
        The solution; of minimum norm if the system is singular.
    history : float64 [iteration]
        |b - A x| / |b| of the start and after each iteration.

    Raises
    ------
    ValueError
        For shapes that differ, parameters out of range or without effect, and derivatives that are
        not finite.

    Notes
    -----
    Horn & Schunck 1981, equations 9 and 10; Anderson 2014, section 7.2.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> ix, iy, it = np.random.default_rng(1).normal(size=(3, 20, 30))
    >>> u, v, history = aperture.solve_horn_schunck(ix, iy, it, alpha=2, tolerance=1e-5)
    >>> u.shape, bool(history[-1] <= 1e-5), len(history) < 100
    ((20, 30), True, True)
    """
    place = HostPlace(ix, threads)
    parameters = core.flow_preset("fast", "hs", _word("solver", solver))
    assign(parameters, alpha=alpha, iterations=iterations, tolerance=tolerance, boundary=boundary)
    given = {
        "relaxation": relaxation,
        "precondition": precondition,
        "s_step": s_step,
        "basis": basis,
        "stencil": stencil,
    }
    _assign_given(parameters, given)
    derivatives = {}
    for name, plane in (("ix", ix), ("iy", iy), ("it", it)):
        derivatives[name] = place.input(name, plane, np.float32)
        _arrays.expects_rank(name, derivatives[name], {2: "[row, column]"})
        if derivatives[name].shape != derivatives["ix"].shape:
            raise ValueError(
                f"{name}: shape {derivatives[name].shape}, of ix {derivatives['ix'].shape}"
            )
    x, y, t = derivatives.values()
    with np.errstate(over="ignore"):
        tensor = np.stack([x * x, x * y, y * y])
        right = np.stack([-x * t, -y * t])
    if not (np.isfinite(tensor).all() and np.isfinite(right).all()):
        raise ValueError("ix, iy, it: their products exceed the range of float32")
    solution = np.zeros(right.shape, np.float32)
    history = core.solve_system(tensor, right, parameters, solution, place.where)
    u, v = (place.result(plane, None) for plane in solution)
    return u, v, np.array(history)


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
    Baker et al. 2011, section 4.1.

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
    Baker et al. 2011. Direction is hue, length is saturation, and rest is white.

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
    kind = _word("interpolation", interpolation)
    place = place_of(image, device, threads)
    values = place.input("image", image, np.float32, False)
    shape = tuple(values.shape)
    if len(shape) not in (2, 3):
        raise ValueError(f"image: shape {shape}, expected [row, column] or [row, column, channel]")
    field = _flow_array(place, "uv", uv)
    if tuple(field.shape[:2]) != shape[:2]:
        raise ValueError(f"uv: shape {tuple(field.shape)}, expected {(*shape[:2], 2)}")
    warped = place.new(shape, np.float32)
    warper = place.core.Warper(place.where)
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
    Sundaram, Brox & Keutzer 2010, section 3.

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


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} {value!r}: expected a string")
    return value


def _shape_of_image(shape: Sequence[int]) -> tuple[int, int]:
    try:
        rows, columns = (operator.index(extent) for extent in shape)
    except TypeError:
        raise TypeError(f"shape {shape!r}: expected (rows, columns)") from None
    except ValueError:
        raise ValueError(f"shape {shape!r}: expected (rows, columns)") from None
    if rows < 1 or columns < 1 or rows * columns > _MOST_PIXELS:
        raise ValueError(f"images of {(rows, columns)}, expected 1 to {_MOST_PIXELS} pixels")
    return rows, columns


def _assign_given(parameters: Any, given: dict[str, Any]) -> None:
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


def _layout(name: str, image: Any) -> tuple[tuple[int, ...], bool]:
    """The shape of images, and whether they are a batch."""
    shape = _arrays.shape_of(name, image)
    if not 2 <= len(shape) <= 4:
        raise ValueError(
            f"{name}: shape {shape}, expected [row, column] or [row, column, 3], or [image, ...]"
        )
    has_channels = len(shape) == 4 or (len(shape) == 3 and shape[-1] <= 4)
    if has_channels and shape[-1] not in (1, 3):
        raise ValueError(f"{name}: shape {shape} has {shape[-1]} channels, expected 1 or 3 (RGB)")
    return shape, len(shape) == 3 + has_channels


def _sample_type(image: Any) -> npt.DTypeLike:
    """The type in which an image is read: its own if it is uint8 or uint16."""
    dtype = getattr(image, "dtype", None)
    if dtype is None:
        dtype = _arrays.host_array("image", image).dtype
    name = str(dtype).rpartition(".")[2].lstrip("<>=")
    return {"uint8": np.uint8, "uint16": np.uint16, "u2": np.uint16}.get(name, np.float32)


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
