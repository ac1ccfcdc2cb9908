# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Spatial correlation of images."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from aperture import _arrays
from aperture._extension import core
from aperture._kept import kept
from aperture._parameters import assign, number, whole_numbers
from aperture._places import Place, SpareArrays, at_place, runs_at_once
from aperture._warnings import warn

_DEFAULTS = core.CorrParameters()


class Peak(NamedTuple):
    """A maximum of a surface: its displacement in pixels, and its value."""

    dy: float
    dx: float
    value: float


class CorrelationLengths(NamedTuple):
    """Distances in pixels over which a surface falls to 1/e; None beyond its displacements."""

    x: float | None
    y: float | None


class Correlation:
    """What :func:`correlate` computed.

    Attributes
    ----------
    surface : float64 [dy, dx]
        The correlation at each displacement; 0 where nothing overlaps.
    planes : float64 [plane, dy, dx]
        What each plane contributes; ``surface`` is their sum.
    overlap : int64 [dy, dx]
        Number of pixels that overlap at each displacement.
    dy, dx : int64
        The displacements of rows and columns of the surface, in pixels; down and right. NumPy's
        for images on a GPU.
    peak : Peak or None
        The strongest local maximum, interpolated between pixels by parabolas; of an image with
        itself the strongest one but that at (0, 0).
    lengths : CorrelationLengths
        Distances along each axis from (0, 0), or of a pair from the peak, to where the surface
        falls below 1/e of its value there.
    on_border : Peak or None
        Of a pair, the largest value if it is on the border of the displacements; the true peak may
        then lie beyond.
    method : {"direct", "fft"}
        How sums of products were computed.

    On a GPU, the first access to ``peak``, ``lengths`` or ``on_border`` waits for it.
    """

    surface: Any
    planes: Any
    overlap: Any
    dy: Any
    dx: Any
    method: str

    def __init__(self, find: Callable[[], Findings], **arrays: Any) -> None:
        self.__dict__.update(arrays)
        self._find: Callable[[], Findings] | None = find
        self._found = Findings(None, CorrelationLengths(None, None), None)

    def _evaluate(self) -> Findings:
        if self._find is not None:
            self._found, self._find = self._find(), None
        return self._found

    @property
    def peak(self) -> Peak | None:
        return self._evaluate().peak

    @property
    def lengths(self) -> CorrelationLengths:
        return self._evaluate().lengths

    @property
    def on_border(self) -> Peak | None:
        return self._evaluate().on_border

    def __getstate__(self) -> dict[str, Any]:
        self._evaluate()
        return self.__dict__.copy()

    def __repr__(self) -> str:
        peak = "no peak"
        if self.peak is not None:
            peak = f"peak {self.peak.value:.4g} at dy {self.peak.dy:.2f}, dx {self.peak.dx:.2f}"
        shape = tuple(self.surface.shape)
        return f"<Correlation {shape} of {len(self.planes)} planes, {self.method}: {peak}>"


class Findings(NamedTuple):
    """What a surface says."""

    peak: Peak | None
    lengths: CorrelationLengths
    on_border: Peak | None


