// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
//
// The windows of both axes (axis_filter.hpp) are tabulated. Two passes apply them to bands of as
// many output rows as a pack has lanes. In the first a lane is an input column, in the second an
// output row; the band is transposed between them. So both passes load whole packs for any ratio of
// the extents.
#include <algorithm>

#include "libcore/cpu/transpose.hpp"
#include "libcore/rounding.hpp"
#include "libsignal/axis_filter.hpp"
#include "libsignal/cpu/image.hpp"
#include "libsignal/image_checks.hpp"

namespace aperture::signal {
namespace {

using core::Pack;

constexpr int lanes = core::lanes<float>;

using Input = core::View<const float, 2, core::Host>;
using Output = core::View<float, 2, core::Host>;

/// Window of output i: taps elements from first[i] on, all inside the input.
struct AxisWeights {
    index_t taps;
    const index_t* first;
    const float* weights;  ///< [output][tap]

    const float* of(index_t i) const { return weights + i * taps; }
};

AxisWeights tabulate(const AxisFilter& axis, core::ScratchParts& parts) {
    const index_t taps = axis.taps();
    auto* first = parts.allocate<index_t>(axis.to);
    auto* weights = parts.allocate<float>(axis.to * taps);
    auto* kernel = parts.allocate<double>(axis.radius() + 1);
    if (first == nullptr) return {taps, first, weights};
    gaussian(axis.sigma, axis.radius(), kernel);
    for (index_t i = 0; i < axis.to; ++i) {
        first[i] = window_weights(axis, kernel, i, weights + i * taps);
    }
    return {taps, first, weights};
}

/// Start of the block of packs for x: moved back if it would reach beyond the end, where there is
/// room.
index_t block_start(index_t x, index_t extent) {
    return std::max<index_t>(0, std::min(x, extent - lanes));
}

/// First pass: output rows `row` to `row` + lanes - 1 (the last one again where there are no more)
/// of all input columns, transposed to [column][output row].
void filter_rows(const Input& from, const AxisWeights& rows, index_t row, index_t last,
                 float* transposed) {
    const index_t columns = from.extent[1];
    for (index_t x = 0; x < columns; x += lanes) {
        const index_t begin = block_start(x, columns);
        const index_t count = columns - begin;
        Pack<float> square[lanes];
        for (int r = 0; r < lanes; ++r) {
            const index_t y = std::min(row + r, last);
            const float* weights = rows.of(y);
            const float* pixels = from.data + rows.first[y] * from.stride[0] + begin;
            Pack<float> sum = weights[0] * cpu::load_part(pixels, count);
            for (index_t t = 1; t < rows.taps; ++t)
                sum += weights[t] * cpu::load_part(pixels + t * from.stride[0], count);
            square[r] = sum;
        }
        core::transpose<float>(square);
        for (int c = 0; c < std::min<index_t>(lanes, count); ++c)
            core::store(transposed + (begin + c) * lanes, square[c]);
    }
}

/// Second pass: the first `count` rows of the band, stored in image rows from `to` on.
void filter_columns(const float* transposed, const AxisWeights& columns, index_t count,
                    const Output& to) {
    const index_t extent = to.extent[1];
    for (index_t x = 0; x < extent; x += lanes) {
        const index_t begin = block_start(x, extent);
        Pack<float> square[lanes];
        for (int c = 0; c < lanes; ++c) {
            const index_t column = std::min(begin + c, extent - 1);
            const float* weights = columns.of(column);
            const float* pixels = transposed + columns.first[column] * lanes;
            Pack<float> sum = weights[0] * core::load(pixels);
            for (index_t t = 1; t < columns.taps; ++t)
                sum += weights[t] * core::load(pixels + t * lanes);
            square[c] = sum;
        }
        core::transpose<float>(square);
        for (int r = 0; r < std::min<index_t>(lanes, count); ++r)
            cpu::store_part(to.data + r * to.stride[0] + begin, square[r], extent - begin);
    }
}

void filter(core::Cpu& executor, const Input& from, const ImageFilter& axes, const Output& to) {
    core::ScratchParts counted;
    tabulate(axes.rows, counted);
    tabulate(axes.columns, counted);
    const std::size_t table_bytes = counted.bytes();
    const std::size_t bytes =
        table_bytes + static_cast<std::size_t>(from.extent[1] * lanes) * sizeof(float);
    // The tables precede the first thread's own memory; the other threads leave as much unused.
    core::ScratchParts parts(executor.scratch(0, bytes));
    const AxisWeights rows = tabulate(axes.rows, parts);
    const AxisWeights columns = tabulate(axes.columns, parts);
    const index_t bands = core::ceil_div(to.extent[0], lanes);
    core::for_each_task(executor, bands, bytes, [&](index_t band, std::byte* scratch) {
        const index_t row = band * lanes;
        const index_t end = std::min(row + lanes, to.extent[0]);
        auto* transposed = reinterpret_cast<float*>(scratch + table_bytes);
        filter_rows(from, rows, row, to.extent[0] - 1, transposed);
        filter_columns(transposed, columns, end - row, to.slice(0, row, end));
    });
}

}  // namespace

void gaussian_blur(core::Cpu& cpu, Input from, float sigma, Output to) {
    check_blur(from, sigma, to);
    if (!to.empty()) filter(cpu, from, blur_filter(to.extent, sigma), to);
}

void resize(core::Cpu& cpu, Input from, Interpolation interpolation, Output to) {
    check_resampling("resize", from, to);
    if (!to.empty()) filter(cpu, from, resize_filter(from.extent, to.extent, interpolation), to);
}

void downsample(core::Cpu& cpu, Input from, Output to) {
    check_resampling("downsample", from, to);
    if (!to.empty()) filter(cpu, from, pyramid_filter(from.extent, to.extent), to);
}

}  // namespace aperture::signal
