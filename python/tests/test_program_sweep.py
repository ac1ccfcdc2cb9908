# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs for many values of their parameters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from programs import same_bits

import aperture
from aperture import compose

pytestmark = pytest.mark.usefixtures("one_thread")

MEAN = aperture.stencil({(-1, 0): 0.25, (0, -1): 0.25, (0, 1): 0.25, (1, 0): 0.25})
VALUES = [0.5, 0.125, 0.75, 0.3]


def images(*shape: int) -> Any:
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


def expect_single_runs(program: Any, *args: Any, **values: Any) -> Any:
    """A sweep's results, which are those of calls."""
    found = program.sweep(*args, **values)
    (count,) = {len(of) for of in values.values()}
    results = found if isinstance(found, tuple) else (found,)
    for number in range(count):
        others = iter(args)
        given = [
            values[name][number] if name in values else next(others) for name in program._names
        ]
        expected = program(*given)
        expected = expected if isinstance(found, tuple) else (expected,)
        for one, single in zip(results, expected, strict=True):
            assert one.shape == (count, *np.shape(single))
            same_bits(one[number], single)
    return found


def smoothed(x: Any, weight: Any, sweeps: int) -> Any:
    size = compose.dot(x, x)
    base = MEAN * x
    y = x + 0
    for _ in range(sweeps):
        y = base + weight * (MEAN * y)
    return y, (1 - weight) * size, size


@pytest.mark.parametrize("mode", ["thesis", "planned", "none", "numpy"])
def test_images_have_the_bits_of_calls(mode: str) -> None:
    program = aperture.program(mode=mode, tier="interpreted")(smoothed)
    x = images(20, 33)
    y, rest, size = expect_single_runs(program, x, 3, weight=VALUES)
    assert (y.dtype, y.shape) == (np.float32, (4, 20, 33))
    # What no value reaches is there once.
    assert mode == "numpy" or size.strides == (0,)
    found = program.sweep(x, 3, weight=np.array(VALUES))
    for one, other in zip(found, (y, rest, size), strict=True):
        same_bits(one, other)


def root(a: Any, b: Any) -> Any:
    x = 0.5 * (a + 1)
    for _ in range(6):
        x = 0.5 * (x + a / x)
    return x * b, x < b


def derived(x: Any, a: Any, b: Any) -> Any:
    return x * (3 - a / (b * b + 1)) + abs(-a) * 2 + max(a, b) + a**2 + float(a == b)


@pytest.mark.parametrize("a", [[1.5, -0.3, 1e100, 7.0], [1.5, np.inf, np.nan, 2.0]])
def test_numbers_that_python_computes_have_the_bits_of_calls(a: list[float]) -> None:
    program = aperture.program(tier="interpreted")(derived)
    x = images(3).astype(np.float64)
    expect_single_runs(program, x, a=a, b=[0.1, 2.5, -1.0, 7.0])


def test_numbers_are_lanes() -> None:
    program = aperture.program(tier="interpreted")(root)
    expect_single_runs(program, 3.0, a=[2.0, 3.0, 10.0])
    expect_single_runs(program, a=[2.0, 3.0, 10.0], b=[1.0, 2.0, -1.0])
    a = np.linspace(1, 2, 100_000)
    found, _ = program.sweep(1.0, a=a)
    np.testing.assert_allclose(found, np.sqrt(a), rtol=1e-6)


def loaded(R: compose.Batch, eye: compose.Batch, b: compose.Batch, loading: Any) -> Any:
    S = compose.rank_k(R)
    return compose.solve(S + loading * eye, b, matrix="positive_definite")


@pytest.mark.parametrize("tier", ["interpreted", "automatic"])
def test_batches_are_larger_batches(tier: str) -> None:
    program = aperture.program(tier=tier)(loaded)
    R, b = images(5, 3, 3), images(5, 3)
    eye = np.broadcast_to(np.eye(3, dtype=np.float32), (5, 3, 3))
    x = expect_single_runs(program, R, eye, b, loading=[0.1, 1.0, 10.0])
    assert x.shape == (3, 5, 3)


def halved(x: Any, least: Any) -> Any:
    y = x + 0
    steps = 0.0
    while compose.largest(y) > least:
        y = 0.5 * y
        steps = steps + 1
    return y, steps


def test_values_end_when_their_own_loops_do() -> None:
    program = aperture.program(tier="interpreted")(halved)
    x = abs(images(50)) + 1
    _, steps = expect_single_runs(program, x, least=[0.5, 1e-6, 1e6, 0.01])
    assert steps[2] == 0 < steps[0] < steps[3] < steps[1]


