# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""What functions under ``@aperture.program`` can call, beside Python's operators, ``abs``, ``min``
and ``max``.

On arrays of NumPy the functions compute the same bits.
"""

from aperture._program import Program, program
from aperture._program_functions import (
    Stencil,
    black,
    dot,
    fma,
    maximum,
    minimum,
    red,
    sqrt,
    stencil,
    sum,
    where,
)
from aperture._program_source import ProgramError

__all__ = [
    "Program",
    "ProgramError",
    "Stencil",
    "black",
    "dot",
    "fma",
    "maximum",
    "minimum",
    "program",
    "red",
    "sqrt",
    "stencil",
    "sum",
    "where",
]
