# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import pickle
import subprocess
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aperture

TARGET = (60, 0.25, 10.0, 10.0)


@pytest.fixture(scope="module")
def cube() -> Any:
    return aperture.simulate_clutter((4, 12, 128), targets=[TARGET], seed=3)[0]


def adapted(snapshots: Any, steering: Any) -> Any:
    """Outputs by definition, for one block of training cells and no loading."""
    covariance = snapshots @ snapshots.conj().T / snapshots.shape[1]
    weights = np.linalg.solve(covariance, steering.T)
    scale = np.abs(np.einsum("nd,dn->d", weights.conj(), steering))
    return (weights.conj().T @ snapshots) / scale[:, None]


def test_outputs_agree_with_the_definition() -> None:
    random = np.random.default_rng(5)
    cube = random.normal(size=(3, 8, 40)) + 1j * random.normal(size=(3, 8, 40))
    steering = random.normal(size=(2, 9)) + 1j * random.normal(size=(2, 9))
    result = aperture.stap(
        cube, steering=steering, domain="doppler", tdof=3, training_block=40, precision="mixed"
    )
    for k in range(8):
        taps = cube[:, [(k - 1) % 8, k, (k + 1) % 8], :]
        expected = adapted(taps.reshape(9, 40), steering)
        assert np.allclose(result.output[:, k], expected, atol=1e-5)
    assert not result.info.any()


def test_doppler_bins_are_the_transform_of_the_pulses(cube: Any) -> None:
    spectrum = np.fft.fft(cube, 16, axis=1)
    pulses = aperture.stap(cube, azimuth=[0, 10], tdof=1)
    bins = aperture.stap(spectrum, azimuth=[0, 10], tdof=1, domain="doppler")
    scale = np.abs(bins.output).max()
    assert np.abs(pulses.output - bins.output).max() < 1e-4 * scale


def test_planted_target_is_found(cube: Any) -> None:
    result = aperture.stap(cube, azimuth=[-20, 0, 10, 30], detector="amf", prf=1000)
    assert len(result.targets) == 1
    target = result.targets[0]
    assert target["range_cell"] == pytest.approx(TARGET[0], abs=0.5)
    assert target["doppler"] == pytest.approx(TARGET[1], abs=0.03)
    assert target["azimuth_degrees"] == pytest.approx(TARGET[2], abs=5)
    strongest = result.detections[0]
    assert strongest["target"] == 0
    assert strongest["statistic_db"] > strongest["threshold_db"]
    cell = strongest["steering_vector"], strongest["doppler_bin"], strongest["range_cell"]
    assert 10 * np.log10(result.statistic[cell]) == pytest.approx(strongest["statistic_db"])
    assert result.threshold is not None
    assert 10 * np.log10(result.threshold[60]) == pytest.approx(strongest["threshold_db"])
    assert result.doppler[1] == 1000 / 16
    assert result.doppler.min() == -500


def test_without_a_detector_there_are_no_statistics(cube: Any) -> None:
    result = aperture.stap(cube)
    assert result.statistic is None and result.threshold is None
    assert len(result.detections) == len(result.targets) == 0
    assert result.output.shape == (16, 16, 128)
    assert result.output.dtype == np.complex64


def test_parameters_change_results(cube: Any) -> None:
    def output(**parameters: Any) -> Any:
        return aperture.stap(cube, azimuth=[10.0], **{"training_block": 64, **parameters}).output

    usual = output()
    for parameters in (
        {"spacing": 0.4},
        {"doppler_bins": 20},
        {"taper": "hann"},
        {"tdof": 1},
        {"training": "sliding"},
        {"training": "all"},
        {"training": "sliding", "guard": 2},
        {"training_block": 32},
        {"loading": 0.1},
        {"loading": "rel:0.1"},
        {"precision": "fp32"},
    ):
        changed = output(**parameters)
        assert changed.shape != usual.shape or (changed != usual).any(), parameters
    for same in ({"impl": "staged"}, {"solver": "gauss-jordan"}):
        assert np.allclose(output(**same), usual, atol=1e-4 * np.abs(usual).max())


def test_many_directions_are_as_few(cube: Any) -> None:
    azimuths = np.linspace(-60, 60, 90)
    many = aperture.stap(cube, azimuth=azimuths, detector="amf")
    few = aperture.stap(cube, azimuth=azimuths[70:72], detector="amf")
    assert np.allclose(many.output[70:72], few.output, atol=1e-5 * np.abs(few.output).max())
    assert np.allclose(many.statistic[70:72], few.statistic, rtol=1e-3)


