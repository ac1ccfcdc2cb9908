// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::corr {

/// Calls do_row(plane, row) for every row of every plane on the executor's threads.
template <class DoRow>
void for_plane_rows(core::Cpu& cpu, core::index_t planes, core::index_t rows, const DoRow& do_row) {
    core::for_each_task(cpu, planes * rows, 0,
                        [&](core::index_t task, std::byte*) { do_row(task / rows, task % rows); });
}

/// Sum of row_sum(row) in double, independent of the number of threads; `of_rows` is scratch.
template <class RowSum>
double sum_of_rows(core::Cpu& cpu, core::index_t rows, std::vector<double>& of_rows,
                   const RowSum& row_sum) {
    of_rows.resize(static_cast<std::size_t>(rows));
    core::for_each_task(cpu, rows, 0, [&](core::index_t row, std::byte*) {
        of_rows[static_cast<std::size_t>(row)] = row_sum(row);
    });
    double sum = 0;
    for (const double of_row : of_rows) sum += of_row;
    return sum;
}

}  // namespace aperture::corr
