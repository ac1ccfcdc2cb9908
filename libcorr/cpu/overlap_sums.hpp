// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/corr/lags.hpp"
#include "aperture/signal/summed_area.hpp"
#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::corr {

/// The image that displacements lead to (A), or the one that they start from (B).
enum class Side { a, b };

/// Calls visit(i, j, sum) for every entry of a surface, with the sum over those pixels of one
/// side's image that have a partner.
template <class Visit>
void for_overlap_sums(core::Cpu& cpu, const signal::SummedAreas& areas, Shape image,
                      const Lags& lags, Side side, const Visit& visit) {
    const Shape extent = lags.extent();
    core::for_each_task(cpu, extent.rows, 0, [&](index_t i, std::byte*) {
        const index_t dy = lags.first_row() + i;
        const index_t top = std::max<index_t>(side == Side::a ? dy : -dy, 0);
        for (index_t j = 0; j < extent.columns; ++j) {
            const index_t dx = lags.first_column() + j;
            const index_t left = std::max<index_t>(side == Side::a ? dx : -dx, 0);
            visit(i, j,
                  areas.sum(top, top + overlap(image.rows, dy), left,
                            left + overlap(image.columns, dx)));
        }
    });
}

}  // namespace aperture::corr
