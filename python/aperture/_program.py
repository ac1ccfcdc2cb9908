# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Functions on arrays that are compiled as a whole."""

from __future__ import annotations

import builtins
import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from aperture import _arrays
from aperture._extension import core
from aperture._places import Place, at_place, computes_on_cpu
from aperture._program_bodies import TextOperation
from aperture._program_functions import Stencil
from aperture._program_library import Batch
from aperture._program_plan import Plan
from aperture._program_source import ProgramError
from aperture._system import threads_for

if TYPE_CHECKING:
    from aperture._program_sweep import Points

P = ParamSpec("P")
R = TypeVar("R")

_MODES = ("thesis", "planned", "tuned", "none", "numpy")
_TIERS = ("automatic", "interpreted", "compiled")
_MOST_PLANS = 16


class Program(Generic[P, R]):
    """A function as an array program: see :func:`program`."""

    __name__: str
    __wrapped__: Callable[P, R]

    def __init__(
        self,
        function: Callable[P, R],
        mode: str,
        in_place: tuple[str, ...],
        while_limit: int,
        tier: str,
        device: str,
        threads: int | None,
    ) -> None:
        import inspect

        if not inspect.isfunction(function):
            raise TypeError(f"program: expected a function, not {type(function).__name__}")
        if hasattr(function, "__wrapped__"):
            raise TypeError(f"{function.__name__}: decorated already; @program comes next to def")
        if mode not in _MODES:
            raise ValueError(f"mode {mode!r}: expected {', '.join(_MODES)}")
        if tier not in _TIERS:
            raise ValueError(f"tier {tier!r}: expected {', '.join(_TIERS)}")
        if isinstance(in_place, str):
            raise TypeError("in_place: a string, expected a tuple of names")
        self._signature = inspect.signature(function)
        self._names = tuple(self._signature.parameters)
        for parameter in self._signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError(f"{function.__name__}: a program has no parameter {parameter}")
        for name in in_place:
            if name not in self._names:
                raise ValueError(f"in_place: {function.__name__} has no parameter {name!r}")
        if in_place and mode == "numpy":
            raise ValueError("in_place: mode 'numpy' writes no argument")
        if isinstance(while_limit, bool) or not isinstance(while_limit, int) or while_limit < 1:
            raise ValueError(f"while_limit {while_limit!r}: expected a positive int")
        threads_for(threads)
        functools.update_wrapper(self, function)
        self._function, self._mode = function, mode
        self._device, self._threads = device, threads
        self._in_place, self._while_limit, self._tier = tuple(in_place), while_limit, tier
        self._cells = dict(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        )
        self._source: Any = None
        self._plans: dict[tuple[Any, ...], Plan] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The function's result: new arrays and NumPy's numbers, but for arguments in place."""
        given = self._bound(args, kwargs)
        if self._mode == "numpy":
            return self._by_numpy(given)
        plan, results = self._run(given)
        result: R = plan.returned_of(given, results)
        return result

    def text(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """The program's text for such arguments: its symbols with their types, its statements."""
        return self._plan_for_reading(args, kwargs).text

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """The kernels that calls with such arguments run, what each loads, stores and keeps in
        registers, and the bytes that it moves.

        With mode "tuned" also how long each was predicted to take and took. For that the program
        runs, on copies of arguments in place."""
        if self._mode != "tuned":
            return str(self._plan_for_reading(args, kwargs).core.explanation())
        given = tuple(
            _copied(one) if name in self._in_place else one
            for name, one in zip(self._names, self._bound(args, kwargs), strict=True)
        )
        return str(self._run(given, explain=True)[1])

    def sweep(self, *args: Any, **values: Any) -> R:
        """The function's results for each of several values of parameters.

        Parameters
        ----------
        *args
            Arguments of the other parameters, in their order.
        **values : array_like of real or complex numbers
            The values of a parameter. Of several parameters there are as many each, and number i
            of all of them is a point.

        Returns
        -------
        As of a call, with an axis more, the first one: ``result[i]`` has the bits of the call with
        number i as a ``float`` or ``complex``. What no value reaches is repeated without a copy.

        Raises
        ------
        ValueError, TypeError
            For lists that are empty or of different lengths, values that reach no result, and
            programs that write arguments.

        Warns
        -----
        RuntimeWarning
            If there are no results for some values, which are NaN then (zero of integers, False):
            a ``while`` that does not end, or what Python refuses, as 1 / 0.

        Notes
        -----
        Ino et al. 2013. What no value reaches is computed once, but for what is in a loop or branch
        with other things and changes there or takes little. Where values reach numbers or a
        :data:`Batch` alone, they are lanes of a larger batch. Others run side by side, on the
        threads of a CPU or in the grids of a GPU, or one after the other. Each ends when its own
        loops do. :meth:`explain_sweep` says which and why.

        Examples
        --------
        >>> import aperture
        >>> import numpy as np
        >>> @aperture.program
        ... def shrunk(x, threshold):
        ...     return aperture.compose.sum(aperture.compose.maximum(abs(x) - threshold, 0.0))
        >>> shrunk.sweep(np.array([1.0, -3.0]), threshold=[0, 1, 2.5]).tolist()
        [4.0, 2.0, 0.5]
        """
        from aperture._program_sweep import by_numpy

        points = self._points(args, values)
        if self._mode == "numpy":
            found = by_numpy(points, self._by_numpy)
        else:
            plan, results = self._run_points(points)
            found = plan.returned_of(points.given, results)
        points.warn()
        result: R = found
        return result

    def explain_sweep(self, *args: Any, **values: Any) -> str:
        """How :meth:`sweep` with such arguments runs: the kernels that run once, those of the
        values, how many values run at a time, and why."""
        return str(self._run_points(self._points(args, values), explain=True)[1])

    def _run_points(self, points: Points, explain: bool = False) -> tuple[Plan, Any]:
        try:
            self._plan(points.at(0))
        except ProgramError:
            # Python may refuse the first value, as 1 / 0.
            points.typical = points.count - 1
        return self._run(points.at(points.typical), explain, points)

    def _points(self, args: tuple[Any, ...], values: dict[str, Any]) -> Points:
        from aperture._program_sweep import Points, numbers_of

        for name in values:
            if name not in self._names:
                raise TypeError(f"{self._function.__name__} has no parameter {name!r}")
        if not values:
            raise TypeError("sweep: expected the values of a parameter, by its name")
        if self._in_place:
            raise ValueError(
                f"in_place: {self._in_place[0]} is written; a sweep writes no argument"
            )
        others = [name for name in self._names if name not in values]
        first = {name: numbers_of(name, of) for name, of in values.items()}
        bound = self._signature.replace(
            parameters=[self._signature.parameters[name] for name in others]
        ).bind(*args)
        bound.apply_defaults()
        given = tuple(
            first[name][0].item() if name in first else bound.arguments[name]
            for name in self._names
        )
        columns = {self._names.index(name): of for name, of in first.items()}
        return Points(self._function.__name__, self._names, given, columns)

    def __repr__(self) -> str:
        return f"<aperture program {self._function.__qualname__}>"

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of parameters."""
        if not kwargs and len(args) == len(self._names):
            return args
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in self._names)

    def _by_numpy(self, given: tuple[Any, ...]) -> R:
        back = _arrays.returner(next((one for one in given if _is_array(one)), None))
        host = [
            one if _key_of(one) is not None and type(one) is not np.ndarray
            else _arrays.host_array(name, one).copy()
            for name, one in zip(self._names, given, strict=True)
        ]  # fmt: skip
        result: Any = self._function(*host)
        if isinstance(result, tuple):
            result = tuple(back(one) if isinstance(one, np.ndarray) else one for one in result)
        elif isinstance(result, np.ndarray):
            result = back(result)
        found: R = result
        return found

    def _is_simple(self, given: tuple[Any, ...]) -> bool:
        """Whether arrays are NumPy's, and computed on the CPU."""
        return computes_on_cpu(self._device) and None not in map(_key_of, given)

    def _run(
        self, given: tuple[Any, ...], explain: bool = False, points: Points | None = None
    ) -> tuple[Plan, Any]:
        """The plan, and the program's results, for all points if there are some, or what explains
        them."""
        if self._is_simple(given):
            plan = self._plan(given)
            return plan, plan.run(given, explain, points)
        first = next((one for one in given if _is_array(one)), None)
        return at_place(
            first,
            self._device,
            self._threads,
            lambda place: self._at(place, first, given, explain, points),
        )

    def _at(
        self,
        place: Place,
        first: Any,
        given: tuple[Any, ...],
        explain: bool,
        points: Points | None,
    ) -> tuple[Plan, Any]:
        """The same at the place of the first array."""
        if place.core is not core:
            plan = self._plan(given, place)
            return plan, plan.run_on_gpu(place, given, explain, points)
        here = tuple(map(self._host_array, self._names, given))
        plan = self._plan(here)
        found = plan.run(here, explain, points)
        if explain:
            return plan, found
        back = _arrays.returner(first)
        if points is not None:
            # Other libraries have no arrays that repeat what cannot be written.
            found = [one if one.flags.writeable else one.copy() for one in found]
        return plan, [back(one) if isinstance(one, np.ndarray) else one for one in found]

    def _plan_for_reading(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        return self._plan(self._bound(args, kwargs))

    def _plan(self, given: tuple[Any, ...], place: Place | None = None) -> Plan:
        """The plan for arguments of these types."""
        there = core if place is None else place.core
        where = threads_for(self._threads) if place is None else place.where
        key = (*map(_key_in_memory, self._names, given), there.__name__, where)
        plan = self._plans.get(key)
        if plan is None or not plan.is_current(self._outside):
            plan = self._new_plan(tuple(map(_typed, self._names, given)), there, where)
            while len(self._plans) >= _MOST_PLANS:
                self._plans.pop(next(iter(self._plans)), None)
            self._plans[key] = plan
        return plan

    def _host_array(self, name: str, value: Any) -> Any:
        if _key_of(value) is not None:
            return value
        shared = isinstance(value, np.ndarray) or _arrays.framework_of(value) == "torch"
        if name in self._in_place and not shared:
            raise TypeError(f"{name}: in place, but of type {type(value).__name__}")
        return _arrays.host_array(name, value)

    def _new_plan(self, given: tuple[Any, ...], there: Any, where: int) -> Plan:
        from aperture._program_source import Source
        from aperture._program_translation import translate
        from aperture._program_values import DTYPES

        arguments = dict(zip(self._names, given, strict=True))
        for name, value in arguments.items():
            if isinstance(value, np.ndarray | np.generic) and value.dtype not in DTYPES:
                raise TypeError(
                    f"{name}: elements of type {value.dtype}, expected float32, float64, "
                    "complex64, complex128, int64 or bool"
                )
            if isinstance(value, np.ndarray) and not 1 <= value.ndim <= 3:
                raise ValueError(f"{name}: shape {value.shape}, expected 1 to 3 dimensions")
        for name in self._in_place:
            if not isinstance(arguments[name], np.ndarray):
                raise TypeError(f"{name}: in place, but of type {type(arguments[name]).__name__}")
        if self._source is None:
            self._source = Source(self._function)
        source, batches = self._source, self._batches()
        for name in batches:
            shape = getattr(arguments[name], "shape", ())
            if len(shape) not in (2, 3):
                raise ValueError(
                    f"{name}: shape {shape}, expected a batch [problem, row, column] or "
                    "[problem, row]"
                )
        translation = translate(
            source, self._outside, arguments, batches, self._in_place, self._while_limit
        )
        fusion = _MODES[0] if self._mode == "numpy" else self._mode
        try:
            operations = [one.specification() for one in translation.operations]
            composed = there.ComposedProgram(
                translation.text, operations, fusion, self._tier, where
            )
        except ValueError as error:
            place = re.match(r"line (\d+), column \d+: (.*)", str(error), re.DOTALL)
            line, reason = (int(place[1]), place[2]) if place else (1, str(error))
            raise source.error(translation.nodes[line - 1], reason) from None
        arrays = [isinstance(value, np.ndarray) for value in given]
        return Plan(composed, translation, source, self._names, self._in_place, arrays)

    def _batches(self) -> tuple[str, ...]:
        """The parameters with the annotation Batch, or a string that stands for it."""
        found = []
        for parameter in self._names:
            annotation = self._function.__annotations__.get(parameter)
            if isinstance(annotation, str):
                name, *attributes = written = annotation.strip("'\"").split(".")
                try:
                    annotation = functools.reduce(getattr, attributes, self._outside(name))
                except (NameError, AttributeError):
                    if written[-1] == "Batch":
                        raise self._source.error_at_parameter(
                            parameter, f"there is no {annotation} where programs find names"
                        ) from None
            if annotation is Batch:
                found.append(parameter)
        return tuple(found)

    def _outside(self, name: str) -> Any:
        """What a name that the function finds outside stands for; NameError if nothing."""
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:
                raise NameError(name) from None
        for names in (self._function.__globals__, vars(builtins)):
            if name in names:
                return names[name]
        raise NameError(name)


def _copied(array: Any) -> Any:
    return array.clone() if hasattr(array, "clone") else array.copy()


def _key_of(value: Any) -> Any:
    """What a program depends on of an argument; None for arrays of other libraries."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.shape
    if kind is float or kind is complex:
        return kind
    if kind is int or kind is bool:
        return kind, value
    if kind is Stencil or kind is TextOperation:
        return value
    if isinstance(value, np.generic):
        return value.dtype
    return None


def _is_array(value: Any) -> bool:
    """Whether an argument is an array, or what NumPy may convert to one."""
    return _key_of(value) is None or type(value) is np.ndarray


def _key_in_memory(name: str, value: Any) -> Any:
    """The same, of arrays in any memory, too."""
    key = _key_of(value)
    if key is not None:
        return key
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        value = _arrays.host_array(name, value)
    return _numpy_type(value.dtype), tuple(value.shape)


@functools.cache
def _numpy_type(dtype: Any) -> np.dtype[Any]:
    """NumPy's type of the same name as one of another library."""
    return np.dtype(str(dtype).rpartition(".")[2])


def _typed(name: str, value: Any) -> Any:
    """A number, or an array of NumPy's with the shape and type of one in any memory."""
    if _key_of(value) is not None:
        return value
    if not _arrays.on_gpu(value):
        return _arrays.host_array(name, value)
    return np.broadcast_to(np.empty((), _numpy_type(value.dtype)), tuple(value.shape))


@overload
def program(function: Callable[P, R], /) -> Program[P, R]: ...
@overload
def program(
    *,
    mode: str = "thesis",
    in_place: tuple[str, ...] = (),
    while_limit: int = 10_000,
    tier: str = "automatic",
    device: str = "auto",
    threads: int | None = None,
) -> Callable[[Callable[P, R]], Program[P, R]]: ...
def program(
    function: Callable[P, R] | None = None,
    /,
    *,
    mode: str = "thesis",
    in_place: tuple[str, ...] = (),
    while_limit: int = 10_000,
    tier: str = "automatic",
    device: str = "auto",
    threads: int | None = None,
) -> Any:
    """Make a function on arrays an array program, which runs as few kernels.

    Parameters
    ----------
    function : function
        With assignments, ``for ... in range(n)``, ``while``, ``if``, ``break`` and a ``return`` at
        its end. It computes with + - * /, comparisons, ``and``, ``or`` and ``not`` of numbers,
        & | ~ of arrays, ``abs``, ``min``, ``max`` and the functions of :mod:`aperture.compose`;
        ``S * x`` is the product with a :func:`stencil`, and an :func:`operation` of one's own is
        called. Numbers, stencils, operations and functions may be names outside of it. Parameters
        with the annotation ``aperture.compose.Batch`` are batches of small matrices or vectors.
    mode : {"thesis", "planned", "tuned", "none", "numpy"}
        As many operations in a row in a kernel as can be; the sets of operations that are predicted
        to take least time, in any order that the data allow; the fastest of up to eight such plans,
        which the first call tries on its arguments in one or two seconds, and which later processes
        remember; a kernel for each operation; or the function itself by NumPy, to debug it. All
        have the same bits.
    in_place : tuple of str
        Parameters whose arrays the program overwrites where the function assigns to the name.
        By default no argument is written.
    while_limit : int
        Repetitions after which a ``while`` is an error.
    tier : {"automatic", "interpreted", "compiled"}
        Whether the system's C++ compiler makes machine code of kernels when they are first needed,
        which takes 0.2 to 4 s and is kept on disk. By default if it can.
    device : {"auto", "cpu", "gpu", "gpu:N"}
        As for :func:`flow`: arrays on a GPU are computed there, others on GPU 0 if it can be used.
    threads : int, optional
        CPU threads; by default those of :func:`set_num_threads`.

    Returns
    -------
    Program
        Is called as the function is. ``f.text(...)`` and ``f.explain(...)`` return the program and
        its kernels for the same arguments, with mode "tuned" with the times that these take.

    Raises
    ------
    ProgramError
        When called, if the function is no program for the arguments: with file, line and source.
    TypeError, ValueError
        For what is no array of float32, float64, complex64, complex128, int64 or bool.

    Notes
    -----
    Anderson 2014, chapter 5; "planned" is Fousek, Filipovic & Madzin 2011. The first call with
    arguments of new types and shapes translates and plans; 16 plans are kept, each with the memory
    of its variables. Numbers of Python's have the type of what they meet, as in NumPy 2; an ``int``
    argument is part of the program, a ``float`` is not. Assigning copies: after ``y = x`` there are
    two arrays.

    Examples
    --------
    >>> import aperture
    >>> import numpy as np
    >>> mean = aperture.stencil([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]])
    >>> @aperture.program
    ... def smoothed(x, n):
    ...     for i in range(n):
    ...         x = 0.5 * x + 0.5 * (mean * x)
    ...     return x
    >>> image = np.zeros((5, 5), np.float32)
    >>> image[2, 2] = 1
    >>> smoothed(image, 2)[2].tolist()
    [0.015625, 0.125, 0.3125, 0.125, 0.015625]
    >>> "stencil_product" in smoothed.explain(image, 2)
    True
    """

    def decorated(undecorated: Callable[P, R]) -> Program[P, R]:
        return Program(undecorated, mode, in_place, while_limit, tier, device, threads)

    return decorated if function is None else decorated(function)
