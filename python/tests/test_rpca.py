# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clips import saved_by_program, video, with_nan

import aperture

pytestmark = pytest.mark.usefixtures("one_thread")


def planted(frames: int, values: int, rank: int = 2, seed: int = 3) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    low_rank = random.normal(size=(frames, rank)) @ random.normal(size=(rank, values))
    signs = random.choice([-1.0, 1.0], (frames, values))
    return low_rank, 10 * signs * (random.random((frames, values)) < 0.05)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"svd": "tsqr"},
        {"svd": "cholqr2"},
        {"solver": "admm", "max_iterations": 3000},
        {"solver": "accaltproj", "rank": 2},
    ],
)
def test_planted_parts_are_recovered(parameters: dict[str, Any]) -> None:
    low_rank, sparse = planted(50, 300)
    parts = aperture.rpca(low_rank + sparse, tolerance=1e-8, **parameters)
    assert parts.converged and parts.residual <= 1e-8
    assert np.abs(parts.low_rank - low_rank).max() < 1e-3
    assert ((np.abs(parts.sparse) > 1) == (sparse != 0)).all()
    assert parts.rank in (2, 3)
    assert parts.low_rank.dtype == parts.sparse.dtype == np.float64


def ialm(m: Any, iterations: int) -> tuple[Any, Any]:
    """Inexact augmented Lagrange multipliers by the textbook; the mean over the frames is free."""
    mean = m.mean(axis=0)
    lam = 1 / np.sqrt(max(m.shape))
    changing = m - mean
    norm = np.hypot(np.sqrt(len(m)) * np.linalg.norm(mean), np.linalg.norm(changing, 2))
    mu = 1.25 / norm
    y = changing / max(norm, np.abs(m).max() / lam)
    largest = 1e7 * mu
    low_rank = np.broadcast_to(mean, m.shape)
    for i in range(iterations + 1):
        left = m - low_rank + y / mu
        sparse = np.sign(left) * np.maximum(np.abs(left) - lam / mu, 0)
        if i == iterations:
            break
        w = m - sparse + y / mu
        u, s, v = np.linalg.svd(w - w.mean(axis=0), full_matrices=False)
        low_rank = w.mean(axis=0) + (u * np.maximum(s - 1 / mu, 0)) @ v
        y = y + mu * (m - low_rank - sparse)
        mu = min(1.5 * mu, largest)
    return low_rank, sparse


def test_ialm_agrees_with_the_textbook() -> None:
    m = video(12, 10, 12).reshape(12, -1).astype(float)
    parts = aperture.rpca(m, max_iterations=7, tolerance=1e-12)
    low_rank, sparse = ialm(m, 7)
    scale = np.linalg.norm(m)
    assert np.linalg.norm(parts.low_rank - low_rank) < 1e-9 * scale
    assert np.linalg.norm(parts.sparse - sparse) < 1e-9 * scale
    assert parts.iterations == 7 and not parts.converged
    assert parts.density == pytest.approx(np.count_nonzero(sparse) / sparse.size)


def test_frames_keep_their_shape() -> None:
    for frames in (video(8), video(8, channels=3), video(8)[..., None, None]):
        parts = aperture.rpca(frames)
        assert parts.low_rank.shape == parts.sparse.shape == frames.shape
        assert parts.low_rank.dtype == np.float32
        residual = frames - parts.low_rank - parts.sparse
        assert np.linalg.norm(residual) < 2e-5 * np.linalg.norm(frames)
        flat = aperture.rpca(frames.reshape(len(frames), -1))
        assert (parts.low_rank.reshape(flat.low_rank.shape) == flat.low_rank).all()


def test_precision_is_that_of_the_matrix() -> None:
    m = video(12)
    single = aperture.rpca(m, max_iterations=9)
    dtype: Any
    for dtype in (np.float32, np.float16, np.int16, np.int64, np.uint16, ">f4"):
        parts = aperture.rpca(m.astype(dtype), max_iterations=9)
        assert parts.low_rank.dtype == np.float32
        assert (parts.low_rank == single.low_rank).all(), dtype
    for dtype in (np.float64, ">f8", np.longdouble):
        double = aperture.rpca(m.astype(dtype), max_iterations=9)
        assert double.low_rank.dtype == np.float64
        assert (double.low_rank != single.low_rank).any()
        assert np.abs(double.low_rank - single.low_rank).max() < 1
    assert aperture.rpca(m[:, 0].tolist()).low_rank.dtype == np.float32
    assert aperture.rpca(m[:, 0].astype(float).tolist()).low_rank.dtype == np.float64


