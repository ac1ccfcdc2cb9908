// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "libcore/cpu/worker_tasks.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
#include "libdense/cpu/layout_runs.hpp"

namespace aperture::dense {
namespace {

using core::index_t;

// A tile goes through a buffer [entry][problem] in the second-level cache, of twice the bytes for
// concatenated results, which are turned 16 KB at a time. It is long in both directions, because
// the ends of its runs cost much. Results of more than a few megabytes are stored past the caches.
// Percent of memcpy, one core of a Xeon (AVX-512), 64 MB of fp32, to interleaved and to
// concatenated, of order 17 and 32: 256 KB 98 83, 94 78; 512 KB 91 99, 81 90; 1 MB 77 89, 79 80;
// tiles that share cache lines, 256 KB, turned as a whole 69 58, 95 79.
constexpr index_t buffer_bytes = 256 * 1024;
constexpr index_t most_entries = 256;
constexpr index_t least_problems = 64;
constexpr index_t turned_bytes = 16 * 1024;

/// The problems of a tile: a multiple of all numbers of lanes.
template <class T>
index_t tile_problems(index_t bytes, index_t entries) {
    return std::max(least_problems, bytes / (entries * index_t{sizeof(T)}) / 16 * 16);
}

/// As many problems as are turned in the first-level cache: a multiple of all numbers of lanes.
template <class T>
index_t problems_at_once(index_t entries) {
    return core::round_up(std::max<index_t>(turned_bytes / (entries * index_t{sizeof(T)}), 1), 16);
}

/// Where entries of a tile are in its buffer; neighbouring problems are neighbours.
template <class T>
struct Buffer {
    T* data;
    index_t row_stride, column_stride;

    T* at(index_t row, index_t column) const {
        return data + row * row_stride + column * column_stride;
    }
    Buffer transposed() const { return {data, column_stride, row_stride}; }
};

/// Calls copy(entries of a contiguous run, the first one's row and column) for a tile that is not
/// interleaved. Rows without gaps on both sides are one run.
template <class T, class U, class Copy>
void for_each_run(const MatrixBatch<U, core::Host>& tile, const Buffer<T>& buffer,
                  const Copy& copy) {
    const auto [problems, rows, columns] = tile.extent;
    if (tile.stride[1] == columns && buffer.row_stride == columns * buffer.column_stride) {
        copy(rows * columns, 0);
    } else {
        for (index_t i = 0; i < rows; ++i) copy(columns, i);
    }
}

template <class T>
void load_tile(MatrixBatch<const T, core::Host> tile, Buffer<T> buffer) {
    const auto [problems, rows, columns] = tile.extent;
    const Order order = order_of(tile);
    if (order == Order::rows) return load_tile(transposed(tile), buffer.transposed());
    if (order == Order::columns) {
        for_each_run<T>(tile, buffer, [&](index_t length, index_t row) {
            layout::load_runs(&tile(0, row, 0), tile.stride[0], tile.extent[0], length,
                              buffer.at(row, 0), buffer.column_stride);
        });
        return;
    }
    for (index_t i = 0; i < rows; ++i) {
        for (index_t j = 0; j < columns; ++j) {
            if (j + 1 < columns) layout::prefetch(&tile(0, i, j + 1), problems);
            std::copy_n(&tile(0, i, j), problems, buffer.at(i, j));
        }
    }
}
/// The part of each run that a tile stores. A tile has `more` numbers than its own, so that it can
/// begin and end where cache lines do, and shares none of them with its neighbours.
struct Share {
    index_t more = 0;
    bool is_first = true, is_last = true;

    template <class T>
    void store(const T* from, index_t length, T* to, bool past_caches) const {
        const index_t begin = is_first ? 0 : std::min(line_begin(to, 0), length);
        const index_t end = is_last ? length : std::min(line_begin(to, length - more), length);
        layout::store_run(from + begin, end - begin, to + begin, past_caches);
    }

  private:
    template <class T>
    static index_t line_begin(const T* run, index_t first) {
        const auto bytes = static_cast<index_t>(-reinterpret_cast<std::uintptr_t>(run + first) %
                                                layout::line_bytes);
        return first + core::ceil_div(bytes, index_t{sizeof(T)});
    }
};

/// `share`: of runs of problems in an interleaved batch, else of rows.
template <class T>
void store_tile(Buffer<T> buffer, MatrixBatch<T, core::Host> tile, const Share& share, T* turned,
                bool past_caches) {
    const auto [problems, rows, columns] = tile.extent;
    const Order order = order_of(tile);
    if (order == Order::rows) {
        return store_tile(buffer.transposed(), transposed(tile), share, turned, past_caches);
    }
    if (order == Order::columns) {
        for_each_run<T>(tile, buffer, [&](index_t length, index_t row) {
            const index_t at_once = problems_at_once<T>(length);
            for (index_t p = 0; p < tile.extent[0]; p += at_once) {
                const index_t some = std::min(at_once, tile.extent[0] - p);
                layout::store_runs(buffer.at(row, 0) + p, buffer.column_stride, some, length,
                                   turned, length);
                T* const to = &tile(p, row, 0);
                if (tile.stride[0] == length) {
                    layout::store_run(turned, some * length, to, past_caches);
                    continue;
                }
                for (index_t q = 0; q < some; ++q) {
                    share.store(turned + q * length, length, to + q * tile.stride[0], past_caches);
                }
            }
            core::complete_stores();
        });
        return;
    }
    for (index_t i = 0; i < rows; ++i) {
        for (index_t j = 0; j < columns; ++j) {
            share.store(buffer.at(i, j), problems, &tile(0, i, j), past_caches);
        }
    }
}

/// Cuts [0, size) to parts of nearly equal size.
struct Parts {
    index_t size, at_once;
    index_t more = 0;  ///< numbers that parts have of the next one

