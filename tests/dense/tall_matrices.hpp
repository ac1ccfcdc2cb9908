// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <ostream>
#include <string>

#include "aperture/core/array.hpp"

/// Tall matrices for QR, and error ratios of its results.
namespace aperture::dense::oracle {

using core::index_t;

enum class Content {
    random,
    graded,     ///< columns and rows with scales down to the unit roundoff
    hilbert,    ///< 1 / (i + j + 1): condition above 1/eps from about ten columns on
    dependent,  ///< half of the columns are independent
    zero_columns,
    zero,
    huge,  ///< squares overflow
    tiny,  ///< squares underflow
};

struct TallCase {
    index_t rows;
    index_t columns;
    Content content;
};
std::string name_of(const TallCase& c);
inline void PrintTo(const TallCase& c, std::ostream* out) { *out << name_of(c); }

/// [row][column]
template <class T>
core::Array<T, 2> matrix_of(const TallCase& c);

template <class T>
using HostMatrix = core::View<const T, 2, core::Host>;

/// The same matrix in another memory order, with NaN between its elements.
template <class T>
struct Stored {
    core::Array<T, 1> memory;
    core::View<T, 2, core::Host> view;

    Stored(HostMatrix<T> a, core::Extents<2> stride)
        : memory({(a.extent[0] - 1) * stride[0] + (a.extent[1] - 1) * stride[1] + 1}),
          view(memory.data(), a.extent, stride) {
        std::fill(memory.begin(), memory.end(), std::numeric_limits<T>::quiet_NaN());
        for (index_t i = 0; i < a.extent[0]; ++i) {
            for (index_t j = 0; j < a.extent[1]; ++j) view(i, j) = a(i, j);
        }
    }
};

/// ||A - QR||_F / (eps ||A||_F), or ||QR||_F / eps if A = 0, in a finer type; eps: unit roundoff.
template <class T>
double residual_ratio(HostMatrix<T> a, HostMatrix<T> q, HostMatrix<T> r);
/// ||I - Q^T Q||_F / (eps sqrt(n)), computed in a finer type.
template <class T>
double orthogonality_ratio(HostMatrix<T> q);

}  // namespace aperture::dense::oracle
