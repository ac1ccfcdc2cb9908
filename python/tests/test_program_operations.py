# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations of programs with a body of one's own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from programs import same_bits

import aperture

TIERS = ("interpreted", "compiled")


def shrunk(x: Any, t: Any) -> Any:
    return np.where(np.abs(x) > t, x - np.copysign(t, x), x.dtype.type(0))


def differences(x: Any) -> Any:
    wide = np.pad(x, ((0, 0), (1, 1)), mode="edge")
    return (wide[:, 2:] - wide[:, :-2]) * x.dtype.type(0.5)


shrink = aperture.operation(
    "shrink", ["x", "t"], "return fabs(x) > t ? x - copysign(t, x) : T(0);", numpy=shrunk
)
across = aperture.operation(
    "across",
    [aperture.operand("x", left=1, right=1)],
    "return (x(0, 1) - x(0, -1)) * T(0.5);",
    numpy=differences,
)


def of_both(x: Any, t: Any) -> Any:
    return shrink(across(x), t) * 2


def image(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def others(name: str, factor: int) -> aperture.TextOperation:
    return aperture.operation(name, ["x"], f"return x * T({factor});")


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("mode", ["thesis", "none"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bodies_compute_what_their_twins_do(tier: str, mode: str, dtype: Any) -> None:
    x = image(13, 150, dtype=dtype)
    expected = shrunk(differences(x), dtype(0.25)) * dtype(2)
    same_bits(aperture.program(tier=tier, mode=mode)(of_both)(x, 0.25), expected)
    same_bits(aperture.program(mode="numpy")(of_both)(x, 0.25), expected)
    same_bits(of_both(x, dtype(0.25)), expected)


def test_calls_join_one_kernel() -> None:
    x = image(6, 7)
    program = aperture.program(of_both)
    kernels = re.findall("kernel .*", program.explain(x, 0.25))
    assert kernels == ["kernel 1, 6 x 7: across shrink multiply"]
    assert "_2 = shrink(_1, t);" in program.text(x, 0.25)


def test_neighbours_in_loops_are_those_before_the_assignment() -> None:
    def diffuse(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x + across(x)
        return x

    x = image(20, 300)
    expected = x
    for _ in range(5):
        expected = expected + differences(expected)
    same_bits(aperture.program(threads=2)(diffuse)(x, 5), expected)


@pytest.mark.parametrize("tier", TIERS)
def test_halos_end_at_the_border(tier: str) -> None:
    corner = aperture.operation(
        "corner", [aperture.operand("x", above=2, right=3, border="zero")], "return x(-2, 3);"
    )
    x = image(5, 9)
    expected = np.zeros_like(x)
    expected[2:, :-3] = x[:-2, 3:]

    @aperture.program(tier=tier)
    def moved(x: Any) -> Any:
        return corner(x)

    same_bits(moved(x), expected)


@pytest.mark.parametrize("tier", TIERS)
def test_places_and_types_that_are_stated(tier: str) -> None:
    odd = aperture.operation("odd", ["x"], "return (at.row + at.column) % 2 == 1;", result=bool)
    pick = aperture.operation(
        "pick", [aperture.operand("m", dtype=bool), "a", "b"], "return m ? a : b;"
    )
    plus = aperture.operation(
        "plus", [aperture.operand("s", dtype=np.float64), "x"], "return T(s) + x;"
    )

    @aperture.program(tier=tier)
    def f(x: Any) -> Any:
        return odd(x), pick(odd(x), x, 1), plus(2, x), pick(True, 2.5, 1) * x

    x = image(4, 5)
    is_odd = np.indices(x.shape).sum(0) % 2 == 1
    found, picked, added, scaled = f(x)
    same_bits(found, is_odd)
    same_bits(picked, np.where(is_odd, x, np.float32(1)))
    same_bits(added, x + np.float32(2))
    same_bits(scaled, x * np.float32(2.5))
    with pytest.raises(aperture.ProgramError, match=r"m of pick is of type .*; expected bool"):
        aperture.program(call_of_three)(pick, x)


@pytest.mark.parametrize("tier", TIERS)
def test_several_results_are_a_tuple(tier: str) -> None:
    def turned(x: Any, y: Any) -> Any:
        return y - x, x + y

    turn = aperture.operation(
        "turn", ["x", "y"], "u = y - x;\nv = x + y;", results=["u", "v"], numpy=turned
    )

    def f(x: Any, n: int) -> Any:
        y = across(x)
        for _ in range(n):
            x, y = turn(x, y)
        return x, y

    x = image(5, 40)
    for found, expected in zip(aperture.program(tier=tier)(f)(x, 3), f(x, 3), strict=True):
        same_bits(found, expected)


def call(operation: Any, x: Any) -> Any:
    return operation(x)


def call_of_three(operation: Any, x: Any) -> Any:
    return operation(x, x, x)


def call_with_a_name(operation: Any, x: Any) -> Any:
    return operation(x=x)


def multiply(operation: Any, x: Any) -> Any:
    return operation * x


@pytest.mark.parametrize("tier", TIERS)
def test_bodies_of_one_name_are_not_mixed_up(tier: str) -> None:
    x = image(3, 4)
    doubled, tripled = others("scaled", 2), others("scaled", 3)
    program, second = aperture.program(tier=tier)(call), aperture.program(tier=tier)(call)
    for _ in range(2):
        same_bits(program(doubled, x), x * np.float32(2))
        same_bits(second(tripled, x), x * np.float32(3))
        same_bits(program(tripled, x), x * np.float32(3))

    @aperture.program(tier=tier)
    def both(x: Any) -> Any:
        return doubled(x) + tripled(x)

    with pytest.raises(aperture.ProgramError, match="two operations scaled, which differ"):
        both(x)


def test_a_name_that_stands_for_another_operation_makes_another_plan() -> None:
    settings = SimpleNamespace(of=others("scaled", 2))

    @aperture.program
    def f(x: Any) -> Any:
        return settings.of(x)

    x = image(3, 4)
    same_bits(f(x), x * np.float32(2))
    settings.of = others("scaled", 5)
    same_bits(f(x), x * np.float32(5))


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("T y = x;\nreturn y + missing;", r"(?s)body of wrong:.*operation wrong:2:\d+: .*missing"),
        ("return x +;", r"(?s)body of wrong:.*operation wrong:1:\d+: error"),
        ("return x; }", "body of wrong:\n"),
    ],
)
def test_bodies_that_do_not_compile_are_refused(tier: str, body: str, message: str) -> None:
    wrong = aperture.operation("wrong", ["x"], body)
    program = aperture.program(tier=tier)(call)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            program(wrong, image(3, 4))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (call, "operation has 2 arguments in a program, not 1"),
        (call_of_three, "operation has 2 arguments in a program, not 3"),
        (call_with_a_name, "no argument x in a program"),
        (multiply, r"operation is an operation, which is called: operation\(...\)"),
    ],
)
def test_bad_calls_are_refused(function: Any, message: str) -> None:
    with pytest.raises(aperture.ProgramError, match=message):
        aperture.program(function)(shrink, image(3, 4))


