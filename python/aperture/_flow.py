# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Optical flow."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from aperture import _arrays
from aperture._extension import core
from aperture._flow_parameters import assign_given
from aperture._kept import kept
from aperture._parameters import expects_progress, whole_numbers, word
from aperture._places import Place, SpareArrays, at_place, place_of, runs_at_once

_DEFAULTS = core.flow_preset("fast", "hs", None)


_MOST_PIXELS = 2**40


class _Images:
    """Images at a place, and the shape of their flow."""

    def __init__(self, there: dict[str, Any], flow_shape: tuple[int, ...]) -> None:
        self.there, self.flow_shape = there, flow_shape
        # Estimators whose last run had them, so that further runs need not load them.
        self.loaded_by: list[Any] = []


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
            word("preset", preset),
            word("method", method),
            None if solver is None else word("solver", solver),
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
        assign_given(parameters, given)
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

    def __call__(
        self,
        image0: Any,
        image1: Any,
        *,
        initial: Any = None,
        progress: Callable[[int, int], object] | None = None,
        out: Any = None,
    ) -> Any:
        """Estimate the flow from one image to another, or of a batch of pairs.

        Parameters
        ----------
        image0, image1, initial, progress, out
            As for :func:`flow`.

        Returns
        -------
        float32 [row, column, 2] or [image, row, column, 2]
        """
        expects_progress(progress)
        return at_place(
            image0,
            self._device,
            self._threads,
            lambda place: self._estimate(
                place, self._load(place, image0, image1), initial, progress, out
            ),
        )

    def _load(self, place: Place, image0: Any, image1: Any) -> _Images:
        shape, batch = _layout("image0", image0)
        extent = shape[batch : batch + 2]
        if extent != self._shape:
            raise ValueError(f"image0: images of {extent}, expected {self._shape}")
        if _layout("image1", image1)[0] != shape:
            other = _arrays.shape_of("image1", image1)
            raise ValueError(f"image1: shape {other}, of image0 {shape}")
        there = {
            name: place.input(name, image, _sample_type(image), self._check_finite)
            for name, image in (("image0", image0), ("image1", image1))
        }
        return _Images(there, (*shape[: batch + 2], 2))

    def _estimate(
        self, place: Place, images: _Images, initial: Any, progress: Any, out: Any
    ) -> Any:
        estimator = self._estimator(place)
        result = place.output("out", out, images.flow_shape, np.float32)
        self._run(place, estimator, images, initial, progress, result, out)
        returned = place.result(result, estimator)
        return returned if out is None else out

    def _run(
        self,
        place: Place,
        estimator: Any,
        images: _Images,
        initial: Any,
        progress: Any,
        result: Any,
        out: Any,
    ) -> None:
        """Store the flow in the array ``result`` there, which is that of ``out`` if given."""
        inputs, shape = dict(images.there), images.flow_shape
        if initial is not None:
            inputs["initial"] = place.input("initial", initial, np.float32, self._check_finite)
            if tuple(inputs["initial"].shape) != shape:
                found = tuple(inputs["initial"].shape)
                raise ValueError(f"initial: shape {found}, expected {shape}")
        if out is not None and place.core is core:
            for name, array in inputs.items():
                # A start in the array of the result is read before the result is written.
                if name != "initial" or initial is not out:
                    _arrays.expects_apart("out", result, array)
        stream = place.stream(estimator)
        batch = len(shape) == 4
        arrays = [inputs["image0"], inputs["image1"], result, inputs.get("initial")]
        loaded = not batch and any(estimator is other for other in images.loaded_by)
        if loaded:
            arrays[:2] = None, None
        pairs = shape[0] if batch else 1
        for i in range(pairs):
            one = [array[i] if batch and array is not None else array for array in arrays]
            estimator.run(
                stream,
                *(None if array is None else place.handle(array, estimator) for array in one),
            )
            if progress is not None:
                progress(i + 1, pairs)
        if not loaded:
            images.loaded_by.append(estimator)

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
    progress: Callable[[int, int], object] | None = None,
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
        hs: relative residual at which the solver stops; 0: never. Below what float32 allows,
        see :func:`solve_horn_schunck`.
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
    progress : callable, optional
        Called after each pair of a batch with how many are done, and of how many. On a GPU they may
        still be computed then. An exception that it raises ends the call.
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
    settings = _without(locals(), "image0", "image1", "initial", "progress", "out")
    shape, batch = _layout("image0", image0)
    extent = shape[batch : batch + 2]
    with kept(
        ("FlowEstimator", extent, settings), lambda: FlowEstimator(extent, **settings)
    ) as estimator:
        return estimator(image0, image1, initial=initial, progress=progress, out=out)


