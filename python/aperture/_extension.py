# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Loads the extension module: of several builds the best that this processor can run."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import types
from typing import Any

LEVELS = ("x86_64_v4", "x86_64_v3", "x86_64_v2")


def _load() -> types.ModuleType:
    try:
        level = importlib.import_module("aperture._level").level()
    except ImportError:
        # A build for one processor.
        return importlib.import_module("aperture._cpu")
    for name in LEVELS[4 - level :]:
        if importlib.util.find_spec(f"aperture._{name}"):
            return importlib.import_module(f"aperture._{name}._cpu")
    raise ImportError(f"aperture was not built for this processor, of level x86-64-v{level}")


core: Any = _load()


@functools.cache
def gpu_core() -> Any:
    """The module that computes on GPUs, loaded at its first use; None in a build without CUDA."""
    if importlib.util.find_spec("aperture._gpu") is None:
        return None
    return importlib.import_module("aperture._gpu")


@functools.cache
def has_gpu() -> bool:
    """Whether GPU 0 can be used."""
    return os.path.exists("/dev/nvidiactl") and gpu_core() is not None and not gpu_core().status(0)
