// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/flow/field.hpp"
#include "libcore/cpu/worker_tasks.hpp"

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
