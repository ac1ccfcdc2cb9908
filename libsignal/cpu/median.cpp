// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
//
// A lane is a column; the networks are those of median_network.hpp.
#include "aperture/signal/median.hpp"

#include <algorithm>
#include <cstring>

#include "libcore/rounding.hpp"
#include "libsignal/cpu/image.hpp"
#include "libsignal/image_checks.hpp"
#include "libsignal/median_network.hpp"

namespace aperture::signal {
namespace {

using core::Pack;
using cpu::index_t;

constexpr int lanes = core::lanes<float>;

/// Rows of a task; even.
constexpr int band_rows = 24;

/// Lane by lane.
struct LaneOrder {
    using Value = Pack<float>;
    [[gnu::always_inline]] static Value lower(Value a, Value b) { return a < b ? a : b; }
    [[gnu::always_inline]] static Value upper(Value a, Value b) { return a > b ? a : b; }
};

/// Elements from row to row: an odd number of whole packs, so that the rows of a strip do not share
/// cache sets.
index_t pitch_of(index_t columns, int size) {
    const index_t packs = core::ceil_div(core::round_up(columns, lanes) + size - 1, lanes);
    return (packs | 1) * lanes;
}

/// Stores `rows` rows of the image with its border, `pitch` elements apart: row r, column 0 belongs
/// to pixel (first - size / 2 + r, -(size / 2)).
void pad(core::View<const float, 2, core::Host> from, index_t first, index_t rows, int size,
         index_t pitch, float* to) {
    const index_t columns = from.extent[1];
    const int half = size / 2;
    for (index_t r = 0; r < rows; ++r, to += pitch) {
        const index_t y = std::clamp<index_t>(first - half + r, 0, from.extent[0] - 1);
        const float* row = from.data + y * from.stride[0];
        std::fill_n(to, half, row[0]);
        std::memcpy(to + half, row, static_cast<std::size_t>(columns) * sizeof(float));
        std::fill_n(to + half + columns, pitch - half - columns, row[columns - 1]);
    }
}

/// Medians of one pack of columns. `padded` is at the pack's first column, `to` at its first
/// output.
template <int size>
void filter_strip(const float* padded, index_t pitch, int rows, index_t columns, float* to,
                  index_t to_stride) {
    const auto row = [&](int r) __attribute__((always_inline)) {
        const float* first = padded + r * pitch;
        return network::sorted<LaneOrder, size>([first](int i) __attribute__((always_inline)) {
            return core::load(first + i);
        });
    };
    network::MedianStrip<LaneOrder, size> strip(row);
    for (int y = 0; y < rows; y += 2) {
        strip.next(
            y, row, [&](int r, Pack<float> median) __attribute__((always_inline)) {
                if (r < rows) cpu::store_part(to + r * to_stride, median, columns);
            });
    }
}

template <int size>
void filter(core::Cpu& executor, core::View<const float, 2, core::Host> from,
            core::View<float, 2, core::Host> to) {
    const index_t columns = from.extent[1];
    const index_t pitch = pitch_of(columns, size);
    const auto bytes = static_cast<std::size_t>((band_rows + size - 1) * pitch) * sizeof(float);
    const index_t bands = core::ceil_div(from.extent[0], band_rows);
    core::for_each_task(executor, bands, bytes, [&](index_t band, std::byte* scratch) {
        const index_t first = band * band_rows;
        const auto rows = static_cast<int>(std::min<index_t>(band_rows, from.extent[0] - first));
        auto* const padded = reinterpret_cast<float*>(scratch);
        pad(from, first, core::round_up(rows, 2) + size - 1, size, pitch, padded);
        for (index_t x = 0; x < columns; x += lanes)
            filter_strip<size>(padded + x, pitch, rows, columns - x,
                               to.data + first * to.stride[0] + x, to.stride[0]);
    });
}

}  // namespace

void median_filter(core::Cpu& cpu, core::View<const float, 2, core::Host> from, int size,
                   core::View<float, 2, core::Host> to) {
    check_median(from, size, to);
    if (from.empty()) return;
    const auto filter_of_size = size == 3 ? &filter<3> : size == 5 ? &filter<5> : &filter<7>;
    filter_of_size(cpu, from, to);
}

}  // namespace aperture::signal