@pytest.mark.parametrize(
    "changed",
    [
        lambda cube: cube.astype(np.complex128),
        lambda cube: cube.astype(">c8"),
        np.asfortranarray,
        lambda cube: cube[..., ::-1].copy()[..., ::-1],
        lambda cube: np.ascontiguousarray(cube[::-1])[::-1],
        lambda cube: np.repeat(cube, 2, axis=1)[:, ::2],
        lambda cube: cube.tolist(),
    ],
    ids=["complex128", "byteorder", "fortran", "reversed", "channels", "strided", "list"],
)
def test_any_layout_gives_the_same_bits(cube: Any, changed: Callable[[Any], Any]) -> None:
    usual = aperture.stap(cube, azimuth=[0.0, 5.0])
    assert (aperture.stap(changed(cube), azimuth=[0.0, 5.0]).output == usual.output).all()


def test_real_samples_are_converted() -> None:
    samples = np.random.default_rng(1).integers(-100, 100, (2, 4, 64), np.int16)
    as_integers = aperture.stap(samples, tdof=1).output
    assert (as_integers == aperture.stap(samples.astype(complex), tdof=1).output).all()


def test_threads_do_not_change_bits(cube: Any) -> None:
    one = aperture.stap(cube, detector="glrt", threads=1)
    two = aperture.stap(cube, detector="glrt", threads=2)
    assert (one.output == two.output).all() and (one.statistic == two.statistic).all()


def test_several_cpis_are_processed_one_by_one(cube: Any) -> None:
    both = np.stack([cube[..., ::-1], cube])
    result = aperture.stap(both, azimuth=[0, 10], detector="amf")
    assert result.output.shape == (2, 2, 16, 128) and result.info.shape[0] == 2
    single = aperture.stap(cube, azimuth=[0, 10], detector="amf")
    assert (result.output[1] == single.output).all()
    second = result.targets[result.targets["cpi"] == 1]
    assert second["range_cell"].tolist() == single.targets["range_cell"].tolist()
    detections = result.detections[result.detections["cpi"] == 1]
    assert (result.targets[detections["target"]]["cpi"] == 1).all()


def test_progress_is_told_of_each_cpi(cube: Any) -> None:
    calls: list[tuple[int, int]] = []

    def record(done: int, cpis: int) -> None:
        calls.append((done, cpis))

    aperture.stap(np.stack([cube] * 3), azimuth=[0.0], progress=record)
    aperture.stap(cube, azimuth=[0.0], progress=record)
    assert calls == [(1, 3), (2, 3), (3, 3), (1, 1)]

    def end(done: int, cpis: int) -> None:
        raise StopIteration

    out = np.zeros((2, 1, 16, 128), np.complex64)
    with pytest.raises(StopIteration):
        aperture.stap(np.stack([cube] * 2), azimuth=[0.0], progress=end, out=out)
    assert out[0].any() and not out[1].any()


def test_out_is_overwritten(cube: Any) -> None:
    adapt = aperture.Stap(cube.shape, azimuth=[0, 10], detector="amf")
    first = adapt(cube)
    kept = first.output
    again = adapt(cube[..., ::-1], out=first)
    assert again is first and again.output is kept
    assert (kept == adapt(cube[..., ::-1]).output).all()
    out = np.empty((2, 16, 128), np.complex64)
    assert aperture.stap(cube, azimuth=[0, 10], out=out).output is out
    assert (out == aperture.stap(cube, azimuth=[0, 10]).output).all()


def test_cpu_tensors_come_back_as_tensors(cube: Any) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(cube)
    result = aperture.stap(tensor, azimuth=[0.0])
    assert type(result.output) is torch.Tensor
    assert (result.output.numpy() == aperture.stap(cube, azimuth=[0.0]).output).all()
    with pytest.raises(TypeError, match="requires a gradient"):
        aperture.stap(tensor.requires_grad_())
    with pytest.raises(TypeError, match="conjugate"):
        aperture.stap(torch.from_numpy(cube).conj())


def test_jax_arrays_come_back_as_jax_arrays(cube: Any) -> None:
    jax = pytest.importorskip("jax")
    array = jax.device_put(cube, jax.devices("cpu")[0])
    result = aperture.stap(array, azimuth=[0.0])
    assert isinstance(result.output, jax.Array)
    assert (np.asarray(result.output) == aperture.stap(cube, azimuth=[0.0]).output).all()
    with pytest.raises(TypeError, match="tracer"):
        jax.jit(aperture.stap)(array)
    with pytest.raises(TypeError, match="cannot be written"):
        aperture.stap(cube, azimuth=[0.0], out=array)