def correlate(
    a: Any,
    b: Any = None,
    *,
    offsets: tuple[int, int] | None = None,
    signed: bool | None = None,
    planes: str | None = _DEFAULTS.planes,
    sigma: float = _DEFAULTS.sigma,
    normalize: str | None = None,
    estimator: str = _DEFAULTS.estimator,
    mask: Any = None,
    method: str = _DEFAULTS.method,
    precision: str = _DEFAULTS.precision,
    device: str = "auto",
    threads: int | None = None,
    check_finite: bool | None = None,
) -> Correlation:
    """Correlate an image with itself or with another one, at displacements of its pixels.

    With planes A and B of the images, the sum over planes p and pixels of
    ``A[p, y + dy, x + dx] * B[p, y, x]``: the displacement of the peak leads from content of ``b``
    to the same content in ``a``.

    Parameters
    ----------
    a, b : [row, column] or [row, column, 3]
        Grey or colour images of one size. Three channels are red, green and blue; images of OpenCV
        have blue first: pass ``image[..., ::-1]``. uint8 is taken as it is and uint16 divided by
        257; other numbers are taken as they are and should be 0 to 255, too. With
        ``planes=None``: the planes themselves, [plane, row, column]. Without ``b``, ``a`` is
        correlated with itself.
    offsets : (rows, columns), optional
        Displacements below these numbers. Default: half the image, rounded up.
    signed : bool, optional
        Displacements of both signs, or nonnegative ones. Default: both for a pair.
    planes : {"lab-orientation", "grey", "rgb", "gradient"} or None
        What is correlated: a* and b* of CIE L*a*b* and the orientation of edges; luma; red, green
        and blue; or the derivatives of luma. None: ``a`` and ``b`` are planes.
    sigma : float
        Of "lab-orientation": standard deviation in pixels of the Gaussian that orientations are
        averaged with, up to 100.
    normalize : {"plane", "none"}, optional
        Each plane scaled to zero mean and unit energy, or unchanged. Default: "plane", but "none"
        for given planes.
    estimator : {"raw", "unbiased", "pearson"}
        Sums of products; the same divided by the number of overlapping pixels; or Pearson's r over
        these pixels, all planes together, in [-1, 1].
    mask : [row, column] or [row, column, channel], optional
        Only pixels with a nonzero element count. One mask for all images, or a tuple of two, for
        ``a`` and ``b``. On a GPU the call then waits for the result.
    method : {"auto", "direct", "fft"}
        Sums as they are defined, Fourier transforms, or whichever is expected to be faster.
    precision : {"fp32", "fp64", "tf32x3"}
        Arithmetic of the direct method; "tf32x3", two TF32 numbers for each of fp32, requires a
        GPU.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        Where to compute.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`.
    check_finite : bool, optional
        Refuse images with NaN or infinite values, which would spread to all displacements.
        Default: only images in host memory.

    Returns
    -------
    Correlation

    Raises
    ------
    ValueError
        For images of different sizes, displacements that exceed them, words that are no choice,
        and values that are not finite.
    TypeError
        For something that is not an array of numbers.
    DeviceError
        If the device cannot be used.

    Warns
    -----
    UserWarning
        If the largest value of a pair is on the border of the displacements.

    Notes
    -----
    Bordawekar, Bondhugula & Rao 2010. Errors relative to the root of the product of the planes'
    energies: 5e-7 for Fourier transforms, 2e-7 for sums in fp32, 1e-13 in fp64. The same bits for
    any number of threads.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> scene = np.random.default_rng(1).integers(0, 256, (60, 80), np.uint8)
    >>> found = aperture.correlate(scene[:50, :70], scene[4:54, 7:77], planes="grey")
    >>> round(found.peak.dy), round(found.peak.dx)
    (4, 7)
    """
    with RepeatedCorrelation(a, b) as repeated:
        found = repeated.run(
            offsets=offsets,
            signed=signed,
            planes=planes,
            sigma=sigma,
            normalize=normalize,
            estimator=estimator,
            mask=mask,
            method=method,
            precision=precision,
            device=device,
            threads=threads,
            check_finite=check_finite,
        ).result()
    # A GPU's caller, who is not to wait here, asks for `on_border`.
    if not _arrays.on_gpu(a) and found.on_border is not None:
        warn_of_border(found.on_border, signed is False)
    return found


