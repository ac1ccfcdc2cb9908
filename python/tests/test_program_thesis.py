# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs of Anderson 2014 as the thesis prints them.

The thesis shows the loops of solvers without a function around them, and Program 12 and 15 use
names that no program sets; here these are parameters. Program 11 breaks a line without a sign that
it goes on.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import evaluated, same_bits

import aperture
from aperture import compose

SWEEPS = 12
OUTSIDE = {
    "num_iter": SWEEPS,
    "eps": 1e-9,
    "sum2d": compose.sum,
    "red": compose.red,
    "black": compose.black,
    "warp_img2d": compose.warp,
    "lk_least_squares": compose.lk_least_squares,
}


@pytest.fixture(scope="module")
def thesis() -> str:
    """The thesis's text, in the folder of papers, which the environment's APERTURE_PAPERS names."""
    folder = os.environ.get("APERTURE_PAPERS", Path(__file__).parents[2] / ".." / "shared/papers")
    files = sorted(Path(folder).glob("003*.txt"))
    if not files:
        pytest.skip(f"no text of the thesis: {folder} has no file 003*.txt")
    return files[0].read_text()


def printed(thesis: str, number: int) -> str:
    found = re.search(rf"^Program {number} .*?^```\n+(.*?)^```", thesis, re.MULTILINE | re.DOTALL)
    assert found, number
    return found[1]


def function_around(body: str, parameters: str, results: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().split("\n"))
    return f"def solve({parameters}):\n{lines}    return {results}\n"


def modes_agree(text: str, name: str, folder: Path, *arguments: Any) -> Any:
    """The results, the same bits in all modes, compiled and interpreted."""
    function = evaluated(text, folder, **OUTSIDE)[name]
    ways = [("thesis", "automatic"), ("thesis", "interpreted"), ("none", "interpreted")]
    results = [
        aperture.program(mode=mode, tier=tier)(function)(*arguments)
        for mode, tier in [*ways, ("numpy", "automatic")]
    ]
    for other in results[1:]:
        same_bits(np.stack(other), np.stack(results[0]))
    return results[0]


def scene(*shape: int) -> Any:
    ix, iy, it = np.random.default_rng(4).normal(size=(3, *shape)).astype(np.float32)
    return ix, iy, it, np.zeros(shape, np.float32), np.zeros(shape, np.float32)


@pytest.mark.parametrize("number", [1, 6])
def test_jacobi(thesis: str, tmp_path: Path, number: int) -> None:
    text = printed(thesis, number)
    stencil = aperture.stencil([[0, -0.2, 0], [-0.2, 0, -0.2], [0, -0.2, 0]])
    b, x = np.random.default_rng(1).normal(size=(2, 128, 128)).astype(np.float32)
    found = modes_agree(text, "jacobi", tmp_path, np.float32(1.0), stencil, b, x)
    matrix = aperture.stencil([[0, -0.2, 0], [-0.2, 1, -0.2], [0, -0.2, 0]])
    assert abs(matrix * found - b).max() < 0.1 * abs(matrix * x - b).max()
    # The loop of Program 3, in two kernels as in figure 5.6.
    program = aperture.program(evaluated(text, tmp_path, **OUTSIDE)["jacobi"])
    arguments = np.float32(1.0), stencil, b, x
    loop = program.text(*arguments).split("{\n")[-1].split("}")[0].split("\n")[:-1]
    assert [line.split("= ")[1].split("(")[0] for line in loop if line.strip()] == [
        "stencil_product",
        "subtract",
        "multiply",
        "copy",
    ]
    kernels = program.explain(*arguments).split("for i in 12")[1]
    assert kernels.count("kernel") == 2 and "registers _1 r" in kernels