def test_operands_that_do_not_fit_are_refused() -> None:
    @aperture.program
    def of_vector(x: Any) -> Any:
        return across(x)

    @aperture.program
    def of_two(x: Any, y: Any) -> Any:
        return shrink(x, y)

    with pytest.raises(aperture.ProgramError, match="expected an array of rank 2"):
        of_vector(image(3))
    with pytest.raises(aperture.ProgramError, match="their extents differ"):
        of_two(image(3, 4), image(4, 3))
    with pytest.raises(aperture.ProgramError, match="different types"):
        of_two(image(3, 4), image(3, 4, dtype=np.float64))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("two words", ["x"], ""), ValueError, "'two words' cannot be the name of an operation"),
        (("for", ["x"], ""), ValueError, "'for' cannot be the name of an operation"),
        (("add", ["x"], ""), ValueError, "there is an operation add already"),
        (("warp", ["x"], ""), ValueError, "there is an operation warp already"),
        (("own", ["x", "x"], ""), ValueError, "x has two meanings"),
        (("own", ["at"], ""), ValueError, "at has two meanings"),
        (("own", ["1"], ""), ValueError, "'1' cannot be a name in an operation"),
        (("own", [], ""), ValueError, "0 operands; expected 1 to 8"),
        (("own", list("abcdefghi"), ""), ValueError, "9 operands; expected 1 to 8"),
        (("own", [aperture.operand("x", dtype=bool)], ""), ValueError, "all stated"),
        (("own", "xy", ""), TypeError, "own: a string, expected a sequence of names"),
        (("own", [3], ""), TypeError, "an operand of type int"),
        ((3, ["x"], ""), TypeError, "the name and the body are strings"),
    ],
)
def test_bad_operations_are_refused(arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        aperture.operation(*arguments)


def test_bad_settings_of_operations_are_refused() -> None:
    with pytest.raises(TypeError, match="own: numpy is of type int, expected a function"):
        aperture.operation("own", ["x"], "return x;", numpy=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a type of int16: expected one of float32"):
        aperture.operation("own", ["x"], "return x;", result=np.int16)
    with pytest.raises(ValueError, match="border 'wrap': expected replicate or zero"):
        aperture.operand("x", left=1, border="wrap")
    for results, message in (
        (["u"], "own: one name of results"),
        (["u", "x"], "x has two meanings"),
        (["u", "a b"], "'a b' cannot be a name"),
        (list("abcdefghi"), "9 results; expected 1 to 8"),
    ):
        with pytest.raises(ValueError, match=message):
            aperture.operation("own", ["x"], "", results=results)
    for reach in (-1, 1.5, 1001):
        with pytest.raises(ValueError, match=f"x: a reach of {reach}"):
            aperture.operand("x", below=reach)  # type: ignore[arg-type]


def test_without_a_twin_numpy_runs_no_body() -> None:
    alone = others("alone", 2)
    for run in (aperture.program(mode="numpy")(call), call):
        with pytest.raises(ValueError, match="alone: a body in C.* runs in programs alone"):
            run(alone, image(3, 4))
    with pytest.raises(TypeError, match="shrink has 2 operands, not 1"):
        shrink(image(3, 4))


def test_without_a_compiler_there_is_a_clear_error() -> None:
    script = (
        "import numpy, aperture, test_program_operations as t;"
        "x = t.image(3, 4);"
        "aperture.program(mode='numpy')(t.of_both)(x, 0.5);"
        "aperture.program(t.of_both)(x, 0.5)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        env={**os.environ, "APERTURE_CXX": "off"},
    )
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last == "ValueError: across is a text, which needs a compiler: APERTURE_CXX is off"