class CorrelationRun:
    """A run of :class:`RepeatedCorrelation`, which may still be computed. Its results stay there
    until they are asked for."""

    def __init__(
        self,
        place: Place,
        work: Any,
        images: tuple[Any, Any],
        parameters: Any,
        spare: SpareArrays,
        at_once: int,
    ) -> None:
        self._place, self._work = place, work
        self.at_once = at_once
        self._lags, self._method, shape = work.lags, work.method, work.shape
        estimator, pair, lags = parameters.estimator, images[1] is not None, work.lags

        def find(surface: Any) -> Findings:
            host = np.ascontiguousarray(place.host(surface), np.float64)
            x, y, *peaks = core.find_in_surface(host, lags, estimator, pair)
            peak, on_border = (None if row is None else Peak(*row) for row in peaks)
            return Findings(peak, CorrelationLengths(x, y), on_border)

        # Not a method: a result must not keep what this object has there.
        self._find = find
        # An object of an earlier call may have another.
        work.set_sigma(parameters.sigma)
        self._surface_there, *self._others_there = spare.of_run(
            self,
            place,
            lambda: (
                place.new(shape[1:], np.float64),
                place.new(shape, np.float64),
                place.new(shape[1:], np.int64),
            ),
        )
        there = (*images, self._surface_there, *self._others_there)
        work.run(
            place.stream(work),
            *(None if array is None else place.handle(array, work) for array in there),
        )

    @functools.cached_property
    def _surface(self) -> Any:
        return self._place.result(self._surface_there, self._work)

    @functools.cached_property
    def findings(self) -> Findings:
        return self._find(self._surface)

    def result(self) -> Correlation:
        surface = self._surface
        contributions, overlap = (
            self._place.result(array, self._work) for array in self._others_there
        )
        rows, columns = surface.shape
        first_row, first_column = self._lags.first_row, self._lags.first_column
        # Copies to a GPU would wait for it.
        back = _arrays.returner(None if _arrays.on_gpu(surface) else surface)
        return Correlation(
            functools.partial(self._find, surface),
            surface=surface,
            planes=contributions,
            overlap=overlap,
            dy=back(np.arange(first_row, first_row + rows)),
            dx=back(np.arange(first_column, first_column + columns)),
            method=self._method,
        )


class RepeatedCorrelation:
    """Correlation of the same images with several values of parameters.

    The images are converted and copied to a GPU once, and runs that differ in ``sigma`` alone share
    objects. Findings must be had before ``at_once`` more runs. At the end of ``with``, the objects
    of the last run are kept for another one.
    """

    def __init__(self, a: Any, b: Any) -> None:
        self._a, self._b = a, b
        self._loaded: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        # What the objects of the last run were made for; those with masks have them for good.
        self._made_for: tuple[Any, ...] = ()
        self._kept: kept[dict[int, Any]] | None = None
        self._objects: dict[int, Any] = {}
        self._spare = SpareArrays()
        self._runs = 0

    def __enter__(self) -> RepeatedCorrelation:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._kept is not None:
            self._kept.__exit__(*error)

    def run(self, **given: Any) -> CorrelationRun:
        """With arguments of :func:`correlate`."""
        values = {**(correlate.__kwdefaults__ or {}), **given}
        mask, device, threads, check_finite = (
            values.pop(name) for name in ("mask", "device", "threads", "check_finite")
        )
        parameters, settings = _parameters_of(**values)

        def run_at(place: Place) -> CorrelationRun:
            at = (place.core.__name__, place.where)
            stored = parameters.planes is None
            images = self._load(place, stored, check_finite)
            first, pair = images[0], images[1] is not None
            extent = (
                tuple(first.shape) if stored else (3 if first.ndim == 3 else 1, *first.shape[:2])
            )
            self._make_for(("ImageCorrelation", *at, extent, pair, settings), mask is None)
            at_once = runs_at_once(place, 8 * math.prod(extent))
            number = self._runs % at_once
            if number not in self._objects:
                masks = _masks(mask, place, pair)
                self._objects[number] = _prepared(place, parameters, extent, pair, masks)
            work = self._objects[number]
            run = CorrelationRun(place, work, images, parameters, self._spare, at_once)
            self._runs += 1
            return run

        return at_place(self._a, device, threads, run_at)

    def _load(self, place: Place, stored: bool, check: bool | None) -> tuple[Any, Any]:
        key = (place.core.__name__, place.where, stored, check)
        if key not in self._loaded:
            first = image_there("a", self._a, place, stored, check)
            second = None
            if self._b is not None:
                second = image_there("b", self._b, place, stored, check)
                rank = 3 if stored else 2
                if tuple(second.shape[:rank]) != tuple(first.shape[:rank]):
                    of_a = _arrays.shape_of("a", self._a)
                    raise ValueError(f"b: shape {_arrays.shape_of('b', self._b)}, of a {of_a}")
            self._loaded[key] = first, second
        return self._loaded[key]

    def _make_for(self, made_for: tuple[Any, ...], keep: bool) -> None:
        if made_for == self._made_for:
            return
        self.__exit__(None)
        self._made_for, self._kept, self._objects = made_for, None, {}
        self._spare = SpareArrays()
        if keep:
            self._kept = kept(made_for, lambda: dict[int, Any]())
            self._objects = self._kept.__enter__()