def test_parameters_change_results() -> None:
    m = video(30, 20, 30).astype(np.float32)
    usual = aperture.rpca(m)
    for parameters in (
        {"solver": "admm", "max_iterations": 30},
        {"solver": "accaltproj"},
        {"svd": "tsqr"},
        {"svd": "cholqr2"},
        {"lam": 0.01},
        {"tolerance": 1e-3},
        {"max_iterations": 3},
    ):
        changed = aperture.rpca(m, **parameters)
        assert (changed.low_rank != usual.low_rank).any(), parameters
    one = aperture.rpca(m, solver="accaltproj", rank=1)
    two = aperture.rpca(m, solver="accaltproj", rank=2)
    assert (one.rank, two.rank) == (1, 2)
    default = aperture.rpca(m, solver="accaltproj", rank=3)
    assert (default.low_rank == aperture.rpca(m, solver="accaltproj").low_rank).all()


@pytest.mark.parametrize(
    "changed",
    [
        np.asfortranarray,
        lambda m: m[:, ::-1].copy()[:, ::-1],
        lambda m: m[::-1].copy()[::-1],
        lambda m: np.repeat(m, 2, axis=0)[::2],
        lambda m: np.pad(m, ((0, 0), (1, 2), (3, 4)))[:, 1:-2, 3:-4],
        lambda m: m.tolist(),
        lambda m: np.frombuffer(m.tobytes(), m.dtype).reshape(m.shape),
    ],
    ids=["fortran", "rows", "frames", "strided", "cropped", "list", "read-only"],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_any_layout_gives_the_same_bits(changed: Callable[[Any], Any], dtype: Any) -> None:
    m = video(12).astype(dtype)
    usual = aperture.rpca(m)
    other = aperture.rpca(changed(m))
    assert (other.low_rank == usual.low_rank).all() and (other.sparse == usual.sparse).all()


@pytest.mark.parametrize("solver", ["ialm", "admm", "accaltproj"])
def test_threads_do_not_change_bits(solver: str) -> None:
    one = aperture.rpca(video(), solver=solver, max_iterations=20, threads=1)
    two = aperture.rpca(video(), solver=solver, max_iterations=20, threads=2)
    assert (one.low_rank == two.low_rank).all() and (one.sparse == two.sparse).all()


def test_still_and_black_frames() -> None:
    assert not aperture.rpca(np.zeros((5, 40))).low_rank.any()
    still = np.tile(np.arange(40.0), (5, 1))
    parts = aperture.rpca(still)
    assert np.allclose(parts.low_rank, still) and parts.rank == 1
    one = aperture.rpca(np.ones((1, 7)))
    assert np.allclose(one.low_rank, 1)


def test_progress_is_called_after_each_iteration() -> None:
    calls: list[tuple[int, float]] = []
    parts = aperture.rpca(video(), progress=lambda *call: calls.append(call))
    assert [call[0] for call in calls] == list(range(1, parts.iterations))
    assert calls[-1][1] >= parts.residual > 0
    assert all(isinstance(call[1], float) for call in calls)
    quiet = aperture.rpca(video())
    assert (quiet.low_rank == parts.low_rank).all()


@pytest.mark.parametrize("solver", ["ialm", "admm", "accaltproj"])
def test_progress_that_raises_ends_the_run(solver: str) -> None:
    calls = []

    def progress(iteration: int, residual: float) -> None:
        calls.append(iteration)
        if iteration == 3:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        aperture.rpca(video(), solver=solver, tolerance=1e-6, progress=progress)
    assert calls == [1, 2, 3]
    wrong: Any = lambda: None  # noqa: E731
    with pytest.raises(TypeError, match="positional argument"):
        aperture.rpca(video(), progress=wrong)


def test_progress_may_call_aperture() -> None:
    inner: list[Any] = []

    def progress(iteration: int, residual: float) -> None:
        if not inner:
            inner.append(aperture.rpca(video(8)))

    outer = aperture.rpca(video(), progress=progress)
    assert inner[0].converged and outer.converged


def test_out_is_overwritten() -> None:
    first = aperture.rpca(video())
    arrays = first.low_rank, first.sparse
    other = video()[:, ::-1]
    again = aperture.rpca(other, out=first)
    assert again is first
    assert again.low_rank is arrays[0] and again.sparse is arrays[1]
    new = aperture.rpca(other)
    assert (new.low_rank == again.low_rank).all() and new.iterations == again.iterations


def test_cpu_tensors_come_back_as_tensors() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.uint8, torch.float64):
        tensor = torch.from_numpy(video()).to(dtype)
        parts = aperture.rpca(tensor)
        assert type(parts.low_rank) is torch.Tensor
        assert (parts.low_rank.numpy() == aperture.rpca(tensor.numpy()).low_rank).all()
    subtract = aperture.BackgroundSubtractor(burn_in=2)
    masks = subtract.fit(torch.from_numpy(video()))
    assert type(masks) is torch.Tensor and masks.dtype == torch.uint8
    assert type(subtract.apply(torch.from_numpy(video()[0]))) is torch.Tensor
    assert type(subtract.background) is torch.Tensor


