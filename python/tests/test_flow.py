# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aperture
from aperture._extension import gpu_core

SHAPE = (45, 67)
SHIFT = (1.5, -0.75)


pytestmark = pytest.mark.usefixtures("one_thread")


def scene(x: Any, y: Any, seed: int = 1) -> Any:
    """A smooth image of waves of 6 to 60 pixels, 0 to 255."""
    random = np.random.default_rng(seed)
    value = np.zeros(np.shape(x))
    for _ in range(20):
        angle, phase = random.uniform(0, 2 * np.pi, 2)
        frequency = 2 * np.pi / (6 * 10 ** random.uniform(0, 1))
        value += np.sin(frequency * (x * np.cos(angle) + y * np.sin(angle)) + phase)
    return 128 + 15 * value


def frames(count: int = 2, shape: tuple[int, int] = SHAPE, shift: Any = SHIFT) -> Any:
    """A moving scene as uint8 [image, row, column]."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    moved = [scene(x - i * shift[0], y - i * shift[1]) for i in range(count)]
    return np.clip(np.round(moved), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def pair() -> Any:
    return frames()


@pytest.fixture(scope="module")
def colours() -> Any:
    """Two colour images, uint8 [image, row, column, channel]."""
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    channels = [[scene(x - i, y + i, seed) for seed in (1, 2, 3)] for i in range(2)]
    return np.clip(np.moveaxis(np.array(channels), 1, -1), 0, 255).astype(np.uint8)


def luma(rgb: Any) -> Any:
    return np.asarray(rgb, float) @ [0.299, 0.587, 0.114]


@pytest.mark.parametrize("method", ["hs", "lk"])
@pytest.mark.parametrize("preset", ["fast", "accurate", "thesis"])
def test_a_shift_is_found(pair: Any, method: str, preset: str) -> None:
    uv = aperture.flow(pair[0], pair[1], method=method, preset=preset)
    assert uv.shape == (*SHAPE, 2) and uv.dtype == np.float32
    assert np.median(uv, axis=(0, 1)) == pytest.approx(SHIFT, abs=0.1)


def test_equal_images_are_at_rest(pair: Any) -> None:
    assert not aperture.flow(pair[0], pair[0]).any()


def test_parameters_change_results(pair: Any) -> None:
    def changed(given: dict[str, Any], base: dict[str, Any]) -> bool:
        usual = aperture.flow(pair[0], pair[1], **base)
        return bool((aperture.flow(pair[0], pair[1], **{**base, **given}) != usual).any())

    given: Any
    for given in (
        {"preset": "accurate"},
        {"preset": "thesis"},
        {"method": "lk"},
        {"initial": np.full((*SHAPE, 2), 3)},
        {"robust": True},
        {"alpha": 5},
        {"levels": 1},
        {"scale": 0.7},
        {"warps": 2},
        {"median": 3},
        {"weighted_median": True},
        {"largest_update": 0.1},
        {"interpolation": "bilinear"},
        {"smooth_increment": True},
        {"blur": 0},
        {"texture": 0.5},
        {"iterations": 3},
        {"tolerance": 0.5},
        {"relaxation": 1.2},
        {"boundary": "zero"},
        {"stencil": 9},
        *({"solver": solver} for solver in ("jacobi", "block2x2", "cg", "cacg", "multigrid")),
    ):
        assert changed(given, {"levels": 2, "warps": 1}), given
    for given in ({"brightness": 2.0}, {"contrast": 5.0}, {"reweightings": 1}):
        assert changed(given, {"preset": "accurate", "levels": 1, "warps": 1}), given
    for given in ({"window": 5}, {"regularisation": 3.0}):
        assert changed(given, {"method": "lk", "levels": 1}), given
    few = {"solver": "cacg", "levels": 1, "warps": 1, "iterations": 8}
    for given in ({"s_step": 2}, {"basis": "chebyshev"}, {"precondition": "none"}):
        assert changed(given, few), given


def test_estimators_and_the_function_have_the_same_parameters() -> None:
    function = dict(inspect.signature(aperture.flow).parameters)
    once = dict(inspect.signature(aperture.FlowEstimator).parameters)
    for name in ("image0", "image1", "initial", "progress", "out"):
        del function[name]
    del once["shape"]
    assert function == once


def test_colour_images_are_converted_by_their_luma(colours: Any) -> None:
    grey = luma(colours)
    expected = aperture.flow(grey[0], grey[1])
    assert np.allclose(aperture.flow(colours[0], colours[1]), expected, atol=1e-2)
    assert np.allclose(
        aperture.flow(colours[0, ..., ::-1], colours[1, ..., ::-1]),
        aperture.flow(luma(colours[0, ..., ::-1]), luma(colours[1, ..., ::-1])),
        atol=1e-2,
    )
    one = colours[..., :1]
    assert (aperture.flow(one[0], one[1]) == aperture.flow(one[0, ..., 0], one[1, ..., 0])).all()


@pytest.mark.parametrize(
    "changed",
    [
        lambda image: image.astype(np.uint16) * 257,
        lambda image: (image.astype(np.uint16) * 257).astype(">u2"),
        lambda image: image.astype(np.float32),
        lambda image: image.astype(np.float64),
        lambda image: image.astype(np.float16),
        lambda image: image.astype(">f4"),
        lambda image: image.astype(np.int64),
        lambda image: image.tolist(),
        np.asfortranarray,
        lambda image: image[::-1].copy()[::-1],
        lambda image: image[:, ::-1].astype(float)[:, ::-1],
        lambda image: np.repeat(image, 3, axis=1)[:, ::3],
        lambda image: np.frombuffer(b"\0" + image.astype("f8").tobytes(), "f8", offset=1)
        .reshape(image.shape),
        lambda image: np.rec.fromarrays(  # type: ignore[call-overload]
            [image, image.astype("f4")], names="a, b"
        ).b,
        lambda image: memoryview(image),
    ],
    ids=[
        "uint16", "uint16_big", "float32", "float64", "float16", "float32_big", "int64", "list",
        "fortran", "rows_reversed", "columns_reversed", "strided", "unaligned", "field", "buffer",
    ],
)  # fmt: skip
def test_any_type_and_layout_gives_the_same_bits(
    pair: Any, colours: Any, changed: Callable[[Any], Any]
) -> None:
    for images in (pair, colours):
        expected = aperture.flow(images[0], images[1], warps=1)
        assert (aperture.flow(changed(images[0]), changed(images[1]), warps=1) == expected).all()
        assert (aperture.flow(images[0], changed(images[1]), warps=1) == expected).all()


def test_read_only_images_are_read(pair: Any) -> None:
    frozen = pair.copy()
    frozen.flags.writeable = False
    assert (aperture.flow(frozen[0], frozen[1]) == aperture.flow(pair[0], pair[1])).all()


def test_progress_is_told_of_each_pair() -> None:
    video = frames(4)
    calls: list[tuple[int, int]] = []

    def record(done: int, pairs: int) -> None:
        calls.append((done, pairs))

    aperture.flow(video[:-1], video[1:], progress=record)
    aperture.flow(video[0], video[1], progress=record)
    assert calls == [(1, 3), (2, 3), (3, 3), (1, 1)]

    def end(done: int, pairs: int) -> None:
        if done == 2:
            raise StopIteration

    uv = np.zeros((3, *SHAPE, 2), np.float32)
    with pytest.raises(StopIteration):
        aperture.flow(video[:-1], video[1:], progress=end, out=uv)
    assert uv[0].any() and uv[1].any() and not uv[2].any()


def test_batches_are_estimated_pair_by_pair(colours: Any) -> None:
    video = frames(4)
    several = aperture.flow(video[:-1], video[1:])
    assert several.shape == (3, *SHAPE, 2)
    for i in range(3):
        assert (several[i] == aperture.flow(video[i], video[i + 1])).all()
    both = aperture.flow(colours, colours[::-1])
    assert (both[1] == aperture.flow(colours[1], colours[0])).all()
    again = aperture.flow(video[:-1], video[1:], initial=several)
    assert (again[2] == aperture.flow(video[2], video[3], initial=several[2])).all()
    assert aperture.flow(video[:0], video[:0]).shape == (0, *SHAPE, 2)


def test_a_start_is_the_way_to_large_motions() -> None:
    far = frames(shift=(20, 0))
    start = np.zeros((*SHAPE, 2)) + [20, 0]
    uv = aperture.flow(far[0], far[1], levels=1, initial=start)
    assert np.median(uv, axis=(0, 1)) == pytest.approx([20, 0], abs=0.1)


def test_out_is_overwritten(pair: Any) -> None:
    estimate = aperture.FlowEstimator(SHAPE)
    out = np.empty((*SHAPE, 2), np.float32)
    assert estimate(pair[0], pair[1], out=out) is out
    assert (out == estimate(pair[0], pair[1])).all()
    assert (out == aperture.flow(pair[0], pair[1])).all()
    expected = estimate(pair[0], pair[1], initial=out)
    assert estimate(pair[0], pair[1], initial=out, out=out) is out
    assert (out == expected).all()


def test_a_second_call_allocates_its_result_only(pair: Any) -> None:
    estimate = aperture.FlowEstimator(SHAPE)
    out = estimate(pair[0], pair[1])
    tracemalloc.start()
    estimate(pair[0], pair[1], initial=out, out=out)
    assert tracemalloc.get_traced_memory()[1] < out.nbytes / 2
    tracemalloc.stop()


def test_the_implementation_matters_on_gpus_only(pair: Any) -> None:
    staged = aperture.flow(pair[0], pair[1], impl="staged", device="cpu")
    assert (staged == aperture.flow(pair[0], pair[1], device="cpu")).all()


def test_threads_do_not_change_bits(pair: Any) -> None:
    for parameters in ({"preset": "accurate", "warps": 1}, {"solver": "multigrid"}):
        one = aperture.flow(pair[0], pair[1], threads=1, **parameters)
        for threads in (2, 3):
            assert (aperture.flow(pair[0], pair[1], threads=threads, **parameters) == one).all()


def test_tensors_come_back_as_tensors(pair: Any) -> None:
    torch = pytest.importorskip("torch")
    uv = aperture.flow(torch.from_numpy(pair[0]), pair[1])
    assert type(uv) is torch.Tensor
    assert (uv.numpy() == aperture.flow(pair[0], pair[1])).all()
    assert type(aperture.flow_to_image(uv)) is torch.Tensor


def with_nan(image: Any) -> Any:
    changed = image.astype(float)
    changed[3, 4] = np.nan
    return changed


ZEROS = np.zeros((20, 30), np.uint8)
START = np.zeros((20, 30, 2), np.float32)
REFUSED: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
    (None, ZEROS, {}, TypeError, "image0"),
    (ZEROS, None, {}, TypeError, "image1"),
    ("image", ZEROS, {}, TypeError, "image0: not numbers"),
    ([[1, 2], [3]], ZEROS, {}, TypeError, "image0: not an array"),
    (ZEROS > 0, ZEROS > 0, {}, TypeError, "image0: elements of type bool"),
    (ZEROS + 1j, ZEROS, {}, TypeError, "image0: elements of type complex128"),
    (np.ma.masked_array(ZEROS), ZEROS, {}, TypeError, "masked"),
    (ZEROS[0], ZEROS[0], {}, ValueError, r"image0: shape \(30,\), expected \[row, column\]"),
    (1.0, 1.0, {}, ValueError, r"image0: shape \(\)"),
    (ZEROS[None, None, None], ZEROS, {}, ValueError, r"image0: shape \(1, 1, 1, 20, 30\)"),
    (ZEROS[:0], ZEROS[:0], {}, ValueError, r"images of \(0, 30\)"),
    (ZEROS[:, :0], ZEROS[:, :0], {}, ValueError, r"images of .*channels|0 channels|images of"),
    (ZEROS, ZEROS[1:], {}, ValueError, r"image1: shape \(19, 30\), of image0 \(20, 30\)"),
    (ZEROS, np.zeros((20, 30, 3)), {}, ValueError, "image1"),
    (ZEROS[None], ZEROS[None], {"out": START}, ValueError, "out: shape"),
    (np.zeros((20, 30, 4)), np.zeros((20, 30, 4)), {}, ValueError, "4 channels"),
    (np.zeros((20, 30, 2)), np.zeros((20, 30, 2)), {}, ValueError, "2 channels"),
    (np.zeros((1, 20, 30, 5)), np.zeros((1, 20, 30, 5)), {}, ValueError, "5 channels"),
    (with_nan(ZEROS), ZEROS, {}, ValueError, "image0: 1 of 600 elements are NaN"),
    (ZEROS, np.full((20, 30), 1e300), {}, ValueError, "image1: 600 of 600 elements"),
    (ZEROS, ZEROS, {"initial": START[1:]}, ValueError, r"initial: shape \(19, 30, 2\)"),
    (ZEROS, ZEROS, {"initial": with_nan(START)}, ValueError, "initial: 2 of 1200 elements"),
    (ZEROS, ZEROS, {"initial": START + 1j}, TypeError, "initial: elements of type complex"),
    (ZEROS, ZEROS, {"preset": "best"}, ValueError, r"preset best: .*fast\|accurate\|thesis"),
    (ZEROS, ZEROS, {"preset": 1}, TypeError, "preset 1: expected a string"),
    (ZEROS, ZEROS, {"method": "dis"}, ValueError, r"method dis: expected hs\|lk"),
    (ZEROS, ZEROS, {"solver": "lu"}, ValueError, r"jacobi\|block2x2"),
    (ZEROS, ZEROS, {"solver": 3}, TypeError, "solver"),
    (ZEROS, ZEROS, {"alpha": 0}, ValueError, "alpha is 0"),
    (ZEROS, ZEROS, {"alpha": np.nan}, ValueError, "alpha is nan"),
    (ZEROS, ZEROS, {"alpha": "4"}, TypeError, "alpha '4': expected a number"),
    (ZEROS, ZEROS, {"alpha": 4, "method": "lk"}, ValueError, "alpha 4 has no effect without meth"),
    (ZEROS, ZEROS, {"window": 9}, ValueError, "window 9 has no effect without method 'lk'"),
    (ZEROS, ZEROS, {"window": 4, "method": "lk"}, ValueError, "window is 4"),
    (ZEROS, ZEROS, {"contrast": 9}, ValueError, "contrast 9 has no effect without robust True"),
    (ZEROS, ZEROS, {"s_step": 2}, ValueError, "s_step 2 has no effect without solver 'cacg'"),
    (ZEROS, ZEROS, {"s_step": 17, "solver": "cacg"}, ValueError, "s-step is 17"),
    (ZEROS, ZEROS, {"precondition": "none"}, ValueError, "no effect without solver 'cg' or 'cacg'"),
    (ZEROS, ZEROS, {"relaxation": 1.5, "solver": "cg"}, ValueError, "without solver 'redblack'"),
    (ZEROS, ZEROS, {"relaxation": 2}, ValueError, "relaxation is 2"),
    (ZEROS, ZEROS, {"robust": "yes"}, TypeError, "robust 'yes': expected True or False"),
    (ZEROS, ZEROS, {"robust": True, "method": "lk"}, ValueError, "a robust estimate requires"),
    (ZEROS, ZEROS, {"levels": -1}, ValueError, "levels is -1"),
    (ZEROS, ZEROS, {"levels": 1.5}, TypeError, "levels 1.5: expected a whole number"),
    (ZEROS, ZEROS, {"warps": 2**40}, ValueError, "warps 1099511627776: too large"),
    (ZEROS, ZEROS, {"scale": 0.99}, ValueError, "scale is 0.99"),
    (ZEROS, ZEROS, {"median": 4}, ValueError, "median is 4"),
    (ZEROS, ZEROS, {"interpolation": "cubic"}, ValueError, r"bilinear\|bicubic"),
    (ZEROS, ZEROS, {"boundary": "wrap"}, ValueError, r"replicate\|zero"),
    (ZEROS, ZEROS, {"stencil": 7}, ValueError, r"stencil 7: expected 5\|9"),
    (ZEROS, ZEROS, {"tolerance": -1}, ValueError, "tolerance is -1"),
    (ZEROS, ZEROS, {"texture": 2}, ValueError, "texture is 2"),
    (ZEROS[:1], ZEROS[:1], {"method": "lk"}, ValueError, "2 x 2 or more"),
    (ZEROS, ZEROS, {"device": "tpu"}, ValueError, "device 'tpu'"),
    (ZEROS, ZEROS, {"progress": 1}, TypeError, "progress: expected a function, not int"),
    (ZEROS, ZEROS, {"threads": -1}, ValueError, "threads -1"),
    (ZEROS, ZEROS, {"out": START[1:]}, ValueError, "out: shape"),
    (ZEROS, ZEROS, {"out": START.astype(float)}, TypeError, "out: elements of type float64"),
    (ZEROS, ZEROS, {"out": START[:, ::-1]}, ValueError, "not contiguous"),
    (START.ravel()[:600].reshape(20, 30), ZEROS, {"out": START}, ValueError, "out: shares memory"),
    (ZEROS, ZEROS, {"out": START, "initial": START[:]}, ValueError, "out: shares memory"),
    (ZEROS, ZEROS, {"nonsense": 1}, TypeError, "nonsense"),
]


@pytest.mark.parametrize(
    ("image0", "image1", "arguments", "error", "message"),
    REFUSED,
    ids=[str(i) for i in range(len(REFUSED))],
)
def test_bad_calls_are_refused(
    image0: Any, image1: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aperture.flow(image0, image1, **arguments)


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        ((20,), ValueError),
        ((20, 30, 3), ValueError),
        ((0, 3), ValueError),
        ((-1, -1), ValueError),
        ((2**31, 2**31), ValueError),
        ((2**63, 2**63), ValueError),
        ((2.0, 3.0), TypeError),
        (20, TypeError),
        (None, TypeError),
    ],
)
def test_bad_shapes_are_refused(shape: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"expected \(rows, columns\)|expected 1 to"):
        aperture.FlowEstimator(shape)


def test_images_of_other_shapes_are_refused(pair: Any) -> None:
    estimate = aperture.FlowEstimator(SHAPE)
    with pytest.raises(ValueError, match=r"image0: images of \(44, 67\), expected \(45, 67\)"):
        estimate(pair[0, 1:], pair[1, 1:])


def test_a_gpu_is_refused_by_a_build_without() -> None:
    if gpu_core() is not None:
        pytest.skip("a build with CUDA")
    with pytest.raises(aperture.DeviceError, match="gpu cannot be used: built without CUDA"):
        aperture.flow(ZEROS, ZEROS, device="gpu")


def test_non_finite_pixels_pass_if_asked() -> None:
    aperture.flow(with_nan(ZEROS), ZEROS, check_finite=False)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (2, 3), (17, 33)])
def test_images_of_any_shape_have_a_flow(shape: tuple[int, int]) -> None:
    images = np.random.default_rng(1).integers(0, 256, (2, *shape, 1), np.uint8)
    for preset in ("fast", "accurate", "thesis"):
        uv = aperture.flow(images[0], images[1], preset=preset)
        assert uv.shape == (*shape, 2) and np.isfinite(uv).all()


def test_estimators_say_what_they_are() -> None:
    assert repr(aperture.FlowEstimator((64, 80))) == (
        "<FlowEstimator of (64, 80) images: hs, preset fast, 3 levels, solver redblack>"
    )
    accurate = aperture.FlowEstimator(SHAPE, method="lk", preset="accurate")
    assert repr(accurate).endswith("lk, preset accurate, 5 levels>")
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="pickle"):
            copied(aperture.FlowEstimator(SHAPE))


def test_two_threads_compute_at_once(pair: Any) -> None:
    expected = [aperture.flow(pair[0], pair[1]), aperture.flow(pair[1], pair[0])]
    shared = aperture.FlowEstimator(SHAPE, threads=1)
    wrong = []

    def work(estimate: aperture.FlowEstimator, forward: int) -> None:
        for _ in range(20):
            if not (estimate(pair[1 - forward], pair[forward]) == expected[1 - forward]).all():
                wrong.append(forward)

    own = aperture.FlowEstimator(SHAPE, threads=1)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, [shared, shared, own], [1, 0, 1]))
    assert not wrong


def test_an_interrupt_ends_a_long_call(interrupted: Callable[..., float]) -> None:
    images = np.random.default_rng(1).integers(0, 256, (2, 500, 700), np.uint8)
    shape = images.shape[1:]
    estimate = aperture.FlowEstimator(shape, preset="accurate", warps=40, device="cpu")
    assert interrupted(lambda: estimate(images[0], images[1])) < 1
    quick = aperture.FlowEstimator(shape, levels=2, warps=1, device="cpu")

    def run() -> None:
        for _ in range(1000):
            quick(images[0], images[1])

    assert interrupted(run) < 1
    fresh = aperture.flow(images[0], images[1], levels=2, warps=1, device="cpu")
    assert (quick(images[0], images[1]) == fresh).all()


@pytest.mark.parametrize("solver", ["block2x2", "cg", "cacg", "redblack", "multigrid"])
def test_an_interrupt_ends_a_long_solution(interrupted: Callable[..., float], solver: str) -> None:
    planes = np.random.default_rng(1).normal(size=(3, 400, 400)).astype(np.float32)
    assert (
        interrupted(
            lambda: aperture.solve_horn_schunck(
                *planes, alpha=30, solver=solver, iterations=10**6, threads=1
            )
        )
        < 1
    )


def system_matrix(ix: Any, iy: Any, alpha: float, stencil: int, boundary: str) -> Any:
    """Horn & Schunck's matrix by definition, unknowns [u or v][pixel]."""
    rows, columns = ix.shape
    pixels = rows * columns
    side, corner = (1.0, 0.0) if stencil == 5 else (0.5, 0.25)
    laplacian = np.zeros((pixels, pixels))
    for y in range(rows):
        for x in range(columns):
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    weight = 0 if dy == dx == 0 else corner if dy * dx else side
                    p = y * columns + x
                    laplacian[p, p] += weight
                    near_y = min(max(y + dy, 0), rows - 1)
                    near_x = min(max(x + dx, 0), columns - 1)
                    if boundary == "replicate" or (near_y, near_x) == (y + dy, x + dx):
                        laplacian[p, near_y * columns + near_x] -= weight
    x, y = ix.ravel().astype(float), iy.ravel().astype(float)
    smooth = alpha**2 * laplacian
    return np.block(
        [[np.diag(x * x) + smooth, np.diag(x * y)], [np.diag(x * y), np.diag(y * y) + smooth]]
    )


