# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrays on GPUs: of each library there is, and each GPU."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import aperture
from aperture._cuda import StagedPlace
from aperture._extension import core, gpu_core, has_gpu
from aperture._places import HostPlace

pytestmark = pytest.mark.skipif(not has_gpu(), reason="no GPU can be used")


class Torch:
    name = "torch"

    def __init__(self, gpu: int) -> None:
        self.module = importlib.import_module("torch")
        self.device = f"cuda:{gpu}"

    def array(self, host: Any) -> Any:
        return self.module.from_numpy(host).to(self.device)

    def host(self, array: Any) -> Any:
        return array.cpu().numpy()

    def type(self) -> Any:
        return self.module.Tensor


class Cupy:
    name = "cupy"

    def __init__(self, gpu: int) -> None:
        self.module = importlib.import_module("cupy")
        self.gpu = gpu

    def array(self, host: Any) -> Any:
        with self.module.cuda.Device(self.gpu):
            return self.module.asarray(host)

    def host(self, array: Any) -> Any:
        return self.module.asnumpy(array)

    def type(self) -> Any:
        return self.module.ndarray


class Jax:
    name = "jax"

    def __init__(self, gpu: int) -> None:
        self.module = importlib.import_module("jax")
        # Products of the tests, too, are to be those of fp32.
        self.module.config.update("jax_default_matmul_precision", "highest")
        self.device = self.module.devices("gpu")[gpu]

    def array(self, host: Any) -> Any:
        return self.module.device_put(host, self.device)

    def host(self, array: Any) -> Any:
        return np.asarray(array)

    def type(self) -> Any:
        return self.module.Array


LIBRARIES: list[Any] = [Torch, Cupy, Jax]


@pytest.fixture(params=LIBRARIES, ids=[library.name for library in LIBRARIES])
def library(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param.name)
    return request.param(0)


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


@pytest.fixture(scope="module")
def images() -> Any:
    """Two colour images with a known shift, uint8 [image, row, column, channel]."""
    y, x = np.mgrid[:60, :90]
    moved = [
        128 + 60 * np.sin(0.2 * (x - 2 * i) + 0.1 * y + c) + 50 * np.cos(0.25 * (y + i))
        for i in (0, 1)
        for c in range(3)
    ]
    levels = np.clip(moved, 0, 255).reshape(2, 3, 60, 90)
    return np.moveaxis(levels, 1, -1).astype(np.uint8)


@pytest.mark.parametrize("parameters", [{}, {"preset": "accurate"}, {"method": "lk"}])
def test_flow_stays_in_the_library_and_agrees_with_the_cpu(
    library: Any, images: Any, parameters: dict[str, Any]
) -> None:
    there = [library.array(image) for image in images]
    uv = aperture.flow(there[0], there[1], **parameters)
    assert isinstance(uv, library.type()) and tuple(uv.shape) == (60, 90, 2)
    expected = aperture.flow(images[0], images[1], device="cpu", **parameters)
    assert np.median(np.abs(library.host(uv) - expected)) < 1e-3
    again = aperture.flow(there[0], there[1], initial=uv, **parameters)
    started = aperture.flow(images[0], images[1], initial=expected, device="cpu", **parameters)
    assert np.median(np.abs(library.host(again) - started)) < 1e-3


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_flow_of_images_of_every_type(library: Any, images: Any, kind: Any) -> None:
    scale = 257 if kind is np.uint16 else 1
    pair = (images[..., 0].astype(int) * scale).astype(kind)
    uv = library.host(aperture.flow(library.array(pair[0]), library.array(pair[1])))
    usual = aperture.flow(images[0, ..., 0].copy(), images[1, ..., 0].copy(), device="gpu")
    assert (uv == usual).all()


def test_flow_of_batches_and_into_arrays(library: Any, images: Any) -> None:
    both = library.array(images), library.array(images[::-1].copy())
    estimate = aperture.FlowEstimator((60, 90))
    uv = estimate(*both)
    single = estimate(library.array(images[1]), library.array(images[0]))
    assert (library.host(uv)[1] == library.host(single)).all()
    if library.name != "jax":
        waits, allocations = gpu_core().waits(), gpu_core().allocations()
        assert estimate(*both, out=uv) is uv
        assert (gpu_core().waits(), gpu_core().allocations()) == (waits, allocations)


