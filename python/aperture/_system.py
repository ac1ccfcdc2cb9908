# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Where functions compute."""

from __future__ import annotations

import operator
from typing import Any

from aperture._extension import core, gpu_core

_default_threads = 0


def set_num_threads(n: int) -> None:
    """Set how many CPU threads functions use that are called without ``threads``.

    Parameters
    ----------
    n : int
        Number of threads; 0 for OpenMP's own default, which is the number of processors or
        ``OMP_NUM_THREADS``.

    Raises
    ------
    ValueError
        For a negative number.

    Examples
    --------
    >>> import aperture
    >>> aperture.set_num_threads(1)
    >>> aperture.cpu_info()["threads"]
    1
    >>> aperture.set_num_threads(0)
    """
    global _default_threads
    _default_threads = threads_for(n)


def threads_for(threads: int | None) -> int:
    """The number of threads for an argument ``threads``; 0 for OpenMP's default."""
    if threads is None:
        return _default_threads
    try:
        number = operator.index(threads)
    except TypeError:
        raise TypeError(f"threads: expected a whole number, not {type(threads).__name__}") from None
    if not 0 <= number <= 4096:
        raise ValueError(f"threads {number}: expected 0 (OpenMP's default) to 4096")
    return number


def cpu_info() -> dict[str, str | int]:
    """Processor, instruction set of the build, and number of threads.

    Returns
    -------
    dict
        ``name`` and ``threads``.

    Examples
    --------
    >>> import aperture
    >>> sorted(aperture.cpu_info())
    ['name', 'threads']
    """
    return {
        "name": core.cpu_name(_default_threads),
        "threads": core.cpu_threads(_default_threads),
    }


def gpu_info() -> list[dict[str, Any]]:
    """The GPUs that can be used: none in a build without CUDA.

    Returns
    -------
    list of dict
        ``device``, ``name``, ``compute_capability``, ``multiprocessors``, ``free_bytes``.

    Examples
    --------
    >>> import aperture
    >>> for gpu in aperture.gpu_info():
    ...     print(gpu["name"])
    """
    if gpu_core() is None:
        return []
    gpus: list[dict[str, Any]] = []
    while info := gpu_core().info(len(gpus)):
        gpus.append(info)
    return gpus


def version() -> str:
    """The version of the package."""
    return str(core.version())


def build_info() -> dict[str, str]:
    """How the package was built: version, git commit, compiler.

    Examples
    --------
    >>> import aperture
    >>> aperture.build_info()["version"] == aperture.__version__
    True
    """
    return {
        "version": core.version(),
        "git_commit": core.git_commit(),
        "compiler": core.compiler(),
    }
