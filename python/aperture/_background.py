# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Background subtraction."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from aperture import _arrays
from aperture._arrays import Array
from aperture._extension import core
from aperture._parameters import assign, number, whole_number
from aperture._places import HostPlace
from aperture._system import threads_for

_ONLINE = core.OnlineParameters()


_MASK = core.MaskParameters()

# Frames at equal distances, for the background of a clip; as many as bgsub takes.
_MOST_SAMPLES = 64


class BackgroundSubtractor:
    """Masks of what moves in a stream of frames, as ``cv2.BackgroundSubtractor``.

    Parameters
    ----------
    method : {"online", "median"}
        "online" begins with the median of the first frames and updates it frame by frame, in
        constant memory; "median" keeps each pixel's median over the first frames.
    burn_in : int
        How many frames :meth:`apply` collects first.
    clip : float
        online: larger deviations from the background do not change it, in grey levels.
    memory : float
        online: age in frames at which a frame's weight is 1/e of the newest one's.
    patience : float
        online: the same for what stands still in the foreground, at least ``memory``.
    threshold : float, optional
        A pixel is foreground if a channel differs from the background by more grey levels. None:
        by more than usual for this pixel.
    noise_multiple : float
        If positive, replaces ``threshold``: a multiple of the noise's standard deviation, which
        is estimated from each frame, or from all of :meth:`fit`.
    clean : int
        Window of the median filter of the mask, an odd number; 0: none.
    min_area : int
        Connected regions of fewer pixels are removed.
    hysteresis : float
        With ``threshold`` None: what adjoins foreground is foreground, too, above this share of
        the threshold; 1: none.
    fill_holes : bool
        Background that foreground encloses becomes foreground.
    remove_shadows : bool
        Pixels are background where a multiple of the background fits the frame.
    remove_light : bool
        With ``threshold`` None: pixels are background where lamps light it, which makes its
        texture brighter, too.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`. They do not change the result.

    Raises
    ------
    ValueError
        For parameters out of range or without effect.

    Notes
    -----
    Feng, Xu & Yan 2013, algorithm 1, with exponential forgetting, of rank 1: the background follows
    the light. A place that an object has left becomes background after 50 frames, and so does the
    picture after a cut. Computes on the CPU; frames on a GPU are copied, and masks back.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> video = np.random.default_rng(1).normal(100, 1, (20, 48, 64)).astype(np.float32)
    >>> video[15:, 10:20, 30:40] += 80
    >>> subtract = aperture.BackgroundSubtractor(burn_in=10)
    >>> masks = [subtract.apply(frame) for frame in video]
    >>> [int(np.count_nonzero(mask)) for mask in masks[13:16]]
    [0, 0, 88]
    """

    def __init__(
        self,
        method: str = "online",
        *,
        burn_in: int = core.USUAL_BURN_IN,
        clip: float = _ONLINE.clip,
        memory: float = _ONLINE.memory,
        patience: float = _ONLINE.patience,
        threshold: float | None = _MASK.threshold,
        noise_multiple: float = _MASK.noise_multiple,
        clean: int = _MASK.clean,
        min_area: int = _MASK.min_area,
        hysteresis: float = _MASK.hysteresis,
        fill_holes: bool = _MASK.fill_holes,
        remove_shadows: bool = _MASK.remove_shadows,
        remove_light: bool = _MASK.remove_light,
        threads: int | None = None,
    ) -> None:
        if method not in ("online", "median"):
            raise ValueError(f"method {method!r}: expected online or median")
        self._method = method
        self._burn_in = whole_number("burn_in", burn_in)
        if self._burn_in < 1:
            raise ValueError(f"burn_in {burn_in}: expected 1 or more frames")
        self._parameters = core.OnlineParameters()
        for name, value in {"clip": clip, "memory": memory, "patience": patience}.items():
            if method == "median" and value != getattr(_ONLINE, name):
                raise ValueError(f"{name} {value} requires method 'online'")
            assign(self._parameters, **{name: value})
        self._threads = threads_for(threads)
        # Refuses parameters out of range.
        core.OnlinePca(1, self._parameters, self._threads)
        masks = mask_parameters(
            threshold,
            noise_multiple=noise_multiple,
            clean=clean,
            min_area=min_area,
            hysteresis=hysteresis,
            fill_holes=fill_holes,
            remove_shadows=remove_shadows,
            remove_light=remove_light,
        )
        self._finder = core.MaskFinder(masks, self._threads)
        self._first: list[Array] = []
        self._shape: tuple[int, ...] = ()
        self._online: Any = None
        # Of the last frame, [1, channel, row, column]; None until the first frames are there.
        self._ground: Array | None = None
        # Of the last frame.
        self._place = HostPlace(None, threads)

    @property
    def ready(self) -> bool:
        """Whether there is a background."""
        return self._ground is not None

    @property
    def background(self) -> Any:
        """The background of the last frame: float32, of its shape, library and device. None if not
        ``ready``."""
        if self._ground is None:
            return None
        return self._place.result(_from_planes(self._ground[0], self._shape), None)

    def __repr__(self) -> str:
        state = "ready" if self.ready else f"{len(self._first)} of {self._burn_in} frames"
        frames = f" of {self._shape} frames" if self._shape else ""
        return f"<BackgroundSubtractor{frames}: {self._method}, {state}>"

    def apply(self, frame: Any, *, out: Any = None) -> Any:
        """Learn from the next frame and return its mask.

        Parameters
        ----------
        frame : [row, column] or [row, column, 3]
            Channels are processed together, in any order; for grey pass luma. uint8 is taken as
            it is and uint16 divided by 257; other numbers are taken as they are and should be 0
            to 255, too.
        out : uint8 [row, column], optional
            Where the mask is stored, in host memory.

        Returns
        -------
        uint8 [row, column]
            255 where something moves, else 0; all 0 while ``ready`` is False. The frame that
            completes the first ones has its mask already.

        Raises
        ------
        ValueError
            For a frame of another shape than the one before, and for pixels that are NaN or
            infinite. The frame then leaves no trace.
        TypeError
            For something that is not an array of numbers.
        """
        place = HostPlace(frame, self._threads)
        host = place.fetched("frame", frame)
        _arrays.expects_rank("frame", host, {2: "[row, column]", 3: "[row, column, 3]"})
        if self._shape:
            _arrays.expects_shape("frame", host, self._shape)
        planes = planes_of("frame", host[None], self._threads)
        mask = _arrays.output("out", out, host.shape[:2], np.uint8)
        if out is not None:
            _arrays.expects_apart("out", mask, host)
        if self._ground is not None:
            if self._online is not None:
                self._follow(planes, self._ground, mask)
            else:
                self._finder.find(planes, self._ground, mask[None], anew=False)
        elif len(self._first) + 1 < self._burn_in:
            # The caller may change the frame.
            self._first.append(np.array(host))
            mask.fill(0)
        else:
            first = np.stack([*(planes_of("frame", f[None], 1)[0] for f in self._first), planes[0]])
            mask[...] = self._begin(first)[-1]
            self._first = []
        self._shape = host.shape
        self._place = place
        return place.result(mask, None) if out is None else out

    def fit(self, frames: Any) -> Any:
        """Forget all frames, learn from these and return their masks.

        online: the background begins with that of the first ``burn_in`` frames and of frames at
        equal distances: an object that stands still in one or the other is not in it.

        Parameters
        ----------
        frames : [frame, row, column] or [frame, row, column, 3]
            As for :meth:`apply`, which then goes on from the last one.

        Returns
        -------
        uint8 [frame, row, column]

        Raises
        ------
        ValueError
            For pixels that are NaN or infinite.
        TypeError
            For something that is not an array of numbers.
        """
        place = HostPlace(frames, self._threads)
        host = host_frames("frames", place, frames)
        masks = self._begin(planes_of("frames", host, self._threads))
        self._first = []
        self._shape = host.shape[1:]
        self._place = place
        return place.result(masks, None)

    def _begin(self, planes: Array) -> Array:
        """Learn from [frame, channel, row, column] and return the masks."""
        ground = np.empty((1, *planes.shape[1:]), np.float32)
        if self._method == "median":
            core.temporal_median(planes, ground.reshape(-1), self._threads)
            grounds = np.broadcast_to(ground, planes.shape)
        masks = np.empty((len(planes), *planes.shape[2:]), np.uint8)
        if self._method == "median":
            self._finder.find(planes, grounds, masks, anew=True)
            self._online, self._ground = None, ground
            return masks
        scales = np.empty(planes.shape[2:], np.float32)
        step = -(-len(planes) // _MOST_SAMPLES)
        sampled = np.ascontiguousarray(planes[::step])
        core.clip_background(planes[: self._burn_in], sampled, ground[0], scales, self._threads)
        online = core.OnlinePca(planes[0].size, self._parameters, self._threads)
        online.begin(ground.reshape(-1))
        self._finder.set_scales(scales)
        self._online, self._ground = online, ground
        for frame, mask in zip(planes, masks, strict=True):
            self._follow(frame[None], ground, mask)
        return masks

    def _follow(self, planes: Array, ground: Array, mask: Array) -> None:
        """Store background and mask of the next frame, [1, channel, row, column]."""
        self._online.next(planes.reshape(-1), ground.reshape(-1))
        with_light = np.empty_like(mask)
        self._finder.find(planes, ground, mask[None], False, with_light[None])
        self._online.learn(with_light)


def foreground_masks(
    frames: Any,
    background: Any,
    *,
    threshold: float | None = _MASK.threshold,
    noise_multiple: float = _MASK.noise_multiple,
    clean: int = _MASK.clean,
    min_area: int = _MASK.min_area,
    hysteresis: float = _MASK.hysteresis,
    fill_holes: bool = _MASK.fill_holes,
    remove_shadows: bool = _MASK.remove_shadows,
    remove_light: bool = False,
    threads: int | None = None,
) -> Any:
    """Masks of where frames differ from their background.

    Parameters
    ----------
    frames : [frame, row, column] or [frame, row, column, 3]
        Numbers in any unit.
    background : array of the shape of ``frames`` or of one frame
        Such as ``low_rank`` of :func:`rpca`, in the unit of the frames, and in the same memory.
    threshold : float, optional
        A pixel is foreground if a channel differs by more, in the unit of the frames. None: by
        more than usual for this pixel, for frames of 0 to 255.
    noise_multiple : float
        If positive, replaces ``threshold``: a multiple of the noise's standard deviation, which
        is estimated from all frames.
    clean : int
        Window of the median filter of the masks, an odd number; 0: none.
    min_area : int
        Connected regions of fewer pixels are removed.
    hysteresis : float
        With ``threshold`` None: what adjoins foreground is foreground, too, above this share of
        the threshold; 1: none.
    fill_holes : bool
        Background that foreground encloses becomes foreground.
    remove_shadows : bool
        Pixels are background where a multiple of the background fits the frame.
    remove_light : bool
        With ``threshold`` None: pixels are background where lamps light it, which makes its
        texture brighter, too. For backgrounds by :func:`rpca`, which have traces of the objects at
        night, False is better.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`.

    Returns
    -------
    uint8 [frame, row, column]
        255 where something moves, else 0.

    Raises
    ------
    ValueError
        For parameters out of range, shapes that differ, and values that are NaN or infinite.
    TypeError
        For something that is not an array of numbers.

    Notes
    -----
    The noise's standard deviation is the median of differences over 0.6745. Computes on the CPU;
    frames on a GPU are copied, and masks back.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> video = np.full((3, 20, 30), 100.0)
    >>> video[1, 5:15, 5:15] = 160
    >>> masks = aperture.foreground_masks(video, np.median(video, axis=0))
    >>> [int(np.count_nonzero(mask)) for mask in masks]
    [0, 88, 0]
    """
    place = HostPlace(frames, threads)
    parameters = mask_parameters(
        threshold,
        noise_multiple=noise_multiple,
        clean=clean,
        min_area=min_area,
        hysteresis=hysteresis,
        fill_holes=fill_holes,
        remove_shadows=remove_shadows,
        remove_light=remove_light,
    )
    finder = core.MaskFinder(parameters, place.where)
    host = host_frames("frames", place, frames)
    ground = place.fetched("background", background)
    if ground.shape == host.shape[1:]:
        ground = ground[None]
    elif ground.shape != host.shape:
        raise ValueError(
            f"background: shape {ground.shape}, expected {host.shape} or {host.shape[1:]}"
        )
    planes = planes_of("frames", host, place.where, scaled=False)
    grounds = planes_of("background", ground, place.where, scaled=False)
    masks = np.empty(host.shape[:3], np.uint8)
    repeated = np.broadcast_to(grounds, planes.shape)
    finder.find(planes, repeated, masks, anew=True)
    return place.result(masks, None)


def mask_parameters(
    threshold: float | None = _MASK.threshold, *, remove_light: bool = False, **parameters: Any
) -> Any:
    """Those of :func:`foreground_masks`, as core.MaskParameters."""
    given = core.MaskParameters()
    given.remove_light = remove_light
    if threshold is not None:
        given.threshold = number("threshold", threshold)
    assign(given, **parameters)
    return given


def host_frames(name: str, place: HostPlace, frames: Any) -> Array:
    """Frames [frame, row, column] with or without 3 channels in host memory."""
    host = place.fetched(name, frames)
    ranks = {3: "[frame, row, column]", 4: "[frame, row, column, 3]"}
    _arrays.expects_rank(name, host, ranks)
    return host


@functools.cache
def _levels_of_16_bits() -> Array:
    """What 16-bit samples are in 0 to 255."""
    return (np.arange(65536) * 255.0 / 65535.0).astype(np.float32)


def planes_of(name: str, frames: Array, threads: int, scaled: bool = True) -> Array:
    """float32 [frame, channel, row, column] of frames [frame, row, column] with or without 3."""
    if frames.dtype.kind not in "iuf":
        raise TypeError(f"{name}: elements of type {frames.dtype} cannot be converted to float32")
    if frames.ndim == 4 and frames.shape[3] != 3:
        raise ValueError(f"{name}: {frames.shape[3]} channels, expected 3, or no axis of channels")
    if 0 in frames.shape:
        raise ValueError(f"{name}: shape {frames.shape} is empty")
    channels_last = frames if frames.ndim == 4 else frames[..., None]
    source = np.moveaxis(channels_last, -1, 1)
    if scaled and frames.dtype.kind == "u" and frames.dtype.itemsize == 2:
        source = _levels_of_16_bits()[source]
    with np.errstate(over="ignore"):
        planes = source.astype(np.float32, order="C", copy=False)
    _arrays.expects_finite(name, planes, threads)
    return planes


def _from_planes(planes: Array, shape: tuple[int, ...]) -> Array:
    """A copy of [channel, row, column] with the shape of a frame."""
    return np.moveaxis(planes, 0, -1).reshape(shape).copy()
