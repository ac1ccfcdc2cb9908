# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrays on GPUs: of each library there is, and each GPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from clips import video

import aperture
from aperture._cuda import StagedPlace
from aperture._extension import core, gpu_core, has_gpu
from aperture._places import HostPlace

pytestmark = pytest.mark.skipif(not has_gpu(), reason="no GPU can be used")


@pytest.fixture(scope="module")
def cube() -> Any:
    return aperture.simulate_clutter((4, 12, 128), targets=[(60, 0.25, 10.0, 10.0)], seed=3)[0]


AZIMUTHS = [-20.0, 0.0, 10.0, 30.0]


def test_stap_stays_in_the_library_and_agrees_with_the_cpu(library: Any, cube: Any) -> None:
    there = library.array(cube)
    result = aperture.stap(there, azimuth=AZIMUTHS, detector="amf")
    assert isinstance(result.output, library.type())
    assert isinstance(result.statistic, library.type())
    expected = aperture.stap(cube, azimuth=AZIMUTHS, detector="amf", device="cpu")
    scale = np.abs(expected.output).max()
    assert np.abs(library.host(result.output) - expected.output).max() < 1e-3 * scale
    assert np.allclose(library.host(result.statistic), expected.statistic, rtol=2e-2, atol=1e-2)
    assert len(result.targets) == len(expected.targets) == 1
    assert result.targets["range_cell"][0] == pytest.approx(
        expected.targets["range_cell"][0], abs=0.1
    )
    assert "adaptive" in result.timings


def test_host_arrays_go_to_the_gpu_and_come_back(cube: Any) -> None:
    result = aperture.stap(cube, azimuth=AZIMUTHS, detector="amf", device="gpu")
    assert type(result.output) is np.ndarray
    expected = aperture.stap(cube, azimuth=AZIMUTHS, detector="amf", device="cpu")
    assert np.abs(result.output - expected.output).max() < 1e-3 * np.abs(expected.output).max()
    out = np.empty_like(expected.output)
    again = aperture.stap(cube, azimuth=AZIMUTHS, device="gpu", out=out)
    assert again.output is out and (out == result.output).all()


def test_several_cpis(library: Any, cube: Any) -> None:
    both = library.array(np.stack([cube[..., ::-1], cube]))
    result = aperture.stap(both, azimuth=[0.0, 10.0])
    single = aperture.stap(library.array(cube), azimuth=[0.0, 10.0])
    assert (library.host(result.output)[1] == library.host(single.output)).all()


def test_calls_do_not_wait_and_a_second_one_allocates_nothing(library: Any, cube: Any) -> None:
    there = library.array(cube)
    adapt = aperture.Stap(cube.shape, azimuth=AZIMUTHS, detector="amf")
    first = adapt(there)
    out = None if library.name == "jax" else first
    waits, allocations = gpu_core().waits(), gpu_core().allocations()
    result = adapt(there, out=out)
    assert gpu_core().waits() == waits
    if library.name != "jax":
        assert gpu_core().allocations() == allocations
    assert np.isfinite(library.host(result.output)).all()
    assert len(result.detections) > 0
    assert gpu_core().waits() >= waits


def test_layouts_and_types_are_converted(library: Any, cube: Any) -> None:
    usual = library.host(aperture.stap(library.array(cube), azimuth=[5.0]).output)
    for changed in (cube.astype(np.complex128), np.asfortranarray(cube)):
        result = aperture.stap(library.array(changed), azimuth=[5.0])
        assert (library.host(result.output) == usual).all()


def test_calls_are_in_the_order_of_the_callers_stream(cube: Any) -> None:
    torch = pytest.importorskip("torch")
    expected = aperture.stap(torch.from_numpy(2 * cube).cuda(), azimuth=AZIMUTHS).output.cpu()
    adapt = aperture.Stap(cube.shape, azimuth=AZIMUTHS)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        busy = torch.rand(8192, 8192, device="cuda")
        for _ in range(5):
            busy = busy @ busy / 8192
        there = torch.from_numpy(cube).cuda(non_blocking=True)
        there *= 2
        output = adapt(there).output
        there.zero_()
        total = (output + 0).cpu()
    assert (total == expected).all()


def test_the_callers_device_stays_current(cube: Any) -> None:
    torch = pytest.importorskip("torch")
    for gpu in range(torch.cuda.device_count()):
        for current in range(torch.cuda.device_count()):
            torch.cuda.set_device(current)
            there = torch.from_numpy(cube).to(f"cuda:{gpu}")
            output = aperture.stap(there, azimuth=AZIMUTHS).output
            assert output.device.index == gpu
            assert torch.cuda.current_device() == current
            assert torch.isfinite(output.abs()).all()
    torch.cuda.set_device(0)


def test_arrays_on_two_gpus_are_refused(cube: Any) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    out = torch.empty((4, 16, 128), dtype=torch.complex64, device="cuda:1")
    with pytest.raises(ValueError, match="on GPU 1, but the first array is on GPU 0"):
        aperture.stap(torch.from_numpy(cube).to("cuda:0"), azimuth=AZIMUTHS, out=out)


