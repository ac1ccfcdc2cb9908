# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Where calls compute, with a GPU whose memory is the host's and a library of arrays on it."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import aperture
from aperture import _cuda, _places
from aperture._extension import core

CUBE, TARGETS = aperture.simulate_clutter((4, 8, 100), seed=2, targets=[(50, 0.25, 0.0, 10.0)])
RANDOM = np.random.default_rng(5)
IMAGES = RANDOM.integers(0, 256, (3, 24, 36), np.uint8)
MATRIX = RANDOM.normal(size=(300, 6))
BATCH = RANDOM.normal(size=(7, 4, 4)) + 1j * RANDOM.normal(size=(7, 4, 4))
DERIVATIVES = RANDOM.normal(size=(3, 12, 17)).astype(np.float32)
UV = RANDOM.normal(size=(24, 36, 2)).astype(np.float32)


class DeviceMemory:
    def __init__(self, size: int, gpu: int) -> None:
        self._bytes = np.full(size, 255, np.uint8)

    def array(self, offset: int, shape: tuple[int, ...], dtype: str) -> Any:
        count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return self._bytes[offset : offset + count].view(dtype).reshape(shape)

    def load(self, source: Any) -> None:
        assert source.shape == self._bytes.shape
        self._bytes[:] = source

    def store(self, target: Any) -> None:
        assert target.shape == self._bytes.shape
        target[:] = self._bytes


class Worker:
    """An object of the module for CPUs, with what those on GPUs have besides."""

    stream = 0

    def __init__(self, of_cpu: Any) -> None:
        self._of_cpu = of_cpu

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of_cpu, name)

    def synchronize(self) -> None:
        pass


class GpuModule:
    """Stands for the module of a GPU, which may be unfit for all work."""

    __name__ = "fake"
    DeviceMemory = DeviceMemory

    def __init__(self, unfit: bool) -> None:
        self._unfit = unfit
        self.made: list[str] = []

    def status(self, gpu: int) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        def make(*arguments: Any) -> Worker:
            if self._unfit:
                raise core.UnfitDevice("too little memory")
            self.made.append(name)
            return Worker(getattr(core, name)(*arguments))

        return make


@pytest.fixture
def gpu_module(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GpuModule]:
    module = GpuModule(getattr(request, "param", False))
    monkeypatch.setattr(_places, "has_gpu", lambda: True)
    for user in (_places, _cuda):
        monkeypatch.setattr(user, "gpu_core", lambda: module)
    aperture.clear_cache()
    yield module
    aperture.clear_cache()


# Each returns arrays.
CALLS: dict[str, Callable[..., Any]] = {
    "stap": lambda **given: [aperture.stap(CUBE, azimuth=[0.0, 10.0], **given).output],
    "flow": lambda **given: [aperture.flow(IMAGES[0], IMAGES[1], **given)],
    "batch": lambda **given: [aperture.flow(IMAGES[:-1], IMAGES[1:], **given)],
    "warp": lambda **given: [aperture.warp(IMAGES[0], UV, **given)],
    "solve": lambda **given: aperture.solve_horn_schunck(*DERIVATIVES, alpha=0.5, **given),
    "correlate": lambda **given: [aperture.correlate(IMAGES[0], planes="grey", **given).surface],
    "rpca": lambda **given: [aperture.rpca(MATRIX, **given).low_rank],
    "qr": lambda **given: aperture.qr(MATRIX, **given),
    "tall_svd": lambda **given: aperture.tall_svd(MATRIX, **given),
    "dense.solve": lambda **given: aperture.dense.solve(BATCH, BATCH[:1, :, :2], **given),
    "dense.lu": lambda **given: aperture.dense.lu(BATCH.swapaxes(1, 2), **given),
    "dense.qr": lambda **given: aperture.dense.qr(BATCH[:, :, :3], **given),
    "dense.svd": lambda **given: aperture.dense.svd(BATCH[:, :, :3], **given),
    "dense.det": lambda **given: [aperture.dense.det(BATCH, **given)],
}


@pytest.fixture(params=CALLS)
def call(request: pytest.FixtureRequest) -> Any:
    return CALLS[request.param]


def test_host_arrays_go_to_a_gpu_and_come_back(call: Any, gpu_module: GpuModule) -> None:
    expected = call(device="cpu")
    assert not gpu_module.made
    for device in ("auto", "gpu"):
        aperture.clear_cache()
        gpu_module.made.clear()
        for one, other in zip(call(device=device), expected, strict=True):
            assert type(one) is np.ndarray and (one == other).all()
        assert gpu_module.made


