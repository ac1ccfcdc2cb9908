// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
//
// Two passes over bands of rows. In the first a lane is a column, in the second a row, with the
// band transposed between them, so that sums along both axes are sums of packs.
#include "aperture/signal/box_sum.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "libcore/cpu/transpose.hpp"
#include "libcore/rounding.hpp"
#include "libsignal/cpu/image.hpp"
#include "libsignal/image_checks.hpp"

namespace aperture::signal {
namespace {

using core::Pack;
using cpu::index_t;

constexpr int lanes = core::lanes<double>;

/// Rows of a task, a multiple of the lanes. Starting a task costs size / band_rows additions a
/// pixel.
constexpr int band_rows = 32;
static_assert(band_rows % lanes == 0);

/// As many floats as a pack holds doubles.
using Floats = core::PackLike<float, double>::type;

inline Pack<double> load_doubles(const float* from, index_t count) {
    Floats value{};
    if (count >= lanes) {
        std::memcpy(&value, from, sizeof(value));
    } else {
        std::memcpy(&value, from, static_cast<std::size_t>(count) * sizeof(float));
    }
#if defined(__AVX512F__)
    return _mm512_maskz_cvtps_pd(
        0xff, value);  // one instruction, where the compiler's own way takes four
#else
    return __builtin_convertvector(value, Pack<double>);
#endif
}

inline void store_floats(float* to, Pack<double> sums, index_t count) {
#if defined(__AVX512F__)
    const Floats value = _mm512_maskz_cvtpd_ps(0xff, sums);
#else
    const Floats value = __builtin_convertvector(sums, Floats);
#endif
    if (count >= lanes) {
        std::memcpy(to, &value, sizeof(value));
    } else {
        std::memcpy(to, &value, static_cast<std::size_t>(count) * sizeof(float));
    }
}

/// Calls store(i, load(i) + ... + load(i+size-1)) for i = 0 .. count-1. The windows of a group have
/// an element in common: each sum is the elements before it, summed backwards, plus those from it
/// on, summed forwards. About three additions a window.
template <class Load, class Store>
[[gnu::always_inline]] inline void sliding_sums(index_t count, index_t size, const Load& load,
                                                const Store& store) {
    constexpr index_t group = 64;
    Pack<double> before[group];
    for (index_t begin = 0; begin < count;) {
        const index_t windows = std::min({group, size, count - begin});
        const index_t common = begin + windows - 1;
        Pack<double> sum{};
        for (index_t i = common - 1; i >= begin; --i) {
            sum += load(i);
            before[i - begin] = sum;
        }
        before[windows - 1] = Pack<double>{};
        sum = Pack<double>{};
        for (index_t i = common; i < begin + size - 1; ++i) sum += load(i);
        for (index_t i = 0; i < windows; ++i) {
            sum += load(begin + size - 1 + i);
            store(begin + i, before[i] + sum);
        }
        begin += windows;
    }
}

/// First pass: sums along the columns for rows `row` to `row` + band_rows - 1 (past the image, of
/// its replicated border), transposed to [lanes rows][column][lane].
void sum_rows(core::View<const float, 2, core::Host> from, int size, index_t row,
              double* transposed) {
    const index_t columns = from.extent[1];
    const index_t last = from.extent[0] - 1;
    for (index_t x = 0; x < columns; x += lanes) {
        const index_t count = std::min<index_t>(lanes, columns - x);
        Pack<double> sums[band_rows];
        sliding_sums(
            band_rows, size,
            [&](index_t i) __attribute__((always_inline)) {
                const index_t y = std::clamp<index_t>(row - size / 2 + i, 0, last);
                return load_doubles(from.data + y * from.stride[0] + x, count);
            },
            [&](index_t i, Pack<double> sum) __attribute__((always_inline)) { sums[i] = sum; });
        for (int part = 0; part < band_rows; part += lanes) {
            Pack<double> square[lanes];
            std::copy_n(sums + part, lanes, square);
            core::transpose<double>(square);
            for (index_t c = 0; c < count; ++c)
                core::store(transposed + part * columns + (x + c) * lanes, square[c]);
        }
    }
}

/// Second pass: sums along the rows of the band's rows `part` to `part` + lanes - 1.
void sum_columns(const double* transposed, int size, index_t part,
                 core::View<float, 2, core::Host> to) {
    const index_t columns = to.extent[1];
    const index_t rows = std::min<index_t>(lanes, to.extent[0] - part);
    Pack<double> square[lanes] = {};
    sliding_sums(
        columns, size,
        [&](index_t i) __attribute__((always_inline)) {
            const index_t x = std::clamp<index_t>(i - size / 2, 0, columns - 1);
            return core::load(transposed + part * columns + x * lanes);
        },
        [&](index_t i, Pack<double> sum) __attribute__((always_inline)) {
            square[i % lanes] = sum;
            if (i % lanes != lanes - 1 && i != columns - 1) return;
            core::transpose<double>(square);
            const index_t begin = i - i % lanes;
            for (index_t r = 0; r < rows; ++r)
                store_floats(to.data + (part + r) * to.stride[0] + begin, square[r],
                             columns - begin);
        });
}

}  // namespace

void box_sum(core::Cpu& cpu, core::View<const float, 3, core::Host> from, int size,
             core::View<float, 3, core::Host> to) {
    check_box_sum(from, size, to);
    if (from.empty()) return;
    const index_t rows = from.extent[1];
    const index_t bands = core::ceil_div(rows, band_rows);
    const auto bytes = static_cast<std::size_t>(from.extent[2] * band_rows) * sizeof(double);
    core::for_each_task(cpu, from.extent[0] * bands, bytes, [&](index_t task, std::byte* scratch) {
        const index_t row = task % bands * band_rows;
        const index_t end = std::min(row + band_rows, rows);
        auto* transposed = reinterpret_cast<double*>(scratch);
        sum_rows(from[task / bands], size, row, transposed);
        const auto band = to[task / bands].slice(0, row, end);
        for (index_t part = 0; part < end - row; part += lanes)
            sum_columns(transposed, size, part, band);
    });
}

}  // namespace aperture::signal
