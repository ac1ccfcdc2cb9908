# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Batches of small matrices on GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aperture
from aperture._extension import gpu_core, has_gpu

pytestmark = pytest.mark.skipif(not has_gpu(), reason="no GPU can be used")


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
