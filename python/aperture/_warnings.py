# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Warnings at the user's call."""

from __future__ import annotations

import sys
import warnings


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning whose place is the nearest caller outside the package."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and _in_package(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(text, category, stacklevel=level)


def _in_package(module: str) -> bool:
    return module.partition(".")[0] == __package__
