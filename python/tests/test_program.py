# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import functools
import math
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import evaluated, same_bits

import aperture
from aperture import compose
from aperture._extension import core
from aperture.compose import black, dot, fma, maximum, minimum, red, sqrt, where

pytestmark = pytest.mark.usefixtures("one_thread")

MEAN = aperture.stencil({(-1, 0): 0.25, (0, -1): 0.25, (0, 1): 0.25, (1, 0): 0.25})
HALF = 0.5


def images(*shape: int, dtype: Any = np.float32, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def by_all_modes(function: Callable[..., Any], *arguments: Any, compiled: bool = False) -> Any:
    """The result, which all modes have, as one or a tuple. To compile takes half a second."""
    results = []
    for mode in ("thesis", "planned", "none", "numpy"):
        tier = "automatic" if compiled else "interpreted"
        program = aperture.program(mode=mode, tier=tier)(function)
        with np.errstate(all="ignore"):
            result = program(*copy.deepcopy(arguments))
        results.append(result if isinstance(result, tuple) else (result,))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            same_bits(a, b)
    assert list(map(type, results[0])) == list(map(type, results[1]))
    return results[0] if isinstance(result, tuple) else results[0][0]


def jacobi(b: Any, x: Any, weight: Any, sweeps: int) -> Any:
    for _ in range(sweeps):
        residual = b - MEAN * x
        x = weight * residual
    return x


def test_a_program_computes_as_numpy_does_and_writes_no_argument() -> None:
    b, x = images(2, 30, 41)
    given = x.copy()
    expected = jacobi(b, x, 0.7, 5)
    found = aperture.program(jacobi)(b, x, 0.7, 5)
    same_bits(found, expected)
    assert found is not x and (x == given).all()
    same_bits(by_all_modes(jacobi, b, x, 0.7, 0), x)


def test_the_text_and_the_kernels_can_be_read() -> None:
    program = aperture.program(jacobi)
    b, x = images(2, 6, 8)
    assert program.text(b, x, weight=0.5, sweeps=3).splitlines() == [
        "program jacobi {",
        "    input x_given: array f32[6, 8];",
        "    local x: array f32[6, 8];",
        "    constant sweeps = 3;",
        "    local _: iteration i64;",
        "    input b: array f32[6, 8];",
        "    stencil MEAN: f32 replicate {(-1, 0): 0.25, (0, -1): 0.25, (0, 1): 0.25, (1, 0): 0.25"
        "};",
        "    local _1: array f32[6, 8];",
        "    local residual: array f32[6, 8];",
        "    input weight: scalar f32;",
        "    local _3: array f32[6, 8];",
        "    x = copy(x_given);",
        "    for _ in sweeps {",
        "        _1 = stencil_product(MEAN, x);",
        "        residual = subtract(b, _1);",
        "        _3 = multiply(weight, residual);",
        "        x = copy(_3);",
        "    }",
        "    return x;",
        "}",
    ]
    assert "stencil_product subtract multiply" in program.explain(b, x, 0.5, 3)
    by_operation = aperture.program(mode="none")(jacobi).explain(b, x, 0.5, 3)
    assert by_operation.count("kernel") == 5
    assert aperture.program(mode="numpy")(jacobi).text(b, x, 0.5, 3) == program.text(b, x, 0.5, 3)
    assert repr(program) == "<aperture program jacobi>" and program.__name__ == "jacobi"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(7,), (5000,), (4, 9), (70, 33), (3, 5, 6), (2, 40, 17)])
def test_elements_of_all_shapes_and_types(dtype: Any, shape: tuple[int, ...]) -> None:
    def compute(x: Any, y: Any, s: Any) -> Any:
        z = s * x - y / 3 + 2 * (-x)
        least = minimum(x, y) + maximum(z, 0.25) * abs(y)
        mask = (x < y) & ~(x <= 0.1) | (y >= 2) | (x > 3) | (z == x) | (z != z)
        chosen = where(mask, sqrt(abs(z)), fma(x, y, z))
        return z, least, mask, chosen, compose.sum(chosen), dot(x, y)

    x, y = images(2, *shape, dtype=dtype)
    results = by_all_modes(compute, x, y, 1.7, compiled=shape in ((5000,), (70, 33)))
    assert [one.dtype for one in results] == [dtype, dtype, np.bool_, dtype, dtype, dtype]
    assert [one.shape for one in results] == [shape] * 4 + [()] * 2
    assert isinstance(results[4], np.generic)
    assert results[5] == pytest.approx((x.astype(float) * y).sum(), rel=1e-4, abs=1e-4)


