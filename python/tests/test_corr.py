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


def texture(rows: int, columns: int, *channels: int, seed: int = 1) -> Any:
    """Noise that is correlated over some pixels, uint8."""
    noise = np.random.default_rng(seed).normal(size=(rows, columns, *channels))
    for axis in (0, 1):
        for _ in range(3):
            noise = noise + np.roll(noise, 1, axis)
    low, high = noise.min(), noise.max()
    return np.round(255 * (noise - low) / (high - low)).astype(np.uint8)


pytestmark = pytest.mark.usefixtures("one_thread")


SCENE = texture(90, 110, 3)
A, B = SCENE[:70, :90], SCENE[5:75, 9:99]


def by_definition(a: Any, b: Any, offsets: tuple[int, int], signed: bool) -> Any:
    """Sums of products of planes, [plane, dy, dx], and the numbers of their pixels."""
    a, b = a.astype(float), b.astype(float)
    first = (1 - offsets[0], 1 - offsets[1]) if signed else (0, 0)
    rows, columns = a.shape[1:]
    sums = np.zeros((len(a), offsets[0] - first[0], offsets[1] - first[1]))
    counts = np.zeros(sums.shape[1:], int)
    for i, dy in enumerate(range(first[0], offsets[0])):
        for j, dx in enumerate(range(first[1], offsets[1])):
            of_a = a[:, max(dy, 0) : rows + min(dy, 0), max(dx, 0) : columns + min(dx, 0)]
            of_b = b[:, max(-dy, 0) : rows - max(dy, 0), max(-dx, 0) : columns - max(dx, 0)]
            sums[:, i, j] = (of_a * of_b).sum(axis=(1, 2))
            counts[i, j] = of_a[0].size
    return sums, counts


@pytest.mark.filterwarnings("ignore:the largest value")
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("method", ["direct", "fft"])
def test_surfaces_agree_with_the_definition(method: str, signed: bool) -> None:
    random = np.random.default_rng(3)
    a, b = random.normal(3, 1, size=(2, 2, 20, 31))
    found = aperture.correlate(a, b, planes=None, offsets=(9, 12), signed=signed, method=method)
    sums, counts = by_definition(a, b, (9, 12), signed)
    scale = np.sqrt((a**2).sum() * (b**2).sum())
    assert np.abs(found.planes - sums).max() < 1e-6 * scale
    assert np.allclose(found.surface, found.planes.sum(axis=0), atol=1e-12 * scale)
    assert (found.overlap == counts).all()
    assert found.dy.tolist() == list(range(-8 if signed else 0, 9))
    assert found.dx.tolist() == list(range(-11 if signed else 0, 12))
    assert found.method == method
    unbiased = aperture.correlate(
        a, b, planes=None, offsets=(9, 12), signed=signed, estimator="unbiased", precision="fp64"
    )
    assert np.allclose(unbiased.planes, sums / counts, rtol=1e-5, atol=1e-9)
    assert unbiased.method == "direct"


def test_pearson_agrees_with_numpy() -> None:
    a, b = texture(25, 30), texture(25, 30, seed=2)
    found = aperture.correlate(a, b, planes="grey", offsets=(6, 7), estimator="pearson")
    for dy, dx in ((0, 0), (3, 2), (5, -6), (-4, 1)):
        of_a = a[max(dy, 0) : 25 + min(dy, 0), max(dx, 0) : 30 + min(dx, 0)]
        of_b = b[max(-dy, 0) : 25 - max(dy, 0), max(-dx, 0) : 30 - max(dx, 0)]
        expected = np.corrcoef(of_a.ravel(), of_b.ravel())[0, 1]
        assert found.surface[dy + 5, dx + 6] == pytest.approx(expected, abs=1e-5)


