// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/compose/program.hpp"

/// The solvers of Anderson 2014, chapters 5 and 7, as array programs in single precision. Images
/// have `rows` and `columns`, and what is beyond their borders is that of the nearest pixel.
namespace aperture::compose::thesis {

/// Programs 1 and 6: A x = b for the matrix whose rows are 1 / D on the diagonal and -1 for the
/// four neighbours. Inputs b, D (a scalar); x in place, which is returned.
Program jacobi(index_t rows, index_t columns, int sweeps);

/// The equations of Horn and Schunck for the update (du, dv) of an optical flow,
///     (Ix^2 - l L) du + Ix Iy dv = -Ix It,   Ix Iy du + (Iy^2 - l L) dv = -Iy It,
/// where L is the Laplacian of five points and l is `lambda2`. Inputs Ix, Iy, It; du and dv in
/// place, which are returned.
///
/// Program 12: Jacobi's method.
Program jacobi_flow(index_t rows, index_t columns, double lambda2, int sweeps);
/// Program 13: pixels' blocks of 2 x 2.
Program blockwise_flow(index_t rows, index_t columns, double lambda2, int sweeps);
/// Program 14: conjugate gradients, until the squared norm of the residual is less than `eps`.
Program conjugate_gradients_flow(index_t rows, index_t columns, double lambda2, double eps,
                                 int iterations);
/// Program 15: red-black Gauss-Seidel.
Program red_black_flow(index_t rows, index_t columns, double lambda2, int sweeps);

}  // namespace aperture::compose::thesis
