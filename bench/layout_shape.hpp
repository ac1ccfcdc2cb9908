// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::bench {

/// How a matrix is distributed over a block of rows x columns threads (factor_layouts.cuh).
struct LayoutShape {
    int order;
    int rows;
    int columns;

    constexpr int threads() const { return rows * columns; }
    constexpr int high() const { return (order + rows - 1) / rows; }
    constexpr int wide() const { return (order + columns - 1) / columns; }
    /// Columns of the matrix that share code: the places in registers where they may be.
    constexpr int panel() const { return threads() == 16 ? 4 : threads() == 64 ? 8 : 16; }
    constexpr int panels() const { return (order + panel() - 1) / panel(); }
    /// A column, a row, the sums of the threads, and two numbers.
    constexpr int shared_bytes() const {
        const int row = wide() * columns;
        return (high() * rows + row + rows * row + 2) * static_cast<int>(sizeof(float));
    }
};

/// What is timed of a factorisation: the operation on the column, its product with the others, and
/// their update.
inline constexpr int timed_operations = 3;

}  // namespace aperture::bench