def test_integers_complex_numbers_and_conditions() -> None:
    def of_integers(n: Any, k: Any) -> Any:
        return n * 3 - k + 2**40, -n, minimum(n, k), n < k

    def of_complex_numbers(z: Any, w: Any, s: Any) -> Any:
        return z * w + s, (2.5 * z - 1j * w) - 3

    n, k = np.random.default_rng(1).integers(-9, 9, (2, 4, 5))
    assert [one.dtype for one in by_all_modes(of_integers, n, k)] == ["i8", "i8", "i8", "?"]
    for dtype in (np.complex64, np.complex128):
        z, w = (images(2, 5, 6) + 1j * images(2, 5, 6, seed=2)).astype(dtype)
        scalar = dtype(1 - 2j)
        found = aperture.program(of_complex_numbers)(z, w, scalar)
        assert np.allclose(found, of_complex_numbers(z, w, scalar), rtol=1e-5)
        assert found[0].dtype == dtype
        assert np.allclose(aperture.program(of_complex_numbers)(z, w, 1 - 2j), found)

    def of_conditions(a: Any, b: Any, flag: bool) -> Any:
        chosen = a & b if flag else a | b
        return chosen, ~chosen, where(chosen, a, b)

    a, b = np.random.default_rng(1).random((2, 4, 5)) < 0.5
    assert (by_all_modes(of_conditions, a, b, True)[0] == (a & b)).all()
    assert (by_all_modes(of_conditions, a, b, False)[0] == (a | b)).all()


def test_numbers_of_python_have_the_type_of_what_they_meet() -> None:
    def compute(x: Any, y: Any, s: Any, t: Any) -> Any:
        return s * x + HALF, s * y + HALF + 1 / 3, x * (2 * HALF), t * y

    x, y = images(3, 4), images(3, 4, dtype=np.float64)
    results = by_all_modes(compute, x, y, 0.1, np.float64(0.3))
    assert [one.dtype for one in results] == [np.float32, np.float64, np.float32, np.float64]
    text = aperture.program(compute).text(x, y, 0.1, np.float64(0.3))
    assert "input s: scalar f32;" in text and "input s_2: scalar f64;" in text
    assert "number HALF: f32 = 0.5;" in text and "0.333333333333333" in text


def test_scalars_live_in_variables() -> None:
    def compute(x: Any, tolerance: float) -> Any:
        total = 0
        count = 0
        scale = 1.0
        for _ in range(20):
            total = total + dot(x, x)
            count = count + 1
            scale *= 0.5
            if total > tolerance and not count < 3:
                break
        return total, count, scale * x, min(total, 4.0), max(total, tolerance), abs(-total)

    x = images(3, 4)
    results = by_all_modes(compute, x, 50.0, compiled=True)
    assert results[0] > 50 and results[1] >= 3
    assert aperture.program(compute)(x, 50.0)[0].dtype == np.float32


def test_a_number_that_varies_has_the_type_of_all_its_values() -> None:
    def compute(x: Any) -> Any:
        of_float: Any = 0
        of_dot = dot(x, x)
        first = 0
        second = 0.5
        third: Any = 0
        fourth: Any = 0
        for _ in range(2):
            of_float = 1.5
            of_dot = first
            first = first + 1
            second = second + third
            third = third + 0.25
            fourth = 0.5 - fourth
        return of_float * x, of_dot * x, first * x, second * x, third * x, fourth * x

    by_all_modes(compute, images(3, 4))
    text = aperture.program(compute).text(images(3, 4))
    assert text.count("scalar f32;") == 6 and "i64;" not in text.replace("iteration i64;", "")


