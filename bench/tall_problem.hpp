// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/core/array.hpp"

/// Test problems of tall QR benchmarks.
namespace aperture::bench {

using core::index_t;

struct Size {
    index_t rows;
    index_t columns;
};

/// The sizes of Anderson 2014, table 3.1, and a few more; a small one with --smoke.
std::vector<Size> tall_sizes();

/// "1000x192"
std::string name_of(const Size& size);

/// [column][row], as in LAPACK.
core::Array<float, 2> random_columns(const Size& size);

/// 2 m n^2 - 2/3 n^3, for R and Q as reflectors.
double gflop_of(const Size& size);

/// Checks R^T R = A^T A on a few columns in fp64.
bool is_r_of(const core::Array<float, 2>& a, core::View<const float, 2, core::Host> r);

}  // namespace aperture::bench
