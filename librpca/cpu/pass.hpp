// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "aperture/core/error.hpp"
#include "libdense/cpu/column_blocks.hpp"
#include "librpca/run_state.hpp"

/// Helpers of all passes over a matrix.
namespace aperture::rpca::cpu {

/// 1 where a difference has crossed the threshold since the last pass, else 0. Updates `mask`.
template <class T>
[[gnu::always_inline]] inline core::Pack<T> mask_changes(core::Pack<T> difference,
                                                         core::Pack<T> threshold,
                                                         std::int8_t* mask) {
    using Bytes = typename core::PackLike<std::int8_t, T>::type;
    const auto beyond = (difference > threshold) | (difference < -threshold);
    const Bytes now = __builtin_convertvector(beyond, Bytes);
    Bytes before;
    std::memcpy(&before, mask, core::lanes<T>);
    std::memcpy(mask, &now, core::lanes<T>);
    // A true comparison is -1.
    return -__builtin_convertvector(now != before, core::Pack<T>);
}

template <class T>
[[gnu::always_inline]] inline double sum_of(core::Pack<T> pack) {
    double sum = 0;
    for (int l = 0; l < core::lanes<T>; ++l) sum += static_cast<double>(pack[l]);
    return sum;
}

/// The sums of all parts of a matrix, without the padding behind its last value, which counted as
/// S = 0.
template <class T>
PassSums total_of(const std::vector<PassSums>& parts, const dense::tall::ColumnBlocks<T>& layout) {
    PassSums total;
    for (const PassSums& sums : parts) total += sums;
    const index_t last = layout.blocks() - 1;
    const index_t end = last * layout.block_rows + layout.used_rows(last);
    total.zeros -= static_cast<double>((end - layout.rows) * layout.columns);
    return total;
}

/// Throws core::InvalidArgument with the first value that is not finite, if there is one.
template <class T>
void expects_numbers(FramesView<const T, core::Host> m) {
    for (index_t f = 0; f < m.extent[0]; ++f) {
        for (index_t v = 0; v < m.extent[1]; ++v) {
            core::expects(std::isfinite(m(f, v)), "value ", v, " of frame ", f, " is not finite");
        }
    }
}

}  // namespace aperture::rpca::cpu
