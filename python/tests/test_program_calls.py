# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import MEAN, evaluated, images, jacobi, same_bits

import aperture
from aperture._extension import core
from aperture.compose import dot

pytestmark = pytest.mark.usefixtures("one_thread")

HALF = 0.5


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
        "import numpy, aperture, programs;"
        "b, x = programs.images(2, 5, 6);"
        "found = aperture.program(programs.jacobi)(b, x, 0.5, 3);"
        "assert (found == programs.jacobi(b, x, 0.5, 3)).all();"
        "aperture.program(programs.jacobi)(b, x, 0.5, 4);"
        "aperture.program(tier='compiled')(programs.jacobi)(b, x, 0.5, 3)"
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
