// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "aperture/corr/lags.hpp"
#include "aperture/signal/summed_area.hpp"
#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::corr {

/// Calls do_row(plane, row) for every row of every plane on the executor's threads.
template <class DoRow>
void for_plane_rows(core::Cpu& cpu, index_t planes, index_t rows, const DoRow& do_row) {
    core::for_each_task(cpu, planes * rows, 0,
                        [&](index_t task, std::byte*) { do_row(task / rows, task % rows); });
}

/// Sum of row_sum(row) in double, independent of the number of threads; `of_rows` is scratch.
template <class RowSum>
double sum_of_rows(core::Cpu& cpu, index_t rows, std::vector<double>& of_rows,
                   const RowSum& row_sum) {
    of_rows.resize(static_cast<std::size_t>(rows));
    core::for_each_task(cpu, rows, 0, [&](index_t row, std::byte*) {
        of_rows[static_cast<std::size_t>(row)] = row_sum(row);
    });
    double sum = 0;
    for (const double of_row : of_rows) sum += of_row;
    return sum;
}

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
