# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Array programs on GPUs have the bits that they have on CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import same_bits
from test_program_batches import algebra, entries, positive, problems, products, with_pivots
from test_program_library import of_images, transformed
from test_program_stap import CELLS, CHANNELS, ORDER, PULSES, in_one_pass, samples, staged

import aperture
from aperture import compose
from aperture._extension import has_gpu

pytestmark = pytest.mark.skipif(not has_gpu(), reason="no GPU can be used")

STENCIL = aperture.stencil({(-1, 0): 0.3, (0, -1): 0.2, (0, 0): -0.1, (1, 2): 0.4}, border="zero")


def everything(x: Any, y: Any, scale: float, sweeps: int) -> Any:
    size = compose.dot(x, x)
    for _ in range(sweeps):
        x = scale * (STENCIL * x) + compose.where(x > y, compose.red(x), compose.sqrt(abs(y)))
        size = compose.dot(x, x)
        if size > 1e6:
            break
    steps = 0
    while size > 1.0:
        size = size * 0.5
        steps = steps + 1
    return x, size, steps, x < y, compose.fma(x, y, x)


def relaxed(x: Any, b: Any) -> Any:
    for _ in range(3):
        x = x + 0.25 * (b - STENCIL * x)
    return x, b


def pair(dtype: Any = np.float32, shape: tuple[int, int] = (70, 90)) -> Any:
    return np.random.default_rng(1).normal(size=(2, *shape)).astype(dtype)


@pytest.mark.parametrize("shape", [(1, 1), (33, 31), (70, 900)])
def test_results_stay_in_the_library_and_have_the_bits_of_the_cpu(
    library: Any, shape: tuple[int, int]
) -> None:
    x, y = pair(shape=shape)
    expected = aperture.program(device="cpu", tier="interpreted")(everything)(x, y, 0.7, 5)
    program = aperture.program(everything)
    for _ in range(2):
        found = program(library.array(x), library.array(y), 0.7, 5)
        assert isinstance(found[0], library.type())
        for one, other in zip(found, expected, strict=True):
            host = library.host(one)
            if library.name == "jax":  # JAX has int64 only with jax_enable_x64.
                host = host.astype(np.asarray(other).dtype)
            same_bits(host, other)


def test_sweeps_have_the_bits_of_the_cpu(library: Any) -> None:
    x, y = pair()
    scales = [0.7, 0.2, 0.5]
    on_cpu = aperture.program(device="cpu", tier="interpreted")(everything)
    expected = on_cpu.sweep(x, y, 5, scale=scales)
    there = library.array(x), library.array(y)
    found = aperture.program(everything).sweep(*there, 5, scale=scales)
    assert isinstance(found[0], library.type())
    for one, other in zip(found, expected, strict=True):
        same_bits(library.host(one).astype(other.dtype), other)