def test_masks_leave_out_pixels() -> None:
    a, b = np.random.default_rng(4).normal(size=(2, 1, 15, 18))
    mask_a, mask_b = np.random.default_rng(5).random((2, 15, 18)) < 0.7
    found = aperture.correlate(a, b, planes=None, offsets=(5, 6), mask=(mask_a, mask_b))
    sums, _ = by_definition(a * mask_a, b * mask_b, (5, 6), True)
    counts, _ = by_definition(mask_a[None], mask_b[None], (5, 6), True)
    assert np.allclose(found.planes, sums, atol=1e-4)
    assert (found.overlap == np.round(counts[0])).all()
    one = aperture.correlate(a, b, planes=None, offsets=(5, 6), mask=mask_a)
    both = aperture.correlate(a, b, planes=None, offsets=(5, 6), mask=(mask_a, mask_a))
    assert (one.surface == both.surface).all()
    coloured = np.zeros((15, 18, 3), np.uint8)
    coloured[..., 2] = 9 * mask_a
    again = aperture.correlate(a, b, planes=None, offsets=(5, 6), mask=coloured)
    assert (again.surface == one.surface).all()


def test_the_peak_is_the_shift_of_the_content() -> None:
    for planes in ("lab-orientation", "grey", "rgb", "gradient"):
        found = aperture.correlate(A, B, planes=planes, estimator="pearson")
        assert found.peak is not None and found.on_border is None
        assert found.peak.dy == pytest.approx(5, abs=0.1)
        assert found.peak.dx == pytest.approx(9, abs=0.1)
        assert 0.95 < found.peak.value <= 1
        assert found.surface.max() == found.surface[found.dy == 5, found.dx == 9][0]
        assert found.lengths.x is not None and 1 < found.lengths.x < 10


def test_one_image_and_a_pair_have_their_defaults() -> None:
    one = aperture.correlate(A)
    assert one.surface.shape == (35, 45) and one.dy[0] == 0 and len(one.planes) == 4
    assert one.surface[0, 0] == pytest.approx(4, abs=1e-5)
    assert one.peak is not None and (one.peak.dy, one.peak.dx) != (0, 0)
    assert one.surface.dtype == one.planes.dtype == np.float64
    assert one.overlap.dtype == one.dy.dtype == one.dx.dtype == np.int64
    pair = aperture.correlate(A, A)
    assert pair.surface.shape == (69, 89) and pair.dx[0] == -44
    assert np.abs(pair.surface[34:, 44:] - one.surface).max() < 1e-5
    raw = aperture.correlate(A.transpose(2, 0, 1), planes=None)
    scaled = aperture.correlate(A.transpose(2, 0, 1), planes=None, normalize="plane")
    rgb = aperture.correlate(A, planes="rgb")
    assert raw.surface[0, 0] > 1e6 and (scaled.surface == rgb.surface).all()


def test_parameters_change_results() -> None:
    def surface(**parameters: Any) -> Any:
        return aperture.correlate(A, **parameters).surface

    usual = surface()
    for parameters in (
        {"offsets": (20, 30)},
        {"signed": True},
        {"planes": "grey"},
        {"planes": "rgb"},
        {"planes": "gradient"},
        {"normalize": "none"},
        {"estimator": "unbiased"},
        {"estimator": "pearson"},
        {"mask": np.tri(70, 90)},
        {"method": "direct"},
        {"precision": "fp64"},
    ):
        changed = surface(**parameters)
        assert changed.shape != usual.shape or (changed != usual).any(), parameters
    assert (surface(method="fft") == usual).all()
    assert (surface(planes="gray") == surface(planes="grey")).all()


def test_a_peak_on_the_border_is_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"dx 3, is on the border .* try larger offsets$"):
        found = aperture.correlate(A, B, offsets=(10, 4))
    assert found.on_border is not None and found.on_border.dx == 3
    with pytest.warns(UserWarning, match="try larger offsets or both signs"):
        aperture.correlate(B, A, planes="grey", normalize="none", signed=False)


def test_a_constant_image_has_no_peak() -> None:
    found = aperture.correlate(np.full((10, 12), 7, np.uint8))
    assert found.peak is None and found.lengths == (None, None)
    assert (found.surface == 0).all()
    assert "no peak" in repr(found)