def test_bad_calls_on_a_gpu(cube: Any) -> None:
    torch = pytest.importorskip("torch")
    there = torch.from_numpy(cube).cuda()
    with pytest.raises(TypeError, match="requires a gradient"):
        aperture.stap(there.clone().requires_grad_())
    with pytest.raises(TypeError, match="conjugate"):
        aperture.stap(there.conj())
    with pytest.raises(TypeError, match="torch.bool"):
        aperture.stap(there.abs() > 1)
    with pytest.raises(ValueError, match="device 'cpu', but the array is on GPU 0"):
        aperture.stap(there, device="cpu")
    with pytest.raises(TypeError, match="expected an array of torch on GPU 0"):
        aperture.stap(there, azimuth=AZIMUTHS, out=np.empty((4, 16, 128), np.complex64))
    with pytest.raises(ValueError, match="NaN or infinite"):
        aperture.stap(there * torch.nan, check_finite=True)
    with pytest.raises(aperture.DeviceError, match="there is no GPU 77"):
        aperture.stap(cube, device="gpu:77")
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError, match="tracer"):
        jax.jit(aperture.stap)(jax.numpy.asarray(cube))


def test_two_threads_on_one_gpu(cube: Any) -> None:
    torch = pytest.importorskip("torch")
    there = torch.from_numpy(cube).cuda()
    expected = aperture.stap(there, azimuth=AZIMUTHS).output.cpu()
    adapts = [aperture.Stap(cube.shape, azimuth=AZIMUTHS) for _ in range(2)]
    wrong = []

    def work(adapt: aperture.Stap) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(50):
                if not (adapt(there).output.cpu() == expected).all():
                    wrong.append(1)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, [*adapts, adapts[0]]))
    assert not wrong


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (2049, 17), (5000, 60)])
def test_singular_values_agree_with_numpy(library: Any, dtype: Any, shape: tuple[int, int]) -> None:
    if library.name == "jax" and dtype is np.float64:
        pytest.skip("JAX has float64 only with jax_enable_x64")
    a = np.random.default_rng(1).normal(size=shape).astype(dtype)
    factors = aperture.tall_svd(library.array(a))
    assert all(isinstance(factor, library.type()) for factor in factors)
    # Without float64, JAX decomposes R in float32, too.
    _expects_svd(a, [library.host(factor) for factor in factors])


def _expects_svd(a: Any, factors: list[Any]) -> None:
    u, s, vt = factors
    columns = a.shape[1]
    assert u.shape == a.shape and s.shape == (columns,) and vt.shape == (columns, columns)
    assert u.dtype == s.dtype == vt.dtype == a.dtype
    expected = np.linalg.svd(a.astype(np.float64), compute_uv=False)
    bound = 4 * columns * np.finfo(a.dtype).eps
    assert np.abs(s - expected).max() <= bound * expected[0]
    assert np.linalg.norm((u * s) @ vt - a) <= bound * np.linalg.norm(a)
    for factor in (u.T @ u, vt @ vt.T):
        assert np.linalg.norm(factor - np.eye(columns)) <= bound * columns


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_matrices_of_the_host_are_decomposed_on_a_gpu(layout: Any) -> None:
    a = layout(np.random.default_rng(1).normal(size=(3000, 20)))
    factors = aperture.tall_svd(a, device="gpu")
    assert all(type(factor) is np.ndarray for factor in factors)
    _expects_svd(a, list(factors))


def test_jax_says_that_it_has_no_doubles() -> None:
    jax = pytest.importorskip("jax")
    if jax.config.jax_enable_x64:
        pytest.skip("JAX has float64")
    whole = jax.numpy.ones((20, 3), int)
    with (
        pytest.warns(UserWarning, match="float64"),
        pytest.raises(TypeError, match="a: JAX has no float64 without jax_enable_x64"),
    ):
        aperture.tall_svd(whole)


def test_functions_of_cpus_take_arrays_on_a_gpu(library: Any) -> None:
    random = np.random.default_rng(3)
    uv = random.normal(size=(20, 30, 2)).astype(np.float32)
    video = random.integers(90, 110, (12, 20, 30), np.uint8)
    video[8:, 5:15, 5:15] = 200
    there = [library.array(array) for array in (uv, -uv, video, video[0])]
    assert aperture.flow_errors(*there[:2]) == aperture.flow_errors(uv, -uv)
    subtracts = [aperture.BackgroundSubtractor(burn_in=4) for _ in range(2)]
    for found, expected in (
        (aperture.flow_to_image(there[0]), aperture.flow_to_image(uv)),
        (aperture.flow_consistency(*there[:2]), aperture.flow_consistency(uv, -uv)),
        (aperture.foreground_masks(*there[2:]), aperture.foreground_masks(video, video[0])),
        (subtracts[0].fit(there[2]), subtracts[1].fit(video)),
        (subtracts[0].background, subtracts[1].background),
        (subtracts[0].apply(there[3]), subtracts[1].apply(video[0])),
        (subtracts[0].background, subtracts[1].background),
    ):
        assert isinstance(found, library.type())
        assert str(getattr(found, "device", "")) == str(getattr(there[0], "device", ""))
        assert (library.host(found) == expected).all()
        assert library.host(found).dtype == expected.dtype
    with pytest.raises(TypeError, match="truth: expected an array of"):
        aperture.flow_errors(there[0], uv)
    # JAX converts its arrays itself where NumPy's are expected.
    if library.name != "jax":
        with pytest.raises(TypeError, match="truth: .*expected host memory"):
            aperture.flow_errors(uv, there[1])


