# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from programs import MEAN, images, jacobi, same_bits

import aperture
from aperture import compose
from aperture.compose import black, dot, fma, maximum, minimum, red, sqrt, where

pytestmark = pytest.mark.usefixtures("one_thread")

HALF = 0.5


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