def test_conversions_and_counters_of_loops() -> None:
    def compute(x: Any, n: Any) -> Any:
        y = x.astype(np.float64)
        for i in range(4):
            x = i * x + np.float32(i)
            y = y + 0.5 * np.float64(i)
        z = n.astype(np.float32) * x + (x > 0.5).astype(np.float32)
        return x, y, z, np.float64(dot(x, x)), i

    results = by_all_modes(compute, images(3, 4), np.arange(12).reshape(3, 4), compiled=True)
    assert [one.dtype for one in results] == ["f4", "f8", "f4", "f8", "i8"]


def test_numbers_of_all_elements() -> None:
    def compute(x: Any, n: Any) -> Any:
        return (
            compose.largest(x), compose.smallest(x), compose.count(x > 0.5), compose.sum(n),
            compose.largest(n), dot(n, n), 3, 2.5,
        )  # fmt: skip

    n = np.random.default_rng(1).integers(-9, 9, (40, 50))
    for dtype in (np.float32, np.float64):
        results = by_all_modes(compute, images(40, 50, dtype=dtype), n)
        assert results[2] > 0 and results[6] == 3
    with_nan = np.where(np.arange(90) == 70, np.nan, 1.0)
    assert np.isnan(by_all_modes(compute, with_nan, n)[:2]).all()

    def of_complex_numbers(z: Any, w: Any) -> Any:
        return compose.sum(z), dot(z, w)

    z, w = images(2, 30, 40) + 1j * images(2, 30, 40, seed=2)
    found = aperture.program(tier="interpreted")(of_complex_numbers)(z, w)
    assert np.allclose(found, [z.sum(), np.vdot(z, w)])


def test_numbers_of_both_signs_and_of_two_choices() -> None:
    def compute(x: Any) -> Any:
        return 0.0 * x, -0.0 * x, where(x > 0, 1.0, 0.0), where(x > 0, 1, x), where(True, x, 2.0)

    results = by_all_modes(compute, images(3, 4))
    assert results[2].dtype == np.float64


def test_while_and_branches() -> None:
    def halved(x: Any, limit: float) -> Any:
        steps = 0
        size = dot(x, x)
        while size > limit and steps < 50:
            x = x * 0.5
            size = dot(x, x)
            steps += 1
            if size < 1.0:
                size = 0.0 * size
            else:
                size = 1.0 * size
        kind = 1.0 if steps > 3 else 2.0
        return x, steps, size, kind

    x = images(9, 8)
    assert by_all_modes(halved, x, 1e-3, compiled=True)[1] > 2
    assert by_all_modes(halved, x, 1e9)[1] == 0

    def endless(x: Any) -> Any:
        while True:
            x = x + 1.0
            if compose.sum(x) > 100.0:
                break
        while False:
            x = x - 1.0
        return x

    same_bits(by_all_modes(endless, np.zeros((2, 3))), np.full((2, 3), 17.0))


def test_a_while_without_end_is_an_error_at_its_line() -> None:
    def endless(x: Any) -> Any:
        s = compose.sum(x)
        while s < 1.0:
            s = s * 0.5
        return s

    program = aperture.program(while_limit=7)(endless)
    assert "limit 7" in program.text(np.zeros(3))
    with pytest.raises(aperture.ProgramError, match="did not end after 7 times") as raised:
        program(np.zeros(3))
    assert raised.value.line == endless.__code__.co_firstlineno + 2


def test_assignments_copy_and_tuples_are_assigned_at_once() -> None:
    def exchanged(x: Any, y: Any) -> Any:
        z = x
        x, y = y, x
        x, y = y + z, x - z
        a = b = x * y
        b = b + 1.0
        rows, columns = x.shape
        return x, y, z, a, b, x * (rows - columns + x.ndim + x.size + x.shape[-1])

    by_all_modes(exchanged, *images(2, 4, 5))


