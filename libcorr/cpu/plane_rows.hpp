// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/worker_tasks.hpp"

namespace aperture::corr {

/// do_row(plane, row) for every row of every plane on the executor's threads.
template <class DoRow>
void for_plane_rows(core::Cpu& cpu, core::index_t planes, core::index_t rows, const DoRow& do_row) {
    core::for_each_task(cpu, planes * rows, 0,
                        [&](core::index_t task, std::byte*) { do_row(task / rows, task % rows); });
}

}  // namespace aperture::corr
