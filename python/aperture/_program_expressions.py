# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Expressions of a function that is a program."""

from __future__ import annotations

import ast
import difflib
import functools
import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import numpy as np

from aperture import _program_operations as operations
from aperture._program_bodies import TextOperation
from aperture._program_calls import Calls
from aperture._program_functions import Stencil
from aperture._program_library import FUNCTIONS, Operation, call_text
from aperture._program_source import Source
from aperture._program_values import WEAK_TYPES, Known, Symbol, Value, WeakNumber


class Expressions(Calls):
    def __init__(
        self,
        source: Source,
        outside: Callable[[str], Any],
        arguments: dict[str, Any],
        batches: tuple[str, ...],
    ) -> None:
        super().__init__(source, arguments)
        self._outside, self._batches = outside, batches
        self._values = tuple(arguments.values())
        self._captured: dict[tuple[str, tuple[str, ...]], Any] = {}
        # Those that the function does not assign to, once they are read.
        self._parameters: dict[str, Value] = {}
        self._variables: dict[str, Symbol] = {}
        # Variables that are assigned once, and known then.
        self._constants: dict[str, Value] = {}
        # New values of variables that are stored later.
        self._pending: dict[str, tuple[Symbol, Any]] = {}
        self._assignments = Counter(list(arguments))

    def _expression(self, node: ast.expr) -> Value:
        match node:
            case ast.Name():
                return self._name(node)
            case ast.Constant(value=bool() | int() | float() | complex()):
                return Known(node.value)
            case ast.Constant():
                self._fail(node, f"a program cannot compute with {node.value!r}")
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.BinOp():
                left, right = self._expression(node.left), self._expression(node.right)
                return self._binary(node.op, left, right, node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BoolOp():
                return self._and_or(node)
            case ast.Compare():
                return self._comparisons(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call():
                return self._function_call(node)
            case _:
                self._refuse(node)

    def _refuse(self, node: Any) -> NoReturn:
        self._fail(
            node,
            f"a program cannot have {type(node).__name__.lower()}: it has assignments of "
            "expressions, for ... in range(n), while, if, break, and return at its end",
        )

    def _name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self._constants:
            return self._constants[name]
        if name in self._variables:
            return self._pending[name][0] if name in self._pending else self._variables[name]
        if name in self._arguments and self._assignments[name] == 1:
            if name not in self._parameters:
                index = list(self._arguments).index(name)
                value, kind = self._arguments[name], self._kind_of(name)
                self._parameters[name] = self._given(index, name, value, kind, node)
            return self._parameters[name]
        if self._is_local(name):
            self._fail(node, f"{name} has no value here")
        return self._capture(node, name, ())

    def _is_local(self, name: str) -> bool:
        return self._assignments[name] > 0 or name in self._counters

    def _kind_of(self, parameter: str) -> str:
        return "batch" if parameter in self._batches else "array"

    def _given(self, index: int, name: str, value: Any, kind: str, node: Any) -> Value:
        if isinstance(value, np.ndarray | np.generic):
            return self._text.argument(node, index, name, value, kind)
        if type(value) in (float, complex):
            return WeakNumber(operator.itemgetter(index), name, type(value))
        return Known(value, name)

    def _capture(self, node: Any, name: str, attributes: tuple[str, ...]) -> Known:
        """What a name outside of the function, or an attribute of it, stands for now."""
        try:
            found = self._outside(name)
        except NameError:
            known = [*self._assignments, *operations.FUNCTION_NAMES]
            similar = difflib.get_close_matches(name, known, 1)
            self._fail(node, f"there is no {name}" + (f"; is it {similar[0]}?" if similar else ""))
        for attribute in attributes:
            if not hasattr(found, attribute):
                self._fail(node, f"{name} has no attribute {attribute}")
            found = getattr(found, attribute)
        self._captured[name, attributes] = found
        return Known(found, attributes[-1] if attributes else name)

    def _attribute(self, node: ast.Attribute) -> Value:
        attributes = [node.attr]
        root = node.value
        while isinstance(root, ast.Attribute):
            attributes.insert(0, root.attr)
            root = root.value
        if isinstance(root, ast.Name) and not self._is_local(root.id):
            return self._capture(node, root.id, tuple(attributes))
        of = self._expression(node.value)
        if isinstance(of, Symbol) and of.shape:
            shape = of.shape
            known = {"shape": shape, "ndim": len(shape), "size": math.prod(shape)}
            if node.attr in known:
                return Known(known[node.attr])
        self._fail(node, f"a program knows .shape, .ndim and .size of arrays, not .{node.attr}")

    def _subscript(self, node: ast.Subscript) -> Value:
        of = self._expression(node.value)
        if not isinstance(of, Known) or not isinstance(of.value, tuple):
            self._fail(node, "arrays have no subscripts in a program")
        index = self._expression(node.slice)
        if not isinstance(index, Known):
            self._fail(node, "a subscript must be known")
        found = cast(Known, self._by_python(operator.getitem, [of, index], node))
        return found.value if isinstance(found.value, Symbol) else found

    def _by_python(
        self, function: Callable[..., Any], values: Sequence[Value], node: Any
    ) -> Known | WeakNumber:
        """A function of values that are no symbols: a known number, or one of arguments."""
        for value in values:
            if isinstance(value, Known) and not isinstance(value.value, tuple):
                self._text.expect_number(value, node)
        parts = [_computed(value) for value in values]

        def compute(given: tuple[Any, ...]) -> Any:
            return function(*(part(given) for part in parts))

        try:
            with np.errstate(all="ignore"):
                found = compute(self._values)
        except Exception as error:
            self._fail(node, f"{type(error).__name__}: {error}")
        if all(isinstance(value, Known) for value in values):
            return Known(found)
        if type(found) not in WEAK_TYPES:
            self._fail(node, f"this is of type {type(found).__name__}; write float(...)")
        return WeakNumber(compute, ast.unparse(node), type(found))

    def _binary(self, op: ast.operator, left: Value, right: Value, node: Any) -> Value:
        if isinstance(left, Known) and isinstance(left.value, Stencil):
            if isinstance(op, ast.Mult) and isinstance(right, Symbol):
                return self._stencil_product(left, right, node)
        if not isinstance(left, Symbol) and not isinstance(right, Symbol):
            if type(op) in operations.BY_PYTHON:
                return self._by_python(operations.BY_PYTHON[type(op)], [left, right], node)
        elif type(op) in operations.BINARY:
            return self._call(operations.BINARY[type(op)], [left, right], node)
        hint = "; write x * x" if isinstance(op, ast.Pow) else ""
        self._fail(node, f"a program has no operator {operations.SIGNS[type(op)]}{hint}")

    def _stencil_product(self, known: Known, image: Symbol, node: Any) -> Symbol:
        if image.dtype not in ("f32", "f64"):
            self._fail(node, f"a stencil times {image.type}; expected f32 or f64")
        weights = self._text.stencil(known, image.dtype, node)
        return self._emit("stencil_product", [weights, image], node)[0]

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self._expression(node.operand)
        if not isinstance(value, Symbol):
            return self._by_python(operations.BY_PYTHON[type(node.op)], [value], node)
        if isinstance(node.op, ast.UAdd):
            return value
        return self._call(operations.UNARY[type(node.op)], [value], node)

    def _and_or(self, node: ast.BoolOp) -> Value:
        is_and = isinstance(node.op, ast.And)
        found: Symbol | None = None
        for one in node.values:
            value = self._expression(one)
            if isinstance(value, Known):
                if self._truth(value, one) == is_and:
                    continue
                if found is None:
                    return value
            condition = self._condition(value, one)
            found = condition if found is None else self._logical(is_and, found, condition, node)
        return Known(is_and) if found is None else found

    def _logical(self, is_and: bool, a: Value, b: Value, node: Any) -> Symbol:
        return self._call(operations.BINARY[ast.BitAnd if is_and else ast.BitOr], [a, b], node)

    def _comparisons(self, node: ast.Compare) -> Value:
        left = self._expression(node.left)
        found: Value | None = None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self._expression(right_node)
            one = self._comparison(op, left, right, node)
            if len(node.ops) > 1:
                one = self._condition(one, node)
            found = one if found is None else self._logical(True, found, one, node)
            left = right
        return cast(Value, found)

    def _comparison(self, op: ast.cmpop, left: Value, right: Value, node: Any) -> Value:
        if type(op) not in operations.COMPARISONS:
            self._fail(node, f"a program has no operator {operations.SIGNS[type(op)]}")
        if not isinstance(left, Symbol) and not isinstance(right, Symbol):
            return self._by_python(operations.BY_PYTHON[type(op)], [left, right], node)
        operation, exchanged = operations.COMPARISONS[type(op)]
        return self._call(operation, [right, left] if exchanged else [left, right], node)

    def _choice(self, node: ast.IfExp) -> Value:
        test = self._expression(node.test)
        if isinstance(test, Known):
            return self._expression(node.body if self._truth(test, node.test) else node.orelse)
        condition = self._condition(test, node.test)
        values = [self._expression(node.body), self._expression(node.orelse)]
        return self._emit("select", [condition, *self._of_one_type(values, node)], node)[0]

    def _truth(self, known: Known, node: Any) -> bool:
        self._text.expect_number(known, node)
        return bool(known.value)

    def _condition(self, value: Value, node: Any) -> Symbol:
        if isinstance(value, Known):
            return self._text.number(Known(self._truth(value, node)), "bool", node)
        if isinstance(value, WeakNumber) and value.kind is bool:
            return self._text.number(value, "bool", node)
        if not isinstance(value, Symbol) or value.dtype != "bool":
            self._fail(node, "a condition is a comparison, or a number of bool")
        if value.shape:
            self._fail(node, "a condition is one number, not an array; of arrays use & | ~")
        return value

    def _function_call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            return self._as_type(node.func.value, node)
        function = self._expression(node.func)
        if not isinstance(function, Known) or not callable(function.value):
            self._fail(node, "this is no function")
        called, name = function.value, function.name or "this"
        if not isinstance(called, functools.partial):
            called = functools.partial(called)
        values = [*map(Known, called.args), *map(self._expression, node.args)]
        keywords, called = called.keywords, called.func
        operation = FUNCTIONS.get(called)
        attributes = self._attributes(keywords, node, operation)
        if isinstance(called, TextOperation):
            return self._call_with_body(called, name, values, node)
        if values and not any(isinstance(value, Symbol) for value in values):
            of_math = getattr(called, "__module__", "") == "math"
            of_numbers = operation is not None and operation.of != "arrays"
            by_python = operations.FUNCTIONS_BY_PYTHON.union(operations.CONVERSIONS)
            if of_numbers or of_math or called in by_python:
                return self._by_python(functools.partial(called, **attributes), values, node)
        if called in operations.CONVERSIONS and len(values) == 1:
            return self._converted(cast(Symbol, values[0]), operations.CONVERSIONS[called], node)
        if operation is None:
            self._refuse_call(called, name, node)
        try:
            call = call_text(operation, attributes)
        except (TypeError, ValueError) as error:
            self._fail(node, str(error))
        results = self._emit(call, self._operands(operation, values, node), node)
        return results[0] if len(results) == 1 else Known(tuple(results))

    def _as_type(self, of: ast.expr, node: ast.Call) -> Value:
        value = self._expression(of)
        wanted = self._expression(node.args[0]) if len(node.args) == 1 else None
        if not isinstance(value, Symbol) or not isinstance(wanted, Known) or node.keywords:
            self._fail(node, "astype has one argument in a program, a type of NumPy's")
        if wanted.value not in operations.CONVERSIONS:
            self._fail(node, "a program converts to np.float32 and np.float64")
        return self._converted(value, operations.CONVERSIONS[wanted.value], node)

    def _attributes(
        self, given: dict[str, Any], node: ast.Call, operation: Operation | None
    ) -> dict[str, Any]:
        """Keyword arguments: those that are given, and the call's own."""
        known = operation.attributes if operation else ()
        for name in given:
            if name not in known:
                self._fail(node, f"no argument {name} in a program")
        attributes = dict(given)
        for keyword in node.keywords:
            if keyword.arg not in known:
                self._fail(keyword.value, f"no argument {keyword.arg} in a program")
            if isinstance(keyword.value, ast.Constant):
                value: Value = Known(keyword.value.value)
            else:
                value = self._expression(keyword.value)
            if not isinstance(value, Known) or type(value.value) not in (bool, int, float, str):
                self._fail(keyword.value, f"{keyword.arg} must be known, a number or a word")
            attributes[keyword.arg] = value.value
        return attributes

    def _refuse_call(self, called: Any, name: str, node: Any) -> NoReturn:
        instead = operations.INSTEAD.get(called)
        if instead is not None:
            self._fail(node, f"{name} computes something else; use {instead}")
        if name == self._function.name:
            self._fail(node, f"{name} calls itself, which a program cannot")
        self._fail(
            node,
            f"a program cannot call {name}; it can call functions of aperture.compose, "
            "operations, abs, min and max",
        )


def _computed(value: Value) -> Callable[[tuple[Any, ...]], Any]:
    """The function of arguments that a value is."""
    if isinstance(value, WeakNumber):
        return value.compute
    found = cast(Known, value).value
    return lambda _: found