def test_loops_in_loops_and_known_branches() -> None:
    def nested(x: Any, n: int, flip: bool) -> Any:
        for i in range(n):
            for j in range(2 * n // 3):
                x = x + 0.5 * (MEAN * x) if flip else x - MEAN * x
                if j > i:
                    break
            if dot(x, x) > 200.0:
                x = 0.5 * (MEAN * x)
                break
            if n == 4:
                x = x * 2.0
            elif n > 4:
                x = x * 3.0
        return x

    x = images(6, 7)
    results = [by_all_modes(nested, x, n, flip) for n in (3, 4, 5) for flip in (True, False)]
    assert len({one.tobytes() for one in results}) == 6


def test_stencils_with_both_borders_and_filters_of_colours() -> None:
    for border in ("replicate", "zero"):
        wide = aperture.stencil(
            {(-2, 3): 0.3, (1, -1): -1.7, (0, 0): 0.1, (5, 0): 1}, border=border
        )

        def compute(x: Any, S: Any, wide: Any = wide) -> Any:
            y = wide * x
            return y, S * (x + y), red(x) + 2.0 * black(y), S * x

        for shape in ((1, 1), (1, 9), (9, 1), (3, 4), (40, 70)):
            for dtype in (np.float32, np.float64):
                by_all_modes(compute, images(*shape, dtype=dtype), MEAN, compiled=shape == (9, 1))


@pytest.mark.parametrize(
    ("shape", "offsets"),
    [
        ((300,), [-1, 0, 7, -299]),
        ((2,), [(-3,), (5,), (0,), (1,)]),
        ((4, 5, 40), [(-1, 0, 0), (0, 2, -1), (3, -6, 0), (0, 0, 37)]),
        ((1, 1, 1), [(0, 0, 1), (0, -1, 0), (2, 0, 0), (0, 0, 0)]),
    ],
)
def test_stencils_of_vectors_and_volumes(shape: tuple[int, ...], offsets: list[Any]) -> None:
    for border in ("replicate", "zero"):
        weights = dict(zip(offsets, [0.3, -1.7, 0.1, 1.0], strict=True))
        near = aperture.stencil(weights, border=border)

        def compute(x: Any, S: Any = near) -> Any:
            y = S * x
            return y, S * (x - y)

        for dtype in (np.float32, np.float64):
            by_all_modes(compute, images(*shape, dtype=dtype), compiled=border == "zero")


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (12, 1), (40, 55)])
def test_images_are_warped_and_matched(shape: tuple[int, int]) -> None:
    def compute(image: Any, u: Any, v: Any) -> Any:
        u = 3.0 * u
        warped = compose.warp(image, u, v)
        image = compose.warp(warped, v, u) + image
        inside = compose.lands_inside(u, v)
        du, dv = compose.lk_least_squares(image, warped, u)
        both = compose.lk_least_squares(image, warped, v, window=5, regularisation=0.5)
        return image, warped, inside, du, dv, both[0], both[1]

    image, u, v = images(3, *shape)
    u[0, 0], v[-1, -1] = np.nan, np.inf
    by_all_modes(compute, image, u, v)


def test_a_warped_image_is_that_of_the_package() -> None:
    image, u, v = images(3, 40, 55)
    warped = aperture.warp(image, np.stack([u, v], axis=-1), interpolation="bilinear", device="cpu")
    assert abs(warped - compose.warp(image, u, v)).max() < 1e-6


def test_what_is_outside_of_the_function_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    factor = 3.0

    @aperture.program
    def scaled(x: Any) -> Any:
        return factor * (HALF * x)

    x = np.ones(4)
    assert (scaled(x) == 1.5).all()
    factor = 5.0
    assert (scaled(x) == 2.5).all()
    monkeypatch.setitem(globals(), "HALF", 2.0)
    assert (scaled(x) == 10).all()
    monkeypatch.delitem(globals(), "HALF")
    with pytest.raises(aperture.ProgramError, match="there is no HALF"):
        scaled(x)