class FlowRun:
    """A flow of :class:`RepeatedFlow`, which may still be computed."""

    def __init__(
        self, place: Place, estimator: Any, shape: tuple[int, ...], spare: SpareArrays, at_once: int
    ) -> None:
        self._place, self._estimator = place, estimator
        self.there = spare.of_run(self, place, lambda: place.new(shape, np.float32))
        self.at_once = at_once

    @functools.cached_property
    def result(self) -> Any:
        return self._place.result(self.there, self._estimator)


class RepeatedFlow:
    """Flow between the same images with several values of parameters.

    The images are converted and copied to a GPU once, and runs share estimators. Results must be
    had before ``at_once`` more runs. Between ``with``, estimators are kept for the next object.
    """

    def __init__(self, image0: Any, image1: Any) -> None:
        self._images = image0, image1
        shape, batch = _layout("image0", image0)
        self._extent = shape[batch : batch + 2]
        self._loaded: dict[tuple[Any, ...], _Images] = {}
        self._spare = SpareArrays()
        self._runs = 0

    def __enter__(self) -> RepeatedFlow:
        self._kept = kept(("RepeatedFlow", self._extent), lambda: dict[tuple[Any, ...], Any]())
        self._estimators = self._kept.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._kept.__exit__(*error)

    def run(self, *, initial: Any = None, progress: Any = None, **parameters: Any) -> FlowRun:
        """As :func:`flow`."""
        expects_progress(progress)
        estimate = FlowEstimator(self._extent, **parameters)
        check = parameters.get("check_finite")

        def run_at(place: Place) -> FlowRun:
            at = (place.core.__name__, place.where)
            if (*at, check) not in self._loaded:
                self._loaded[(*at, check)] = estimate._load(place, *self._images)
            images = self._loaded[(*at, check)]
            at_once = runs_at_once(place, 4 * math.prod(images.flow_shape))
            made_for = (*at, self._runs % at_once)
            if made_for not in self._estimators:
                self._estimators[made_for] = estimate._estimator(place)
            estimator = self._estimators[made_for]
            estimator.set_parameters(estimate._parameters)
            run = FlowRun(place, estimator, images.flow_shape, self._spare, at_once)
            estimate._run(place, estimator, images, initial, progress, run.there, None)
            self._runs += 1
            return run

        device, threads = parameters.get("device", "auto"), parameters.get("threads")
        return at_place(self._images[0], device, threads, run_at)


def _without(arguments: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in names}


def _shape_of_image(shape: Sequence[int]) -> tuple[int, int]:
    rows, columns = whole_numbers("shape", shape, 2, "(rows, columns)")
    if rows < 1 or columns < 1 or rows * columns > _MOST_PIXELS:
        raise ValueError(f"images of {(rows, columns)}, expected 1 to {_MOST_PIXELS} pixels")
    return rows, columns


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
    return _type_read(dtype)


@functools.cache
def _type_read(dtype: Any) -> npt.DTypeLike:
    name = str(dtype).rpartition(".")[2].lstrip("<>=")
    return {"uint8": np.uint8, "uint16": np.uint16, "u2": np.uint16}.get(name, np.float32)
