# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations of the library as functions, in programs and outside of them, and what types their
calls have."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from aperture import _arrays
from aperture._extension import core
from aperture._program_bodies import TextOperation
from aperture._program_values import DTYPES, NUMPY_DTYPES, WEAK_TYPES, Type
from aperture._system import threads_for

F = TypeVar("F", bound=Callable[..., Any])

Batch = Annotated[Any, "a batch of small matrices or vectors"]
"""The annotation of parameters that are batches: ``P[n, rows, columns]`` are n matrices, and
``x[n, rows]`` n vectors, of float32, float64, complex64 or complex128."""


@dataclass(frozen=True)
class Operation:
    name: str
    of: str = "all"
    """"all", "scalars" or "arrays"."""
    attributes: tuple[str, ...] = ()
    """Keyword arguments, which are known: numbers or words."""


# By the functions that they are.
FUNCTIONS: dict[Any, Operation] = {}


def of_library(name: str = "") -> Callable[[F], F]:
    """Makes a function one of the library's operations: that of its name, or of another.

    Its parameters are operands, :data:`Batch` or arrays, those after the asterisk are attributes.
    """

    def decorated(function: F) -> F:
        code = function.__code__
        operands = code.co_varnames[: code.co_argcount]
        attributes = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        annotations = function.__annotations__
        batches = [annotations[one].startswith("Batch") for one in operands]
        operation = Operation(name or function.__name__, attributes=attributes)

        @functools.wraps(function)
        def called(*values: Any, **words: Any) -> Any:
            function(*values, **words)  # which only checks how it is called
            values += tuple(words.pop(one) for one in operands[len(values) :] if one in words)
            return computed(call_text(operation, words), values, batches)

        FUNCTIONS[called] = operation
        result: Any = called
        return result  # type: ignore[no-any-return]

    return decorated


def call_text(operation: Operation, attributes: Mapping[str, Any]) -> str:
    """A call as texts have it, without its operands."""
    given = []
    for name, value in attributes.items():
        if isinstance(value, bool):
            value = "true" if value else "false"
        if isinstance(value, str):
            if not core.is_identifier(value):
                raise ValueError(f"{name} is {value!r}, which is no word")
        elif type(value) not in (int, float):
            raise TypeError(f"{name} must be known, a number or a word")
        given.append(f"{name} = {value}")
    return operation.name + (f"<{', '.join(given)}>" if given else "")


class CallTypes(NamedTuple):
    results: tuple[Type, ...]
    beyond: tuple[bool, ...]
    """Of each operand, whether other entries are read than the one in a result's place."""


@functools.lru_cache(maxsize=1024)
def types_of_call(
    call: str, operands: tuple[Type, ...], body: TextOperation | None = None
) -> CallTypes:
    """What the library says of a call; ValueError if it has no such call."""
    text = _text_of_one(call, operands, (Type("scalar", "bool"),))
    try:
        results, beyond = core.types_of_call(text, [body.specification()] if body else [])
    except ValueError as error:
        raise ValueError(re.sub(r"^line \d+, column \d+: ", "", str(error))) from None
    types = tuple(Type(kind, dtype, tuple(shape)) for kind, dtype, shape in results)
    return CallTypes(types, tuple(beyond))


def _text_of_one(call: str, operands: Sequence[Type], results: Sequence[Type]) -> str:
    """The program of one call."""
    given = [f"x{i}" for i in range(len(operands))]
    found = ", ".join(f"y{i}" for i in range(len(results)))
    lines = [
        f"stencil {name}: {of.dtype} replicate {{({', '.join(map(str, of.shape))}): 1}};"
        if of.kind == "stencil"
        else f"input {name}: {of};"
        for name, of in zip(given, operands, strict=True)
    ]  # fmt: skip
    lines += [f"local y{i}: {of};" for i, of in enumerate(results)]
    lines += [f"{found} = {call}({', '.join(given)});", f"return {found};"]
    return "\n".join(["program of_one_call {", *lines, "}\n"])


def computed(call: str, operands: Sequence[Any], batches: Sequence[bool]) -> Any:
    """The results of a call of arrays and numbers in host memory."""
    arrays = _operands(call, operands)
    types = tuple(
        Type(("batch" if of_batch else "array") if one.ndim else "scalar", DTYPES[one.dtype],
             one.shape)
        for one, of_batch in zip(arrays, batches, strict=False)
    )  # fmt: skip
    program, found = _program_of_one(call, types, threads_for(None))
    results = [np.empty(of.shape, NUMPY_DTYPES[of.dtype]) for of in found]
    program.run(0, arrays, results)
    if all(type(one) in WEAK_TYPES for one in operands):
        returned = tuple(one.item() for one in results)
    else:
        returned = tuple(one if one.ndim else one[()] for one in results)
    return returned if len(returned) > 1 else returned[0]


@functools.lru_cache(maxsize=16)
def _program_of_one(call: str, operands: tuple[Type, ...], threads: int) -> tuple[Any, Any]:
    results = types_of_call(call, operands).results
    text = _text_of_one(call, operands, results)
    return core.ComposedProgram(text, [], "none", "interpreted", threads), results


def _operands(call: str, values: Sequence[Any]) -> list[Any]:
    """Arrays of NumPy's; numbers of Python's have the type of the others."""
    numbers = [one for one in values if type(one) in WEAK_TYPES]
    arrays = [None if type(one) in WEAK_TYPES else _arrays.host_array(call, one) for one in values]
    others = [one.dtype for one in arrays if one is not None][:1] or [np.dtype(np.int64)]
    dtype = np.result_type(others[0], *numbers)
    found = [
        np.asarray(value, dtype) if array is None else np.require(array, requirements=["C", "A"])
        for value, array in zip(values, arrays, strict=True)
    ]
    for one in found:
        if one.dtype not in DTYPES:
            raise TypeError(
                f"{call}: elements of type {one.dtype}, expected float32, float64, complex64, "
                "complex128, int64 or bool"
            )
    return found