def test_plans_are_kept_by_type_shape_and_known_numbers() -> None:
    program = aperture.program(jacobi)
    b, x = images(2, 5, 6)
    for sweeps in (1, 2, 1, 2):
        program(b, x, 0.5, sweeps)
        program(b, x, 0.25, sweeps)
    assert len(program._plans) == 2
    program(b.astype(float), x.astype(float), 0.5, 1)
    program(b[:4].copy(), x[:4].copy(), 0.5, 1)
    program(b, x, np.float32(0.5), 1)
    assert len(program._plans) == 5
    for sweeps in range(40):
        same_bits(program(b, x, 0.5, sweeps), jacobi(b, x, 0.5, sweeps))
    assert len(program._plans) <= 16


class Subclass(np.ndarray):
    pass


def test_arguments_in_place_are_overwritten() -> None:
    def relax(x: Any, b: Any) -> Any:
        for _ in range(3):
            x = x + 0.25 * (b - MEAN * x)
        return x, b

    x, b = images(2, 8, 9)
    expected = relax(x, b)
    given = x.copy()
    found = aperture.program(in_place=("x",))(relax)(given, b)
    assert found[0] is given and found[1] is not b
    same_bits(given, expected[0])

    @aperture.program(in_place=("x",))
    def doubled(x: Any) -> None:
        x = x + x

    nothing: Any = doubled(given)
    assert nothing is None
    same_bits(given, 2 * expected[0])
    of_subclass = given.view(Subclass)
    found = aperture.program(in_place=("x",))(relax)(of_subclass, b)
    assert found[0] is of_subclass and np.shares_memory(of_subclass, given)
    same_bits(given, relax(2 * expected[0], b)[0])
    given.flags.writeable = False
    with pytest.raises(ValueError, match="x: the array is read-only"):
        doubled(given)
    with pytest.raises(ValueError, match="x: the array is not contiguous"):
        doubled(x[:, ::2])
    with pytest.raises(ValueError, match="x: shares memory with an input"):
        aperture.program(in_place=("x",))(relax)(x, x)
    for wrong in (2.0, [2.0], None):
        with pytest.raises(TypeError, match="x: in place, but of type"):
            doubled(wrong)
    with pytest.raises(ValueError, match="no parameter 'y'"):
        aperture.program(in_place=("y",))(relax)
    with pytest.raises(ValueError, match="mode 'numpy' writes no argument"):
        aperture.program(in_place=("x",), mode="numpy")(relax)


def test_arrays_of_all_layouts_and_other_libraries() -> None:
    x = images(8, 6)
    program = aperture.program(jacobi)
    for view in (x[::2], x.T, x[::-1, 1:4], np.asfortranarray(x), np.broadcast_to(x[0], (4, 6))):
        same_bits(program(view, view, 0.5, 2), jacobi(view, view, 0.5, 2))
    as_lists = [[1.0, 2.0], [3.0, 5.0]]
    as_array = np.array(as_lists)
    same_bits(program(as_lists, as_lists, 0.5, 2), jacobi(as_array, as_array, 0.5, 2))
    bytes_of_x = np.frombuffer(b"-" + x.tobytes(), np.uint8)[1:]
    unaligned = bytes_of_x.view(np.float32).reshape(x.shape)
    assert not unaligned.flags.aligned
    same_bits(program(unaligned, unaligned, 0.5, 2), jacobi(x, x, 0.5, 2))
    empty = np.zeros((0, 5), np.float32)
    assert aperture.program(lambda_free)(empty, empty).shape == (0, 5)


def lambda_free(x: Any, y: Any) -> Any:
    """A doc string is no statement."""
    pass
    return x + y


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_results_belong_to_the_library_of_the_first_array(name: str) -> None:
    library = pytest.importorskip(name)
    make = library.from_numpy if name == "torch" else library.numpy.asarray
    x = images(5, 6)
    found = aperture.program(jacobi)(make(x), make(x), 0.5, 2)
    assert type(found).__module__.partition(".")[0] in (name, "jaxlib")
    same_bits(np.asarray(found), jacobi(x, x, 0.5, 2))


