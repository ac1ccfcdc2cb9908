# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Moving scenes for tests of optical flow, and what `oflow` computes of them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np

SHAPE = (45, 67)
SHIFT = (1.5, -0.75)
ZEROS = np.zeros((20, 30), np.uint8)
START = np.zeros((20, 30, 2), np.float32)


def scene(x: Any, y: Any, seed: int = 1) -> Any:
    """A smooth image of waves of 6 to 60 pixels, 0 to 255."""
    random = np.random.default_rng(seed)
    value = np.zeros(np.shape(x))
    for _ in range(20):
        angle, phase = random.uniform(0, 2 * np.pi, 2)
        frequency = 2 * np.pi / (6 * 10 ** random.uniform(0, 1))
        value += np.sin(frequency * (x * np.cos(angle) + y * np.sin(angle)) + phase)
    return 128 + 15 * value


def frames(count: int = 2, shape: tuple[int, int] = SHAPE, shift: Any = SHIFT) -> Any:
    """A moving scene as uint8 [image, row, column]."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    moved = [scene(x - i * shift[0], y - i * shift[1]) for i in range(count)]
    return np.clip(np.round(moved), 0, 255).astype(np.uint8)


def colour_frames() -> Any:
    """Two colour images, uint8 [image, row, column, channel]."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    channels = [[scene(x - i, y + i, seed) for seed in (1, 2, 3)] for i in range(2)]
    return np.clip(np.moveaxis(np.array(channels), 1, -1), 0, 255).astype(np.uint8)


def with_nan(image: Any) -> Any:
    changed = image.astype(float)
    changed[3, 4] = np.nan
    return changed


def write_pnm(path: Path, image: Any) -> None:
    kind = "P6" if image.ndim == 3 else "P5"
    largest = 65535 if image.dtype == np.uint16 else 255
    header = f"{kind} {image.shape[1]} {image.shape[0]} {largest}\n"
    path.write_bytes(header.encode() + image.astype(image.dtype.newbyteorder(">")).tobytes())


def read_flo(path: Path) -> Any:
    data = path.read_bytes()
    width, height = np.frombuffer(data, "<i4", 2, 4)
    return np.frombuffer(data, "<f4", offset=12).reshape(height, width, 2)


def by_program(program: str, folder: Path, images: Any, flags: list[str]) -> Any:
    for i in (0, 1):
        write_pnm(folder / f"{i}.pnm", images[i])
    files = [str(folder / "0.pnm"), str(folder / "1.pnm"), "--out", str(folder / "uv.flo")]
    usual = ["--device", "cpu", "--threads", "1", "--no-picture", "--quiet"]
    subprocess.run([program, *files, *usual, *flags], check=True)
    return read_flo(folder / "uv.flo")