def test_jax_arrays_come_back_as_jax_arrays() -> None:
    jax = pytest.importorskip("jax")
    parts = aperture.rpca(jax.numpy.asarray(video()))
    assert isinstance(parts.low_rank, jax.Array)
    with pytest.raises(TypeError, match="tracer"):
        jax.jit(lambda m: aperture.rpca(m).low_rank)(jax.numpy.asarray(video()))


M = np.ones((4, 6), np.float32)
WIDE = aperture.RpcaResult(np.empty((4, 6)), np.empty((4, 6)), 0, 0, 0, 0, False)
SHARED = aperture.RpcaResult(M * 2, M, 0, 0, 0, 0, False)
ONE = np.empty((4, 6), np.float32)
REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (None, {}, TypeError, "matrix"),
    ("matrix", {}, TypeError, "elements of type <U6"),
    (object(), {}, TypeError, "elements of type object"),
    ([[1, 2], [3]], {}, TypeError, "not an array"),
    (M > 0, {}, TypeError, "elements of type bool"),
    (M * 1j, {}, TypeError, "elements of type complex64"),
    (np.ma.masked_array(M), {}, TypeError, "masked"),
    (1.0, {}, ValueError, r"shape \(\)"),
    (M[0], {}, ValueError, r"shape \(6,\), expected \[frame, value\]"),
    (M[:0], {}, ValueError, r"shape \(0, 6\) is empty"),
    (M[:, :0], {}, ValueError, r"shape \(4, 0\) is empty"),
    (with_nan(M), {}, ValueError, "2 of 24 elements are NaN or infinite"),
    (M.astype(float) * np.inf, {}, ValueError, "24 of 24 elements are NaN or infinite"),
    (M, {"solver": "svd"}, ValueError, r"ialm\|admm\|accaltproj"),
    (M, {"solver": None}, TypeError, "solver None: expected a string"),
    (M, {"svd": "jacobi"}, ValueError, r"gram\|tsqr\|cholqr2"),
    (M.T, {"svd": "tsqr"}, ValueError, "at least as many values as frames, has 4 and 6"),
    (M, {"svd": "tsqr", "solver": "accaltproj"}, ValueError, "svd 'tsqr' requires solver"),
    (M, {"rank": 2}, ValueError, "rank 2 requires solver 'accaltproj'"),
    (M, {"rank": 0, "solver": "accaltproj"}, ValueError, "rank 0"),
    (M, {"rank": -1, "solver": "accaltproj"}, ValueError, "rank -1"),
    (M, {"rank": 1.5, "solver": "accaltproj"}, TypeError, "rank 1.5"),
    (M, {"rank": 2**70, "solver": "accaltproj"}, ValueError, "too large"),
    (M, {"lam": 0}, ValueError, "lam 0"),
    (M, {"lam": -1.0}, ValueError, "lam -1"),
    (M, {"lam": np.nan}, ValueError, "lam nan"),
    (M, {"lam": np.inf}, ValueError, "is inf"),
    (M, {"lam": "small"}, TypeError, "lam 'small'"),
    (M, {"lam": 0.1, "solver": "accaltproj"}, ValueError, "lam 0.1 requires solver"),
    (M, {"tolerance": 0}, ValueError, "tolerance must be between 0 and 1, is 0"),
    (M, {"tolerance": 1.0}, ValueError, "tolerance"),
    (M, {"tolerance": np.nan}, ValueError, "tolerance"),
    (M, {"tolerance": "1e-5"}, TypeError, "tolerance"),
    (M, {"tolerance": 1e-7}, ValueError, "tolerance 1e-07 requires a matrix of float64"),
    (M, {"max_iterations": 0}, ValueError, "iterations must be positive"),
    (M, {"max_iterations": 2.5}, TypeError, "max_iterations 2.5"),
    (M, {"max_iterations": 2**40}, ValueError, "too large"),
    (M, {"progress": 3}, TypeError, "progress: expected a function, not int"),
    (M, {"device": "tpu"}, ValueError, "device 'tpu'"),
    (M, {"device": "gpu"}, aperture.DeviceError, "(?i)gpu.* cannot be used"),
    (M, {"threads": -1}, ValueError, "threads -1"),
    (M, {"out": M.copy()}, TypeError, "out: expected an RpcaResult, not ndarray"),
    (M, {"out": WIDE}, TypeError, "out.low_rank: elements of type float64"),
    (M[:3], {"out": SHARED}, ValueError, r"out.low_rank: shape \(4, 6\), expected \(3, 6\)"),
    (M, {"out": SHARED}, ValueError, "out.sparse: shares memory with an input"),
    (
        M,
        {"out": aperture.RpcaResult(ONE, ONE, 0, 0, 0, 0, False)},
        ValueError,
        "low_rank and sparse share memory",
    ),
    (M, {"nonsense": 1}, TypeError, "nonsense"),
]