@pytest.fixture(scope="module")
def derivatives() -> Any:
    return np.random.default_rng(2).normal(size=(3, 7, 9)).astype(np.float32)


@pytest.mark.parametrize("solver", ["jacobi", "block2x2", "cg", "cacg", "redblack", "multigrid"])
@pytest.mark.parametrize("boundary", ["replicate", "zero"])
@pytest.mark.parametrize("stencil", [5, 9])
def test_solutions_agree_with_the_definition(
    derivatives: Any, solver: str, boundary: str, stencil: int
) -> None:
    ix, iy, it = derivatives
    matrix = system_matrix(ix, iy, 0.7, stencil, boundary)
    right = -np.concatenate([(ix * it).ravel(), (iy * it).ravel()]).astype(float)
    expected = np.linalg.solve(matrix, right).reshape(2, 7, 9)
    u, v, history = aperture.solve_horn_schunck(
        ix,
        iy,
        it,
        alpha=0.7,
        solver=solver,
        iterations=2000,
        tolerance=1e-6,
        boundary=boundary,
        stencil=stencil,
    )
    assert np.allclose([u, v], expected, atol=1e-4)
    assert history[0] == pytest.approx(1) and history[-1] < 1e-6
    assert (aperture.solve_horn_schunck(ix, iy, it, alpha=0.7, iterations=3)[2].size) == 4
    found = np.concatenate([u.ravel(), v.ravel()]).astype(float)
    residual = np.linalg.norm(right - matrix @ found) / np.linalg.norm(right)
    assert residual < 5e-6


