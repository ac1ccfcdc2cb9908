// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include "libdense/cpu/lane_elements.hpp"

/// Columns of small matrices in registers, one matrix per SIMD lane.
namespace aperture::dense::lanes {

/// Most rows of a column in registers, with 32 of these and with 16. Sanitizers make so much code
/// of what is unrolled that few rows have to do.
#if defined(APERTURE_SANITIZE)
inline constexpr int most_in_registers = 8;
#else
inline constexpr int most_in_registers = core::simd_bytes == 64 ? 16 : 12;
#endif
template <int most_rows = most_in_registers>
constexpr bool is_in_registers(int rows) {
    return rows >= 1 && rows <= most_rows;
}

/// A column whose rows are counted from the last one: code that is unrolled for `most` rows then
/// serves fewer, too, which have fewer steps at the beginning.
template <int most, Scalar T>
class Column {
  public:
    /// `rows` is in (most - 4, most], and `most` itself up to 4.
    [[gnu::always_inline]] explicit Column(int rows) : rows_(rows) {}

    [[gnu::always_inline]] bool has(int row) const {
        return most <= 4 || row < most - 3 || row < rows_;
    }
    [[gnu::always_inline]] Element<T>& operator[](int row) { return of_[row]; }
    [[gnu::always_inline]] const Element<T>& operator[](int row) const { return of_[row]; }

    /// The first column of a matrix whose rows are counted from the last one, too.
    [[gnu::always_inline]] void load(const Matrix<T>& from) {
#pragma GCC unroll 16
        for (int i = 0; i < most; ++i) of_[i] = has(i) ? from.load(i, 0) : Element<T>{};
    }
    [[gnu::always_inline]] void store(const Matrix<T>& to) const {
#pragma GCC unroll 16
        for (int i = 0; i < most; ++i) {
            if (has(i)) to.store(i, 0, of_[i]);
        }
    }

  private:
    int rows_;
    Element<T> of_[most];
};

/// Calls `body` with the number min(size, most) >= 1 as a compile-time constant.
template <int most, class Body>
[[gnu::always_inline]] inline void with_constant(int size, const Body& body) {
    if (size >= most) {
        body(std::integral_constant<int, most>{});
    } else if constexpr (most > 1) {
        with_constant<most - 1>(size, body);
    }
}

/// Steps of n columns, each of which goes through those before its own, and of as many right-hand
/// sides, which go through all.
constexpr core::index_t column_steps(int n, core::index_t sides = 0) {
    return n * (n - 1) / 2 + n * sides;
}

/// Steps of a column in the order in which they are made: from the first row, number most - 1.
template <int most>
using Steps = std::make_integer_sequence<int, most>;

/// Calls body(most), as a compile-time constant, for columns of so many rows.
template <int most_rows = most_in_registers, class Body>
[[gnu::always_inline]] inline void with_most_rows(int rows, const Body& body) {
    if (rows <= 4) return with_constant<4>(rows, body);
    with_constant<most_rows / 4>(
        (rows + 3) / 4, [&](auto quarter) { body(std::integral_constant<int, 4 * quarter>{}); });
}

}  // namespace aperture::dense::lanes