def test_results_are_stored_in_the_callers_arrays(gpu_module: GpuModule) -> None:
    estimate = aperture.FlowEstimator(IMAGES.shape[1:])
    outs = [np.empty((24, 36, 2), np.float32) for _ in range(3)]
    for i, out in enumerate(outs):
        assert estimate(IMAGES[i], IMAGES[i - 1], out=out) is out
        # Memory of the call before must not be taken for this one's.
        estimate(IMAGES[i - 1], IMAGES[i])
    for i, out in enumerate(outs):
        expected = aperture.flow(IMAGES[i], IMAGES[i - 1], device="cpu")
        assert (out == expected).all()
    with pytest.raises(ValueError, match="out: shape"):
        estimate(IMAGES[0], IMAGES[1], out=outs[0][1:])


# Sweeps of a dozen runs, and the arrays of a result.
SWEEPS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "flow": (
        lambda **given: aperture.sweep.flow(
            IMAGES[0], IMAGES[1], truth=UV, alpha=np.geomspace(1, 50, 12), **given
        ),
        (),
    ),
    "stap": (
        lambda **given: aperture.sweep.stap(
            CUBE, truth=TARGETS, loading=np.geomspace(0.01, 1, 12), detector="amf", **given
        ),
        ("output", "statistic", "info", "attempt", "detections"),
    ),
    "correlate": (
        lambda **given: aperture.sweep.correlate(
            IMAGES[0], IMAGES[1], sigma=np.geomspace(0.5, 4, 12), **given
        ),
        ("surface", "planes", "overlap"),
    ),
}


