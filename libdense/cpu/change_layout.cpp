// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>

#include "libcore/cpu/worker_tasks.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
#include "libdense/cpu/lane_runs.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace aperture::dense {
namespace {

using core::index_t;

// A tile goes through a buffer [entry][problem] in the second-level cache. It is long in both
// directions, because the first and last cache line of each of its runs cost several times the
// others. Results of more than a few megabytes are stored past the caches.
// Percent of memcpy, one core of a Xeon (AVX-512), 64 MB of fp32, to interleaved and to
// concatenated, of order 9 and 32: 32 KB and 64 entries 57 52, 87 76; 128 KB and 64 entries 72 52,
// 90 84; 256 KB and 256 entries 81 90, 102 80; 32 KB and 64 entries through the caches 71 72,
// 59 58.
constexpr index_t buffer_bytes = 256 * 1024;
constexpr index_t most_entries = 256;
constexpr index_t least_problems = 64;
constexpr index_t cached_bytes = 4 * 1024 * 1024;

/// The problems of a tile: a multiple of all numbers of lanes.
template <class T>
index_t tile_problems(index_t entries) {
    return std::max(least_problems, buffer_bytes / (entries * index_t{sizeof(T)}) / 16 * 16);
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

/// As many packs of T as lie in a register move as they are; complex<double> number by number.
template <class T>
struct CarrierOf {
    using type = T;
};
template <>
struct CarrierOf<std::complex<float>> {
    using type = double;
};
template <class T>
using Carrier = typename CarrierOf<T>::type;

template <class T>
inline constexpr int lanes_of = sizeof(T) <= 8 ? core::simd_bytes / int{sizeof(T)} : 1;

/// Asks for the cache lines of `length` numbers. Runs of a tile are too short and too far apart for
/// the processor to see them coming.
template <class T>
void prefetch(const T* run, index_t length) {
    const auto* const bytes = reinterpret_cast<const char*>(run);
    for (index_t b = 0; b < length * index_t{sizeof(T)}; b += 64) {
        __builtin_prefetch(bytes + b, 0, 2);
    }
}

/// Copies `count` numbers, `past_caches` if that is worth it: these would read every line before it
/// is replaced.
template <class T>
void store_run(const T* from, index_t count, T* to, bool past_caches) {
    if (!past_caches) {
        std::copy_n(from, count, to);
        return;
    }
#if defined(__SSE2__)
    const auto* source = reinterpret_cast<const char*>(from);
    auto* target = reinterpret_cast<char*>(to);
    index_t bytes = count * index_t{sizeof(T)};
    const index_t head = std::min<index_t>(
        bytes, static_cast<index_t>(-reinterpret_cast<std::uintptr_t>(target) % 64));
    std::memcpy(target, source, static_cast<std::size_t>(head));
    source += head;
    target += head;
    bytes -= head;
    for (; bytes >= 64; bytes -= 64, source += 64, target += 64) {
        for (int part = 0; part < 64; part += 16) {
            _mm_stream_si128(reinterpret_cast<__m128i*>(target + part),
                             _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + part)));
        }
    }
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
#else
    std::copy_n(from, count, to);
#endif
}