def test_arguments_can_be_named_and_left_out() -> None:
    def scaled(x: Any, *, by: float = 2.0, times: int = 3) -> Any:
        for _ in range(times):
            x = by * x
        return x

    program = aperture.program(scaled)
    x = np.ones(3)
    assert (program(x) == 8).all() and (program(x, by=3.0, times=1) == 3).all()
    with pytest.raises(TypeError, match="unexpected keyword argument 'of'"):
        program(x, of=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        program()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("argument", "error", "message"),
    [
        ("text", TypeError, "x: not numbers"),
        (None, TypeError, "x: not"),
        (np.zeros(3, np.int32), TypeError, "x: elements of type int32, expected float32"),
        (np.zeros(3, ">f4"), TypeError, "x: elements of type >f4"),
        (np.float16(1), TypeError, "x: elements of type float16"),
        (np.zeros((1, 1, 1, 1)), ValueError, r"x: shape \(1, 1, 1, 1\), expected 1 to 3"),
        (np.array(3.0), ValueError, r"x: shape \(\), expected 1 to 3"),
    ],
)
def test_bad_arguments_are_refused(argument: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        aperture.program(lambda_free)(argument, np.zeros(3))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mode": "fast"}, ValueError, "mode 'fast': expected thesis, planned, tuned, none, numpy"),
        ({"tier": "fast"}, ValueError, "tier 'fast': expected automatic, interpreted, compiled"),
        ({"while_limit": 0}, ValueError, "while_limit 0: expected a positive int"),
        ({"while_limit": 1.5}, ValueError, "while_limit 1.5"),
        ({"in_place": "x"}, TypeError, "in_place: a string"),
        ({"threads": -1}, ValueError, "threads -1"),
    ],
)
def test_bad_options_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aperture.program(**options)(lambda_free)

    @functools.wraps(jacobi)
    def wrapper(*arguments: Any) -> Any:
        return jacobi(*arguments)

    with pytest.raises(TypeError, match="jacobi: decorated already"):
        aperture.program(wrapper)
    with pytest.raises(ValueError, match="device 'tpu': expected auto, cpu, gpu or gpu:N"):
        aperture.program(device="tpu")(lambda_free)(np.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="expected a function, not int"):
        aperture.program(3)  # type: ignore[call-overload]


def test_without_a_compiler_programs_are_interpreted() -> None:
    script = (
        "import numpy, aperture, test_program;"
        "b, x = test_program.images(2, 5, 6);"
        "found = aperture.program(test_program.jacobi)(b, x, 0.5, 3);"
        "assert (found == test_program.jacobi(b, x, 0.5, 3)).all();"
        "aperture.program(test_program.jacobi)(b, x, 0.5, 4);"
        "aperture.program(tier='compiled')(test_program.jacobi)(b, x, 0.5, 3)"
    )
    environment = {**os.environ, "APERTURE_CXX": "off"}
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        env=environment,
    )
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith("ValueError: "), run.stderr
    assert "APERTURE_CXX" in run.stderr.splitlines()[-1], run.stderr
    told = "RuntimeWarning: array programs are interpreted, several times slower: APERTURE_CXX"
    assert run.stderr.count(told) == 1, run.stderr


def test_threads_change_no_bits_and_can_call_at_once() -> None:
    x, y = images(2, 300, 200)

    def compute(x: Any, y: Any) -> Any:
        for _ in range(4):
            x = x - 0.1 * (MEAN * x) + 0.01 * y * dot(x, y) / dot(y, y)
        return x

    expected = aperture.program(threads=1)(compute)(x, y)
    program = aperture.program(threads=3)(compute)
    found: list[Any] = []
    callers = [threading.Thread(target=lambda: found.append(program(x, y))) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 6
    for one in found:
        same_bits(one, expected)


def test_names_that_the_text_cannot_have(tmp_path: Path) -> None:
    text = """
def f(input, stencil, größe):
    constant = input + stencil
    return_ = constant * größe
    number = return_ - 1.0
    x__________________________________________________________________________ = number
    _1 = x__________________________________________________________________________ + 1.0
    return _1 * _1
"""
    program = aperture.program(evaluated(text, tmp_path)["f"])
    assert (program(np.ones(3), np.ones(3), 2.0) == 16).all()


def test_an_error_shows_file_line_and_place(tmp_path: Path) -> None:
    text = """
class Outer:
\tdef f(x):
\t\ty = x + x
\t\treturn 2.0 * y  +  unknown
"""
    function = evaluated(text, tmp_path)["Outer"].f
    with pytest.raises(aperture.ProgramError) as raised:
        aperture.program(function)(np.ones(3))
    error = raised.value
    assert str(error).splitlines() == [
        f"{tmp_path / 'module.py'}:5: there is no unknown",
        "    return 2.0 * y  +  unknown",
        "                       ^",
    ]
    assert (error.line, error.column, error.reason) == (5, 22, "there is no unknown")
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.line) == (str(error), 5)
    assert isinstance(error, ValueError)