def test_warping_agrees_with_the_cpu(library: Any, images: Any) -> None:
    uv = np.random.default_rng(1).normal(size=(60, 90, 2)).astype(np.float32)
    for image in (images[0].astype(np.float32), images[0, ..., 1].astype(np.float32)):
        there = aperture.warp(library.array(image), library.array(uv))
        assert isinstance(there, library.type())
        expected = aperture.warp(image, uv, device="cpu")
        assert np.abs(library.host(there) - expected).max() < 1e-2


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


@pytest.mark.parametrize("solver", ["jacobi", "block2x2", "cg", "cacg", "redblack", "multigrid"])
@pytest.mark.parametrize("boundary", ["replicate", "zero"])
@pytest.mark.parametrize("stencil", [5, 9])
def test_systems_are_solved_as_on_the_cpu(
    library: Any, solver: str, boundary: str, stencil: int
) -> None:
    derivatives = np.random.default_rng(2).normal(size=(3, 37, 53)).astype(np.float32)

    def solve(planes: list[Any], device: str = "auto") -> Any:
        return aperture.solve_horn_schunck(
            *planes,
            alpha=0.7,
            solver=solver,
            iterations=2000,
            tolerance=1e-6,
            boundary=boundary,
            stencil=stencil,
            device=device,
        )

    u, v, history = solve([library.array(plane) for plane in derivatives])
    assert isinstance(u, library.type()) and isinstance(v, library.type())
    assert type(history) is np.ndarray
    assert history[0] == pytest.approx(1) and history[-1] < 1e-6
    expected = solve(list(derivatives), "cpu")
    assert np.allclose(library.host(u), expected[0], atol=1e-4)
    assert np.allclose(library.host(v), expected[1], atol=1e-4)
    staged = solve(list(derivatives), "gpu")
    assert type(staged[0]) is np.ndarray
    assert (staged[0] == library.host(u)).all() and (staged[1] == library.host(v)).all()
    assert (staged[2] == history).all()


def test_bad_systems_on_a_gpu(library: Any) -> None:
    there = library.array(np.ones((20, 30), np.float32))
    for planes, error, message in (
        ((there, there, np.ones((20, 30))), TypeError, "it: expected an array of"),
        ((there, there[1:], there), ValueError, r"iy: shape \(19, 30\), of ix \(20, 30\)"),
        ((there, there / 0, there), ValueError, "iy: elements are NaN or infinite"),
        ((there, there * 1e30, there), ValueError, "products of ix, iy and it"),
    ):
        with pytest.raises(error, match=message):
            aperture.solve_horn_schunck(*planes, alpha=1.0)


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


CORRELATIONS = [
    {},
    {"planes": "grey", "estimator": "unbiased", "signed": True},
    {"planes": "rgb", "estimator": "pearson"},
    {"planes": "gradient", "method": "direct"},
]


@pytest.mark.filterwarnings("ignore:the largest value")
@pytest.mark.parametrize("arguments", CORRELATIONS, ids=[str(i) for i in range(4)])
@pytest.mark.parametrize("masked", [False, True])
def test_correlations_stay_in_the_library_and_agree_with_the_cpu(
    library: Any, images: Any, arguments: dict[str, Any], masked: bool
) -> None:
    mask = (np.mgrid[:60, :90][1] > 20).astype(np.uint8) if masked else None
    there = [library.array(image) for image in images]
    found = aperture.correlate(
        *there, **arguments, mask=None if mask is None else library.array(mask)
    )
    expected = aperture.correlate(*images, **arguments, mask=mask, device="cpu")
    assert isinstance(found.surface, library.type())
    assert isinstance(found.overlap, library.type())
    bound = 1e-4 * np.abs(expected.surface).max()
    assert np.abs(library.host(found.surface) - expected.surface).max() < bound
    assert np.abs(library.host(found.planes) - expected.planes).max() < bound
    assert (library.host(found.overlap) == expected.overlap).all()
    assert (found.dy == expected.dy).all() and (found.dx == expected.dx).all()
    if expected.peak is not None and expected.on_border is None:
        assert found.peak == pytest.approx(expected.peak, abs=0.05)
    staged = aperture.correlate(*images, **arguments, mask=mask, device="gpu")
    assert type(staged.surface) is np.ndarray
    # Without jax_enable_x64 JAX rounds to float32.
    surface = library.host(found.surface)
    assert (staged.surface.astype(surface.dtype) == surface).all()


