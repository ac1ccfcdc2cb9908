// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/complex.cuh"

/// Bodies of operations on entries in one place. The interpreter has them ahead of time, kernels
/// and emitted C++ include this file. Compilers must not contract a * b + c, so that results are
/// the same bits however operations are put together.
namespace aperture::compose::bodies {

#define APERTURE_BODY(name, parameters, expression) \
    struct name {                                   \
        template <class T>                          \
        APERTURE_HD static auto of parameters {     \
            return expression;                      \
        }                                           \
    };
APERTURE_BODY(Add, (T a, T b), a + b)
APERTURE_BODY(Subtract, (T a, T b), a - b)
APERTURE_BODY(Multiply, (T a, T b), a* b)
APERTURE_BODY(Divide, (T a, T b), a / b)
APERTURE_BODY(Negate, (T a), -a)
APERTURE_BODY(Copy, (T a), a)
APERTURE_BODY(Least, (T a, T b), b < a ? b : a)
APERTURE_BODY(Greatest, (T a, T b), a < b ? b : a)
APERTURE_BODY(Less, (T a, T b), a < b)
APERTURE_BODY(LessEqual, (T a, T b), a <= b)
APERTURE_BODY(Equal, (T a, T b), a == b)
APERTURE_BODY(NotEqual, (T a, T b), !(a == b))
APERTURE_BODY(And, (T a, T b), a&& b)
APERTURE_BODY(Or, (T a, T b), a || b)
APERTURE_BODY(Not, (T a), !a)
APERTURE_BODY(Root, (T a), sqrt(a))
APERTURE_BODY(Magnitude, (T a), fabs(a))
APERTURE_BODY(MultiplyAdd, (T a, T b, T c), fma(a, b, c))
#undef APERTURE_BODY

struct Select {
    template <class T>
    APERTURE_HD static T of(bool condition, T a, T b) {
        return condition ? a : b;
    }
};

}  // namespace aperture::compose::bodies