def test_functions_without_source_are_refused() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x): return x", namespace)
    with pytest.raises(aperture.ProgramError, match="the source of f is not in a file"):
        aperture.program(namespace["f"])(np.ones(3))
    with pytest.raises(aperture.ProgramError, match="a function that def makes"):
        aperture.program(lambda x: x)(np.ones(3))


def test_sums_are_of_pieces_and_strips() -> None:
    for shape in ((1,), (33,), (4097,), (1, 1), (31, 33), (100, 700), (1100, 40), (3, 50, 257)):
        for dtype in (np.float32, np.float64):
            x = images(*shape, dtype=dtype)
            found = aperture.program(lambda_free_sum)(x)
            same_bits(found, compose.sum(x))
            assert found == pytest.approx(math.fsum(x.ravel().tolist()), rel=1e-4, abs=1e-4)


def lambda_free_sum(x: Any) -> Any:
    return compose.sum(x)


@pytest.mark.parametrize(("dtype", "digits"), [(np.float32, 23), (np.float64, 52)])
def test_multiply_add_is_rounded_once(dtype: Any, digits: int) -> None:
    """c is some last digits above 1, and a b nearly half of one: rounding twice shows."""
    random = np.random.default_rng(3)
    last = 2.0**-digits
    i, k = random.integers(-2000, 2000, 500), random.integers(0, 9, 500)
    half = random.choice([0.5, -0.5, 0.25], 500)
    a, b, c = ((half * last * (1 + i * last)), 1 - i * last, 1 + k * last)
    a, b, c = (one.astype(dtype) for one in (a, b, c))
    expected = [nearest(Fraction(x) * Fraction(y) + Fraction(z), dtype) for x, y, z in zip(
        a.tolist(), b.tolist(), c.tolist(), strict=True)]  # fmt: skip
    found = fma(a, b, c)
    same_bits(found, np.array(expected))
    assert (found != (a.astype(np.longdouble) * b + c).astype(np.float64).astype(dtype)).any()
    same_bits(aperture.program(lambda_free_fma)(a, b, c), found)
    huge = np.array([1e30, np.inf, np.nan, -1e-30, 0, 0], dtype)
    with np.errstate(all="ignore"):
        same_bits(aperture.program(lambda_free_fma)(huge, -huge, huge), fma(huge, -huge, huge))


def nearest(exact: Fraction, dtype: Any) -> Any:
    near = dtype(float(exact))
    around = [np.nextafter(near, dtype(-np.inf)), near, np.nextafter(near, dtype(np.inf))]
    bits = {np.dtype(np.float32): np.int32, np.dtype(np.float64): np.int64}[np.dtype(dtype)]
    return min(around, key=lambda one: (abs(Fraction(float(one)) - exact), one.view(bits) & 1))


def lambda_free_fma(a: Any, b: Any, c: Any) -> Any:
    return fma(a, b, c)


