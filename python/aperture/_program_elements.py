# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
"""Functions of the entries of arrays, and of numbers."""

from __future__ import annotations

from typing import Any

from aperture._program_library import of_library


@of_library()
def exp(x: Any) -> Any:
    """e^x of real numbers, within 1 ulp; the same bits on all machines, which NumPy's has not.

    Examples
    --------
    >>> from aperture import compose
    >>> compose.exp(0.0)
    1.0
    """


@of_library()
def log(x: Any) -> Any:
    """The natural logarithm of real numbers, within 1 ulp; the same bits on all machines, which
    NumPy's has not.

    Examples
    --------
    >>> from aperture import compose
    >>> compose.log(1.0)
    0.0
    """


@of_library()
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x) of real numbers, within 1.5 ulp.

    Examples
    --------
    >>> from aperture import compose
    >>> compose.rsqrt(4.0)
    0.5
    """


@of_library()
def conj(x: Any) -> Any:
    """Conjugates of complex numbers; np.conj is the same.

    Examples
    --------
    >>> from aperture import compose
    >>> compose.conj(1 + 2j)
    (1-2j)
    """


@of_library()
def real(x: Any) -> Any:
    """Real parts of complex numbers; np.real is the same.

    Examples
    --------
    >>> from aperture import compose
    >>> compose.real(1 + 2j)
    1.0
    """


@of_library()
def imag(x: Any) -> Any:
    """Imaginary parts of complex numbers; np.imag is the same.

    Examples
    --------
    >>> from aperture import compose
    >>> compose.imag(1 + 2j)
    2.0
    """


@of_library()
def magnitude(x: Any) -> Any:
    """sqrt(re^2 + im^2) of complex numbers, whose squares must not overflow.

    Examples
    --------
    >>> from aperture import compose
    >>> compose.magnitude(3 + 4j)
    5.0
    """


@of_library("complex")
def make_complex(re: Any, im: Any) -> Any:
    """re + i im, of real numbers.

    Examples
    --------
    >>> from aperture import compose
    >>> compose.make_complex(3.0, -4.0)
    (3-4j)
    """


@of_library()
def largest_magnitude(x: Any) -> Any:
    """The largest absolute value of an array's numbers, real or complex; NaN if one is. Squares of
    complex numbers must not overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from aperture import compose
    >>> float(compose.largest_magnitude(np.array([1.0, -5.0])))
    5.0
    """