@pytest.mark.parametrize(("shape", "border"), [((40, 33), "zero"), ((97, 300), "replicate")])
def test_solvers_of_horn_and_schunck(
    thesis: str, tmp_path: Path, shape: tuple[int, int], border: str
) -> None:
    ix, iy, it, du, dv = scene(*shape)
    lam2 = 3.0
    zero, one = 0.0, 1.0
    around = {(-1, 0): -lam2, (0, -1): -lam2, (0, 1): -lam2, (1, 0): -lam2}
    beside = aperture.stencil(around, border=border)
    laplacian = aperture.stencil({**around, (0, 0): 4 * lam2}, border=border)
    mean = aperture.stencil({place: 0.25 for place in around}, border=border)
    lam4 = 4 * lam2
    products = {"Ix2": ix * ix, "Iy2": iy * iy, "IxIy": ix * iy}
    b0, b1 = -(ix * it), -(iy * it)

    def residual(u: Any, v: Any) -> float:
        """Of the pixels whose neighbours are all inside, where borders do not matter."""
        r0 = b0 - (laplacian * u + products["Ix2"] * u + products["IxIy"] * v)
        r1 = b1 - (laplacian * v + products["Iy2"] * v + products["IxIy"] * u)
        return float(np.linalg.norm([r0[1:-1, 1:-1], r1[1:-1, 1:-1]]))

    begin = residual(du, dv)
    jacobi = modes_agree(
        function_around(
            printed(thesis, 12), "Ix2, Iy2, IxIy, b0, b1, R, du, dv, lam4, one", "du, dv"
        ),
        "solve", tmp_path, *products.values(), b0, b1, beside, du, dv, lam4, one,
    )  # fmt: skip
    blockwise = modes_agree(
        function_around(printed(thesis, 13), "Ix, Iy, It, R, du, dv, lam2", "du, dv"),
        "solve", tmp_path, ix, iy, it, mean, du, dv, lam4,
    )  # fmt: skip
    conjugate = modes_agree(
        function_around(
            printed(thesis, 14), "Ix, Iy, It, Ix2, Iy2, IxIy, R, du, dv, zero", "du, dv"
        ),
        "solve", tmp_path, ix, iy, it, *products.values(), laplacian, du, dv, zero,
    )  # fmt: skip
    coloured = modes_agree(
        function_around(
            printed(thesis, 15), "Ix, Iy, It, Ix2, Iy2, IxIy, R, du, dv, zero, one, lam4", "du, dv"
        ),
        "solve", tmp_path, ix, iy, it, *products.values(), beside, du, dv, zero, one, lam4,
    )  # fmt: skip
    residuals = [residual(*flow) / begin for flow in (jacobi, blockwise, coloured, conjugate)]
    assert residuals[0] < 0.6 and residuals[1] < 0.6
    assert residuals[2] < residuals[1] and residuals[3] < residuals[2]


def test_kernels_of_the_blockwise_sweep(thesis: str, tmp_path: Path) -> None:
    """28 bytes a pixel in one kernel, after which memory is exchanged, against 18 operations."""
    text = function_around(printed(thesis, 13), "Ix, Iy, It, R, du, dv, lam2", "du, dv")
    function = evaluated(text, tmp_path, **OUTSIDE)["solve"]
    mean = aperture.stencil({(0, 1): 0.5, (0, -1): 0.5})
    arguments = (*scene(1080, 1920)[:3], mean, *scene(1080, 1920)[3:], 2.0)

    def bytes_of(mode: str) -> list[float]:
        loop = aperture.program(mode=mode)(function).explain(*arguments).split("for i in 12")[1]
        return [float(one) for one in re.findall(r"([\d.]+) bytes and", loop)]

    assert bytes_of("thesis") == [pytest.approx(28, abs=0.1), 0]
    assert sum(bytes_of("none")) > 150 and len(bytes_of("none")) == 18


def test_conjugate_gradients_leave_the_loop(thesis: str, tmp_path: Path) -> None:
    ix, iy, it, du, dv = scene(20, 30)
    text = function_around(
        printed(thesis, 14).replace("rsold = rsnew", "rsold = rsnew\n    count = count + 1"),
        "Ix, Iy, It, Ix2, Iy2, IxIy, R, du, dv, zero, count",
        "du, dv, count",
    )
    function = evaluated(text, tmp_path, **{**OUTSIDE, "num_iter": 1000})["solve"]
    laplacian = aperture.stencil([[0, -1, 0], [-1, 4, -1], [0, -1, 0]])
    solve = aperture.program(function)
    u, v, count = solve(ix, iy, it, ix * ix, iy * iy, ix * iy, laplacian, du, dv, 0.0, 0)
    assert 10 < count < 900
    exact = aperture.solve_horn_schunck(ix, iy, it, alpha=1.0, iterations=1000, device="cpu")
    assert abs(u - exact[0]).max() < 1e-3 and abs(v - exact[1]).max() < 1e-3


@pytest.mark.parametrize(("number", "kernels"), [(12, 1), (13, 1), (14, 3), (15, 2)])
def test_a_sweep_is_few_kernels_of_images(
    thesis: str, tmp_path: Path, number: int, kernels: int
) -> None:
    names = "Ix, Iy, It, Ix2, Iy2, IxIy, b0, b1, du, dv, R, lam2, lam4, zero, one".split(", ")
    names = [name for name in names if number == 12 or name not in ("b0", "b1")]
    text = function_around(printed(thesis, number), ", ".join(names), "du, dv")
    program = aperture.program(evaluated(text, tmp_path, **OUTSIDE)["solve"])
    image = np.ones((6, 9), np.float32)
    given = {**dict.fromkeys(names[:-5], image), "R": aperture.stencil({(0, 1): 1.0})}
    arguments = [given.get(name, 1.0) for name in names]
    loop = program.explain(*arguments).split("for i in 12")[1]
    heads = re.findall(r"kernel \d+, 6 x 9.*", loop)
    assert len([head for head in heads if "exchange" not in head]) == kernels


