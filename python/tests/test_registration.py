# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import aperture

pytestmark = pytest.mark.usefixtures("one_thread")


def spots(shape: tuple[int, int], rotation: float = 0, scale: float = 1, *shift: float) -> Any:
    """An image of Gaussian spots that are turned and scaled about its centre and shifted."""
    random = np.random.default_rng(5)
    count = 400
    y, x = np.mgrid[: shape[0], : shape[1]].astype(float)
    image = np.full(shape, 100.0)
    centre = (np.array(shape) - 1) / 2
    c, s = scale * math.cos(math.radians(rotation)), scale * math.sin(math.radians(rotation))
    places = (random.random((count, 2)) - 0.5) * 2 * np.array(shape)
    for place, width, height in zip(
        places, random.uniform(1.5, 4, count), random.uniform(-50, 50, count), strict=True
    ):
        at = centre + np.array([[c, -s], [s, c]]) @ place + (shift or (0, 0))
        away = (y - at[0]) ** 2 + (x - at[1]) ** 2
        image += height * np.exp(-away / (2 * (scale * width) ** 2))
    return image + random.normal(0, 0.5, shape)


def test_shift() -> None:
    a, b = spots((80, 100)), spots((80, 100), 0, 1, 3.3, -7.6)
    found = aperture.register(a, b)
    assert found.found and found.rotation == 0 and found.scale == 1
    assert abs(found.dy - 3.3) < 0.02 and abs(found.dx + 7.6) < 0.02
    assert 0 < found.dy_deviation < 0.02 and found.correlation > 0.98
    colour = np.stack([b] * 3, -1)
    assert np.allclose(aperture.register(a, colour)[1:3], found[1:3], atol=1e-4)


def test_similarity_and_its_matrix() -> None:
    shape = (120, 140)
    a, b = spots(shape), spots(shape, 17, 1.1, -2.5, 4.5)
    found = aperture.register(a, b, "similarity")
    assert abs(found.dy + 2.5) < 0.05 and abs(found.dx - 4.5) < 0.05
    assert abs(found.rotation - 17) < 0.05 and abs(found.scale - 1.1) < 0.001
    # The pixel of b where that of a lies has its value.
    matrix = found.matrix(shape)
    inner = a[40:80, 50:90]
    y, x = np.mgrid[40:80, 50:90]
    there = np.tensordot(matrix[:2], np.stack([y, x, np.ones_like(y)]), 1)
    nearest = b[tuple(np.round(there).astype(int))]
    assert np.corrcoef(inner.ravel(), nearest.ravel())[0, 1] > 0.95


def test_images_that_do_not_tell() -> None:
    found = aperture.register(np.full((64, 64), 7.0), spots((64, 64)))
    assert not found.found and found.dy == 0 and found.correlation == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros((20, 20)), np.zeros((20, 21))), r"b: shape \(20, 21\), of a \(20, 20\)"),
        ((np.zeros((4, 20)), np.zeros((4, 20))), "at least 8 x 8"),
        ((np.zeros((20, 20)), np.zeros((20, 20)), "affine"), r"expected shift\|similarity"),
        ((np.full((20, 20), np.nan), np.zeros((20, 20))), "finite"),
        ((np.zeros((20, 20, 2)), np.zeros((20, 20))), "expected"),
    ],
)
def test_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        aperture.register(*arguments)
