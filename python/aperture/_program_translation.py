# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""The program that a function is for arguments of given types, by its syntax tree."""

from __future__ import annotations

import ast
import difflib
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import numpy as np

from aperture import _program_operations as operations
from aperture._program_bodies import TextOperation
from aperture._program_functions import Stencil
from aperture._program_operations import Operation
from aperture._program_source import Source
from aperture._program_text import ProgramText, Slot
from aperture._program_values import (
    DTYPES,
    NUMPY_DTYPES,
    WEAK_TYPES,
    Known,
    Shape,
    Symbol,
    Value,
    WeakNumber,
    is_number,
    strong_type,
    weak_kind,
)


@dataclass
class Translation:
    text: str
    nodes: list[Any]
    """What of the function each line of the text comes from."""
    slots: list[Slot]
    """Inputs, in the order of the text."""
    results: list[tuple[np.dtype[Any], Shape]]
    """Types of what the text returns."""
    returned: list[tuple[str, int]]
    """What the function returns: "result" or "argument", for those in place, and its number."""
    returns: type[Any]
    """How the function returns it: tuple, NoneType, or object for one value."""
    endless: Any
    """What may not end: its only while, or the function."""
    operations: list[TextOperation]
    """Those with bodies that the text calls."""
    captured: list[tuple[str, tuple[str, ...], Any]]
    """What was found outside of the function: a name, attributes of it, the object."""


class _Retype(Exception):
    """A variable that began as a number of Python's is of this type."""

    def __init__(self, variable: str, dtype: str, node: Any) -> None:
        self.variable, self.dtype, self.node = variable, dtype, node


def translate(
    source: Source,
    outside: Callable[[str], Any],
    arguments: dict[str, Any],
    in_place: tuple[str, ...],
    while_limit: int,
) -> Translation:
    """The program; ProgramError if the function is none for these arguments.

    ``outside`` finds names as the function does, or raises NameError.
    """
    types: dict[str, str] = {}
    tried: set[tuple[str, str]] = set()
    while True:
        try:
            return _Translator(source, outside, arguments, in_place, while_limit, types).run()
        except _Retype as retyped:
            variable, dtype = retyped.variable, retyped.dtype
            if (variable, dtype) in tried:
                reason = f"{variable} would be both {types[variable]} and {dtype}"
                raise source.error(retyped.node, reason) from None
            tried.add((variable, dtype))
            types[variable] = dtype
        except RecursionError:
            raise source.error(source.function, "an expression is nested too deeply") from None


