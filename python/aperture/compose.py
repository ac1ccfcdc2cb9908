# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What functions under ``@aperture.program`` can call, beside Python's operators, ``abs``, ``min``
and ``max``.

On arrays of NumPy the functions compute the same bits.
"""

from aperture._program import Program, program
from aperture._program_bodies import Operand, TextOperation, operand, operation
from aperture._program_functions import (
    Stencil,
    black,
    count,
    dot,
    fma,
    largest,
    maximum,
    minimum,
    red,
    smallest,
    sqrt,
    stencil,
    sum,
    where,
)
from aperture._program_images import lands_inside, lk_least_squares, warp
from aperture._program_source import ProgramError

__all__ = [
    "Operand",
    "Program",
    "ProgramError",
    "Stencil",
    "TextOperation",
    "black",
    "count",
    "dot",
    "fma",
    "lands_inside",
    "largest",
    "lk_least_squares",
    "maximum",
    "minimum",
    "operand",
    "operation",
    "program",
    "red",
    "smallest",
    "sqrt",
    "stencil",
    "sum",
    "warp",
    "where",
]
