# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Random programs compute the same bits fused, planned, by operation and by NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import evaluated, same_bits

import aperture
from aperture import compose

pytestmark = pytest.mark.usefixtures("one_thread")

NAMES = {
    "near": aperture.stencil({(0, -1): 0.3, (0, 0): -0.1, (1, 0): 0.7}),
    "far": aperture.stencil({(-2, 1): 0.6, (0, 3): 0.2}, border="zero"),
    **{name: getattr(compose, name) for name in compose.__all__},
}


class Writer:
    """Writes a function of images x and y and numbers s and t."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.images, self.numbers = ["x", "y"], ["s", "t"]
        self.lines: list[str] = []

    def one_of(self, *choices: str) -> str:
        return str(self.random.choice(choices))

    def number(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.4:
            return self.one_of(*self.numbers)
        a, b = self.number(depth - 1), self.number(depth - 1)
        image = self.image(depth - 1)
        return self.one_of(
            f"({a} + 0.5 * {b})",
            f"(-{a})",
            f"min({a}, 0.75)",
            f"max({a}, {b})",
            f"abs({a} - {b})",
            f"({a} if {a} < {b} else 0.25 * {b})",
            f"(sum({image}) / {self.size})",
            f"(dot({image}, {self.image(depth - 1)}) / {self.size})",
        )

    size = 1000.0

    def mask(self, depth: int) -> str:
        a, b = self.image(depth - 1), self.image(depth - 1)
        sign = self.one_of("<", "<=", ">", ">=", "==", "!=")
        one = f"({a} {sign} {self.one_of(b, '0.125', self.one_of(*self.numbers))})"
        if depth < 2:
            return one
        other = self.mask(depth - 1)
        return self.one_of(one, f"(~{one})", f"({one} & {other})", f"({one} | {other})")

    def image(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.15:
            return self.one_of(*self.images)
        a, b, c = (self.image(depth - 1) for _ in range(3))
        number = self.number(depth - 1)
        return self.one_of(
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * {b})",
            f"({a} / {b})",
            f"(-{a})",
            f"({number} * {a})",
            f"({a} + 0.1)",
            f"(3 - {a})",
            f"abs({a})",
            f"sqrt({a})",
            f"minimum({a}, {b})",
            f"maximum({a}, {number})",
            f"fma({a}, {b}, {c})",
            f"where({self.mask(depth)}, {a}, {b})",
            f"(near * {a})",
            f"(far * {a})",
            f"(red({a}) + black({b}))",
        )

    def statements(self, count: int, indentation: str, depth: int = 0) -> None:
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.12 and depth < 2:
                self.lines.append(f"{indentation}for i{depth} in range({self.random.integers(4)}):")
                self.inner(indentation, depth)
            elif kind < 0.24 and depth < 2:
                self.lines.append(f"{indentation}if {self.number(1)} < {self.number(1)}:")
                self.inner(indentation, depth)
                if self.random.random() < 0.5:
                    self.lines.append(f"{indentation}else:")
                    self.inner(indentation, depth)
            elif kind < 0.4:
                name = self.one_of(*self.numbers, f"n{len(self.numbers)}")
                self.assign(name, self.number(2), self.numbers, indentation, depth)
            elif kind < 0.5:
                a, b = (self.one_of(*self.images) for _ in range(2))
                if a != b:
                    self.lines.append(f"{indentation}{a}, {b} = {b}, {self.image(1)}")
            else:
                name = self.one_of(*self.images, f"z{len(self.images)}")
                self.assign(name, self.image(3), self.images, indentation, depth)

    def assign(self, name: str, value: str, known: list[str], indentation: str, depth: int) -> None:
        if name not in known:
            if depth > 0:
                return
            known.append(name)
        self.lines.append(f"{indentation}{name} = {value}")

    def inner(self, indentation: str, depth: int) -> None:
        self.statements(int(self.random.integers(1, 4)), indentation + "    ", depth + 1)
        self.lines.append(f"{indentation}    pass")

    def text(self) -> str:
        self.statements(7, "    ")
        results = ", ".join(self.images + self.numbers)
        return "\n".join(["def f(x, y, s, t):", *self.lines, f"    return {results}", ""])


@pytest.mark.parametrize("seed", range(100))
def test_random_programs_have_the_same_bits(tmp_path: Path, seed: int) -> None:
    text = Writer(seed).text()
    function = evaluated(text, tmp_path, **NAMES)["f"]
    random = np.random.default_rng(seed)
    dtype: Any = (np.float32, np.float64)[seed % 2]
    shape = random.integers(1, 60, 2)
    x, y = random.normal(size=(2, *shape)).astype(dtype)
    x[0, 0], y[-1, -1] = np.nan, -0.0
    numbers = dtype(0.7), dtype(-1.3)
    expected: Any = None
    with np.errstate(all="ignore"):
        for mode in ("numpy", "thesis", "planned", "none"):
            # To compile takes a second.
            tier = "automatic" if seed < 3 else "interpreted"
            found = aperture.program(mode=mode, tier=tier)(function)(x.copy(), y.copy(), *numbers)
            expected = expected or found
            for a, b in zip(found, expected, strict=True):
                same_bits(a, b)