def test_too_few_cells_are_loaded_with_a_warning() -> None:
    cube = aperture.simulate_clutter((6, 8, 12))[0]
    with pytest.warns(UserWarning, match="12 training cells are too few for a covariance of order"):
        result = aperture.stap(cube)
    assert np.isfinite(result.output).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aperture.stap(cube, loading="rel:0.01")


def with_nan(cube: Any) -> Any:
    changed = cube.copy()
    changed[1, 2, 3] = np.nan
    return changed


ZEROS = np.zeros((2, 4, 32), np.complex64)
REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (None, {}, TypeError, "cube"),
    ("cube", {}, TypeError, "elements of type <U4"),
    (object(), {}, TypeError, "elements of type object"),
    ([[1, 2], [3]], {}, TypeError, "not an array"),
    (ZEROS > 0, {}, TypeError, "elements of type bool"),
    (np.zeros((2, 4, 32), "datetime64[s]"), {}, TypeError, "datetime64"),
    (np.ma.masked_array(ZEROS), {}, TypeError, "masked"),
    (ZEROS[0], {}, ValueError, r"shape \(4, 32\)"),
    (ZEROS[None, None], {}, ValueError, r"expected \[channel, pulse, range\]"),
    (1.0, {}, ValueError, r"shape \(\)"),
    (ZEROS[:0], {}, ValueError, "empty cube"),
    (ZEROS[..., :0], {}, ValueError, "empty cube"),
    (with_nan(ZEROS), {}, ValueError, "1 of 256 elements are NaN"),
    (ZEROS.astype(complex) + 1e300, {}, ValueError, "256 of 256 elements are NaN or infinite"),
    (np.zeros((400, 2, 8), np.complex64), {}, ValueError, "400 channels"),
    (ZEROS, {"azimuth": [100.0]}, ValueError, "100"),
    (ZEROS, {"azimuth": []}, ValueError, "0 steering vectors"),
    (ZEROS, {"azimuth": [np.nan]}, ValueError, "nan"),
    (ZEROS, {"azimuth": np.zeros(1025)}, ValueError, "1025 steering vectors"),
    (ZEROS, {"azimuth": [[0.0]]}, ValueError, "azimuth: shape"),
    (ZEROS, {"azimuth": "left"}, TypeError, "azimuth"),
    (ZEROS, {"azimuth": [0], "steering": np.ones((1, 6))}, ValueError, "cannot be combined"),
    (ZEROS, {"steering": np.ones((1, 5))}, ValueError, "5 elements per vector, expected 6"),
    (ZEROS, {"steering": np.ones(6)}, ValueError, "steering: shape"),
    (ZEROS, {"spacing": "wide"}, TypeError, "spacing"),
    (ZEROS, {"prf": -1}, ValueError, "prf -1"),
    (ZEROS, {"prf": np.inf}, ValueError, "prf inf"),
    (ZEROS, {"domain": "time"}, ValueError, "domain 'time'"),
    (ZEROS, {"doppler_bins": 3}, ValueError, "3 Doppler bins are fewer than the 4 pulses"),
    (ZEROS, {"doppler_bins": 4.5}, TypeError, "doppler_bins"),
    (ZEROS, {"doppler_bins": 2**40}, ValueError, "doppler_bins 1099511627776: too large"),
    (ZEROS, {"taper": "square"}, ValueError, "square"),
    (ZEROS, {"taper": "chebyshev"}, ValueError, "chebyshev"),
    (ZEROS, {"tdof": 2}, ValueError, "temporal taps is 2"),
    (ZEROS, {"tdof": 5}, ValueError, "5"),
    (ZEROS, {"training": "none"}, ValueError, r"block\|sliding\|all"),
    (ZEROS, {"training": 3}, TypeError, "training"),
    (ZEROS, {"training_block": 0}, ValueError, "training block 0"),
    (ZEROS, {"training_block": 100}, ValueError, "exceeds the cube's 32"),
    (ZEROS, {"guard": 1}, ValueError, "guard 1 requires"),
    (ZEROS, {"guard": -1}, ValueError, "guard -1"),
    (ZEROS, {"loading": -1.0}, ValueError, "loading -1"),
    (ZEROS, {"loading": "abs:1"}, ValueError, "loading 'abs:1'"),
    (ZEROS, {"loading": "rel:"}, ValueError, "loading 'rel:'"),
    (ZEROS, {"detector": "best"}, ValueError, r"none\|amf\|ace\|glrt\|cfar"),
    (ZEROS, {"detector": "amf", "pfa": 0.0}, ValueError, "0"),
    (ZEROS, {"detector": "amf", "pfa": 2.0}, ValueError, "2"),
    (ZEROS, {"precision": "fp16"}, ValueError, r"auto\|fp32\|mixed"),
    (ZEROS, {"solver": "lu"}, ValueError, r"cholesky\|gauss-jordan"),
    (ZEROS, {"impl": "cublas"}, ValueError, "cublas requires a GPU"),
    (ZEROS, {"device": "tpu"}, ValueError, "device 'tpu'"),
    (ZEROS, {"device": 1}, TypeError, "device"),
    (ZEROS, {"progress": 1}, TypeError, "progress: expected a function, not int"),
    (ZEROS, {"threads": -1}, ValueError, "threads -1"),
    (ZEROS, {"threads": 1.5}, TypeError, "threads"),
    (ZEROS, {"threads": 10**6}, ValueError, "threads 1000000"),
    (ZEROS, {"out": np.empty((16, 4, 32))}, TypeError, "out: elements of type float64"),
    (ZEROS, {"out": np.empty((1, 4, 32), np.complex64)}, ValueError, "out: shape"),
    (ZEROS, {"out": "here"}, TypeError, "out: expected an array"),
    (ZEROS, {"out": np.broadcast_to(ZEROS[0], (16, 4, 32))}, ValueError, "read-only"),
    (ZEROS, {"out": np.empty((32, 4, 16), np.complex64).T}, ValueError, "not contiguous"),
    (ZEROS, {"steering": [[1, "x"]]}, TypeError, "steering"),
    (ZEROS, {"nonsense": 1}, TypeError, "nonsense"),
]


