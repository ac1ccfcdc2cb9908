# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""The program that a function is for arguments of given types, by its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from aperture import _program_operations as operations
from aperture._program_bodies import TextOperation
from aperture._program_calls import Retype
from aperture._program_expressions import Expressions
from aperture._program_source import Source
from aperture._program_text import Slot
from aperture._program_values import (
    NUMPY_DTYPES,
    WEAK_TYPES,
    Known,
    Shape,
    Symbol,
    Type,
    Value,
    WeakNumber,
    is_number,
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


def translate(
    source: Source,
    outside: Callable[[str], Any],
    arguments: dict[str, Any],
    batches: tuple[str, ...],
    in_place: tuple[str, ...],
    while_limit: int,
) -> Translation:
    """The program; ProgramError if the function is none for these arguments.

    ``outside`` finds names as the function does, or raises NameError. ``batches`` are those among
    the arguments.
    """
    types: dict[str, str] = {}
    tried: set[tuple[str, str]] = set()
    while True:
        try:
            return _Translator(
                source, outside, arguments, batches, in_place, while_limit, types
            ).run()
        except Retype as retyped:
            variable, dtype = retyped.variable, retyped.dtype
            if (variable, dtype) in tried:
                reason = f"{variable} would be both {types[variable]} and {dtype}"
                raise source.error(retyped.node, reason) from None
            tried.add((variable, dtype))
            types[variable] = dtype
        except RecursionError:
            raise source.error(source.function, "an expression is nested too deeply") from None


class _Translator(Expressions):
    def __init__(
        self,
        source: Source,
        outside: Callable[[str], Any],
        arguments: dict[str, Any],
        batches: tuple[str, ...],
        in_place: tuple[str, ...],
        while_limit: int,
        types: dict[str, str],
    ) -> None:
        super().__init__(source, outside, arguments, batches)
        self._in_place, self._while_limit = in_place, while_limit
        # Of variables that began as numbers of Python's.
        self._types = types
        self._whiles: list[ast.While] = []

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
            return self._emit("copy", [symbol], node)[0]
        return symbol

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
            kind = self._kind_of(name)
            symbol = self._text.argument(node, index, name, value, kind, in_place=True)
            self._variables[name] = symbol
        elif self._assignments[name] > 1:
            given = self._given(index, f"{name}_given", value, self._kind_of(name), node)
            self._assign(name, given, node)

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
            variable = self._text.local(node, name, value.type, name)
            self._variables[name] = variable
        elif variable.type != value.type:
            if variable.shape == value.shape and name in self._weak_variables:
                raise Retype(name, value.dtype, node)
            if variable.shape == value.shape and value.variable in self._weak_variables:
                raise Retype(value.variable, variable.dtype, node)
            self._fail(node, f"{name} is {variable.type} before, and cannot become {value.type}")
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
                raise Retype(name, dtype, node)
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
            self._variables[name] = Symbol(free, Type("scalar", "i64"), name)
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
        again = self._text.local(node, "again", Type("scalar", "bool"), None)
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


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a break in the block, or in a branch of it, can leave its loop."""
    return any(
        isinstance(one, ast.Break)
        or (isinstance(one, ast.If) and (_leaves(one.body) or _leaves(one.orelse)))
        for one in block
    )