@pytest.mark.parametrize("solver", ["cg", "cacg"])
@pytest.mark.parametrize("precondition", ["block", "none"])
@pytest.mark.parametrize("tolerance", [0, 1e-7])
def test_a_tolerance_out_of_reach_ends_at_rounding(
    solver: str, precondition: str, tolerance: float
) -> None:
    ix, iy, it = np.random.default_rng(2).normal(size=(3, 37, 53))
    for planes in ((ix, iy, it), (4 * ix, 3 * ix, it)):
        u, v, history = aperture.solve_horn_schunck(
            *planes,
            alpha=0.7,
            solver=solver,
            precondition=precondition,
            stencil=9,
            iterations=2000,
            tolerance=tolerance,
        )
        assert np.isfinite(history).all() and history[-1] < 10 * history.min() + 1e-6
        assert max(abs(u).max(), abs(v).max()) < 100


def test_parameters_of_a_system_change_results(derivatives: Any) -> None:
    def solution(**parameters: Any) -> Any:
        return aperture.solve_horn_schunck(
            *derivatives, **{"alpha": 1, "iterations": 6, **parameters}
        )[0]

    usual = solution()
    for parameters in (
        {"alpha": 2},
        {"iterations": 2},
        {"tolerance": 0.1},
        {"precondition": "none"},
        {"boundary": "zero"},
        {"stencil": 9},
        {"solver": "jacobi"},
    ):
        assert (solution(**parameters) != usual).any(), parameters
    redblack = solution(solver="redblack")
    assert (solution(solver="redblack", relaxation=1.5) != redblack).any()
    cacg = solution(solver="cacg")
    assert (solution(solver="cacg", s_step=2) != cacg).any()
    assert (solution(solver="cacg", basis="monomial") != cacg).any()
    assert (solution(threads=2) == usual).all()


