// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "libcore/cpu/worker_tasks.hpp"
#include "libflow/cpu/padded_planes.hpp"

namespace aperture::flow {

/// do_row(y) for all rows on the executor's threads, in tasks of about 4096 pixels: fewer are not
/// worth waking another thread.
template <class DoRow>
void for_rows(core::Cpu& cpu, Shape shape, const DoRow& do_row) {
    constexpr index_t pixels = 4096;
    const index_t at_once = 1 + pixels / std::max<index_t>(shape.columns, 1);
    const index_t tasks = (shape.rows + at_once - 1) / at_once;
    core::for_each_task(cpu, tasks, 0, [&](index_t task, std::byte*) {
        const index_t last = std::min(shape.rows, (task + 1) * at_once);
        for (index_t y = task * at_once; y < last; ++y) do_row(y);
    });
}

/// Copies a flow to padded planes and sets its margins.
inline void load_flow(core::Cpu& cpu, ConstFlowView<core::Host> from, Boundary boundary,
                      PaddedPlanes& to) {
    for_rows(cpu, to.shape(), [&](index_t y) {
        for (index_t i : {0, 1}) std::copy_n(&from(i, y, 0), to.shape().columns, to.row(i, y));
        set_margins(to, y, boundary);
    });
}
/// Copies as many planes as `to` has.
inline void store_planes(core::Cpu& cpu, const PaddedPlanes& from,
                         core::View<float, 3, core::Host> to) {
    for_rows(cpu, from.shape(), [&](index_t y) {
        for (index_t i = 0; i < to.extent[0]; ++i) {
            std::copy_n(from.row(i, y), from.shape().columns, &to(i, y, 0));
        }
    });
}

/// Runs `stages` passes over the rows of an image as a wavefront: pass s follows pass s-1 a row
/// behind, so that rows are still in cache. do_row(s, y) may load and store, in place, rows y-1 to
/// y+1 of other passes' results, as long as pass s of two rows never touches the same element. The
/// result equals that of one pass after the other, on any number of threads.
///
/// Each thread has a band of rows. At an end shared with another band, each pass omits one more
/// row; the omitted rows follow once both bands are done.
template <class DoRow>
void run_wavefront(core::Cpu& cpu, index_t rows, int stages, const DoRow& do_row) {
    const index_t bands = std::clamp<index_t>(rows / (2 * stages), 1, cpu.threads());
    const auto border = [&](index_t band) { return rows * band / bands; };
    const auto run_band = [&](index_t band) {
        const index_t first = border(band);
        const index_t last = border(band + 1);
        for (index_t front = first; front < last + stages - 1; ++front) {
            for (int s = 0; s < stages; ++s) {
                const index_t y = front - s;
                const index_t begin = band == 0 ? 0 : first + s;
                const index_t end = band + 1 == bands ? rows : last - s;
                if (y >= begin && y < end) do_row(s, y);
            }
        }
    };
    if (bands == 1) return run_band(0);
    core::for_each_task(cpu, bands, 0, [&](index_t band, std::byte*) { run_band(band); });
    core::for_each_task(cpu, bands - 1, 0, [&](index_t band, std::byte*) {
        for (int s = 1; s < stages; ++s) {
            for (index_t y = border(band + 1) - s; y < border(band + 1) + s; ++y) do_row(s, y);
        }
    });
}

}  // namespace aperture::flow