@pytest.mark.parametrize(
    ("cube", "arguments", "error", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))]
)
def test_bad_calls_are_refused(
    cube: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aperture.stap(cube, **{"training_block": 16, **arguments})


def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(aperture.DeviceError, match="gpu:77|GPU 77"):
        aperture.stap(ZEROS, device="gpu:77")


def test_non_finite_samples_pass_if_asked(cube: Any) -> None:
    result = aperture.stap(with_nan(cube), azimuth=[0.0], training_block=32, check_finite=False)
    assert not np.isfinite(result.output[..., :32]).all() or result.info[:, 0].any()
    assert np.isfinite(result.output[..., 32:]).all()


def test_out_must_not_share_memory_with_the_cube() -> None:
    samples = aperture.simulate_clutter((1, 4, 32))[0]
    with pytest.raises(ValueError, match="shares memory"):
        aperture.stap(samples, azimuth=[0.0], tdof=1, out=samples)


@pytest.mark.parametrize("shape", [(4, 12.5, 128), 4, "abc", None])
def test_shapes_that_are_none_are_refused(shape: Any) -> None:
    with pytest.raises(TypeError, match="channels, pulses, range cells"):
        aperture.Stap(shape)


def test_cubes_of_other_shapes_are_refused(cube: Any) -> None:
    adapt = aperture.Stap(cube.shape)
    with pytest.raises(ValueError, match=r"shape \(4, 12, 127\), expected \(4, 12, 128\)"):
        adapt(cube[..., 1:])


def test_singular_covariances_are_reported_not_raised() -> None:
    result = aperture.stap(ZEROS, training_block=16, precision="fp32")
    assert (result.info != 0).all() and not result.output.any()


def test_interference_is_strongest_along_the_ridge() -> None:
    cube, _ = aperture.simulate_clutter((8, 16, 400), beta=1.0, seed=2)
    adapt = aperture.Stap(cube.shape, doppler_bins=16, prf=None)
    azimuths = np.array([-40.0, 0.0, 40.0])
    beams, power = adapt.interference_spectra(cube, 200, azimuths)
    assert beams.shape == power.shape == (16, 3)
    doppler = adapt(cube).doppler
    for i, azimuth in enumerate(azimuths):
        ridge = 0.5 * np.sin(np.radians(azimuth))
        for spectrum in (beams, power):
            assert abs(doppler[np.argmax(spectrum[:, i])] - ridge) <= 1 / 16
    assert (power <= beams * (1 + 1e-9)).all()
    with pytest.raises(ValueError, match="400"):
        adapt.interference_spectra(cube, 400, azimuths)
    with pytest.raises(ValueError, match="expected \\(8, 16, 400\\)"):
        adapt.interference_spectra(cube[1:], 0, azimuths)
    given = aperture.Stap(cube.shape, steering=np.ones((1, 24)))
    with pytest.raises(ValueError, match="unknown"):
        given.interference_spectra(cube, 0, azimuths)


def test_results_are_copied_and_pickled(cube: Any) -> None:
    result = aperture.stap(cube, azimuth=[0, 10], detector="amf")
    for twin in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert (twin.output == result.output).all()
        assert (twin.detections == result.detections).all()
    assert repr(result).startswith("<StapResult (2, 16, 128), 1 targets, ")
    adapt = aperture.Stap(cube.shape)
    assert "16 steering vectors" in repr(adapt)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(adapt)


def test_two_threads_compute_at_once(cube: Any) -> None:
    expected = aperture.stap(cube, threads=1).output
    shared = aperture.Stap(cube.shape, threads=1)
    wrong = []

    def work(adapt: aperture.Stap) -> None:
        for _ in range(20):
            if not (adapt(cube).output == expected).all():
                wrong.append(1)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, [shared, shared, aperture.Stap(cube.shape, threads=1)]))
    assert not wrong