def test_correlations_do_not_wait(library: Any, images: Any) -> None:
    there = [library.array(image) for image in images]
    several: list[dict[str, Any]] = [{}, {"estimator": "pearson"}]
    for arguments in several:
        aperture.correlate(*there, **arguments)
        waits = gpu_core().waits()
        found = aperture.correlate(*there, **arguments)
        assert gpu_core().waits() == waits
        assert found.peak is not None


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_correlations_of_images_of_every_type(library: Any, images: Any, kind: Any) -> None:
    scale = 257 if kind is np.uint16 else 1
    pair = [library.array((image.astype(int) * scale).astype(kind)) for image in images]
    found = aperture.correlate(*pair)
    usual = aperture.correlate(*(library.array(image) for image in images))
    assert (library.host(found.surface) == library.host(usual.surface)).all()
    planes = library.array(np.moveaxis(images, -1, 1)[0].astype(np.float32))
    of_planes = aperture.correlate(planes, planes=None)
    expected = aperture.correlate(
        np.moveaxis(images, -1, 1)[0].astype(np.float32), planes=None, device="cpu"
    )
    bound = 1e-4 * np.abs(expected.surface).max()
    assert np.abs(library.host(of_planes.surface) - expected.surface).max() < bound


# Of a, Hermitian positive definite [..., n, n], and b, [..., n, k]: arrays that are the same
# wherever they are computed.
BATCH_CALLS: dict[str, Callable[..., Any]] = {
    "cholesky": lambda a, b, **given: list(aperture.dense.cholesky(a, **given)),
    "upper": lambda a, b, **given: list(aperture.dense.cholesky(a, upper=True, **given)),
    "lu": lambda a, b, **given: list(aperture.dense.lu(a, **given)),
    "lu_only": lambda a, b, **given: list(aperture.dense.lu(a, pivoting=False, **given)),
    "solve": lambda a, b, **given: list(aperture.dense.solve(a, b, **given)),
    "pos": lambda a, b, **given: list(aperture.dense.solve(a, b, assume_a="pos", **given)),
    "inv": lambda a, b, **given: list(aperture.dense.inv(a, **given)),
    "det": lambda a, b, **given: [aperture.dense.det(a / 10, **given)],
    "qr": lambda a, b, **given: _products(*aperture.dense.qr(a[..., :5], **given)),
    "r": lambda a, b, **given: [abs(aperture.dense.qr(a, mode="r", **given))],
    "lstsq": lambda a, b, **given: list(aperture.dense.lstsq(a[..., :5], b, **given)),
    "eigh": lambda a, b, **given: _of_eigh(*aperture.dense.eigh(a, **given)),
    "svd": lambda a, b, **given: _of_svd(*aperture.dense.svd(a[..., :5], **given)),
    "wide": lambda a, b, **given: _of_svd(*aperture.dense.svd(a[..., :5, :], **given)),
    "matmul": lambda a, b, **given: [aperture.dense.matmul(a, b, **given)],
}


def _products(q: Any, r: Any) -> list[Any]:
    return [q @ r, abs(r)]


def _of_eigh(values: Any, vectors: Any, info: Any) -> list[Any]:
    return [values, (vectors * values[..., None, :]) @ vectors.conj().swapaxes(-1, -2), info]


def _of_svd(u: Any, s: Any, vh: Any, info: Any) -> list[Any]:
    return [(u * s[..., None, :]) @ vh, s, info]


def _batches(dtype: Any) -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    a, b = random.normal(size=(2, 50, 9, 9)), random.normal(size=(2, 50, 9, 3))
    if np.dtype(dtype).kind == "c":
        a, b = a + 1j * random.normal(size=a.shape), b + 1j * random.normal(size=b.shape)
    hermitian = a @ np.conj(a.swapaxes(-1, -2)) / 9 + np.eye(9)
    return hermitian.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("name", BATCH_CALLS)