@pytest.mark.parametrize(
    ("matrix", "arguments", "error", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))]
)
def test_bad_calls_are_refused(
    matrix: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    if arguments.get("device") == "gpu" and aperture.gpu_info():
        pytest.skip("there is a GPU")
    with pytest.raises(error, match=message):
        aperture.rpca(matrix, **arguments)


def test_results_are_copied_and_pickled() -> None:
    parts = aperture.rpca(video())
    for twin in (copy.copy(parts), copy.deepcopy(parts), pickle.loads(pickle.dumps(parts))):
        assert (twin.low_rank == parts.low_rank).all() and twin.rank == parts.rank
    assert repr(parts).startswith("<RpcaResult (24, 40, 56): rank ")
    assert "not converged" not in repr(parts)
    assert repr(aperture.rpca(video(), max_iterations=1)).endswith("not converged>")


def test_two_threads_compute_at_once() -> None:
    frames = video(20)
    expected = aperture.rpca(frames, threads=1).low_rank
    expected_masks = aperture.BackgroundSubtractor("median").fit(frames)
    shared = aperture.BackgroundSubtractor("median", threads=1)
    shared.fit(frames)
    wrong = []

    def work() -> None:
        for _ in range(5):
            if not (aperture.rpca(frames, threads=1).low_rank == expected).all():
                wrong.append("rpca")
            for frame, mask in zip(frames, expected_masks, strict=True):
                if not (shared.apply(frame) == mask).all():
                    wrong.append("apply")

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work) for _ in range(3)]:
            done.result()
    assert not wrong


def test_the_lock_is_released() -> None:
    frames = video(40, 120, 160).astype(float)
    done = threading.Event()

    def run() -> None:
        aperture.rpca(frames, threads=1, solver="admm", tolerance=1e-9, max_iterations=40)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    turns = 0
    while not done.is_set():
        time.sleep(0.001)
        turns += 1
    thread.join()
    assert turns > 10


@pytest.mark.parametrize(
    ("solver", "svd"), [("ialm", "gram"), ("admm", "cholqr2"), ("accaltproj", "gram")]
)
def test_an_interrupt_ends_a_long_run(
    interrupted: Callable[..., float], solver: str, svd: str
) -> None:
    frames = video(60, 120, 160).astype(float)

    def run() -> None:
        for _ in range(200):
            aperture.rpca(frames, solver=solver, svd=svd, tolerance=1e-9, threads=1)

    assert interrupted(run) < 1


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ([], {}),
        (
            ["--svd", "tsqr", "--lambda", "0.02", "--max-iterations", "9"],
            {"svd": "tsqr", "lam": 0.02, "max_iterations": 9},
        ),
        (["--solver", "admm", "--tolerance", "1e-2"], {"solver": "admm", "tolerance": 1e-2}),
        (["--solver", "accaltproj", "--rank", "2"], {"solver": "accaltproj", "rank": 2}),
    ],
)
def test_same_bits_as_the_program(
    program: Callable[[str], str], tmp_path: Path, flags: list[str], arguments: dict[str, Any]
) -> None:
    frames = video(20)
    saved = saved_by_program(program("bgsub"), frames, flags, tmp_path)
    parts = aperture.rpca(frames, **arguments)
    assert (saved["background"][:, 0] == parts.low_rank).all()
    assert (saved["foreground"][:, 0] == np.abs(frames - parts.low_rank)).all()
    assert (saved["mask"] == aperture.foreground_masks(frames, parts.low_rank)).all()


def test_same_bits_as_the_program_in_float64(program: Callable[[str], str], tmp_path: Path) -> None:
    frames = video(20)
    flags = ["--precision", "fp64", "--tolerance", "1e-8", "--max-iterations", "9"]
    saved = saved_by_program(program("bgsub"), frames, flags, tmp_path)
    parts = aperture.rpca(frames.astype(float), tolerance=1e-8, max_iterations=9)
    assert (saved["background"][:, 0] == parts.low_rank.astype(np.float32)).all()