def test_tuned_programs_have_the_bits_of_the_cpu(
    library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APERTURE_WISDOM", str(tmp_path / "plans.jsonl"))
    x, y = pair()
    expected = aperture.program(device="cpu", tier="interpreted")(everything)(x, y, 0.7, 5)
    program = aperture.program(mode="tuned")(everything)
    there = library.array(x), library.array(y)
    for _ in range(2):
        found = program(*there, 0.7, 5)
        same_bits(library.host(found[0]), expected[0])
    text = program.explain(*there, 0.7, 5)
    assert text.count("us measured") > 0
    assert (tmp_path / "plans.jsonl").read_text().count("kernels") == 1


def test_trials_change_arguments_in_place_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APERTURE_WISDOM", str(tmp_path / "plans.jsonl"))
    (x, b), (_, expected_b) = pair(), pair()
    expected_x = x.copy()
    program = aperture.program(device="gpu", mode="tuned", in_place=("x",))(relaxed)
    thesis = aperture.program(device="cpu", tier="interpreted", in_place=("x",))(relaxed)
    program.explain(x, b)
    same_bits(x, expected_x)
    for _ in range(2):
        assert program(x, b)[0] is x
        thesis(expected_x, expected_b)
        same_bits(x, expected_x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_in_host_memory_are_copied(dtype: Any) -> None:
    x, y = pair(dtype)
    expected = aperture.program(device="cpu", tier="interpreted")(everything)(x, y, 0.7, 5)
    found = aperture.program(device="gpu")(everything)(x, y[::1], 0.7, 5)
    for one, other in zip(found, expected, strict=True):
        same_bits(one, other)
    assert isinstance(found[1], np.generic)


def test_arguments_in_place_are_overwritten_there() -> None:
    expected = relaxed(*pair())
    x, b = pair()
    found = aperture.program(device="gpu", in_place=("x",))(relaxed)(x, b)
    assert found[0] is x
    same_bits(x, expected[0])
    torch = pytest.importorskip("torch")
    x, b = (torch.from_numpy(one).cuda() for one in pair())
    found = aperture.program(in_place=("x",))(relaxed)(x, b)
    assert found[0] is x
    same_bits(x.cpu().numpy(), expected[0])
    with pytest.raises(ValueError, match="contiguous"):
        aperture.program(in_place=("x",))(relaxed)(x[:, ::2], b[:, ::2])
    columns = aperture.program(relaxed)(x.T, b.T)
    assert columns[0].shape == (90, 70)


def test_a_while_without_end_is_an_error() -> None:
    def endless(x: Any) -> Any:
        s = compose.sum(x)
        while s < 1.0:
            s = s * 0.5
        return s

    program = aperture.program(device="gpu", while_limit=7)(endless)
    with pytest.raises(aperture.ProgramError, match="did not end") as raised:
        program(np.zeros(3))
    assert raised.value.line == endless.__code__.co_firstlineno + 2


def test_bad_arguments_on_a_gpu_are_refused(library: Any) -> None:
    x = library.array(np.ones((4, 5), np.float32))
    with pytest.raises(aperture.ProgramError, match="extents differ"):
        aperture.program(relaxed)(x, x[1:])
    with pytest.raises(TypeError, match="b"):
        aperture.program(relaxed)(x, np.ones((4, 5), np.float32))
    with pytest.raises(TypeError, match="x: elements of type int32"):
        aperture.program(relaxed)(library.array(np.ones((4, 5), np.int32)), x)


def test_operations_of_ones_own_have_the_bits_of_the_cpu() -> None:
    across = aperture.operation(
        "across",
        [aperture.operand("x", left=1, right=1), "t"],
        "const T d = (x(0, 1) - x(0, -1)) * T(0.5);\nreturn fabs(d) > t ? d : T(0);",
    )

    def edges(x: Any, t: Any) -> Any:
        return across(x, t) * 2

    x = pair()[0]
    same_bits(
        aperture.program(device="gpu")(edges)(x, 0.25),
        aperture.program(device="cpu")(edges)(x, 0.25),
    )
    wrong = aperture.operation("wrong", ["x"], "T y = x;\nreturn y + missing;")

    def refused(x: Any) -> Any:
        return wrong(x)

    with pytest.raises(ValueError, match=r"(?s)body of wrong:.*operation wrong.2.*missing"):
        aperture.program(device="gpu")(refused)(x)


def of_batches(dtype: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    A, B, P = problems(dtype, 3, 4), problems(dtype, 4, 2), positive(dtype, 4)
    x, b = problems(dtype, 4), problems(dtype, 6)
    all_of_them: list[tuple[Any, tuple[Any, ...]]] = [
        (algebra, (A, B, P, problems(dtype, 6, 3), x, b)),
        (with_pivots, (problems(dtype, 5, 5),)),
    ]
    if np.dtype(dtype).kind == "f":
        all_of_them.append((products, (P, x, 20)))
        all_of_them.append((entries, (x, problems(dtype, 4, seed=2), 1.5)))
    return all_of_them


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_batches_stay_in_the_library_and_have_the_bits_of_the_cpu(library: Any, dtype: Any) -> None:
    for function, arguments in of_batches(dtype):
        expected = aperture.program(device="cpu", tier="interpreted")(function)(*arguments)
        given = [library.array(one) if isinstance(one, np.ndarray) else one for one in arguments]
        found = aperture.program(function)(*given)
        for one, other in zip(found, expected, strict=True):
            assert isinstance(one, library.type())
            same_bits(library.host(one), other)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("mode", ["thesis", "planned", "none"])
def test_batches_in_host_memory_are_copied(dtype: Any, mode: str) -> None:
    for function, arguments in of_batches(dtype):
        expected = aperture.program(device="cpu", tier="interpreted")(function)(*arguments)
        found = aperture.program(device="gpu", mode=mode)(function)(*arguments)
        for one, other in zip(found, expected, strict=True):
            same_bits(one, other)


def test_functions_of_the_libraries_compute_there() -> None:
    """Kernels of libstap and libsignal round in other orders than on a CPU."""
    steering = samples(2, ORDER, seed=2)
    all_of_them: list[tuple[Any, tuple[Any, ...]]] = [
        (staged, (samples(CHANNELS, PULSES, CELLS), steering)),
        (in_one_pass, (samples(CHANNELS, PULSES, CELLS), steering)),
        (of_images, tuple(np.random.default_rng(1).normal(size=(2, 22, 34)).astype(np.float32))),
        (transformed, (samples(5, 60),)),
    ]
    for function, arguments in all_of_them:
        expected = aperture.program(device="cpu")(function)(*arguments)
        found = aperture.program(device="gpu")(function)(*arguments)
        for one, other in zip(found, expected, strict=True):
            assert abs(one - other).max() < 1e-4 * abs(other).max()
