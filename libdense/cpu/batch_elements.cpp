// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_elements.hpp"

#include "libcore/cpu/worker_tasks.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/cpu/lane_runs.hpp"

namespace aperture::dense::detail {
namespace {

using core::index_t;

constexpr index_t problems_at_once = 1024;

/// The runs of reals, one a problem, that a pack of the processor's own width takes.
template <class R>
auto runs_of(const HostMatrices<R>& batch, index_t first, int problems) {
    std::array<R*, core::lanes<std::remove_const_t<R>>> runs;
    for (int l = 0; l < static_cast<int>(runs.size()); ++l) {
        runs[static_cast<std::size_t>(l)] =
            batch.data + (first + std::min(l, problems - 1)) * batch.stride[0];
    }
    return runs;
}

/// Rows as long as they are contiguous: all of a matrix where its rows have no gaps.
template <class R>
HostMatrices<R> with_long_rows(HostMatrices<R> batch) {
    const auto [problems, rows, columns] = batch.extent;
    if (batch.stride[2] == 1 && batch.stride[1] == columns) {
        batch.extent = {problems, 1, rows * columns};
    }
    return batch;
}

}  // namespace

template <class R>
void load_lanes(const HostMatrices<const R>& batch, index_t first, int problems, R* packs) {
    constexpr int count = Lanes<R>::count;
    constexpr int width = core::lanes<R>;
    const auto [all, rows, columns] = batch.extent;
    if (order_of(batch) == Order::columns) {
        const HostMatrices<const R> long_rows = with_long_rows(batch);
        const index_t length = long_rows.extent[2];
        for (int part = 0; part < count; part += width) {
            // Parts without problems of their own repeat the last one.
            const int offset = std::min(part, problems - 1);
            auto runs = runs_of(long_rows, first + offset, problems - offset);
            for (index_t i = 0; i < long_rows.extent[1]; ++i) {
                lanes::gather_runs<R>(runs, length, packs + i * length * count + part, count);
                for (const R*& run : runs) run += long_rows.stride[1];
            }
        }
        return;
    }
    for (index_t i = 0; i < rows; ++i) {
        for (index_t j = 0; j < columns; ++j, packs += count) {
            const R* const from =
                batch.data + first * batch.stride[0] + i * batch.stride[1] + j * batch.stride[2];
            if (batch.stride[0] == 1 && problems == count) {
                std::copy_n(from, count, packs);
            } else {
                for (int l = 0; l < count; ++l) {
                    packs[l] = from[std::min(l, problems - 1) * batch.stride[0]];
                }
            }
        }
    }
}

template <class R>
void store_lanes(const R* packs, const HostMatrices<R>& batch, index_t first, int problems) {
    constexpr int count = Lanes<R>::count;
    constexpr int width = core::lanes<R>;
    const auto [all, rows, columns] = batch.extent;
    if (order_of(batch) == Order::columns) {
        const HostMatrices<R> long_rows = with_long_rows(batch);
        const index_t length = long_rows.extent[2];
        for (int part = 0; part < problems; part += width) {
            const int some = std::min(width, problems - part);
            auto runs = runs_of(long_rows, first + part, some);
            for (index_t i = 0; i < long_rows.extent[1]; ++i) {
                lanes::scatter_runs<R>(packs + i * length * count + part, length, some, runs,
                                       count);
                for (R*& run : runs) run += long_rows.stride[1];
            }
        }
        return;
    }
    for (index_t i = 0; i < rows; ++i) {
        for (index_t j = 0; j < columns; ++j, packs += count) {
            R* const to =
                batch.data + first * batch.stride[0] + i * batch.stride[1] + j * batch.stride[2];
            if (batch.stride[0] == 1 && problems == count) {
                std::copy_n(packs, count, to);
            } else {
                for (int l = 0; l < problems; ++l) to[l * batch.stride[0]] = packs[l];
            }
        }
    }
}

void for_each_part(core::Cpu& cpu, index_t problems,
                   void (*work)(const void* context, index_t first, index_t last),
                   const void* context) {
    core::for_each_task(cpu, core::ceil_div(problems, problems_at_once), 0,
                        [&](index_t part, std::byte*) {
                            const index_t first = part * problems_at_once;
                            work(context, first, std::min(first + problems_at_once, problems));
                        });
}

template void load_lanes<float>(const HostMatrices<const float>&, index_t, int, float*);
template void load_lanes<double>(const HostMatrices<const double>&, index_t, int, double*);
template void store_lanes<float>(const float*, const HostMatrices<float>&, index_t, int);
template void store_lanes<double>(const double*, const HostMatrices<double>&, index_t, int);

}  // namespace aperture::dense::detail
