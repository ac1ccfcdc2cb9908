# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""The source of a function that is a program, and errors that point into it."""

from __future__ import annotations

import ast
import inspect
from typing import Any


class ProgramError(ValueError):
    """What makes a function no program; the message has its file, line and source.

    Attributes
    ----------
    filename : str
    line, column : int
        From 1.
    reason : str
        The message without the place.
    """

    def __init__(self, reason: str, filename: str, line: int, column: int, source: str) -> None:
        self.reason, self.filename, self.line, self.column = reason, filename, line, column
        text = source.rstrip()
        indentation = len(text) - len(text.lstrip())
        before = "".join(c if c == "\t" else " " for c in text[indentation : column - 1])
        super().__init__(f"{filename}:{line}: {reason}\n    {text[indentation:]}\n    {before}^")

    def __reduce__(self) -> Any:
        return _with_message, (self.args, self.__dict__)


def _with_message(args: tuple[Any, ...], attributes: dict[str, Any]) -> ProgramError:
    error = ProgramError.__new__(ProgramError, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


class Source:
    """The syntax tree of a function as it is in its file."""

    def __init__(self, function: Any) -> None:
        self.filename: str = function.__code__.co_filename
        try:
            self._lines, self._first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            first = function.__code__.co_firstlineno
            raise ProgramError(
                f"the source of {function.__name__} is not in a file", self.filename, first, 1, ""
            ) from None
        text = "".join(self._lines)
        # Columns are those of the file.
        self._shift = 1 if text[:1].isspace() else 0
        try:
            tree = ast.parse("if True:\n" * self._shift + text)
        except SyntaxError:
            # A lambda's lines are not a statement.
            raise self._error("a program is a function that def makes", 1, 0) from None
        statement: Any = tree.body[0]
        self.function: ast.FunctionDef = statement.body[0] if self._shift else statement
        if not isinstance(self.function, ast.FunctionDef):
            raise self.error(self.function, "a program is a function that def makes")

    def error(self, node: Any, reason: str) -> ProgramError:
        return self._error(reason, node.lineno - self._shift, node.col_offset)

    def error_at_parameter(self, name: str, reason: str) -> ProgramError:
        nodes = [node for node in ast.walk(self.function.args) if isinstance(node, ast.arg)]
        return self.error(next(node for node in nodes if node.arg == name), reason)

    def _error(self, reason: str, line: int, offset: int) -> ProgramError:
        source = self._lines[line - 1]
        column = len(source.encode()[:offset].decode()) + 1
        return ProgramError(reason, self.filename, self._first + line - 1, column, source)