@pytest.mark.parametrize(
    ("planes", "arguments", "error", "message"),
    [
        ((ZEROS, ZEROS, None), {}, TypeError, "it"),
        ((ZEROS, ZEROS, START), {}, ValueError, r"it: shape \(20, 30, 2\)"),
        ((ZEROS, ZEROS[1:], ZEROS), {}, ValueError, r"iy: shape \(19, 30\), of ix \(20, 30\)"),
        ((ZEROS[:0], ZEROS[:0], ZEROS[:0]), {}, ValueError, "image of 0 x 30 pixels"),
        ((ZEROS, with_nan(ZEROS), ZEROS), {}, ValueError, "iy: 1 of 600 elements"),
        ((ZEROS, ZEROS + 1e30, ZEROS), {}, ValueError, "products of ix, iy and it: 600 of 1800"),
        ((ZEROS, ZEROS, ZEROS), {"alpha": 0}, ValueError, "alpha"),
        ((ZEROS, ZEROS, ZEROS), {"alpha": 1e-30}, ValueError, "alpha"),
        ((ZEROS, ZEROS, ZEROS), {"alpha": np.inf}, ValueError, "alpha"),
        ((ZEROS, ZEROS, ZEROS), {"alpha": 1e30}, ValueError, "alpha"),
        ((ZEROS, ZEROS, ZEROS), {"alpha": None}, TypeError, "alpha"),
        ((ZEROS, ZEROS, ZEROS), {"solver": "qr"}, ValueError, "solver qr"),
        ((ZEROS, ZEROS, ZEROS), {"iterations": -1}, ValueError, "iterations is -1"),
        ((ZEROS, ZEROS, ZEROS), {"relaxation": 1.5}, ValueError, "no effect"),
        ((ZEROS, ZEROS, ZEROS), {"device": 0}, TypeError, "device"),
    ],
)
def test_bad_systems_are_refused(
    planes: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aperture.solve_horn_schunck(*planes, **{"alpha": 1.0, **arguments})


def test_errors_are_those_of_the_definition() -> None:
    random = np.random.default_rng(3)
    uv, truth = random.normal(size=(2, 20, 30, 2))
    truth[3, 4] = np.nan
    truth[5, 6, 1] = 1.67e9
    uv[7, 8, 0] = np.inf
    errors = aperture.flow_errors(uv, truth)
    assert errors["known"] == 598 and errors["non_finite"] == 1
    good = np.isfinite(uv).all(-1) & (np.abs(truth) <= 1e9).all(-1)
    away = np.linalg.norm(uv[good] - truth[good], axis=-1)
    assert errors["epe"] == pytest.approx(away.mean(), rel=1e-6)
    assert errors["rmse"] == pytest.approx(np.sqrt((away**2).mean()), rel=1e-6)
    for name, limit in (("r05", 0.5), ("r1", 1), ("r2", 2)):
        assert errors[name] == pytest.approx(((away > limit).sum() + 1) / 598)
    in_time = [np.concatenate([field[good], np.ones((597, 1))], axis=1) for field in (uv, truth)]
    lengths = [np.linalg.norm(field, axis=1) for field in in_time]
    cosine = (in_time[0] * in_time[1]).sum(1) / (lengths[0] * lengths[1])
    assert errors["aae"] == pytest.approx(np.degrees(np.arccos(cosine)).mean(), rel=1e-5)
    assert aperture.flow_errors(uv, truth, threads=2) == errors
    planar = np.ascontiguousarray(np.moveaxis(uv.astype(np.float32), -1, 0))
    assert aperture.flow_errors(np.moveaxis(planar, 0, -1), truth) == errors
    assert np.isnan(aperture.flow_errors(uv, np.full(uv.shape, np.nan))["epe"])


def test_pictures_have_the_colours_of_the_wheel() -> None:
    uv = np.array([[[0, 0], [4, 0], [0, -2]], [[8, 0], [1e10, 0], [0, np.nan]]])
    picture = aperture.flow_to_image(uv, 4)
    assert picture.dtype == np.uint8
    assert picture[0, :2].tolist() == [[255, 255, 255], [255, 0, 0]]
    assert picture[1].tolist() == [[191, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert (aperture.flow_to_image(uv) == aperture.flow_to_image(uv, 8)).all()
    assert (aperture.flow_to_image(np.zeros((2, 3, 2))) == 255).all()
    with pytest.raises(ValueError, match="must be finite and not negative, is -1"):
        aperture.flow_to_image(uv, -1)
    with pytest.raises(TypeError, match="max_motion 'far'"):
        aperture.flow_to_image(uv, "far")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="flow of 2 planes of 3x0"):
        aperture.flow_to_image(uv[:0])


def test_warping_samples_where_the_flow_points(colours: Any) -> None:
    image = colours[0].astype(np.float32)
    whole = np.zeros((*SHAPE, 2)) + [3, -2]
    for interpolation in ("bilinear", "bicubic"):
        warped = aperture.warp(image, whole, interpolation=interpolation)
        assert warped.shape == image.shape and warped.dtype == np.float32
        assert np.allclose(warped[2:, :-3], image[:-2, 3:], atol=1e-4)
        plane = aperture.warp(image[..., 1], whole, interpolation=interpolation)
        assert (warped[..., 1] == plane).all()
    half = np.zeros((*SHAPE, 2)) + [0.5, 0]
    between = aperture.warp(image, half, interpolation="bilinear")
    assert np.allclose(between[:, :-1], (image[:, :-1] + image[:, 1:]) / 2, atol=1e-4)
    nowhere = aperture.warp(image, np.full((*SHAPE, 2), np.nan))
    assert np.allclose(nowhere, image, atol=1e-4)
    assert (aperture.warp(colours[0], whole) == aperture.warp(image, whole)).all()
    assert (aperture.warp(image, whole, threads=2) == aperture.warp(image, whole, threads=1)).all()
    bicubic = aperture.warp(image, half, interpolation="bicubic")
    assert (aperture.warp(image, half) == bicubic).all()


def test_a_flow_warps_the_second_image_to_the_first(pair: Any) -> None:
    uv = aperture.flow(pair[0], pair[1])
    away = np.abs(aperture.warp(pair[1], uv) - pair[0].astype(float))
    assert np.median(away) < 2 < np.median(np.abs(pair[1].astype(float) - pair[0]))


def test_consistent_flows_are_told_from_others(pair: Any) -> None:
    forward = aperture.flow(pair[0], pair[1])
    backward = aperture.flow(pair[1], pair[0])
    mask = aperture.flow_consistency(forward, backward)
    assert mask.dtype == bool and mask[5:-5, 5:-5].mean() > 0.95
    assert aperture.flow_consistency(forward, forward)[5:-5, 5:-5].mean() < 0.05
    assert (aperture.flow_consistency(forward, backward, threads=2) == mask).all()
    assert not aperture.flow_consistency(np.full_like(forward, np.nan), backward).any()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: aperture.flow_errors(START, START[1:]), ValueError, "truth: shape .* of uv"),
        (lambda: aperture.flow_errors(START[..., 0], START), ValueError, "uv: shape"),
        (lambda: aperture.flow_errors(None, START), TypeError, "uv"),
        (lambda: aperture.flow_errors(START + 1j, START), TypeError, "uv"),
        (lambda: aperture.flow_errors(START, START, threads=-2), ValueError, "threads -2"),
        (lambda: aperture.flow_to_image(ZEROS), ValueError, "uv: shape"),
        (lambda: aperture.flow_to_image("uv"), TypeError, "uv"),
        (lambda: aperture.warp(ZEROS, ZEROS), ValueError, "uv: shape"),
        (lambda: aperture.warp(ZEROS[1:], START), ValueError, r"expected \(19, 30, 2\)"),
        (lambda: aperture.warp(ZEROS[0], START), ValueError, "image: shape"),
        (lambda: aperture.warp(ZEROS > 0, START), TypeError, "image"),
        (
            lambda: aperture.warp(ZEROS, START, interpolation="nearest"),
            ValueError,
            r"interpolation nearest: expected bilinear\|bicubic",
        ),
        (lambda: aperture.flow_consistency(START, START[1:]), ValueError, "backward: shape"),
        (lambda: aperture.flow_consistency(START, None), TypeError, "backward"),
    ],
)
def test_bad_fields_are_refused(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_empty_fields_do_no_harm() -> None:
    assert aperture.flow_errors(START[:0], START[:0])["known"] == 0
    assert aperture.warp(ZEROS[:0], START[:0]).shape == (0, 30)
    assert aperture.warp(np.zeros((20, 30, 0)), START).shape == (20, 30, 0)
    assert aperture.flow_consistency(START[:, :0], START[:, :0]).shape == (20, 0)


def write_pnm(path: Path, image: Any) -> None:
    kind = "P6" if image.ndim == 3 else "P5"
    largest = 65535 if image.dtype == np.uint16 else 255
    header = f"{kind} {image.shape[1]} {image.shape[0]} {largest}\n"
    path.write_bytes(header.encode() + image.astype(image.dtype.newbyteorder(">")).tobytes())


def read_flo(path: Path) -> Any:
    data = path.read_bytes()
    width, height = np.frombuffer(data, "<i4", 2, 4)
    return np.frombuffer(data, "<f4", offset=12).reshape(height, width, 2)


def by_program(program: str, folder: Path, images: Any, flags: list[str]) -> Any:
    for i in (0, 1):
        write_pnm(folder / f"{i}.pnm", images[i])
    files = [str(folder / "0.pnm"), str(folder / "1.pnm"), "--out", str(folder / "uv.flo")]
    usual = ["--device", "cpu", "--threads", "1", "--no-picture", "--quiet"]
    subprocess.run([program, *files, *usual, *flags], check=True)
    return read_flo(folder / "uv.flo")


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ("", {}),
        ("--preset accurate", {"preset": "accurate"}),
        ("--preset thesis --method lk", {"preset": "thesis", "method": "lk"}),
        ("--preset accurate --method lk --lk-window 5 --regularisation 0.7",
         {"preset": "accurate", "method": "lk", "window": 5, "regularisation": 0.7}),
        ("--alpha 3.3 --levels 2 --level-scale 0.6 --warps 2 --median 3 --blur 1.1 --texture 0.3",
         {"alpha": 3.3, "levels": 2, "scale": 0.6, "warps": 2, "median": 3, "blur": 1.1,
          "texture": 0.3}),
        ("--solver multigrid --boundary zero --stencil 9 --interpolation bilinear",
         {"solver": "multigrid", "boundary": "zero", "stencil": 9, "interpolation": "bilinear"}),
        ("--solver cg --precondition none --iterations 20 --tolerance 1e-3",
         {"solver": "cg", "precondition": "none", "iterations": 20, "tolerance": 1e-3}),
        ("--solver cacg --s-step 3 --basis chebyshev",
         {"solver": "cacg", "s_step": 3, "basis": "chebyshev"}),
        ("--omega 1.3", {"relaxation": 1.3}),
        ("--preset thesis --solver jacobi", {"preset": "thesis", "solver": "jacobi"}),
    ],
)  # fmt: skip
def test_same_bits_as_the_program(
    pair: Any,
    program: Callable[[str], str],
    tmp_path: Path,
    flags: str,
    arguments: dict[str, Any],
) -> None:
    expected = by_program(program("oflow"), tmp_path, pair, flags.split())
    assert (aperture.flow(pair[0], pair[1], device="cpu", **arguments) == expected).all()


