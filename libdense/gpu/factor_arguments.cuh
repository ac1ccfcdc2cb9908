// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/batch_tile.cuh"

namespace aperture::dense {

enum class GeneralElimination { lu, pivoted_lu, gauss_jordan };

/// Operands of the kernels that eliminate a general matrix; all but `a` may be empty.
template <class T>
struct LuArguments {
    KernelView<const T, 3> a;
    KernelView<T, 3> lu;        ///< receives the factors
    KernelView<int, 2> pivots;  ///< receives the exchanged rows
    KernelView<T, 3> x;         ///< [problem][right-hand side][n], solved in place
    KernelView<T, 3> inverse;   ///< receives A^-1
    KernelView<T, 1> determinant;
    KernelView<int, 1> info;
    GeneralElimination elimination;
};

/// Operands of the kernels that factor A = G G^H; all but `a` and `info` may be empty.
template <class T>
struct CholeskyArguments {
    KernelView<const T, 3> a;
    KernelView<T, 3> g;
    KernelView<T, 3> x;  ///< [problem][right-hand side][n], solved in place
    KernelView<int, 1> info;
    KernelView<RealOf<T>, 1> pivot_ratio;
};

/// Operands of the kernels that factor A = Q R: `qr` and `tau`, or `b`, `x` and `info`; the others
/// are empty.
template <class T>
struct QrArguments {
    KernelView<const T, 3> a;
    KernelView<T, 3> qr;
    KernelView<T, 2> tau;
    KernelView<const T, 3> b;  ///< [problem][right-hand side][m]
    KernelView<T, 3> x;        ///< [problem][right-hand side][n]
    KernelView<int, 1> info;
};

/// Operands of the kernels that solve with LU or Cholesky factors.
template <class T>
struct SubstituteArguments {
    KernelView<const T, 3> factor;
    KernelView<const int, 2> pivots;  ///< of LU factors; may be empty
    KernelView<T, 3> x;               ///< [problem][right-hand side][n], solved in place
    bool cholesky;
};

/// Operands of the kernels that multiply by Q.
template <class T>
struct ApplyQArguments {
    KernelView<const T, 3> qr;
    KernelView<const T, 2> tau;
    KernelView<T, 3> c;  ///< [problem][vector][m] or, if `form`, Q, [problem][m][vector]
    bool adjoint;
    bool form;

    APERTURE_HD index_t vectors() const { return c.extent[form ? 2 : 1]; }
};

}  // namespace aperture::dense