    Parts(index_t all, index_t most, index_t unit)
        : size(all),
          at_once(core::round_up(core::ceil_div(all, core::ceil_div(all, most)), unit)) {}
    index_t count() const { return core::ceil_div(size, at_once); }
    index_t first(index_t part) const { return part * at_once; }
    index_t last(index_t part) const { return std::min((part + 1) * at_once + more, size); }
    index_t most() const { return at_once + more; }
    Share share(index_t part) const {
        if (more == 0) return {};
        const index_t own = std::min(at_once, size - first(part));
        return {last(part) - first(part) - own, part == 0, part + 1 == count()};
    }
};

/// Matrices without gaps, in rows of the same order on both sides, as single rows.
template <class T>
bool have_joined_rows(const MatrixBatch<T, core::Host>& batch) {
    return batch.stride[1] == batch.extent[2] * batch.stride[2];
}
template <class T>
MatrixBatch<T, core::Host> joined_rows(const MatrixBatch<T, core::Host>& batch) {
    const auto [problems, rows, columns] = batch.extent;
    const auto [by_problem, by_row, by_column] = batch.stride;
    return {batch.data, {problems, 1, rows * columns}, {by_problem, rows * by_row, by_column}};
}

}  // namespace

namespace detail {

template <Scalar T>
void change_layout_by(core::Cpu& cpu, MatrixBatch<const T, core::Host> from,
                      MatrixBatch<T, core::Host> to, ChangeNumbers<T> change, const void* context) {
    expects_same_extents(from, to);
    if (from.empty()) return;
    if (from.extent[1] > 1 && have_joined_rows(from) && have_joined_rows(to)) {
        return change_layout_by<T>(cpu, joined_rows(from), joined_rows(to), change, context);
    }
    const bool past_caches = to.size() * index_t{sizeof(T)} > lanes::cached_bytes;
    const Order order = order_of(to);
    // Concatenated matrices that one tile has room for are stored as one run.
    const bool is_whole =
        order == Order::columns && from.extent[1] * from.extent[2] <= 2 * most_entries;
    const index_t most = is_whole ? 2 * most_entries : most_entries;
    Parts columns(from.extent[2], most, 1);
    const Parts rows(from.extent[1], std::max<index_t>(most / columns.at_once, 1), 1);
    Parts problems(from.extent[0],
                   tile_problems<T>(order == Order::problems ? buffer_bytes : 2 * buffer_bytes,
                                    rows.at_once * columns.at_once),
                   16);
    constexpr index_t line = layout::line_bytes / index_t{sizeof(T)};
    if (past_caches && order == Order::columns && columns.count() > 1) columns.more = line;
    if (past_caches && order == Order::problems) problems.more = line;
    const index_t entries = rows.most() * columns.most();
    // Not a multiple of the page, so that entries spread over the cache's sets.
    const index_t distance = core::round_up(problems.most(), 16) + 16;
    const auto bytes =
        static_cast<std::size_t>(entries * (distance + 16)) * sizeof(T) + turned_bytes;
    core::for_each_task(cpu, problems.count(), bytes, [&](index_t task, std::byte* memory) {
        auto* const numbers = reinterpret_cast<T*>(memory);
        const auto its_problems = [&](const auto& batch) {
            return batch.slice(0, problems.first(task), problems.last(task));
        };
        for (index_t i = 0; i < rows.count(); ++i) {
            for (index_t j = 0; j < columns.count(); ++j) {
                const auto tile_of = [&](const auto& batch) {
                    return batch.slice(1, rows.first(i), rows.last(i))
                        .slice(2, columns.first(j), columns.last(j));
                };
                const auto tile = tile_of(its_problems(to));
                const Buffer<T> buffer{numbers, tile.extent[2] * distance, distance};
                load_tile<T>(tile_of(its_problems(from)), buffer);
                if (change != nullptr) {
                    for (index_t e = 0; e < tile.extent[1] * tile.extent[2]; ++e) {
                        change(context, numbers + e * distance, tile.extent[0]);
                    }
                }
                store_tile<T>(buffer, tile,
                              order == Order::problems ? problems.share(task) : columns.share(j),
                              numbers + entries * distance, past_caches);
            }
        }
    });
}

}  // namespace detail

template <Scalar T>
void change_layout(core::Cpu& cpu, MatrixBatch<const T, core::Host> from,
                   MatrixBatch<T, core::Host> to) {
    detail::change_layout_by<T>(cpu, from, to, nullptr, nullptr);
}

APERTURE_FOR_ALL_SCALARS(APERTURE_CHANGE_LAYOUT, core::Cpu)

// The argument is a type.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define APERTURE_CHANGE_LAYOUT_BY(EXECUTOR, T)                                              \
    template void detail::change_layout_by<T>(EXECUTOR&, MatrixBatch<const T, core::Host>,  \
                                              MatrixBatch<T, core::Host>, ChangeNumbers<T>, \
                                              const void*);
// NOLINTEND(bugprone-macro-parentheses)
APERTURE_FOR_ALL_SCALARS(APERTURE_CHANGE_LAYOUT_BY, core::Cpu)

}  // namespace aperture::dense
