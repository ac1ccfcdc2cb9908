# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames of a camera that shakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from aperture._arrays import Array
from aperture._background import host_frames, planes_of
from aperture._extension import core
from aperture._places import HostPlace
from aperture._system import threads_for

_HOW = ("auto", "shift", "affine", "homography")


class CameraMotion:
    """The motion of a camera in the frames of a clip, and a common frame that contains them all.

    What ``bgsub --stabilise`` does: the background is found in the common frame and compared with
    each frame as that sees it.

    Parameters
    ----------
    frames : [frame, row, column] or [frame, row, column, 3]
        At least 16 x 16 pixels; smaller ones do not move with "auto". uint16 is divided by 257;
        other numbers are taken as they are and should be 0 to 255.
    how : {"auto", "shift", "affine", "homography"}
        How frames are moved. "auto": by affine maps if the camera shakes, else not at all.
    threads : int, optional
        CPU threads; see :func:`set_num_threads`. They do not change the result.

    Attributes
    ----------
    moves : bool
        Whether there is a common frame. For "auto", if a fifth of the frames are more than 0.3
        pixels from their median position and shifts take away a tenth of what they differ by from
        their median.
    shake : float
        The root of the mean squared shift in the middle of the frames, in pixels.
    shifts : float64 [frame, (dy, dx)]
        The shift in the middle of each frame from the frames' median, in pixels. NaN where a frame
        cannot be brought to the others, and everywhere if "auto" finds that the camera is still.
    shape : (int, int)
        Rows and columns of the common frame; of the frames if not ``moves``.

    Raises
    ------
    ValueError
        For small frames, words that are no choice, and pixels that are NaN or infinite.
    TypeError
        For something that is not an array of numbers.

    Notes
    -----
    :func:`fit_motion` of up to 33 frames to their median, then of all frames to the median of the
    shifted ones. Computes on the CPU; frames on a GPU are copied, and results back.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> y, x = np.mgrid[:64, :80]
    >>> def seen(dy, dx):
    ...     return 100 + 40 * np.sin((y + dy) / 5) * np.cos((x + dx) / 7)
    >>> frames = np.stack([seen(3 * np.sin(i), 2 * np.cos(2 * i)) for i in range(12)])
    >>> frames[6, 20:40, 30:50] = 230
    >>> camera = aperture.CameraMotion(frames)
    >>> parts = aperture.rpca(camera.to_common(frames))
    >>> ground = camera.from_common(parts.low_rank, frames)
    >>> masks = aperture.foreground_masks(frames, ground)
    >>> camera.moves, int(np.argmax(masks.sum((1, 2))))
    (True, 6)
    """

    def __init__(self, frames: Any, how: str = "auto", *, threads: int | None = None) -> None:
        if how not in _HOW:
            raise ValueError(f"how {how!r}: expected {', '.join(_HOW[:-1])} or {_HOW[-1]}")
        self._threads = threads_for(threads)
        host = host_frames("frames", HostPlace(frames, threads), frames)
        planes = planes_of("frames", host, self._threads)
        self._frames: tuple[int, ...] = host.shape[:3]
        self._motion = core.CameraMotion(planes, how, self._threads)
        self.moves: bool = self._motion.moves
        self.shake: float = self._motion.shake
        self.shape: tuple[int, int] = self._motion.shape if self.moves else host.shape[1:3]
        self.shifts: npt.NDArray[np.float64] = np.empty((len(host), 2))
        self._motion.shifts(self.shifts)

    def __repr__(self) -> str:
        count, rows, columns = self._frames
        does = f"shake of {self.shake:.3g} pixels" if self.moves else "does not move"
        return f"<CameraMotion of {count} frames of {rows} x {columns}: {does}>"

    def to_common(self, frames: Any) -> Any:
        """Move frames to the common frame.

        Parameters
        ----------
        frames : [frame, row, column] or [frame, row, column, 3]
            As many frames of the same size as this object was made of, in any unit.

        Returns
        -------
        float32 [frame, row, column] or [frame, row, column, 3]
            Of ``shape``. What a frame does not show there is the median of the frames that do, so
            that it is background. The frames themselves if not ``moves``.

        Raises
        ------
        ValueError
            For other shapes, and pixels that are NaN or infinite.
        TypeError
            For something that is not an array of numbers.
        """
        place = HostPlace(frames, self._threads)
        planes, given = self._planes(place, "frames", frames, self._frames)
        common = planes
        if self.moves:
            common = np.empty((*planes.shape[:2], *self.shape), np.float32)
            self._motion.to_common(planes, common)
        return place.result(_as_given(common, given), None)

    def from_common(self, backgrounds: Any, frames: Any) -> Any:
        """Move backgrounds in the common frame back, as the frames see them.

        Parameters
        ----------
        backgrounds : [frame, row, column] or [frame, row, column, 3]
            Of ``shape``, such as ``low_rank`` of :func:`rpca` of :meth:`to_common`.
        frames : [frame, row, column] or [frame, row, column, 3]
            The frames, in the same unit and the same memory.

        Returns
        -------
        float32, shape of ``frames``
            For :func:`foreground_masks`. Where there is no background, and for frames that could
            not be brought to the others, that is the frame itself, from which nothing differs.

        Raises
        ------
        ValueError
            For other shapes, and pixels that are NaN or infinite.
        TypeError
            For something that is not an array of numbers.
        """
        place = HostPlace(backgrounds, self._threads)
        expected = (self._frames[0], *self.shape)
        common, given = self._planes(place, "backgrounds", backgrounds, expected)
        planes, of_frames = self._planes(place, "frames", frames, self._frames)
        if of_frames[3:] != given[3:]:
            raise ValueError(f"frames: shape {of_frames}, of the backgrounds {given}")
        result = common
        if self.moves:
            result = np.empty(planes.shape, np.float32)
            self._motion.from_common(common, planes, result)
        return place.result(_as_given(result, given), None)

    def _planes(
        self, place: HostPlace, name: str, frames: Any, expected: tuple[int, ...]
    ) -> tuple[Array, tuple[int, ...]]:
        """float32 [frame, channel, row, column], and the shape given."""
        host = host_frames(name, place, frames)
        if host.shape[:3] != expected:
            raise ValueError(f"{name}: shape {host.shape}, expected {expected} or {(*expected, 3)}")
        return planes_of(name, host, self._threads, scaled=False), host.shape


def _as_given(planes: Array, given: tuple[int, ...]) -> Array:
    """A new array [frame, row, column] of planes, with an axis of channels if one was given."""
    count, _, rows, columns = planes.shape
    return np.moveaxis(planes, 1, -1).reshape(count, rows, columns, *given[3:]).copy()
