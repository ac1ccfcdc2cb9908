// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "libcore/gpu/complex.cuh"
#include "tests/dense/host_batch.hpp"

/// Changes of layout with a functor on the way, on any executor. A Call runs change_layout on host
/// views: template <class T> static void run(from, to, functor).
namespace aperture::dense::oracle {

struct Square {
    template <class T>
    APERTURE_HD T operator()(T value) const {
        return value * value;
    }
};

/// Shapes on both sides of those that the kernels and the CPU's tiles distinguish.
inline constexpr std::array<std::pair<core::index_t, core::index_t>, 8> shapes{
    {{1, 1}, {1, 2}, {3, 3}, {5, 3}, {7, 9}, {8, 8}, {2, 65}, {31, 31}}};

/// Of a batch with `gap` elements behind its lines to one with `other_gap`.
template <class Call, class T>
void check_squares(const core::Extents<3>& extent, Order layout, Order other, core::index_t gap,
                   core::index_t other_gap) {
    const auto [problems, rows, columns] = extent;
    SCOPED_TRACE(::testing::Message() << problems << " of " << rows << " x " << columns << ", "
                                      << int(layout) << " to " << int(other) << ", gap " << gap);
    HostBatch<T> from(problems, rows, columns, layout, gap);
    HostBatch<T> to(problems, rows, columns, other, other_gap);
    for (core::index_t p = 0; p < problems; ++p) {
        for (core::index_t i = 0; i < rows; ++i) {
            for (core::index_t j = 0; j < columns; ++j) {
                from.view()(p, i, j) = T(Real<T>(p % 61 + 3 * i - 5 * j));
                if constexpr (!std::same_as<T, Real<T>>) {
                    from.view()(p, i, j) += T(0, Real<T>(j + 1));
                }
            }
        }
    }
    const HostBatch<T> before(from);
    Call::template run<T>(std::as_const(from).view(), to.view(), Square());
    EXPECT_TRUE(from.same_bits(before));
    to.expect_gaps_untouched();
    core::index_t wrong = 0;
    for (core::index_t p = 0; p < problems; ++p) {
        for (core::index_t i = 0; i < rows; ++i) {
            for (core::index_t j = 0; j < columns; ++j) {
                const T value = from.view()(p, i, j);
                wrong += to.view()(p, i, j) == value * value ? 0 : 1;
            }
        }
    }
    EXPECT_EQ(wrong, 0);
}

template <class Call, class T>
void check_squares() {
    for (const auto& [rows, columns] : shapes) {
        for (const core::index_t problems : {1, 70, 2051}) {
            if (problems > 100 && rows * columns > 3) continue;
            for (const Order layout : layouts) {
                for (const Order other : layouts) {
                    check_squares<Call, T>({problems, rows, columns}, layout, other, 3, 1);
                    check_squares<Call, T>({problems, rows, columns}, layout, other, 0, 0);
                }
            }
        }
    }
}

}  // namespace aperture::dense::oracle
