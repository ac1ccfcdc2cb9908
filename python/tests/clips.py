# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Clips for tests of robust PCA and background subtraction, and what `bgsub` computes of them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np


def video(frames: int = 24, rows: int = 40, columns: int = 56, channels: int = 1) -> Any:
    """uint8: a textured ground in changing light, noise, and a bright square that moves."""
    random = np.random.default_rng(7)
    ground = random.integers(60, 140, (rows, columns, channels)).astype(float)
    stack = np.empty((frames, rows, columns, channels))
    for i in range(frames):
        stack[i] = ground * (1 + 0.05 * np.sin(i / 5)) + random.normal(0, 1, ground.shape)
        left = 2 * i % (columns - 10)
        stack[i, 10:20, left : left + 10] = 230
    pixels = np.clip(np.rint(stack), 0, 255).astype(np.uint8)
    return pixels[..., 0] if channels == 1 else pixels


def write_images(frames: Any, folder: Path) -> Path:
    """As PGM or PPM."""
    folder.mkdir()
    kind = b"P6" if frames.ndim == 4 else b"P5"
    white = 65535 if frames.dtype == np.uint16 else 255
    for i, frame in enumerate(frames):
        header = kind + b"\n%d %d\n%d\n" % (frame.shape[1], frame.shape[0], white)
        (folder / f"{i:04}.pnm").write_bytes(header + frame.astype(f">u{frame.itemsize}").tobytes())
    return folder


def saved_by_program(program: str, frames: Any, flags: list[str], folder: Path) -> dict[str, Any]:
    images = write_images(frames, folder / "images")
    names = ("background", "foreground", "mask")
    subprocess.run(
        [program, str(images), *flags, "--device", "cpu", "--threads", "1", "--quiet"]
        + ["--out-format", "npy", "--save", ",".join(names), "--out", str(folder / "out")],
        check=True,
    )
    return {name: np.load(folder / f"out.{name}.npy") for name in names}


def with_nan(m: Any, count: int = 2) -> Any:
    changed = m.astype(np.float32)
    changed.reshape(-1)[:count] = np.nan
    return changed