def test_batches_stay_in_the_library_and_agree_with_the_cpu(
    library: Any, name: str, dtype: Any
) -> None:
    if library.name == "jax" and dtype in (np.float64, np.complex128):
        pytest.skip("JAX has float64 only with jax_enable_x64")
    a, b = _batches(dtype)
    there = BATCH_CALLS[name](library.array(a), library.array(b))
    assert all(isinstance(array, library.type()) for array in there)
    found = [library.host(array) for array in there]
    expected = BATCH_CALLS[name](a, b, device="cpu")
    staged = BATCH_CALLS[name](a, b, device="gpu")
    for one, other, third in zip(found, expected, staged, strict=True):
        assert one.dtype == other.dtype == third.dtype
        assert one.shape == other.shape == third.shape
        bound = 1e3 * np.finfo(dtype).eps * np.abs(other).max()
        assert np.abs(one - other).max() <= bound
        assert np.abs(third - other).max() <= bound


def _by_columns(library: Any, a: Any) -> Any:
    return library.array(np.ascontiguousarray(a.swapaxes(-1, -2))).swapaxes(-1, -2)


def _interleaved(library: Any, a: Any) -> Any:
    a = np.ascontiguousarray(np.moveaxis(a.reshape(100, *a.shape[2:]), 0, -1))
    return library.array(a).swapaxes(1, 2).swapaxes(0, 1).reshape((2, 50, *a.shape[:2]))


def _reversed(library: Any, a: Any) -> Any:
    if library.name == "torch":
        return library.array(a[..., ::-1].copy()).flip(-1)
    return library.array(a[..., ::-1].copy())[..., ::-1]


def _repeated(library: Any, a: Any) -> Any:
    return library.array(np.repeat(a, 2, axis=-1))[..., ::2]


@pytest.mark.parametrize("layout", [_by_columns, _interleaved, _reversed, _repeated])
def test_batches_of_any_layout(library: Any, layout: Callable[..., Any]) -> None:
    a, b = _batches(np.complex64)
    there = layout(library, a), layout(library, b)
    assert (library.host(there[0]) == a).all() and (library.host(there[1]) == b).all()
    for name in ("cholesky", "solve", "qr", "svd", "matmul"):
        found = BATCH_CALLS[name](*there)
        for one, other in zip(found, BATCH_CALLS[name](a, b, device="cpu"), strict=True):
            assert np.allclose(library.host(one), other, atol=1e-4)


def test_bad_matrices_and_empty_batches_on_a_gpu(library: Any) -> None:
    a, b = _batches(np.float32)
    a[0, 3] = 0
    a[1, 7, 0, 0] = np.nan
    for assume_a in ("gen", "pos"):
        x, info = aperture.dense.solve(library.array(a), library.array(b), assume_a=assume_a)
        info = library.host(info)
        assert info[0, 3] == 1 and info[1, 7] == 1 and np.count_nonzero(info) == 2
        assert not library.host(x)[0, 3].any() and not library.host(x)[1, 7].any()
    if library.name != "jax":
        empty = aperture.dense.solve(library.array(a)[:0], library.array(b)[:0])
        assert tuple(empty.x.shape) == (0, 50, 9, 3) and tuple(empty.info.shape) == (0, 50)
        nothing = aperture.dense.inv(library.array(a)[..., :0, :0])
        assert tuple(nothing.inverse.shape) == (2, 50, 0, 0)
        assert not library.host(nothing.info).any()
    single = aperture.dense.solve(library.array(a[0, 0]), library.array(b[0, 0, :, 0].copy()))
    assert tuple(single.x.shape) == (9,) and tuple(single.info.shape) == ()


def test_batches_do_not_wait_and_allocate_nothing(library: Any) -> None:
    if library.name == "jax":
        pytest.skip("results for JAX are memory of our own")
    a, b = (library.array(array) for array in _batches(np.float32))
    for name, call in BATCH_CALLS.items():
        call(a, b)
        waits, allocations = gpu_core().waits(), gpu_core().allocations()
        call(a, b)
        assert (gpu_core().waits(), gpu_core().allocations()) == (waits, allocations), name


