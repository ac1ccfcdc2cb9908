# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Calls of operations in a program, and the types of the numbers in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, cast

from aperture import _program_operations as operations
from aperture._program_bodies import TextOperation
from aperture._program_library import Operation, types_of_call
from aperture._program_source import Source
from aperture._program_text import ProgramText
from aperture._program_values import DTYPES, Known, Symbol, Value, strong_type, weak_kind


class Retype(Exception):
    """A variable that began as a number of Python's is of this type."""

    def __init__(self, variable: str, dtype: str, node: Any) -> None:
        self.variable, self.dtype, self.node = variable, dtype, node


class Calls:
    def __init__(self, source: Source, arguments: dict[str, Any]) -> None:
        self._function, self._text = source.function, ProgramText(source)
        self._arguments = arguments
        # Those that began as numbers of Python's, and those that count loops.
        self._weak_variables: set[str] = set()
        self._counters: set[str] = set()
        # Variables of which calls since the last branch read other entries than that in the place.
        # Their new values are stored before the next branch, so that what follows can run in the
        # kernel of those calls.
        self._neighboured: set[str] = set()
        self._real, self._complex = _default_types(arguments)

    def _fail(self, node: Any, reason: str) -> NoReturn:
        self._text.fail(node, reason)

    def _call(self, operation: Operation, values: list[Value], node: Any) -> Symbol:
        """A call with one result."""
        return self._emit(operation.name, self._operands(operation, values, node), node)[0]

    def _call_with_body(
        self, operation: TextOperation, name: str, values: list[Value], node: Any
    ) -> Value:
        if len(values) != len(operation.operands):
            of = f"{len(operation.operands)} argument{'s' if len(operation.operands) > 1 else ''}"
            self._fail(node, f"{name} has {of} in a program, not {len(values)}")
        pairs = list(zip(operation.operands, values, strict=True))
        of_one_type = iter(self._of_one_type([v for one, v in pairs if not one.dtype], node))
        operands = [
            self._text.number(value, one.dtype, node) if one.dtype else next(of_one_type)
            for one, value in pairs
        ]
        self._text.with_body(operation, node)
        results = self._emit(operation.name, operands, node, operation)
        return results[0] if len(results) == 1 else Known(tuple(results))

    def _operands(self, operation: Operation, values: list[Value], node: Any) -> list[Symbol]:
        if operation is operations.SELECT and len(values) == 3:
            return self._of_selection(values, node)
        operands = self._of_one_type(values, node)
        if operation.of == "scalars" and any(one.shape for one in operands):
            use = {"min": "minimum", "max": "maximum", "not": "~"}[operation.name]
            self._fail(node, f"{operation.name} of arrays; use {use}")
        for one in operands:
            if operation.of == "arrays" and one.type.kind != "array":
                what = "a number" if one.type.kind == "scalar" else f"a {one.type.kind}"
                self._fail(node, f"{operation.name} of {what}; expected an array")
        return operands

    def _emit(
        self,
        call: str,
        operands: Sequence[Symbol],
        node: Any,
        body: TextOperation | None = None,
    ) -> list[Symbol]:
        """A call with the results that the library says it has."""
        try:
            types = types_of_call(call, tuple(one.type for one in operands), body)
        except ValueError as error:
            reason = str(error)
            if "batch" in reason and any(one.type.kind == "array" for one in operands):
                reason += "; parameters that are batches have the annotation aperture.compose.Batch"
            self._fail(node, reason)
        for one, beyond in zip(operands, types.beyond, strict=True):
            if beyond and one.variable is not None:
                self._neighboured.add(one.variable)
        return self._text.call(call, operands, types.results, node)

    def _converted(self, value: Symbol, dtype: str, node: Any) -> Symbol:
        return self._emit(f"convert<to = {dtype}>", [value], node)[0]

    def _of_selection(self, values: list[Value], node: Any) -> list[Symbol]:
        condition, *chosen = values
        if (strong_type(condition) or self._weak_type([condition])) != "bool":
            self._fail(node, "the first argument must be of bool")
        wanted = self._weak_type(chosen)
        if not any(strong_type(value) for value in chosen) and wanted in ("f32", "c64"):
            # NumPy chooses this.
            wanted = "f64" if wanted == "f32" else "c128"
            numbers = [self._text.number(value, wanted, node) for value in chosen]
        else:
            numbers = self._of_one_type(chosen, node)
        return [self._text.number(condition, "bool", node), *numbers]

    def _of_one_type(self, values: list[Value], node: Any) -> list[Symbol]:
        """The operands of a call. Numbers of Python's get the type of the others, and so do
        variables that began as one."""
        for value in values:
            if isinstance(value, Known):
                self._text.expect_number(value, node)
        weak = self._weak_type(values)
        values = self._with_counters_as_numbers(values, weak, node)
        strong = [dtype for dtype in map(strong_type, values) if dtype is not None]
        if not strong:
            return [self._text.number(value, weak, node) for value in values]
        began_weak = [
            value
            for value in values
            if isinstance(value, Symbol) and value.variable in self._weak_variables
        ]
        others = [
            dtype
            for value in values
            if value not in began_weak and (dtype := strong_type(value)) is not None
        ]
        floats = [dtype for dtype in strong if dtype != "i64"]
        for value in began_weak:
            wanted = value.dtype
            if others:
                wanted = others[0]
            elif wanted == "i64" and floats:
                wanted = floats[0]
            elif wanted == "i64" and weak in ("f32", "f64"):
                wanted = weak
            if wanted != value.dtype and wanted != "bool":
                raise Retype(cast(str, value.variable), wanted, node)
        return [self._text.number(value, strong[0], node) for value in values]

    def _with_counters_as_numbers(self, values: list[Value], weak: str, node: Any) -> list[Value]:
        """What counts a loop is an int of Python's, which has the type of what it meets."""
        counters = [
            value
            for value in values
            if isinstance(value, Symbol) and value.variable in self._counters
        ]
        others = [strong_type(value) for value in values if value not in counters]
        wanted = next((dtype for dtype in others if dtype is not None), weak)
        if not counters or wanted not in ("f32", "f64"):
            return values
        return [
            self._converted(value, wanted, node) if value in counters else value for value in values
        ]

    def _weak_type(self, values: Sequence[Value]) -> str:
        """The type of numbers of Python's among others of Python's."""
        kinds = set(map(weak_kind, values))
        if complex in kinds:
            return self._complex
        if float in kinds:
            return self._real
        return "i64" if int in kinds else "bool"


def _default_types(arguments: dict[str, Any]) -> tuple[str, str]:
    """Of Python's real and complex numbers that meet no others: the widest of the arguments."""
    types = {DTYPES[value.dtype] for value in arguments.values() if hasattr(value, "dtype")}
    if not types & {"f64", "c128"} and types & {"f32", "c64"}:
        return "f32", "c64"
    return "f64", "c128"
