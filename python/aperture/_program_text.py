# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""The text of a program while it is written, and where each of its lines comes from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from aperture._extension import core
from aperture._program_bodies import TextOperation
from aperture._program_functions import Stencil
from aperture._program_source import Source
from aperture._program_values import (
    DTYPES,
    NUMPY_DTYPES,
    WEAK_TYPES,
    Known,
    Symbol,
    Type,
    Value,
    WeakNumber,
    is_number,
)

_MOST_SYMBOLS = 4096


@dataclass
class Slot:
    """An input of a program: an argument of the function, or a number computed of arguments."""

    dtype: np.dtype[Any]
    index: int = -1
    compute: Callable[[tuple[Any, ...]], Any] | None = None


@dataclass
class _Line:
    text: str
    depth: int
    node: Any
    result: str = ""
    """Of a call, whose `text` has the right side alone."""

    def __str__(self) -> str:
        return "    " * self.depth + (f"{self.result} = " if self.result else "") + self.text


class ProgramText:
    def __init__(self, source: Source) -> None:
        self.slots: list[Slot] = []
        self.operations: dict[str, TextOperation] = {}
        """Those with bodies that are called, by their names."""
        self._source = source
        self._declarations: dict[str, str] = {}
        self._lines: list[_Line] = []
        self._depth = 1
        self._known: dict[tuple[Any, ...], Symbol] = {}
        self._temporaries = 0

    def fail(self, node: Any, reason: str) -> NoReturn:
        raise self._source.error(node, reason)

    def finished(self) -> tuple[str, list[Any]]:
        """The text, and the node of each line."""
        function = self._source.function
        name = function.name if core.is_identifier(function.name) else "program_"
        head = [f"program {name} {{", *(f"    {one};" for one in self._declarations.values())]
        lines = [*head, *map(str, self._lines), "}"]
        nodes = [line.node for line in self._lines]
        return "\n".join(lines) + "\n", [*[function] * len(head), *nodes, function]

    def line(self, text: str, node: Any, result: str = "") -> None:
        self._lines.append(_Line(text, self._depth, node, result))

    @contextmanager
    def indented(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    # Symbols

    def declare(self, node: Any, name: str, words: str, rest: str) -> str:
        """Declares a symbol, and returns its name, which is `name` if that is free."""
        if len(self._declarations) >= _MOST_SYMBOLS:
            self.fail(node, f"the program has more than {_MOST_SYMBOLS} values")
        if not core.is_identifier(name):
            name = re.sub(r"\W", "_", name, flags=re.ASCII)[:40] + "_"
        free, number = name, 1
        while free in self._declarations or not core.is_identifier(free):
            number += 1
            free = f"{name}_{number}"
        self._declarations[free] = f"{words} {free}{rest}"
        return free

    def local(self, node: Any, name: str, of: Type, variable: str | None) -> Symbol:
        return Symbol(self.declare(node, name, "local", f": {of}"), of, variable)

    def argument(
        self, node: Any, index: int, name: str, value: Any, kind: str, *, in_place: bool = False
    ) -> Symbol:
        """An argument of NumPy's as a symbol; arrays are of this kind."""
        of = Type(kind if value.shape else "scalar", DTYPES[value.dtype], value.shape)
        free = self.declare(node, name, "inout" if in_place else "input", f": {of}")
        self.slots.append(Slot(value.dtype, index))
        return Symbol(free, of, name if in_place else None)

    def number(self, value: Value, dtype: str, node: Any) -> Symbol:
        """A value as an operand; numbers of Python's get the type."""
        if isinstance(value, Symbol):
            return value
        if isinstance(value, WeakNumber):
            self._expect_weak(value.kind, value.name, dtype, node)
            key: tuple[Any, ...] = (value, dtype)
            if key not in self._known:
                name = value.name if value.name.isidentifier() else self._new_number_name("s")
                free = self.declare(node, name, "input", f": scalar {dtype}")
                self.slots.append(Slot(NUMPY_DTYPES[dtype], compute=value.compute))
                self._known[key] = Symbol(free, Type("scalar", dtype))
            return self._known[key]
        self.expect_number(value, node)
        number = value.value
        if isinstance(number, np.generic):
            if number.dtype not in DTYPES:
                self.fail(node, f"a number of type {number.dtype}; write float(...)")
            dtype, number = DTYPES[number.dtype], number.item()
        else:
            self._expect_weak(type(number), repr(number), dtype, node)
        key = (repr(number), dtype)
        if key not in self._known:
            self._known[key] = self._known_number(number, value.name, dtype, node)
        return self._known[key]

    def _known_number(self, number: Any, name: str | None, dtype: str, node: Any) -> Symbol:
        name = name or self._new_number_name("n" if dtype == "i64" else "c")
        if dtype == "i64":
            if not -(2**63) <= number < 2**63:
                self.fail(node, f"{number} is too large for i64")
            free = self.declare(node, name, "constant", f" = {number}")
        elif dtype in ("f32", "f64") and math.isfinite(number):
            self._expect_range(number, dtype, node)
            free = self.declare(node, name, "number", f": {dtype} = {float(number)!r}")
        else:
            # The text has no words for those.
            free = self.declare(node, name, "input", f": scalar {dtype}")
            array = np.asarray(number, NUMPY_DTYPES[dtype])
            self.slots.append(Slot(array.dtype, compute=lambda _: array))
        return Symbol(free, Type("scalar", dtype))

    def _new_number_name(self, letter: str) -> str:
        return f"{letter}{len(self._known) + 1}"

    def stencil(self, known: Known, dtype: str, node: Any) -> Symbol:
        of: Stencil = known.value
        key = (of, dtype)
        if key not in self._known:
            for weight in of.weights:
                self._expect_range(weight, dtype, node)
            entries = ", ".join(
                f"({', '.join(map(str, offset))}): {weight!r}"
                for offset, weight in zip(of.offsets, of.weights, strict=True)
            )
            rest = f": {dtype} {of.border} {{{entries}}}"
            free = self.declare(node, known.name or "weights", "stencil", rest)
            origin = (0,) * len(of.offsets[0])
            self._known[key] = Symbol(free, Type("stencil", dtype, origin))
        return self._known[key]

    def expect_number(self, value: Known, node: Any) -> None:
        found, what = value.value, value.name or "this"
        if is_number(found):
            return
        if isinstance(found, np.ndarray):
            self.fail(node, f"{what} is an array outside of the function; make it an argument")
        if isinstance(found, TextOperation):
            self.fail(node, f"{what} is an operation, which is called: {what}(...)")
        if isinstance(found, Stencil):
            self.fail(node, f"{what} is a stencil, which multiplies an array: {what} * x")
        self.fail(node, f"{what} is of type {type(found).__name__}, no number and no array")

    def _expect_weak(self, kind: type, what: str, dtype: str, node: Any) -> None:
        if dtype not in WEAK_TYPES.get(kind, ()):
            self.fail(node, f"{what}, Python's {kind.__name__}, among numbers of type {dtype}")

    def _expect_range(self, number: float, dtype: str, node: Any) -> None:
        if dtype == "f32" and abs(number) > float(np.finfo(np.float32).max):
            self.fail(node, f"{number} is too large for f32")

    # Calls

    def call(
        self, operation: str, operands: Sequence[Symbol], types: Sequence[Type], node: Any
    ) -> list[Symbol]:
        """A call with new results of these types."""
        results = []
        for of in types:
            self._temporaries += 1
            results.append(self.local(node, f"_{self._temporaries}", of, None))
        names, given = (", ".join(one.name for one in some) for some in (results, operands))
        self.line(f"{operation}({given});", node, names)
        return results

    def with_body(self, operation: TextOperation, node: Any) -> None:
        """The text calls an operation with a body."""
        if self.operations.setdefault(operation.name, operation) != operation:
            self.fail(node, f"the program calls two operations {operation.name}, which differ")

    def store(self, variable: Symbol, value: Symbol, node: Any, *, copied: bool) -> None:
        """Assigns a value to a variable. If the last line computes it, that may store it there."""
        last = self._lines[-1] if self._lines else None
        if not copied and last and last.result == value.name and value.variable is None:
            last.result = variable.name
            del self._declarations[value.name]
        else:
            self.line(f"copy({value.name});", node, variable.name)