@pytest.mark.parametrize(
    "changed",
    [
        lambda a: a.astype(np.float32),
        lambda a: a.astype(np.float64),
        lambda a: a.astype(">i4"),
        lambda a: 257 * a.astype(np.uint16),
        lambda a: 257 * a.astype(">u2"),
        np.asfortranarray,
        lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
        lambda a: a[..., ::-1].copy()[..., ::-1],
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        lambda a: np.moveaxis(np.moveaxis(a, -1, 0).copy(), 0, -1),
        lambda a: a.tolist(),
    ],
    ids=[
        "float32",
        "float64",
        "byteorder",
        "uint16",
        "uint16-byteorder",
        "fortran",
        "reversed",
        "channels",
        "strided",
        "planar",
        "list",
    ],
)
def test_any_layout_gives_the_same_bits(changed: Callable[[Any], Any]) -> None:
    usual = aperture.correlate(A, B)
    given = changed(A)
    kept = copy.deepcopy(given)
    assert (aperture.correlate(given, changed(B)).surface == usual.surface).all()
    assert (np.asarray(given) == np.asarray(kept)).all()


def test_grey_and_coloured_images_are_correlated() -> None:
    grey = A[..., 1]
    as_colour = np.repeat(grey[..., None], 3, axis=2)
    assert (aperture.correlate(A, grey).surface == aperture.correlate(A, as_colour).surface).all()
    planes = np.moveaxis(A, -1, 0).astype(np.float32)
    strided = np.repeat(planes, 2, axis=0)[::2, :, ::-1][..., ::-1]
    usual = aperture.correlate(planes, planes=None)
    assert (aperture.correlate(strided, planes=None).surface == usual.surface).all()


def test_threads_do_not_change_bits() -> None:
    for method in ("direct", "fft"):
        one = aperture.correlate(A, B, method=method, estimator="pearson", threads=1)
        two = aperture.correlate(A, B, method=method, estimator="pearson", threads=2)
        assert (one.planes == two.planes).all() and one.peak == two.peak


def test_cpu_tensors_come_back_as_tensors() -> None:
    torch = pytest.importorskip("torch")
    found = aperture.correlate(torch.from_numpy(A.copy()), torch.from_numpy(B.copy()))
    assert type(found.surface) is type(found.overlap) is type(found.dy) is torch.Tensor
    assert (found.surface.numpy() == aperture.correlate(A, B).surface).all()


def test_results_are_copied_and_pickled() -> None:
    found = aperture.correlate(A, B)
    for twin in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert (twin.surface == found.surface).all()
        assert twin.peak == found.peak and twin.lengths == found.lengths
    assert repr(found).startswith("<Correlation (69, 89) of 4 planes, fft: peak ")
    assert repr(found).endswith(" at dy 4.98, dx 8.97>")


def with_nan(image: Any) -> Any:
    changed = image.astype(float)
    changed[1, 2] = np.nan
    return changed


