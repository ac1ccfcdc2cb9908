# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Objects with workspace that functions keep for their next call."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_MOST = 4
_lock = threading.Lock()
# By what they were made for; the one used longest ago comes first.
_idle: dict[str, Any] = {}


class kept(Generic[T]):
    """An object of ``make`` for one call at a time, which an earlier call may have left.

    ``made_for`` is all that the object depends on. To free an object's memory would wait for a
    GPU; a call that fails leaves none.
    """

    def __init__(self, made_for: tuple[Any, ...], make: Callable[[], T]) -> None:
        self._key, self._make = repr(made_for), make

    def __enter__(self) -> T:
        with _lock:
            found = _idle.pop(self._key, None)
        self._worker: T = self._make() if found is None else found
        return self._worker

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            return
        with _lock:
            _idle[self._key] = self._worker
            # Freed without the lock.
            dropped = [_idle.pop(next(iter(_idle))) for _ in range(len(_idle) - _MOST)]
        dropped.clear()


def clear_cache() -> bool:
    """Free the memory that functions keep to be faster when they are called again.

    :func:`flow`, :func:`correlate`, :func:`register`, :func:`fit_motion`, :func:`warp`, :func:`qr`
    and the functions of ``dense`` keep the workspace of their last calls, four at most. Reusable
    objects such as :class:`Stap` own theirs.

    Returns
    -------
    bool
        Whether there was any.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> r = aperture.qr(np.ones((8, 2)), mode="r")
    >>> aperture.clear_cache(), aperture.clear_cache()
    (True, False)
    """
    with _lock:
        dropped = list(_idle.values())
        _idle.clear()
    return bool(dropped)


# While the GPU's driver is there.
atexit.register(clear_cache)