def _parameters_of(
    *,
    offsets: tuple[int, int] | None,
    signed: bool | None,
    planes: str | None,
    sigma: float,
    normalize: str | None,
    estimator: str,
    method: str,
    precision: str,
) -> tuple[Any, tuple[Any, ...]]:
    """The parameters, and all but sigma for a comparison."""
    parameters = core.CorrParameters()
    assign(
        parameters,
        planes=planes,
        sigma=number("sigma", sigma),
        estimator=estimator,
        method=method,
        precision=precision,
    )
    if normalize is not None:
        assign(parameters, normalize=normalize)
    if signed is not None:
        assign(parameters, signed=signed)
    if offsets is not None:
        parameters.set_offsets(*_offsets(offsets))
    return parameters, (offsets, signed, planes, normalize, estimator, method, precision)


def _prepared(
    place: Place, parameters: Any, extent: tuple[int, ...], pair: bool, masks: tuple[Any, ...]
) -> Any:
    work = place.core.ImageCorrelation(place.where)
    there = [place.handle(mask, work) for mask in masks]
    work.prepare(place.stream(work), parameters, extent, pair, there)
    return work


def _offsets(offsets: Any) -> tuple[int, int]:
    rows, columns = whole_numbers("offsets", offsets, 2, "two whole numbers")
    if not (0 < rows < 2**31 and 0 < columns < 2**31):
        raise ValueError(f"offsets {offsets!r}: expected at least 1 row and 1 column")
    return rows, columns


def image_there(name: str, array: Any, place: Place, stored: bool, check: bool | None) -> Any:
    """An image as float32 [row, column] or [row, column, 3], or planes, there."""
    ranks = {2: "[row, column]", 3: "[row, column, 3]"}
    pixels = _expects_rank(name, array, {3: "[plane, row, column]"} if stored else ranks)
    if not stored and pixels.ndim == 3 and pixels.shape[2] != 3:
        raise ValueError(f"{name}: shape {tuple(pixels.shape)}, expected [row, column, 3]")
    if not stored and str(pixels.dtype).endswith("uint16"):
        if _arrays.on_gpu(pixels):
            pixels = place.input(name, pixels, np.float32)
        with place.namespace():
            pixels = pixels / 257.0
    return place.input(name, pixels, np.float32, check)


def _masks(mask: Any, place: Place, pair: bool) -> tuple[Any, ...]:
    if mask is None:
        return ()
    if not isinstance(mask, tuple):
        return (_mask("mask", mask, place),)
    if len(mask) != 2 or not pair:
        raise ValueError(f"mask: a tuple of {len(mask)}, expected one mask, or two for a pair")
    return _mask("mask of a", mask[0], place), _mask("mask of b", mask[1], place)


def _mask(name: str, mask: Any, place: Place) -> Any:
    """A mask as float32 [row, column], nonzero where pixels count, there."""
    pixels = _expects_rank(name, mask, {2: "[row, column]", 3: "[row, column, channel]"})
    if 0 in pixels.shape:
        raise ValueError(f"{name}: shape {tuple(pixels.shape)} is empty")
    with place.namespace():
        chosen = pixels != 0
        if chosen.ndim == 3:
            channels = (chosen[..., channel] for channel in range(chosen.shape[2]))
            chosen = functools.reduce(operator.or_, channels)
        chosen = chosen * 1
    return place.input(name, chosen, np.float32)


def _expects_rank(name: str, array: Any, ranks: dict[int, str]) -> Any:
    """An argument on a GPU, or the NumPy array of one in host memory, if it has one of the
    ranks."""
    pixels = array if _arrays.on_gpu(array) else _arrays.host_array(name, array)
    _arrays.expects_rank(name, pixels, ranks)
    return pixels


def warn_of_border(peak: Peak, one_sign: bool) -> None:
    warn(
        f"the largest value, {peak.value:.4g} at dy {peak.dy:g}, dx {peak.dx:g}, is on the border "
        "of the displacements, and the true peak may lie beyond; try larger offsets"
        + (" or both signs" if one_sign else "")
    )