def test_stencils_are_values() -> None:
    matrix = [[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]]
    assert aperture.stencil(matrix) == MEAN and hash(aperture.stencil(matrix)) == hash(MEAN)
    assert aperture.stencil(matrix, border="zero") != MEAN
    assert aperture.stencil([[0.25], [0], [0.25]]).offsets == ((-1, 0), (1, 0))
    assert aperture.stencil([0.5, 0.0, 2.0]) == aperture.stencil({-1: 0.5, (1,): 2.0})
    cube = np.zeros((3, 1, 5))
    cube[2, 0, 1] = 3.0
    assert aperture.stencil(cube) == aperture.stencil({(1, 0, -1): 3.0})
    assert "border='replicate'" in repr(MEAN)
    assert eval(repr(MEAN)) == MEAN and pickle.loads(pickle.dumps(MEAN)) == MEAN
    with pytest.raises(TypeError):
        images(3, 3) * MEAN
    with pytest.raises(TypeError):
        MEAN * 3.0
    with pytest.raises(ValueError, match="expected float32 or float64"):
        MEAN * np.ones(3)


@pytest.mark.parametrize(
    ("weights", "border", "message"),
    [
        ({(0, 0): 1.0}, "mirror", "border 'mirror'"),
        ({}, "zero", "weights: none"),
        ([[0.0]], "zero", "weights: none"),
        ([[1.0, 2.0]], "zero", r"shape \(1, 2\), expected odd extents"),
        ([1.0, 2.0], "zero", r"shape \(2,\), expected odd extents"),
        (1.0, "zero", r"shape \(\), expected odd extents"),
        ([[[[1.0]]]], "zero", r"shape \(1, 1, 1, 1\), expected odd extents"),
        ({(0, 0.5): 1.0}, "zero", r"an offset of \(0, 0.5\)"),
        ({(0, 10**6): 1.0}, "zero", r"an offset of \(0, 1000000\)"),
        ({0.5: 1.0}, "zero", r"an offset of \(0.5,\)"),
        ({(): 1.0}, "zero", r"an offset of \(\), expected 1 to 3 integers"),
        ({(0, 0, 0, 1): 1.0}, "zero", "expected 1 to 3 integers"),
        ({(0, 1): 1.0, (0, 0, 1): 1.0}, "zero", "offsets of several ranks"),
        ({(0, 0): math.nan}, "zero", "not finite"),
    ],
)
def test_bad_stencils_are_refused(weights: Any, border: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        aperture.stencil(weights, border=border)


def test_an_interrupt_ends_a_long_program(interrupted: Callable[..., float]) -> None:
    program = aperture.program(threads=1)(jacobi)
    b, x = images(2, 200, 200)
    assert interrupted(lambda: program(b, x, 0.5, 10**7)) < 1
    same_bits(program(b, x, 0.5, 2), jacobi(b, x, 0.5, 2))


def test_bad_calls_of_the_extension_are_refused() -> None:
    text = "program p { input x: array f32[2, 3]; input s: scalar f32; return x, s; }"
    program = core.ComposedProgram(text, [], "thesis", "interpreted", 1)
    x, s = images(2, 3), np.asarray(2, np.float32)
    result = np.empty_like(x)
    program.run(0, [x, s], [result, np.empty_like(s)])
    same_bits(result, x)
    for given, results, message in [
        ([x], [x, s], "there is no argument s"),
        ([x, s, s], [x, s], "3 arguments are too many"),
        ([s, x], [x, s], r"x is no array f32\[2, 3\]"),
        ([x.T.copy(), s], [x, s], r"x is no array f32\[2, 3\]"),
        ([x.astype(float), s], [x, s], "x is no array"),
        ([x, s.astype(int)], [x, s], "s is no scalar f32"),
        ([x, s], [x], "the program returns 2 values, not 1"),
        ([x, s], [x, x], "s is no scalar f32"),
    ]:
        with pytest.raises(ValueError, match=message):
            program.run(0, given, results)
    wrong: list[Any] = [[x.T, s], [x[:, ::2], s], [None], None]
    for given in wrong:
        with pytest.raises(TypeError):
            program.run(0, given, [x, s])
    with pytest.raises(ValueError, match="fusion numpy: expected none|thesis|planned"):
        core.ComposedProgram(text, [], "numpy", "automatic", 1)
    with pytest.raises(ValueError, match="line 1, column 9: expected a name"):
        core.ComposedProgram("program {", [], "none", "automatic", 1)