GREY = A[..., 0]
PLANES = np.zeros((2, 8, 9), np.float32)
REFUSED: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
    (None, None, {}, TypeError, "a: "),
    ("image", None, {}, TypeError, "elements of type <U5"),
    (GREY, "image", {}, TypeError, "b: not numbers"),
    (GREY, object(), {}, TypeError, "b: "),
    ([[1, 2], [3]], None, {}, TypeError, "not an array"),
    (GREY > 0, None, {}, TypeError, "bool"),
    (GREY + 1j, None, {}, TypeError, "complex128 cannot be converted"),
    (np.ma.masked_array(GREY), None, {}, TypeError, "masked"),
    (1.0, None, {}, ValueError, r"a: shape \(\)"),
    (GREY[0], None, {}, ValueError, r"shape \(90,\), expected \[row, column\]"),
    (A[None], None, {}, ValueError, r"shape \(1, 70, 90, 3\)"),
    (A[..., :2], None, {}, ValueError, r"expected \[row, column, 3\]"),
    (A[..., None, :1][..., 0], None, {}, ValueError, r"expected \[row, column, 3\]"),
    (GREY[:0], None, {}, ValueError, "0 x 90 pixels"),
    (GREY[:, :0], None, {}, ValueError, "70 x 0 pixels"),
    (GREY, GREY[1:], {}, ValueError, r"b: shape \(69, 90\), of a \(70, 90\)"),
    (PLANES, PLANES[:1], {"planes": None}, ValueError, r"b: shape \(1, 8, 9\)"),
    (GREY, None, {"planes": None}, ValueError, r"expected \[plane, row, column\]"),
    (PLANES[:0], None, {"planes": None}, ValueError, "0 planes"),
    (with_nan(GREY), None, {}, ValueError, "a: 1 of 6300 elements are NaN"),
    (A, with_nan(A), {}, ValueError, "b: 3 of 18900 elements are NaN"),
    (GREY.astype(float) + 1e300, None, {}, ValueError, "6300 of 6300"),
    (GREY, None, {"offsets": (71, 1)}, ValueError, "offsets are 71 x 1, expected 1 x 1 to 70 x 90"),
    (GREY, None, {"offsets": (0, 1)}, ValueError, "at least 1 row"),
    (GREY, None, {"offsets": (2**70, 1)}, ValueError, "offsets"),
    (GREY, None, {"offsets": (1, 2, 3)}, ValueError, "two whole numbers"),
    (GREY, None, {"offsets": (1.5, 2)}, TypeError, "two whole numbers"),
    (GREY, None, {"offsets": 5}, TypeError, "two whole numbers"),
    (GREY, None, {"signed": "yes"}, TypeError, "signed 'yes': expected True or False"),
    (GREY, None, {"planes": "lab"}, ValueError, r"planes lab: expected lab-orientation\|grey"),
    (GREY, None, {"planes": 3}, TypeError, "planes 3: expected a string"),
    (GREY, None, {"normalize": "image"}, ValueError, r"plane\|none"),
    (GREY, None, {"normalize": False}, TypeError, "normalize False: expected a string"),
    (GREY, None, {"estimator": "best"}, ValueError, r"raw\|unbiased\|pearson"),
    (GREY, None, {"estimator": None}, TypeError, "estimator None"),
    (GREY, None, {"method": "dft"}, ValueError, r"auto\|direct\|fft"),
    (GREY, None, {"precision": "fp16"}, ValueError, r"fp32\|tf32x3\|fp64"),
    (GREY, None, {"precision": "fp64", "method": "fft"}, ValueError, "requires the direct method"),
    (GREY, None, {"precision": "tf32x3"}, ValueError, "requires a GPU"),
    (GREY, None, {"mask": GREY[1:]}, ValueError, "mask is 69 x 90, must be 70 x 90"),
    (GREY, None, {"mask": GREY[0]}, ValueError, r"mask: shape \(90,\)"),
    (GREY, None, {"mask": "black"}, TypeError, "mask: not numbers"),
    (GREY, None, {"mask": (GREY, GREY)}, ValueError, "mask: a tuple of 2"),
    (GREY, GREY, {"mask": (GREY,)}, ValueError, "mask: a tuple of 1"),
    (GREY, GREY, {"mask": (GREY, GREY[0])}, ValueError, "mask of b: shape"),
    (GREY, None, {"device": "tpu"}, ValueError, "device 'tpu'"),
    (GREY, None, {"threads": -1}, ValueError, "threads -1"),
    (GREY, None, {"threads": 1.5}, TypeError, "threads"),
    (GREY, None, {"nonsense": 1}, TypeError, "nonsense"),
]


@pytest.mark.parametrize(
    ("a", "b", "arguments", "error", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))]
)
def test_bad_calls_are_refused(
    a: Any, b: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        aperture.correlate(a, b, **arguments)


def test_non_finite_values_pass_if_asked() -> None:
    found = aperture.correlate(with_nan(GREY), planes="grey", check_finite=False)
    assert not np.isfinite(found.surface).all() and found.peak is None


def test_two_threads_compute_at_once() -> None:
    expected = aperture.correlate(A, B, threads=1).surface
    wrong = []

    def work() -> None:
        for _ in range(10):
            if not (aperture.correlate(A, B, threads=1).surface == expected).all():
                wrong.append(1)

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work) for _ in range(3)]:
            done.result()
    assert not wrong


def test_an_interrupt_ends_a_long_run(interrupted: Callable[..., float]) -> None:
    image = texture(600, 700)
    assert interrupted(lambda: aperture.correlate(image, image, method="direct")) < 1

    def transform() -> None:
        for _ in range(200):
            aperture.correlate(image, estimator="pearson")

    assert interrupted(transform) < 1
    assert aperture.correlate(A).peak is not None