@pytest.mark.parametrize("keep", ["best", "all"])
@pytest.mark.parametrize("name", SWEEPS)
def test_runs_of_a_sweep_are_on_their_way_to_a_gpu(
    name: str, keep: str, gpu_module: GpuModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, arrays = SWEEPS[name]
    expected = sweep(keep=keep, device="cpu")
    allocated: list[int] = []
    make = DeviceMemory.__init__

    def counted(self: Any, size: int, gpu: int) -> None:
        allocated.append(size)
        make(self, size, gpu)

    monkeypatch.setattr(DeviceMemory, "__init__", counted)
    found = sweep(keep=keep, device="gpu")
    assert len(gpu_module.made) == 4
    # Results in memory of runs that are gone: at most six sets of five arrays, and the inputs.
    assert len(allocated) <= 32
    for field in expected.scores.dtype.names:
        if field != "ms":
            np.testing.assert_array_equal(found.scores[field], expected.scores[field])
    for one, other in zip(
        found.results or [found.result], expected.results or [expected.result], strict=True
    ):
        pairs = [(getattr(one, array), getattr(other, array)) for array in arrays] or [(one, other)]
        for mine, theirs in pairs:
            assert type(mine) is np.ndarray and (mine == theirs).all()


@pytest.mark.parametrize("gpu_module", [True], indirect=True)
def test_the_cpu_computes_what_an_automatic_gpu_is_unfit_for(
    call: Any, gpu_module: GpuModule
) -> None:
    with pytest.warns(UserWarning, match="computing on the CPU: too little memory"):
        found = call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = call(device="cpu")
        for one, other in zip(found, expected, strict=True):
            assert (one == other).all()
        with pytest.raises(aperture.UnfitDevice, match="too little memory"):
            call(device="gpu")
    assert issubclass(aperture.UnfitDevice, aperture.DeviceError)


@pytest.mark.parametrize("gpu_module", [True], indirect=True)
def test_the_warning_is_the_callers(gpu_module: GpuModule) -> None:
    with pytest.warns(UserWarning) as caught:
        aperture.qr(MATRIX)
        aperture.FlowEstimator(IMAGES.shape[1:])(IMAGES[0], IMAGES[1])
    assert [warning.filename for warning in caught] == [__file__, __file__]


def test_arrays_on_an_unfit_gpu_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(place: Any) -> None:
        raise core.UnfitDevice("too little memory")

    # Such a place has no other home.
    monkeypatch.setattr(_places, "place_of", lambda *_: _places.HostPlace(None, 1))
    with pytest.raises(aperture.UnfitDevice):
        _places.at_place(None, "auto", None, work)


class CupyDevice:
    current = 0

    def __init__(self, number: int) -> None:
        self.id = number

    def __enter__(self) -> None:
        self._before, CupyDevice.current = CupyDevice.current, self.id

    def __exit__(self, *_: Any) -> None:
        CupyDevice.current = self._before


class CupyArray:
    def __init__(self, host: Any, gpu: int) -> None:
        self.on_host, self.device = np.array(host), CupyDevice(gpu)
        self.shape, self.dtype = self.on_host.shape, self.on_host.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device.id

    def __array__(self, *_: Any) -> Any:
        raise TypeError("implicit conversion to a NumPy array is not allowed")


CupyArray.__module__ = "cupy"


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes arrays of a stand-in for CuPy."""
    cupy: Any = types.ModuleType("cupy")
    cupy.asarray = lambda host: CupyArray(host, CupyDevice.current)

    def asnumpy(array: CupyArray) -> Any:
        assert array.device.id == CupyDevice.current
        return array.on_host.copy()

    cupy.asnumpy = asnumpy
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return CupyArray


VIDEO = RANDOM.integers(90, 110, (12, 20, 30), np.uint8)
VIDEO[8:, 5:15, 5:15] = 200


def applied(frames: list[Any]) -> list[Any]:
    subtract = aperture.BackgroundSubtractor(burn_in=4)
    masks = [subtract.apply(frame) for frame in frames]
    return [*masks[2:6], subtract.background]


def fitted(frames: Any) -> list[Any]:
    subtract = aperture.BackgroundSubtractor("median")
    return [subtract.fit(frames), subtract.background]


def stabilised(frames: Any) -> list[Any]:
    camera = aperture.CameraMotion(frames, "shift")
    common = camera.to_common(frames)
    return [common, camera.from_common(common, frames)]


# Functions that compute on CPUs only, and their arrays.
CPU_CALLS: list[tuple[Callable[..., list[Any]], list[Any]]] = [
    (lambda uv: [aperture.flow_to_image(uv)], [UV]),
    (lambda uv, truth: [aperture.flow_consistency(uv, truth)], [UV, -UV]),
    (lambda *frames: applied(list(frames)), list(VIDEO)),
    (fitted, [VIDEO]),
    (lambda *given: [aperture.foreground_masks(*given)], [VIDEO, VIDEO[0]]),
    (stabilised, [VIDEO]),
]


@pytest.mark.parametrize(("function", "arrays"), CPU_CALLS)
def test_results_go_back_to_the_gpu_of_the_arrays(
    function: Any, arrays: list[Any], on_gpu: Callable[..., Any]
) -> None:
    expected = function(*arrays)
    found = function(*(on_gpu(array, 1) for array in arrays))
    for one, other in zip(found, expected, strict=True):
        assert type(one) is CupyArray and one.device.id == 1
        assert one.on_host.dtype == other.dtype and (one.on_host == other).all()


def test_errors_of_flows_on_a_gpu(on_gpu: Callable[..., Any]) -> None:
    expected = aperture.flow_errors(UV, UV + 1)
    assert aperture.flow_errors(on_gpu(UV, 1), on_gpu(UV + 1, 1)) == expected


def test_arrays_that_are_not_on_one_gpu_are_refused(on_gpu: Callable[..., Any]) -> None:
    there = on_gpu(UV, 1)
    for function in (aperture.flow_errors, aperture.flow_consistency):
        with pytest.raises(TypeError, match="expected an array of cupy on GPU 1, not ndarray"):
            function(there, UV)
        with pytest.raises(ValueError, match="on GPU 0, but the first array is on GPU 1"):
            function(there, on_gpu(UV, 0))
        with pytest.raises(TypeError, match="an array of CuPy, expected host memory"):
            function(UV, there)
    with pytest.raises(TypeError, match="background: expected an array of cupy on GPU 1"):
        aperture.foreground_masks(on_gpu(VIDEO, 1), VIDEO[0])


def test_masks_are_stored_in_host_memory_only(on_gpu: Callable[..., Any]) -> None:
    subtract = aperture.BackgroundSubtractor()
    out = np.full((20, 30), 7, np.uint8)
    assert subtract.apply(on_gpu(VIDEO[0], 1), out=out) is out and not out.any()
    with pytest.raises(TypeError, match="out: an array of CuPy, expected host memory"):
        subtract.apply(on_gpu(VIDEO[0], 1), out=on_gpu(out, 1))
