// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
//
// A lane is a column. Two outputs above each other, at rows y and y+1, share the size-1 rows
// between the uppermost and the lowest of both windows: their core. Every row is sorted across its
// window once (used by size outputs), rows are merged by twos (used by two cores for size 5), twos
// are merged into the core, of which the size+1 middle ranks can be the median of either window,
// and each output merges those with the one row that it has alone. Unused results of the networks
// are never computed: the compiler removes them.
//
// Minima and maxima for each pixel:
//             sort a row   merge rows by twos   core (for 2 outputs)   last row    sum
//   size 3         6            10 / 2                  -                  6        17
//   size 5        18            26 / 2                36 / 2              10        59
//   size 7        32            42 / 2               140 / 2              14       137
#include "aperture/signal/median.hpp"

#include <algorithm>
#include <cstring>

#include "libsignal/cpu/image.hpp"

namespace aperture::signal {
namespace {

using core::Pack;
using cpu::index_t;
using cpu::unrolled;

constexpr int lanes = core::lanes<float>;

/// Rows of a task; even.
constexpr index_t band_rows = 24;

[[gnu::always_inline]] inline Pack<float> lower(Pack<float> a, Pack<float> b) {
    return a < b ? a : b;
}
[[gnu::always_inline]] inline Pack<float> upper(Pack<float> a, Pack<float> b) {
    return a > b ? a : b;
}

/// In every lane, n values in ascending order.
template <int n>
struct Ranks {
    Pack<float> at[n];
};
template <>
struct Ranks<0> {};

/// Elements first, first + 2, ... of a.
template <int first, int n>
[[gnu::always_inline]] inline auto every_second(const Ranks<n>& a) {
    constexpr int count = (n - first + 1) / 2;
    Ranks<count> half;
    if constexpr (count > 0) {
        unrolled<count>([&](auto i)
                            __attribute__((always_inline)) { half.at[i] = a.at[first + 2 * i]; });
    }
    return half;
}

/// Batcher's odd-even merge.
template <int m, int n>
[[gnu::always_inline]] inline Ranks<m + n> merge(const Ranks<m>& a, const Ranks<n>& b) {
    if constexpr (m == 0) {
        return b;
    } else if constexpr (n == 0) {
        return a;
    } else if constexpr (m == 1 && n == 1) {
        return {{lower(a.at[0], b.at[0]), upper(a.at[0], b.at[0])}};
    } else {
        constexpr int evens = (m + 1) / 2 + (n + 1) / 2;
        constexpr int odds = m / 2 + n / 2;
        const Ranks<evens> even = merge(every_second<0>(a), every_second<0>(b));
        const Ranks<odds> odd = merge(every_second<1>(a), every_second<1>(b));
        Ranks<m + n> merged;
        merged.at[0] = even.at[0];
        constexpr int pairs = std::min(odds, evens - 1);
        unrolled<pairs>([&](auto i) __attribute__((always_inline)) {
            merged.at[2 * i + 1] = lower(odd.at[i], even.at[i + 1]);
            merged.at[2 * i + 2] = upper(odd.at[i], even.at[i + 1]);
        });
        if constexpr (odds > pairs) merged.at[m + n - 1] = odd.at[pairs];
        if constexpr (evens > pairs + 1) merged.at[m + n - 1] = even.at[pairs + 1];
        return merged;
    }
}

/// Sorted, the n packs at `from`, `from` + 1, ...
template <int n>
[[gnu::always_inline]] inline Ranks<n> sorted(const float* from) {
    if constexpr (n == 1) {
        return {{core::load(from)}};
    } else {
        return merge(sorted<n / 2>(from), sorted<n - n / 2>(from + n / 2));
    }
}

/// The median of the core, size * (size-1) values, and one more row of its window. Only ranks
/// `least` to `least` + size of the core can be it, and of these and the row it has rank `size`:
/// the least upper bound of i of the one and size+1-i of the other, over all i.
template <int size>
[[gnu::always_inline]] inline Pack<float> median_of(const Ranks<size*(size - 1)>& core,
                                                    const Ranks<size>& row) {
    constexpr int least = (size * size - 1) / 2 - size;
    Pack<float> median = core.at[least + size];
    unrolled<size>([&](auto i) __attribute__((always_inline)) {
        median = lower(median, upper(core.at[least + size - 1 - i], row.at[i]));
    });
    return median;
}

/// A part of the image with its border, in memory of our own: row r, column 0 is at data + r *
/// pitch and belongs to pixel (first row - size / 2 + r, -(size / 2)).
struct PaddedRows {
    const float* data;
    index_t pitch;
};

/// Elements from row to row: whole packs and an odd number of them, so that the rows of a strip do
/// not fall into the same sets of the cache.
index_t pitch_of(index_t columns, int size) {
    const index_t packs = cpu::ceil_div(cpu::round_up(columns, lanes) + size - 1, lanes);
    return (packs | 1) * lanes;
}

PaddedRows pad(core::View<const float, 2, core::Host> from, index_t first, index_t rows, int size,
               float* to) {
    const index_t columns = from.extent[1];
    const PaddedRows padded{to, pitch_of(columns, size)};
    const int half = size / 2;
    for (index_t r = 0; r < rows; ++r, to += padded.pitch) {
        const index_t y = std::clamp<index_t>(first - half + r, 0, from.extent[0] - 1);
        const float* row = from.data + y * from.stride[0];
        std::fill_n(to, half, row[0]);
        std::memcpy(to + half, row, static_cast<std::size_t>(columns) * sizeof(float));
        std::fill_n(to + half + columns, padded.pitch - half - columns, row[columns - 1]);
    }
    return padded;
}

/// Medians of one pack of columns. `image` is at the pack's first column, `to` at its first output.
template <int size>
void filter_strip(const PaddedRows& image, index_t rows, index_t columns, float* to,
                  index_t to_stride) {
    constexpr int half = size / 2;
    const auto row = [&](index_t r) __attribute__((always_inline)) {
        return sorted<size>(image.data + r * image.pitch);
    };
    // The row that only the upper window has was sorted as the core's last row size-1 rows before.
    Ranks<size> upper_rows[half];
    for (int i = 0; i < half; ++i) upper_rows[i] = row(2 * i);
    // Rows of the core but the last two, merged by twos.
    Ranks<2 * size> twos[half];
    for (int i = 0; i < half - 1; ++i) twos[i] = merge(row(2 * i + 1), row(2 * i + 2));
    Ranks<size> lower_row = row(size - 2);
    int oldest = 0;
    for (index_t y = 0; y < rows; y += 2) {
        const Ranks<size> last = row(y + size - 1);
        const Ranks<2 * size> two = merge(lower_row, last);
        lower_row = row(y + size);
        Ranks<size*(size - 1)> core;
        if constexpr (half == 1) {
            core = two;
        } else if constexpr (half == 2) {
            core = merge(twos[0], two);
            twos[0] = two;
        } else {
            core = merge(merge(twos[0], twos[1]), two);
            twos[0] = twos[1];
            twos[1] = two;
        }
        cpu::store_part(to, median_of<size>(core, upper_rows[oldest]), columns);
        if (y + 1 < rows)
            cpu::store_part(to + to_stride, median_of<size>(core, lower_row), columns);
        to += 2 * to_stride;
        upper_rows[oldest] = last;
        oldest = oldest + 1 == half ? 0 : oldest + 1;
    }
}

template <int size>
void filter(core::Cpu& executor, core::View<const float, 2, core::Host> from,
            core::View<float, 2, core::Host> to) {
    const index_t columns = from.extent[1];
    constexpr index_t padded_rows = band_rows + size - 1;
    const auto bytes =
        static_cast<std::size_t>(padded_rows * pitch_of(columns, size)) * sizeof(float);
    const index_t bands = cpu::ceil_div(from.extent[0], band_rows);
    core::for_each_task(executor, bands, bytes, [&](index_t band, std::byte* scratch) {
        const index_t first = band * band_rows;
        const index_t rows = std::min(band_rows, from.extent[0] - first);
        const PaddedRows image = pad(from, first, cpu::round_up(rows, 2) + size - 1, size,
                                     reinterpret_cast<float*>(scratch));
        for (index_t x = 0; x < columns; x += lanes)
            filter_strip<size>({image.data + x, image.pitch}, rows, columns - x,
                               to.data + first * to.stride[0] + x, to.stride[0]);
    });
}

}  // namespace

void median_filter(core::Cpu& cpu, core::View<const float, 2, core::Host> from, int size,
                   core::View<float, 2, core::Host> to) {
    core::expects(size == 3 || size == 5 || size == 7, "median filter: size is ", size,
                  ", expected 3, 5 or 7");
    core::expects(from.extent == to.extent, "median filter: an image of ", from.extent[0], " x ",
                  from.extent[1], " to one of ", to.extent[0], " x ", to.extent[1]);
    cpu::expects_contiguous_columns("median filter", "from", from);
    cpu::expects_contiguous_columns("median filter", "to", to);
    if (from.empty()) return;
    if (size == 3) {
        filter<3>(cpu, from, to);
    } else if (size == 5) {
        filter<5>(cpu, from, to);
    } else {
        filter<7>(cpu, from, to);
    }
}

}  // namespace aperture::signal
