// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "aperture/core/view.hpp"
#include "libcore/rounding.hpp"
#include "libdense/cpu/lane_runs.hpp"

/// Copies between matrices of any strides and column-major blocks.
namespace aperture::dense::tall {

using core::index_t;

template <class T>
using MatrixView = core::View<T, 2, core::Host>;

/// Copies rows [first, first + rows) of `from` to columns with distance `stride`. May write whole
/// packs; rows past the end are unspecified.
template <class T>
void load_columns(MatrixView<const T> from, index_t first, index_t rows, index_t stride, T* to) {
    constexpr int lanes = core::lanes<T>;
    const index_t columns = from.extent[1];
    const T* const corner = from.data + first * from.stride[0];
    if (from.stride[1] == 1 && from.stride[0] != 1) {
        for (index_t row = 0; row < rows; row += lanes) {
            std::array<const T*, lanes> runs;
            for (index_t l = 0; l < lanes; ++l) {
                runs[l] = corner + std::min(row + l, rows - 1) * from.stride[0];
            }
            lanes::gather_runs<T>(runs, columns, to + row, stride);
        }
    } else {
        for (index_t j = 0; j < columns; ++j) {
            const T* const column = corner + j * from.stride[1];
            if (from.stride[0] == 1) {
                std::copy_n(column, rows, to + j * stride);
            } else {
                for (index_t i = 0; i < rows; ++i) to[j * stride + i] = column[i * from.stride[0]];
            }
        }
    }
}

/// The same, with zeros behind the rows.
template <class T>
void load_padded(MatrixView<const T> from, index_t first, index_t rows, index_t stride, T* to) {
    load_columns(from, first, rows, stride, to);
    for (index_t j = 0; j < from.extent[1]; ++j) {
        std::fill(to + j * stride + rows, to + (j + 1) * stride, T(0));
    }
}

/// Copies columns with distance `stride` to rows [first, first + rows) of `to`.
template <class T>
void store_columns(const T* from, index_t stride, index_t first, index_t rows, MatrixView<T> to) {
    constexpr int lanes = core::lanes<T>;
    const index_t columns = to.extent[1];
    T* const corner = to.data + first * to.stride[0];
    if (to.stride[1] == 1 && to.stride[0] != 1) {
        for (index_t row = 0; row < rows; row += lanes) {
            std::array<T*, lanes> runs{};
            const index_t count = std::min<index_t>(lanes, rows - row);
            for (index_t l = 0; l < count; ++l) runs[l] = corner + (row + l) * to.stride[0];
            lanes::scatter_runs<T>(from + row, columns, static_cast<int>(count), runs, stride);
        }
        return;
    }
    for (index_t j = 0; j < columns; ++j) {
        T* const column = corner + j * to.stride[1];
        if (to.stride[0] == 1) {
            std::copy_n(from + j * stride, rows, column);
        } else {
            for (index_t i = 0; i < rows; ++i) column[i * to.stride[0]] = from[j * stride + i];
        }
    }
}

}  // namespace aperture::dense::tall