/// Makes what this thread stored past the caches visible to others.
void complete_stores() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/// Entries of problems [0, problems) that are contiguous in each problem, `distance` apart in the
/// buffer.
template <class T>
void load_runs(const T* from, index_t problem_stride, index_t problems, index_t length, T* to,
               index_t distance) {
    if constexpr (sizeof(T) <= 8) {
        using C = Carrier<T>;
        constexpr index_t width = lanes_of<T>;
        for (; problems >= width && length >= width; problems -= width) {
            std::array<const C*, width> runs;
            for (index_t l = 0; l < width; ++l) {
                runs[static_cast<std::size_t>(l)] =
                    reinterpret_cast<const C*>(from + l * problem_stride);
                if (problems >= 2 * width) {
                    prefetch(from + (width + l) * problem_stride, length);
                }
            }
            lanes::gather_runs<C>(runs, length, reinterpret_cast<C*>(to), distance);
            from += width * problem_stride;
            to += width;
        }
    }
    for (index_t p = 0; p < problems; ++p) {
        for (index_t e = 0; e < length; ++e) to[e * distance + p] = from[p * problem_stride + e];
    }
}
template <class T>
void store_runs(const T* from, index_t distance, index_t problems, index_t length, T* to,
                index_t problem_stride) {
    if constexpr (sizeof(T) <= 8) {
        using C = Carrier<T>;
        constexpr index_t width = lanes_of<T>;
        for (; problems >= width && length >= width; problems -= width) {
            std::array<C*, width> runs;
            for (index_t l = 0; l < width; ++l) {
                runs[static_cast<std::size_t>(l)] = reinterpret_cast<C*>(to + l * problem_stride);
            }
            lanes::scatter_runs<C>(reinterpret_cast<const C*>(from), length, width, runs, distance);
            from += width;
            to += width * problem_stride;
        }
    }
    for (index_t p = 0; p < problems; ++p) {
        for (index_t e = 0; e < length; ++e) to[p * problem_stride + e] = from[e * distance + p];
    }
}

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
            load_runs(&tile(0, row, 0), tile.stride[0], tile.extent[0], length, buffer.at(row, 0),
                      buffer.column_stride);
        });
        return;
    }
    for (index_t i = 0; i < rows; ++i) {
        for (index_t j = 0; j < columns; ++j) {
            if (j + 1 < columns) prefetch(&tile(0, i, j + 1), problems);
            std::copy_n(&tile(0, i, j), problems, buffer.at(i, j));
        }
    }
}
template <class T>
void store_tile(Buffer<T> buffer, MatrixBatch<T, core::Host> tile, T* turned, bool past_caches) {
    const auto [problems, rows, columns] = tile.extent;
    const Order order = order_of(tile);
    if (order == Order::rows)
        return store_tile(buffer.transposed(), transposed(tile), turned, past_caches);
    if (order == Order::columns) {
        for_each_run<T>(tile, buffer, [&](index_t length, index_t row) {
            store_runs(buffer.at(row, 0), buffer.column_stride, tile.extent[0], length, turned,
                       length);
            T* const to = &tile(0, row, 0);
            if (tile.stride[0] == length) {
                store_run(turned, tile.extent[0] * length, to, past_caches);
            } else {
                for (index_t p = 0; p < tile.extent[0]; ++p) {
                    store_run(turned + p * length, length, to + p * tile.stride[0], past_caches);
                }
            }
            complete_stores();
        });
        return;
    }
    for (index_t i = 0; i < rows; ++i) {
        for (index_t j = 0; j < columns; ++j) {
            store_run(buffer.at(i, j), problems, &tile(0, i, j), past_caches);
        }
    }
}

}  // namespace

namespace detail {

template <Scalar T>
void change_layout_by(core::Cpu& cpu, MatrixBatch<const T, core::Host> from,
                      MatrixBatch<T, core::Host> to, ChangeNumbers<T> change, const void* context) {
    expects_same_extents(from, to);
    if (from.empty()) return;
    const auto [problems, rows, columns] = from.extent;
    const index_t tile_columns = std::min(columns, most_entries);
    const index_t tile_rows = std::min(rows, most_entries / tile_columns);
    const index_t tile_entries = tile_rows * tile_columns;
    const index_t at_once = std::min(tile_problems<T>(tile_entries), core::round_up(problems, 16));
    // Not a multiple of the page, so that entries spread over the cache's sets.
    const index_t distance = at_once + 16;
    const std::size_t bytes = static_cast<std::size_t>(2 * tile_entries * distance) * sizeof(T);
    const bool past_caches = to.size() * index_t{sizeof(T)} > cached_bytes;
    const core::Extents<3> extent = from.extent;
    core::for_each_task(
        cpu, core::ceil_div(problems, at_once), bytes,
        [&, extent](index_t task, std::byte* memory) {
            const index_t first = task * at_once;
            const index_t last = std::min(first + at_once, extent[0]);
            const auto from_here = from.slice(0, first, last);
            const auto to_here = to.slice(0, first, last);
            for (index_t i = 0; i < extent[1]; i += tile_rows) {
                const index_t end_row = std::min(i + tile_rows, extent[1]);
                for (index_t j = 0; j < extent[2]; j += tile_columns) {
                    const index_t end_column = std::min(j + tile_columns, extent[2]);
                    const index_t width = end_column - j;
                    const Buffer<T> buffer{reinterpret_cast<T*>(memory), width * distance,
                                           distance};
                    load_tile<T>(from_here.slice(1, i, end_row).slice(2, j, end_column), buffer);
                    if (change != nullptr) {
                        for (index_t e = 0; e < (end_row - i) * width; ++e) {
                            change(context, buffer.data + e * distance, last - first);
                        }
                    }
                    store_tile<T>(buffer, to_here.slice(1, i, end_row).slice(2, j, end_column),
                                  buffer.data + tile_entries * distance, past_caches);
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