def write_netpbm(path: Path, image: Any) -> str:
    kind = b"P6" if image.ndim == 3 else b"P5"
    largest = b"65535" if image.dtype == np.uint16 else b"255"
    size = b"%d %d" % (image.shape[1], image.shape[0])
    samples = image.astype(">u2").tobytes() if image.dtype == np.uint16 else image.tobytes()
    path.write_bytes(kind + b"\n" + size + b"\n" + largest + b"\n" + samples)
    return str(path)


def saved_by_program(program: str, arguments: list[str], folder: Path) -> Any:
    h5py = pytest.importorskip("h5py")
    out = folder / "out.h5"
    common = ["--device", "cpu", "--threads", "1", "--no-picture", "--quiet", "--out", str(out)]
    subprocess.run([program, *arguments, *common], check=True, stderr=subprocess.DEVNULL)
    with h5py.File(out) as file:
        saved = {name: file[name][()] for name in ("surface", "planes", "counts", "dy", "dx")}
        return saved, dict(file["surface"].attrs)


def expect_saved(found: aperture.Correlation, saved: Any) -> None:
    arrays, attributes = saved
    for name, array in arrays.items():
        of_python = getattr(found, {"counts": "overlap"}.get(name, name))
        assert of_python.shape == array.shape and (of_python == array).all(), name
    assert attributes.get("correlation_length_x") == found.lengths.x
    assert attributes.get("correlation_length_y") == found.lengths.y
    assert ("peak_dy" in attributes) == (found.peak is not None)
    if found.peak is not None:
        names = ("peak_dy", "peak_dx", "peak_value")
        assert tuple(attributes[name] for name in names) == found.peak


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ([], {}),
        (["--offsets", "20x30", "--unsigned"], {"offsets": (20, 30), "signed": False}),
        (
            ["--signed", "--planes-from", "grey", "--normalize", "none", "--method", "direct"],
            {"signed": True, "planes": "grey", "normalize": "none", "method": "direct"},
        ),
        (
            ["--planes-from", "gradient", "--estimator", "pearson", "--mask", "MASK"],
            {"planes": "gradient", "estimator": "pearson", "mask": np.tri(70, 90)},
        ),
        (
            ["--planes-from", "rgb", "--estimator", "unbiased", "--precision", "fp64"],
            {"planes": "rgb", "estimator": "unbiased", "precision": "fp64"},
        ),
    ],
)
@pytest.mark.parametrize("images", [(A,), (A, B), (A, B[..., 1]), (GREY * np.uint16(201),)])
@pytest.mark.filterwarnings("ignore:the largest value")
def test_same_bits_as_the_program(
    program: Callable[[str], str],
    tmp_path: Path,
    images: tuple[Any, ...],
    flags: list[str],
    arguments: dict[str, Any],
) -> None:
    mask = write_netpbm(tmp_path / "mask.pgm", np.tri(70, 90).astype(np.uint8))
    files = [write_netpbm(tmp_path / f"{i}.pnm", image) for i, image in enumerate(images)]
    flags = [mask if flag == "MASK" else flag for flag in flags]
    saved = saved_by_program(program("corr"), [*files, *flags], tmp_path)
    expect_saved(aperture.correlate(*images, **arguments), saved)


def test_same_bits_as_the_program_for_planes(program: Callable[[str], str], tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    planes = np.random.default_rng(7).normal(4, 1, size=(3, 40, 50)).astype(np.float32)
    with h5py.File(tmp_path / "planes.h5", "w") as file:
        file["planes"] = planes
    saved = saved_by_program(program("corr"), ["--planes", str(tmp_path / "planes.h5")], tmp_path)
    expect_saved(aperture.correlate(planes, planes=None), saved)


def test_same_bits_as_the_program_on_photographs(
    program: Callable[[str], str], shared_data: Path, tmp_path: Path
) -> None:
    files = sorted(shared_data.glob("middlebury/*/frame1[01].p[gn][mg]"))[:2]
    if len(files) < 2:
        pytest.skip(f"{shared_data} has no images that can be read here")
    matplotlib = pytest.importorskip("matplotlib.image")
    images = [np.round(255 * matplotlib.imread(file)).astype(np.uint8)[..., :3] for file in files]
    saved = saved_by_program(program("corr"), [str(file) for file in files], tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expect_saved(aperture.correlate(*images), saved)