def moved_scene(rows: int, columns: int) -> Any:
    """Two images, of which the second is the first moved by (0.6, -0.4) pixels."""
    y, x = np.indices((rows, columns), sparse=True)

    def image(x: Any, y: Any) -> Any:
        return (40 * np.sin(0.3 * x) * np.cos(0.25 * y) + 25 * np.sin(0.2 * x + 0.33 * y)).astype(
            np.float32
        )

    return image(x, y), image(x - 0.6, y + 0.4)


GX = aperture.stencil([[-0.5, 0, 0.5]])
GY = aperture.stencil([[-0.5], [0], [0.5]])


def error_inside(u: Any, v: Any) -> float:
    return float(np.hypot(u - 0.6, v + 0.4)[8:-8, 8:-8].mean())


def test_horn_and_schunck_around_a_solver(thesis: str, tmp_path: Path) -> None:
    solver = "".join(f"    {line}\n" for line in printed(thesis, 13).strip().split("\n"))
    text = printed(thesis, 11).replace("im1_data -\n", "im1_data - \\\n")
    text = re.sub(r"    ###\n.*    ###\n", lambda _: solver, text, flags=re.DOTALL)
    # The blockwise solver's It is that of the second image less the first.
    text = text.replace("+ It\n", "- It\n")
    mean = aperture.stencil({(-1, 0): 0.25, (0, -1): 0.25, (0, 1): 0.25, (1, 0): 0.25})
    first, second = moved_scene(50, 60)
    zeros = np.zeros_like(first)
    arguments = (first, second, mean, GX, GY, zeros, zeros, 0.0, 1.0, 4 * 5.0**2)
    u, v = modes_agree(text, "hs_oflow", tmp_path, *arguments)
    long = evaluated(text, tmp_path, **{**OUTSIDE, "num_iter": 300})["hs_oflow"]
    assert error_inside(*aperture.program(long)(*arguments)) < error_inside(u, v) < 0.6
    assert error_inside(*aperture.program(long)(*arguments)) < 0.2


def test_lucas_and_kanade(thesis: str, tmp_path: Path) -> None:
    first, second = moved_scene(50, 60)
    zeros = np.zeros_like(first)
    arguments = (first, second, GX, GY, zeros, zeros, 0.0, 1.0, 1)
    text = printed(thesis, 16)
    du, dv = modes_agree(text, "LKSolver", tmp_path, *arguments)
    assert error_inside(du, dv) < 0.05


@pytest.mark.parametrize("loading", [0.0, 0.01])
def test_space_time_adaptive_processing(thesis: str, tmp_path: Path, loading: float) -> None:
    """Covariances are products that the program scales, or means with something added."""
    # Of strong clutter, weights have the condition of their covariances.
    cube, _ = aperture.simulate_clutter((4, 16, 150), cnr_db=10)
    cube = cube.astype(np.complex64)
    phases = np.random.default_rng(3).normal(size=(2, 5, 12))
    steering = np.exp(1j * phases[0]).astype(np.complex64)
    names = {
        "extract_snapshots": functools.partial(compose.extract_snapshots, block=32, taps=3),
        "cgemm_batch": compose.rank_k,
        "solve_batch": functools.partial(compose.solve_weights, solver="gauss_jordan"),
        "gamma_weights": compose.gamma_weights,
        "inner_products": functools.partial(compose.inner_products, bins=16, cells=150),
    }
    scale = 1 / 32
    if loading:
        names["cgemm_batch"] = functools.partial(compose.outer_products, loading=loading)
        scale = 1.0
    text = printed(thesis, 9)
    function = evaluated(text, tmp_path, **names)["stap"]
    results = [
        aperture.program(mode=mode, tier=tier)(function)(cube, steering, scale)
        for mode, tier in [
            ("thesis", "automatic"),
            ("thesis", "interpreted"),
            ("none", "interpreted"),
            ("numpy", "automatic"),
        ]
    ]
    for other in results[1:3]:
        same_bits(other, results[0])
    # NumPy may round the product of a number and complex numbers otherwise.
    assert abs(results[3] - results[0]).max() < 1e-4 * abs(results[0]).max()
    expected = aperture.stap(
        cube, steering=steering, domain="doppler", tdof=3, training_block=32, loading=loading,
        solver="gauss-jordan", precision="fp32", impl="staged", device="cpu",
    ).output  # fmt: skip
    assert expected.shape == results[0].shape == (5, 16, 150)
    assert abs(results[0] - expected).max() < 1e-4 * abs(expected).max()
    kernels = re.findall(
        "kernel .*: (.*)", aperture.program(function).explain(cube, steering, scale)
    )
    assert kernels[0] == "extract_snapshots"
    assert kernels[-1].endswith("inner_products")