def test_explanations_say_how_values_run() -> None:
    program = aperture.program(tier="interpreted", threads=1)(smoothed)
    text = program.explain_sweep(images(20, 33), 3, weight=VALUES)
    once, values = text.split("for 4 values, one by one, 1 at a time; ")
    assert once.startswith("once:\n") and "stencil_product" in once
    assert "alone:\n" in values and "multiply_add" not in once
    assert "lanes, 3 at a time" in aperture.program(root).explain_sweep(3.0, a=[2.0, 3.0, 10.0])
    with pytest.raises(ValueError, match="weight: the list is empty"):
        program.explain_sweep(images(20, 33), 3, weight=[])


def test_a_value_that_fails_leaves_the_others() -> None:
    program = aperture.program(tier="interpreted", while_limit=30)(halved)
    x = abs(images(50)) + 1
    with pytest.warns(RuntimeWarning) as warned:
        y, steps = program.sweep(x, least=[0.5, -1, 0.25, 0])
    assert [str(one.message) for one in warned] == [
        "sweep of halved: 2 of 4 values failed, the first at least = -1.0: "
        "a loop did not end after 30 times"
    ]
    assert np.isnan(y[[1, 3]]).all() and np.isnan(steps).tolist() == [False, True, False, True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept, _ = expect_single_runs(program, x, least=[0.5, 0.25])
    same_bits(y[[0, 2]], kept)


@pytest.mark.parametrize("mode", ["thesis", "numpy"])
@pytest.mark.parametrize("values", [[0.0, 2.0, 4.0], [2.0, 0.0, 4.0]])
def test_what_python_refuses_is_a_value_that_fails(mode: str, values: list[float]) -> None:
    @aperture.program(mode=mode, tier="interpreted")
    def scaled(x: Any, s: Any) -> Any:
        return x * (1 / s)

    x = images(7)
    with pytest.warns(RuntimeWarning, match=r"1 of 3 values failed, the first at s = 0.0: ZeroDiv"):
        found = scaled.sweep(x, s=values)
    for number, value in enumerate(values):
        same_bits(found[number], scaled(x, value) if value else np.full(7, np.nan, np.float32))


def test_bad_sweeps_are_refused() -> None:
    program = aperture.program(tier="interpreted")(smoothed)
    x = images(4, 5)
    refused: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({}, TypeError, "expected the values of a parameter"),
        ({"height": [1.0]}, TypeError, "smoothed has no parameter 'height'"),
        ({"weight": []}, ValueError, "weight: the list is empty"),
        ({"weight": 0.5}, ValueError, r"weight: shape \(\), expected a list"),
        ({"weight": [[0.5]]}, ValueError, r"weight: shape \(1, 1\)"),
        ({"weight": [True]}, TypeError, "weight: elements of type bool"),
        ({"weight": ["a"]}, TypeError, "weight: not numbers"),
    ]
    for values, error, text in refused:
        with pytest.raises(error, match=text):
            program.sweep(x, 2, **values)
    with pytest.raises(TypeError, match="missing a required argument: 'sweeps'"):
        program.sweep(x, weight=VALUES)
    with pytest.raises(ValueError, match="b has 2 values, a has 3"):
        aperture.program(root).sweep(a=[1, 2, 3], b=[1, 2])
    with pytest.raises(ValueError, match="no result depends on"):
        aperture.program(tier="interpreted")(without_s).sweep(x, s=VALUES)
    with pytest.raises(ValueError, match="in_place: x is written"):
        aperture.program(in_place=("x",))(smoothed).sweep(x, 2, weight=VALUES)
    with pytest.raises(aperture.ProgramError, match="known int"):
        program.sweep(x, 0.5, sweeps=[1, 2])


def without_s(x: Any, s: Any) -> Any:
    return x + 1


def test_values_may_be_arrays_of_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    program = aperture.program(tier="interpreted")(smoothed)
    x = images(4, 5)
    expected = program.sweep(x, 2, weight=VALUES)
    found = program.sweep(torch.from_numpy(x), 2, weight=torch.tensor(VALUES, dtype=torch.float64))
    assert isinstance(found[0], torch.Tensor)
    for one, other in zip(found, expected, strict=True):
        same_bits(one.numpy(), other)


def cube_root(a: Any) -> Any:
    x = a + 1.0
    steps = 0.0
    while abs(x * x * x - a) > 1e-12 * a:
        x = x - (x * x * x - a) / (3 * x * x)
        steps = steps + 1
    return x, steps


def test_lanes_end_when_their_own_loops_do() -> None:
    program = aperture.program(tier="interpreted")(cube_root)
    x, steps = expect_single_runs(program, a=np.geomspace(1e-6, 1e6, 50).tolist())
    assert steps.max() > 2 * steps.mean()
    few = aperture.program(tier="interpreted", while_limit=12)(cube_root)
    with pytest.warns(
        RuntimeWarning, match="1 of 3 values failed, the first at a = 1000000.0: a loop"
    ):
        found, _ = few.sweep(a=[8, 1e6, 27])
    np.testing.assert_allclose(found, [2, np.nan, 3], rtol=1e-12)
