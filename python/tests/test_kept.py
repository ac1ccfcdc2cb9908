# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Objects that functions keep for their next call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import aperture
from aperture._kept import kept

RANDOM = np.random.default_rng(5)
IMAGES = RANDOM.integers(0, 256, (2, 30, 40)).astype(np.uint8)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    aperture.clear_cache()
    yield
    aperture.clear_cache()


def test_an_object_is_for_the_same_arguments_and_one_call_at_a_time() -> None:
    with kept((1,), object) as first:
        with kept((1,), object) as second:
            assert second is not first
        with kept((True,), object) as other:
            assert other not in (first, second)
    with kept((1,), object) as again:
        assert again is first
        with kept((1,), object) as another:
            assert another is not again


def test_the_last_four_are_kept() -> None:
    for i in range(5):
        with kept((i,), list):
            pass
    made = []

    def make() -> int:
        made.append(1)
        return 0

    for i in (1, 2, 3, 4):
        with kept((i,), make):
            assert not made
    with kept((0,), make):
        assert made


def test_a_call_that_fails_leaves_nothing() -> None:
    with pytest.raises(ZeroDivisionError), kept((1,), object):
        raise ZeroDivisionError
    assert not aperture.clear_cache()


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "flow": aperture.flow,
    "qr": lambda a, b: aperture.qr(a[:, :8] * 1.0, mode="r"),
    "tall_svd": lambda a, b: aperture.tall_svd(a[:, :8] * 1.0)[0],
    "warp": lambda a, b: aperture.warp(a, np.full((30, 40, 2), b[0, 0] / 100)),
    "correlate": lambda a, b: aperture.correlate(a, b, planes="grey", offsets=(8, 8)).surface,
}


@pytest.mark.filterwarnings("ignore:the largest value")
@pytest.mark.parametrize("name", CALLS)
def test_results_do_not_depend_on_earlier_calls(name: str) -> None:
    call = CALLS[name]
    expected = call(*IMAGES)
    assert aperture.clear_cache()
    other = call(*IMAGES[::-1])
    kept_other = other.copy()
    assert (call(*IMAGES) == expected).all()
    assert (other == kept_other).all()


def test_threads_share_no_object() -> None:
    expected = aperture.flow(*IMAGES, threads=1)
    wrong = []

    def work() -> None:
        for _ in range(10):
            if not (aperture.flow(*IMAGES, threads=1) == expected).all():
                wrong.append(1)

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work) for _ in range(3)]:
            done.result()
    assert not wrong