def test_a_sweep_of_a_background_agrees_with_the_cpu(library: Any) -> None:
    frames = video()
    truth = frames > 200
    raw: dict[str, Any] = {"clean": 0, "fill_holes": False, "remove_shadows": False}
    for more in ({}, raw):
        found, expected = (
            aperture.sweep.background(
                given, truth=truth, lam=[0.01, 0.03], threshold=[17.5, 60.0], device=device, **more
            )
            for given, device in ((library.array(frames), "auto"), (frames, "cpu"))
        )
        assert found.scores["rank"].tolist() == expected.scores["rank"].tolist()
        assert np.allclose(found.scores["f_measure"], expected.scores["f_measure"], atol=0.01)
        assert isinstance(found.result.low_rank, library.type())
        assert isinstance(found.result.masks, library.type())
        masks = library.host(found.result.masks)
        assert (masks != expected.result.masks).mean() < 0.01


def test_results_go_back_to_the_gpu_that_the_arrays_are_on() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    uv = torch.zeros((20, 30, 2), device="cuda:1")
    assert aperture.flow_to_image(uv).device == uv.device
    u, s, vt = aperture.tall_svd(torch.rand((300, 5), device="cuda:1"))
    assert u.device == s.device == vt.device == uv.device
    with pytest.raises(ValueError, match="truth: on GPU 0, but the first array is on GPU 1"):
        aperture.flow_errors(uv, uv.to("cuda:0"))


def test_too_little_memory_makes_a_gpu_unfit() -> None:
    with pytest.raises(aperture.UnfitDevice, match="cudaErrorMemoryAllocation"):
        gpu_core().DeviceMemory(2**46, 0)


def test_an_interrupt_ends_the_wait_for_a_long_kernel(interrupted: Callable[..., float]) -> None:
    image = np.random.default_rng(1).integers(0, 256, (5000, 5000), np.uint8)

    def run() -> None:
        aperture.correlate(
            image,
            image[::-1],
            planes="grey",
            offsets=(600, 600),
            method="direct",
            precision="fp64",
            device="gpu",
        )

    assert interrupted(run, after=1.0) < 1
    small = aperture.correlate(image[:50, :50], planes="grey", method="direct", device="gpu")
    expected = aperture.correlate(image[:50, :50], planes="grey", method="direct", device="cpu")
    assert np.allclose(small.surface, expected.surface, atol=1e-5)


def test_an_interrupt_ends_a_long_rpca(interrupted: Callable[..., float]) -> None:
    matrix = np.random.default_rng(1).normal(size=(100, 50_000))
    place = StagedPlace(HostPlace(matrix, None), 0)
    parameters = core.RpcaParameters()
    parameters.tolerance, parameters.max_iterations = 1e-300, 2**31 - 1
    pca = place.core.RobustPca_float64(*matrix.shape, parameters, place.where)
    there = place.input("matrix", matrix, np.float64)
    parts = [place.new(matrix.shape, np.float64) for _ in range(2)]

    def run(progress: Callable[[int, float], None] | None = None) -> None:
        arrays = [place.handle(array, pca) for array in (there, *parts)]
        pca.run(place.stream(pca), *arrays, progress)

    def end(iteration: int, residual: float) -> None:
        if iteration == 10:
            raise StopIteration

    with pytest.raises(StopIteration):
        run(end)
    expected = [place.result(part, pca) for part in parts]
    assert interrupted(run) < 1
    # The same object computes the same afterwards, up to the order of Jacobi's rotations.
    with pytest.raises(StopIteration):
        run(end)
    for part, before in zip(parts, expected, strict=True):
        assert np.allclose(place.result(part, pca), before, atol=1e-12)


def test_import_starts_no_gpu() -> None:
    script = (
        "import aperture; maps = open('/proc/self/maps').read();"
        "assert not any(name in maps for name in ('cublas', 'nvrtc', 'libcuda.so', '_gpu.')), maps"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_gpus_are_described() -> None:
    gpus = aperture.gpu_info()
    assert gpus and gpus[0]["device"] == 0
    assert gpus[0]["compute_capability"] >= 8
    assert "SMs" in gpus[0]["name"]


def test_cublas_repeats_what_it_cannot_factor() -> None:
    zeros = np.zeros((2, 4, 32), np.complex64)
    for implementation in ("fused", "staged", "cublas"):
        result = aperture.stap(zeros, training_block=16, impl=implementation, device="gpu")
        assert (result.info != 0).all() and not result.output.any()
