// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "libflow/cpu/padded_planes.hpp"
#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

/// Sums over the rows of an image that do not depend on the number of threads: each row has its own
/// sums, in double, which are added from the first row to the last.
template <int count>
class RowSums {
  public:
    RowSums() = default;
    explicit RowSums(Shape shape) : shape_(shape), rows_({shape.rows}) {}

    /// row(y) returns the sums of row y as a std::array<double, count>.
    template <class Row>
    std::array<double, count> over_rows(core::Cpu& cpu, const Row& row) {
        for_rows(cpu, shape_, [&](index_t y) { rows_(y) = row(y); });
        std::array<double, count> sums{};
        for (const auto& of_row : rows_) {
            for (std::size_t i = 0; i < count; ++i) sums[i] += of_row[i];
        }
        return sums;
    }

  private:
    Shape shape_;
    core::Array<std::array<double, count>, 1> rows_;
};

/// The sum over a row: packed(x) is a pack of values, one(x) a single value. A few hundred pixels
/// are summed in float, those sums in double.
template <class Packed, class Single>
double sum_row(index_t columns, const Packed& packed, const Single& one) {
    constexpr index_t stretch = 16 * core::lanes<float>;
    double sum = 0;
    for (index_t first = 0; first < columns; first += stretch) {
        const index_t last = std::min(columns, first + stretch);
        core::Pack<float> partial{};
        index_t x = first;
        for (; x + core::lanes<float> <= last; x += core::lanes<float>) partial += packed(x);
        for (int lane = 0; lane < core::lanes<float>; ++lane) {
            sum += static_cast<double>(partial[lane]);
        }
        for (; x < last; ++x) sum += static_cast<double>(one(x));
    }
    return sum;
}

inline double row_product(const float* a, const float* b, index_t columns) {
    return sum_row(
        columns, [=](index_t x) { return core::load(a + x) * core::load(b + x); },
        [=](index_t x) { return a[x] * b[x]; });
}

inline double row_sum(const float* a, index_t columns) {
    return sum_row(
        columns, [=](index_t x) { return core::load(a + x); }, [=](index_t x) { return a[x]; });
}

}  // namespace aperture::flow