def test_an_interrupt_ends_a_long_run(interrupted: Callable[..., float]) -> None:
    cube = aperture.simulate_clutter((8, 64, 2000), patches=20)[0]
    adapt = aperture.Stap(cube.shape, training="sliding", precision="mixed", threads=1)

    def run() -> None:
        for _ in range(20):
            adapt(cube)

    assert interrupted(run) < 1
    small = aperture.Stap(cube.shape, training_block=500, azimuth=[0.0])
    assert np.isfinite(small(cube).output).all()


def saved_by_program(program: str, arguments: list[str], folder: Path) -> Any:
    """/output as the program writes it."""
    h5py = pytest.importorskip("h5py")
    out = folder / "out.h5"
    subprocess.run(
        [program, *arguments, "--device", "cpu", "--out", str(out), "--quiet"], check=True
    )
    with h5py.File(out) as file:
        return {name: file[name][()] for name in file if isinstance(file[name], h5py.Dataset)}


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ([], {}),
        (
            ["--detector", "amf", "--azimuth", "-30:30:13"],
            {"detector": "amf", "azimuth": np.linspace(-30, 30, 13)},
        ),
        (
            ["--training", "sliding", "--guard", "2", "--tdof", "1", "--loading", "rel:0.1"],
            {"training": "sliding", "guard": 2, "tdof": 1, "loading": "rel:0.1"},
        ),
        (
            ["--taper", "chebyshev:60", "--detector", "cfar", "--impl", "staged"],
            {"taper": "chebyshev:60", "detector": "cfar", "impl": "staged"},
        ),
    ],
)
def test_same_bits_as_the_program(
    cube: Any,
    program: Callable[[str], str],
    tmp_path: Path,
    flags: list[str],
    arguments: dict[str, Any],
) -> None:
    np.save(tmp_path / "cube.npy", cube)
    saved = saved_by_program(program("stap"), [str(tmp_path / "cube.npy"), *flags], tmp_path)
    result = aperture.stap(cube, **arguments)
    assert (saved["output"] == result.output).all()
    assert (saved["info"] == result.info).all()
    if result.statistic is not None:
        assert (saved["statistic"] == result.statistic).all()
        for column in ("steering_vector", "doppler_bin", "range_cell", "statistic_db", "target"):
            assert (saved["detections"][column] == result.detections[column]).all()
        assert (saved["targets"]["range_cell"] == result.targets["range_cell"]).all()


@pytest.mark.parametrize("name", ["mountaintop_t38.h5", "openradar_walkers.h5"])
def test_same_bits_as_the_program_on_recorded_data(
    program: Callable[[str], str], shared_data: Path, tmp_path: Path, name: str
) -> None:
    h5py = pytest.importorskip("h5py")
    path = shared_data / "radar" / name
    if not path.exists():
        pytest.skip(f"{path} does not exist")
    stap = program("stap")
    saved = saved_by_program(stap, [str(path), "--azimuth", "-60:60:7"], tmp_path)
    with h5py.File(path) as file:
        cube = file["cube"]
        spacing = cube.attrs.get("element_spacing_wavelengths", 0.5)
        assert cube.ndim == 3, cube
        samples = cube[()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = aperture.stap(samples, azimuth=np.linspace(-60, 60, 7), spacing=spacing)
    assert (saved["output"] == result.output).all()
