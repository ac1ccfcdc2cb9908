# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import inspect
import pickle
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scenes import SHAPE, SHIFT, START, ZEROS, colour_frames, frames, with_nan

import aperture
from aperture._extension import gpu_core

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def pair() -> Any:
    return frames()


@pytest.fixture(scope="module")
def colours() -> Any:
    return colour_frames()


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