def test_same_bits_as_the_program_in_colours_and_16_bits(
    colours: Any, program: Callable[[str], str], tmp_path: Path
) -> None:
    deep = np.random.default_rng(1).integers(0, 2**16, (2, *SHAPE, 3), np.uint16)
    for images in (colours, deep, deep[..., 0]):
        expected = by_program(program("oflow"), tmp_path, images, [])
        assert (aperture.flow(images[0], images[1], device="cpu") == expected).all()


def test_same_files_as_the_program(
    colours: Any, program: Callable[[str], str], tmp_path: Path
) -> None:
    names = {flag: str(tmp_path / f"{flag}.ppm") for flag in ("warped", "consistency")}
    flags = [word for flag, name in names.items() for word in (f"--{flag}", name)]
    uv = by_program(program("oflow"), tmp_path, colours, flags)

    def read(name: str) -> Any:
        return np.frombuffer(Path(name).read_bytes()[-3 * uv[..., 0].size :], np.uint8).reshape(
            *SHAPE, 3
        )

    warped = np.clip(np.floor(aperture.warp(colours[1], uv, device="cpu") + 0.5), 0, 255)
    assert (read(names["warped"]) == warped).all()
    mask = aperture.flow_consistency(uv, aperture.flow(colours[1], colours[0], device="cpu"))
    assert ((read(names["consistency"])[..., 0] == 255) == mask).all()


@pytest.mark.parametrize("preset", ["fast", "accurate"])
def test_recorded_images_have_the_known_flow(
    program: Callable[[str], str], shared_data: Path, tmp_path: Path, preset: str
) -> None:
    pyplot = pytest.importorskip("matplotlib.image")
    folder = shared_data / "middlebury" / "RubberWhale"
    files = [folder / f"frame1{i}.png" for i in (0, 1)]
    images = [np.round(255 * pyplot.imread(file)).astype(np.uint8) for file in files]
    uv = aperture.flow(images[0], images[1], preset=preset, device="cpu")
    errors = aperture.flow_errors(uv, read_flo(folder / "flow10.flo"))
    assert errors["epe"] < {"fast": 0.2, "accurate": 0.1}[preset]
    assert (by_program(program("oflow"), tmp_path, images, ["--preset", preset]) == uv).all()
