# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs whose plan is chosen by trials on the first call's arguments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import same_bits

import aperture
from aperture import compose

pytestmark = pytest.mark.usefixtures("one_thread")

MEAN = aperture.stencil({(-1, 0): 0.25, (0, -1): 0.25, (0, 1): 0.25, (1, 0): 0.25})


@pytest.fixture(autouse=True)
def wisdom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of plans that are remembered."""
    monkeypatch.delenv("APERTURE_TUNE", raising=False)
    monkeypatch.setenv("APERTURE_WISDOM", str(tmp_path / "plans.jsonl"))
    return tmp_path / "plans.jsonl"


def plans(wisdom: Path) -> list[Any]:
    lines = wisdom.read_text().splitlines() if wisdom.exists() else []
    return [line for line in map(json.loads, lines) if "kernels" in line]


def descend(b: Any, x: Any, sweeps: int) -> Any:
    for _ in range(sweeps):
        r = b - MEAN * x
        z = MEAN * r
        x = x + 0.25 * z
        size = compose.dot(r, z)
    return x, size


def tuned(**options: Any) -> Any:
    return aperture.program(mode="tuned", **{"tier": "interpreted", **options})(descend)


def images() -> Any:
    return np.random.default_rng(1).normal(size=(2, 50, 70)).astype(np.float32)


@pytest.mark.parametrize("tier", ["interpreted", "automatic"])
@pytest.mark.parametrize("in_place", [(), ("x",)])
def test_the_first_call_and_later_ones_have_the_bits_of_other_modes(
    tier: str, in_place: tuple[str, ...], wisdom: Path
) -> None:
    thesis = aperture.program(in_place=in_place, tier="interpreted")(descend)
    program = tuned(in_place=in_place, tier=tier)
    (b, x), (_, expected_x) = images(), images()
    for calls in range(3):
        found, size = program(b, x, 3)
        expected, expected_size = thesis(b, expected_x, 3)
        same_bits(found, expected)
        same_bits(size, expected_size)
        same_bits(x, expected_x)
        assert (found is x) == bool(in_place)
        assert len(plans(wisdom)) == 1, calls


def test_plans_are_remembered_for_about_the_same_shapes(wisdom: Path) -> None:
    b, x = images()
    tuned()(b, x, 2)
    (plan,) = plans(wisdom)
    assert plan["program"] == "descend"
    calls = [call for kernel in plan["kernels"] for call in kernel]
    assert sorted(calls) == list(range(len(calls)))
    tuned()(b, x, 2)
    tuned()(b[:40, :65], x[:40, :65], 2)
    assert len(plans(wisdom)) == 1
    program = tuned()
    program(b[:20], x[:20], 2)
    program(b[:10], x[:10], 2)
    assert len(plans(wisdom)) == 3


def test_variables_say_how_to_tune(wisdom: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    b, x = images()
    expected = aperture.program(tier="interpreted")(descend)(b, x, 2)
    monkeypatch.setenv("APERTURE_TUNE", "off")
    for found, other in zip(tuned()(b, x, 2), expected, strict=True):
        same_bits(found, other)
    assert not plans(wisdom)
    monkeypatch.setenv("APERTURE_TUNE", "full")
    for count in (1, 2):
        tuned()(b, x, 2)
        assert len(plans(wisdom)) == count
    monkeypatch.setenv("APERTURE_TUNE", "much")
    with pytest.raises(ValueError, match="APERTURE_TUNE much: expected off|incremental|full"):
        tuned()(b, x, 2)


def test_a_file_that_cannot_be_used_changes_nothing(
    wisdom: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b, x = images()
    expected = aperture.program(tier="interpreted")(descend)(b, x, 2)
    wisdom.write_bytes(b'{"device":\xff\n\n[]\n')
    for path in (wisdom, wisdom.parent, wisdom / "below"):
        monkeypatch.setenv("APERTURE_WISDOM", str(path))
        for found, other in zip(tuned()(b, x, 2), expected, strict=True):
            same_bits(found, other)


@pytest.mark.parametrize("before", [True, False])
def test_kernels_are_explained_with_their_times(before: bool) -> None:
    program = tuned(in_place=("x",))
    b, x = images()
    if not before:
        program(b, x, 2)
    kept = x.copy()
    text = program.explain(b, x, 2)
    same_bits(x, kept)
    kernels = re.findall(r"kernel \d+, 50 x 70: ", text)
    times = re.findall(r"bytes in all, [0-9.]+ us predicted, [0-9.]+ us measured\n", text)
    assert len(kernels) == len(times) > 0
    planned = aperture.program(mode="planned", tier="interpreted")(descend)
    assert "measured" not in planned.explain(b, x, 2)


def test_errors_are_those_of_other_modes() -> None:
    def endless(x: Any) -> Any:
        size = compose.sum(x)
        while size < 1.0:
            x = x + x
            y = MEAN * x
            x = x - y
        return x, size

    x = np.zeros((9, 9), np.float32)
    program = aperture.program(mode="tuned", tier="interpreted", while_limit=7, in_place=("x",))(
        endless
    )
    with pytest.raises(aperture.ProgramError, match="did not end after 7 times") as raised:
        program(x)
    assert raised.value.line == endless.__code__.co_firstlineno + 2
    assert not x.any()

    shrink = aperture.operation("shrink", ["x"], "return x @ 2;")

    def with_body(x: Any) -> Any:
        return shrink(x)

    for tier in ("interpreted", "automatic"):
        with pytest.raises(ValueError, match="shrink"):
            aperture.program(mode="tuned", tier=tier)(with_body)(x)