class _Translator:
    def __init__(
        self,
        source: Source,
        outside: Callable[[str], Any],
        arguments: dict[str, Any],
        in_place: tuple[str, ...],
        while_limit: int,
        types: dict[str, str],
    ) -> None:
        self._function, self._text = source.function, ProgramText(source)
        self._outside, self._arguments = outside, arguments
        self._values = tuple(arguments.values())
        self._in_place, self._while_limit = in_place, while_limit
        # Of variables that began as numbers of Python's.
        self._types = types
        self._weak_variables: set[str] = set()
        self._captured: dict[tuple[str, tuple[str, ...]], Any] = {}
        # Those that the function does not assign to, once they are read.
        self._parameters: dict[str, Value] = {}
        self._variables: dict[str, Symbol] = {}
        # Variables that are assigned once, and known then.
        self._constants: dict[str, Value] = {}
        # Variables of which calls since the last branch read neighbours. Their new values are
        # stored before the next branch, so that what follows can run in the kernel of those calls.
        self._neighboured: set[str] = set()
        self._pending: dict[str, tuple[Symbol, Any]] = {}
        self._assignments = Counter(list(arguments))
        self._counters: set[str] = set()
        self._whiles: list[ast.While] = []
        self._real, self._complex = _default_types(arguments)

    def _fail(self, node: Any, reason: str) -> NoReturn:
        self._text.fail(node, reason)

    def run(self) -> Translation:
        self._count_assignments()
        for index, (name, value) in enumerate(self._arguments.items()):
            self._begin_parameter(index, name, value)
        body = self._function.body
        last = body[-1]
        if not isinstance(last, ast.Return):
            self._body(body)
            symbols, returns = self._nothing()
        else:
            self._body(body[:-1])
            symbols, returns = self._returned(last) if last.value else self._nothing()
        results: list[Symbol] = []
        returned: list[tuple[str, int]] = []
        for symbol in symbols:
            if symbol.variable in self._in_place:
                returned.append(("argument", list(self._arguments).index(symbol.variable)))
            else:
                returned.append(("result", len(results)))
                results.append(symbol)
        if not results:
            # A text returns something.
            results = [self._returnable(Known(0), last)]
        self._text.line(f"return {', '.join(symbol.name for symbol in results)};", last)
        text, nodes = self._text.finished()
        return Translation(
            text=text,
            nodes=nodes,
            slots=self._text.slots,
            results=[(NUMPY_DTYPES[symbol.dtype], symbol.shape) for symbol in results],
            returned=returned,
            returns=returns,
            endless=self._whiles[0] if len(self._whiles) == 1 else self._function,
            operations=list(self._text.operations.values()),
            captured=[(*where, found) for where, found in self._captured.items()],
        )

    def _nothing(self) -> tuple[list[Symbol], type[Any]]:
        if not self._in_place:
            self._fail(self._function, f"{self._function.name} returns nothing")
        self._store_pending()
        return [], type(None)

    def _returned(self, node: ast.Return) -> tuple[list[Symbol], type[Any]]:
        is_tuple = isinstance(node.value, ast.Tuple)
        nodes = cast(ast.Tuple, node.value).elts if is_tuple else [cast(ast.expr, node.value)]
        if not nodes:
            self._fail(node, f"{self._function.name} returns nothing")
        if self._in_place:
            self._store_pending()
        values = [(self._expression(one), one) for one in nodes]
        symbols = [self._returnable(value, one) for value, one in values]
        return symbols, tuple if is_tuple else object

    def _returnable(self, value: Value, node: Any) -> Symbol:
        symbol = self._text.number(value, self._weak_type([value]), node)
        if isinstance(value, Known) or symbol.variable in self._counters:
            return self._emit(operations.COPY, [symbol], node)
        return symbol

    # Names

    def _count_assignments(self) -> None:
        nodes = [node for one in self._function.body for node in ast.walk(one)]
        targets = [node.target for node in nodes if isinstance(node, ast.For)]
        self._counters = {target.id for target in targets if isinstance(target, ast.Name)}
        for node in nodes:
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                if node in targets:
                    continue
                if node.id in self._counters:
                    self._fail(node, f"{node.id} counts a loop, and is assigned elsewhere")
                self._assignments[node.id] += 1
        for target in targets:
            if isinstance(target, ast.Name) and target.id in self._arguments:
                self._fail(target, f"{target.id} counts a loop, and is a parameter")

    def _begin_parameter(self, index: int, name: str, value: Any) -> None:
        """Those that the function assigns to become variables."""
        node = self._function
        if name in self._in_place:
            symbol = self._text.argument(node, index, name, value, in_place=True)
            self._variables[name] = symbol
        elif self._assignments[name] > 1:
            self._assign(name, self._given(index, f"{name}_given", value, node), node)

    def _given(self, index: int, name: str, value: Any, node: Any) -> Value:
        if isinstance(value, np.ndarray | np.generic):
            return self._text.argument(node, index, name, value)
        if type(value) in (float, complex):
            return WeakNumber(operator.itemgetter(index), name, type(value))
        return Known(value, name)

    def _name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self._constants:
            return self._constants[name]
        if name in self._variables:
            return self._pending[name][0] if name in self._pending else self._variables[name]
        if name in self._arguments and self._assignments[name] == 1:
            if name not in self._parameters:
                index = list(self._arguments).index(name)
                self._parameters[name] = self._given(index, name, self._arguments[name], node)
            return self._parameters[name]
        if self._is_local(name):
            self._fail(node, f"{name} has no value here")
        return self._capture(node, name, ())

    def _is_local(self, name: str) -> bool:
        return self._assignments[name] > 0 or name in self._counters

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

    # Statements

    def _body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple() | ast.List() as target]):
                self._assign_tuple(target, node.value)
            case ast.Assign():
                value = self._expression(node.value)
                for one in node.targets:
                    self._assign_target(one, value, copied=len(node.targets) > 1)
            case ast.AnnAssign():
                if node.value is not None:
                    self._assign_target(node.target, self._expression(node.value))
            case ast.AugAssign():
                self._augmented(node)
            case ast.For():
                self._for(node)
            case ast.While():
                self._while(node)
            case ast.If():
                self._if(node)
            case ast.Break():
                self._store_pending()
                self._text.line("break;", node)
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Return():
                self._fail(node, "return must be the last statement of a program")
            case ast.Expr():
                self._expression(node.value)
                self._fail(node, "this has no effect: a program assigns what it computes")
            case _:
                self._refuse(node)

    def _refuse(self, node: Any) -> NoReturn:
        self._fail(
            node,
            f"a program cannot have {type(node).__name__.lower()}: it has assignments of "
            "expressions, for ... in range(n), while, if, break, and return at its end",
        )

    def _assign_target(self, target: ast.expr, value: Value, *, copied: bool = False) -> None:
        if not isinstance(target, ast.Name):
            self._fail(target, "a program assigns to names only")
        self._assign(target.id, value, target, copied=copied)

    def _assign_tuple(self, target: ast.Tuple | ast.List, node: ast.expr) -> None:
        values: list[Value]
        if isinstance(node, ast.Tuple):
            # All of them before the first assignment.
            values = [self._kept(self._expression(one), one) for one in node.elts]
        else:
            found = self._expression(node)
            if not isinstance(found, Known) or not isinstance(found.value, tuple):
                self._fail(node, "only a tuple can be assigned to several names")
            values = [one if isinstance(one, Symbol) else Known(one) for one in found.value]
        if len(values) != len(target.elts):
            self._fail(target, f"{len(values)} values for {len(target.elts)} names")
        for one, value in zip(target.elts, values, strict=True):
            self._assign_target(one, value)

    def _kept(self, value: Value, node: Any) -> Value:
        """The value as it is now, of a variable too."""
        if isinstance(value, Symbol) and value.variable is not None:
            return self._call(operations.COPY, [value], node)
        return value

    def _assign(self, name: str, value: Value, node: Any, *, copied: bool = False) -> None:
        variable = self._variables.get(name)
        if not isinstance(value, Symbol):
            if self._assignments[name] == 1:
                self._constants[name] = value
                return
            value = self._number_for(name, variable, value, node)
        if variable is None:
            variable = self._text.local(node, name, value.dtype, value.shape, name)
            self._variables[name] = variable
        elif (variable.dtype, variable.shape) != (value.dtype, value.shape):
            if variable.shape == value.shape and name in self._weak_variables:
                raise _Retype(name, value.dtype, node)
            if variable.shape == value.shape and value.variable in self._weak_variables:
                raise _Retype(value.variable, variable.dtype, node)
            before, now = variable.type_text, value.type_text
            self._fail(node, f"{name} is {before} before, and cannot become {now}")
        if name in self._neighboured:
            self._pending[name] = cast(Symbol, self._kept(value, node)), node
        else:
            is_pending = any(value is pending for pending, _ in self._pending.values())
            self._text.store(variable, value, node, copied=copied or is_pending)

    def _store_pending(self) -> None:
        for name, (value, node) in self._pending.items():
            self._text.store(self._variables[name], value, node, copied=True)
        self._pending.clear()
        self._neighboured.clear()

    def _number_for(
        self, name: str, variable: Symbol | None, value: Known | WeakNumber, node: Any
    ) -> Symbol:
        """A number that is assigned to a variable, which may be its first value."""
        if isinstance(value, Known) and not is_number(value.value):
            self._fail(node, f"{name} is assigned more than once, and is no number or array")
        dtype = self._weak_type([value])
        kind = weak_kind(value)
        if variable is not None:
            is_weak = kind is not None and name in self._weak_variables
            if is_weak and variable.dtype not in WEAK_TYPES[cast(type, kind)]:
                raise _Retype(name, dtype, node)
            return self._text.number(value, variable.dtype, node)
        if kind is not None:
            self._weak_variables.add(name)
        return self._text.number(value, self._types.get(name, dtype), node)

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        if not isinstance(target, ast.Name):
            self._fail(target, "a program assigns to names only")
        before = self._name(target)
        if isinstance(before, Symbol) and before.shape:
            sign = operations.SIGNS[type(node.op)]
            self._fail(
                node,
                f"{sign}= writes the array itself; write {target.id} = {target.id} {sign} ...",
            )
        value = self._binary(node.op, before, self._expression(node.value), node)
        self._assign(target.id, value, target)

    @contextmanager
    def _block(self, *, always: bool) -> Iterator[None]:
        """A block in braces. What is known in it is not after it, unless it runs ``always``."""
        constants = dict(self._constants)
        with self._text.indented():
            yield
            self._store_pending()
        if not always:
            self._constants = constants

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            self._fail(node.orelse[0], "a program's loops have no else")
        if not isinstance(node.target, ast.Name):
            self._fail(node.target, "a loop counts with one name")
        count = self._count(node.iter)
        times = self._text.number(Known(max(count.value, 0), count.name), "i64", node.iter)
        name = node.target.id
        if name not in self._variables:
            free = self._text.declare(node, name, "local", ": iteration i64")
            self._variables[name] = Symbol(free, "i64", (), name)
        self._store_pending()
        self._text.line(f"for {self._variables[name].name} in {times.name} {{", node)
        with self._block(always=count.value > 0 and not _leaves(node.body)):
            self._body(node.body)
        self._text.line("}", node)

    def _count(self, node: ast.expr) -> Known:
        """n of range(n)."""
        called = self._expression(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(called, Known) or called.value is not range:
            self._fail(node, "a program's loops are for ... in range(n)")
        call = cast(ast.Call, node)
        if len(call.args) != 1 or call.keywords:
            self._fail(node, "range has one argument in a program")
        count = self._expression(call.args[0])
        if not isinstance(count, Known) or type(count.value) is not int:
            self._fail(
                call.args[0],
                "range(n) needs a known int: a number, an argument of Python's type int, or a name "
                "outside of the function",
            )
        return count

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            self._fail(node.orelse[0], "a program's loops have no else")
        first = self._expression(node.test)
        if isinstance(first, Known) and not self._truth(first, node.test):
            return
        self._whiles.append(node)
        again = self._text.local(node, "again", "bool", (), None)
        self._text.store(again, self._condition(first, node.test), node.test, copied=False)
        self._store_pending()
        self._text.line(f"while {again.name} limit {self._while_limit} {{", node)
        with self._block(always=False):
            self._body(node.body)
            next_one = self._condition(self._expression(node.test), node.test)
            self._text.store(again, next_one, node.test, copied=False)
        self._text.line("}", node)

    def _if(self, node: ast.If) -> None:
        test = self._expression(node.test)
        if isinstance(test, Known):
            return self._body(node.body if self._truth(test, node.test) else node.orelse)
        condition = self._condition(test, node.test)
        self._store_pending()
        self._text.line(f"if {condition.name} {{", node)
        with self._block(always=False):
            self._body(node.body)
        if node.orelse:
            self._text.line("} else {", node)
            with self._block(always=False):
                self._body(node.orelse)
        self._text.line("}", node)

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

    # Expressions

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
            self._fail(node, f"a stencil times {image.type_text}; expected f32 or f64")
        weights = self._text.stencil(known, image.dtype, node)
        self._read_neighbours(image)
        operands = [weights, image]
        return self._text.call("stencil_product", operands, image.dtype, image.shape, node)

    def _read_neighbours(self, image: Symbol) -> None:
        if image.variable is not None:
            self._neighboured.add(image.variable)

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
        return self._emit(operations.SELECT, [condition, *self._of_one_type(values, node)], node)

    def _function_call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            return self._as_type(node.func.value, node)
        function = self._expression(node.func)
        if not isinstance(function, Known) or not callable(function.value):
            self._fail(node, "this is no function")
        values = [self._expression(one) for one in node.args]
        called, name = function.value, function.name or "this"
        if isinstance(called, TextOperation):
            return self._call_with_body(called, name, values, node)
        operation = operations.FUNCTIONS.get(called)
        attributes = self._attributes(node, operation)
        if values and not any(isinstance(value, Symbol) for value in values):
            of_math = getattr(called, "__module__", "") == "math"
            of_numbers = operation is not None and operation.of != "arrays"
            by_python = operations.FUNCTIONS_BY_PYTHON.union(operations.CONVERSIONS)
            if of_numbers or of_math or called in by_python:
                return self._by_python(called, values, node)
        if called in operations.CONVERSIONS and len(values) == 1:
            return self._converted(cast(Symbol, values[0]), operations.CONVERSIONS[called], node)
        if operation is None:
            self._refuse_call(called, name, node)
        self._expect_count(operation.operands, name, values, node)
        if operation.results == 1 and not attributes:
            return self._call(operation, values, node)
        operands = self._operands(operation, values, node)
        dtype, shape = operation.result or operands[-1].dtype, operands[-1].shape
        results = self._text.call_of_several(
            operation.name + attributes, operands, dtype, shape, operation.results, node
        )
        return Known(tuple(results)) if operation.results > 1 else results[0]

    def _expect_count(self, count: int, name: str, values: list[Value], node: Any) -> None:
        if len(values) != count:
            of = f"{count} argument{'s' if count > 1 else ''}"
            self._fail(node, f"{name} has {of} in a program, not {len(values)}")

    def _as_type(self, of: ast.expr, node: ast.Call) -> Value:
        value = self._expression(of)
        wanted = self._expression(node.args[0]) if len(node.args) == 1 else None
        if not isinstance(value, Symbol) or not isinstance(wanted, Known) or node.keywords:
            self._fail(node, "astype has one argument in a program, a type of NumPy's")
        if wanted.value not in operations.CONVERSIONS:
            self._fail(node, "a program converts to np.float32 and np.float64")
        return self._converted(value, operations.CONVERSIONS[wanted.value], node)

    def _converted(self, value: Symbol, dtype: str, node: Any) -> Symbol:
        return self._text.call(f"convert<to = {dtype}>", [value], dtype, value.shape, node)

    def _attributes(self, node: ast.Call, operation: Operation | None) -> str:
        """Keyword arguments, as the text has them."""
        given = []
        for keyword in node.keywords:
            if operation is None or keyword.arg not in operation.attributes:
                self._fail(keyword.value, f"no argument {keyword.arg} in a program")
            value = self._expression(keyword.value)
            if not isinstance(value, Known) or type(value.value) not in (int, float):
                self._fail(keyword.value, f"{keyword.arg} must be known, a number")
            given.append(f"{keyword.arg} = {value.value!r}")
        return f"<{', '.join(given)}>" if given else ""

    def _refuse_call(self, called: Any, name: str, node: Any) -> NoReturn:
        instead = operations.INSTEAD.get(called)
        if instead is not None:
            self._fail(node, f"{name} computes something else; use {instead}")
        if name == self._function.name:
            self._fail(node, f"{name} calls itself, which a program cannot")
        names = ", ".join(operations.FUNCTION_NAMES)
        self._fail(node, f"a program cannot call {name}; it can call {names}")

    # Calls of operations

    def _call(self, operation: Operation, values: list[Value], node: Any) -> Symbol:
        if operation is operations.SELECT:
            return self._emit(operation, self._of_selection(values, node), node)
        return self._emit(operation, self._operands(operation, values, node), node)

    def _call_with_body(
        self, operation: TextOperation, name: str, values: list[Value], node: ast.Call
    ) -> Value:
        self._attributes(node, None)
        self._expect_count(len(operation.operands), name, values, node)
        pairs = list(zip(operation.operands, values, strict=True))
        of_one_type = iter(self._of_one_type([v for one, v in pairs if not one.dtype], node))
        operands = [
            self._text.number(value, one.dtype, node) if one.dtype else next(of_one_type)
            for one, value in pairs
        ]
        dtype = operation.result
        shape: Shape = ()
        for one, symbol in zip(operation.operands, operands, strict=True):
            dtype = dtype or ("" if one.dtype else symbol.dtype)
            shape = shape or symbol.shape
            if any(one.around):
                self._read_neighbours(symbol)
        self._text.with_body(operation, node)
        count = len(operation.results)
        results = self._text.call_of_several(operation.name, operands, dtype, shape, count, node)
        return Known(tuple(results)) if count > 1 else results[0]

    def _operands(self, operation: Operation, values: list[Value], node: Any) -> list[Symbol]:
        operands = self._of_one_type(values, node)
        if operation.of == "scalars" and any(one.shape for one in operands):
            use = {"min": "minimum", "max": "maximum", "not": "~"}[operation.name]
            self._fail(node, f"{operation.name} of arrays; use {use}")
        if operation.of == "arrays" and not all(one.shape for one in operands):
            self._fail(node, f"{operation.name} of a number; expected an array")
        for i in operation.neighbours:
            self._read_neighbours(operands[i])
        return operands

    def _emit(self, operation: Operation, operands: list[Symbol], node: Any) -> Symbol:
        shape = next((one.shape for one in operands if one.shape), ())
        if operation.reduces:
            shape = ()
        dtype = operation.result or operands[-1].dtype
        return self._text.call(operation.name, operands, dtype, shape, node)

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
                raise _Retype(cast(str, value.variable), wanted, node)
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


def _computed(value: Value) -> Callable[[tuple[Any, ...]], Any]:
    """The function of arguments that a value is."""
    if isinstance(value, WeakNumber):
        return value.compute
    found = cast(Known, value).value
    return lambda _: found


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a break in the block, or in a branch of it, can leave its loop."""
    return any(
        isinstance(one, ast.Break)
        or (isinstance(one, ast.If) and (_leaves(one.body) or _leaves(one.orelse)))
        for one in block
    )


def _default_types(arguments: dict[str, Any]) -> tuple[str, str]:
    """Of Python's real and complex numbers that meet no others: the widest of the arguments."""
    types = {DTYPES[value.dtype] for value in arguments.values() if hasattr(value, "dtype")}
    if not types & {"f64", "c128"} and types & {"f32", "c64"}:
        return "f32", "c64"
    return "f64", "c128"