def test_batches_are_in_the_order_of_the_callers_stream() -> None:
    torch = pytest.importorskip("torch")
    a, b = _batches(np.complex64)
    expected = aperture.dense.solve(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()).x.cpu()
    with torch.cuda.stream(torch.cuda.Stream()):
        busy = torch.rand(8192, 8192, device="cuda")
        for _ in range(5):
            busy = busy @ busy / 8192
        there = torch.from_numpy(a).cuda(non_blocking=True)
        sides = torch.from_numpy(b / 2).cuda(non_blocking=True)
        sides *= 2
        x = aperture.dense.solve(there, sides).x
        there.zero_()
        sides.zero_()
        x = (x + 0).cpu()
    assert (x == expected).all()


def test_bad_calls_of_batches_on_a_gpu(library: Any) -> None:
    a, b = _batches(np.float32)
    there = library.array(a)
    with pytest.raises(TypeError, match="b: expected an array of"):
        aperture.dense.solve(there, b)
    with pytest.raises(ValueError, match="b: shape"):
        aperture.dense.solve(there, library.array(b[..., 1:, :].copy()))
    with pytest.raises(ValueError, match="device 'cpu', but the array is on GPU 0"):
        aperture.dense.inv(there, device="cpu")
    with pytest.raises(ValueError, match="expected orders up to 128"):
        aperture.dense.inv(library.array(np.eye(200, dtype=np.float32)))


BODY = """
for (int i = team.rank; i < 3; i += team.threads) {
    T sum = gain * z();
    for (int j = 0; j < 4; ++j) sum += p(i, j) * x(j);
    y(i) = sum;
}
if (team.rank == 0) length() = x(0);
"""


def _operands(kind: Any = np.float32) -> dict[str, Any]:
    random = np.random.default_rng(1)
    shapes = {"p": (1000, 3, 4), "x": (1000, 4), "z": (1000,)}
    return {name: random.normal(size=shape).astype(kind) for name, shape in shapes.items()}


@pytest.mark.parametrize("team", [1, 4, 64])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_bodies_of_text_compute_on_every_problem(library: Any, team: int, kind: Any) -> None:
    if library.name == "jax" and kind is np.float64:
        pytest.skip("JAX has float64 only with jax_enable_x64")
    host = _operands(kind)
    expected = (host["p"] @ host["x"][..., None])[..., 0] + 3 * host["z"][:, None]
    by_problem = library.array(np.ascontiguousarray(np.moveaxis(host["p"], 0, -1)))
    layouts = [
        library.array(host["p"]),
        library.array(np.ascontiguousarray(host["p"].swapaxes(1, 2))).swapaxes(1, 2),
        by_problem.swapaxes(1, 2).swapaxes(0, 1),
    ]
    for p in layouts:
        assert (library.host(p) == host["p"]).all()
        inputs = {"p": p, "x": library.array(host["x"]), "z": library.array(host["z"])}
        outputs = {"y": (3,), "length": ()}
        found = aperture.dense.for_each(BODY, inputs, outputs, parameters={"gain": 3}, team=team)
        assert list(found) == ["y", "length"]
        assert all(isinstance(array, library.type()) for array in found.values())
        y, length = (library.host(array) for array in found.values())
        assert y.dtype == length.dtype == kind
        assert np.abs(y - expected).max() < 50 * np.finfo(kind).eps
        assert (length == host["x"][:, 0]).all()
    staged = aperture.dense.for_each(BODY, host, outputs, parameters={"gain": 3}, team=team)
    assert np.abs(staged["y"] - expected).max() < 50 * np.finfo(kind).eps


def test_bad_bodies_are_refused_with_their_line() -> None:
    host = _operands()
    with pytest.raises(ValueError, match=r"does not compile:\n(.|\n)*body\(2\).*nonsense"):
        aperture.dense.for_each("y() = z();\nnonsense;", host, {"y": ()})
    with pytest.raises(ValueError, match="the name x is taken"):
        aperture.dense.for_each("", host, {"x": ()})
    with pytest.raises(ValueError, match="z holds 9 problems, must hold 1000"):
        aperture.dense.for_each("", {**host, "z": host["z"][:9]}, {"y": ()})
    with pytest.raises(ValueError, match="3 threads"):
        aperture.dense.for_each("", host, {"y": ()}, team=3)
    nothing = {name: array[:0] for name, array in host.items()}
    assert aperture.dense.for_each("y() = z();", nothing, {"y": (2,)})["y"].shape == (0, 2)
